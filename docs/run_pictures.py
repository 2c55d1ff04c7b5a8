"""The pictures of README.md: a training run as a recording of the terminal, and its phase portrait.

    python docs/run_pictures.py        # trains stag hunt as README.md does, and writes both

The run goes on in a pseudo-terminal, whose output `pyte` reads; it is in the extra `docs`. The
recording is an SVG that plays once and stays at its end. It names no font of a server and no file,
so that it opens offline; who asks for less motion sees the end at once.
"""

from __future__ import annotations

import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator, Sequence
from fcntl import ioctl
from html import escape
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import pyte

from gamedsl.storage.writer import write_text
from gamedsl.view.charts import chart_file

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
COMMAND = ["gamedsl", "train", "games/stag_hunt.yaml"]
COLUMNS, LINES = 92, 34
PAUSE = 0.6
"""The longest that the recording rests on a screen, in seconds; the run rests for longer."""

SETTLING = 0.08
"""A screen that changes again within this many seconds is no frame of its own."""

WIDE, HIGH, SIZE, MARGIN = 8.4, 19, 14, 16
COLOURS = {
    "default": "#e8e8e4", "brightblack": "#a3a8ae", "cyan": "#6cb6ff", "brown": "#e5bd55",
    "magenta": "#f094c6", "green": "#43cfa2", "red": "#ff5c72", "blue": "#9ad1f0",
    "white": "#e8e8e4", "black": "#5b6067",
}  # fmt: skip
"""Colours of a dark terminal, which stands out from light pages and from dark ones."""

Cell = tuple[str, str, bool, bool]
"""A character, its colour, and whether it is bold or italic."""

Frame = tuple[float, list[list[Cell]]]


def recorded(command: Sequence[str], folder: Path) -> list[Frame]:
    """Runs a command in a pseudo-terminal and returns its screens, with seconds from its start.

    Raises `CalledProcessError` if the command fails.
    """
    screen = pyte.Screen(COLUMNS, LINES)
    stream = pyte.ByteStream(screen)
    stream.feed(f"$ {' '.join(command)}\r\n".encode())
    parent, child = pty.openpty()
    ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    settings = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm-256color"}
    process = subprocess.Popen(
        [sys.executable, "-m", *command], cwd=folder, env=settings,
        stdin=child, stdout=child, stderr=child,
    )  # fmt: skip
    os.close(child)
    frames, begun = [(0.0, _cells(screen))], time.monotonic()
    while data := _read(parent):
        stream.feed(re.sub(rb"\x1b\[2(?=[;m])", b"\x1b[90", data))  # pyte knows no faint letters
        while select.select([parent], [], [], SETTLING)[0] and (data := _read(parent)):
            stream.feed(re.sub(rb"\x1b\[2(?=[;m])", b"\x1b[90", data))
        if (cells := _cells(screen)) != frames[-1][1]:
            frames.append((time.monotonic() - begun, cells))
    os.close(parent)
    if code := process.wait():
        raise subprocess.CalledProcessError(code, command)
    return frames


def _read(terminal: int) -> bytes:
    """Returns what a pseudo-terminal has to say; nothing once its other side is closed."""
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        return b""


def _cells(screen: Any) -> list[list[Cell]]:
    rows = (screen.buffer[y] for y in range(screen.lines))
    return [
        [(c.data, c.fg, c.bold, c.italics) for c in (row[x] for x in range(screen.columns))]
        for row in rows
    ]


