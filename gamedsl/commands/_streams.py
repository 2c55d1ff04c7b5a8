"""The standard streams of a command: any text can be written, and a stream that fails is named.

Commands write for people, for pipes and for files, under any locale. A sign that the encoding of a
stream lacks is written as a plain one that looks alike, and where there is none, as its number, as
in `\\u03bb`, which is also how JSON writes it.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO, cast

_ALIKE = {
    "…": "...", "·": "*", "–": "-", "—": "-", "━": "=", "−": "-", "→": "->", "←": "<-", "±": "+/-",
    "✗": "x", "✓": "+", "×": "x", "≥": ">=", "≤": "<=", "≠": "!=", "●": "*", "○": "o", "▸": ">",
    "“": '"', "”": '"', "’": "'", "‘": "'", "½": "1/2", "│": "|", "─": "-", "├": "|", "└": "`",
    "┌": "+", "┐": "+", "┘": "+", "┤": "|", "┬": "+", "┴": "+", "┼": "+", "╌": "-", "█": "#",
    "▓": "#", "▒": "+", "░": ".", "⁄": "/", "∙": "*",
}  # fmt: skip
"""Signs of our own output, and how they are written where an encoding has none."""


def _escaped(error: UnicodeError, alike: dict[str, str]) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(alike.get(sign) or _number(sign) for sign in text), error.end


def _number(sign: str) -> str:
    """The sign as JSON escapes it: above U+FFFF as two halves."""
    units = sign.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


codecs.register_error("gamedsl.alike", lambda error: _escaped(error, _ALIKE))
codecs.register_error("gamedsl.exact", lambda error: _escaped(error, {}))


def prepare() -> None:
    """Makes the standard streams fit for any text. Raises OSError where standard output is closed.

    Another file would take the number of a stream that is closed, and what a library prints would
    go there: so the numbers are taken by a device first.
    """
    closed = sys.stdout is None
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stdin is None:
        sys.stdin = _nowhere("r")
    if sys.stderr is None:
        sys.stderr = _nowhere("w")
    _set_errors(sys.stderr, "gamedsl.alike")
    if closed:
        sys.stdout = _nowhere("w")
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    _set_errors(sys.stdout, "gamedsl.alike")


def write_exactly() -> None:
    """Lets signs that standard output lacks be written as escapes of JSON alone."""
    _set_errors(plain(sys.stdout), "gamedsl.exact")


def print_document(text: str) -> None:
    """Prints the text of a file as the file would have it, in UTF-8."""
    stream = plain(sys.stdout)
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding="utf-8", errors="gamedsl.exact", newline="\n")
    stream.write(text)


class _Visible:
    """A stream that writes control characters as text, as in `\\x1b`: a name in somebody else's
    file must not drive the terminal. Lines, tabs and colours stay."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        bar = text.startswith("\r")  # a progress bar of a library, which begins its line anew
        shown = text[bar:] if text.isprintable() else _CONTROL.sub(_visible, text[bar:])
        self.stream.write(text[:bar] + shown)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


_COLOUR = r"\x1b\[[0-9;]*m"
_CONTROL = re.compile(rf"({_COLOUR})|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters, those that turn the direction of text around, and our own colours."""


def _visible(found: re.Match[str]) -> str:
    return found[1] or ascii(found[0])[1:-1]


@contextmanager
def visible() -> Iterator[None]:
    """Has the standard streams write control characters as text, inside of the block."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast("TextIO", _Visible(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def plain(stream: TextIO) -> TextIO:
    """The stream itself, for what draws on a terminal or writes a document."""
    return stream.stream if isinstance(stream, _Visible) else stream


def discard_output() -> None:
    """Drops what standard output still has to write, where that cannot be written."""
    try:
        number = sys.stdout.fileno()
    except (OSError, ValueError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)


def _nowhere(mode: str) -> TextIO:
    return cast("TextIO", Path(os.devnull).open(mode, encoding="utf-8"))


def _set_errors(stream: object, errors: str) -> None:
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors=errors)
