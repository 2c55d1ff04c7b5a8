"""PyYAML's events made into a span tree, without recursion and within bounds.

PyYAML's own scanner and parser in pure Python are used, not libyaml: both give the same places for
what is well formed, but differ in what they refuse, and what a file means may not depend on how
PyYAML was built. A problem found here does not stop the reading; a syntax error does.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, assert_never

from yaml.error import YAMLError
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    ScalarEvent,
    SequenceStartEvent,
    StreamEndEvent,
    StreamStartEvent,
)
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner

from gamedsl.diagnostics.fixes import Help, substitute
from gamedsl.diagnostics.model import Note, Problems
from gamedsl.diagnostics.spans import Source, Span
from gamedsl.frontend.source import cut_expressions, scalars
from gamedsl.frontend.source.nodes import Entry, Mapping, Node, Scalar, Sequence
from gamedsl.storage.characters import find_refused

MAX_DEPTH = 100
MAX_ALIASED = 10_000
MAX_VALUES = 100_000
"""Values of a file: a file of a mebibyte that is all commas would take half a minute."""

MOST_PROBLEMS = 100


class Events(Reader, Scanner, Parser):
    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)

    if TYPE_CHECKING:  # PyYAML's stubs give it no type

        def get_event(self) -> Event: ...


class _Frame:
    """A collection that is still open."""

    __slots__ = (
        *("start", "flow", "anchor", "mapping"),
        *("items", "entries", "keys", "key", "key_read", "end", "size", "height"),
    )

    def __init__(self, start: int, flow: bool, anchor: str | None, mapping: bool) -> None:
        self.start = start
        self.flow = flow
        self.anchor = anchor
        self.mapping = mapping
        self.items: list[Node] = []
        self.entries: list[Entry] = []
        self.keys: dict[str, Scalar] = {}
        self.key: Scalar | None = None
        self.key_read = False
        self.end = start
        self.size = 1
        self.height = 1


class _Anchored(NamedTuple):
    node: Node
    size: int
    height: int


class _StopError(Exception):
    """Reading on would make no sense; the problem is recorded."""


def compose(source: Source, problems: Problems) -> Node | None:
    """The one document of a source; None where there is none, its syntax is broken, or it has a
    character that no source may have."""
    if not check_characters(source, problems):
        return None
    composer = _Composer(source, problems)
    try:
        events = Events(source.text)
        try:
            while composer.take(events.get_event()):
                pass
        except (YAMLError, ValueError, OverflowError) as error:
            from gamedsl.frontend.source import yaml_errors

            flow = [frame.start for frame in composer.stack if frame.flow]
            opened = flow[-1] if flow else None
            yaml_errors.report(source, error, events.get_mark().index, opened, problems)
            return None
    except _StopError:
        return None
    if composer.root is None and not problems.errors:
        place = Span(source, 0, 0)
        problems.add("GD0005", f"`{source.name}` is empty", place, help="begin with `game: <name>`")
    return composer.root


def compose_part(scalar: Scalar, problems: Problems) -> Node | None:
    """The node that a text stands for which is YAML itself, such as `{a: 1..3}` in quotes, each of
    its parts placed where it is written; None, with a diagnostic, where its syntax is broken."""
    source = scalar.span.source
    whole = scalar.locate(0, len(scalar.text))
    if whole.text != scalar.text:
        problems.add(
            "GD0017", "this text has a map in it, and is not written in one piece", scalar.span,
            why="quotes, breaks or signs with `\\` stand inside it",
            help="declare the map under `types:`, and write its name here",
        )  # fmt: skip
        return None
    blank = "".join(sign if sign == "\n" else " " for sign in source.text[: whole.start])
    inside = Problems()
    node = compose(Source(source.name, blank + scalar.text, source.folder), inside)
    for found in inside.found:
        edits = tuple(replace(e, span=e.span._replace(source=source)) for e in found.edits)
        moved = replace(found, span=found.span._replace(source=source), notes=(), edits=edits)
        problems.extend([moved])
    return None if node is None or inside.errors else _placed(node, source)


def _placed(node: Node, source: Source) -> Node:
    """Returns a node whose parts are placed in another source, at the same offsets."""
    span = node.span._replace(source=source)
    match node:
        case Scalar():
            return replace(node, span=span)
        case Sequence(items=items):
            return Sequence(tuple(_placed(item, source) for item in items), span)
        case Mapping(entries=entries):
            placed = (
                (_placed(entry.key, source), _placed(entry.value, source)) for entry in entries
            )
            return Mapping(tuple(Entry(k, v) for k, v in placed if isinstance(k, Scalar)), span)
        case _:
            assert_never(node)


def check_characters(source: Source, problems: Problems, words: bool = False) -> bool:
    """Whether a file has only characters that it may have; reported if not. A list of `words` has
    no quotes in which another could be written as an escape."""
    at = find_refused(source.text)
    if at is None:
        return True
    char = ord(source.text[at])
    can_escape = not words and find_refused(chr(char), separators=True) is None
    escaped = f', or write it in double quotes as "\\u{char:04x}"' if can_escape else ""
    problems.add(
        "GD0007", f"the character U+{char:04X} may not stand in a file", Span(source, at, at + 1),
        why="invisible here",
        help=substitute(Span(source, at, at + 1), "", f"delete it{escaped}"),
    )  # fmt: skip
    return False


class _Composer:
    def __init__(self, source: Source, problems: Problems) -> None:
        self.source = source
        self.problems = problems
        self.root: Node | None = None
        self.stack: list[_Frame] = []
        self.anchors: dict[str, _Anchored] = {}
        self.aliased = 0
        self.values = 0
        self.documents = 0

    def span(self, start: int, end: int) -> Span:
        return Span(self.source, start, max(start, end))

    def take(self, event: Event) -> bool:
        """Add one event; False after the last."""
        if len(self.problems.found) >= MOST_PROBLEMS:
            raise _StopError
        if isinstance(event, ScalarEvent):
            self._check_tag(event)
            self._add(self._scalar(event), 1, 0, event.anchor, event.implicit[0])
        elif isinstance(event, SequenceStartEvent | MappingStartEvent):
            self._open(event)
        elif isinstance(event, AliasEvent):
            self._alias(event)
        elif isinstance(event, DocumentStartEvent):
            self._document(event)
        elif isinstance(event, StreamEndEvent):
            return False
        elif not isinstance(event, StreamStartEvent | DocumentEndEvent):
            self._close(event)
        return True

    def _document(self, event: Event) -> None:
        self.documents += 1
        if self.documents > 1:
            place = self.span(_start(event), _end(event))
            message = "a file holds one document, and here begins another"
            fix = "move it into a file of its own, or delete the `---`"
            self.problems.add("GD0010", message, place, why="a second document", help=fix)
            raise _StopError

    def _check_tag(self, event: ScalarEvent | SequenceStartEvent | MappingStartEvent) -> None:
        if event.tag is None:
            return
        start = _start(event)
        text = self.source.text
        start = text.find("!", start, _end(event)) if text[start] == "&" else start
        end = start
        while end < len(text) and not text[end].isspace() and text[end] not in ",[]{}":
            end += 1
        self.problems.add(
            "GD0011",
            f"`{text[start:end]}` is a YAML tag; tags are not part of the language",
            self.span(start, end),
            why="a value may not begin with `!`",
            help=cut_expressions.tag_fix(text[start:end], self.span(start, end)),
        )

    def _scalar(self, event: ScalarEvent) -> Scalar:
        start, end = self._trim(event)
        span = self.span(start, end)
        raw = self.source.text[start:end]
        text, style = event.value, event.style
        if event.tag is not None:
            return Scalar(raw, raw or "!", span)
        whole = raw if style not in ("|", ">") else self.source.text[start : _end(event)]
        offsets = scalars.offsets_of(whole, start, text, style)
        if style:
            self._check_escapes(text, span, offsets)
            return Scalar(text, text, span, offsets)
        try:
            scalar = Scalar(scalars.resolve(text), text, span, offsets)
            if "(" in text:
                cut_expressions.check_comment(scalar, self.problems)
            return scalar
        except scalars.NotFiniteError:
            message = f"`{text}` is not a number here: every number is finite and exact"
            self.problems.add(
                "GD0023",
                message,
                span,
                help=substitute(span, f'"{text}"', f'for text, write "{text}"'),
            )
        except scalars.TooLargeError:
            most, exponent = scalars.MAX_DIGITS, scalars.MAX_EXPONENT
            message = f"a number has at most {most} digits and an exponent within {exponent}"
            fix = "write a smaller number, or quotes around it if it is text"
            self.problems.add("GD0024", message, span, why="too large", help=fix)
        return Scalar(text, text, span, offsets)

    def _trim(self, event: ScalarEvent) -> tuple[int, int]:
        """The scalar alone: without anchor and tag before it and blank lines after it."""
        start, end = _start(event), _end(event)
        text = self.source.text
        while start < end and text[start] in "&!" and (event.anchor or event.tag):
            while start < end and not text[start].isspace():
                start += 1
            while start < end and text[start].isspace():
                start += 1
        if event.style in ("|", ">"):
            while end > start and text[end - 1].isspace():
                end -= 1
        return start, end

    def _check_escapes(
        self, text: str, span: Span, offsets: tuple[int, ...] | range | None
    ) -> None:
        """Reports characters that no text may have, which escapes can name: prompts, labels and
        what is printed are made of texts."""
        at = find_refused(text, separators=True)
        if at is None:
            return
        place = self.span(offsets[at], offsets[at] + 2) if offsets else span
        if "\ud800" <= text[at] <= "\udfff":
            message = "this escape names half a character (a surrogate)"
            fix = "write the character itself, or `\\U` and eight digits"
            self.problems.add("GD0021", message, span, help=fix)
            return
        message = f"the character U+{ord(text[at]):04X} may not stand in a text"
        why = "nobody who reads the text sees it, and a terminal obeys it"
        self.problems.add(
            "GD0007", message, place, why=why, help=substitute(place, "", "delete it")
        )

    def _open(self, event: SequenceStartEvent | MappingStartEvent) -> None:
        self._check_tag(event)
        start = _start(event)
        if len(self.stack) >= MAX_DEPTH:
            self._too_deep(self.span(start, start + 1))
        mapping = isinstance(event, MappingStartEvent)
        self.stack.append(_Frame(start, bool(event.flow_style), event.anchor, mapping))

    def _too_deep(self, place: Span) -> None:
        message = f"lists and maps are nested more than {MAX_DEPTH} deep"
        self.problems.add("GD0008", message, place, why="one level too many")
        raise _StopError

    def _close(self, event: Event) -> None:
        frame = self.stack.pop()
        end = _end(event) if frame.flow else frame.end
        span = self.span(frame.start, end)
        node: Node
        if frame.mapping:
            node = self._mapping(frame, span)
        else:
            node = Sequence(tuple(frame.items), span)
            if frame.flow:
                cut_expressions.check_sequence(node, self.problems)
        self._add(node, frame.size, frame.height, frame.anchor, False)

    def _mapping(self, frame: _Frame, span: Span) -> Mapping:
        node = Mapping(tuple(frame.entries), span)
        if self.source.text.startswith("{{", span.start - 1) and span.start > 0:
            return node  # a Jinja text without quotes; the map around it says so
        trapped = frame.flow and cut_expressions.check_mapping(node, self.problems)
        if not trapped:
            self._check_values(node)
        return node

    def _check_values(self, node: Mapping) -> None:
        for entry in node.entries:
            if _absent(entry.value) and entry.key.text:
                self.problems.add(
                    "GD0014",
                    f"`{entry.key.text}` has no value",
                    entry.key.span,
                    why="nothing stands after it",
                    help=f"write a value after `{entry.key.text}:`, or delete the line",
                )

    def _alias(self, event: AliasEvent) -> None:
        name = event.anchor or ""
        place = self.span(_start(event), _end(event))
        found = self.anchors.get(name)
        if found is None:
            inside = any(frame.anchor == name for frame in self.stack)
            fact = "stands inside what it refers to" if inside else "refers to no `&` before it"
            text = f'for text or an expression, write quotes: "{place.text}"'
            fix = substitute(place, f'"{place.text}"', text)
            self.problems.add("GD0025", f"`*{name}` {fact}", place, why="an alias", help=fix)
            self._add(Scalar(place.text, place.text, place), 1, 0, None, False)
            return
        self.aliased += found.size
        if self.aliased > MAX_ALIASED:
            message = f"aliases stand for more than {MAX_ALIASED} values in this file"
            self.problems.add("GD0009", message, place, why="over the bound here")
            raise _StopError
        if len(self.stack) + found.height > MAX_DEPTH:
            self._too_deep(place)
        self._add(found.node, found.size, found.height, None, False, end=place.end)

    def _add(
        self,
        node: Node,
        size: int,
        height: int,
        anchor: str | None,
        plain: bool,
        end: int | None = None,
    ) -> None:
        self.values += 1
        if self.values > MAX_VALUES:
            message = f"`{self.source.name}` has more than {MAX_VALUES} values"
            fix = "keep long tables in data files of their own"
            self.problems.add("GD0003", message, node.span, why="one more", help=fix)
            raise _StopError
        if anchor is not None:
            self.anchors[anchor] = _Anchored(node, size, height)
        if not self.stack:
            self.root = node
            return
        frame = self.stack[-1]
        frame.size += size
        frame.height = max(frame.height, height + 1)
        frame.end = max(frame.end, node.span.end if end is None else end)
        if not frame.mapping:
            self._add_item(frame, node)
        elif not frame.key_read:
            frame.key_read = True
            frame.key = self._key(frame, node)
        else:
            frame.key_read = False
            if frame.key is not None:
                frame.entries.append(Entry(frame.key, node))

    def _add_item(self, frame: _Frame, node: Node) -> None:
        frame.items.append(node)
        if _absent(node):
            at = node.span.start
            dash = self.source.text.rfind("-", frame.start, at)
            place = self.span(dash, dash + 1) if dash >= 0 else node.span
            fix = "write a value after the `-`, or delete the line"
            self.problems.add("GD0014", "this list item is empty", place, help=fix)

    def _key(self, frame: _Frame, node: Node) -> Scalar | None:
        """A key as it enters a map; None (with a problem) where it cannot be one."""
        if not isinstance(node, Scalar):
            start = node.span.start
            fix: Help = "write a name before the colon"
            if start > 0 and self.source.text.startswith("{{", start - 1):
                text = self.source.text[start - 1 : node.span.end + 1]
                quoted = cut_expressions.quoted(text)
                fix = substitute(
                    self.span(start - 1, node.span.end + 1), quoted,
                    f"write quotes around a text that begins with braces: {quoted}",
                )  # fmt: skip
            message = "a key is a name or a number, not a list or a map"
            self.problems.add("GD0015", message, node.span, why="stands as a key", help=fix)
            return None
        if _absent(node):
            at, asked = node.span.start, self.source.text.rfind("?", 0, node.span.start)
            if self.source.text.startswith(":", at) or asked < 0:
                message, fix = "a key is missing before this colon", "write a name before the colon"
            else:
                at, message = asked, "a key is missing after this question mark"
                fix = "write `name: value`, without a question mark"
            place = self.span(at, min(at + 1, len(self.source.text)))
            self.problems.add("GD0015", message, place, help=fix)
            return None
        if (tight := _NO_SPACE.match(node.span.text)) is not None:
            at = node.span.start + tight.end()
            fix = cut_expressions.space_fix(self.span(at, at))
            message, place = "a colon needs a space after it", self.span(node.span.start, at)
            self.problems.add("GD0014", message, place, why="YAML reads no key here", help=fix)
            return None
        number = isinstance(node.value, int) and not isinstance(node.value, bool)
        first = frame.keys.setdefault(str(node.value) if number else node.text, node)
        if first is not node:
            self.problems.add(
                "GD0013",
                f"the key `{node.text}` stands twice in this map",
                node.span,
                why="the second time",
                notes=(Note(first.span, "the first time"),),
                help="delete one of the two, or rename it",
            )
            return None
        return node


_NO_SPACE = re.compile(r"[A-Za-z_]\w*:(?=[\[{])")
"""The beginning of a key that has become one with the first key of its value: `params:{n`."""


def _start(event: Event) -> int:
    return event.start_mark.index if event.start_mark is not None else 0


def _end(event: Event) -> int:
    return event.end_mark.index if event.end_mark is not None else 0


def _absent(node: Node) -> bool:
    """Whether nothing at all was written where a value must stand."""
    return isinstance(node, Scalar) and node.value is None and not node.text
