"""What `--dry-run` says of games in words, against what a step of training does."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from gamedsl.policies.generation import Generated, TokenRow
from gamedsl.policies.hf import HFPolicy
from gamedsl.recipe.table import Recipe
from gamedsl.runtime import Game
from gamedsl.training import dry_run as dry
from gamedsl.training.rollout import play
from gamedsl.training.seats import SeatAssignment
from tests.train.in_words import recipe_of, steps_of

ASK = """
game: ask
roles: [asker]
turns:
  - {draw: topic, from: [news, time, weather, trade], seen_by: all}
  - repeat: 2
    turns:
      - {role: asker, say: word, max_tokens: 8}
payoffs: 1
on_invalid: {then: skip, pay: -1}
prompts:
  rules: Say a word on the topic that you are given. Any word does, as long as it is short.
  ask: {word: "The topic is {{ topic }}."}
"""


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """How much is played does not depend on the speed of the machine."""
    monkeypatch.setattr(dry, "_PATIENCE", math.inf)


@pytest.fixture
def works(monkeypatch: pytest.MonkeyPatch) -> list[dry.Work]:
    """The work of each dry run."""
    found: list[dry.Work] = []

    def floor(policy: Any, work: dry.Work, expected: float) -> list[dry.Fact]:
        found.append(work)
        return []

    monkeypatch.setattr(dry, "_floor", floor)
    return found


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of games that a dry run plays, one after the other."""
    found: list[int] = []

    def counted(env: Any, engine: Any, recipe: Any, *rest: Any) -> Any:
        found.append(recipe.games)
        return play(env, engine, recipe, *rest)

    monkeypatch.setattr(dry, "play", counted)
    return found


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The distinct tokens of each update."""
    found: list[int] = []
    backward = HFPolicy.token_backward

    def counted(policy: HFPolicy, rows: Sequence[TokenRow], *rest: Any) -> Any:
        beginnings = {row.ids[: end + 1] for row in rows for end in range(len(row.ids))}
        found.append(len(beginnings))
        return backward(policy, rows, *rest)

    monkeypatch.setattr(HFPolicy, "token_backward", counted)
    return found


def _recipe(game: Game, **settings: Any) -> Recipe:
    return recipe_of(game, steps=1, baseline="none", **settings)


def _told(game: Game, **settings: Any) -> str:
    recipe = _recipe(game, **settings)
    return dry.dry_run(game, recipe, SeatAssignment(game.ir, recipe), lambda line: None)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("group_size", [1, 8])
def test_dry_run_counts_a_real_step(
    compiled: Callable[[str], Game], tmp_path: Path, works: list[dry.Work], trained: list[int],
    group_size: int,
) -> None:  # fmt: skip
    game = compiled(ASK)
    settings: dict[str, Any] = {"games": 8, "group_size": group_size}
    told = _told(game, **settings)
    (step,) = steps_of(game, _recipe(game, **settings), tmp_path / "run")
    assert f"16 replies, {step['tokens']} tokens" in told
    assert works[0].tokens == works[0].read == pytest.approx(trained[0], rel=0.02)
    assert works[0].rows == step["trained"]


@pytest.mark.usefixtures("patient")
def test_unplayed_games_share_as_played_ones_do(
    compiled: Callable[[str], Game], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    works: list[dry.Work], trained: list[int],
) -> None:  # fmt: skip
    monkeypatch.setattr(dry, "_PLAYED", 16)
    game = compiled(ASK)
    settings: dict[str, Any] = {"games": 32, "group_size": 1}
    assert "\n16 games " in _told(game, **settings)
    steps_of(game, _recipe(game, **settings), tmp_path / "run")
    assert works[0].tokens == pytest.approx(trained[0], rel=0.1)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(("group_size", "expected"), [(1, [8, 16]), (4, [8, 16]), (16, [16, 16])])
def test_dry_run_warms_up(
    compiled: Callable[[str], Game], played: list[int], group_size: int, expected: list[int]
) -> None:
    told = _told(compiled(ASK), games=16, group_size=group_size)
    assert played == expected
    assert f"16 games in groups of {group_size}" in told
    assert "with replies as the untrained model writes them" in told


def test_slow_dry_run_plays_once(
    compiled: Callable[[str], Game], monkeypatch: pytest.MonkeyPatch, played: list[int]
) -> None:
    monkeypatch.setattr(dry, "_PATIENCE", 0.0)
    told = _told(compiled(ASK), games=16, group_size=8)
    assert played == [8]
    assert "\none group           16 replies" in told
    assert "\nnothing was trained; --verbose shows" in told


def test_seconds_of_games_that_were_not_played() -> None:
    assert dry.extrapolated([(8, 2.0)], 64) == 16.0
    assert dry.extrapolated([(4, 1.0), (8, 2.0)], 8) == 2.0
    assert dry.extrapolated([(4, 3.0), (8, 4.0)], 16) == 6.0
    assert dry.extrapolated([(4, 9.0), (8, 4.0)], 16) == 4.0
    assert dry.extrapolated([(4, 0.0), (8, 4.0)], 16) == 8.0
    assert dry.extrapolated([(8, 9.0), (8, 4.0)], 16) == 8.0


def test_shared_beginnings_are_read_once() -> None:
    def reply(number: int) -> Generated:
        return Generated((1, 2, 3), (number,), (0.0,), "", "stop")

    written = [reply(number) for number in range(4)]
    assert dry.spoken(written, 4, 1.0).tokens == 3 + 4
    assert dry.spoken(written, 4, 4.0, first=2).tokens == 3 + 16
    assert dry.spoken(written, 4, 4.0).tokens == 4 * (3 + 4)
    assert dry.spoken(written, 4, 4.0, first=4).tokens == 4 * (3 + 4)
    assert dry.spoken([], 4, 4.0).tokens == 0
