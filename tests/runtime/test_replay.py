"""Transcripts: written, read back, and held against the game."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gamedsl
from gamedsl import Action, ParseFailure, cli
from gamedsl.prompting.events import known
from gamedsl.runtime.replay import Replay, replay
from gamedsl.runtime.transcripts import TranscriptError, dump, read
from gamedsl.view.conversation import channel_text, conversation_of, text_of
from tests.export.games import NAMES, loaded, play, written

SHOWN = """\
kuhn_poker, run seed 0, seed 3
seats: first, second
1  chance draws card[first] = Q (1/3)
       to first
2  chance draws card[second] = K (1/2)
       to second
3  first chooses open = check
       to all
4  second chooses reply = bet
       to all
5  first chooses answer_2 = call
       to all
payoffs: first -2, second 2"""


def shown(found: Replay) -> str:
    return text_of(conversation_of(found))


def kuhn() -> gamedsl.Episode:
    """Seed 3: Q against K; check, bet, call."""
    episode = loaded("kuhn_poker").env().reset(seed=3)
    for seat, name in [("first", "check"), ("second", "bet"), ("first", "call")]:
        episode.step({seat: Action(name)})
    return episode


def faults(game: gamedsl.Game, text: str) -> list[tuple[int, str]]:
    (transcript,) = read(text)
    return [(fault.line, str(fault)) for fault in replay(game, transcript).faults]


def with_line(number: int, change: dict[str, Any] | None) -> str:
    """Kuhn's transcript with a line (from 1) changed, or left out."""
    lines = [json.loads(line) for line in dump(kuhn()).splitlines()]
    if change is None:
        del lines[number - 1]
    else:
        lines[number - 1] = {**lines[number - 1], **change}
    return "".join(json.dumps(line) + "\n" for line in lines)


def test_the_lines_of_an_episode() -> None:
    head, *lines = map(json.loads, dump(kuhn()).splitlines())
    game = loaded("kuhn_poker")
    assert head == {
        "format": 1, "game": "kuhn_poker", "hash": game.hash, "params": {}, "run_seed": 0,
        "seed": 3, "tokenizer": None, "labels": kuhn().transcript["labels"], "mistakes": [],
    }  # fmt: skip
    assert lines == [
        {"step": "card", "index": ["first"], "outcome": "Q"},
        {"step": "card", "index": ["second"], "outcome": "K"},
        {"step": "open", "choices": {"first": "check"}},
        {"step": "reply", "choices": {"second": "bet"}},
        {"step": "answer_2", "choices": {"first": "call"}},
        {
            "payoffs": {"first": "-2", "second": "2"},
            "rewards": {"first": "-2", "second": "2"},
        },
    ]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("one_line", [False, True])
def test_what_was_played_agrees_with_the_game(name: str, one_line: bool) -> None:
    game = loaded(name)
    *_, episode = play(game.env(run_seed=4), seed=11)
    text = json.dumps(episode.transcript) if one_line else dump(episode)
    (transcript,) = read(text)
    again = replay(game, transcript)
    assert again.faults == ()
    assert again.episode.payoffs == episode.payoffs
    assert again.episode.rewards == episode.rewards
    for seat in episode.env.seats:
        assert again.episode.information(seat) == episode.information(seat)
    assert len(again.moves) == len(transcript.happenings)


def test_who_saw_what_is_told() -> None:
    (transcript,) = read(dump(kuhn()))
    assert shown(replay(loaded("kuhn_poker"), transcript)) == SHOWN


def test_what_is_told_twice_is_told_twice(tmp_path: Path) -> None:
    text = (
        "game: again\nroles: [a, b]\nturns:\n  - {role: [a, b], choose: x, from: [1, 2]}\n"
        "  - {repeat: 2, turns: [{show: x.a, as: y, seen_by: a}]}\npayoffs: 0\n"
    )
    game = written(tmp_path, text)
    episode = game.env().reset()
    episode.step({"a": Action("1"), "b": Action("2")})
    (transcript,) = read(dump(episode))
    (move,) = replay(game, transcript).moves
    assert tuple((seats, known((event,))) for seats, event in move.told) == (
        (("a", "b"), "a.x=1"), (("a", "b"), "b.x=2"), (("a",), "y=1"), (("a",), "y=1"),
    )  # fmt: skip


