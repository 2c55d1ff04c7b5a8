"""Values of YAML leaves, and the source offset of each of their characters.

Plain scalars follow the YAML 1.2 core schema, as editors do, not the 1.1 rules of PyYAML: `yes`,
`no`, `on` and `12:30` are text and `010` is ten. Numbers are read exactly from their text.
`offsets_of` always agrees with the scanner: if a reconstruction differs from the scanned text in
one character, it gives no map at all.
"""

from __future__ import annotations

import re
from fractions import Fraction

from gamedsl.frontend.source.nodes import Value

MAX_DIGITS = 100
MAX_EXPONENT = 308

_WORDS: dict[str, Value] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER_START = frozenset("0123456789+-.")
_DECIMAL = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o[0-7]+")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE]([-+]?[0-9]+))?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


class NotFiniteError(Exception):
    """The scalar is `.inf` or `.nan`."""


class TooLargeError(Exception):
    """The number has more digits, or a larger exponent, than is read."""


def resolve(text: str) -> Value:
    """The value of a plain scalar. Raises `NotFiniteError` or `TooLargeError`."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_START or text[-1] in " \n":
        return text
    if _DECIMAL.fullmatch(text):
        _check_digits(text)
        return int(text)
    if found := _FLOAT.fullmatch(text):
        exponent = found.group(1) or "0"
        _check_digits(text)
        if abs(int(exponent)) > MAX_EXPONENT:
            raise TooLargeError
        return Fraction(text)
    if _OCTAL.fullmatch(text) or _HEXADECIMAL.fullmatch(text):
        _check_digits(text)
        return int(text[2:], 8 if text[1] == "o" else 16)
    if _NOT_FINITE.fullmatch(text):
        raise NotFiniteError
    return text


def _check_digits(text: str) -> None:
    if len(text) > MAX_DIGITS:
        raise TooLargeError


def offsets_of(
    raw: str, start: int, text: str, style: str | None
) -> tuple[int, ...] | range | None:
    """Returns the offset of each character of `text`, for a scalar written as `raw` at offset
    `start`.

    None if character i is simply at `start + i`.
    """
    if not style:
        if raw == text:
            return None
        pairs = _folded_lines(raw, 0, len(raw), "")
    elif style in "'\"":
        if raw[1:-1] == text:
            return range(start + 1, start + 1 + len(text))
        pairs = _folded_lines(raw, 1, len(raw) - 1, style)
    else:
        pairs = _block(raw, text, folded=style == ">")
    if pairs is None or "".join(char for char, _ in pairs) != text:
        return ()
    return tuple(start + at for _, at in pairs)


_ESCAPE = re.compile(r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_SIMPLE = dict(zip("0abt\tnvfreN_LP", "\0\a\b\t\t\n\v\f\r\x1b\x85\xa0\u2028\u2029", strict=True))

Pairs = list[tuple[str, int]]


def _folded_lines(raw: str, at: int, end: int, quote: str) -> Pairs | None:
    """Characters of a plain or quoted scalar; line breaks fold to a space, as YAML has it."""
    pairs: Pairs = []
    while at < end:
        char = raw[at]
        if char in " \t\n":
            run = at
            while at < end and raw[at] in " \t\n":
                at += 1
            pairs += _fold(raw, run, at)
        elif char == "\\" and quote == '"':
            found = _ESCAPE.match(raw, at, end)
            if found is None:
                return None
            body = found.group()[1:]
            if body == "\n":
                at = found.end()
                while at < end and raw[at] in " \t":
                    at += 1
                continue
            value = chr(int(body[1:], 16)) if len(body) > 1 else _SIMPLE.get(body, body)
            pairs.append((value, at))
            at = found.end()
        else:
            pairs.append((char, at))
            at += 2 if char == quote == "'" else 1
    return pairs


def _fold(raw: str, start: int, end: int) -> Pairs:
    """A run of blanks: kept within a line; one line break is a space, n + 1 are n breaks."""
    breaks = [at for at in range(start, end) if raw[at] == "\n"]
    if not breaks:
        return [(raw[at], at) for at in range(start, end)]
    if len(breaks) == 1:
        return [(" ", breaks[0])]
    return [("\n", at) for at in breaks[1:]]


def _block(raw: str, text: str, folded: bool) -> Pairs | None:
    """Characters of a `|` or `>` scalar, matched greedily along its lines."""
    at = raw.find("\n") + 1
    if not at:
        return None
    lines = raw[at:].split("\n")
    indents = [len(line) - len(line.lstrip(" ")) for line in lines if line.strip(" ")]
    if not indents:
        return None
    header = re.search(r"[1-9]", raw[: at - 1].split("#")[0])
    if header:
        return None
    indent = indents[0]
    pairs: Pairs = []
    rest = iter(text)
    char = next(rest, None)
    for line in lines:
        for column in range(min(indent, len(line)), len(line)):
            if char is not None and line[column] == char:
                pairs.append((char, at + column))
                char = next(rest, None)
        if char == "\n" or (folded and char == " "):
            pairs.append((char, at + len(line)))
            char = next(rest, None)
        at += len(line) + 1
    return pairs
