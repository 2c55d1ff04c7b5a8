"""Legal options as Python: their places among all options of a step."""

from __future__ import annotations

from typing import Any

from gamedsl.engine.codegen.assignments import AssignmentWriter
from gamedsl.engine.codegen.builtin_code import PARTS, emptied_grid, grid_size, places
from gamedsl.engine.codegen.expressions import CodeScope, Expressions
from gamedsl.engine.codegen.knowledge import independent_parts
from gamedsl.engine.codegen.observations import memorable
from gamedsl.engine.codegen.writer import CodeLines, literal
from gamedsl.ir.builtins import BUILTINS, element
from gamedsl.ir.expr import Apply, Collect, Const, Expr, Local, Logic, walk
from gamedsl.ir.program import Action, Choice, Choose
from gamedsl.ir.types import NONE, Bag, Record, Set, Tuple, plain


class OptionWriter:
    """Writes the code for legal options. Options are known by their places in `Choose.options`."""

    def __init__(self, make: Expressions, assignments: AssignmentWriter) -> None:
        self._make = make
        self._assignments = assignments

    def by_seat(self, step: Choose, table: str, rows: list[Any], seat: str = "me") -> str:
        """Returns the code of a seat's own row: one of `rows`, parallel to the actors."""
        if all(options == step.options[0] for options in step.options):
            return self._make.module.table(table, literal(rows[0]))
        by_seat = dict(zip(step.actors, rows, strict=True))
        return f"{self._make.module.table(table, literal(by_seat))}[{seat}]"

    def names(self, step: Choose, seat: str) -> str:
        return self.by_seat(step, "OPTIONS", [[o.name for o in os] for os in step.options], seat)

    def values(self, step: Choose, seat: str) -> str:
        return self.by_seat(step, "VALUES", [[o.value for o in os] for os in step.options], seat)

    def legal(self, lines: CodeLines, step: Choose) -> None:
        """Sets `found` to the places of the options that are legal for `me`, in order."""
        if step.static:
            sizes = {seat: len(os) for seat, os in zip(step.actors, step.options, strict=True)}
            same = len(set(sizes.values())) == 1
            size = min(sizes.values()) if same else f"{literal(sizes)}[me]"
            lines(f"found = range({size})")
            return
        lines("found = []")
        if step.legal is not None:
            values = [{o.value: i for i, o in enumerate(options)} for options in step.options]
            if not self._on_grid(lines, step, step.legal, values):
                index = self.by_seat(step, "PLACES", values)
                source = self._elements(step.legal, CodeScope("me"))
                lines.begin("found", "[]", f"[{index}[value] for value in {source}]")
        for action in step.moves:
            self._instances(lines, step, action)
        distinct = all(_is_distinct(source) for a in step.moves for _, source in a.parameters)
        if distinct and (step.legal is None or (not step.moves and _is_distinct(step.legal))):
            if not self._in_order(step):
                lines("found.sort()")
        else:
            lines("found = sorted(set(found))")

    def _in_order(self, step: Choose) -> bool:
        """Returns whether the options are found in order: one action after the other, and its
        instances as their arguments are iterated over; or the cells of a grid row by row."""
        if step.legal is not None:
            return not step.moves and _are_cells_in_order(step)
        for options in step.options:
            values = [o.value if isinstance(o.value, tuple) else (o.value,) for o in options]
            found: list[int] = []
            for action in step.moves:
                row = [i for i, value in enumerate(values) if value[0] == action.name]
                for at, (_, source) in enumerate(action.parameters):
                    listed = list(dict.fromkeys(values[i][at + 1] for i in row))
                    if not self._is_ascending(source, listed):
                        return False
                    order = {value: i for i, value in enumerate(listed)}
                    if at == len(action.parameters) - 1 and not self._is_lexical(values, row):
                        return False
                    assert order
                found += row
            if found != list(range(len(options))):
                return False
        return True

    def _is_lexical(self, values: list[tuple[Any, ...]], row: list[int]) -> bool:
        """Returns whether instances are in the order of their first arguments, then their
        second, …"""
        width = len(values[row[0]]) if row else 0
        orders = [
            {v: n for n, v in enumerate(dict.fromkeys(values[i][at] for i in row))}
            for at in range(width)
        ]
        keys = [tuple(orders[at][values[i][at]] for at in range(width)) for i in row]
        return keys == sorted(keys)

    def _is_ascending(self, source: Expr, listed: list[Any]) -> bool:
        """Returns whether a source is iterated over in the order of a list."""
        if isinstance(source, Const) and isinstance(source.value, tuple):
            order = {value: i for i, value in enumerate(listed)}
            places = [order.get(value, -1) for value in source.value]
            return places == sorted(places)
        if not isinstance(source, Apply):
            return False
        row = BUILTINS[source.function]
        if row.flow.elements == "others":
            return listed == [seat for seat in self._make.seats if seat in listed]
        return row.order == "ascending" and listed == sorted(listed)

    def _elements(self, source: Expr, scope: CodeScope) -> str:
        """Code to go through a collection whose order does not matter, each item once or more."""
        if self._make.known.is_beyond(source):
            return "beyond()"
        if isinstance(source.type, Bag):
            return self._make.code(source, scope)
        return self._make.items(source, scope, ordered=False)

    def _instances(self, lines: CodeLines, step: Choose, action: Action) -> None:
        """Adds the places of the legal instances of an action to `found`."""
        names = [name for name, _ in action.parameters]
        rows = [
            {_arguments(o, names): i for i, o in enumerate(options) if _is_of(o, action)}
            for options in step.options
        ]
        if (
            action.when is None
            and len(names) == 1
            and self._on_grid(lines, step, action.parameters[0][1], rows)
        ):
            return
        tests = _conjuncts(action.when)
        if len(names) > 1:
            tests = [self._flattened(test) for test in tests]
        read = {n for test in (*tests, *(x for _, x in action.parameters))
                for n in self._make.known.variables(test, lets_only=True)}  # fmt: skip
        kept = [name for name in names if name in read]
        slots = "".join(f"{self._assignments.variable(name)}, " for name in kept).rstrip()
        if kept:  # lets read these from the state
            lines(f"kept = ({slots})")
        held = {name: f"{name}_" for name in names if name not in kept}
        targets = [held.get(name) or self._assignments.variable(name) for name in names]
        if names:
            index = self.by_seat(step, "INSTANCES", [_nested(row, len(names)) for row in rows])
        else:
            index = self.by_seat(step, "INSTANCE", [row.get(()) for row in rows])
            index = index if all(rows) else f"some({index})"
        if action.when is not None and self._make.known.is_beyond(action.when):
            lines("refuse()")
        self._nest(lines, step, action, tests, targets, index, CodeScope("me", {}, held))
        if kept:
            lines(f"{slots} = kept")

    def _on_grid(
        self, lines: CodeLines, step: Choose, source: Expr, rows: list[dict[Any, int]]
    ) -> bool:
        """The cells of a grid that are empty, without working out which these are; `rows` are the
        places of the options with each cell, parallel to the actors."""
        if not isinstance(source, Apply) or source.function not in ("empty", "lowest_empty"):
            return False
        size = grid_size(source)
        if size is None or any(cell not in row for row in rows for cell in places(*size)):
            return False
        grid = self._make.value(source.arguments[0], CodeScope("me"))
        cells = [[row[cell] for cell in places(*size)] for row in rows]
        index = self.by_seat(step, "CELLS", cells)
        if (kept := emptied_grid(source)) is not None:
            slot = self._make.empty_slot(kept)
            again = f"empty_cells(s, {slot.removeprefix('s.')!r}, {grid})"
            code = f"({slot} if {slot} is not None else {again})"
            alone = len(step.moves) + (step.legal is not None) == 1
            if not alone or any(row != list(range(len(row))) for row in cells):
                code = f"[{index}[at] for at in {code}]"
        elif source.function == "empty":
            code = f"[place for place, v in zip({index}, {grid}) if v is None]"
        elif all(row == list(range(len(row))) for row in cells):
            code = f"{self._make.lowest(*size)}({grid})"
        else:
            code = f"[{index}[at] for at in {self._make.lowest(*size)}({grid})]"
        lines.begin("found", "[]", code)
        return True

    def _nest(
        self, lines: CodeLines, step: Choose, action: Action, tests: list[Expr], targets: list[str],
        index: str, scope: CodeScope,
    ) -> None:  # fmt: skip
        """Loops over the parameters that are left, each condition as far out as it can stand."""
        names = [name for name, _ in action.parameters]
        at = len(names) - len(targets)
        later = set(names[at:])
        ready = [test for test in tests if not self._make.known.variables(test) & later]
        if ready:
            rest = [test for test in tests if test not in ready]
            only = len(tests) == len(ready) == 1 and not isinstance(action.when, Logic)
            codes = [self._make.code(t, scope) if only else self._make.truth(t, scope)
                     for t in ready]  # fmt: skip
            with lines.block(f"if {' and '.join(codes)}:"):
                self._nest(lines, step, action, rest, targets, index, scope)
            return
        if not targets:
            lines(f"found.append({index})")
            return
        source = self._elements(action.parameters[at][1], scope)
        if len(names) == 1 and not tests:
            count = self._first(step, action, source)
            if count is not None:
                lines.begin("found", "[]", f"{count}")
                return
        if len(targets) == 1 and not tests:
            lines.begin("found", "[]", f"[{index}[{targets[0]}] for {targets[0]} in {source}]")
            return
        if len(targets) == 1:
            test = " and ".join(self._make.truth(test, scope) for test in tests)
            if len(tests) == 1 and not isinstance(action.when, Logic):
                test = self._make.code(tests[0], scope)
            each = f"{index}[{targets[0]}] for {targets[0]} in {source} if {test}"
            lines.begin("found", "[]", f"[{each}]")
            return
        with lines.block(f"for {targets[0]} in {source}:"):
            lines(f"row{at} = {index}[{targets[0]}]")
            self._nest(lines, step, action, tests, targets[1:], f"row{at}",
                       self._ahead(lines, tests, set(names[at + 1 :]), scope))  # fmt: skip

    def _first(self, step: Choose, action: Action, source: str) -> str | None:
        """The places of the instances of an action whose only argument goes from 0 upwards."""
        size = self._make.known.known_size(action.parameters[0][1])
        rows = [
            [i for i, option in enumerate(options) if _is_of(option, action)]
            for options in step.options
        ]
        counted = all(
            [options[i].value[1] for i in row] == list(range(len(row)))
            for options, row in zip(step.options, rows, strict=True)
        )
        if not source.startswith("range(len(") or size is None:
            return None
        if not counted or any(size > len(row) for row in rows):
            return None
        return f"{self.by_seat(step, 'FIRST', rows)}[: {source[6:-1]}]"

    def _ahead(
        self, lines: CodeLines, tests: list[Expr], later: set[str], scope: CodeScope
    ) -> CodeScope:  # fmt: skip
        """Work out once the parts of conditions that do not depend on later parameters."""
        early = independent_parts(tests, later, reads=False) if later else []
        early = [part for part in early if not self._make.known.variables(part) & later]
        found: dict[int, str] = {}
        for part in early:
            if id(part) not in scope.values and self._make.known.variables(part) & set(scope.held):
                found[id(part)] = f"h{len(scope.values) + len(found)}"
                lines(f"{found[id(part)]} = {self._make.code(part, scope)}")
        return scope.with_values(found)

    def _flattened(self, test: Expr) -> Expr:
        """`any(x in c for c in cs)` of records as `x` in all their parts, which can be collected
        once for many `x`."""
        match test:
            case Apply(
                function="any",
                arguments=(
                    Collect(
                        item=Apply(function="in", arguments=(value, Local(name=name))),
                        targets=(target,), source=source, condition=None, keyed=False,
                    ),
                ),
            ) if name == target:  # fmt: skip
                item = plain(element(source.type) or NONE)
                alone = not any(isinstance(x, Local) and x.name == name for x in walk(value))
                if alone and isinstance(item, Record | Tuple) and memorable(item):
                    parts = Apply(source.type, source.span, PARTS, (source,))
                    return Apply(test.type, test.span, "in", (value, parts))
        return test


