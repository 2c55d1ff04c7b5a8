"""The extensive form in a terminal: an indented tree, and what each information set has seen.

Branches that are the same in everything below share one line.
"""

from __future__ import annotations

from collections.abc import Iterator

from gamedsl.view.game.extensive import Drawn, Node
from gamedsl.view.game.figure import Run
from gamedsl.view.game.metrics import cut, exact
from gamedsl.view.game.paint import Line, columns, padded, role
from gamedsl.view.game.tree_picture import described
from gamedsl.view.game.tree_shape import paid, rest

ASKED = 36
"""Letters of what is asked at an information set."""


def tree_text(drawn: Drawn, name: str) -> Iterator[Line]:
    """The lines of a tree."""
    yield [Run(name, "strong"), Run(f" · {described(drawn)}", "soft")]
    yield [*_here(drawn, drawn.root)]
    yield from _below(drawn, drawn.root, "")
    if drawn.info:
        yield []
        yield from _sets(drawn)
    if drawn.joined:
        yield [Run("draws in a row are shown as one", "soft")]


def _below(drawn: Drawn, node: Node, indent: str) -> Iterator[Line]:
    groups = _alike(node.children)
    for number, group in enumerate(groups):
        last, first = number == len(groups) - 1, group[0]
        head = Run(indent + ("└─ " if last else "├─ "), "soft")
        if first.kind == "more":
            yield [head, Run(rest(first), "soft")]
            continue
        yield [head, *_edge(group), *_here(drawn, first)]
        yield from _below(drawn, first, indent + ("   " if last else "│  "))


def _edge(group: list[Node]) -> list[Run]:
    """What leads to a group of branches: actions, or outcomes and how likely they are together."""
    names = " | ".join(node.edge or "…" for node in group)
    odds = [node.odds for node in group if node.odds is not None]
    runs = [Run(f"{names} ")]
    if odds:
        each = " each" if len(odds) > 1 and len(set(odds)) == 1 else ""
        told = exact(odds[0]) if len(set(odds)) == 1 else exact(sum(odds))
        runs.append(Run(f"{told}{each} ", "soft"))
    return runs


def _here(drawn: Drawn, node: Node) -> list[Run]:
    """What there is at a node."""
    if node.kind == "end":
        return [Run(f" {paid(node)}")]
    if node.kind == "chance":
        runs = [Run("○ ", "soft"), Run(node.step, "soft")]
    else:
        seat = drawn.seats[node.seat]
        runs = [Run("● ", role(node.seat)), Run(seat, role(node.seat)),
                Run(f" [{drawn.numbers[node.info]}]", "soft")]  # fmt: skip
    return runs if node.beyond == 0 else [*runs, Run(f" {rest(node)}", "soft")]


def _alike(nodes: list[Node]) -> list[list[Node]]:
    """Neighbours in groups of those that are the same but for the way to them."""
    groups: list[list[Node]] = []
    for node in nodes:
        if groups and node.kind != "more" and _signature(groups[-1][0]) == _signature(node):
            groups[-1].append(node)
        else:
            groups.append([node])
    return groups


def _signature(node: Node) -> tuple[object, ...]:
    return tuple(
        (one.kind, one.info, one.step, one.payoffs, one.beyond, len(one.children))
        + ((one.edge, one.odds) if one is not node else ())
        for one in node.walk()
    )


def _sets(drawn: Drawn) -> Iterator[Line]:
    """Each information set: its number, whose it is, what it is asked, what it has seen or
    knows."""
    members: dict[int, int] = {}
    for node in drawn.root.walk():
        if node.info >= 0:
            members[node.info] = members.get(node.info, 0) + 1
    yield [Run("information sets", "strong"), Run(" (histories)", "soft")]
    asked = {i: cut(f"{s.step}: {', '.join(s.actions)}", ASKED) for i, s in enumerate(drawn.info)}
    wide = max(len(drawn.seats[one.seat]) for one in drawn.info)
    most = max(map(columns, asked.values()))
    order = sorted(range(len(drawn.info)), key=lambda i: (drawn.info[i].seat, drawn.numbers[i]))
    for info in order:
        one = drawn.info[info]
        yield [
            Run("  "),
            Run(padded(drawn.seats[one.seat], wide), role(one.seat)),
            Run(f" {f'[{drawn.numbers[info]}]':<5}", "soft"),
            Run(f"{members.get(info, 0):>3}  ", "soft"),
            Run(padded(asked[info], most)),
            Run(f"  {one.told}", "soft"),
        ]
