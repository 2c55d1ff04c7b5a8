"""The judgement of a pool: cross-play of its members and the last policy, and their mixture.

The members play a game of their own, each side choosing one of them for a whole game. An
equilibrium of that game mixes members; on the tree of the real game the mixture is one policy, a
member being more likely after moves that it makes more often (Kuhn 1953), and that policy's
exploitability is exact. With two sides whose rewards have one sum the equilibrium is that of the
linear program; with others, where equilibria are many or hard to find, all members are alike.

A side of several seats plays one member with all of them, which is no policy on the tree: what one
of its seats knows does not say what the others were drawn to do. So its mixture is not judged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from gamedsl.players.base import DrawingPlayer, Player
from gamedsl.players.mix import MixPlayer
from gamedsl.recipe.table import Recipe
from gamedsl.training.bundles import Bundles
from gamedsl.training.information_sets import measured_sets
from gamedsl.training.pool import Member
from gamedsl.training.rollout import play
from gamedsl.training.scoring import Scorer
from gamedsl.training.seats import Lineup, SeatAssignment
from gamedsl.training.trajectories import Trajectory

if TYPE_CHECKING:
    from gamedsl.runtime import Decision, Env, Episode

NORMAL = 1.959963984540054
"""Standard errors that hold 95%."""

Rows = dict[str, dict[str, float]]
"""Information set -> action -> probability."""


class Arena:
    """Measures members against each other: exactly where there is a `tree`, else in games."""

    def __init__(
        self, env: Env, recipe: Recipe, seating: SeatAssignment, scorer: Scorer, tree: Any,
        members: Sequence[Member],
    ) -> None:  # fmt: skip
        self._env, self._recipe, self._seating, self._scorer = env, recipe, seating, scorer
        self.tree, self.members = tree, members
        info_sets = (measured_sets(env, recipe) if tree is not None else None) or {}
        self._decisions: list[tuple[Decision, Episode]] = list(info_sets.values())
        self._rows = [self.rows([member.player] * len(seating.sides)) for member in members]
        self._known: dict[tuple[int, ...], list[tuple[float, float]]] = {}

    def rows(self, players: Sequence[Player]) -> Rows:
        """Returns the policy that all play on the tree when each side's player is the one of
        `players`."""
        holders = {
            seat: player
            for side, player in zip(self._seating.sides, players, strict=True)
            for seat in side
        }
        found: Rows = {}
        for decision, episode in self._decisions:
            player = holders.get(decision.seat)
            if player is None:  # a role that is held as it is plays so in every snapshot
                player = self._seating.players.get(decision.role, players[0])
            odds_A = self._seating.odds(player, decision, episode)
            assert odds_A is not None, "there is a tree only where all odds are known"
            found[decision.information_set] = dict(zip(decision.legal, odds_A, strict=True))
        return found

    def rewards(self, chosen: tuple[int, ...]) -> list[tuple[float, float]]:
        """Returns the mean reward of each side, and half its 95% interval (0: exact), when side k
        plays member chosen[k]."""
        if chosen not in self._known:
            found = self._played(chosen) if self.tree is None else self._worked_out(chosen)
            self._known[chosen] = found
        return self._known[chosen]

    def _worked_out(self, chosen: tuple[int, ...]) -> list[tuple[float, float]]:
        from gamedsl.solve import expected

        member_of = {
            seat: one
            for side, one in zip(self._seating.sides, chosen, strict=True)
            for seat in side
        }
        policy = {
            info.key: self._rows[member_of.get(info.seat, 0)][info.key]
            for info in self.tree.info_sets
        }
        got = expected(self.tree, policy)
        return [
            (float(np.mean([float(got[s]) for s in side])), 0.0) for side in self._seating.sides
        ]

    def _played(self, chosen: tuple[int, ...]) -> list[tuple[float, float]]:
        recipe, sides = self._recipe, self._seating.sides
        held = {
            seat: self.members[one].player
            for side, one in zip(sides, chosen, strict=True)
            for seat in side
        }
        # Games that share a deal are no independent samples, and all of them count.
        size = 1 if recipe.group_by == "seed" else recipe.group_size
        games = -(-recipe.pool.games // size) * size
        recipe = replace(recipe, games=games, group_size=size, dynamic_sampling=None)
        seating = self._seating.only(Lineup("match", seats=held))
        number = recipe.steps + 1 + sum(c * len(self.members) ** k for k, c in enumerate(chosen))
        batch = play(self._env, Bundles(self._scorer), recipe, number, seating)
        return [_mean(batch.trajectories, side) for side in sides]


def _mean(trajectories: Sequence[Trajectory], side: Sequence[str]) -> tuple[float, float]:
    """Returns the mean reward of a side over games, and half its 95% interval; games that are void
    for one of its seats are left out."""
    total = squares = games = 0.0
    for one in trajectories:
        got = [one.episode.rewards[seat] for seat in side]
        if all(reward is not None for reward in got):
            mean = float(sum(Fraction(reward or 0) for reward in got)) / len(side)
            total += one.games * mean
            squares += one.games * mean * mean
            games += one.games
    if games < 2:
        return total / max(games, 1), float("inf")
    variance = max(squares - total * total / games, 0.0) / (games - 1)
    return total / games, NORMAL * sqrt(variance / games)


def account(
    arena: Arena, seating: SeatAssignment, recipe: Recipe,
    begin: Callable[[int, int], None] = lambda done, of: None,
) -> dict[str, Any]:  # fmt: skip
    """Returns the fields of the end record: cross-play, the mixture, and the exploitability of both
    it and the last policy where that is exact. `payoff[side][i][j]` is what a side earns as member
    i while all others are member j; `half` is half its 95% interval. `begin` is called before each
    match, with the count of those done and of all; what it raises ends the measurement."""
    count = range(len(arena.members))
    matches = {
        (k, i, j): tuple(i if one == k else j for one in range(len(seating.sides)))
        for k in range(len(seating.sides))
        for i in count
        for j in count
    }
    different = list(dict.fromkeys(matches.values()))
    for number, match in enumerate(different):
        begin(number, len(different))
        arena.rewards(match)
    cells = {(k, i, j): arena.rewards(chosen)[k] for (k, i, j), chosen in matches.items()}
    payoff = [
        [[cells[k, i, j][0] for j in count] for i in count] for k in range(len(seating.sides))
    ]
    weights = None if recipe.pool.mixture == "uniform" else equilibrium(payoff)
    chosen = "uniform" if weights is None else "equilibrium"
    weights = weights or [[1 / len(count)] * len(count)] * len(seating.sides)
    names = [" ".join(side) for side in seating.sides]
    found: dict[str, Any] = {
        "members": [member.step for member in arena.members],
        "payoff": dict(zip(names, payoff, strict=True)),
        "half": {
            name: [[_finite(cells[k, i, j][1]) for j in count] for i in count]
            for k, name in enumerate(names)
        },
        "mixture": chosen,
        "weights": dict(zip(names, weights, strict=True)),
    }
    if arena.tree is not None:
        found["exploitability"] = _exploitable(arena, seating, weights)
    return {"population": found}


def _finite(number: float) -> float | None:
    return number if number < float("inf") else None


def _exploitable(
    arena: Arena, seating: SeatAssignment, weights: Sequence[Sequence[float]]
) -> dict[str, float]:
    """Returns NashConv per player of the last policy, and of the mixture where each side is one
    seat."""
    from gamedsl.solve import exploitability

    rows: dict[str, Rows] = {}
    if all(len(side) == 1 for side in seating.sides):
        mixed = [
            MixPlayer(
                [
                    (w, m.player)
                    for w, m in zip(row, arena.members, strict=True)
                    if w > 0 and isinstance(m.player, DrawingPlayer)
                ]
            )
            for row in weights
        ]
        rows["mixture"] = arena.rows(mixed)
    rows["last"] = arena.rows([arena.members[-1].player] * len(seating.sides))
    return {name: float(exploitability(arena.tree, row).per_player) for name, row in rows.items()}


def equilibrium(payoff: Sequence[Sequence[Sequence[float]]]) -> list[list[float]] | None:
    """Returns the weights of both sides in an equilibrium of the game between members; None unless
    there are two sides whose payoffs have one sum. payoff[k][i][j]: side k plays i, the other j."""
    if len(payoff) != 2:
        return None
    first, second = (np.array(side) for side in payoff)
    sums = first + second.T
    if np.ptp(sums) > 1e-9 * max(1.0, float(np.abs(first).max())):
        return None
    return [_safest(first), _safest(second)]


def _safest(payoff_IJ: np.ndarray) -> list[float]:
    """Returns the mixture of rows with the best worst column: maximise v, x·payoff[:, j] >= v for
    all j."""
    from gamedsl.solve.linear_programs import Program, maximise

    rows, columns = payoff_IJ.shape
    most: list[tuple[Mapping[int, Fraction], Fraction]] = [
        ({**{i: -Fraction(float(payoff_IJ[i, j])) for i in range(rows)}, rows: Fraction(1)},
         Fraction(0))
        for j in range(columns)
    ]  # fmt: skip
    whole = ({i: Fraction(1) for i in range(rows)}, Fraction(1))
    program = Program(rows + 1, {rows: Fraction(1)}, most, [whole], frozenset({rows}))
    best = maximise(program)
    assert best is not None, "a mixture always exists"
    weights = np.clip([float(x) for x in best.x[:rows]], 0, None)
    return [float(w) for w in weights / weights.sum()]