def test_a_failure_is_replayed() -> None:
    game = loaded("stag_hunt")
    episode = game.env().reset(seed=7)
    episode.step({"hunter_1": "nonsense \ud800", "hunter_2": Action("stag")})
    (transcript,) = read(dump(episode))
    again = replay(game, transcript)
    assert again.faults == ()
    assert again.episode.payoffs == {"hunter_1": 0, "hunter_2": None}
    assert "       | nonsense \\ud800\n   hunter_1 forfeits at move" in shown(again)
    assert shown(again).endswith("payoffs: hunter_1 0, hunter_2 void")
    assert again.episode.failures == {"hunter_1": ParseFailure("unknown", "nonsense \ud800")}


@pytest.mark.parametrize(
    ("line", "change", "at", "said"),
    [
        (1, {"hash": "0" * 64}, 1, "another version of `kuhn_poker`: its hash is 000000000000…"),
        (1, {"game": "leduc_poker"}, 1, "of `leduc_poker`, not of `kuhn_poker`"),
        (1, {"labels": {"kind": "plain", "labels": {}, "order": ""}}, 1, "its labels are not"),
        (2, {"outcome": "A"}, 2, "move 1: `A` cannot be drawn for card[first] here, only J, Q, K"),
        (3, {"outcome": "Q"}, 3, "move 2: `Q` cannot be drawn for card[second] here, only J, K"),
        (3, {"index": ["first"]}, 3, "does not draw card[first] here: chance draws card[second]"),
        (2, None, 2, "move 1: chance does not draw card[second] here: chance draws card[first]"),
        (3, None, 3, "move 2: nobody chooses open here: chance draws card[second]"),
        (4, {"choices": {"first": "fold"}}, 4,
         "move 3: `fold` is not legal for first at open, only check, bet"),
        (4, {"choices": {"second": "bet"}}, 4, "second cannot choose open here: first chooses op"),
        (4, {"choices": {}}, 4, "nobody cannot choose open here: first chooses open"),
        (4, {"step": "reply"}, 4, "nobody chooses reply here: first chooses open"),
        (4, {"choices": {"first": "bet"}}, 5, "nobody chooses reply here: second chooses answer"),
        (5, {"choices": {"second": "check"}}, 6, "move 5: the game is over here"),
        (6, None, 5, "the transcript ends before the game does: first chooses answer_2"),
        (7, {"payoffs": {"first": "2", "second": "-2"}}, 7,
         "its payoffs are first 2, second -2; the game's are first -2, second 2"),
        (7, {"rewards": {"first": None}}, 7, "its rewards are first void; the game's are first"),
        (7, None, 6, "the transcript does not say what the game paid"),
    ],
)  # fmt: skip
def test_what_does_not_agree_is_said(
    line: int, change: dict[str, Any] | None, at: int, said: str
) -> None:
    ((found, message),) = faults(loaded("kuhn_poker"), with_line(line, change))
    assert said in message
    assert found == at


