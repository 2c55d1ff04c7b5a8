"""What may be chosen, as Python: the places of the legal options among all options of a step."""

from __future__ import annotations

from typing import Any

from gamedsl.backends.codegen.expressions import Expressions, Reader, apart
from gamedsl.backends.codegen.functions import grid_size, places
from gamedsl.backends.codegen.storing import Storing
from gamedsl.backends.codegen.writer import Lines, literal
from gamedsl.ir.expr import Apply, Const, Expr, Logic
from gamedsl.ir.program import Action, Choice, Choose
from gamedsl.ir.types import Bag, Set

DISTINCT = frozenset({"empty", "cells", "lowest_empty", "slots", "..", "others", "keys", "set"})
"""Functions whose value never holds an element twice."""


class Options:
    """Writes what is legal. Options are known by their places in `Choose.options`."""

    def __init__(self, make: Expressions, storing: Storing) -> None:
        self._make = make
        self._storing = storing

    def by_seat(self, step: Choose, table: str, rows: list[Any], seat: str = "me") -> str:
        """The code of what belongs to a seat: one of `rows`, parallel to the actors."""
        if all(options == step.options[0] for options in step.options):
            return self._make.module.table(table, literal(rows[0]))
        by_seat = dict(zip(step.actors, rows, strict=True))
        return f"{self._make.module.table(table, literal(by_seat))}[{seat}]"

    def names(self, step: Choose, seat: str) -> str:
        return self.by_seat(step, "OPTIONS", [[o.name for o in os] for os in step.options], seat)

    def values(self, step: Choose, seat: str) -> str:
        return self.by_seat(step, "VALUES", [[o.value for o in os] for os in step.options], seat)

    def legal(self, lines: Lines, step: Choose) -> None:
        """Set `found` to the places of what is legal for `me`, in order."""
        if step.static:
            sizes = {seat: len(os) for seat, os in zip(step.actors, step.options, strict=True)}
            same = len(set(sizes.values())) == 1
            size = min(sizes.values()) if same else f"{literal(sizes)}[me]"
            lines(f"found = range({size})")
            return
        lines("found = []")
        if step.legal is not None:
            values = [{o.value: i for i, o in enumerate(options)} for options in step.options]
            index = self.by_seat(step, "PLACES", values)
            source = self._elements(step.legal, Reader("me"))
            lines(f"found += [{index}[value] for value in {source}]")
        for action in step.moves:
            self._instances(lines, step, action)
        distinct = all(_is_distinct(source) for a in step.moves for _, source in a.parameters)
        if distinct and (step.legal is None or (not step.moves and _is_distinct(step.legal))):
            if not self._in_order(step):
                lines("found.sort()")
        else:
            lines("found = sorted(set(found))")

    def _in_order(self, step: Choose) -> bool:
        """Whether what is found is in order, because it is cells in the order of a grid, or one
        action without parameters after the other."""
        if step.legal is not None:
            return False
        if len(step.moves) == 1 and len(step.moves[0].parameters) == 1:
            action = step.moves[0]
            source = action.parameters[0][1]
            if isinstance(source, Apply) and source.function in ("empty", "cells"):
                values = [[o.value[1] for o in options] for options in step.options]
                return all(list(vs) == sorted(vs) for vs in values)
        names = [action.name for action in step.moves if not action.parameters]
        return len(names) == len(step.moves) and all(
            [o.value for o in options if o.value in names] == names for options in step.options
        )

    def _elements(self, source: Expr, reader: Reader) -> str:
        """Code to go through a collection whose order does not matter, each item once or more."""
        if self._make.is_beyond(source):
            return "beyond()"
        if isinstance(source.type, Bag):
            return self._make.code(source, reader)
        return self._make.items(source, reader, ordered=False)

    def _instances(self, lines: Lines, step: Choose, action: Action) -> None:
        """Add the places of the legal instances of an action to `found`."""
        names = [name for name, _ in action.parameters]
        rows = [
            {_arguments(o, names): i for i, o in enumerate(options) if _is_of(o, action)}
            for options in step.options
        ]
        if action.when is None and len(names) == 1 and self._on_grid(lines, step, action, rows):
            return
        tests = _conjuncts(action.when)
        read = {n for test in (*tests, *(x for _, x in action.parameters))
                for n in self._make.variables(test, lets_only=True)}  # fmt: skip
        kept = [name for name in names if name in read]
        slots = "".join(f"{self._storing.variable(name)}, " for name in kept).rstrip()
        if kept:  # lets read these from the state
            lines(f"kept = ({slots})")
        held = {name: f"{name}_" for name in names if name not in kept}
        targets = [held.get(name) or self._storing.variable(name) for name in names]
        if names:
            index = f"{self.by_seat(step, 'INSTANCES', rows)}[{', '.join(targets)}]"
        else:
            index = self.by_seat(step, "INSTANCE", [row.get(()) for row in rows])
            index = index if all(rows) else f"some({index})"
        if action.when is not None and self._make.is_beyond(action.when):
            lines("refuse()")
        self._nest(lines, action, tests, targets, index, Reader("me", {}, held))
        if kept:
            lines(f"{slots} = kept")

    def _on_grid(
        self, lines: Lines, step: Choose, action: Action, rows: list[dict[Any, int]]
    ) -> bool:
        """The cells of a grid that are empty, without working out which these are."""
        source = action.parameters[0][1]
        if not isinstance(source, Apply) or source.function not in ("empty", "lowest_empty"):
            return False
        size = grid_size(source)
        if size is None or any(cell not in row for row in rows for cell in places(*size)):
            return False
        grid = self._make.value(source.arguments[0], Reader("me"))
        index = self.by_seat(step, "CELLS", [[row[cell] for cell in places(*size)] for row in rows])
        if source.function == "empty":
            lines(f"found += [place for place, v in zip({index}, {grid}) if v is None]")
        else:
            lowest = self._make.lowest(*size)
            lines(f"cells = {index}")
            lines(f"found += [cells[at] for at in {lowest}({grid})]")
        return True

    def _nest(
        self, lines: Lines, action: Action, tests: list[Expr], targets: list[str], index: str,
        reader: Reader,
    ) -> None:  # fmt: skip
        """Loops over the parameters that are left, each condition as far out as it can stand."""
        names = [name for name, _ in action.parameters]
        at = len(names) - len(targets)
        later = set(names[at:])
        ready = [test for test in tests if not self._make.variables(test) & later]
        if ready:
            rest = [test for test in tests if test not in ready]
            only = len(tests) == len(ready) == 1 and action.when is tests[0]
            codes = [self._make.code(t, reader) if only else self._make.truth(t, reader)
                     for t in ready]  # fmt: skip
            with lines.block(f"if {' and '.join(codes)}:"):
                self._nest(lines, action, rest, targets, index, reader)
            return
        if not targets:
            lines(f"found.append({index})")
            return
        source = self._elements(action.parameters[at][1], reader)
        if len(targets) == 1 and not tests:
            lines(f"found += [{index} for {targets[0]} in {source}]")
            return
        with lines.block(f"for {targets[0]} in {source}:"):
            self._nest(lines, action, tests, targets[1:], index,
                       self._ahead(lines, tests, set(names[at + 1 :]), reader))  # fmt: skip

    def _ahead(
        self, lines: Lines, tests: list[Expr], later: set[str], reader: Reader
    ) -> Reader:  # fmt: skip
        """Work out once the parts of conditions that do not depend on later parameters."""
        early = apart(tests, later, reads=False) if later else []
        found = {}
        for part in early:
            if id(part) not in reader.found and self._make.variables(part) & set(reader.held):
                found[id(part)] = f"h{len(reader.found) + len(found)}"
                lines(f"{found[id(part)]} = {self._make.code(part, reader)}")
        return reader.with_found(found)


def _is_of(option: Choice, action: Action) -> bool:
    value = option.value
    return bool((value[0] if isinstance(value, tuple) and value else value) == action.name)


def _arguments(option: Choice, names: list[str]) -> Any:
    """The key of an instance in the table of its action: its argument, or the tuple of them."""
    if not names:
        return ()
    arguments = option.value[1:]
    return arguments[0] if len(names) == 1 else arguments


def _is_distinct(source: Expr) -> bool:
    if isinstance(source, Apply) and source.function in DISTINCT:
        return True
    if isinstance(source, Const) and isinstance(source.value, tuple):
        return len(set(source.value)) == len(source.value)
    return isinstance(source.type, Set | Bag)


def _conjuncts(when: Expr | None) -> list[Expr]:
    """The parts that all must hold."""
    if when is None:
        return []
    if isinstance(when, Logic) and when.op == "and":
        return [*_conjuncts(when.left), *_conjuncts(when.right)]
    return [when]