def _are_cells_in_order(step: Choose) -> bool:
    """Returns whether the options of a step are cells, row by row, and the empty ones are legal."""
    source = step.legal
    if not isinstance(source, Apply) or source.function != "empty":
        return False
    size = grid_size(source)
    rows = [[option.value for option in options] for options in step.options]
    return size is not None and all(row == list(places(*size)) for row in rows)


def _is_of(option: Choice, action: Action) -> bool:
    value = option.value
    return bool((value[0] if isinstance(value, tuple) and value else value) == action.name)


def _arguments(option: Choice, names: list[str]) -> Any:
    """The key of an instance in the table of its action: its argument, or the tuple of them."""
    if not names:
        return ()
    arguments = option.value[1:]
    return arguments[0] if len(names) == 1 else arguments


def _nested(row: dict[Any, int], depth: int) -> Any:
    """The places of instances by their first argument, then by their second, …"""
    if depth == 1:
        return row
    found: dict[Any, dict[Any, int]] = {}
    for (first, *rest), place in row.items():
        found.setdefault(first, {})[tuple(rest) if depth > 2 else rest[0]] = place
    return {first: _nested(inner, depth - 1) for first, inner in found.items()}


def _is_distinct(source: Expr) -> bool:
    if isinstance(source, Apply) and BUILTINS[source.function].order != "any":
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
