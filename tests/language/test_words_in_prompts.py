"""Prompts, transcripts and params of games that are played in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gamedsl
from gamedsl.engine.random_plays import pasts
from gamedsl.runtime.replay import replay
from gamedsl.runtime.transcripts import dump, read
from tests.writing import write

ROWS = (
    '{"hint": "it is round\u2028and red", "name": "apple"}\n{"hint": "it barks", "name": "dog"}\n'
)

RIDDLE = """
game: riddle
params: {form: {type: text, default: "^[A-Za-z ]+$"}}
roles: [asker]
referees: [host]
data:
  riddles: {file: riddles.jsonl, fields: {hint: text(40), name: text(20)}}
turns:
  - {draw: riddle, from: riddles, seen_by: {hint: all, name: host}}
  - repeat: 2
    until: right
    turns:
      - {role: asker, say: guess, max_tokens: 8}
      - {call: exact, with: {text: guess, value: riddle.name}, gives: same}
      - {call: matches, with: {text: guess, pattern: form}, gives: plain}
      - {show: same and plain, as: right}
      - {role: host, choose: help, from: [warm, cold], if: right}
payoffs: 1 if right else 0
on_invalid: {asker: {retry: 1, then: forfeit, pay: -1}, host: {then: skip}}
prompts:
  who: {asker: You guess., host: You help.}
  seen: {riddle: "The hint: {{ choice.hint }}"}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "riddles.jsonl").write_text(ROWS, encoding="utf-8")
    return tmp_path


def begun(folder: Path) -> tuple[gamedsl.Game, gamedsl.Episode]:
    game = gamedsl.load(write(folder, RIDDLE))
    episode = game.env().reset(chance="asked")
    episode.draw(0)
    return game, episode


def test_events_name_fields_and_identity_once(folder: Path) -> None:
    _, episode = begun(folder)
    first = episode.decisions[0].messages
    episode.step({"asker": "pear"})
    chat = episode.decisions[0].messages
    assert chat[: len(first)] == first
    assert first[1][1].startswith("You guess.\nThe hint: it is round\u2028and red\n")
    assert [text.count("You guess.") for _, text in chat] == [0, 1, 0, 0]


@pytest.mark.parametrize(
    ("slot", "message"),
    [("name", "`choice` has no part `name`"), ("size", "`choice` has no part `size`")],
)
def test_partially_visible_field_is_left_out(folder: Path, slot: str, message: str) -> None:
    text = RIDDLE.replace("choice.hint", f"choice.{slot}")
    with pytest.raises(gamedsl.CompileError, match=message):
        gamedsl.load(write(folder, text))


def test_random_plays_reach_conditional_steps(folder: Path) -> None:
    game, _ = begun(folder)
    assert all(pasts(game.ir, step) for step in game.ir.steps)


@pytest.mark.parametrize("replies", [["pear", "Apple", "warm"], ["pear", "Apple", "hot"], ["", ""]])
def test_what_was_said_is_replayed(folder: Path, replies: list[str]) -> None:
    game, episode = begun(folder)
    for reply in replies:
        episode.step({episode.decisions[0].seat: reply})
    (transcript,) = read(dump(episode))
    again = replay(game, transcript)
    assert again.faults == ()
    assert again.episode.payoffs == episode.payoffs == {"asker": 1 if len(replies) > 2 else -1}
    assert again.episode.table == episode.table


def changed(text: str, old: str, new: str) -> Any:
    assert old in text
    return next(iter(read(text.replace(old, new))))


def test_what_cannot_be_said_is_not_replayed(folder: Path) -> None:
    game, episode = begun(folder)
    for reply in ("pear", "Apple", "warm"):
        episode.step({episode.decisions[0].seat: reply})
    text = dump(episode)
    (fault,) = replay(game, changed(text, '"pear"', '" pear"')).faults
    assert "cannot be said by asker" in fault.message
    (fault,) = replay(game, changed(text, '"host": "warm"', '"host": "hot"')).faults
    assert "`hot` is not legal for host" in fault.message
    (fault, *_) = replay(game, changed(text, '"Apple"', '"Appla"')).faults
    assert fault.message == "the game is over here"


def test_a_text_param_is_set_as_it_stands(folder: Path) -> None:
    game = gamedsl.load(write(folder, RIDDLE), params={"form": "^[a-z]+$"})
    episode = game.env().reset(chance="asked")
    episode.draw(0)
    episode.step({"asker": "Apple"})
    assert episode.decisions[0].seat == "asker"


def test_identity_is_stated_once_even_without_observations() -> None:
    episode = gamedsl.load("twenty_questions").env().reset()
    for reply in ("Is it alive?", "no"):
        episode.step({episode.decisions[0].seat: reply})
    asked = [text for _, text in episode.decisions[0].messages]
    assert sum(text.count("You are the asker.") for text in asked) == 1
    assert asked[-1].startswith("no\nQuestion 2 of 20:")


MOOD = """
game: mood
roles: [cal, dot]
types: {Mood: [glad, sad], Note: {text: text(40), mood: Mood, to: role}}
turns:
  - {role: cal, say: note, read: Note, seen_by: READERS, max_tokens: 30}
  - {role: dot, choose: guess, from: Mood}
payoffs: 1 if guess == note.mood else 0
on_invalid: {then: forfeit, pay: -1}
"""


@pytest.mark.parametrize(
    ("readers", "lines"),
    [
        ("{text: all}", ["cal's text: hi"]),
        ("{to: all, text: note.to}", ["cal's text: hi", "cal's to: dot"]),
    ],
)
def test_fields_that_are_seen_read_as_prose(tmp_path: Path, readers: str, lines: list[str]) -> None:
    game = gamedsl.load(write(tmp_path, MOOD.replace("READERS", readers)))
    episode = game.env().reset()
    episode.step({"cal": '{"text": "hi", "mood": "glad", "to": "dot"}'})
    asked = episode.decisions[0].messages[-1][1]
    assert [line for line in asked.splitlines() if line.startswith("cal")] == lines