def test_a_failure_that_cannot_be() -> None:
    text = with_line(4, {"failures": {"second": {"reason": "empty", "text": ""}}})
    text = text.replace('"step": "open", "choices": {"first": "check"}, ', "")
    assert faults(loaded("kuhn_poker"), text) == [
        (4, "move 3: second cannot fail here: first chooses open")
    ]


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("no", 1, "this is no JSON"),
        ("[1]", 1, "a line holds one JSON object"),
        ('{"step": "x", "choices": {}}', 1, "an episode begins with a header"),
        ('{"format": 1, "game": "g", "hash": "h", "run_seed": 0}', 1, "needs `seed`, a whole numb"),
        ('{"format": 2, "game": "g", "hash": "h", "run_seed": 0, "seed": 0}', 1, "format 2; 1 is"),
        ("HEAD\n\n{}", 3, "a line says what chance drew"),
        ('HEAD\n{"step": "x", "choices": {"a": 1}}', 2, "a line says"),
        ('HEAD\n{"payoffs": {}}\n{"payoffs": {}}', 3, "an episode begins with a header"),
        ('{"format": 1, "steps": 3}', 1, "`steps` is a list of objects"),
    ],
)
def test_what_is_no_transcript(text: str, line: int, said: str) -> None:
    head = '{"format": 1, "game": "g", "hash": "h", "run_seed": 0, "seed": 0}'
    with pytest.raises(TranscriptError, match=said) as caught:
        list(read(text.replace("HEAD", head)))
    assert caught.value.line == line


