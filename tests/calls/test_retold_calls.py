"""Results of calls that need not come out the same again are kept in transcripts and replayed."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import gamedsl
from gamedsl.calls import registry
from gamedsl.calls.types import ListOf, OrNone, WrongType, as_json, from_json
from gamedsl.compiler import compile_file
from gamedsl.runtime import Game
from gamedsl.runtime.replay import Replay, replay
from gamedsl.runtime.transcripts import dump, read

GAME = """
game: weather
roles: [ann, bob]
turns:
  - {call: barometer, with: {text: place}, gives: before}
  - repeat: 2
    turns:
      - {role: all, say: word, max_tokens: 9}
      - {call: barometer, with: {text: word}, gives: reading, seen_by: all}
      - {call: exact, with: {text: word, value: place}, gives: same}
payoffs: reading.me.level + before.level + (1 if same.me else 0)
params: {place: {type: text, default: harbour}}
on_invalid: {then: forfeit, pay: -1}
"""


@pytest.fixture(name="game")
def _game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Game:
    """A game that calls a function which never gives the same twice."""
    called = [0]
    registry.lookup("exact")
    monkeypatch.setattr(registry, "_FUNCTIONS", dict(registry._FUNCTIONS))

    @registry.function(
        arguments={"text": "text"}, result={"level": "number", "notes": ListOf("text")},
        pure=False, version=1, time_limit=1, on_timeout={"level": 0, "notes": ()},
    )  # fmt: skip
    def barometer(text: str) -> Any:
        """What the air says now."""
        called[0] += 1
        return {"level": Fraction(called[0], 3), "notes": [text]}

    path = tmp_path / "weather.yaml"
    path.write_text(GAME, encoding="utf-8")
    found = gamedsl.load(path)
    called[0] = 0  # random plays of the compiler have called it too
    return found


def played(game: Game) -> str:
    episode = game.env().reset(4)
    while not episode.done:
        episode.step({d.seat: f"{d.seat} {d.occurrence}" for d in episode.decisions})
    return dump(episode)


def again(game: Game, text: str) -> Replay:
    (transcript,) = read(text)
    return replay(game, transcript)


def test_a_replay_gives_what_the_play_gave(game: Game) -> None:
    text = played(game)
    lines = [json.loads(line) for line in text.splitlines()]
    given = [line for line in lines if "gives" in line]
    assert [(line["step"], line["call"], len(line["gives"])) for line in given] == [
        ("before", "barometer", 1), ("reading", "barometer", 2), ("reading", "barometer", 2),
    ]  # fmt: skip
    assert given[0]["gives"] == [{"level": "1/3", "notes": ["harbour"]}]
    assert lines[1] == given[0], "the first is called before anybody moves"
    for _ in range(2):
        found = again(game, text)
        assert not found.faults
        assert dump(found.episode) == text, "nothing is called anew, and all is kept again"
    assert played(game) != text


def test_replay_recomputes_pure_fast_calls(game: Game) -> None:
    assert '"exact"' not in played(game)
    assert not registry.lookup("barometer").repeatable
    assert registry.lookup("exact").repeatable
    assert not registry.lookup("run_python").repeatable, "it may run out of time elsewhere"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (('"gives": [{"level": "2/3"', '"gives": [{"level": "high"'), "cannot have given this"),
        (('"call": "barometer"', '"call": "thermometer"'), "it is not told what it gave here"),
        (('{"step": "before", "call": "barometer", "gives": [{"level": "1/3", '
          '"notes": ["harbour"]}]}\n', ""), "it is not told what it gave here"),
        (('"gives": [{"level": "1/3"', '"gives": [{"level": "7/3"'), "its payoffs are"),
        (('"notes": ["bob 1"]}]}\n', '"notes": ["bob 1"]}, {"level": 1, "notes": []}]}\n'),
         "that the game does not call"),
    ],
)  # fmt: skip
def test_results_that_do_not_fit_are_faults(game: Game, change: Any, why: str) -> None:
    text = played(game)
    assert change[0] in text
    fault, *_ = again(game, text.replace(*change, 1)).faults
    assert why in fault.message


def test_an_episode_on_one_line_is_replayed_too(game: Game) -> None:
    episode = game.env().reset(4)
    while not episode.done:
        episode.step({d.seat: d.seat for d in episode.decisions})
    assert not again(game, json.dumps(episode.transcript)).faults


def test_results_are_json_and_back() -> None:
    type: Any = {"a": OrNone(ListOf("number")), "b": ("x", "y"), "c": "text"}
    for value in (
        {"a": (1, Fraction(2, 3)), "b": "x", "c": "1/2"}, {"a": None, "b": "y", "c": ""},
    ):  # fmt: skip
        assert from_json(type, json.loads(json.dumps(as_json(value)))) == value
    for wrong in ({"a": ["1/0"], "b": "x", "c": ""}, {"a": None, "b": "z", "c": ""}, {"a": None}):
        with pytest.raises(WrongType):
            from_json(type, wrong)


def test_each_play_of_an_environment_asks_anew(game: Game) -> None:
    """Plays that are alike share what they have in common, and what functions gave is not that."""
    env, texts = game.env(), []
    for _ in range(4):
        episode = env.reset(4)
        while not episode.done:
            episode.step({d.seat: f"{d.seat} {d.occurrence}" for d in episode.decisions})
        texts.append(dump(episode))
    assert len({*texts}) == 4


def test_samples_have_all_that_a_function_gave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step that one result leads to is reached, whatever comes first."""
    called = [0]
    registry.lookup("exact")
    monkeypatch.setattr(registry, "_FUNCTIONS", dict(registry._FUNCTIONS))

    @registry.function(
        arguments={}, result="int", pure=False, version=1, time_limit=1, on_timeout=0
    )
    def wind() -> int:
        """The wind, 0 to 2."""
        called[0] += 1
        return called[0] % 3

    path = tmp_path / "windy.yaml"
    path.write_text("""
game: windy
roles: [ann]
turns:
  - {call: wind, gives: strength, seen_by: all}
  - {role: ann, choose: go, from: [north, south]}
  - {role: ann, choose: again, from: [north, south], if: strength == 2}
payoffs: 1 if again == north else 0
labels: masked
on_invalid: {then: forfeit, pay: -1}
""")
    assert [d.code for d in compile_file(path).diagnostics] == []
