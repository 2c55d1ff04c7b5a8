"""Edits of a file's structure: entries and items added and deleted where YAML wants them.

Every function takes a place that a problem underlines, and finds the map or list around it in the
tree of its source. Each returns the edits, or none where they cannot be made without a choice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from gamedsl.diagnostics.fixes import Edit, Fix, Help, respell
from gamedsl.diagnostics.model import Problems
from gamedsl.diagnostics.spans import Source, Span
from gamedsl.frontend.source.compose import compose
from gamedsl.frontend.source.cut_expressions import quoted
from gamedsl.frontend.source.nodes import Entry, Mapping, Node, Scalar, Sequence

Edits = tuple[Edit, ...]

_KEPT = 8
"""Sources whose trees are kept: a file's problems come one after another."""


@lru_cache(maxsize=_KEPT)
def _tree(source: Source) -> Node | None:
    return compose(source, Problems())


def nodes_around(span: Span) -> list[Node]:
    """Returns the nodes that hold a place, from the outermost; empty where the text is no YAML."""
    node, found = _tree(span.source), []
    while node is not None:
        found.append(node)
        node = next((child for child in _children(node) if _holds(_extent(child), span)), None)
    return found


def respell_key(key: Span, guess: str | None, otherwise: Help = "") -> Help:
    """Returns the fix of a misspelt key: the key that was meant, or, if the map has that one too,
    to delete this; `otherwise` if none is near."""
    found = _entry_at(key)
    if guess and found is not None and found[0].entry(guess) is not None:
        return Fix(f"`{guess}` is given too: delete one of the two", delete_entry(key))
    return respell(key, guess, otherwise)


def key_of(value: Span) -> Span:
    """Returns the place of the key whose value stands at a place; the place itself where it is the
    value of none."""
    found = _entry_at(value)
    return value if found is None else found[1].key.span


def respell_word(place: Span, word: str, new: str) -> Edits:
    """Returns the edit that respells a word which a place underlines, holds, or is the value of."""
    if place.text == word:
        return (Edit(place, new),)
    found = _entry_at(place)
    if found is not None and found[1].key.text == word:
        return (Edit(found[1].key.span, new),)
    around = nodes_around(place)
    words = [node for node in _leaves(around[-1]) if node.text == word] if around else []
    inside = [node for node in words if _holds(place, node.span)]
    return (Edit(inside[0].span, new),) if len(inside) == 1 else ()


def add_entry(key: Span, text: str) -> Edits:
    """Returns the edit that adds `text` (`name: value`) to the map in which `key` is a key.

    In the outermost map it becomes the last section; in any other it is written before `key`. An
    entry of that name (`name: null`, which deletes) gets the value.
    """
    found = _entry_at(key)
    if found is None:
        return ()
    parent, _ = found
    name, _, value = text.partition(": ")
    if (deleted := parent.entry(name)) is not None:
        return (Edit(_extent(deleted.value), value),)
    if _is_flow(parent):
        return (Edit(Span(key.source, key.start, key.start), f"{text}, "),)
    if parent is _tree(key.source):
        end = len(key.source.text.rstrip())
        rest = key.source.text[end:]
        return (Edit(Span(key.source, end, end + len(rest)), f"\n{text}\n"),)
    indent = " " * (key.column - 1)
    return (Edit(Span(key.source, key.start, key.start), f"{text}\n{indent}"),)


def set_readers(name: Span, readers: str) -> Edits:
    """Returns the edit that declares the state variable whose name stands at `name` with these
    readers; none where that is no name of a map, or of one that is merged from elsewhere."""
    found = _entry_at(name)
    if found is None or found[1].key.span != name:
        return ()
    value = found[1].value
    if not isinstance(value, Mapping):
        start = _extent(value)
        return (Edit(start, f"{{start: {start.text}, seen_by: {readers}}}"),)
    known = value.entry("seen_by")
    if known is not None:
        return (Edit(_extent(known.value), readers),)
    return add_entry(value.entries[0].key.span, f"seen_by: {readers}") if value.entries else ()


def set_step_readers(step: Span, readers: str) -> Edits:
    """Returns the edit that gives a step these readers; none where it has no `seen_by`."""
    maps = [node for node in nodes_around(step) if isinstance(node, Mapping)]
    known = maps[-1].entry("seen_by") if maps else None
    return (Edit(_extent(known.value), readers),) if known is not None else ()


def append_words(text: Span, words: str) -> Edits:
    """Returns the edit that writes words at the end of a text, a scalar without double quotes in
    them; none for a text inside `{}` or `[]` that no quotes enclose."""
    kind, end = text.text[:1], len(text.text.rstrip())
    if kind in ("'", '"'):
        end -= 1
        words = words.replace("'", "''") if kind == "'" else words
    elif any(_is_flow(node) for node in nodes_around(text)):
        return ()
    at = text.start + end
    return (Edit(Span(text.source, at, at), f" {words}"),)


def delete_entry(place: Span) -> Edits:
    """Returns the edit that deletes the entry whose key or value is at this place, with the maps of
    which it is the only one; none where it is all that the file has."""
    found = _entry_at(place)
    if found is None:
        return ()
    parent, entry = found
    if len(parent.entries) == 1:
        return delete_entry(_extent(parent))
    parts = [(each.key.span.start, _end(each.value) or each.key.span.end) for each in parent]
    return _cut(parent, parts, parent.entries.index(entry), place.source)


