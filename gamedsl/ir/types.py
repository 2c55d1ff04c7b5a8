"""Types of expressions. All are finite or numeric; `text` is opaque.

Values at run time are plain Python: `int` and `Fraction` for numbers, `bool`, `str` for members of
an enum and for seats, `None` for none, `tuple` for lists and tuples, `frozenset` for sets and
`dict` for maps.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bool:
    def __str__(self) -> str:
        return "a truth value"


@dataclass(frozen=True, slots=True)
class Number:
    """An exact number; `whole` where it is provably an integer."""

    whole: bool = False

    def __str__(self) -> str:
        return "a whole number" if self.whole else "a number"


@dataclass(frozen=True, slots=True)
class Enum:
    """An ordered list of named values. Two enums are one type if name and members agree."""

    name: str
    members: tuple[str, ...]

    def __str__(self) -> str:
        shown = ", ".join(self.members[:4]) + (", …" if len(self.members) > 4 else "")
        return f"one of {shown}"


@dataclass(frozen=True, slots=True)
class Seat:
    """A seat at the table: the acting unit behind every role name."""

    def __str__(self) -> str:
        return "a role"


@dataclass(frozen=True, slots=True)
class NoneType:
    def __str__(self) -> str:
        return "none"


@dataclass(frozen=True, slots=True)
class Text:
    def __str__(self) -> str:
        return "text"


@dataclass(frozen=True, slots=True)
class Option:
    """A value or none."""

    of: Type

    def __str__(self) -> str:
        return f"{self.of} or none"


@dataclass(frozen=True, slots=True)
class List:
    """A list or tuple whose items have one type; `length` where the compiler knows it."""

    of: Type
    length: int | None = None

    def __str__(self) -> str:
        return f"a list of {_plural(self.of)}"


@dataclass(frozen=True, slots=True)
class Tuple:
    of: tuple[Type, ...]

    def __str__(self) -> str:
        return "(" + ", ".join(map(str, self.of)) + ")"


@dataclass(frozen=True, slots=True)
class Set:
    of: Type

    def __str__(self) -> str:
        return f"a set of {_plural(self.of)}"


@dataclass(frozen=True, slots=True)
class PerSeat:
    """One value for every seat; `partial` where it is only for the seats that acted."""

    of: Type
    partial: bool = False

    def __str__(self) -> str:
        return f"{self.of} per role"


@dataclass(frozen=True, slots=True)
class Never:
    """The type of an expression that has already been reported: it fits everywhere."""

    def __str__(self) -> str:
        return "an error"


Type = Bool | Number | Enum | Seat | NoneType | Text | Option | List | Tuple | Set | PerSeat | Never

BOOL, NUMBER, WHOLE, SEAT, NONE, TEXT, NEVER = (
    Bool(), Number(), Number(whole=True), Seat(), NoneType(), Text(), Never(),
)  # fmt: skip


def _plural(type: Type) -> str:
    words = {
        "a number": "numbers",
        "a whole number": "whole numbers",
        "a role": "roles",
        "a truth value": "truth values",
    }
    return words.get(str(type), str(type))


def join(left: Type, right: Type) -> Type | None:
    """The smallest type that holds both, or None."""
    if left == right or isinstance(right, Never):
        return left
    match left, right:
        case Never(), _:
            return right
        case Number(), Number():
            return NUMBER
        case NoneType(), Option() | NoneType():
            return right
        case Option() | NoneType(), NoneType():
            return left
        case NoneType(), _:
            return Option(right)
        case _, NoneType():
            return Option(left)
        case Option(a), Option(b):
            return _optional(join(a, b))
        case (Option(a), b) | (b, Option(a)):
            return _optional(join(a, b))
        case List(a, m), List(b, n):
            inner = join(a, b)
            return inner and List(inner, m if m == n else None)
        case Set(a), Set(b):
            inner = join(a, b)
            return inner and Set(inner)
        case PerSeat(a, m), PerSeat(b, n):
            inner = join(a, b)
            return inner and PerSeat(inner, m or n)
        case Tuple(a), Tuple(b) if len(a) == len(b):
            parts = [join(x, y) for x, y in zip(a, b, strict=True)]
            return Tuple(tuple(p for p in parts if p)) if all(parts) else None
    return None


def _optional(inner: Type | None) -> Type | None:
    return inner and Option(inner)


def fits(value: Type, wanted: Type) -> bool:
    """Whether every value of one type is a value of the other."""
    if isinstance(value, Never) or isinstance(wanted, Never):
        return True
    joined = join(value, wanted)
    return joined is not None and (
        joined == wanted or (isinstance(joined, Number) and not _narrows(value, wanted))
    )


def _narrows(value: Type, wanted: Type) -> bool:
    return (
        isinstance(wanted, Number)
        and wanted.whole
        and not (isinstance(value, Number) and value.whole)
    )
