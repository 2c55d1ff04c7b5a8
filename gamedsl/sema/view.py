"""The `view` of a game: what prompts tell a seat of the play, in place of all that it has seen."""

from __future__ import annotations

from collections.abc import Iterator

from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.spans import Span
from gamedsl.frontend.source.nodes import Mapping, Node, Scalar, Sequence
from gamedsl.ir.program import Entry
from gamedsl.sema.narrow import Facts
from gamedsl.sema.roles import unknown_role
from gamedsl.sema.typer import Typer
from gamedsl.sema.values import syntax

Views = tuple[tuple[str, tuple[Entry, ...]], ...]


def read_view(node: Node | None, typer: Typer, problems: Problems) -> Views:
    """The view of each seat that has one, in seat order; a role that is not named has none."""
    names = typer.names
    if isinstance(node, Sequence | Scalar):
        entries = read_entries(node, typer, problems)
        return tuple((seat, entries) for seat in names.seats)
    found: dict[str, tuple[Entry, ...]] = {}
    for part in node if isinstance(node, Mapping) else ():
        name = part.key.text
        seats = names.seats_of(name)
        if not seats:
            unknown_role(name, part.key.span, names, problems)
        taken = [seat for seat in seats if seat in found]
        if taken:
            problems.add(
                "GD0319", f"the view of `{taken[0]}` is given twice", part.key.span,
                why="the second time",
                help=f"give it under `{name}`, or for each seat of it, not both",
            )  # fmt: skip
        found.update(dict.fromkeys(seats, read_entries(part.value, typer, problems)))
    return tuple((seat, found[seat]) for seat in names.seats if seat in found)


def read_entries(
    node: Node, typer: Typer, problems: Problems, where: str = "in this view",
    facts: Facts = frozenset(),
) -> tuple[Entry, ...]:  # fmt: skip
    """The entries of one list, or the only one; each has a name of its own. `facts` is what is
    known not to be none."""
    found: list[Entry] = []
    places: dict[str, Span] = {}
    for title, expression in _written(node):
        tree = syntax(expression, problems)
        if tree is None:
            continue
        text = " ".join(expression.text.split())
        span = title.span if title else expression.span
        entry = Entry(
            title.text if title else "", text, typer.expression(tree, me=True, facts=facts), span
        )
        first = places.setdefault(entry.name, span)
        if first is not span:
            problems.add(
                "GD0319", f"`{entry.name}` stands twice {where}", span,
                why="the second time", notes=(Note(first, "the first time"),),
                help=f"give it another title: `{{a title: {text}}}`, or delete one of the two",
            )  # fmt: skip
            continue
        found.append(entry)
    return tuple(found)


def _written(node: Node) -> Iterator[tuple[Scalar | None, Scalar]]:
    """The expressions of a list in order, each with its title, if it has one."""
    for item in node.items if isinstance(node, Sequence) else (node,):
        if isinstance(item, Scalar):
            yield None, item
        elif isinstance(item, Mapping):
            yield from ((e.key, e.value) for e in item if isinstance(e.value, Scalar))
