"""Values as text: boards as grids, hands as lists, records by their fields, hidden things as their
number.

Views for people call things by their canonical names, prompts by their labels: `Words` says how.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, assert_never

from gamedsl.ir.types import (
    SEAT,
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
    plain,
)  # fmt: skip
from gamedsl.ir.values import Bag as BagValue
from gamedsl.ir.values import name_of

_INDENT = "  "

NOTHING, NOBODY = "nothing", "nobody"
"""The texts of `none` and of what is empty, and of `none` in place of a role."""


class Hidden(NamedTuple):
    """Stands for a value that a seat may not see; for a hidden list or bag it has the length."""

    length: int | None = None


HIDDEN = Hidden()


@dataclass(frozen=True)
class Words:
    """The names that a text gives to values without parts. `on_board` are shorter names for roles
    on a board, which are then explained below it."""

    name: Callable[[Any], str] = name_of
    on_board: Mapping[str, str] = field(default_factory=dict)


PLAIN = Words()
"""Names every value by its canonical name."""


def titled(title: str, text: str) -> str:
    """Returns a text after its title: on the same line, or below it where it has several."""
    if "\n" not in text:
        return f"{title}: {text}"
    return "\n".join((f"{title}:", *(f"{_INDENT}{line}" for line in text.split("\n"))))


def as_text(value: Any, type: Type, words: Words = PLAIN) -> str:
    """Returns a value as text: several lines where it is a board, or contains boards or hands."""
    if value is None or isinstance(value, Hidden | str):
        return one_line(value, type, words)
    match type:
        case Option(of=inner):
            return as_text(value, inner, words)
        case Grid():
            return "\n".join(_grid(value, type, words))
        case PerSeat(of=inner) | PerValue(of=inner):
            parts = {words.name(k): v for k, v in value.items() if v is not HIDDEN}
            if is_short(inner):
                return _listed(f"{key} {one_line(v, inner, words)}" for key, v in parts.items())
            rows = [titled(key, as_text(v, inner, words)) for key, v in parts.items()]
            return "\n".join(rows) or NOTHING
        case Record(fields=fields) if HIDDEN not in value:
            named = zip(fields, value, strict=True)
            return _listed(
                f"{words.name(name)} {one_line(part, of, words)}" for (name, of), part in named
            )
        case Record() | Bool() | Number() | Enum() | Seat() | NoneType() | Text() | Never():
            return one_line(value, type, words)
        case List() | Tuple() | Set() | Bag() | Union():
            return one_line(value, type, words)
    assert_never(type)


def one_line(value: Any, type: Type, words: Words = PLAIN) -> str:
    """Returns a value in one line; `3 hidden` for a list that is not seen."""
    if isinstance(value, Hidden):
        return "hidden" if value.length is None else f"{value.length} hidden"
    if value is None:
        return NOBODY if plain(type) == SEAT else NOTHING
    if isinstance(value, str):  # a choice is known by its name
        return (value or NOTHING) if isinstance(plain(type), Text) else plain_text(value, words)
    match type:
        case Option(of=inner):
            return one_line(value, inner, words)
        case Record(fields=fields) if HIDDEN in value:
            return ",".join(
                f"{words.name(name)}={one_line(part, inner, words)}"
                for (name, inner), part in zip(fields, value, strict=True)
                if part is not HIDDEN
            )
        case List(of=inner) if isinstance(plain(inner), Text):
            return texts_in_words(value)
        case List(of=inner):
            return _listed(one_line(part, inner, words) for part in value)
        case PerSeat(of=inner) | PerValue(of=inner):
            mark = "" if is_short(inner) else ":"
            told = as_text if isinstance(plain(inner), Record) else one_line
            return _listed(
                f"{words.name(k)}{mark} {told(v, inner, words)}" for k, v in value.items()
            )
        case Record() | Bool() | Number() | Enum() | Seat() | NoneType() | Text() | Never():
            return plain_text(value, words)
        case Set() | Bag() | Tuple() | Grid() | Union():
            return plain_text(value, words)
    assert_never(type)


_BARE = re.compile(r"(?!.* and )[\w'-]+(?: [\w'-]+){0,3}")
"""A text that is told without quotes in a list: a few words."""


def texts_in_words(texts: Iterable[str | None]) -> str:
    """Returns texts as a list in words, `red, green and blue`. All stand in quotes, with JSON's
    escapes, where one of them is more than a few words."""
    listed = [text or NOTHING for text in texts]
    if not all(map(_BARE.fullmatch, listed)):
        listed = [json.dumps(text, ensure_ascii=False) for text in listed]
    *first, last = listed or [NOTHING]
    return f"{', '.join(first)} and {last}" if first else last


def plain_text(value: Any, words: Words = PLAIN) -> str:
    """Returns a value of unknown type in one line."""
    if isinstance(value, BagValue):
        names = sorted((words.name(item), count) for item, count in value.items())
        return _listed(name if count == 1 else f"{name} x{count}" for name, count in names)
    if isinstance(value, frozenset):
        return _set(value, words) if value else NOTHING
    if isinstance(value, dict):
        return _listed(
            f"{words.name(key)} {plain_text(part, words)}" for key, part in value.items()
        )
    return words.name(value) or NOTHING


def is_short(type: Type) -> bool:
    """Returns whether a value stands beside its key without a colon: whether it has no parts."""
    kind = plain(type)
    if isinstance(kind, Record):
        return len(kind.fields) == 1
    return not isinstance(kind, List | Set | Bag | Grid | PerSeat | PerValue | Text)


def _set(value: frozenset[Any], words: Words) -> str:
    """Returns the elements in braces: numbers by size, then names."""
    names = sorted(map(words.name, value), key=_by_size)
    mark = ", " if any(" " in name for name in names) else " "
    return "{" + mark.join(names) + "}"


def _by_size(name: str) -> tuple[bool, int, str]:
    return not name.isdigit(), int(name) if name.isdigit() else 0, name


def _grid(cells: tuple[Any, ...], type: Grid, words: Words) -> Iterator[str]:
    """Yields the rows of a grid, with numbered rows and columns; `.` stands for none. A row of a
    hex grid stands half a cell to the right of the row above it."""
    short = words.on_board if plain(type.of) == SEAT else {}
    names = ["." if cell is None else one_line(cell, type.of, words) for cell in cells]
    names = [short.get(name, name) for name in names]
    width = max(map(len, (*names, str(type.columns - 1))))
    width, shift = slant(type, width)
    side = len(str(type.rows - 1))
    yield " ".join((" " * side, *(f"{column:>{width}}" for column in range(type.columns))))
    for row in range(type.rows):
        part = names[row * type.columns : (row + 1) * type.columns]
        line = " ".join((f"{row:>{side}}", *(f"{name:>{width}}" for name in part)))
        yield " " * (row * shift) + line
    if short:
        yield ", ".join(f"{mark} is {name}" for name, mark in short.items())


def slant(type: Grid, width: int) -> tuple[int, int]:
    """Returns the width of the cells of a grid whose text has at most this one, and by how much
    each row is shifted: by half of a cell and the blank beside it, in a hex grid."""
    if type.neighbors != "hex":
        return width, 0
    width += (width + 1) % 2
    return width, (width + 1) // 2


def _listed(names: Iterable[str]) -> str:
    listed = list(names)
    mark = "; " if any("," in name or ": " in name for name in listed) else ", "
    return mark.join(listed) or NOTHING
