"""JSON, read strictly and within bounds, for every text that comes from outside.

The standard library's decoder takes the last of duplicate keys, NaN, half characters and numbers
of any length, and recurses as deep as a text is nested. Here these are refused, with a line and a
column. Its scanner still does the reading. A second pass over the tokens finds the place of what is
refused, and runs where there may be such a thing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any, Literal, NamedTuple, NoReturn

Kind = Literal["syntax", "duplicate", "number", "depth", "surrogate", "size", "encoding"]
"""The sorts of reasons."""

MAX_CHARACTERS = 1 << 27
"""Characters of one text, unless the caller says less."""

MAX_DEPTH = 64
MAX_DIGITS = 400
"""Characters of one number."""

MAX_EXPONENT = 400
LARGEST = 2**1024 - 2**970
"""The largest floating-point number."""

_TOKEN = re.compile(
    r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]|-?[0-9][-+.0-9eE]*+|NaN|-?Infinity', re.DOTALL
)
"""A text, up to the end where it is not closed, a bracket, or a number."""

_TEXT = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")

_EXACT = re.compile(
    r"-?[0-9]{1,4000}(?:/0{0,9}[1-9][0-9]{0,3999}|(?:\.[0-9]{1,4000})?(?:[eE][-+]?[0-3]?[0-9]{1,2})?)"
)
_BLANK = re.compile(r"[ \t\n\r]*+")
_COLON = re.compile(r"[ \t\n\r]*+:")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SHOWN = 40

_PLAIN = 30
"""Characters up to which a number without an exponent is within any usual bounds."""

_SYNTAX = {
    "Expecting value": "a value is expected here",
    "Expecting ',' delimiter": "a comma or the end of the list or object is expected here",
    "Expecting ':' delimiter": "a colon is expected here",
    "Expecting property name": "a key in double quotes is expected here",
    "Illegal trailing comma": "this comma has nothing after it",
    "Unterminated string": "this text has no closing quote",
    "Invalid control character": "a control character is written as an escape, such as `\\n`",
    "Invalid \\": "this is no escape that JSON has",
    "Extra data": "the value has ended before this",
}
"""Reasons for the beginnings of the decoder's messages."""


class Bounds(NamedTuple):
    """Limits of a text: the depth of its lists and objects, the characters of a number, its size,
    and whether texts may have halves of characters, for a caller who checks that itself."""

    depth: int = MAX_DEPTH
    digits: int = MAX_DIGITS
    largest: int = LARGEST
    surrogates: bool = False


USUAL = Bounds()


class JsonRefused(ValueError):
    """A text is not JSON as it is read here. `line` and `column` count from 1, `offset` from 0;
    `reason` says why, and `kind` sorts the reasons. `token` is the number, key or text that is
    refused, if it is one."""

    def __init__(
        self, reason: str, kind: Kind, text: str = "", offset: int = 0, token: str = ""
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.kind: Kind = kind
        self.offset = offset
        self.line = text.count("\n", 0, offset) + 1
        self.column = offset - text.rfind("\n", 0, offset)
        self.token = token

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.reason}"


def parse(
    text: str | bytes, *, exact: bool = False, limit: int = MAX_CHARACTERS, bounds: Bounds = USUAL
) -> Any:
    """Returns the value of a JSON text, UTF-8 if it is bytes. A number with a point or an exponent
    is a float, and a Fraction if `exact`.

    Raises JsonRefused for anything but JSON of at most `limit` characters or bytes and within the
    bounds.
    """
    text = _text(text, limit)
    if _is_doubtful(text, bounds):
        _check(text, bounds)
    try:
        return _decoder(exact, bounds).decode(text)
    except json.JSONDecodeError as error:
        raise JsonRefused(_syntax(error.msg), "syntax", text, error.pos) from None
    except _RefusedValue:
        _check(text, bounds)
        raise


