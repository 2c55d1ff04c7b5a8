"""Exact equilibria of games whose state is public, by stages over positions.

Where everybody sees everything but what others choose in the same step, each history is a subgame,
and two histories in one position have the same one. So every position is solved once: as a table
whose cells are worth what the positions that follow are worth (Shapley 1953, with an end; for sums
that are not constant a Markov perfect equilibrium, Maskin and Tirole 2001). Where a stage has
several equilibria, one of the largest welfare is taken, a pure one if there is one.

Regrets are worked out anew over the same positions, by best replies to the policy that was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING

from gamedsl.engine.walk import Move, after
from gamedsl.solve.best_responses import Number
from gamedsl.solve.position_graph import Position, PositionGraph, Progress, Worth, position_graph
from gamedsl.solve.sequence_form import NoOptimum
from gamedsl.solve.solution import Solution
from gamedsl.solve.stages import solve_stage
from gamedsl.solve.subgame_perfection import mean
from gamedsl.solve.tree import InfoSet, Tree, TreeBuilder, Utility

if TYPE_CHECKING:
    from gamedsl.engine.kernel import State
    from gamedsl.runtime import Game

MANY_SETS = 20_000
"""Information sets that a policy is written out for."""

Mixture = tuple[Fraction, ...]


@dataclass(frozen=True)
class PublicSolved:
    """A subgame-perfect equilibrium that depends on positions alone. `stages` counts the positions
    in which several seats choose at once, and `choices` those of them with several equilibria.
    `first` is what each seat plays at the first decision. The solution's policy covers every
    information set that play can come to if at most one seat leaves it; it is empty if they are
    more than 20,000 (not `complete`)."""

    solution: Solution
    positions: int
    histories: int
    stages: int
    choices: int
    first: dict[str, dict[str, Number]]
    complete: bool


def solve_public(
    game: Game, utility: Utility = "payoffs", limit: int = 100_000, progress: Progress | None = None
) -> PublicSolved | None:
    """Solves every position of a game with a public state, the last first. None where some stage
    has no exact method: more than two seats without a pure equilibrium.

    Raises ValueError where the state is not public, `TooLarge` for more than `limit` positions, and
    ImportError without scipy if a stage needs a linear program.
    """
    from gamedsl.runtime.positions import has_public_state

    if not has_public_state(game.ir):
        raise ValueError("positions need rules under which everybody sees everything")
    graph = position_graph(game, utility, limit, progress=progress)
    induction = _Induction(graph)
    if not induction.run():
        return None
    values, regrets = induction.follow()
    rows = _first(graph, induction)
    policy = _policy(game.kernel().start(), graph, induction)
    named = dict(zip(graph.seats, values, strict=True))
    how = f"backward induction over {len(graph.positions):,} positions"
    solution = Solution(
        "subgame-perfect equilibrium", how,
        policy or {}, dict(named), dict(zip(graph.seats, regrets, strict=True)), True,
    )  # fmt: skip
    return PublicSolved(
        solution, len(graph.positions), graph.histories, induction.stages, induction.choices,
        rows, policy is not None,
    )  # fmt: skip


class _Induction:
    """The values of positions, and what is played there: for each who is asked a mixture."""

    def __init__(self, graph: PositionGraph) -> None:
        self.graph = graph
        self.worth: list[Worth] = []
        self.played: list[tuple[Mixture, ...]] = []
        self.stages = self.choices = 0
        self._solved: dict[object, tuple[tuple[Mixture, ...], int] | None] = {}

    def run(self) -> bool:
        """Solves all positions; False where a stage has no exact method."""
        for here in self.graph.positions:
            played: tuple[Mixture, ...] = ()
            if here.asked:
                found = self._stage(here)
                if found is None:
                    return False
                played = found
            self.played.append(played)
            self.worth.append(self._mean(here, played, self.worth))
        return True

    def follow(self) -> tuple[Worth, Worth]:
        """The values of the policy, and what each seat gains by its best reply, worked out anew."""
        values: list[Worth] = []
        replies: list[list[Fraction]] = [[] for _ in self.graph.seats]
        for here, played in zip(self.graph.positions, self.played, strict=True):
            values.append(self._mean(here, played, values))
            for seat, reply in enumerate(replies):
                if here.ends:
                    reply.append(here.ends[seat])
                    continue
                own = here.asked.index(seat) if seat in here.asked else None
                totals: dict[int, Fraction] = {}
                for move, follows, odds in zip(
                    here.moves, here.following, _odds(here, played, own), strict=True
                ):
                    option = 0 if own is None else move[own]
                    totals[option] = totals.get(option, Fraction(0)) + odds * reply[follows]
                reply.append(max(totals.values()))
        root = values[-1]
        return root, tuple([r[-1] - root[i] for i, r in enumerate(replies)])

    def _mean(self, here: Position, played: tuple[Mixture, ...], worth: list[Worth]) -> Worth:
        if here.ends:
            return here.ends
        return mean(tuple(_odds(here, played, None)), [worth[p] for p in here.following])

    def _stage(self, here: Position) -> tuple[Mixture, ...] | None:
        """Returns what is played at a position."""
        counts = [len(self.graph.asks[ask][2]) for ask in here.asks]
        movers = [i for i, count in enumerate(counts) if count > 1]
        cells = [self.worth[p] for p in here.following]
        if len(movers) < 2:
            own = [cell[here.asked[movers[0]]] for cell in cells] if movers else [Fraction(0)]
            return tuple([_pure(own.index(max(own)) if n > 1 else 0, n) for n in counts])
        self.stages += 1
        seats = tuple(here.asked[i] for i in movers)
        sizes = tuple(counts[i] for i in movers)
        paid = tuple(tuple(cell[seat] for seat in seats) for cell in cells)
        key = sizes, paid
        if key not in self._solved:
            self._solved[key] = _solved(sizes, paid)
        found = self._solved[key]
        if found is None:
            return None
        self.choices += found[1] > 1
        rest = iter(found[0])
        return tuple([next(rest) if n > 1 else _pure(0, n) for n in counts])


def _odds(here: Position, played: Sequence[Mixture], without: int | None) -> list[Fraction]:
    """Returns the odds of each move, counting the one asked at place `without` as making it."""
    if here.odds:
        return list(here.odds)
    rows = [
        (Fraction(1),) * len(row) if place == without else row for place, row in enumerate(played)
    ]
    return [
        prod((row[option] for row, option in zip(rows, move, strict=True)), start=Fraction(1))
        for move in here.moves
    ]


def _pure(option: int, count: int) -> Mixture:
    return tuple([Fraction(place == option) for place in range(count)])


def _solved(
    sizes: tuple[int, ...], paid: tuple[Worth, ...]
) -> tuple[tuple[Mixture, ...], int] | None:
    """An equilibrium of a table, and how many there were to choose from as far as is known."""
    if len(sizes) == 2 and len({sum(cell) for cell in paid}) == 1:
        saddle = _saddle(sizes, paid)
        if saddle is not None:
            return tuple([_pure(o, n) for o, n in zip(saddle, sizes, strict=True)]), 1
    tree = _table(sizes, paid)
    try:
        found = solve_stage(tree)
    except NoOptimum:
        found = None
    if found is None:
        return None
    policy, count = found
    rows = [
        tuple([Fraction(policy[info.key].get(name, 0)) for name in info.actions])
        for info in tree.info_sets
    ]
    return tuple(rows), count


def _saddle(sizes: tuple[int, ...], paid: tuple[Worth, ...]) -> Move | None:
    """A pure equilibrium of a table of constant sum for two; None if there is none."""
    rows, columns = sizes
    cells = [[paid[r * columns + c][0] for c in range(columns)] for r in range(rows)]
    least = [min(row) for row in cells]
    most = [max(cells[r][c] for r in range(rows)) for c in range(columns)]
    row, column = least.index(max(least)), most.index(min(most))
    return (row, column) if least[row] == most[column] else None


def _table(sizes: tuple[int, ...], paid: tuple[Worth, ...]) -> Tree:
    """A table as a tree, in which each seat is blind to those before it."""
    seats = [str(i) for i in range(len(sizes))]
    builder = TreeBuilder(seats, limit=2 * prod(sizes) + len(sizes) + 1)
    sets = [
        InfoSet(f"{seat}:choice", seat, seat, "choice", tuple(map(str, range(count))))
        for seat, count in zip(seats, sizes, strict=True)
    ]
    layer = [builder.decision(sets[0])]
    for place, count in enumerate(sizes):
        below = [
            builder.decision(sets[place + 1])
            if place + 1 < len(sizes)
            else builder.terminal(paid[n])
            for n in range(len(layer) * count)
        ]
        for n, node in enumerate(layer):
            builder.link(node, below[n * count : (n + 1) * count])
        layer = below
    return builder.tree()


def _first(graph: PositionGraph, induction: _Induction) -> dict[str, dict[str, Number]]:
    """Returns what each seat plays at the first decision, up to which there is no chance."""
    place = graph.root
    while True:
        here = graph.positions[place]
        if not here.asked:
            return {}
        rows: dict[str, dict[str, Number]] = {}
        for seat, ask, row in zip(here.asked, here.asks, induction.played[place], strict=True):
            if len(row) > 1:
                rows[graph.seats[seat]] = dict(zip(graph.asks[ask][2], row, strict=True))
        if rows:
            return rows
        place = here.following[0]


def _policy(
    start: State, graph: PositionGraph, induction: _Induction
) -> dict[str, dict[str, Number]] | None:
    """The policy at every information set that play comes to if at most one seat leaves it."""
    from gamedsl.runtime.decision import key_of

    policy: dict[str, dict[str, Number]] = {}
    pending: list[tuple[State, int, int | None]] = [(start, graph.root, None)]
    steps = 0
    while pending:
        state, place, left = pending.pop()
        here = graph.positions[place]
        steps += 1
        if steps > 4 * MANY_SETS:
            return None
        if here.asked:
            rows = zip(state.asks, induction.played[place], strict=True)
            for ask, row in rows:
                if len(row) > 1:
                    policy[key_of(state, ask)] = dict(zip(ask.legal, row, strict=True))
        if len(policy) > MANY_SETS:
            return None
        played = induction.played[place]
        for move, follows in zip(here.moves, here.following, strict=True):
            away = {
                seat
                for seat, option, row in zip(here.asked, move, played, strict=False)
                if not row[option]
            } if here.asked else set[int]()  # fmt: skip
            if left is not None:
                away.add(left)
            if len(away) <= 1:
                pending.append((after(state, move), follows, next(iter(away), None)))
    return policy
