"""Between what numbers the probabilities of actions lie, over all equilibria of a small game.

A range says whether a learned mixture is one that an equilibrium plays. Each decision is looked at
by itself: ranges do not tell how decisions hang together (in Kuhn poker the queen calls exactly a
third more often than the jack bluffs), so that a policy within all ranges need not be an
equilibrium, while one outside of some is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gamedsl.solve.best_responses import Number, Policy
from gamedsl.solve.dominance import eliminate
from gamedsl.solve.linear_programs import Program, maximise
from gamedsl.solve.matrix import AllEquilibria, all_equilibria, as_policy, matrix_of
from gamedsl.solve.polytope import TooManyVertices
from gamedsl.solve.sequence_form import ROOT, Plans, best_plan, constant_sum
from gamedsl.solve.stages import stage_of, subgames, worth_of
from gamedsl.solve.subgame_perfection import Worth, mean, perfect_information, perfect_outcomes
from gamedsl.solve.table import PayoffTable, one_shot
from gamedsl.solve.tree import CHANCE, TERMINAL, Tree, Utility

Interval = tuple[Number, Number]
"""The least and the greatest probability."""

MANY_ACTIONS = 64
"""Actions, over all information sets, up to which linear programs are solved for each."""

MANY_CHOICES = 6
"""Actions of a seat up to which the equilibria of a table are enumerated; there may be
exponentially many. Both limits keep a game to about a second."""

SLACK = 1e-9
"""The margin below a value that could not be certified, in spans of payoff."""

_SURE: Interval = (Fraction(1), Fraction(1))
_NEVER: Interval = (Fraction(0), Fraction(0))
_ANY: Interval = (Fraction(0), Fraction(1))

Rows = dict[str, dict[str, tuple[Interval, ...]]]
"""Information set -> action -> intervals."""


@dataclass(frozen=True)
class Ranges:
    """Information set -> action -> intervals, from low to high and apart from each other: one for
    each set of connected equilibria. Fractions, but where a program could not be certified.

    Sets that no equilibrium comes to by its owner's own choices are left out, for there a Nash
    equilibrium may do anything; so are, of those that some come to, the equilibria that do not.
    """

    concept: str
    """`Nash equilibria` or `subgame-perfect equilibria`."""
    method: str
    of: Rows

    def as_dict(self) -> dict[str, Any]:
        """Returns plain data, in floats."""
        return {
            "concept": self.concept,
            "method": self.method,
            "of": {
                key: {name: [[float(a), float(b)] for a, b in parts] for name, parts in row.items()}
                for key, row in self.of.items()
            },
        }


def equilibrium_ranges(tree: Tree, utility: Utility = "rewards") -> Ranges | None:
    """The ranges of all equilibria; None where no method here knows them all.

    Perfect information: subgame-perfect equilibria, by backward induction. Two seats that decide
    once: all Nash equilibria, by enumeration. Two seats of constant sum: linear programs over the
    plans that are optimal. Otherwise a game that falls apart into stages, each of a single
    equilibrium: its subgame-perfect one. Raises ImportError without scipy where it needs programs.
    """
    if perfect_information(tree):
        return _perfect(tree, utility)
    table = one_shot(tree)
    if table is not None and len(table.seats) == 2:
        every = _enumerated(table, utility)
        if every is not None:
            return Ranges("Nash equilibria", "all equilibria enumerated", _of_table(table, every))
    if len(tree.seats) == 2 and constant_sum(tree, utility) is not None:
        if sum(len(info.actions) for info in tree.info_sets) > MANY_ACTIONS:
            return None
        return Ranges("Nash equilibria", "sequence-form linear programs", _optimal(tree, utility))
    return _staged(tree, utility)


def _perfect(tree: Tree, utility: Utility) -> Ranges | None:
    """An action is in some subgame-perfect equilibrium if, at its best, it pays who moves no less
    than every other action at its worst; where several are, they may be mixed if they tie."""
    outcomes = perfect_outcomes(tree, utility)
    if outcomes is None:
        return None
    found: Rows = {}
    for number, info in enumerate(tree.info_sets):
        (node,), seat = tree.members[number], tree.owner[number]
        own = [[worth[seat] for worth in outcomes[child]] for child in tree.children[node]]
        security = max(map(min, own))
        fit = [max(values) >= security for values in own]
        some = _ANY if sum(fit) > 1 else _SURE
        found[info.key] = {
            name: (some if fits else _NEVER,) for name, fits in zip(info.actions, fit, strict=True)
        }
    return Ranges("subgame-perfect equilibria", "backward induction", found)


def _enumerated(table: PayoffTable, utility: Utility) -> AllEquilibria | None:
    if max(map(len, table.actions)) > MANY_CHOICES:
        return None
    try:
        return all_equilibria(matrix_of(table, utility))
    except TooManyVertices:
        return None


def _of_table(table: PayoffTable, every: AllEquilibria) -> Rows:
    """One interval for each component: connected, and so its projections are intervals, with the
    extreme equilibria at their ends."""
    found: Rows = {}
    for seat, (key, actions) in enumerate(zip(table.keys, table.actions, strict=True)):
        mixtures = (every.first, every.second)[seat]
        row: dict[str, tuple[Interval, ...]] = {}
        for place, name in enumerate(actions):
            parts = []
            for component in every.components:
                used = {v for part in component for v in (part.first, part.second)[seat]}
                here = [mixtures[v][place] for v in used]
                parts.append((min(here), max(here)))
            row[name] = joined(parts)
        found[key] = row
    return found


def joined(parts: Iterable[Interval]) -> tuple[Interval, ...]:
    """Intervals in order, those that touch made one."""
    whole: list[Interval] = []
    for low, high in sorted(parts):
        if whole and low <= whole[-1][1]:
            whole[-1] = (whole[-1][0], max(high, whole[-1][1]))
        else:
            whole.append((low, high))
    return tuple(whole)


def _optimal(tree: Tree, utility: Utility) -> Rows:
    """The equilibria of a game of constant sum are all pairs of optimal plans. The probability of
    an action is the ratio of two of a plan's numbers, x(before, action) / x(before), and its ends
    are linear programs over plans scaled so that x(before) = 1 (Charnes and Cooper 1962)."""
    plans = Plans(tree, 0), Plans(tree, 1)
    found: dict[int, dict[str, tuple[Interval, ...]]] = {}
    for mine, theirs in (plans, plans[::-1]):
        program = best_plan(mine, theirs, utility)
        best = maximise(program)
        assert best is not None
        low, high = tree.span(tree.seats[mine.seat], utility)
        value = Fraction(best.value) - (0 if best.exact else (high - low) * Fraction(SLACK))
        face = [*program.most, ({mine.count: Fraction(-1), ROOT: value}, Fraction(0))]
        for info, before in mine.before.items():
            scaled = Program(
                program.columns, {}, face,
                [({before: Fraction(1)}, Fraction(1)), *program.equal[1:]], program.free,
            )  # fmt: skip
            row = _ends(scaled, [mine.number[info, a] for a in range(_width(tree, info))])
            if row is not None:
                names = tree.info_sets[info].actions
                found[info] = {name: (part,) for name, part in zip(names, row, strict=True)}
    return {tree.info_sets[info].key: found[info] for info in sorted(found)}


def _width(tree: Tree, info: int) -> int:
    return len(tree.info_sets[info].actions)


def _ends(program: Program, columns: Sequence[int]) -> list[Interval] | None:
    """The least and the greatest value of columns that add up to 1; None where there is none."""
    parts: list[Interval] = []
    for column in columns if len(columns) > 2 else columns[:1]:
        ends = []
        for sign in (-1, 1):
            program.objective = {column: Fraction(sign)}
            best = maximise(program)
            if best is None:
                return None
            ends.append(sign * best.value)
        parts.append((ends[0], ends[1]))
    if len(columns) == 2:
        low, high = parts[0]
        parts.append((1 - high, 1 - low))
    return parts


def _staged(tree: Tree, utility: Utility) -> Ranges | None:
    """The one subgame-perfect equilibrium of a game whose every stage has one equilibrium."""
    got = tree.utilities(utility, exact=True)
    worth: dict[int, Worth] = {}
    policy: dict[str, dict[str, Number]] = {}
    roots = sorted(subgames(tree), reverse=True)
    for root in roots:
        if tree.info[root] == TERMINAL:
            worth[root] = got[root]
        elif tree.info[root] == CHANCE and all(c in worth for c in tree.children[root]):
            worth[root] = mean(tree.odds[root], [worth[c] for c in tree.children[root]])
        else:
            only = _only(stage_of(tree, root, worth))
            if only is None:
                return None
            policy |= {key: dict(row) for key, row in only.items()}
            worth[root] = worth_of(tree, root, worth, policy)
    alone = one_shot(tree) is not None
    concept = "Nash equilibria" if alone else "subgame-perfect equilibria"
    method = "strict dominance" if alone else "the one equilibrium of every stage"
    rows: Rows = {
        info.key: {name: ((policy[info.key].get(name, Fraction(0)),) * 2,) for name in info.actions}
        for info in tree.info_sets
    }
    return Ranges(concept, method, rows)


def _only(stage: Tree) -> Policy | None:
    """The equilibrium of a stage, if there is just one and that can be shown."""
    if len(stage.seats) == 1 and len(stage.info_sets) == 1:
        if not perfect_information(stage):
            return None
        found = _perfect(stage, "payoffs")
        rows = found.of if found else {}
        if any(part == _ANY for row in rows.values() for (part,) in row.values()):
            return None
        return {key: {name: part[0] for name, (part,) in row.items()} for key, row in rows.items()}
    table = one_shot(stage)
    if table is None:
        return None
    if len(table.seats) == 2:
        every = _enumerated(table, "payoffs")
        if every is None or not every.finite or len(every.extreme) != 1:
            return None
        return as_policy(table, every.first[0], every.second[0])
    left = eliminate(table, "strictly")
    if not left.solved:
        return None
    return {
        key: {left.left[seat][0]: Fraction(1)}
        for key, seat in zip(table.keys, table.seats, strict=True)
    }
