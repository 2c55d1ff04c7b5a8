"""Finds the places of names: in sections, in the steps that bind them, and in expressions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from gamedsl.diagnostics.spans import Span
from gamedsl.frontend.source.nodes import Mapping, Node, Scalar, Sequence
from gamedsl.sema.library import KIND_OF

SCHEMAS = Path(__file__).parents[1] / "frontend" / "schema"
DECLARING = ("roles", "params", "types", "state", "data", "let", "actions")
"""Sections whose keys, or whose items, are names."""

Use = Literal["declared", "bound", "key", "word", "field", "argument", "number", "operator"]
"""How a name is written. An `argument` is a key that gives a param to a protocol; a `field` follows
a dot. Numbers and operators of expressions are listed too, for they are coloured."""

_BINDING = frozenset({"choose", "say", "draw", "deal", "as", "gives"})
_STEP = frozenset({"use", "if", "each", "seen_by", "weight"})
_PLAIN = frozenset({"game", "protocol", "reward", "gamedsl", "extends", "about", "rewards"})
"""Keys whose values hold no names of the game."""

_TEXTS = frozenset({"rules", "prompts", "labels"})
_TOKEN = re.compile(
    r"(?P<word>[A-Za-z_]\w*)|(?P<number>\d+(?:\.\d+)?)|(?P<operator>\.\.|\*\*|//|[=!<>]=|[-+*/%<>=])"
)
_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


@dataclass(frozen=True)
class Occurrence:
    """One name, number or operator: its text, how it is written, where, and in which section."""

    text: str
    use: Use
    span: Span
    section: str


def occurrences(root: Mapping) -> list[Occurrence]:
    """Returns the names, numbers and operators of a file, in the order of its text."""
    found = [
        one for entry in root for one in _section(entry.key.text, entry.value)
    ]  # fmt: skip
    return sorted(found, key=lambda one: one.span.start)


def _section(section: str, value: Node) -> Iterator[Occurrence]:
    if section in DECLARING and isinstance(value, Mapping):
        for entry in value:
            yield Occurrence(entry.key.text, "declared", entry.key.span, section)
            yield from _node(entry.value, section, None)
    elif section in DECLARING and isinstance(value, Sequence):
        for item in value:
            if isinstance(item, Scalar):
                yield Occurrence(item.text, "declared", item.span, section)
    elif section not in _PLAIN or (section in KIND_OF and not isinstance(value, Scalar)):
        yield from _node(value, section, None)


def _node(node: Node, section: str, key: str | None) -> Iterator[Occurrence]:
    if isinstance(node, Sequence):
        for item in node:
            yield from _node(item, section, key)
    elif isinstance(node, Mapping):
        used = node.get("use") is not None
        for entry in node:
            name = entry.key.text
            if used and name not in _STEP:
                yield Occurrence(name, "argument", entry.key.span, section)
            elif name not in keywords():
                yield from _words(entry.key, section, "key")
            if name not in {"about", "use", "file"}:
                yield from _node(entry.value, section, name)
    elif isinstance(node.value, str):
        if key in _BINDING and node.text.isidentifier():
            yield Occurrence(node.text, "bound", node.span, section)
        elif section == "train" and not node.text.isidentifier():
            return
        else:
            yield from _words(node, section, "word")


def _words(scalar: Scalar, section: str, use: Use) -> Iterator[Occurrence]:
    pieces = [found.span() for found in _TEMPLATE.finditer(scalar.text)]
    if not pieces and (use == "key" or section not in _TEXTS):
        pieces = [(0, len(scalar.text))]
    for first, last in pieces:
        quoted = [found.span() for found in _QUOTED.finditer(scalar.text, first, last)]
        for found in _TOKEN.finditer(scalar.text, first, last):
            if any(start <= found.start() < end for start, end in quoted):
                continue
            kind: Use = use
            if found.lastgroup in ("number", "operator"):
                kind = "number" if found.lastgroup == "number" else "operator"
            elif scalar.text[: found.start()].rstrip().endswith("."):
                before = scalar.text[: found.start()].rstrip()
                kind = use if before.endswith("..") else "field"
            yield Occurrence(found[0], kind, scalar.locate(*found.span()), section)


@cache
def keywords() -> frozenset[str]:
    """Returns the keys that the schemas know below the sections."""
    schemas = [
        json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
        for name in ("common", "game", "protocol", "reward")
    ]
    return frozenset(key for schema in schemas for key in _properties(schema))


def _properties(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        properties = part.get("properties")
        if isinstance(properties, dict):
            yield from properties
        for value in part.values():
            yield from _properties(value)
    elif isinstance(part, list):
        for value in part:
            yield from _properties(value)