def drawn(frames: Sequence[Frame], title: str) -> str:
    """Returns screens as one SVG that shows one after another."""
    last = frames[-1][1]
    used = max(y for y, row in enumerate(last) if _text(row)) + 1
    width, height = COLUMNS * WIDE + 2 * MARGIN, used * HIGH + 2 * MARGIN
    numbers: dict[str, int] = {}
    shown, at = [], 0.0
    for (start, cells), (end, _) in pairwise([*frames, (frames[-1][0], [])]):
        stay = round(min(end - start, PAUSE), 2)
        rows = [
            f'<use href="#r{numbers.setdefault(text, len(numbers))}" y="{y * HIGH}"/>'
            for y, row in enumerate(cells[:used])
            if (text := _row(row))
        ]
        kind = f'class="f" style="animation:on {stay:g}s {at:.2f}s step-end"'
        if cells is last:
            kind = f'class="l" style="animation-duration:{at:.2f}s"'
        shown.append(f"<g {kind}>{''.join(rows)}</g>")
        at += stay
    defined = "\n".join(f'<g id="r{number}">{text}</g>' for text, number in numbers.items())
    told = "\n".join(_text(row) for row in last[:used])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" role="img" aria-labelledby="title about">\n'
        f'<title id="title">{escape(title)}</title>\n<desc id="about">{escape(told)}</desc>\n'
        f"<style>\n{_rules()}</style>\n"
        f'<rect x="0.5" y="0.5" width="{width - 1:g}" height="{height - 1:g}" rx="8"/>\n'
        f"<defs>\n{defined}\n</defs>\n"
        f'<g transform="translate({MARGIN} {MARGIN + SIZE})">\n' + "\n".join(shown)
        + "\n</g>\n</svg>\n"
    )  # fmt: skip


def _rules() -> str:
    colours = "\n".join(f".{name} {{ fill: {colour}; }}" for name, colour in COLOURS.items())
    return f"""\
text {{ font: {SIZE}px ui-monospace, "SFMono-Regular", Menlo, Consolas, "DejaVu Sans Mono",
  "Liberation Mono", monospace; white-space: pre; }}
rect {{ fill: #16181b; stroke: #3a3e43; }}
.b {{ font-weight: 700; }} .i {{ font-style: italic; }}
{colours}
.f {{ visibility: hidden; }} .l {{ animation: off 1s step-end; }}
@keyframes on {{ from, to {{ visibility: visible; }} }}
@keyframes off {{ from, to {{ visibility: hidden; }} }}
@media (prefers-reduced-motion: reduce) {{ .f, .l {{ animation: none !important; }} }}
"""


def _row(cells: Sequence[Cell]) -> str:
    """Returns a line of a screen: a text for each stretch that looks alike and holds no gap."""
    return "".join(_stretches(cells))


def _stretches(cells: Sequence[Cell]) -> Iterator[str]:
    column = 0
    for (colour, bold, italic), stretch in groupby(cells, lambda cell: cell[1:]):
        whole = "".join(data for data, *_ in stretch)
        for part in re.finditer(r"\S+(?: \S+)*", whole):
            style = " ".join(
                name for name, on in ((colour, True), ("b", bold), ("i", italic)) if on
            )
            yield (
                f'<text x="{(column + part.start()) * WIDE:.1f}" class="{style}" '
                f'textLength="{len(part[0]) * WIDE:.1f}" lengthAdjust="spacingAndGlyphs">'
                f"{escape(part[0])}</text>"
            )
        column += len(whole)


def _text(cells: Sequence[Cell]) -> str:
    return "".join(data for data, *_ in cells).rstrip()


def portrait(report: str) -> str:
    """Returns the phase portrait of a run's page as a file of its own, light and dark.

    Raises `ValueError` if the page has none.
    """
    found = re.search(r"<figure class=\"portrait\">(<svg .*?</svg>)", report, re.S)
    if found is None:
        raise ValueError("the report has no phase portrait")
    return chart_file(found[1])


def main() -> None:
    """Trains, and writes both pictures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "games").symlink_to(ROOT / "games")
        frames = recorded(COMMAND, folder)
        (report,) = folder.glob("runs/*/report.html")
        recording = drawn(frames, f"A terminal: {' '.join(COMMAND)}")
        write_text(PICTURES / "stag_hunt_training.svg", recording)
        write_text(PICTURES / "stag_hunt_portrait.svg", portrait(report.read_text("utf-8")))


if __name__ == "__main__":
    main()
