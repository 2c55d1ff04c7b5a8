"""What generated games are made of: kinds of values, variables with their readers, and YAML text.

The writer of a game (`tests.properties.strategies`) knows of every variable what it holds and who
may read it, and asks for expressions that a given reader may have; so what it writes is right, and
a compiler that refuses it, or an environment that fails on it, is at fault.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Truth:
    pass


@dataclass(frozen=True)
class Whole:
    """A whole number; `low` and `high` are None where no range is declared."""

    low: int | None = None
    high: int | None = None


@dataclass(frozen=True)
class Enum:
    """`name` is empty for options that are written where they are chosen; `values` are those of a
    `values` type, parallel to the members."""

    name: str
    members: tuple[str, ...]
    values: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Role:
    pass


@dataclass(frozen=True)
class Cell:
    rows: int
    columns: int


@dataclass(frozen=True)
class Share:
    """A number for each value of an enum, as a field of a record."""

    keys: Enum
    of: Whole


@dataclass(frozen=True)
class Subset:
    """A set of values of an enum, as a field of a record."""

    of: Enum


@dataclass(frozen=True)
class Text:
    """A text of at most so many characters. No expression looks into it."""

    limit: int


@dataclass(frozen=True)
class Record:
    """`name` is empty for what a reply is read as."""

    name: str
    fields: tuple[tuple[str, Enum | Whole | Share | Subset | Role | Text], ...]


Kind = Truth | Whole | Enum | Role | Cell | Record | Share | Subset | Text

Readers = Literal["all", "owner", "others", "nobody"] | tuple[str, ...]

Shape = Literal["value", "list", "set", "bag", "grid"]


@dataclass(frozen=True)
class Var:
    """A variable. `per` says whether there is one for all, one per seat or one per enum value;
    `seats` are those that have one. `sure` is false where it may be none."""

    name: str
    kind: Kind
    readers: Readers = "all"
    per: Enum | Literal["role"] | None = None
    seats: tuple[str, ...] = ()
    shape: Shape = "value"
    sure: bool = True
    state: bool = False
    """Whether it is declared, and so always there."""
    fixed: bool = False
    """Whether no statement may change it."""
    bound: bool = False
    """Whether steps bind it, so that it has a past."""
    fields: tuple[tuple[str, Readers], ...] = ()
    """The readers of each field, where they differ; fields that are not named: nobody."""
    joint: bool = True
    """Of a choice per seat: whether all made it at once. Else the bare name is the last one."""
    most: int = 0
    """The greatest length of a list."""
    joined: bool = False
    """Whether it is a grid that says which cells are neighbors."""
    size: tuple[int, int] = (0, 0)
    suffix: str = ""
    """What stands behind the entry of a seat: the key of a map inside."""


@dataclass(frozen=True)
class Eye:
    """Who must be able to work out an expression: everyone, the one who acts, one seat, or the
    referee alone, who sees all. `acting` are those whom `me` may mean; none where it means nobody.
    """

    who: str = "all"
    acting: tuple[str, ...] = ()


PUBLIC = Eye()
REFEREE = Eye("referee")


@dataclass
class Budget:
    """How many histories the steps still to be written may multiply the game by."""

    room: int
    used: int = 1

    def affords(self, branches: int) -> bool:
        return 0 < branches <= self.room

    def spend(self, branches: int) -> None:
        self.room //= max(branches, 1)
        self.used *= max(branches, 1)


@dataclass
class Sections:
    """The parts of a file but for its turns and what comes after them."""

    types: dict[str, Any] = field(default_factory=dict)
    params: dict[str, Any] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)
    actions: Any = None
    let: dict[str, Any] = field(default_factory=dict)


_PLAIN = re.compile(r"[A-Za-z_0-9(-][^\n#:]*\Z")
_FLOW = re.compile(r"[A-Za-z_0-9(-][^\n#:,\[\]{}?]*\Z")


def scalar(value: Any, flow: bool) -> str:
    """A number, a truth value or a text, quoted where YAML would read it otherwise."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return str(value)
    if (_FLOW if flow else _PLAIN).match(value) and not value.startswith(("- ", "? ")):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def in_flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{scalar(k, True)}: {in_flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(in_flow, value)) + "]"
    return scalar(value, True)


def as_yaml(value: Any, indent: int = 0) -> str:
    """A tree of maps, lists and scalars as YAML: in braces what is short, else line by line."""
    pad = "  " * indent
    if isinstance(value, dict):
        lines = []
        for key, inner in value.items():
            if isinstance(inner, dict | list) and inner and not _short(inner, indent, key):
                lines.append(f"{pad}{scalar(key, False)}:\n{as_yaml(inner, indent + 1)}")
            elif isinstance(inner, dict | list):
                lines.append(f"{pad}{scalar(key, False)}: {in_flow(inner)}\n")
            elif isinstance(inner, str) and "\n" in inner:
                body = "".join(f"{pad}  {line}\n" for line in inner.rstrip("\n").split("\n"))
                lines.append(f"{pad}{scalar(key, False)}: |\n{body}")
            else:
                lines.append(f"{pad}{scalar(key, False)}: {scalar(inner, False)}\n")
        return "".join(lines)
    assert isinstance(value, list)
    lines = []
    for item in value:
        if isinstance(item, dict) and not _short(item, indent, ""):
            lines.append(pad + "- " + as_yaml(item, indent + 1)[len(pad) + 2 :])
        else:
            lines.append(f"{pad}- {in_flow(item)}\n")
    return "".join(lines)


def _short(value: Any, indent: int, key: str) -> bool:
    text = in_flow(value)
    nested = isinstance(value, dict) and any(k in value for k in ("turns", "args"))
    return len(text) + 2 * indent + len(key) < 88 and not nested and "\\n" not in text
