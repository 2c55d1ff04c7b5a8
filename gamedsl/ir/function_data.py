"""Values of the game as the plain data that registered functions take, and back."""

from __future__ import annotations

from typing import Any, assert_never

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
)  # fmt: skip


def as_data(value: Any, type: Type) -> Any:
    """Returns a value of the game as functions take it: a record as a dict of its fields."""
    if value is None:
        return None
    match type:
        case Option(of=inner):
            return as_data(value, inner)
        case Record(fields=fields):
            return {name: as_data(v, t) for (name, t), v in zip(fields, value, strict=True)}
        case List(of=inner):
            return tuple(as_data(item, inner) for item in value)
        case Bool() | Number() | Enum() | Seat() | NoneType() | Text() | Tuple() | Set():
            return value
        case PerSeat() | Never() | Bag() | Grid() | PerValue() | Union():
            return value
    assert_never(type)


def from_data(data: Any, type: Type) -> Any:
    """Returns the value of the game that a function's result stands for."""
    if data is None:
        return None
    match type:
        case Option(of=inner):
            return from_data(data, inner)
        case Record(fields=fields):
            return tuple(from_data(data[name], inner) for name, inner in fields)
        case List(of=inner):
            return tuple(from_data(item, inner) for item in data)
        case Bool() | Number() | Enum() | Seat() | NoneType() | Text() | Tuple() | Set():
            return data
        case PerSeat() | Never() | Bag() | Grid() | PerValue() | Union():
            return data
    assert_never(type)
