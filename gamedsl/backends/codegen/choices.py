"""Decisions as Python: who is asked, what is legal, and what happens once they have chosen."""

from __future__ import annotations

from typing import Any

from gamedsl.backends import flow
from gamedsl.backends.codegen.expressions import Expressions, Reader, apart
from gamedsl.backends.codegen.jumps import Jumps
from gamedsl.backends.codegen.storing import Storing
from gamedsl.backends.codegen.telling import Telling
from gamedsl.backends.codegen.writer import Lines, literal
from gamedsl.backends.places import misfit
from gamedsl.ir.expr import Apply, Const, Expr, Logic
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Action, Choice, Choose
from gamedsl.ir.types import Bag, Set

DISTINCT = frozenset({"empty", "cells", "lowest_empty", "slots", "..", "others", "keys", "set"})
"""Functions whose value never holds an element twice."""


class Choices:
    """Writes the operation `Ask`, and what follows when it is answered."""

    def __init__(
        self, ir: GameIR, run: flow.Flow, make: Expressions, storing: Storing, telling: Telling,
        jumps: Jumps,
    ) -> None:  # fmt: skip
        self._ir = ir
        self._flow = run
        self._make = make
        self._storing = storing
        self._telling = telling
        self._jumps = jumps

    # asking

    def ask(self, lines: Lines, place: int, op: flow.Ask) -> None:
        """Stop at a decision, or go on where nobody has anything to choose."""
        step = op.step
        lines.source(step.span)
        if step.joint:
            self._ask_all(lines, place, op)
            return
        if step.actor is None:
            lines(f"me = {step.actors[0]!r}")
        else:
            lines(f"me = {self._make.value(step.actor, Reader('s.me'))}")
        if step.condition is not None:
            with lines.block(f"if not {self._make.holds(step.condition, Reader('me'))}:"):
                lines(f"return {self._jumps.to(op.after)}")
        if step.actor is not None:
            with lines.block(f"if me not in {literal(step.actors)}:"):
                lines("refuse()")
        if not step.static:
            self._legal(lines, step)
            with lines.block("if not names:"):
                self._nothing(lines, op, f"return {self._jumps.to(op.after)}")
            lines("s.legal = (names,)")
        else:
            lines(f"s.legal = ({self._all(step)},)")
        lines("s._asked = (me,)")
        self._stop(lines, place)

    def _ask_all(self, lines: Lines, place: int, op: flow.Ask) -> None:
        """Ask several at once."""
        step = op.step
        if step.static and step.condition is None:
            options = {seat: _names(step.options_of(seat)) for seat in step.actors}
            lines(f"s.legal = {self._make.module.constant(tuple(options.values()))}")
            lines(f"s._asked = {literal(step.actors)}")
            self._stop(lines, place)
            return
        lines("asked, legal = [], []")
        with lines.block(f"for me in {literal(step.actors)}:"):
            if step.condition is not None:
                with lines.block(f"if not {self._make.holds(step.condition, Reader('me'))}:"):
                    lines("continue")
            if step.static:
                lines(f"names = {self._all(step)}")
            else:
                self._legal(lines, step)
            with lines.block("if names:"):
                lines("asked.append(me)")
                lines("legal.append(names)")
            with lines.block("else:"):
                self._nothing(lines, op, "pass")
        with lines.block("if not asked:"):
            lines(f"return {self._jumps.to(op.after)}")
        lines("s._asked, s.legal = tuple(asked), tuple(legal)")
        self._stop(lines, place)

    def _stop(self, lines: Lines, place: int) -> None:
        lines(f"s._site = asks_{place}")
        lines('s.kind = "decide"')
        lines("return None")

    def _nothing(self, lines: Lines, op: flow.Ask, passed: str) -> None:
        """What happens where a seat has nothing to choose."""
        if self._ir.no_move == "end":
            lines(f"return {self._jumps.to(op.over)}")
        elif self._ir.no_move == "pass":
            lines(passed)
        else:
            lines("refuse()")

    # options

    def _same(self, step: Choose) -> bool:
        """Whether all who may act have the same options."""
        return all(options == step.options[0] for options in step.options)

    def _by_seat(self, step: Choose, table: str, rows: list[Any], seat: str = "me") -> str:
        """The code of what belongs to a seat: one of `rows`, parallel to the actors."""
        if self._same(step):
            return self._make.module.table(table, literal(rows[0]))
        by_seat = dict(zip(step.actors, rows, strict=True))
        return f"{self._make.module.table(table, literal(by_seat))}[{seat}]"

    def _all(self, step: Choose) -> str:
        return self._by_seat(step, "OPTIONS", [_names(options) for options in step.options])

    def _legal(self, lines: Lines, step: Choose) -> None:
        """Set `names` to the names of what is legal for `me`."""
        if step.legal is not None:
            values = [{o.value: i for i, o in enumerate(options)} for options in step.options]
            index = self._by_seat(step, "PLACE", values)
            lines(f"place = {index}")
            lines(f"found = [place[value] for value in {self._elements(step.legal)}]")
        else:
            lines("found = []")
        for action in step.moves:
            self._instances(lines, step, action)
        names = self._all(step)
        distinct = all(_is_distinct(source) for a in step.moves for _, source in a.parameters)
        if distinct and (step.legal is None or (not step.moves and _is_distinct(step.legal))):
            lines("found.sort()")
            lines(f"options = {names}")
            lines("names = tuple([options[place] for place in found])")
        else:
            lines(f"names = below({names}, found)")

    def _elements(self, source: Expr, reader: Reader | None = None) -> str:
        """Code to go through a collection whose order does not matter, each item once or more."""
        reader = reader or Reader("me")
        if self._make.is_beyond(source):
            return "beyond()"
        if isinstance(source.type, Bag):
            return self._make.code(source, reader)
        return self._make.items(source, reader, ordered=False)

    def _instances(self, lines: Lines, step: Choose, action: Action) -> None:
        """Add the places of the legal instances of an action to `found`."""
        names = [name for name, _ in action.parameters]
        tests = _conjuncts(action.when)
        read = {n for test in (*tests, *(x for _, x in action.parameters)) if test is not None
                for n in self._let_variables(test)}  # fmt: skip
        kept = [name for name in names if name in read]
        if kept:  # lets read these from the state
            slots = ", ".join(map(self._storing.variable, kept))
            lines(f"kept = ({slots},)")
        held = {name: f"{name}_" for name in names if name not in kept}
        targets = [held.get(name) or self._storing.variable(name) for name in names]
        rows = [
            {_arguments(o, names): i for i, o in enumerate(options) if _is_of(o, action)}
            for options in step.options
        ]
        if names:
            index = f"{self._by_seat(step, 'INSTANCES', rows)}[{', '.join(targets)}]"
        else:
            index = self._by_seat(step, "INSTANCE", [row.get(()) for row in rows])
            index = index if all(rows) else f"some({index})"
        reader = Reader("me", {}, held)
        beyond = action.when is not None and self._make.is_beyond(action.when)
        self._nest(lines, action, tests, targets, index, reader, "refuse()" if beyond else "")
        if kept:
            lines(f"{slots}, = kept")

    def _nest(
        self, lines: Lines, action: Action, tests: list[Expr], targets: list[str], index: str,
        reader: Reader, first: str = "",
    ) -> None:  # fmt: skip
        """Loops over the parameters that are left, each condition as far out as it can stand."""
        if first:
            lines(first)
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
            early = apart(tests, set(names[at + 1 :]), reads=False) if len(targets) > 1 else []
            early = [part for part in early if self._make.variables(part) & {names[at]}]
            codes = {id(part): self._make.code(part, reader) for part in early}
            held = {place: f"h{len(reader.found) + i}" for i, place in enumerate(codes)}
            for place, code in codes.items():
                lines(f"{held[place]} = {code}")
            self._nest(lines, action, tests, targets[1:], index, reader.with_found(held))

    def _let_variables(self, expr: Expr) -> set[str]:
        """The variables that the lets in an expression read."""
        return self._make.variables(expr, lets_only=True)

    # choosing

    def take(self, place: int, op: flow.Ask) -> None:
        """Write the function that carries out what was chosen, and the site of the decision."""
        step = op.step
        lines = Lines(f"def took_{place}(s, names):")
        lines.source(step.span)
        if step.joint:
            self._take_all(lines, place, op)
        else:
            self._take_one(lines, place, op)
        self._make.module.add(lines)
        self._make.module.later(f"asks_{place} = Asks({step.id!r}, took_{place})")

    def _values(self, step: Choose) -> str:
        rows = [{option.name: option.value for option in options} for options in step.options]
        return self._by_seat(step, "VALUE", rows, "seat")

    def _take_one(self, lines: Lines, place: int, op: flow.Ask) -> None:
        step, storing = op.step, self._storing
        lines("(name,) = names")
        lines("(seat,) = s._asked")
        lines(f"value = {self._values(step)}[name]")
        if step.place is not None:
            path = storing.path(step.place, Reader("seat"))
            storing.store(lines, step.place, path, self._fitting(step))
        else:
            storing.put(lines, step.variable, "value")
        self._storing.remember(lines, step.variable)
        if step.variable in self._flow.by_seat:
            slot = self._make.module.slot("b", step.variable)
            lines(f"s.{slot} = {{**s.{slot}, seat: value}}")
        self._telling.tell(
            lines, step, step.type, owner="seat", seat="seat", name="name", value="value"
        )
        if op.bodies:
            lines(f"s.{self.outside(place)} = s.me")
            self._begin_body(lines, op, f"return {self._jumps.to(place + 1)}")
        else:
            lines(f"return {self._jumps.to(place + 1)}")

    def _take_all(self, lines: Lines, place: int, op: flow.Ask) -> None:
        step, storing = op.step, self._storing
        lines("seats = s._asked")
        lines(f"values = [{self._values(step)}[name] for seat, name in zip(seats, names)]")
        lines("chosen = dict(zip(seats, values))")
        if step.place is not None:
            path = storing.path(step.place, Reader("seat"))
            lines(f"paths = [({', '.join(path)},) for seat in seats]")
            with lines.block("for path, value in zip(paths, values):"):
                keys = [f"path[{i}]" for i in range(len(path))]
                storing.store(lines, step.place, keys, self._fitting(step))
        else:
            variable = storing.variable(step.variable)
            storing.put(lines, step.variable, f"{{**({variable} or EMPTY), **chosen}}")
        self._storing.remember(lines, step.variable)
        with lines.block("for seat, name, value in zip(seats, names, values):"):
            self._telling.tell(
                lines, step, step.type, owner="seat", seat="seat", name="name", value="value"
            )
        if not op.bodies:
            lines(f"return {self._jumps.to(place + 1)}")
            return
        waiting, outside = self.waiting(place), self.outside(place)
        bodied = tuple(name for name, _ in op.bodies)
        lines(f"s.{waiting} = tuple([(seat, value) for seat, value in chosen.items()")
        lines(f"    if (value[0] if value.__class__ is tuple else value) in {literal(bodied)}])")
        lines(f"s.{outside} = s.me")
        lines(f"return next_{place}")
        self._write_next(place, op)

    def _write_next(self, place: int, op: flow.Ask) -> None:
        """Write the function that begins the next of the bodies that wait, or goes on."""
        lines = Lines(f"def next_{place}(s):")
        waiting = f"s.{self.waiting(place)}"
        with lines.block(f"if not {waiting}:"):
            lines(f"s.me = s.{self.outside(place)}")
            lines(f"return {self._jumps.to(place + 1)}")
        lines(f"(seat, value), *rest = {waiting}")
        lines(f"{waiting} = tuple(rest)")
        self._begin_body(lines, op, "refuse()")
        self._make.module.add(lines)

    def _begin_body(self, lines: Lines, op: flow.Ask, otherwise: str) -> None:
        """Go to the body of the action that `value` is an instance of; where it has none, do what
        is said."""
        step = op.step
        if len(step.moves) == len(op.bodies) == 1 and step.legal is None:
            self._enter_body(lines, step, *op.bodies[0])
            return
        lines("action = value[0] if value.__class__ is tuple else value")
        for name, first in op.bodies:
            with lines.block(f"if action == {name!r}:"):
                self._enter_body(lines, step, name, first)
        bodied = len(step.moves) == len(op.bodies) and step.legal is None
        lines("refuse()" if bodied else otherwise)

    def _enter_body(self, lines: Lines, step: Choose, name: str, first: int) -> None:
        (action,) = (action for action in step.moves if action.name == name)
        lines("s.me = seat")
        for i, (parameter, _) in enumerate(action.parameters):
            self._storing.put(lines, parameter, f"value[{i + 1}]")
        lines(f"return {self._jumps.to(first)}")

    def end_body(self, lines: Lines, place: int, op: flow.Ask) -> None:
        """The end of a body: the operation `Return`."""
        if op.step.joint:
            lines(f"return next_{place}")
        else:
            lines(f"s.me = s.{self.outside(place)}")
            lines(f"return {self._jumps.to(place + 1)}")

    def waiting(self, place: int) -> str:
        return self._make.module.slot("w", str(place))

    def outside(self, place: int) -> str:
        return self._make.module.slot("o", str(place))

    def _fitting(self, step: Choose) -> str:
        """The code of `value`, which may be stored."""
        assert step.place is not None
        type = step.place.type
        fits = all(misfit(o.value, type) is None for options in step.options for o in options)
        return "value" if fits else self._storing.checked("value", type)


def _names(options: tuple[Choice, ...]) -> tuple[str, ...]:
    return tuple(option.name for option in options)


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
