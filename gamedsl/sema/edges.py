"""Edges of declared graphs: `neighbors:` of a type of cells, `edges:` of any type of nodes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gamedsl.frontend.source.nodes import Mapping, Node, Scalar, Sequence
from gamedsl.ir.graphs import MAX_NODES, graph_of_edges, grid_graph
from gamedsl.ir.types import List, PerValue
from gamedsl.ir.values import name_of
from gamedsl.sema.scope import TypeName
from gamedsl.sema.typer import Typer
from gamedsl.sema.values import constant

MAX_EDGES = 100_000
"""Edges of a graph."""


def with_graph(nodes: TypeName, node: Mapping, typer: Typer) -> TypeName | None:
    """Returns the type of the nodes of a graph with the edges that its declaration gives, by
    `neighbors` or `edges`; None (and a diagnostic) if these are wrong."""
    shape, edges = node.get("neighbors"), node.get("edges")
    problems = typer.problems
    if edges is not None and shape is not None:
        problems.add(
            "GD0335", "the neighbors of these cells are given twice", edges.span,
            why="`neighbors` says which they are", help="delete one of the two lines",
        )  # fmt: skip
        return None
    if edges is None and shape is None:
        return nodes
    if not nodes.choices:
        problems.add(
            "GD0335", "the nodes of this graph cannot be listed", node.span,
            why=f"at most {MAX_NODES:,} values are listed, and this is {nodes.type}",
            help="give their names, or a range such as `1..24`",
        )  # fmt: skip
        return None
    values = tuple(value for _, value in nodes.choices)
    if edges is None:
        rows, columns = (1 + last for last in values[-1])
        name = shape.text if isinstance(shape, Scalar) else ""
        return replace(nodes, graph=grid_graph(rows, columns, name))
    pairs = _pairs(edges, nodes, typer)
    return None if pairs is None else replace(nodes, graph=graph_of_edges(values, pairs))


def _pairs(edges: Node, nodes: TypeName, typer: Typer) -> list[tuple[Any, Any]] | None:
    """Reads a list of pairs of nodes, or a map of nodes to those beside them."""
    found = constant(edges, typer, List(List(nodes.type, 2)))
    if found is None:
        return None
    pairs, problems = found[1], typer.problems
    if isinstance(found[2], PerValue) and isinstance(found[2].of, List):
        pairs = tuple((node, other) for node, near in pairs.items() for other in near)
    written = edges.items if isinstance(edges, Sequence) else ()
    known = {value for _, value in nodes.choices}
    for place, pair in enumerate(pairs if isinstance(pairs, tuple) else ()):
        why = _wrong_pair(pair, known)
        if why:
            span = written[place].span if place < len(written) else edges.span
            problems.add(
                "GD0335", "an edge is a pair of two different nodes", span, why=why,
                help="write it as `[one, other]`",
            )  # fmt: skip
            return None
    if not isinstance(pairs, tuple) or len(pairs) > MAX_EDGES:
        problems.add(
            "GD0335", f"edges are a list of at most {MAX_EDGES:,} pairs of nodes", edges.span,
            why=f"this is {found[2]}",
            help="write it as `[[a, b], [b, c]]`, or as a map in a param",
        )  # fmt: skip
        return None
    return list(pairs)


def _wrong_pair(pair: Any, nodes: set[Any]) -> str:
    if not isinstance(pair, tuple) or len(pair) != 2:
        return f"this is `{name_of(pair)}`"
    for node in pair:
        if node not in nodes:
            return f"`{name_of(node)}` is no node"
    return "both are one node" if pair[0] == pair[1] else ""
