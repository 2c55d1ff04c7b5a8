"""A file's text as parts with their places: what the span tree leaves out, anchors and comments.

The text has gone through `compose` without a problem, so that its size and its depth are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from gamedsl.frontend.source.compose import Events


@dataclass(slots=True)
class Leaf:
    """A scalar or an alias. `value` is its text; `style` is empty, a quote, `|`, `>`, or `*`."""

    start: int
    end: int
    style: str
    value: str
    anchor: str = ""
    """The anchor before it, as in `&name`; `start` is the place of the value behind it."""
    lines: tuple[str, ...] = ()
    """The lines of a block (`|`, `>`), without its indent."""


@dataclass(slots=True)
class Pair:
    """An entry of a map. `colon` is the offset behind its colon."""

    key: Leaf
    value: Part
    colon: int

    @property
    def start(self) -> int:
        return self.key.start


@dataclass(slots=True)
class Group:
    """A map or a list, in lines or in brackets."""

    start: int
    end: int
    flow: bool
    mapping: bool
    anchor: str = ""
    pairs: list[Pair] = field(default_factory=list)
    items: list[Part] = field(default_factory=list)


Part = Leaf | Group

_HEADER = re.compile(r"[|>][-+1-9]*")
"""What begins a block: its style, what becomes of the breaks at its end, its indent."""


class Comment(NamedTuple):
    """A comment. `own_line`: nothing else is on its line; `blank`: an empty line is above it."""

    start: int
    end: int
    column: int
    own_line: bool
    blank: bool


class Gap(NamedTuple):
    """A gap between two parts: comments, and the breaks of lines after the last of them."""

    comments: tuple[Comment, ...]
    breaks: int


def read_parts(text: str) -> tuple[Part, int]:
    """Returns the root of a text, and the offset behind its `---`; 0 where it has none."""
    events = Events(text)
    stack: list[tuple[Group, Leaf | None]] = []
    root: Part | None = None
    marker = 0
    while not isinstance(event := events.get_event(), StreamEndEvent):
        part: Part
        if isinstance(event, DocumentStartEvent) and event.explicit:
            marker = _end(event)
            continue
        if isinstance(event, ScalarEvent):
            part = _scalar(text, event, column(text, stack[-1][0].start) if stack else 0)
        elif isinstance(event, AliasEvent):
            part = Leaf(_start(event), _end(event), "*", "")
        elif isinstance(event, MappingStartEvent | SequenceStartEvent):
            start, anchor = _behind_anchor(text, event)
            mapping = isinstance(event, MappingStartEvent)
            stack.append((Group(start, start, bool(event.flow_style), mapping, anchor), None))
            continue
        elif isinstance(event, MappingEndEvent | SequenceEndEvent):
            part, _ = stack.pop()
            part.end = _end(event) if part.flow else part.end
        else:
            continue
        if not stack:
            root = part
            continue
        group, key = stack[-1]
        group.end = part.end
        if not group.mapping:
            group.items.append(part)
        elif key is None:
            if not isinstance(part, Leaf):
                raise ValueError("a key is a list or a map")
            stack[-1] = group, part
        else:
            group.pairs.append(Pair(key, part, find_sign(text, key.end, ":") + 1))
            stack[-1] = group, None
    if root is None:
        raise ValueError("no value")
    return root, marker


def _scalar(text: str, event: ScalarEvent, parent: int) -> Leaf:
    """Returns a scalar; `parent` is the column of the map or list in lines that it is in."""
    start, anchor = _behind_anchor(text, event)
    end, style = _end(event), event.style or ""
    if style not in ("|", ">"):
        return Leaf(start, end, style, event.value, anchor)
    header, *lines = text[start:end].removesuffix("\n").split("\n")
    sign = _HEADER.match(header)
    keep, digit = "+" in sign[0] if sign else False, re.search("[1-9]", sign[0]) if sign else None
    if digit is not None:
        indent = parent + int(digit[0])
    else:
        indent = next((len(x) - len(x.lstrip(" ")) for x in lines if x.strip(" ")), len(header))
    while not keep and lines and not lines[-1].strip(" ") and len(lines[-1]) <= indent:
        lines.pop()
    content = tuple(line[indent:] for line in lines)
    end = start + len(header) + sum(len(line) + 1 for line in lines)
    return Leaf(start, end, style, event.value, anchor, content)


def _behind_anchor(
    text: str, event: ScalarEvent | MappingStartEvent | SequenceStartEvent
) -> tuple[int, str]:
    start = _start(event)
    if event.anchor is None:
        return start, ""
    anchor = f"&{event.anchor}"
    return skip(text, start + len(anchor)), anchor


def _start(event: Event) -> int:
    return event.start_mark.index if event.start_mark is not None else 0


def _end(event: Event) -> int:
    return event.end_mark.index if event.end_mark is not None else 0


def all_comments(text: str) -> list[str]:
    """Returns the comments of a text that is YAML, in their order."""
    events = Events(text)
    found: list[str] = []
    at = 0
    while not isinstance(event := events.get_event(), StreamEndEvent):
        if not isinstance(event, ScalarEvent):
            continue
        end = _end(event)
        found += (text[c.start : c.end] for c in comments_from(text, at, _start(event)))
        if event.style in ("|", ">"):
            header = text.find("\n", _start(event))
            header = end if header < 0 else header
            found += (text[c.start : c.end] for c in comments_from(text, _start(event), header))
        at = end
    found += (text[c.start : c.end] for c in comments_from(text, at, len(text)))
    return found


def comments_from(text: str, at: int, end: int) -> Iterator[Comment]:
    """Yields the comments between two offsets, where there are no scalars."""
    while at < end:
        if text[at] != "#" or (at > 0 and not text[at - 1].isspace()):
            at += 1
            continue
        line = text.rfind("\n", 0, at) + 1
        stop = text.find("\n", at)
        stop = len(text) if stop < 0 else stop
        above = text[text.rfind("\n", 0, max(line - 1, 0)) + 1 : max(line - 1, 0)]
        yield Comment(
            at, at + len(text[at:stop].rstrip()), at - line,
            not text[line:at].strip(), line > 0 and not above.strip(),
        )  # fmt: skip
        at = stop


def gap_between(text: str, at: int, end: int) -> Gap:
    """Returns the comments between two offsets, and the breaks of lines after the last."""
    comments = tuple(comments_from(text, at, end))
    return Gap(comments, text.count("\n", comments[-1].end if comments else at, end))


def column(text: str, at: int) -> int:
    """Returns the number of characters before an offset in its line."""
    return at - text.rfind("\n", 0, at) - 1


def find_sign(text: str, at: int, sign: str) -> int:
    """Returns the offset of a sign of YAML after `at`, where there are only comments before it."""
    while text[at] != sign:
        at = text.find("\n", at) if text[at] == "#" else at + 1
    return at


def skip(text: str, at: int) -> int:
    """Returns the offset of what follows spaces, breaks of lines and comments."""
    while at < len(text):
        if text[at] == "#" and (at == 0 or text[at - 1].isspace()):
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif text[at].isspace():
            at += 1
        else:
            break
    return at
