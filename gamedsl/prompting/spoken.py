"""Replies to open decisions: what they say, and the name by which that is known.

Three forms. Text: all of the reply. Code: what its only fenced block holds. JSON: the only object
in it, which has the fields of a record type with values of their types, as `json_values` has them.
A reply that could be taken in two ways, or that would have to be mended first, says nothing.

What was said has one canonical name: the text, the code, or the JSON with the fields in their
declared order and no spaces, where a number that is not whole is a string, `"1/3"`. Always:
`value_said` and `name_said` are inverse to each other, and what `written_said` writes `read_said`
reads.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from gamedsl.ir.json_types import readable, schema_of
from gamedsl.ir.program import Said
from gamedsl.ir.types import Type
from gamedsl.prompting.json_values import Reader, check_text, data_of
from gamedsl.prompting.replies import ParseFailure
from gamedsl.prompting.strict_json import LONGEST, Fault, decimal, dumps, find_object, loads, quoted

__all__ = ["name_said", "read_said", "readable", "schema_of", "value_said", "written_said"]

_FENCED = re.compile(r"```|~~~")
_FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*[A-Za-z0-9_+#.-]*[ \t]*")
_CACHED_VALUES = 4096


def read_said(text: str, said: Said, type: Type, seats: tuple[str, ...]) -> str | ParseFailure:
    """The canonical name of what a reply says, or why it says nothing valid. Any text is accepted;
    `said.valid` is for the runtime to check."""
    try:
        if len(text) > LONGEST:
            raise Fault("large", f"{len(text)} characters")
        if said.form == "json":
            value = Reader(seats).value(loads(find_object(text)), type, "")
            return _name(value, type, seats)
        return _checked(_block(text) if said.form == "code" else text.strip(), type)
    except Fault as fault:
        return ParseFailure(fault.reason, text, fault.detail)


def value_said(name: str, said: Said, type: Type, seats: tuple[str, ...]) -> Any:
    """The value of a canonical name. ValueError: nothing that can be said has this name."""
    if said.form == "json":
        return _record(name, type, seats)
    if said.form == "text" and name != name.strip():
        raise ValueError(f"{quoted(name)} has spaces around it")
    return _checked(name, type)


def name_said(value: Any, said: Said, type: Type, seats: tuple[str, ...]) -> str:
    """The canonical name of a value. ValueError: it is not of the type."""
    try:
        name = _name(value, type, seats) if said.form == "json" else value
        if value_said(name, said, type, seats) == value:
            return str(name)
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise ValueError(f"{quoted(str(value))} is not {type}") from error
    raise ValueError(f"{quoted(str(value))} is not {type}")


def written_said(name: str, said: Said, type: Type, seats: tuple[str, ...]) -> str:
    """The reply that says what has this name, and no more. ValueError: nothing has it, or it has a
    number of endless decimals, which JSON cannot say."""
    value = value_said(name, said, type, seats)
    if said.form == "json":
        return dumps(data_of(value, type, seats), decimal)
    if said.form == "code":
        longest = max(map(len, re.findall("`+", name)), default=0)
        fence = "`" * max(3, longest + 1)
        return f"{fence}\n{name}\n{fence}"
    return name


def _name(value: Any, type: Type, seats: tuple[str, ...]) -> str:
    return dumps(data_of(value, type, seats), lambda number: f'"{number}"')


@lru_cache(maxsize=_CACHED_VALUES)
def _record(name: str, type: Type, seats: tuple[str, ...]) -> Any:
    """The value whose canonical JSON this is. ValueError where there is none."""
    value = Reader(seats, named=True).value(loads(name), type, "")
    if _name(value, type, seats) != name:
        raise ValueError(f"{quoted(name)} is not the canonical name of what it says")
    return value


def _checked(text: str, type: Type) -> str:
    """A text that is said. Fault: it is empty, too long, or has characters that no text has."""
    if not text.strip():
        raise Fault("empty")
    return check_text(text, type, "")


def _block(text: str) -> str:
    """What the only fenced block of a reply holds: the lines between a line of three or more
    backticks or tildes, and a word for the language if there is one, and the next line of as many
    or more and nothing else. Fault where there is no block, half a one, or more."""
    lines = text.strip().split("\n")
    first = next((i for i, line in enumerate(lines) if _FENCED.search(line)), None)
    if first is None:
        raise Fault("missing")
    opening = _FENCE.fullmatch(lines[first])
    if opening is None:
        raise Fault("half", f"line {first + 1} is not the first line of a block")
    fence = opening[1]
    for last in range(first + 1, len(lines)):
        line = lines[last].rstrip(" \t")
        if len(line) >= len(fence) and not line.strip(fence[0]):
            if any(map(_FENCED.search, lines[last + 1 :])):
                raise Fault("several")
            return "\n".join(lines[first + 1 : last])
    raise Fault("half", f"the block of line {first + 1} does not end")
