"""Who sees what: which seats an event is told to, and under which name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gamedsl.ir.evaluate import Scope, evaluate
from gamedsl.ir.statements import Readers
from gamedsl.ir.types import Record, Type, plain
from gamedsl.prompting.fields import written


def reads(readers: Readers, seat: str, owner: str | None, scope: Scope) -> bool:
    """Whether a seat sees a value that is `owner`'s (None: nobody's). `scope` is the state."""
    match readers.kind:
        case "all":
            return True
        case "owner":
            return seat == owner
        case "others":
            return seat != owner
        case "seats":
            return seat in readers.seats
        case "test":
            assert readers.test is not None
            return bool(evaluate(readers.test, scope.seated(seat)))
    return False


def may_read(readers: Readers, seat: str, owner: str | None) -> bool:
    """Whether a seat may in some play see a value that is `owner`'s (None: not known whose)."""
    match readers.kind:
        case "owner":
            return owner is None or seat == owner
        case "others":
            return owner is None or seat != owner
        case "seats":
            return seat in readers.seats
    return readers.kind != "nobody"


def told(
    readers: Readers, owner: str | None, chooser: str, value: Any, type: Type, name: str,
    scope: Scope, everyone: tuple[str, ...],
) -> Iterator[tuple[str, str]]:  # fmt: skip
    """Those of `everyone` who see a value, in order, each with the name it knows it by.

    That is `name`; where the fields of a record have readers of their own, those it sees:
    `rank=K,suit=a`. Who chose a value sees it whole.
    """
    record = plain(type)
    for seat in everyone:
        if seat == chooser or not readers.fields:
            if seat == chooser or reads(readers, seat, owner, scope):
                yield seat, name
            continue
        fields = record.fields if isinstance(record, Record) else ()
        shown = [
            (fields[place][0], None if value is None else value[place], fields[place][1])
            for place, inner in readers.fields
            if reads(inner, seat, owner, scope)
        ]
        if shown:
            yield seat, written(shown)
