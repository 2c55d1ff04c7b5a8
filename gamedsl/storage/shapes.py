"""Shapes of JSON values: which values a field of a file may hold.

A reader that takes a value apart relies on its shape, so that a file from outside is refused where
it is read, with the place, and not by a `TypeError` where it is used. A shape is written once, and
its text is the grammar of the reference page:

    number · whole number · text · flag · any · null      one value; a share is a number from 0 to 1
    `kind`                                                this text
    [number]                                              a list
    {role: number}                                        a map from texts, which are roles
    {"role": text, "seat"?: text}                         an object with these keys, and any others
    number or null                                        one of several shapes

`misfit_of` gives the place of what does not fit; where all does, it is quick, for files of many
lines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from operator import eq
from typing import Any, Protocol

from gamedsl.storage.strict_json import shortened

LARGEST = 1e150
"""The largest number of a file: its square, and the sum of many, are floating-point numbers."""

MANY = 2**53
"""The largest whole number."""

_BESIDE = 1e-3
"""How far a share may lie beside 0 and 1, by rounding."""


@dataclass(frozen=True)
class Misfit:
    """A part of a value that has not its shape: the keys that lead there, and what is wrong."""

    path: tuple[str, ...]
    reason: str

    def below(self, key: str) -> Misfit:
        """Returns the misfit of the value that has this one under a key."""
        return Misfit((key, *self.path), self.reason)

    def __str__(self) -> str:
        shown = (
            key if key.isidentifier() or key.isdecimal() else shortened(key) for key in self.path
        )
        return f"its `{'.'.join(shown)}` {self.reason}" if self.path else f"it {self.reason}"


class Shape(Protocol):
    """The values that a field may hold; its text is that of the grammar."""

    def fits(self, value: Any) -> bool:
        """Returns whether a value has the shape."""
        ...

    def misfit(self, value: Any) -> Misfit | None:
        """Returns the first part of a value that does not fit; None where all do."""
        ...


@dataclass(frozen=True)
class Atom:
    """One value, not a list or a map."""

    name: str
    fits: Callable[[Any], bool] = field(compare=False)

    def misfit(self, value: Any) -> Misfit | None:
        return None if self.fits(value) else Misfit((), f"is not {self}")

    def __str__(self) -> str:
        return self.name


def _is_number(value: Any) -> bool:
    kind = type(value)
    return (kind is float or kind is int) and -LARGEST <= value <= LARGEST


def _is_share(value: Any) -> bool:
    kind = type(value)
    return (kind is float or kind is int) and -_BESIDE <= value <= 1 + _BESIDE


NUMBER = Atom("number", _is_number)
SHARE = Atom("share", _is_share)
WHOLE = Atom("whole number", lambda value: type(value) is int and -MANY <= value <= MANY)
TEXT = Atom("text", lambda value: type(value) is str)
FLAG = Atom("flag", lambda value: type(value) is bool)
NULL = Atom("null", lambda value: value is None)
ANY = Atom("any", lambda value: True)


def word(*texts: str) -> Shape:
    """Returns the shape of one of some texts."""
    atoms = [Atom(f"`{text}`", partial(eq, text)) for text in texts]
    return atoms[0] if len(atoms) == 1 else Either(*atoms)


@dataclass(frozen=True)
class ArrayOf:
    """A list of parts alike, of which there are at least `least`, and at most `most`."""

    part: Shape
    least: int = 0
    most: int = MANY

    def fits(self, value: Any) -> bool:
        sized = type(value) is list and self.least <= len(value) <= self.most
        return sized and all(map(self.part.fits, value))

    def misfit(self, value: Any) -> Misfit | None:
        if type(value) is not list:
            return Misfit((), f"is not {self}")
        if not self.least <= len(value) <= self.most:
            return Misfit((), f"has {len(value)} entries, which is not {self}")
        found = ((n, self.part.misfit(part)) for n, part in enumerate(value))
        return next((fault.below(str(n)) for n, fault in found if fault), None)

    def __str__(self) -> str:
        if self.least == self.most:
            return "[" + ", ".join([str(self.part)] * self.least) + "]"
        return f"[{self.part}, …]" if self.least else f"[{self.part}]"


@dataclass(frozen=True)
class MapOf:
    """A map from texts to parts alike, of which there are at least `least`. `key` is what the texts
    are, for people."""

    key: str
    part: Shape
    least: int = 0

    def fits(self, value: Any) -> bool:
        sized = type(value) is dict and len(value) >= self.least
        return sized and all(map(self.part.fits, value.values()))

    def misfit(self, value: Any) -> Misfit | None:
        if type(value) is not dict or len(value) < self.least:
            return Misfit((), f"is not {self}")
        found = ((key, self.part.misfit(part)) for key, part in value.items())
        return next((fault.below(key) for key, fault in found if fault), None)

    def __str__(self) -> str:
        return f"{{{self.key}: {self.part}{', …' if self.least else ''}}}"


@dataclass(frozen=True)
class Fields:
    """An object with named parts; those in `optional` may be missing, and others are allowed."""

    needed: Mapping[str, Shape] = field(default_factory=dict)
    optional: Mapping[str, Shape] = field(default_factory=dict)

    def fits(self, value: Any) -> bool:
        return (
            type(value) is dict
            and all(name in value and part.fits(value[name]) for name, part in self.needed.items())
            and all(
                name not in value or part.fits(value[name]) for name, part in self.optional.items()
            )
        )

    def misfit(self, value: Any) -> Misfit | None:
        if type(value) is not dict:
            return Misfit((), f"is not {self}")
        for name in self.needed:
            if name not in value:
                return Misfit((), f"has no `{name}`")
        every = {**self.needed, **self.optional}
        found = ((name, part.misfit(value[name])) for name, part in every.items() if name in value)
        return next((fault.below(name) for name, fault in found if fault), None)

    def __str__(self) -> str:
        parts = [f'"{name}": {part}' for name, part in self.needed.items()]
        parts += [f'"{name}"?: {part}' for name, part in self.optional.items()]
        return "{" + ", ".join(parts) + "}"


class Either:
    """One of several shapes."""

    def __init__(self, *shapes: Shape) -> None:
        self.shapes = shapes

    def fits(self, value: Any) -> bool:
        return any(shape.fits(value) for shape in self.shapes)

    def misfit(self, value: Any) -> Misfit | None:
        if self.fits(value):
            return None
        whole = [shape for shape in self.shapes if not isinstance(shape, Atom)]
        if len(whole) == 1 and isinstance(value, list | dict):
            return whole[0].misfit(value)
        return Misfit((), f"is not {self}")

    def __str__(self) -> str:
        return " or ".join(map(str, self.shapes))


@dataclass(frozen=True)
class Restricted:
    """The values of a shape that hold together as `holds` says; `reason` is what the others are or
    lack, such as "has no row for each member"."""

    shape: Shape
    holds: Callable[[Any], bool] = field(compare=False)
    reason: str

    def fits(self, value: Any) -> bool:
        return self.shape.fits(value) and self.holds(value)

    def misfit(self, value: Any) -> Misfit | None:
        if fault := self.shape.misfit(value):
            return fault
        return None if self.holds(value) else Misfit((), self.reason)

    def __str__(self) -> str:
        return str(self.shape)


def misfit_of(value: Any, shape: Shape) -> Misfit | None:
    """Returns the first part of a value that has not its shape; None where all have."""
    return None if shape.fits(value) else shape.misfit(value)


def optional(shape: Shape) -> Shape:
    """Returns the shape of values that may also be null."""
    return Either(shape, NULL)
