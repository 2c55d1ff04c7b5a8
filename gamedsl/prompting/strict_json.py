"""JSON as RFC 8259 has it and no more: what models write must have one meaning.

Python's `json` takes the last of two equal keys, `NaN`, half surrogate pairs and numbers of any
size. Here the first three are faults; a number keeps its exact value (`0.1` is one tenth) and lies
in the range that I-JSON (RFC 7493) calls interoperable; and what nests too deeply is refused before
it is read, so that no text costs more than one pass over it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Context, Decimal, Inexact
from fractions import Fraction
from typing import Any, NoReturn

from gamedsl.ir.json_types import DEEPEST, LARGEST

LONGEST = 1_000_000
"""Characters of a reply."""

_LONGEST_NUMBER = 40
_MOST_EXPONENT = 400
_SHOWN = 40

_BRACKETS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)
"""A text in quotes, up to the end where it is not closed, or a bracket."""

_UNWRITABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class Fault(ValueError):
    """Why a text is not what it must be: a reason of `replies.REASONS`, and what to say more."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(detail or reason)
        self.reason = reason
        self.detail = detail


def loads(text: str) -> Any:
    """The value of a JSON text: dict, list, str, bool, None, `int` for a number that is written
    without point and exponent, `Fraction` for another. Raises Fault."""
    if len(text) > LONGEST:
        raise Fault("large")
    _, deepest = _end(text, 0)
    if deepest > DEEPEST:
        raise Fault("large", f"nested {deepest} deep")
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise Fault("malformed", f"no JSON from character {error.pos + 1} on") from error


def find_object(text: str) -> str:
    """The one object that a text holds. Fault: it has none, a half one, or a brace outside it."""
    start = text.find("{")
    if start < 0:
        raise Fault("half" if "}" in text else "missing")
    end, _ = _end(text, start)
    outside = text[:start] + ("" if end is None else text[end:])
    if "{" in outside or "}" in outside:
        raise Fault("several")
    if end is None:
        raise Fault("half")
    return text[start:end]


def check_characters(text: str, where: str = "") -> None:
    """Fault: a text has a control character other than a new line and a tab, or a lone surrogate;
    neither can be shown, and the latter cannot be written to a file."""
    found = _UNWRITABLE.search(text)
    if found is not None:
        raise Fault("characters", f"{where}U+{ord(found[0]):04X}")


def quoted(text: str) -> str:
    """A text of a reply as people are told of it: one line, and not long."""
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def dumps(value: Any, fraction: Callable[[Fraction], str]) -> str:
    """The shortest text of a JSON value, keys as they stand; `fraction` writes what is no whole
    number."""
    if isinstance(value, dict):
        pairs = (f"{dumps(k, fraction)}:{dumps(v, fraction)}" for k, v in value.items())
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(dumps(item, fraction) for item in value) + "]"
    if isinstance(value, Fraction):
        return fraction(value)
    return json.dumps(value, ensure_ascii=False)


def decimal(number: Fraction) -> str:
    """A number as JSON has it, exactly. ValueError: it has no end, or is too long to read back."""
    exact = Context(prec=_MOST_EXPONENT, traps=[Inexact])
    try:
        text = str(exact.divide(Decimal(number.numerator), Decimal(number.denominator)))
    except Inexact:
        text = ""
    if not text or loads(text) != number:
        raise ValueError(f"{number} has no short decimal")
    return text


def _end(text: str, start: int) -> tuple[int | None, int]:
    """Where what opens at `start` has closed, None where it has not; and how deep it nests."""
    depth = deepest = 0
    for found in _BRACKETS.finditer(text, start):
        if found[0] in ("{", "["):
            depth += 1
            deepest = max(deepest, depth)
        elif found[0] in ("}", "]"):
            depth -= 1
            if depth <= 0:
                return found.end(), deepest
    return None, deepest


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read: dict[str, Any] = {}
    for key, value in pairs:
        if key in read:
            raise Fault("fields", f"{quoted(key)} is given twice")
        read[key] = value
    return read


def _whole(text: str) -> int:
    if len(text) > _LONGEST_NUMBER or abs(int(text)) > LARGEST:
        raise Fault("value", f"a number of {len(text)} digits")
    return int(text)


def _fraction(text: str) -> Fraction:
    _, _, exponent = text.lower().partition("e")
    if len(text) > _LONGEST_NUMBER or abs(int(exponent or 0)) > _MOST_EXPONENT:
        raise Fault("value", f"a number of {len(text)} characters")
    number = Fraction(text)
    if abs(number) > LARGEST:
        raise Fault("value", f"{text} is too large")
    return number


def _no_constant(text: str) -> NoReturn:
    raise Fault("malformed", f"{text} is no JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_int=_whole,
    parse_float=_fraction,
    parse_constant=_no_constant,
)
