"""Plays the games of a training step.

The games of a group are rivals: they share what chance brings, and the opponents that they meet.
Games that share everything but choices (no chance, the same labels) are one group; else each
`group_size` games have a seed of their own. With `group_by: deal` the seed stands for the labels
alone, and chance is drawn for each game.

An update learns nothing from a group whose games all earn the same. With `dynamic_sampling` (Yu et
al. 2025, DAPO) others are played in its place, up to so many times, and what is left without signal
then does not count in the update either.

Games are played by an `Engine`: bundles of equal histories where options are scored
(`gamedsl.training.bundles`), one game at a time beside others where replies are written
(`gamedsl.training.sessions`). Players that the recipe names hold their seats in both
(`gamedsl.training.seats`); their moves are part of the episode and never a sample.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

import numpy as np

from gamedsl.recipe.table import Recipe
from gamedsl.runtime.memory import Memory
from gamedsl.training.seats import SeatAssignment
from gamedsl.training.trajectories import Batch, compared, earned, return_to_go

if TYPE_CHECKING:
    from gamedsl.runtime import Env, Episode
    from gamedsl.training.rows import RowSampler


class Start(NamedTuple):
    """A fresh episode, which `games` games of a group start from."""

    episode: Episode
    group: int
    games: int
    row: int | None = None


class Engine(Protocol):
    """Plays games to their ends with the policy as it is."""

    bundled: bool
    """Whether games with equal histories are one episode."""

    def memory(self, group: int) -> Memory | None:
        """Returns the state that lasts from the game before, for the games of a group."""
        ...

    def play(
        self, starts: Sequence[Start], batch: Batch, recipe: Recipe, seating: SeatAssignment,
        rows: RowSampler | None,
    ) -> None:  # fmt: skip
        """Plays all games and adds their trajectories to the batch. Raises BudgetSpent."""
        ...


def generator(seed: int, step: int, purpose: str) -> np.random.Generator:
    """Returns a stream of its own for each purpose and step, so that resuming needs no stored
    state."""
    return np.random.default_rng([seed, step, zlib.crc32(purpose.encode())])


def play(
    env: Env, engine: Engine, recipe: Recipe, step: int, seating: SeatAssignment | None = None,
    rows: RowSampler | None = None, learns: Collection[str] = (),
) -> Batch:  # fmt: skip
    """Plays `recipe.games` games with the policy as it is. `step` keys the random numbers.

    Without a `seating` the policy plays all roles, and without `rows` chance draws them. Against
    opponents it holds seats of the roles that learn, which are all without `learns`. Raises
    BudgetSpent where endpoints may not be asked any more.
    """
    seating, batch = seating or SeatAssignment(env.ir, recipe), Batch(step=step)
    seating.enter(generator(recipe.seed, step, "players"), learns)
    starts = _starts(env, engine, recipe, seating, batch, rows)
    engine.play(starts, batch, recipe, seating, rows)
    for number in range(1, (recipe.dynamic_sampling or 0) + 1):
        silent = _without_signal(batch, seating, recipe)
        if not silent:
            break
        _set_aside(batch, silent)
        batch.round = number
        more = replace(recipe, games=len(silent) * recipe.group_size)
        starts = _starts(env, engine, more, seating, batch, rows)
        engine.play(starts, batch, recipe, seating, rows)
    if recipe.dynamic_sampling is not None:
        _set_aside(batch, _without_signal(batch, seating, recipe))
    return batch


def _without_signal(batch: Batch, seating: SeatAssignment, recipe: Recipe) -> set[int]:
    """Returns the groups in which samples that are compared with each other have one return. A
    written reply that stands alone is compared with all of its role, and counts as that."""
    returns: dict[int, dict[Hashable, set[tuple[bool, Fraction]]]] = defaultdict(
        lambda: defaultdict(set)
    )
    team = recipe.credit == "team"
    for one in batch.trajectories:
        cells = returns[one.group]
        for s in one.samples:
            if s.role in seating.learners and earned(one, s) is not None:
                cell = compared("role" if s.written is not None else recipe.compare, one, s)
                cells[cell].add((s.invalid is not None, return_to_go(one, s, team=team)))
    return {
        group for group, cells in returns.items()
        if all(len(amounts) == 1 for amounts in cells.values())
    }  # fmt: skip


def _set_aside(batch: Batch, groups: Collection[int]) -> None:
    """Takes the games of some groups out of the update."""
    batch.set_aside += [one for one in batch.trajectories if one.group in groups]
    batch.trajectories = [one for one in batch.trajectories if one.group not in groups]


def _starts(
    env: Env,
    engine: Engine,
    recipe: Recipe,
    seating: SeatAssignment,
    batch: Batch,
    rows: RowSampler | None,
) -> list[Start]:
    """Returns the fresh episodes of a step and sets the batch's line-ups: one for each line-up, or
    one for each group, or one for each game."""
    rng = generator(recipe.seed, batch.step, batch.purpose("opponents"))
    chance: Literal["drawn", "asked"] = "asked" if recipe.group_by == "deal" else "drawn"
    if engine.bundled and (env.ir.one_group or (chance == "asked" and env.ir.labels_last)):
        before = (batch.step - 1) * -(-recipe.games // recipe.group_size)
        drawn = seating.lineups(rng, recipe.games, recipe.group_size, before)
        batch.lineups = list(drawn)
        return [
            Start(env.reset(seed=recipe.seed, chance=chance), group, games)
            for group, games in enumerate(drawn.values())
        ]
    groups = _groups(recipe, batch, rows if chance == "drawn" else None)
    before, first = (batch.step - 1) * len(groups), len(batch.lineups)
    batch.lineups += [seating.lineup(rng, before + group) for group in range(len(groups))]
    copies, games = (1, recipe.group_size) if engine.bundled else (recipe.group_size, 1)
    return [
        Start(
            env.reset(seed=one.seed, chance=chance, memory=engine.memory(group), given=one.given),
            group, games, one.row,
        )
        for group, one in enumerate(groups, first)
        for _ in range(copies)
    ]  # fmt: skip


class _Group(NamedTuple):
    """The seed of chance that the games of a group share, and what chance brings whatever the
    seed, which is their row where rows are drawn by success."""

    seed: int
    row: int | None = None
    given: Mapping[str, int] | None = None


def _groups(recipe: Recipe, batch: Batch, rows: RowSampler | None) -> list[_Group]:
    many = recipe.games // recipe.group_size
    rng = generator(recipe.seed, batch.step, batch.purpose("groups"))
    seeds = [int(seed) for seed in rng.integers(2**31, size=many)]
    if rows is None:
        return [_Group(seed) for seed in seeds]
    drawn = rows.drawn(generator(recipe.seed, batch.step, batch.purpose("rows")), many)
    return [_Group(seed, row, rows.given(row)) for seed, row in zip(seeds, drawn, strict=True)]