def delete_unnamed(key: Span) -> Edits:
    """Returns the edit that deletes the entry of a key; none where the word stands anywhere else in
    its file."""
    words = re.findall(rf"\b{re.escape(key.text)}\b", key.source.text)
    return delete_entry(key) if len(words) == 1 else ()


def delete_item(place: Span) -> Edits:
    """Returns the edit that deletes the list item at this place; none where it is the only one."""
    for node in reversed(nodes_around(place)):
        if not isinstance(node, Sequence):
            continue
        for index, item in enumerate(node.items):
            if len(node.items) > 1 and _holds(_extent(item), place):
                parts = [_item_part(each, _is_flow(node)) for each in node]
                return _cut(node, parts, index, place.source)
    return ()


def insert_item(before: Node, text: str) -> Edits:
    """Returns the edit that writes an item before another one of a list."""
    span = _extent(before)
    dash, _ = _item_part(before, False)
    if dash == span.start:
        return (Edit(Span(span.source, span.start, span.start), f"{text}, "),)
    column = span.source.position(dash)[1]
    return (Edit(Span(span.source, dash, dash), f"- {text}\n{' ' * (column - 1)}"),)


def step_before(place: Span, step: str) -> Edits:
    """Returns the edits that write a step before the innermost one that holds a place; in the `do:`
    of an action, which becomes `turns:`; none where the place is in neither."""
    around = nodes_around(place)
    for node in reversed(around):
        turns = node.get("turns") if isinstance(node, Mapping) else None
        for item in turns.items if isinstance(turns, Sequence) else ():
            if _holds(_extent(item), place):
                return insert_item(item, step)
    for node in reversed(around):
        done = node.entry("do") if isinstance(node, Mapping) else None
        if done is not None and _holds(_extent(done.value), place):
            return _as_turns(done, step)
    return ()


def first_decision_before(source: Source, step: str) -> Edits:
    """Returns the edit that writes a step before the first of a game that is more than a draw or a
    statement."""
    root = _tree(source)
    turns = root.get("turns") if isinstance(root, Mapping) else None
    for item in turns.items if isinstance(turns, Sequence) else ():
        if not isinstance(item, Mapping) or not any(map(item.get, ("draw", "deal", "do"))):
            return insert_item(item, step)
    return ()


def _as_turns(done: Entry, step: str) -> Edits:
    """Returns the edits that make `turns:` of a `do:`, with a step before its statements."""
    span, text = _extent(done.value), done.value.span.text
    plain = text[:1] not in ("'", '"')
    wrapped = quoted(text) if plain and any(char in text for char in ",[]{}") else text
    return (Edit(done.key.span, "turns"), Edit(span, f"[{step}, {{do: {wrapped}}}]"))


def _cut(
    parent: Mapping | Sequence, parts: list[tuple[int, int]], index: int, source: Source
) -> Edits:
    """Returns the edit that takes out one of a collection's parts (start, end): whole lines where
    it has them to itself, else as far as the next part, or from the end of the last."""
    start, end = parts[index]
    text = source.text
    line = text.rfind("\n", 0, start) + 1
    newline = text.find("\n", end)
    rest = text[end : newline if newline >= 0 else len(text)]
    if not _is_flow(parent) and not text[line:start].strip() and rest.strip()[:1] in ("", "#"):
        return (Edit(Span(source, line, newline + 1 if newline >= 0 else len(text)), ""),)
    if index + 1 < len(parts):
        return (Edit(Span(source, start, parts[index + 1][0]), ""),)
    return (Edit(Span(source, parts[index - 1][1], end), ""),)


def _item_part(item: Node, flow: bool) -> tuple[int, int]:
    """Returns the start (in a block, at the dash) and the end of an item."""
    span, text = _extent(item), item.span.source.text
    line = text.rfind("\n", 0, span.start) + 1
    before = text[line : span.start]
    dash = span.start if flow or before.strip(" -") else line + before.rfind("-")
    return (dash if "-" in before and dash >= line else span.start), span.end


def _entry_at(place: Span) -> tuple[Mapping, Entry] | None:
    for node in reversed(nodes_around(place)):
        if not isinstance(node, Mapping):
            continue
        for entry in node.entries:
            if place in (entry.key.span, entry.value.span, _extent(entry.value)):
                return node, entry
    return None


def _is_flow(node: Node) -> bool:
    return node.span.text[:1] in ("{", "[")


def _children(node: Node) -> Iterator[Node]:
    match node:
        case Scalar():
            return
        case Sequence():
            yield from node.items
        case Mapping():
            for entry in node.entries:
                yield entry.key
                yield entry.value


def _leaves(node: Node) -> Iterator[Scalar]:
    if isinstance(node, Scalar):
        yield node
    for child in _children(node):
        yield from _leaves(child)


def _extent(node: Node) -> Span:
    """Returns where a node is written; a block's span may reach over the lines after it."""
    return Span(node.span.source, node.span.start, _end(node) or node.span.end)


def _end(node: Node) -> int:
    if isinstance(node, Scalar) or _is_flow(node):
        return node.span.end
    return max((_end(child) for child in _children(node)), default=node.span.end)


def _holds(outer: Span, inner: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end
