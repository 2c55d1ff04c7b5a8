"""Diagnostics as text: pretty for people, concise for editors' link finders, JSON for programs.

Rendering never fails, whatever the text holds: control characters are shown as escapes, tabs
and wide characters keep the underline below what it underlines, long lines are cut to a window.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from gamedsl.diagnostics.model import Diagnostic
from gamedsl.diagnostics.safety import is_safe
from gamedsl.diagnostics.spans import Source, Span
from gamedsl.storage.characters import escaped
from gamedsl.storage.shipped import shipped_place

Form = Literal["pretty", "concise", "json"]

WINDOW = 110
_TAB = 4
_COLOURS = {"error": "\x1b[1;31m", "warning": "\x1b[1;33m", "note": "\x1b[1;36m"}
_BOLD, _BLUE, _RESET = "\x1b[1m", "\x1b[1;34m", "\x1b[0m"


def render(diagnostics: Iterable[Diagnostic], form: Form = "pretty", colour: bool = False) -> str:
    """Returns all diagnostics as one text, without a newline at its end; empty for none."""
    if form == "json":
        import json

        return json.dumps([_as_data(d) for d in diagnostics], indent=2)
    if form == "concise":
        return "\n".join(_concise(d) for d in diagnostics)
    return "\n\n".join(_pretty(d, _Paint(colour)) for d in diagnostics)


def _place(span: Span) -> str:
    return f"{escaped(span.source.name)}:{span.line}:{span.column}"


def _file(source: Source) -> str:
    """Returns the name of a file; of a shipped one that does not lie below the current folder, its
    place among the shipped files."""
    place = shipped_place(Path(source.name))
    return escaped(source.name) if place is None else f"shipped {escaped(place)}"


def _concise(d: Diagnostic) -> str:
    fix = f" ({escaped(d.help)})" if d.help else ""
    return f"{_place(d.span)}: {d.severity}[{d.code}]: {escaped(d.message)}{fix}"


def _span_data(span: Span) -> dict[str, object]:
    line, column = span.source.position(span.start)
    end_line, end_column = span.source.position(max(span.end, span.start))
    return {
        "file": span.source.name,
        "line": line,
        "column": column,
        "end_line": end_line,
        "end_column": end_column,
    }


def _as_data(d: Diagnostic) -> dict[str, object]:
    return {
        "code": d.code,
        "severity": d.severity,
        "message": d.message,
        **_span_data(d.span),
        "why": d.why,
        "help": d.help,
        "safe": is_safe(d),
        "edits": [{**_span_data(edit.span), "text": edit.text} for edit in d.edits],
        "notes": [{**_span_data(note.span), "text": note.text} for note in d.notes],
        "witness": list(d.witness),
    }


class _Paint:
    """Applies ANSI colours, where they are on."""

    def __init__(self, on: bool) -> None:
        self.on = on

    def __call__(self, colour: str, text: str) -> str:
        return f"{colour}{text}{_RESET}" if self.on and text else text


def _pretty(d: Diagnostic, paint: _Paint) -> str:
    head = paint(_COLOURS[d.severity], f"{d.severity}[{d.code}]")
    lines = [head + paint(_BOLD, f": {escaped(d.message)}")]
    marks = [(d.span, "^", d.why, _COLOURS[d.severity])]
    first = d.span.source.name
    notes = sorted(d.notes, key=lambda n: (n.span.source.name != first, n.span[0].name, n.span[1]))
    marks += [(note.span, "-", note.text, _BLUE) for note in notes]
    width = max(len(str(span.line)) for span, *_ in marks)
    bar = paint(_BLUE, " " * (width + 1) + "|")
    source: Source | None = None
    shown = 0
    for span, sign, text, tint in marks:
        if span.source is not source:
            source, shown = span.source, 0
            arrow = "-->" if span is d.span else ":::"
            where = _file(source)
            if source.text:
                where += f":{span.line}:{span.column}"
            lines.append(f"{' ' * width}{paint(_BLUE, arrow)} {where}")
        if not source.text:
            continue
        if shown != span.line:
            lines.append(bar)
        lines += _snippet(span, sign, text, tint, width, paint, again=shown == span.line)
        shown = span.line
    lead = " " * (width + 1)
    if d.witness:
        lines.append(bar)
    for line in d.witness:
        lines.append(f"{bar} {escaped(line)}".rstrip())
    if d.help:
        first, *more = d.help.split("\n")
        lines.append(f"{lead}{paint(_BLUE, '=')} help: {escaped(first)}")
        lines += [f"{lead}        {escaped(line)}" for line in more]
    return "\n".join(lines)


def _snippet(
    span: Span, sign: str, text: str, tint: str, width: int, paint: _Paint, again: bool
) -> list[str]:
    """Returns a source line and the mark below it; with `again`, the mark alone."""
    number = span.line
    line = span.source.line(number)
    begin = span.column - 1
    length = min(span.end - span.start, max(len(line) - begin, 0))
    shown, before, under = _window(line, begin, max(length, 1))
    mark = " " * before + paint(tint, (sign * under + (f" {escaped(text)}" if text else "")))
    gutter = paint(_BLUE, f"{number:>{width}} |")
    bar = paint(_BLUE, " " * (width + 1) + "|")
    source_line = [] if again else [f"{gutter} {shown}".rstrip()]
    return [*source_line, f"{bar} {mark}"]


def _cell(char: str) -> str:
    if char == "\t":
        return " " * _TAB
    return escaped(char)


def _width(text: str) -> int:
    """Returns the columns that a text takes on a terminal."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    wide = sum(2 if east_asian_width(c) in "WF" else 1 for c in text)
    return wide - sum(category(c) in ("Mn", "Me", "Cf") for c in text)


def _window(line: str, begin: int, length: int) -> tuple[str, int, int]:
    """Returns the visible part of a line, the columns before the mark, and those of the mark."""
    left, right = 0, len(line)
    if right > WINDOW:
        left = max(0, min(begin - WINDOW // 3, right - WINDOW))
        right = left + WINDOW
        length = min(length, max(right - begin, 1))
    head = "... " if left else ""
    tail = " ..." if right < len(line) else ""
    prefix = head + "".join(map(_cell, line[left:begin]))
    marked = "".join(map(_cell, line[begin : begin + length]))
    rest = "".join(map(_cell, line[begin + length : right]))
    return prefix + marked + rest + tail, _width(prefix), max(_width(marked), 1)
