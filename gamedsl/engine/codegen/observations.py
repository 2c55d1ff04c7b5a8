"""Observations as Python: entries of the log of `gamedsl.engine.codegen.play`."""

from __future__ import annotations

from typing import assert_never

from gamedsl.engine.codegen.expressions import CodeScope, Expressions
from gamedsl.engine.codegen.writer import CodeLines, literal
from gamedsl.ir.expr import Expr
from gamedsl.ir.program import Binding, Choose
from gamedsl.ir.statements import ACTOR, OWNER, Readers
from gamedsl.ir.types import (
    Bag,
    Bool,
    Enum,
    Grid,
    List,
    Never,
    NoneType,
    Number,
    Option,
    PerSeat,
    PerValue,
    Record,
    Seat,
    Set,
    Text,
    Tuple,
    Type,
    Union,
    domain,
    plain,
)  # fmt: skip
from gamedsl.ir.value_names import is_text_list
from gamedsl.ir.values import name_of

NOBODY = "()"

FEW = 200
"""Values of a type whose names are written down in a table."""


def memorable(type: Type) -> bool:
    """Returns whether values of a type can be keys of a dict, and equal values have one name."""
    match type:
        case Number() | Seat() | NoneType() | Bool():
            return True
        case Union(of=types):
            return all(map(memorable, types)) and not any(isinstance(t, Bool) for t in types)
        case Enum(members=members):
            return bool(members)
        case Option(of=inner) | List(of=inner) | Set(of=inner) | Grid(of=inner):
            return memorable(inner)
        case Tuple(of=types) | Record(types=types):
            return all(map(memorable, types))
        case Text() | Bag() | PerSeat() | PerValue() | Never():
            return False
    assert_never(type)


class ObservationWriter:
    """Writes the entries of the log."""

    def __init__(self, make: Expressions) -> None:
        self._make = make

    def name(self, code: str, type: Type) -> str:
        """Returns the code of the canonical name of a value."""
        if is_text_list(type):
            return f"texts_name({code})"
        if not memorable(type):
            return f"name_of({code})"
        module = self._make.module
        listed = domain(type, self._make.seats)
        if listed is not None and len(listed) <= FEW:
            table = literal({value: name_of(value) for value in listed})
            return f"{module.table('NAMES', table)}[{code}]"
        return f"known_as({module.own('NAMES', '{}')}, {code})"

    def log_event(
        self, lines: CodeLines, step: Binding, type: Type, *, owner: str, seat: str,
        name: str, value: str,
    ) -> None:  # fmt: skip
        """Logs an event of `seat`. All but the step and the type of its value are code: the owner
        of the value ("None": nobody), its name, and the value."""
        chooser = seat if isinstance(step, Choose) and step.knows is None else ""
        actor = seat if isinstance(step, Choose) else "s.me"
        if step.readers.fields:
            self._fields(lines, step.readers, type, owner, actor, chooser, name, value)
            told = "told"
        else:
            told = self._observers(step.readers, owner, actor, chooser)
            if told == NOBODY:
                return
        lines(f"s._log = (s._log, {told}, {step.id!r}, {seat}, {name})")

    def _observers(self, readers: Readers, owner: str, actor: str, chooser: str) -> str:
        """Returns the code of the seats that see the event: `None` is everybody."""
        seats = self._make.seats
        match readers.kind:
            case "all":
                return "None"
            case "owner":
                if chooser or owner == "None":
                    return f"({chooser},)" if chooser else NOBODY
                if owner in ("index[0]", "path[0]"):
                    return f"({owner},)"
                return f"(({owner},) if {owner} is not None else ())"
            case "others":
                if chooser or owner == "None":
                    return "None"
                others = {seat: tuple(s for s in seats if s != seat) for seat in seats}
                table = self._make.module.table("OTHERS", literal(others))
                return f"{table}.get({owner})"
            case "seats":
                listed = tuple(seat for seat in seats if seat in readers.seats)
                if chooser:
                    return f"({literal((*listed,))} + ({chooser},))"
                return literal(listed)
            case "test":
                assert readers.test is not None
                code = self._test(readers.test, owner, actor)
                test = f"me == {chooser} or {code}" if chooser else code
                return f"tuple([me for me in {literal(seats)} if {test}])"
            case "nobody":
                return f"({chooser},)" if chooser else NOBODY
        assert_never(readers.kind)

    def _fields(
        self, lines: CodeLines, readers: Readers, type: Type, owner: str, actor: str, chooser: str,
        name: str, value: str,
    ) -> None:  # fmt: skip
        """Writes a map of each seat to the name it sees, for a record whose fields have their own
        readers."""
        record = plain(type)
        fields = record.fields if isinstance(record, Record) else ()
        lines("told = {}")
        with lines.block(f"for me in {literal(self._make.seats)}:"):
            if chooser:
                with lines.block(f"if me == {chooser}:"):
                    lines(f"told[me] = {name}")
                    lines("continue")
            lines("shown = []")
            for place, inner in readers.fields:
                test = self._reads(inner, owner, actor)
                if test == "False":
                    continue
                if not fields:
                    lines("refuse()")
                    continue
                field, part = fields[place], f"{value}[{place}]"
                with lines.block(f"if {test}:"):
                    code = self.name(f"(None if {value} is None else {part})", field[1])
                    lines(f"shown.append({field[0] + '='!r} + {code})")
            with lines.block("if shown:"):
                lines("told[me] = ','.join(shown)")

    def _test(self, test: Expr, owner: str, actor: str) -> str:
        """Returns the code of whether a test of readers holds of `me`."""
        return self._make.value(test, CodeScope("me", {OWNER: owner, ACTOR: actor}))

    def _reads(self, readers: Readers, owner: str, actor: str) -> str:
        """Returns the code of whether `me` sees the value."""
        match readers.kind:
            case "all":
                return "True"
            case "owner":
                return f"me == {owner}"
            case "others":
                return f"me != {owner}"
            case "seats":
                return f"me in {literal(readers.seats)}"
            case "test":
                assert readers.test is not None
                return self._test(readers.test, owner, actor)
            case "nobody":
                return "False"
        assert_never(readers.kind)
