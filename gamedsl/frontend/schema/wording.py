"""Words for values: how messages about shape call what they found, and what to paste instead."""

from __future__ import annotations

import json
from typing import Any

from gamedsl.frontend.source.nodes import Mapping, Node, Scalar, Sequence

_SAMPLES = {
    "roles": "[first, second]",
    "payoffs": "<expression>",
    "turns": "[{role: all, choose: move, from: actions}]",
    "of": "0..5",
    "value": "1",
    "fields": "{side: [left, right]}",
    "role": "all",
    "default": "1",
}


def describe(node: Node) -> str:
    """A node's type, and its value where it is short."""
    if isinstance(node, Mapping):
        return "a map" if node.entries else "an empty map"
    if isinstance(node, Sequence):
        return "a list" if node.items else "an empty list"
    value = node.value
    if value is None:
        return "`null`"
    if isinstance(value, bool):
        return f"the truth value `{node.text}`"
    if isinstance(value, str):
        short = len(value) <= 30 and "\n" not in value
        return f"the text `{value}`" if short else "a text"
    return f"the number {node.text}" if len(node.text) <= 30 else "a number"


def listed(words: list[str]) -> str:
    """`a`, `b` or `c`."""
    marked = [f"`{word}`" for word in words]
    return marked[0] if len(marked) == 1 else ", ".join(marked[:-1]) + " or " + marked[-1]


def sample(name: str, part: dict[str, Any]) -> str:
    """A value to paste for a key: ours, else the schema's first example."""
    if name in _SAMPLES:
        return _SAMPLES[name]
    examples = part.get("examples")
    if not examples:
        return "<value>"
    return examples[0] if isinstance(examples[0], str) else json.dumps(examples[0])


def yaml_text(node: Node) -> str:
    """A node as it was written."""
    return node.text if isinstance(node, Scalar) else node.span.text