@given(st.data())
def test_no_text_breaks_a_replay(data: st.DataObject) -> None:
    lines = dump(kuhn()).splitlines()
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        record = json.loads(lines[at]) if lines[at].startswith("{") else {}
        key = data.draw(st.sampled_from([*record, "x"]))
        leaf = st.none() | st.integers() | st.text(max_size=4) | st.booleans()
        value = data.draw(leaf | st.lists(leaf, max_size=2) | st.dictionaries(st.text(), leaf))
        lines[at] = json.dumps({**record, key: value})
    with contextlib.suppress(TranscriptError):
        for transcript in read("\n".join(lines)):
            replay(loaded("kuhn_poker"), transcript)


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = cli.main(["replay", *argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_text(dump(kuhn()) + json.dumps({"games": 3, **kuhn().transcript}) + "\n")
    bad.write_text(dump(kuhn()) + with_line(4, {"choices": {"first": "fold"}}))
    assert run(capsys, "kuhn_poker", str(good)) == (
        0, f"{SHOWN}\n\n{SHOWN}\n\n{good}: 2 episodes, ok\n", "",
    )  # fmt: skip
    code, out, err = run(capsys, "kuhn_poker", str(bad), "--quiet")
    assert (code, out) == (1, f"{bad}: 2 episodes, 1 disagree\n")
    assert (
        err == f"{bad}:11: error: move 3: `fold` is not legal for first at open, only check, bet\n"
    )
    bad.write_text(dump(kuhn()) + "no\x1b[2J")
    code, out, err = run(capsys, "kuhn_poker", str(bad), "--quiet")
    assert (code, out) == (1, f"{bad}: 2 episodes, 1 disagree\n")
    assert err.startswith(f"{bad}:8: error: this is no JSON")
    bad.write_text("")
    assert run(capsys, "kuhn_poker", str(bad))[:2] == (1, f"{bad}: no episodes\n")


def test_the_usage_of_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    good = tmp_path / "good.jsonl"
    good.write_text(dump(kuhn()))
    code, out, err = run(capsys, "kuhn_poker", str(tmp_path / "none.jsonl"))
    assert (code, out) == (2, "")
    assert "No such file" in err
    assert run(capsys, "kuhn_poker", str(good), "--param", "x")[0] == 2
    code, out, err = run(capsys, "simultaneous", str(good))
    assert (code, out) == (2, "")
    assert "a protocol file, not a game" in err
    code, out, err = run(capsys, "kuhn_poker", str(good), "--param", "wibble=1")
    assert code == 1
    assert "GD0314" in err
    code, out, err = run(capsys, "leduc_poker", str(good), "--quiet")
    assert code == 1
    assert "of `kuhn_poker`, not of `leduc_poker`" in err


def test_the_params_of_a_transcript_are_found(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    few = gamedsl.load("hanabi", params={"copies": {1: 3, 2: 2}, "colours": ["red", "blue"]})
    assert few.env().params["copies"] == "{1: 3, 2: 2}"
    *_, episode = play(few.env(), seed=1)
    path = tmp_path / "few.jsonl"
    path.write_text(dump(episode))
    assert run(capsys, "hanabi", str(path), "--quiet") == (0, f"{path}: 1 episode, ok\n", "")
    game = gamedsl.load("ultimatum", params={"pie": "21/2"})
    *_, episode = play(game.env(), seed=0)
    path = tmp_path / "play.jsonl"
    path.write_text(dump(episode))
    assert run(capsys, "ultimatum", str(path), "--quiet")[0] == 0
    code, _, err = run(capsys, "ultimatum", str(path), "--quiet", "--param", "pie=9")
    assert code == 1
    assert "another version of `ultimatum`" in err
    assert "its params: {'pie': '21/2'}" in err


@pytest.mark.parametrize("odd", [None, {"a": 1}, [None], "2 +", [[1]], 0.5])
def test_odd_params_of_a_transcript_break_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, odd: object
) -> None:
    path = tmp_path / "play.jsonl"
    head = {"format": 1, "game": "ultimatum", "hash": "0", "run_seed": 0, "seed": 0}
    path.write_text(json.dumps({**head, "params": {"pie": odd, "wibble": 1}}))
    code, _, err = run(capsys, "ultimatum", str(path), "--quiet")
    assert code == 1
    assert f"{path}:1: error: the transcript is of another version of `ultimatum`" in err


def test_several_episodes_stand_one_after_the_other(tmp_path: Path) -> None:
    env = loaded("repeated_prisoners_dilemma").env()
    episodes = [list(play(env, seed))[-1] for seed in range(3)]
    found = list(read("".join(map(dump, episodes))))
    assert [transcript.head["seed"] for transcript in found] == [0, 1, 2]
    assert [transcript.line for transcript in found] == [1, 8, 15]
    assert not any(replay(loaded("repeated_prisoners_dilemma"), one).faults for one in found)


TALK = """
game: talk
roles: [ann, bob]
turns:
  - {role: ann, say: note, seen_by: owner, max_tokens: 9}
  - {role: bob, say: offer, read: {price: 1..9, why: text(20)}, max_tokens: 20}
payoffs: 0
on_invalid: {retry: 1, then: forfeit, pay: -1}
"""
TOLD = """\
talk, run seed 0, seed 0
seats: ann, bob
1  ann gives no valid reply: it reached its limit of tokens before it ended:
       | a \\x1b[2J
   ann says note:
       | first
       |     then
       to nobody else
2  bob says offer:
       | price: 3
       | why: so
       to all
payoffs: ann 0, bob 0"""


PARTS = """
game: parts
roles: [writer, drawer, judge]
types: {Suit: [red, black], Card: {suit: Suit, high: truth}}
turns:
  - {draw: card, from: Card, seen_by: {suit: all}}
  - {role: writer, say: clue, read: {text: text(9), ok: truth}, seen_by: {text: all, ok: judge}}
  - {role: drawer, say: guess, read: {text: text(9), ok: truth}, seen_by: owner}
  - {role: judge, choose: mark, from: [good, bad]}
payoffs: 0
"""


def test_who_saw_some_fields_of_a_record_is_told(tmp_path: Path) -> None:
    game = written(tmp_path, PARTS)
    episode = game.env().reset()
    episode.step({"writer": '{"text": "no", "ok": true}'})
    episode.step({"drawer": '{"text": "no", "ok": true}'})
    (transcript,) = read(dump(episode))
    talk = conversation_of(replay(game, transcript))
    told = [channel_text(part, talk) for one in talk.exchanges for part in one.parts]
    assert told == ["only suit to all", "to judge; only text to drawer", "to nobody else"]
    assert not any(one.notices for one in talk.exchanges)


def test_spoken_text_is_indented_and_sanitised(tmp_path: Path) -> None:
    game = written(tmp_path, TALK)
    episode = game.env().reset()
    episode.step({"ann": ParseFailure("truncated", "a \x1b[2J")})
    episode.step({"ann": "first\n\tthen"})
    episode.step({"bob": '{"why": "so", "price": 3}'})
    (transcript,) = read(dump(episode))
    again = replay(game, transcript)
    assert again.faults == ()
    assert shown(again) == TOLD


def test_words_replay_ends_with_the_failure(tmp_path: Path) -> None:
    game = written(tmp_path, TALK)
    episode = game.env().reset()
    episode.step({"ann": ""})
    episode.step({"ann": "\x00"})
    (transcript,) = read(dump(episode))
    lines = shown(replay(game, transcript)).splitlines()
    assert lines[2:4] == [
        "1  ann gives no valid reply: there is nothing in it",
        "   ann gives no valid reply: it has a control character, or half of a surrogate pair"
        " (it has U+0000):",
    ]
    for odd in (None, 3, [1], [{"seat": "ann", "step": "note", "occurrence": 0, "text": 4}]):
        broken = replace(transcript, head={**transcript.head, "mistakes": odd})
        assert shown(replay(game, broken)).count("gives no valid reply") == 1


THINKING = """
game: thinking
roles: [ann, bob]
turns:
  - repeat: 2
    turns:
      - {role: ann, choose: card, from: [red, tan]}
      - {role: bob, choose: call, from: [red, tan]}
payoffs: 0
respond: {form: tag, think: 20}
on_invalid: {retry: 1, then: skip, pay: -1}
"""
THOUGHT = """\
1  ann gives no valid reply: it has no answer of the form that is asked for:
       | hm
   ann thinks:
       | Red is
       | best.
   ann chooses card = red
2  bob gives no valid reply: it has no answer of the form that is asked for:
       | what?
   bob gives no valid reply: it has no answer of the form that is asked for:
       | ?
   bob gives no answer as call, and the game goes on
3  ann thinks:
       | \\x1b[2J
   ann chooses card = tan
4  bob chooses call = tan"""


def test_thoughts_stand_before_what_was_chosen(tmp_path: Path) -> None:
    """As runs and evaluations keep what was written; a reply without a thought has none."""
    game, said = written(tmp_path, THINKING), list[dict[str, str]]()
    episode = game.env().reset()
    for seat, step, text in (
        ("ann", "card", "hm"),
        ("ann", "card", "<think>\nRed is\nbest.\n</think>\n<answer>red</answer>"),
        ("bob", "call", "what?"),
        ("bob", "call", "?"),
        ("ann", "card", "\x1b[2J</think><answer>tan</answer>"),
        ("bob", "call", "<answer>tan</answer>"),
    ):
        episode.step({seat: text})
        said.append({"seat": seat, "step": step, "text": text})
    (transcript,) = read(json.dumps({**episode.transcript, "replies": said}))
    again = replay(game, transcript)
    assert again.faults == ()
    lines = [line for line in shown(again).splitlines() if line.strip() != "to all"]
    assert "\n".join(lines[2:-1]) == THOUGHT
    for odd in (None, 3, [1], [{"seat": "ann", "step": [], "text": 4}], said[:2]):
        broken = replace(transcript, head={**transcript.head, "replies": odd})
        assert not replay(game, broken).faults


MANY_HANDS = """
game: hands
roles: [ann]
types: {Card: 0..199}
turns:
  - {draw: hand, from: 9 of Card, seen_by: all}
  - {role: ann, choose: move, from: [stay, go]}
payoffs: 0
"""


def test_draws_are_found_without_a_list(tmp_path: Path) -> None:
    """There are more than 10 ** 15 hands."""
    (tmp_path / "hands.yaml").write_text(MANY_HANDS, encoding="utf-8")
    game = gamedsl.load(tmp_path / "hands.yaml")
    episode = game.env().reset(seed=1)
    episode.step({"ann": Action("stay")})
    text = dump(episode)
    assert faults(game, text) == []
    hand = json.loads(text.splitlines()[1])["outcome"]
    ((_, fault),) = faults(game, text.replace(hand, "1,2,3,4,5,6,7,8,300"))
    assert "only 0,1,2,3,4,5,6,7,8, 0,1,2,3,4,5,6,7,9" in fault
    assert fault.count(" more") == 1
