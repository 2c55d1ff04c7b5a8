"""The extensive form in a terminal: an indented tree, and what each information set has seen.

Branches that are the same in everything below share one line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from gamedsl.tables.model import Cell, Column, Table, TextRun, series
from gamedsl.tables.numbers import exact
from gamedsl.tables.text import Line, table_lines
from gamedsl.view.game.extensive import DrawnNode, DrawnTree
from gamedsl.view.game.tree_picture import described
from gamedsl.view.game.tree_shape import cut_text, payoff_text

ASKED = 36
"""Letters of the question at an information set."""


def tree_lines(drawn: DrawnTree, name: str) -> Iterator[Line]:
    """The lines of a tree."""
    yield [TextRun(name, "strong"), TextRun(f" · {described(drawn)}", "soft")]
    yield [*_node_runs(drawn, drawn.root)]
    yield from _branch_lines(drawn, drawn.root, "")
    if drawn.info:
        yield []
        yield from _sets(drawn)
    if drawn.joined:
        yield [TextRun("draws in a row are shown as one", "soft")]


def _branch_lines(drawn: DrawnTree, node: DrawnNode, indent: str) -> Iterator[Line]:
    groups = _equal_groups(node.children)
    for number, group in enumerate(groups):
        last, first = number == len(groups) - 1, group[0]
        head = TextRun(indent + ("└─ " if last else "├─ "), "soft")
        if first.kind == "more":
            yield [head, TextRun(cut_text(first), "soft")]
            continue
        yield [head, *_edge_runs(group), *_node_runs(drawn, first)]
        yield from _branch_lines(drawn, first, indent + ("   " if last else "│  "))


def _edge_runs(group: list[DrawnNode]) -> list[TextRun]:
    """The text that leads to a group of branches: actions, or outcomes with their joint
    probability."""
    names = " | ".join(node.edge or "…" for node in group)
    odds = [node.odds for node in group if node.odds is not None]
    runs = [TextRun(f"{names} ")]
    if odds:
        each = " each" if len(odds) > 1 and len(set(odds)) == 1 else ""
        chance = exact(odds[0]) if len(set(odds)) == 1 else exact(sum(odds))
        runs.append(TextRun(f"{chance}{each} ", "soft"))
    return runs


def _node_runs(drawn: DrawnTree, node: DrawnNode) -> list[TextRun]:
    """The text at a node."""
    if node.kind == "end":
        return [TextRun(f" {payoff_text(node)}")]
    if node.kind == "chance":
        runs = [TextRun("○ ", "soft"), TextRun(node.step, "soft")]
    else:
        seat = drawn.seats[node.seat]
        runs = [TextRun("● ", series(node.seat)), TextRun(seat, series(node.seat)),
                TextRun(f" [{drawn.numbers[node.info]}]", "soft")]  # fmt: skip
    return runs if node.beyond == 0 else [*runs, TextRun(f" {cut_text(node)}", "soft")]


def _equal_groups(nodes: list[DrawnNode]) -> list[list[DrawnNode]]:
    """Neighbours in groups of those that are the same but for the way to them."""
    groups: list[list[DrawnNode]] = []
    for node in nodes:
        if groups and node.kind != "more" and _signature(groups[-1][0]) == _signature(node):
            groups[-1].append(node)
        else:
            groups.append([node])
    return groups


def _signature(node: DrawnNode) -> tuple[object, ...]:
    return tuple(
        (one.kind, one.info, one.step, one.payoffs, one.beyond, len(one.children))
        + ((one.edge, one.odds) if one is not node else ())
        for one in node.walk()
    )


def _few(actions: Sequence[str]) -> str:
    """The first actions, as many as fit in `ASKED` columns, and how many more there are."""
    shown = list(actions)
    while len(shown) > 1 and len(", ".join(shown)) > ASKED:
        shown.pop()
    rest = len(actions) - len(shown)
    return ", ".join(shown) + (f" and {rest:,} more" if rest else "")


def _sets(drawn: DrawnTree) -> Iterator[Line]:
    """A table of the information sets: seat, number, histories, question, knowledge."""
    members = Counter(node.info for node in drawn.root.walk())
    yield [TextRun("information sets", "strong"), TextRun(" (histories)", "soft")]
    order = sorted(range(len(drawn.info)), key=lambda i: (drawn.info[i].seat, drawn.numbers[i]))
    rows = []
    for number in order:
        info = drawn.info[number]
        rows.append(
            (
                Cell(drawn.seats[info.seat], series(info.seat)),
                f"[{drawn.numbers[number]}]",
                str(members[number]),
                f"{info.step}: {_few(info.actions)}",
                info.knowledge,
            )
        )
    columns = (
        Column(),
        Column(style="soft"),
        Column(align="right", style="soft"),
        Column(),
        Column(style="soft"),
    )
    yield from table_lines(Table(columns, rows), indent=2)
