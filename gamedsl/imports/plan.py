"""Finds a program for a tree: its steps, their order, and the readers of each variable.

Every information set gets a time, later than that of every set from which a path leads to it. Sets
of one player at one time with the same actions become one step; so do chance moves. Each step binds
a variable. Everyone may see it whose information sets it does not divide.

A player's view may not determine whether it is asked, and in which set. Then a step before shows it
just that. A player may also be shown that it is not asked: time passes for all in the same way, so
this divides no set of a player with perfect recall.

Sets that do not fit this (`gamedsl.imports.recall`) have steps of their own, one for each time at
which they occur. These steps declare what is known at them, and which set it is if necessary.
Nothing divides them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from gamedsl.imports.clauses import Clauses, Env, Expression, Row, Value, is_function
from gamedsl.imports.efg import EfgNode, Extensive, InfoSet
from gamedsl.imports.recall import sets_without_recall


@dataclass(eq=False)
class Step:
    """A step of the program. `player` is 0 for chance, and the reader for a `show`.

    `readers` are the players who see the variable. `condition` says when the step happens; None:
    always.
    """

    kind: str
    player: int
    time: int
    variable: str
    readers: frozenset[int]
    options: tuple[Value, ...] = ()
    odds: tuple[Fraction, ...] = ()
    condition: Expression | None = None
    value: Expression | None = None
    knows: str | None = None
    """The declared knowledge of a choice, if it has one."""


@dataclass(eq=False)
class _Slot:
    """Moves that are one step. `apart` marks a set that occurs at several times or forgets."""

    time: int
    player: int
    apart: bool
    nodes: list[EfgNode] = field(default_factory=list)

    @property
    def info(self) -> InfoSet:
        found = self.nodes[0].set
        assert found is not None
        return found


MAX_WORK = 4_000_000
"""Steps times nodes: each step is compared with every node."""


class TooManyStepsError(Exception):
    """A tree takes too many steps for its size. `steps` is their number."""

    def __init__(self, steps: int) -> None:
        super().__init__(steps)
        self.steps = steps


class Plan:
    """The steps for a tree. `options` names the actions of each set; `name` gives a name to what a
    step of some kind binds, by the labels of its sets."""

    def __init__(
        self, form: Extensive, options: dict[InfoSet, tuple[Value, ...]],
        name: Callable[[str, set[str]], str], clauses: Clauses,
    ) -> None:  # fmt: skip
        """Raises TooManyStepsError where steps times nodes are more than `MAX_WORK`."""
        self.form = form
        self.steps: list[Step] = []
        self.env: dict[EfgNode, dict[str, Value]] = {node: {} for node in form.nodes}
        """For each node what its past bound."""
        self._options = options
        self._name = name
        self._clauses = clauses
        self._apart, self._time = sets_without_recall(form)
        self._members: dict[InfoSet, list[EfgNode]] = {}
        """The nodes of each set of a player that nothing may divide."""
        for node in form.nodes:
            if node.set is not None and node.set.player and node.set not in self._apart:
                self._members.setdefault(node.set, []).append(node)
        self._place = {node: i for i, node in enumerate(form.nodes)}
        self._size = _sizes(form)
        slots = self._slots()
        if len(slots) * len(form.nodes) > MAX_WORK:
            raise TooManyStepsError(len(slots))
        for slot in slots:
            self._add(slot)

    def ends(self) -> Iterator[tuple[EfgNode, Env]]:
        """The terminal nodes, with what their past bound."""
        return ((node, self.env[node]) for node in self.form.nodes if node.set is None)

    @property
    def moved(self) -> list[str]:
        """Returns the names that moves bind, in order."""
        return [step.variable for step in self.steps if step.kind != "show"]

    def _slots(self) -> list[_Slot]:
        slots: dict[tuple[object, ...], _Slot] = {}
        for node in self.form.nodes:
            if node.set is not None:
                info, time, own = node.set, self._time[node], node.set in self._apart
                what = info if own else (info.player, self._options[info], info.odds)
                slot = slots.setdefault((time, what), _Slot(time, info.player, own))
                slot.nodes.append(node)
        return sorted(slots.values(), key=lambda s: (s.time, s.player, self._place[s.nodes[0]]))

    def _add(self, slot: _Slot) -> None:
        condition = self._condition(slot)
        kind = "choose" if slot.player else "draw"
        variable = self._name(kind, {node.set.label for node in slot.nodes if node.set})
        options = self._options[slot.info]
        for node in slot.nodes:
            for option, child in zip(options, node.children, strict=True):
                self._bind(child, variable, option)
        readers = self._may_see(variable)
        if condition is not None:
            for step in self.steps:
                if step.variable in condition.reads:
                    readers &= step.readers
        if kind == "draw":
            readers -= self._blind(variable)
        odds = slot.info.odds
        self.steps.append(
            Step(
                kind, slot.player, slot.time, variable, readers, options, odds, condition,
                knows=self._knows(slot.info) if slot.apart else None,
            )
        )  # fmt: skip

    def _knows(self, info: InfoSet) -> str:
        """Returns the declared knowledge at a set; empty if its options tell it from all others."""
        alike = (i.player == info.player and self._options[i] == self._options[info]
                 for i in self.form.sets)  # fmt: skip
        return "nothing" if sum(alike) == 1 else f"[{{place: {info.number}}}]"

    def _condition(self, slot: _Slot) -> Expression | None:
        """When a move is made, in terms that its player sees: if need be, of what it is shown. What
        says itself what is known is as chance: it may be asked by what is hidden."""
        here, nodes = set(slot.nodes), list(self._at(slot.time))
        seen = [s for s in self.steps if s.time < slot.time or s.kind == "show"]
        if slot.player and not slot.apart:
            rows: list[Row] = [(self.env[n], n.set if n in here else None) for n in nodes]
            before, seen = seen, [step for step in seen if slot.player in step.readers]
            if not is_function(rows, [step.variable for step in seen]):
                seen.append(self._show(slot, nodes, before, seen))
        asked: list[Row] = [(self.env[node], node in here) for node in nodes]
        if all(holds for _, holds in asked):
            return None
        return self._clauses.express(asked, _ranked(seen))

    def _show(
        self, slot: _Slot, nodes: list[EfgNode], before: list[Step], seen: list[Step]
    ) -> Step:
        """A step that tells a player all that it lacks to know which of its sets of this time it
        is in, if any."""
        player, names = slot.player, [step.variable for step in seen]
        sets = [
            n.set if n.set in self._members and self._time[n] == slot.time
            and n.set.player == player else None
            for n in nodes
        ]  # fmt: skip
        told = self._name("show", set())

        def enough(telling: tuple[str, list[Value]]) -> bool:
            for node, value in zip(nodes, telling[1], strict=True):
                self._bind(node, told, value)
            rows: list[Row] = [(self.env[n], info) for n, info in zip(nodes, sets, strict=True)]
            return player in self._may_see(told) and is_function(rows, [*names, told])

        name, values = next(filter(enough, self._tellings(nodes, sets, before, names)))
        if name:
            shown = Expression((name,), frozenset((name,)))
        else:
            told_rows: list[Row] = [(self.env[n], v) for n, v in zip(nodes, values, strict=True)]
            moves = (step for step in before if step.kind != "show")
            shown = self._clauses.express(told_rows, _ranked(moves))
        readers = self._may_see(told)
        self.steps.append(Step("show", player, slot.time, told, readers, value=shown))
        return self.steps[-1]

    def _tellings(
        self, nodes: list[EfgNode], sets: list[InfoSet | None], before: list[Step], names: list[str]
    ) -> Iterator[tuple[str, list[Value]]]:
        """Yields the candidates for an observation that a player may get: one earlier thing, by
        its name; that it is asked; the hidden part of the way to its set, as the first set with
        such a way; its set. The last always suffices."""
        hidden = [step.variable for step in before if step.variable not in names]
        for name in hidden:
            yield name, [self.env[node].get(name) for node in nodes]
        rows: list[Row] = [(self.env[n], s) for n, s in zip(nodes, sets, strict=True) if s]
        if is_function(rows, names):
            yield "", [info is not None for info in sets]
        ways = [tuple(self.env[node].get(name) for name in hidden) for node in nodes]
        of: dict[InfoSet, set[object]] = {}
        for info, way in zip(sets, ways, strict=True):
            if info is not None:
                of.setdefault(info, set()).add(way)
        first: dict[object, int] = {}
        for info, own in of.items():
            number = next((first[way] for way in own if way in first), info.number)
            first |= dict.fromkeys(own - first.keys(), number)
        yield "", [first.get(way, 0) for way in ways]
        yield "", [0 if info is None else info.number for info in sets]

    def _at(self, time: int) -> Iterator[EfgNode]:
        """Yields the nodes at which the game may be when a time comes, one for each way to get
        there."""
        for node in self.form.nodes:
            late = node.set is None or self._time[node] >= time
            if late and (node.parent is None or self._time[node.parent] < time):
                yield node

    def _bind(self, node: EfgNode, variable: str, value: Value) -> None:
        first = self._place[node]
        for below in self.form.nodes[first : first + self._size[node]]:
            self.env[below][variable] = value

    def _blind(self, variable: str) -> set[int]:
        """The players whom it serves nothing to see a variable, since they never know it where
        they are asked."""
        recalls = {info.player for info in self._members}
        values: dict[InfoSet, set[Value | None]] = {}
        for node in self.form.nodes:
            if node.set is not None and node.set.player not in recalls:
                values.setdefault(node.set, set()).add(self.env[node].get(variable))
        return {info.player for info, own in values.items() if len(own) > 1}

    def _may_see(self, variable: str) -> frozenset[int]:
        """The players none of whose information sets a variable would divide."""
        hidden = {
            info.player
            for info, nodes in self._members.items()
            if len({self.env[node].get(variable) for node in nodes}) > 1
        }
        return frozenset(range(1, len(self.form.players) + 1)) - hidden


def _ranked(steps: Iterable[Step]) -> dict[str, int]:
    """Ranks the names that steps bind; names that more players see are preferred."""
    return {step.variable: len(step.readers) for step in steps}


def _sizes(form: Extensive) -> dict[EfgNode, int]:
    """Returns the number of nodes of each subtree."""
    sizes = dict.fromkeys(form.nodes, 1)
    for node in reversed(form.nodes):
        if node.parent is not None:
            sizes[node.parent] += sizes[node]
    return sizes
