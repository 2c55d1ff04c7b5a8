"""The span tree: YAML as values that know where they were written.

A node is a `Scalar`, a `Sequence` or a `Mapping`; nothing here remembers PyYAML. Numbers are exact
(`int` or `Fraction`, read from their text), so that `0.1` is one tenth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from gamedsl.diagnostics.spans import Span

Value = str | int | Fraction | bool | None


@dataclass(frozen=True, slots=True)
class Scalar:
    """A leaf. `value` follows the YAML 1.2 core schema; `text` is what was written, unquoted."""

    value: Value
    text: str
    span: Span
    offsets: tuple[int, ...] | range | None = field(default=None, repr=False, compare=False)
    """Source offset of each character of `text`, where it is not `span.start + i` (quotes, blocks).

    Empty where no such map exists; then every part of the text is placed at the whole scalar.
    """

    def locate(self, start: int, end: int) -> Span:
        """The source span of characters `start` to `end` of `text`."""
        if self.offsets is None:
            return Span(self.span.source, self.span.start + start, self.span.start + end)
        if not self.offsets:
            return self.span
        first = self.offsets[min(start, len(self.offsets) - 1)]
        last = self.offsets[min(max(end - 1, start), len(self.offsets) - 1)]
        return Span(self.span.source, first, max(last + self._written(last), first))

    def _written(self, at: int) -> int:
        """Returns how many characters of the source one character of a quoted text takes."""
        text, quote = self.span.source.text, self.span.source.text[self.span.start]
        if quote == "'" and text[at : at + 2] == "''":
            return 2
        if quote == '"' and text[at] == "\\":
            return {"x": 4, "u": 6, "U": 10}.get(text[at + 1 : at + 2], 2)
        return 1


@dataclass(frozen=True, slots=True)
class Sequence:
    items: tuple[Node, ...]
    span: Span

    def __iter__(self) -> Iterator[Node]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, slots=True)
class Entry:
    key: Scalar
    value: Node


@dataclass(frozen=True, slots=True)
class Mapping:
    entries: tuple[Entry, ...]
    span: Span

    def get(self, name: str) -> Node | None:
        """The value under a key, by the key's text; None where there is none."""
        for entry in self.entries:
            if entry.key.text == name:
                return entry.value
        return None

    def entry(self, name: str) -> Entry | None:
        for entry in self.entries:
            if entry.key.text == name:
                return entry
        return None

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)


Node = Scalar | Sequence | Mapping
