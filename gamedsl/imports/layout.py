"""The lines of a game file."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from fractions import Fraction

from gamedsl.imports.names import Names, quoted
from gamedsl.storage.characters import blanked

WIDTH = 100

_SAFE = re.compile(r"[A-Za-z](?:[\w ,.()'/+-]*[\w.)])?", re.ASCII)
_NOT_TEXT = {"true", "false", "null"}


def head(name: str, title: str, comment: str, names: Names, roles: Sequence[str]) -> list[str]:
    """The first lines: the game's name, description and roles."""
    lines = [f"game: {name}"]
    if title.strip():
        shown = " ".join(title.split())
        plain = _SAFE.fullmatch(shown) and shown.lower() not in _NOT_TEXT
        lines.append(f"about: {shown if plain else quoted(shown)}")
    for line in textwrap.dedent(comment).strip().splitlines():
        lines += textwrap.wrap(
            blanked(line), WIDTH, initial_indent="# ", subsequent_indent="# "
        ) or ["#"]
    return [*lines, *names.comment(), f"roles: [{', '.join(roles)}]"]


def listed(items: Iterable[object]) -> str:
    return f"[{', '.join(map(str, items))}]"


def amount(value: Fraction) -> str:
    """A number exactly: whole, with up to four decimals, or as a fraction."""
    if value.denominator == 1:
        return str(value.numerator)
    if 10_000 % value.denominator == 0:
        whole = f"{abs(value.numerator) * 10_000 // value.denominator:05d}"
        sign = "-" if value < 0 else ""
        return f"{sign}{whole[:-4]}.{whole[-4:]}".rstrip("0")
    return str(value)


def step(fields: Sequence[tuple[str, str]]) -> list[str]:
    """A step on one line where it fits and means the same there, else a key a line."""
    line = f"  - {{{', '.join(f'{key}: {value}' for key, value in fields)}}}"
    if len(line) <= WIDTH:
        return [line]
    keys = [
        f"{'  - ' if i == 0 else '    '}{key}: {value}" for i, (key, value) in enumerate(fields)
    ]
    return [part for line in keys for part in textwrap.wrap(line, WIDTH, subsequent_indent=" " * 6)]
