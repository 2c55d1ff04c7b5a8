"""Policies, leaderboards and transcripts that somebody damaged: one message, and exit code 2 or 1,
never a traceback and never a wait."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gamedsl
from gamedsl import Action, cli
from gamedsl.calls.types import WrongType, from_json
from gamedsl.evaluate.errors import EvalError
from gamedsl.evaluate.leaderboard import read_board
from gamedsl.ir.types import NUMBER
from gamedsl.ir.value_names import value_of
from gamedsl.players import PolicyError, SavedPlayer, play, read_policy
from gamedsl.prompting.events import Event, known
from gamedsl.runtime.transcripts import TranscriptError, dump, read, read_file
from gamedsl.storage.reader import FileRefused

CONTENTS: dict[str, bytes] = {
    "empty": b"",
    "not UTF-8": b'{"format": "\xff"}',
    "deep": b"[" * 100_000,
    "a number without end": b'{"format": 1e999999999}',
    "a number too long": b"[" + b"9" * 100_000 + b"]",
    "nothing": b'{"format": NaN}',
    "twice": b'{"format": 1, "format": 2}',
    "half a character": b'{"\\ud800": 1}',
    "cut": b'{"format": "gamedsl po',
    "a list": b"[]",
    "NUL": b"\0\0\0\0",
}


@pytest.fixture(autouse=True)
def alarm() -> Iterator[None]:
    """Ends a test that waits for what never comes."""

    def ring(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def kuhn() -> gamedsl.Game:
    return gamedsl.load("kuhn_poker")


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("policy") / "kuhn.json"
    assert cli.main(["solve", "kuhn_poker", "--save", str(path)]) == 0
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("content", CONTENTS)
def test_files_that_hold_something_else(content: str, kuhn: gamedsl.Game, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(CONTENTS[content])
    with pytest.raises(PolicyError, match=str(path)):
        read_policy(path, kuhn)
    with pytest.raises(EvalError, match=str(path)):
        read_board(path)
    if content != "empty":
        with pytest.raises((TranscriptError, FileRefused)):
            list(read_file(path))


@pytest.mark.parametrize("name", ["fifo", "/dev/zero", "/dev/stdin", "."])
def test_files_that_are_not_regular(name: str, kuhn: gamedsl.Game, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    path = tmp_path / name
    with pytest.raises(PolicyError, match="cannot be read: it is"):
        read_policy(path, kuhn)
    with pytest.raises(EvalError, match="no leaderboard that can be read: it is"):
        read_board(path)
    with pytest.raises(FileRefused):
        read_file(path)


@pytest.mark.parametrize("content", CONTENTS)
def test_commands_name_the_file(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "file"
    path.write_bytes(CONTENTS[content])
    commands = (
        ["replay", "kuhn_poker", str(path)],
        ["eval", f"policy:{path}", "random", "--game", "kuhn_poker"],
        [
            "eval",
            "random",
            "tit_for_tat",
            "--game",
            "prisoners_dilemma",
            "--leaderboard",
            str(path),
        ],
    )
    for command in commands:
        assert cli.main(command) in (1, 2)
        printed = capsys.readouterr()
        assert str(path) in printed.out + printed.err


CHANGES: dict[str, Any] = {
    "policy": {"first:open [first.card=J]": {"check": "1e-99999999", "bet": "1"}},
    "values": {"first": "1/0"},
    "regrets": [1],
    "game": {"a": 1},
    "exact": 1,
    "params": [],
    "note": None,
}


@pytest.mark.parametrize("name", CHANGES)
def test_policies_with_a_wrong_field(
    name: str, policy: dict[str, Any], kuhn: gamedsl.Game, tmp_path: Path
) -> None:
    path = tmp_path / "policy.json"
    for record in ({**policy, name: CHANGES[name]}, {k: policy[k] for k in policy if k != name}):
        path.write_text(json.dumps(record), encoding="utf-8")
        with pytest.raises(PolicyError, match=f"{path} is damaged: "):
            read_policy(path, kuhn)


def test_a_policy_without_a_legal_action(
    policy: dict[str, Any], kuhn: gamedsl.Game, tmp_path: Path
) -> None:
    path = tmp_path / "policy.json"
    rows = {key: {"dance": "1"} for key in policy["policy"]}
    path.write_text(json.dumps({**policy, "policy": rows}), encoding="utf-8")
    player = SavedPlayer.of(path, kuhn)
    with pytest.raises(PolicyError, match="plays no legal action at"):
        play(kuhn.env(), dict.fromkeys(kuhn.ir.seats, player), seed=1)


MATCH_CHANGES: dict[str, Any] = {
    "game": 3,
    "params": [],
    "seats": "ab",
    "holders": ["x"],
    "names": [1, 2],
    "seed": "1",
    "games": -1,
    "means": ["1", "2"],
    "variances": [0],
    "result": [1, 2],
    "points": "0.5",
    "asked": None,
    "versions": {"python": 3},
    "referees": {"judge": "me"},
}


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("board") / "board.json"
    command = ["eval", "random", "tit_for_tat", "--game", "prisoners_dilemma", "--games", "4"]
    assert cli.main([*command, "--leaderboard", str(path)]) == 0
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", MATCH_CHANGES)
def test_leaderboards_with_a_wrong_field(name: str, board: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "board.json"
    path.write_text(json.dumps(board), encoding="utf-8")
    assert read_board(path).text() == json.dumps(board, indent=1, ensure_ascii=False) + "\n"
    first, *rest = board["matches"]
    matches = [{**first, name: MATCH_CHANGES[name]}, *rest]
    path.write_text(json.dumps({**board, "matches": matches}), encoding="utf-8")
    with pytest.raises(EvalError, match="match 1"):
        read_board(path)


def test_leaderboards_with_a_wrong_exploitability(board: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "board.json"
    for wrong in (None, [], {"h": []}, {"h": {"i": {"kind": "exact", "value": "1e99"}}},
                  {"h": {"i": {"kind": "odd", "value": 1}}}):  # fmt: skip
        path.write_text(json.dumps({**board, "exploitability": wrong}), encoding="utf-8")
        with pytest.raises(EvalError, match="`exploitability` is not by game"):
            read_board(path)


@pytest.mark.parametrize("games", ["3", 0, -1, True, None, [1], 10**300])
def test_transcripts_that_stand_for_odd_numbers(games: Any) -> None:
    head = {"format": 1, "game": "g", "hash": "h", "run_seed": 0, "seed": 0, "games": games}
    with pytest.raises(TranscriptError, match="`games` is a whole number"):
        list(read(json.dumps(head)))


def test_replay_prints_no_control_characters(
    kuhn: gamedsl.Game, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    episode = kuhn.env().reset(seed=3)
    episode.step({"first": Action("check")})
    episode.step({"second": "nonsense \ud800"})
    path = tmp_path / "games.jsonl"
    path.write_text(dump(episode).replace('"unknown"', '"odd\\u001b[2J\u202e"'), encoding="utf-8")
    assert cli.main(["replay", "kuhn_poker", str(path)]) == 0
    out = capsys.readouterr().out
    assert "odd\\x1b[2J\\u202e" in out


def test_names_with_brackets_are_told_apart() -> None:
    """The key of an information set quotes a reply, however it is nested."""
    names = ["[" * 100_000, "9" * 5000 + ", ", '{"a": 1e999999999, "b": "]"}']
    for name in names:
        assert known((Event("say", 0, "ann", name),)) == f"ann.say={json.dumps(name)}"


@pytest.mark.parametrize("text", ["1/0", "1/00", "9" * 5000])
def test_numbers_that_nobody_can_name(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        value_of(text, NUMBER, ())
    if "/" in text:
        with pytest.raises(WrongType):
            from_json("number", text)
    with pytest.raises(WrongType):
        from_json("number", "1e-99999999")
