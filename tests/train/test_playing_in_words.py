"""Games in words side by side: none waits for another, and no clock has a say in what is said."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

import pytest
import torch

from gamedsl.calls.registry import _FUNCTIONS, function
from gamedsl.players.base import Answered, Player, Posed
from gamedsl.policies.base import Query
from gamedsl.policies.generation import Generated, Request, Then, Writing
from gamedsl.policies.tabular import Characters
from gamedsl.runtime import Game
from gamedsl.training import sessions
from gamedsl.training.rollout import play
from gamedsl.training.seats import SeatAssignment
from gamedsl.training.sessions import Sessions
from gamedsl.training.trajectories import Trajectory
from tests.train.in_words import opened, recipe_of

TURNS = """
game: turns
roles: [speaker]
turns:
  - {role: speaker, say: first, max_tokens: 4}
  - {role: speaker, say: second, max_tokens: 4}
  - {role: speaker, say: third, max_tokens: 4}
payoffs: 1
"""
CALLS = """
game: calls
roles: [speaker]
turns:
  - {role: speaker, say: first, max_tokens: 4}
  - {call: held_up, with: {text: first}, gives: found}
  - {role: speaker, choose: last, from: [tan, red, dun]}
  - {role: speaker, say: second, max_tokens: 4}
payoffs: 1 if found else 0
"""
TALKS = """
game: talks
roles: [asker, teller]
turns:
  - {role: all, say: both, max_tokens: 4}
  - {role: teller, say: more, max_tokens: 4}
  - {role: asker, say: last, max_tokens: 4}
payoffs: 1
"""
THINKS = """
game: thinks
roles: [speaker]
turns:
  - {role: speaker, choose: first, from: [tan, red, dun]}
  - {call: held_up, with: {text: first}, gives: found}
  - {role: speaker, choose: second, from: [tan, red, dun]}
payoffs: 1 if found else 0
respond: {form: label, think: 4, at_limit: close}
"""


class Engine:
    """Writes `a` whatever it is asked, the newest request first, and scores options alike."""

    def __init__(self, wrote: Callable[[Request], None] = lambda request: None) -> None:
        self.tokenizer = Characters()
        self.wrote = wrote
        self.scored: list[int] = []

    def log_probs(self, queries: Sequence[Query]) -> list[torch.Tensor]:
        self.scored.append(len(queries))
        return [torch.zeros(len(query.labels)).log_softmax(0) for query in queries]

    def serve(self, requests: Sequence[Request], then: Then) -> None:
        waiting = list(enumerate(requests))
        count = len(waiting)
        while waiting:
            index, request = waiting.pop()
            self.wrote(request)
            new = then(index, Generated((1,), (2,), (-1.0,), "a", "stop"))
            waiting += enumerate(new, count)
            count += len(new)


def played(
    game: Game, engine: object, games: int = 4, players: Mapping[str, Player] | None = None
) -> list[Trajectory]:
    policy = cast("Writing", engine)
    recipe = recipe_of(game, games=games, group_size=games)
    env = game.env(tokenizer=policy.tokenizer)
    batch = play(env, Sessions(policy), recipe, 1, SeatAssignment(game.ir, recipe, players))
    trials = batch.trajectories
    assert all(trial.episode.done for trial in trials)
    return trials


def test_no_game_waits_for_what_another_is_writing(compiled: Callable[[str], Game]) -> None:
    """The newest request is written first, so that one game ends before another is answered."""
    asked: list[int] = []
    trials = played(compiled(TURNS), Engine(lambda one: asked.append(len(one.messages))))
    assert asked == [2, 4, 6] * 4
    said = [[one.step for one in trial.samples] for trial in trials]
    assert said == [["first", "second", "third"]] * 4


class Talker:
    """Answers for many games at once."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def act(self, decision: Any, episode: Any) -> str:
        raise AssertionError("it is asked with others")

    def answers(self, posed: Sequence[Posed]) -> list[Answered]:
        self.asked.append(len(posed))
        return [Answered("b") for _ in posed]


def test_batched_players_are_asked_together(
    compiled: Callable[[str], Game],
) -> None:
    talker = Talker()
    trials = played(compiled(TALKS), Engine(), 8, {"teller": talker})
    assert sum(talker.asked) == 16
    assert len(talker.asked) < 8
    for trial in trials:
        said = [list(step["choices"].items()) for step in trial.episode.transcript["steps"]]
        assert said == [[("asker", "a"), ("teller", "b")], [("teller", "b")], [("asker", "a")]]
        assert [one.step for one in trial.samples] == ["both", "last"]


@pytest.fixture
def held_up() -> Iterator[list[Callable[[str], bool]]]:
    """The function of the games that call one; its body is the last of the list."""
    bodies: list[Callable[[str], bool]] = []

    def held_up(text: str) -> bool:
        """Whether it was worth the wait."""
        return bodies[-1](text)

    declared: dict[str, Any] = {"arguments": {"text": "any"}, "result": "bool", "version": 1}
    function(**declared, pure=False, time_limit=9, on_timeout=False)(held_up)
    yield bodies
    del _FUNCTIONS["held_up"]


def test_the_engine_writes_while_functions_run(
    compiled: Callable[[str], Game], held_up: list[Callable[[str], bool]]
) -> None:
    """The call of the first game ends only when another game's reply was written."""
    two, count = threading.Event(), 0

    def wrote(request: Request) -> None:
        nonlocal count
        count += 1
        if count == 2:
            two.set()

    held_up.append(lambda text: two.wait(5))
    engine = Engine(wrote)
    trials = played(compiled(CALLS), engine, games=8)
    assert [trial.episode.payoffs["speaker"] for trial in trials] == [1] * 8
    assert len(engine.scored) < 8  # options that come up together are scored together


def test_how_long_functions_take_has_no_say(
    compiled: Callable[[str], Game], held_up: list[Callable[[str], bool]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(sessions, "_threads", lambda: 4)
    game = compiled(THINKS)
    policy = opened(game, recipe_of(game))
    clock = random.Random(time.time_ns())

    def slow(text: str) -> bool:
        time.sleep(clock.random() / 20)
        return text == "tan"

    held_up.append(slow)
    found = []
    for _ in range(2):
        policy.forget()
        found.append([trial.samples for trial in played(game, policy, games=8)])
    assert found[0] == found[1]
    assert len({one.written for game in found[0] for one in game if one.written}) > 8


def test_a_function_that_fails_ends_the_step(
    compiled: Callable[[str], Game], held_up: list[Callable[[str], bool]]
) -> None:
    def fails(text: str) -> bool:
        raise ZeroDivisionError("no such thing")

    held_up.append(fails)
    game = compiled(CALLS)
    with pytest.raises(Exception, match="no such thing"):
        played(game, Engine())
