"""Places in source text: every node and IR value keeps one.

Only this package counts lines; everything above it carries `Span`s and hands them to
`gamedsl.diagnostics`. Lines and columns start at 1; columns count characters, not bytes.
"""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path
from typing import NamedTuple


class Source:
    """One input text and the name it is shown under; `folder` is where its file lies, which the
    paths written in it start from."""

    __slots__ = ("_line_starts", "folder", "name", "text")

    def __init__(self, name: str, text: str, folder: Path | None = None) -> None:
        self.name = name
        self.folder = folder or Path()
        self.text = text
        self._line_starts: list[int] | None = None

    @property
    def line_starts(self) -> list[int]:
        """Character offset at which each line begins."""
        if self._line_starts is None:
            starts = [0]
            find = self.text.find
            at = find("\n")
            while at >= 0:
                starts.append(at + 1)
                at = find("\n", at + 1)
            self._line_starts = starts
        return self._line_starts

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column (both from 1) of a character offset."""
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """Text of a line (from 1), without its newline; empty past the end."""
        starts = self.line_starts
        if not 1 <= number <= len(starts):
            return ""
        end = starts[number] if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end].rstrip("\r\n")

    def __repr__(self) -> str:
        return f"Source({self.name!r})"


class Span(NamedTuple):
    """Characters `start` to `end` (exclusive) of a source."""

    source: Source
    start: int
    end: int

    @property
    def line(self) -> int:
        return self.source.position(self.start)[0]

    @property
    def column(self) -> int:
        return self.source.position(self.start)[1]

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    def encloses(self, other: Span) -> bool:
        """Returns whether another span is of the same source, and inside of this one."""
        return self.source is other.source and self.start <= other.start and other.end <= self.end

    def __str__(self) -> str:
        line, column = self.source.position(self.start)
        return f"{self.source.name}:{line}:{column}"

    def __repr__(self) -> str:
        return f"Span({self})"