def parse_lines(
    text: str | bytes, *, exact: bool = False, limit: int = MAX_CHARACTERS
) -> Iterator[tuple[int, Any]]:
    """Yields the number and the value of each line of JSON lines that is not blank. Raises
    JsonRefused, with the line of the whole text."""
    for number, line in enumerate(_text(text, limit).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = parse(line, exact=exact)
        except JsonRefused as error:
            error.line = number
            raise
        yield number, value


class _RefusedValue(JsonRefused):
    """The decoder came to a value that is refused, of which it does not know the place."""


def _text(data: str | bytes, limit: int) -> str:
    if len(data) > limit:
        unit = "bytes" if isinstance(data, bytes) else "characters"
        raise JsonRefused(f"it has {len(data):,} {unit}, and at most {limit:,} are read", "size")
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
    except UnicodeDecodeError as error:
        assert isinstance(data, bytes)
        before = data[: error.start].decode("utf-8")
        reason = f"byte 0x{data[error.start]:02x} is not UTF-8"
        raise JsonRefused(reason, "encoding", before, len(before)) from None
    if text.startswith("\ufeff"):
        raise JsonRefused("it begins with a byte order mark", "syntax")
    return text


def _is_doubtful(text: str, bounds: Bounds) -> bool:
    """Whether a text may be nested too deep, or have half a character, which the decoder takes."""
    if text.count("[") + text.count("{") > bounds.depth and _depth(text) > bounds.depth:
        return True
    if bounds.surrogates:
        return False
    if "\\ud" in text or "\\uD" in text:
        return True
    return not text.isascii() and _SURROGATE.search(text) is not None


def _depth(text: str) -> int:
    """Returns how deep lists and objects are nested, up to where a text is JSON."""
    depth = deepest = 0
    for bracket in _BRACKET.findall(_TEXT.sub("", text)):
        if bracket in "[{":
            depth += 1
            deepest = max(deepest, depth)
        else:
            depth -= 1
    return deepest


def _check(text: str, bounds: Bounds) -> None:
    """Raises JsonRefused at the first token of a text that is refused."""
    open_keys: list[set[str]] = []  # of each open list or object; a list has none
    for found in _TOKEN.finditer(text):
        token = found[0]
        if token in ("[", "{"):
            open_keys.append(set())
            if len(open_keys) > bounds.depth:
                reason = f"lists and objects are nested more than {bounds.depth} deep"
                raise JsonRefused(reason, "depth", text, found.start())
        elif token in ("]", "}"):
            if open_keys:
                open_keys.pop()
        elif token[0] != '"':
            if reason := _number_fault(token, bounds):
                kind: Kind = "syntax" if token[-1].isalpha() else "number"
                raise JsonRefused(reason, kind, text, found.start(), token)
        else:
            _check_text(text, found, open_keys, bounds)


def _check_text(text: str, found: re.Match[str], open_keys: list[set[str]], bounds: Bounds) -> None:
    try:
        value = json.loads(found[0])
    except json.JSONDecodeError:
        return  # the decoder says what is wrong with it
    half = None if bounds.surrogates else _SURROGATE.search(value)
    if half is not None:
        reason = f"U+{ord(half[0]):04X} is half a character (a surrogate)"
        raise JsonRefused(reason, "surrogate", text, found.start(), value)
    if open_keys and _COLON.match(text, found.end()):
        if value in open_keys[-1]:
            reason = f"the key {shortened(value)} is given twice"
            raise JsonRefused(reason, "duplicate", text, found.start(), value)
        open_keys[-1].add(value)


def write(value: Any) -> str:
    """Returns a value as JSON on one line, its characters as they are. A half of a character is
    written as its escape, since no file in UTF-8 can have it."""
    text = json.dumps(value, ensure_ascii=False)
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def exact_number(text: str) -> Fraction:
    """Returns the number of an exact text, such as `-1/18` or `0.25`. Raises ValueError for another
    text, and for a number with an exponent beyond the usual bound."""
    if not _EXACT.fullmatch(text):
        raise ValueError(f"{shortened(text)} is not a number")
    return Fraction(text)


def find_values(text: str) -> dict[str, int]:
    """Returns the offset of the value of each key of the object that a JSON text is."""
    places: dict[str, int] = {}
    depth = 0
    for found in _TOKEN.finditer(text):
        if found[0] in ("[", "{"):
            depth += 1
        elif found[0] in ("]", "}"):
            depth -= 1
        elif depth == 1 and found[0][0] == '"' and (colon := _COLON.match(text, found.end())):
            value = _BLANK.match(text, colon.end())
            places[json.loads(found[0])] = value.end() if value else colon.end()
    return places


def _number_fault(token: str, bounds: Bounds) -> str:
    """Returns why a number is refused, or nothing."""
    if token[-1].isalpha():
        return f"{token} is not JSON"
    if len(token) > bounds.digits:
        return f"this number has {len(token):,} characters, and at most {bounds.digits} are read"
    _, _, exponent = token.lower().partition("e")
    try:
        if abs(int(exponent or 0)) > MAX_EXPONENT:
            return f"this number has an exponent beyond {MAX_EXPONENT}"
        roughly = abs(float(token))
        # only near the bound need it be exact
        is_large = roughly > bounds.largest / 2 and abs(Fraction(token)) > bounds.largest
        return "this number is too large" if is_large else ""
    except ValueError:
        return ""  # no number; the decoder says so


@cache
def _decoder(exact: bool, bounds: Bounds) -> json.JSONDecoder:
    plain = min(bounds.digits, _PLAIN) if bounds.largest >= 10**_PLAIN else 0

    def check(token: str) -> str:
        if len(token) <= plain and "e" not in token and "E" not in token:
            return token
        if reason := _number_fault(token, bounds):
            raise _RefusedValue(reason, "number")
        return token

    return json.JSONDecoder(
        object_pairs_hook=_object,
        parse_int=lambda token: int(check(token)),
        parse_float=lambda token: (Fraction if exact else float)(check(token)),
        parse_constant=_constant,
    )


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(pairs)
    if len(read) < len(pairs):
        raise _RefusedValue("a key is given twice", "duplicate")
    return read


def _constant(token: str) -> NoReturn:
    raise _RefusedValue(f"{token} is not JSON", "syntax")


def _syntax(message: str) -> str:
    known = (reason for start, reason in _SYNTAX.items() if message.startswith(start))
    return next(known, message[:1].lower() + message[1:])


def shortened(text: str) -> str:
    """Returns a text for messages: in quotes, on one line, and not long."""
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
