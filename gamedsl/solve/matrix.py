"""All Nash equilibria of a two-seat one-shot game, exactly, degenerate games included.

Each seat's mixtures, scaled, are a polytope in which every inequality is an action that is not used
or a best reply of the other seat. The extreme equilibria are the pairs of vertices at which every
action is one or the other (Mangasarian 1964; Avis, Rosenberg, Savani and von Stengel 2010). A game
has finitely many equilibria if no vertex is in two pairs. Otherwise the equilibria are the maximal
Nash subsets: sets U and V of vertices of which every pair is an equilibrium, and then every mixture
of U with every mixture of V is one too (Winkels 1979); those that touch make up a component.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from gamedsl.solve.polytope import Vertex, vertices
from gamedsl.solve.table import PayoffTable
from gamedsl.solve.tree import Utility

MANY_SUBSETS = 2_000

Mixture = tuple[Fraction, ...]
"""The probability of each action of a seat, in order."""


@dataclass(frozen=True)
class NashSubset:
    """A maximal Nash subset: every mixture of `first` against every mixture of `second` is an
    equilibrium. Numbers are places in `AllEquilibria.first` and `.second`."""

    first: tuple[int, ...]
    second: tuple[int, ...]


@dataclass(frozen=True)
class AllEquilibria:
    """Every equilibrium of a game. `extreme` are pairs of places in `first` and `second`, mixtures
    that occur in them; `components` are sets of connected equilibria, each as its maximal Nash
    subsets; one of a single pair is an isolated equilibrium."""

    first: tuple[Mixture, ...]
    second: tuple[Mixture, ...]
    extreme: tuple[tuple[int, int], ...]
    components: tuple[tuple[NashSubset, ...], ...]

    @property
    def finite(self) -> bool:
        return len(self.components) == len(self.extreme)


def all_equilibria(
    payoffs: Sequence[Sequence[tuple[Fraction, Fraction]]],
) -> AllEquilibria:
    """Every equilibrium of the game in which row i against column j pays `payoffs[i][j]`.

    Raises `TooManyVertices` where the polytopes are too large.
    """
    rows, columns = len(payoffs), len(payoffs[0])
    second_gains = [[payoffs[i][j][1] for i in range(rows)] for j in range(columns)]
    first_gains = [[payoffs[i][j][0] for j in range(columns)] for i in range(rows)]
    ours, theirs = (vertices(_positive(gains)) for gains in (second_gains, first_gains))
    everything = (1 << rows + columns) - 1
    pairs = []
    for a, left in enumerate(ours):
        for b, right in enumerate(theirs):
            if any(left.point) and left.tight | _swapped(right, columns, rows) == everything:
                pairs.append((a, b))
    used = [sorted({pair[seat] for pair in pairs}) for seat in (0, 1)]
    places = [{old: new for new, old in enumerate(kept)} for kept in used]
    return _ordered(
        [_mixture(ours[a]) for a in used[0]],
        [_mixture(theirs[b]) for b in used[1]],
        [(places[0][a], places[1][b]) for a, b in pairs],
    )


def matrix_of(table: PayoffTable, utility: Utility) -> list[list[tuple[Fraction, Fraction]]]:
    """The table of two seats as rows of cells."""
    got = table.worth(utility)
    rows, columns = table.actions
    return [[(got[a, b][0], got[a, b][1]) for b in columns] for a in rows]


def as_policy(table: PayoffTable, *mixtures: Mixture) -> dict[str, dict[str, Fraction]]:
    """One mixture for each seat as a policy."""
    return {
        key: dict(zip(actions, mixture, strict=True))
        for key, actions, mixture in zip(table.keys, table.actions, mixtures, strict=True)
    }


def _positive(gains: list[list[Fraction]]) -> list[list[Fraction]]:
    """The same preferences with no payoff below 0, and none of the columns all 0."""
    least = min(min(row) for row in gains)
    moved = [[v - least for v in row] for row in gains]
    if all(any(row[j] for row in moved) for j in range(len(moved[0]))):
        return moved
    return [[v + 1 for v in row] for row in moved]


def _swapped(vertex: Vertex, columns: int, rows: int) -> int:
    """The bits of the second seat's vertex in the order of the first's: its own inequalities come
    first there, last here."""
    unused, replies = vertex.tight & (1 << columns) - 1, vertex.tight >> columns
    return replies | unused << rows


def _mixture(vertex: Vertex) -> Mixture:
    total = sum(vertex.point)
    return tuple(x / total for x in vertex.point)


def _ordered(
    first: list[Mixture], second: list[Mixture], pairs: list[tuple[int, int]]
) -> AllEquilibria:
    """Equilibria of few actions first, and in the order of the actions."""

    def rank(pair: tuple[int, int]) -> tuple[int, list[bool], list[bool]]:
        one, two = first[pair[0]], second[pair[1]]
        support = sum(map(bool, one)) + sum(map(bool, two))
        return support, [not p for p in one], [not p for p in two]

    pairs = sorted(pairs, key=rank)
    components = [tuple(_subsets(group)) for group in _connected(pairs)]
    return AllEquilibria(tuple(first), tuple(second), tuple(pairs), tuple(components))


def _connected(pairs: list[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """Pairs in groups, those that share a vertex together."""
    groups: list[list[tuple[int, int]]] = []
    for pair in pairs:
        touching = [g for g in groups if any(p[0] == pair[0] or p[1] == pair[1] for p in g)]
        joined = [p for group in touching for p in group] + [pair]
        if touching:
            groups[groups.index(touching[0])] = joined
            groups = [g for g in groups if g not in touching[1:]]
        else:
            groups.append(joined)
    return groups


def _subsets(pairs: list[tuple[int, int]]) -> list[NashSubset]:
    """The maximal sets U and V with all pairs of U and V among `pairs`: what the partners of some
    vertices have in common, for all that can be had so."""
    partners: dict[int, frozenset[int]] = {}
    for a, b in pairs:
        partners[a] = partners.get(a, frozenset()) | {b}
    common = set(partners.values())
    pending = list(common)
    while pending and len(common) < MANY_SUBSETS:
        one = pending.pop()
        for other in partners.values():
            both = one & other
            if both and both not in common:
                common.add(both)
                pending.append(both)
    found = []
    for right in common:
        left = tuple(sorted(a for a, others in partners.items() if right <= others))
        found.append(NashSubset(left, tuple(sorted(right))))
    return sorted(found, key=lambda s: (s.first, s.second))
