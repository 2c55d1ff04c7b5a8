"""Lines for a terminal: cut to its width, with colours only where they are wanted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from unicodedata import east_asian_width

from gamedsl.view.game.figure import Run
from gamedsl.view.report.svg import COLOURS

Line = Sequence[Run]

_CODES = {
    "strong": "1", "soft": "2", "f0": "38;5;32", "f1": "38;5;166", "f2": "38;5;36",
    "f3": "38;5;169", "f4": "38;5;178", "f5": "38;5;74", "f6": "38;5;98", "f7": "38;5;245",
}  # fmt: skip
_PLAIN = str.maketrans("─│┌┐└┘├┤┬┴┼╌●○◐▸·…−×∙↻", "-|+++++++++-*o@>..-x.@")


def role(seat: int) -> str:
    """The style of a role."""
    return f"f{seat % COLOURS}"


def columns(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(1 + (east_asian_width(letter) in "WF") for letter in text)


def padded(text: str, width: int, *, right: bool = False) -> str:
    room = " " * (width - columns(text))
    return room + text if right else text + room


def rendered(
    lines: Iterable[Line],
    *,
    width: int | None = None,
    colour: bool = False,
    encoding: str | None = "utf-8",
) -> str:
    """Lines as text: none wider than `width`, in colour if asked, and without box drawing where the
    encoding has none."""  # fmt: skip
    shown = "\n".join(_painted(_fitted(line, width), colour) for line in lines)
    try:
        shown.encode(encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        shown = shown.translate(_PLAIN)
    return shown


def _fitted(line: Line, width: int | None) -> list[Run]:
    if width is None or sum(columns(run.text) for run in line) <= width:
        return list(line)
    left, kept = width - 1, []
    for run in line:
        text = run.text
        while columns(text) > left:
            text = text[:-1]
        left -= columns(text)
        kept.append(Run(text, run.style))
        if text != run.text:
            break
    return [*kept, Run("…", "soft")]


def _painted(line: Iterable[Run], colour: bool) -> str:
    parts = []
    for run in line:
        codes = [_CODES[name] for name in run.style.split() if name in _CODES] if colour else []
        parts.append(f"\x1b[{';'.join(codes)}m{run.text}\x1b[0m" if codes else run.text)
    return "".join(parts).rstrip() if not colour else "".join(parts)
