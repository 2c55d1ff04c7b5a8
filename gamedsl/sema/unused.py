"""What a game declares and nothing uses: no error, but often a slip, and told as a warning."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.frontend.source.nodes import Entry, Mapping, Node, Sequence
from gamedsl.sema.step_context import StepContext

_WORD = re.compile(r"(?<!\w)(?<!(?<!\.)\.)[A-Za-z_]\w*")
"""A name, and none behind a point: `rank` of `card.rank` is a field, but `n` of `1..n` a name."""


def actions_are_offered(root: Mapping, context: StepContext, problems: Problems) -> None:
    """GD0451: actions that no step offers. Told where nothing else is wrong."""
    section = root.entry("actions")
    if section is None or problems.errors:
        return
    unread = [section.key] if not context.program.offers_actions else []
    declared = context.declared_actions
    if declared is not None:
        unread = [entry.key for entry in declared.section if entry.key.text not in declared.read]
    for key in unread:
        problems.add(
            "GD0451",
            f"no step offers `{key.text}`"
            if declared is not None
            else "no step offers these actions",
            key.span,
            why="not in any `from:`",
            help="write `from: actions`, or delete this",
            severity="warning",
        )


def params_are_read(root: Mapping, problems: Problems) -> None:
    """GD0452: a param whose name stands nowhere else in the file, as a misspelt one of a base."""
    section = root.get("params")
    if not isinstance(section, Mapping) or problems.errors:
        return
    about = root.get("about")
    read = set(_words(root, section, *([about] if about is not None else [])))
    known = [entry.key.text for entry in section]
    for entry in section:
        name = entry.key.text
        others = {word for other in section if other is not entry for word in _words(other.value)}
        if name in read | others:
            continue
        guess = did_you_mean(name, [other for other in known if other != name])
        place = section.entry(guess) if guess else None
        problems.add(
            "GD0452",
            f"nothing reads the param `{name}`",
            entry.key.span,
            why="its name stands nowhere else",
            notes=(Note(place.key.span, "declared here"),) if place else (),
            help=f"did you mean `{guess}`?" if guess else "delete it",
            severity="warning",
        )


def _words(node: Node, *without: Node) -> Iterator[str]:
    """The names in all texts of a tree, but for those in some parts of it. A key reads nothing."""
    if any(node is part for part in without):
        return
    if isinstance(node, Mapping | Sequence):
        for part in node:
            yield from _words(part.value if isinstance(part, Entry) else part, *without)
    else:
        yield from _WORD.findall(node.text)
