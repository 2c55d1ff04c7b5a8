"""`gamedsl eval`: what is printed, for people and as data, and what is said of bad input."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from gamedsl.cli import main
from gamedsl.extras import install_command
from tests.evaluate.small import RPS


def printed(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = main(["eval", *argv])
    out, err = capsys.readouterr()
    return code, "".join(f"{line.rstrip()}\n" for line in out.splitlines()), err


WHOLE = """\
rock_paper_scissors: 2 seats; numbers are mean payoffs of the contestant in a
game
exact: the game is written out and nothing is sampled

Contestants
   contestant   exploitability  invalid replies
───────────────────────────────────────────────
A  fixed:rock            1.000                –
B  fixed:paper           1.000                –

Cross-play: mean payoffs of the row against the column
                   A       B
────────────────────────────
A fixed:rock   0.000  -1.000
B fixed:paper  1.000   0.000
"""


@pytest.fixture(autouse=True)
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")


def test_what_is_printed(capsys) -> None:
    code, out, err = printed(capsys, "fixed:rock", "fixed:paper", "--game", RPS)
    assert (code, err) == (0, "")
    said = out.replace("exploitability is NashConv / 2\n", "")
    assert said.startswith(WHOLE), said


@pytest.mark.parametrize("width", [80, 120])
def test_lines_fit_the_terminal(width: int, capsys, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    actions = ("rock", "paper", "scissors", "rock,paper", "paper,rock", "scissors,rock", "paper")
    people = [f"player-with-a-long-name-{n}=fixed:{a}" for n, a in enumerate(actions)]
    board = str(tmp_path / "board.json")
    argv = [*people, "--game", RPS, "--leaderboard", board]
    code, out, _ = printed(capsys, *argv)
    assert code == 0
    assert max(map(len, out.splitlines())) <= width
    assert ("(1 of 2)" in out) == (width == 80)
    for _, row in [line.split(maxsplit=1) for line in out.splitlines() if line[:2] == "A "]:
        assert "…" in row or "player-with" in row


def test_one_contestant_plays_itself_and_random(capsys) -> None:
    _, out, _ = printed(capsys, "fixed:rock", "--game", RPS, "--format", "json")
    found = json.loads(out)
    pairs = [(p["contestant"], p["against"]) for p in found["pairings"]]
    assert pairs == [("fixed:rock", "fixed:rock"), ("fixed:rock", "random")]
    assert found["exact"] is True
    assert found["contestants"][0]["exploitability"]["value"] == 1.0


def test_against_replaces_each_other(capsys) -> None:
    argv = ["a=fixed:rock", "b=fixed:paper", "--against", "fixed:scissors", "--game", RPS]
    found = json.loads(printed(capsys, *argv, "--format", "json")[1])
    pairs = {(p["contestant"], p["against"]): p["payoff"]["value"] for p in found["pairings"]}
    assert pairs == {
        ("a", "a"): 0, ("a", "fixed:scissors"): 1, ("b", "b"): 0, ("b", "fixed:scissors"): -1
    }  # fmt: skip


def test_roles_params_and_utility(capsys, tmp_path: Path) -> None:
    argv = ["fixed:low", "fixed:high", "--role", "responder=fixed:accept", "--game", "ultimatum"]
    code, out, _ = printed(capsys, *argv)
    assert code == 0
    assert re.search(r"fixed:low +fixed:accept +8.000", out)
    file = tmp_path / "out.json"
    argv = ["random", "--game", "kuhn_poker_n", "--param", "players=2", "--out", str(file)]
    code, out, _ = printed(capsys, *argv, "--utility", "rewards")
    assert code == 0
    found = json.loads(file.read_text(encoding="utf-8"))
    assert found["params"]["players"] == 2
    assert len(found["seats"]) == 2
    assert found["utility"] == "rewards"


WRONG = {
    "nobody": ([], "nobody is evaluated", "name a player"),
    "no game": (["random"], "no game is named", "--game FILE"),
    "unknown": (["randon", "--game", RPS], "no contestant `randon`", "did you mean `random`?"),
    "unknown player": (["mtcs:10", "--game", RPS], "no contestant `mtcs:10`", "`mcts:10`?"),
    "unknown action": (["fixed:rok", "--game", RPS], "no action `rok`", "did you mean `rock`?"),
    "twice": (["random", "random", "--game", RPS], "named twice", "again=random"),
    "no folder of a run": ([".", "--game", RPS], "neither the folder of a run", "run.json"),
    "one name": (
        ["a=fixed:rock", "--against", "a=fixed:paper", "--game", RPS],
        "two contestants are called `a`", "name one otherwise",
    ),
    "role": (["random", "--role", "x=random", "--game", RPS], "no role", "left, right"),
    "all roles": (
        ["random", "--role", "left=random", "--role", "right=random", "--game", RPS],
        "every seat is held", "leave a seat",
    ),
    "endpoint": (["endpoint:localhost#m", "--game", RPS], "no address", "http://localhost:8000/v1"),
    "no model": (["endpoint:http://h/v1", "--game", RPS], "names no model", "#MODEL"),
    "not exact": (
        ["x=endpoint:http://h/v1#m", "--game", RPS, "--method", "exact"],
        "no exact result: x cannot say",
        "`auto`",
    ),
    "anchor": (
        ["random", "--game", RPS, "--anchor", "random"], "`--anchor` is about a leaderboard",
        "--leaderboard FILE.json",
    ),
    "markdown": (
        ["random", "--game", RPS, "--leaderboard-md", "board.md"],
        "`--leaderboard-md` is about a leaderboard", "--leaderboard FILE.json",
    ),
    "no board": (["--leaderboard", "nowhere.json"], "no leaderboard nowhere.json", "contestants"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_with_help(name: str, capsys) -> None:
    argv, fact, help = WRONG[name]
    code, out, err = printed(capsys, *argv)
    assert (code, out) == (2, "")
    assert err.startswith("gamedsl eval: ")
    assert fact in err
    assert help in err.partition("\n")[2]


def test_a_broken_game_is_a_problem(capsys, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("game: bad\nroles: [a]\n", encoding="utf-8")
    code, _, err = printed(capsys, "random", "--game", str(path))
    assert code == 1
    assert "error[" in err


@pytest.mark.parametrize("flag", [("--games", "0"), ("--timeout", "0"), ("--search", "-1")])
def test_numbers_out_of_range_are_usage(flag: tuple[str, str], capsys) -> None:
    code, _, err = printed(capsys, "random", "--game", RPS, *flag)
    assert code == 2
    assert "is no number" in err


def test_invalid_leaderboard_is_reported_before_playing(capsys, tmp_path: Path) -> None:
    board = tmp_path / "board.json"
    board.write_text("[]", encoding="utf-8")
    code, out, err = printed(capsys, "random", "--game", RPS, "--leaderboard", str(board))
    assert (code, out) == (2, "")
    assert "no leaderboard that can be read" in err


def test_decisions_are_held_against_the_equilibria(capsys) -> None:
    argv = ["equilibrium", "fixed:bet,call", "--game", "kuhn_poker", "--decisions"]
    code, out, _ = printed(capsys, *argv)
    assert code == 0
    table = out.partition("Decisions: ")[2]
    rows = [line for line in table.splitlines() if re.search(r" (bet|call) ", line)]
    assert len(rows) == 12
    (bluff,) = [row for row in rows if "second:reply" in row and "second.card=J" in row]
    assert "100.0% ✗" in bluff
    assert "33%" in bluff.rpartition("✗")[2]
    assert all(row.count("✗") <= 1 for row in rows)


def test_what_is_not_installed_is_said(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gamedsl.commands.eval._NEEDED", ("numpy", "not_a_package"))
    code, _, err = printed(capsys, "random", "--game", RPS)
    assert code == 2
    assert "needs not_a_package" in err
    assert install_command("eval") in err


@pytest.mark.parametrize("game", [[], ["--game", RPS]])
@pytest.mark.parametrize("text", ["{}", "[]", "{", None])
def test_a_damaged_run_is_said(text: str | None, game: list[str], capsys, tmp_path: Path) -> None:
    """None: there is no recipe."""
    (tmp_path / "run.json").write_text("{}" if text is None else text, encoding="utf-8")
    if text is not None:
        (tmp_path / "recipe.yaml").write_text("model: tabular", encoding="utf-8")
    code, out, err = printed(capsys, str(tmp_path), *game)
    assert (code, out) == (2, "")
    assert ("recipe.yaml" if text is None else "run.json") in err
    assert str(tmp_path) in err
