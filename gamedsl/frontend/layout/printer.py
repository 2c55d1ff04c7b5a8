"""The lines of a file in the one layout of the house, with its own breaks of lines.

The author chooses what is in brackets and what in lines, where a line of these ends, where an empty
line is, and the order of keys: none of it follows from a width. The rest has one form:

- an indent is two spaces, also of a list below its key; two empty lines become one;
- one space follows a colon or a comma, and none stands inside of brackets;
- what is in brackets goes on below the first item, and breaks where a line is over `WIDTH`; what
  takes several lines has them to itself;
- quotes are left out where YAML needs them nowhere, in lines or in brackets; they are double;
- operators have spaces around them, and the bars of a payoff table are below each other;
- a comment has its line, or two spaces before it; comments in one column stay in one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from gamedsl.frontend.layout.parts import (
    Comment,
    Group,
    Leaf,
    Pair,
    Part,
    column,
    comments_from,
    find_sign,
    gap_between,
    read_parts,
    skip,
)
from gamedsl.frontend.layout.spacing import spaced
from gamedsl.frontend.layout.tables import aligned
from gamedsl.frontend.source import scalars

WIDTH = 100
"""Columns of a line, beyond which brackets are broken. A long text stays as it is."""

STEP = 2
"""Spaces of an indent."""

_LONG = " " * (WIDTH + 1)
"""Stands for all that is longer than a line."""

_OTHER_YAML = re.compile(r"(?i:yes|no|on|off|y|n|true|false|null)|[-+.\d][\w.+-]*|=|<<|~")
"""Texts that some version of YAML reads as something else without quotes."""

_INDICATORS = re.compile(r"[,\[\]{}?\\]|:| #|^[-&*!|>'\"%@`#]|^\s|\s$|  ")
"""What a text may not have that stands without quotes anywhere."""


@dataclass(slots=True)
class _Line:
    text: str
    comment: str = ""
    column: int = 0
    """The column of the comment where it was written."""


def lay_out(text: str, expressions: frozenset[int]) -> str:
    """Returns a text in the layout of the house; `expressions` are the offsets of the scalars that
    are expressions or statements, in whose values spaces mean nothing."""
    root, marker = read_parts(text)
    printer = _Printer(text, expressions)
    printer.head(marker)
    printer.root(root)
    return printer.finish()


class _Printer:
    """Goes through the text once: `at` is the offset up to which it is printed."""

    def __init__(self, text: str, expressions: frozenset[int]) -> None:
        self.text = text
        self.expressions = expressions
        self.lines: list[_Line] = []
        self.at = 0
        self.flats: dict[int, str | None] = {}
        self.fresh = True
        """Whether no line of the group that is printed is there yet: no empty line begins one."""

    def head(self, marker: int) -> None:
        """Prints directives and the `---` as they are, with the comments among them."""
        if marker:
            for line in self.text[:marker].split("\n"):
                self.lines.append(_Line(line.rstrip()))
            self.at = marker
            self.fresh = False

    def root(self, root: Part) -> None:
        if isinstance(root, Group) and not root.flow:
            self.block(root, 0, False)
        else:
            self.lead(root.start, 0)
            self.inline(root, 0)

    def finish(self) -> str:
        """Returns the text, behind the comments at its end."""
        if self.text.startswith("...", skip(self.text, self.at)):
            self.comments(skip(self.text, self.at), 0)
            self.at += 3
        self.comments(len(self.text), 0)
        self.place_comments()
        return "\n".join(line.text for line in self.lines) + "\n"

    # Lines

    def add(self, text: str) -> None:
        self.lines[-1].text += text

    def start(self, indent: int, blank: bool) -> None:
        """Begins a line, behind an empty one if there was one."""
        if blank and not self.fresh:
            self.lines.append(_Line(""))
        self.lines.append(_Line(" " * indent))
        self.fresh = False

    def comments(self, end: int, indent: int) -> bool:
        """Prints the comments up to an offset; returns whether there were any."""
        found = list(comments_from(self.text, self.at, end))
        for comment in found:
            self.comment(comment, indent)
        self.at = end
        return bool(found)

    def comment(self, comment: Comment, indent: int) -> None:
        text = self.text[comment.start : comment.end]
        if comment.own_line or not self.lines:
            self.start(indent, comment.blank)
            self.add(text)
        else:
            self.lines[-1].comment, self.lines[-1].column = text, comment.column

    def lead(self, start: int, indent: int) -> None:
        """Prints the comments before a part that begins a line, and begins it."""
        gap = gap_between(self.text, self.at, start)
        self.comments(start, indent)
        self.start(indent, gap.breaks > 1)

    def tail(self, group: Group, indent: int) -> None:
        """Prints the comments behind the last part of a group that are no less indented than it."""
        edge = column(self.text, group.start)
        end = self.at
        for comment in comments_from(self.text, self.at, skip(self.text, self.at)):
            if comment.own_line and comment.column < edge:
                break
            end = comment.end
        if edge:
            self.comments(end, indent)

    def place_comments(self) -> None:
        """Writes the comments behind their lines: in the columns where they were, where these are
        free and not too far right. Those below each other that were in one column stay in one."""
        at = 0
        while at < len(self.lines):
            end, first = at + 1, self.lines[at]
            if first.comment:
                while end < len(self.lines) and (line := self.lines[end]).comment:
                    if line.column != first.column:
                        break
                    end += 1
                group = self.lines[at:end]
                near = max(len(line.text) + 2 for line in group)
                place = max(first.column, near)
                if place + max(len(line.comment) for line in group) > WIDTH:
                    place = near
                for line in group:
                    line.text = line.text.ljust(place) + line.comment
            at = end

    # Groups in lines

    def block(self, group: Group, indent: int, inline: bool) -> None:
        """Prints a map or a list in lines; `inline`: its first part goes on with the line."""
        self.fresh = True
        for part in group.pairs if group.mapping else group.items:
            start = part.start if isinstance(part, Pair) else self.dash(part)
            if not inline:
                self.lead(start, indent)
            inline = False
            self.fresh = False
            self.at = start
            if isinstance(part, Pair):
                self.pair(part, indent)
            else:
                self.item(part, indent)
        self.tail(group, indent)

    def dash(self, item: Part) -> int:
        """Returns the offset of the dash before an item."""
        return find_sign(self.text, self.at, "-")

    def pair(self, pair: Pair, indent: int) -> None:
        self.add(self.anchored(pair.key) + self.scalar(pair.key)[0] + ":")
        self.at = pair.colon
        self.value(pair.value, indent)

    def item(self, item: Part, indent: int) -> None:
        self.add("-")
        self.at += 1
        if isinstance(item, Leaf) or item.flow or item.anchor:
            self.value(item, indent)
            return
        gap = gap_between(self.text, self.at, item.start)
        self.comments(item.start, indent + STEP)
        if not gap.comments:
            self.add(" ")
        self.block(item, indent + STEP, not gap.comments)

    def value(self, value: Part, indent: int) -> None:
        """Prints what follows a colon or a dash: in its line, or below it."""
        if value.anchor:
            self.add(f" {value.anchor}")
        if isinstance(value, Group) and not value.flow:
            self.block(value, indent + STEP, False)
            return
        gap = gap_between(self.text, self.at, value.start)
        self.fresh = True
        self.comments(value.start, indent + STEP)
        if gap.comments or (gap.breaks and self.stays_below(value)):
            self.start(indent + STEP, False)
        else:
            self.add(" ")
        self.fresh = False
        self.inline(value, indent)

    def stays_below(self, value: Part) -> bool:
        """Whether a value that is below its key has several lines, or is too long beside it."""
        flat = self.flat(value)
        return flat is None or len(self.lines[-1].text) + 1 + len(flat) > WIDTH

    def inline(self, value: Part, indent: int) -> None:
        if isinstance(value, Group):
            self.flow(value, 0)
            return
        self.leaf(value, indent + STEP)

    # Groups in brackets

    def flow(self, group: Group, after: int) -> None:
        """Prints a map or a list in brackets; `after` signs will follow its last bracket."""
        opening = self.text[group.start]
        bare = opening not in "{["  # a pair alone, as in [a: 1]
        edge = len(self.lines[-1].text)
        inner = edge + (not bare)
        if not bare:
            self.add(opening)
            self.at = group.start + 1
        parts: list[Pair] | list[Part] = group.pairs if group.mapping else group.items
        tall = False
        for number, part in enumerate(parts):
            last = number == len(parts) - 1
            reserve = after + (not bare) if last else 1
            gap = gap_between(self.text, self.at, part.start)
            broken = self.comments(part.start, inner) or (number > 0 and gap.breaks > 0)
            flat = self.flat(part)
            if not broken and number > 0:
                room = WIDTH - len(self.lines[-1].text) - 1 - reserve
                broken = tall or flat is None or len(flat) > room
            if broken:
                self.start(inner, False)
            elif number > 0:
                self.add(" ")
            first = len(self.lines)
            if flat is not None and len(self.lines[-1].text) + len(flat) + reserve <= WIDTH:
                self.add(flat)
                self.at = part.value.end if isinstance(part, Pair) else part.end
            elif isinstance(part, Pair):
                self.flow_pair(part, inner, reserve)
            else:
                self.flow_value(part, inner, reserve)
            tall = len(self.lines) > first
            if not last:
                # A comment may stand before the comma; it is printed behind it.
                self.add(",")
        if bare:
            self.at = group.end
            return
        if self.comments(group.end - 1, inner):
            self.start(edge, False)
        self.add("}" if opening == "{" else "]")
        self.at = group.end

    def flow_pair(self, pair: Pair, inner: int, reserve: int) -> None:
        self.add(self.anchored(pair.key) + self.scalar(pair.key)[0] + ":")
        self.at = pair.colon
        if self.comments(pair.value.start, inner + STEP):
            self.start(inner + STEP, False)
        else:
            self.add(" ")
        self.flow_value(pair.value, inner, reserve)

    def flow_value(self, value: Part, inner: int, reserve: int) -> None:
        self.add(self.anchored(value))
        self.comments(value.start, inner)
        if isinstance(value, Group):
            self.flow(value, reserve)
            return
        self.leaf(value, inner)

    def flat(self, part: Pair | Part) -> str | None:
        """Returns a part as one line, or `_LONG` where that is over `WIDTH`; None where its author
        has broken it, or it has comments."""
        if id(part) not in self.flats:
            flat = self.make_flat(part)
            self.flats[id(part)] = flat if flat is None or len(flat) <= WIDTH else _LONG
        return self.flats[id(part)]

    def make_flat(self, part: Pair | Part) -> str | None:
        if isinstance(part, Pair):
            value, key = self.flat(part.value), self.scalar(part.key)
            if value is None or len(key) > 1:
                return None
            if any(comments_from(self.text, part.colon, part.value.start)):
                return None
            return f"{self.anchored(part.key)}{key[0]}: {value}"
        if isinstance(part, Leaf):
            lines = self.scalar(part)
            return self.anchored(part) + lines[0] if len(lines) == 1 else None
        opening = self.text[part.start]
        at = part.start + (opening in "{[")
        found: list[str] = []
        for child in part.pairs if part.mapping else part.items:
            gap, flat = gap_between(self.text, at, child.start), self.flat(child)
            if flat is None or gap.comments or (gap.breaks and found):
                return None
            found.append(flat)
            at = child.value.end if isinstance(child, Pair) else child.end
        if any(comments_from(self.text, at, part.end)):
            return None
        inside = ", ".join(found)
        text = {"{": f"{{{inside}}}", "[": f"[{inside}]"}.get(opening, inside)
        return self.anchored(part) + text

    # Scalars

    def anchored(self, part: Part) -> str:
        return f"{part.anchor} " if part.anchor else ""

    def leaf(self, leaf: Leaf, indent: int) -> None:
        """Prints a scalar. Later lines of a block have the indent; those of another keep their
        place below the first, and are indented no less than that."""
        moved = len(self.lines[-1].text) - column(self.text, leaf.start)
        first, *rest = self.scalar(leaf)
        self.add(first)
        if leaf.style in ("|", ">"):
            for comment in comments_from(self.text, leaf.start, self.header_end(leaf)):
                self.comment(comment, indent)
            self.lines += [_Line(" " * indent + line if line else "") for line in rest]
        else:
            written = self.text[leaf.start : leaf.end].split("\n")[1:]
            for line, old in zip(rest, written):
                place = max(indent, len(old) - len(old.lstrip(" \t")) + moved)
                self.lines.append(_Line(" " * place + line if line else ""))
        self.at = leaf.end

    def header_end(self, leaf: Leaf) -> int:
        end = self.text.find("\n", leaf.start, leaf.end)
        return leaf.end if end < 0 else end

    def scalar(self, leaf: Leaf) -> list[str]:
        """Returns the lines of a scalar, without their indents."""
        raw = self.text[leaf.start : leaf.end]
        respaced: Callable[[str], str] = spaced if leaf.start in self.expressions else str
        if leaf.style in ("|", ">"):
            return self.block_lines(leaf, respaced)
        if leaf.style == "*":
            return [raw]
        lines = [raw] if "\n" not in raw else [_trimmed(line) for line in raw.split("\n")]
        if not leaf.style:
            return respaced("\n".join(lines)).split("\n")
        if len(lines) > 1:
            return lines
        return [_in_quotes(raw, leaf, respaced)]

    def block_lines(self, leaf: Leaf, respaced: Callable[[str], str]) -> list[str]:
        header = self.text[leaf.start : self.header_end(leaf)].split("#")[0].rstrip()
        body = "\n".join(leaf.lines)
        table = aligned(leaf.value) if header[0] == "|" else None
        if table is not None and leaf.start in self.expressions:
            lines = table.split("\n")
        else:
            lines = respaced(body).split("\n")
        first = next((line for line in lines if line.strip()), "")
        digit = str(STEP) if first.startswith(" ") else ""
        sign = "".join(sign for sign in header if sign in "+-")
        return [header[0] + digit + sign, *lines]


def _trimmed(line: str) -> str:
    """Returns a line of a scalar of several lines, whose outer spaces mean nothing, but for one
    that is escaped."""
    line = line.lstrip(" \t")
    return line if re.search(r"\\\s*$", line) else line.rstrip(" \t")


def _in_quotes(raw: str, leaf: Leaf, respaced: Callable[[str], str]) -> str:
    """Returns a scalar of one line that has quotes, without them where it can stand so."""
    value = respaced(leaf.value)
    if _is_plain(value):
        return value
    if value == leaf.value and (leaf.style == '"' or '"' in value or "\\" in value):
        return raw
    if not value.isprintable() or '"' in value or "\\" in value:
        return raw
    return f'"{value}"'


def _is_plain(value: str) -> bool:
    """Whether a text is the same without quotes, in lines and in brackets, for all readers."""
    if not value or _INDICATORS.search(value) or _OTHER_YAML.fullmatch(value):
        return False
    return not value.isspace() and value.isprintable() and scalars.resolve(value) == value
