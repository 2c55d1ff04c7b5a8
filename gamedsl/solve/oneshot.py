"""All that the table of a one-shot game says: equilibria, dominance, welfare, correlation."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from gamedsl.solve.basins import Basins, basins
from gamedsl.solve.dominance import Elimination, eliminate
from gamedsl.solve.equilibria import Equilibrium, PureEquilibria, pure_equilibria
from gamedsl.solve.matrix import AllEquilibria, Mixture, all_equilibria, as_policy
from gamedsl.solve.outcomes import (
    Correlated,
    Security,
    Welfare,
    correlated,
    pareto_set,
    security,
    welfare,
)
from gamedsl.solve.polytope import TooManyVertices
from gamedsl.solve.sequence_form import constant_sum, solve_zero_sum
from gamedsl.solve.solution import Solution, checked
from gamedsl.solve.table import PayoffTable, Profile, one_shot
from gamedsl.solve.tree import Tree, Utility

MANY_FOUND = 200


@dataclass(frozen=True)
class TableEquilibrium:
    """An equilibrium of a table. `names` holds what applies of `pure`, `mixed`, `strict` and the
    names of `gamedsl.solve.equilibria`; `component` is the number of the connected set that it is
    in, from 1."""

    solution: Solution
    names: tuple[str, ...]
    component: int

    @property
    def pure(self) -> bool:
        return "pure" in self.names


@dataclass(frozen=True)
class OneShot:
    """The analysis of a one-shot game. `complete` says that every equilibrium is in `found`, or
    is a mixture of those in its component; `every` holds how they combine (two seats), and all
    of them if there are more than the 200 in `found`. Parts that need a package which is not
    installed are None, and `missing` says which."""

    table: PayoffTable
    found: tuple[TableEquilibrium, ...]
    every: AllEquilibria | None
    complete: bool
    note: str
    strict: Elimination
    weak: Elimination
    pareto: tuple[Profile, ...]
    welfare: Welfare | None
    security: tuple[Security, ...] | None
    correlated: Correlated | None
    basins: Basins | None
    missing: str

    @property
    def pick(self) -> int | None:
        """The place of the equilibrium that stands for the game: the first of the largest welfare,
        pure ones before mixed ones. None without any."""
        if not self.found:
            return None

        def rank(place: int) -> tuple[bool, Fraction]:
            one = self.found[place]
            return one.pure, Fraction(sum(one.solution.values.values()))

        return max(range(len(self.found)), key=rank)


def study(tree: Tree, utility: Utility = "payoffs") -> OneShot:
    """Raises ValueError for a tree that is no one-shot game."""
    table = one_shot(tree)
    if table is None:
        raise ValueError("this is no game in which every seat decides once, blind to the others")
    strict, weak = eliminate(table, "strictly", utility), eliminate(table, "weakly", utility)
    pure = pure_equilibria(tree, utility)
    every = _every(table, strict, utility) if len(table.seats) == 2 else None
    if every is not None:
        found, note = _extreme(tree, table, every, pure, utility), ""
        complete = len(found) == len(every.extreme)
        if not complete:
            note = (
                f"the first {len(found)} of {len(every.extreme):,}, those with the fewest actions"
            )
    else:
        found, note = _some(tree, table, pure, utility)
        complete = strict.solved
    values = [{s: Fraction(v) for s, v in one.solution.values.items()}
              for one in found if one.solution.exact]  # fmt: skip
    secure = joint = around = None
    missing = ""
    try:
        around = basins(tree, utility)
        secure = tuple(security(table, seat, utility) for seat in range(len(table.seats)))
        joint = correlated(table, utility)
    except ImportError as error:
        missing = str(error)
    return OneShot(
        table, found, every, complete, note, strict, weak, pareto_set(table, utility),
        welfare(table, values, utility), secure, joint, around, missing,
    )  # fmt: skip


def _every(table: PayoffTable, strict: Elimination, utility: Utility) -> AllEquilibria | None:
    """All equilibria, found in what strict dominance leaves: none is lost so. None for too many."""
    rows, columns = (strict.left[seat] for seat in table.seats)
    got = table.worth(utility)
    try:
        small = all_equilibria([[(got[a, b][0], got[a, b][1]) for b in columns] for a in rows])
    except TooManyVertices:
        return None

    def padded(mixture: Mixture, names: tuple[str, ...], seat: int) -> Mixture:
        share = dict(zip(names, mixture, strict=True))
        return tuple(share.get(name, Fraction(0)) for name in table.actions[seat])

    return AllEquilibria(
        tuple(padded(m, rows, 0) for m in small.first),
        tuple(padded(m, columns, 1) for m in small.second),
        small.extreme,
        small.components,
    )


def _extreme(
    tree: Tree, table: PayoffTable, every: AllEquilibria, pure: PureEquilibria, utility: Utility
) -> tuple[TableEquilibrium, ...]:
    known = {tuple(e.profile[k] for k in table.keys): e for e in pure.found or ()}
    found = []
    for a, b in every.extreme[:MANY_FOUND]:
        mixtures = every.first[a], every.second[b]
        solution = checked(
            tree, as_policy(table, *mixtures), concept="Nash equilibrium", utility=utility,
            method="enumeration of extreme equilibria",
        )  # fmt: skip
        number = 1 + next(
            i for i, group in enumerate(every.components)
            if any(a in part.first and b in part.second for part in group)
        )  # fmt: skip
        names: tuple[str, ...] = ("mixed",)
        if all(max(mixture) == 1 for mixture in mixtures):
            profile = tuple(
                actions[mixture.index(Fraction(1))]
                for actions, mixture in zip(table.actions, mixtures, strict=True)
            )
            names = _names(known[profile]) if profile in known else ("pure",)
        found.append(TableEquilibrium(solution, names, number))
    return tuple(found)


def _some(
    tree: Tree, table: PayoffTable, pure: PureEquilibria, utility: Utility
) -> tuple[tuple[TableEquilibrium, ...], str]:
    """Pure equilibria, and one mixed one where two seats play for a constant sum."""
    found = []
    for number, one in enumerate(pure.found or (), 1):
        policy = {
            key: {name: Fraction(name == one.profile[key]) for name in names}
            for key, names in zip(table.keys, table.actions, strict=True)
        }
        solution = checked(
            tree, policy, concept="Nash equilibrium", method="trial of every pure profile",
            utility=utility,
        )  # fmt: skip
        found.append(TableEquilibrium(solution, _names(one), number))
    note = f"of the pure ones, {pure.note}"
    if len(table.seats) == 2 and constant_sum(tree, utility) is not None:
        solution = solve_zero_sum(tree, utility)
        found.append(TableEquilibrium(solution, ("mixed",), len(found) + 1))
        return tuple(found), (
            f"{note}; there may be more mixed ones than the one that linear programming found, all "
            "of the same value"
        )
    return tuple(found), f"{note}; mixed ones were not looked for" if found else pure.note


def _names(one: Equilibrium) -> tuple[str, ...]:
    return ("pure", *(("strict",) if one.strict else ()), *one.names)
