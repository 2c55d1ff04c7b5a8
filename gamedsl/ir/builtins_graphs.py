"""Rows of the table of built-ins: functions of graphs, and of boards whose cells are their nodes.

A board is a grid with `neighbors`, or a map with a value for each node of a declared graph. Typing
appends the graph, an adjacency list (`gamedsl.ir.graphs`); where a function reads no more of its
first argument than that, the graph stands in its place.
"""

from __future__ import annotations

from typing import Any

from gamedsl.ir.builtins_base import (
    COMPUTES,
    TAKES_SOME,
    Arguments,
    Builtin,
    element,
    never,
    no_number,
    one,
    truth,
    unknown_items,
)
from gamedsl.ir.graphs import Adjacency, graph_of, is_connected
from gamedsl.ir.types import (
    BOOL,
    SEAT,
    Bag,
    Grid,
    List,
    PerSeat,
    PerValue,
    Set,
    Type,
    fits,
)


def node_type(graph: Type) -> Type | None:
    """Returns the type of the nodes of a board, or of a graph that is given as the list of its
    nodes; None for any other type."""
    match graph:
        case Grid():
            return graph.cell
        case PerValue(key=key):
            return key
        case PerSeat(partial=False):
            return SEAT
        case List(of=of):
            return of
        case _:  # no other value has nodes
            return None


def _board(type: Type) -> tuple[Type, Type] | None:
    """The types of the nodes of a board and of what it has at each."""
    node = node_type(type)
    if node is None or not isinstance(type, Grid | PerValue | PerSeat):
        return None
    return node, type.of


def _is_group(type: Type, node: Type) -> bool:
    inner = element(type) if isinstance(type, List | Set | Bag) else None
    return inner is not None and fits(inner, node)


def _is_start(type: Type, node: Type) -> bool:
    return fits(type, node) or _is_group(type, node)


def _neighbors_rule(types: tuple[Type, ...]) -> Type | None:
    node = node_type(types[0]) if len(types) == 2 else None
    return List(node) if node is not None and _is_start(types[1], node) else None


def _reachable_rule(types: tuple[Type, ...]) -> Type | None:
    node = node_type(types[0]) if len(types) == 3 else None
    if node is None or not _is_start(types[1], node) or not _is_group(types[2], node):
        return None
    return Set(node)


def _component_rule(types: tuple[Type, ...]) -> Type | None:
    board = _board(types[0]) if len(types) == 2 else None
    return Set(board[0]) if board is not None and fits(types[1], board[0]) else None


def _connected_rule(types: tuple[Type, ...]) -> Type | None:
    board = _board(types[0]) if len(types) > 3 else None
    if board is None or not fits(types[1], board[1]):
        return None
    return BOOL if all(_is_start(group, board[0]) for group in types[2:]) else None


def _neighbors(adjacency: Adjacency, nodes: Any) -> tuple[Any, ...]:
    graph = graph_of(adjacency)
    return graph.listed(graph.adjacent(graph.given(nodes)))


def _reachable(adjacency: Adjacency, start: Any, within: Any) -> frozenset[Any]:
    graph = graph_of(adjacency)
    return frozenset(graph.listed(graph.reachable(graph.given(start), graph.given(within))))


def _component(board: Any, node: Any, adjacency: Adjacency) -> frozenset[Any]:
    graph = graph_of(adjacency)
    held = graph.holding(board, graph.held_at(board, node))
    return frozenset(graph.listed(graph.reachable(1 << graph.place(node), held)))


def _connected(board: Any, value: Any, *groups: Any) -> bool:
    *sought, adjacency = groups
    graph = graph_of(adjacency)
    return is_connected(
        graph.components(graph.holding(board, value)), [graph.given(group) for group in sought]
    )


def _degree(arguments: Arguments) -> int | None:
    """The most neighbors: of one node, as many as any has; of several, as many more."""
    graph, nodes = arguments
    degree, count = graph.item.part(1).size, nodes.size
    if degree is None or count is None:
        return graph.size
    return degree * count if graph.size is None else min(graph.size, degree * count)


def _node_count(arguments: Arguments) -> int | None:
    return arguments[0].size


ROWS = (
    Builtin(
        "neighbors", "function", "neighbors(graph or board, node or nodes)",
        "The nodes that an edge joins to a node, in the order of the nodes. Of several nodes, "
        "those beside them that are not among them: the open neighborhood of a set.",
        ("neighbors(board, (0, 0))", "[(0, 1), (1, 0)]"),
        rule=_neighbors_rule, appended="graph instead", takes_map=True, takes_none=TAKES_SOME,
        types_argument=False, run=_neighbors,
        undefined="by value",
        may_be_none=never, size=_degree, interval=no_number, items=unknown_items,
        ranges_type="never", order="distinct", linear="no",
        narrowed="", flow=COMPUTES, code="neighbors",
    ),
    Builtin(
        "reachable", "function", "reachable(graph or board, node or nodes, nodes)",
        "The set of nodes to which a path leads from a node, or from one of several, along nodes "
        "of the last argument alone, both ends included.",
        ("reachable(board, (0, 0), [(0, 0), (1, 1), (1, 0)])", "set([(0, 0), (1, 0), (1, 1)])"),
        rule=_reachable_rule, appended="graph instead", takes_map=True, takes_none=TAKES_SOME,
        types_argument=False, run=_reachable,
        undefined="by value",
        may_be_none=never, size=_node_count, interval=no_number, items=unknown_items,
        ranges_type="never", order="any", linear="no",
        narrowed="", flow=COMPUTES, code="reachable",
    ),
    Builtin(
        "component", "function", "component(board, node)",
        "The connected component of a node among the nodes that hold what it holds, as a set.",
        ("component(board, (0, 0))", "set([(0, 0), (0, 1)])"),
        rule=_component_rule, appended="graph", takes_map=True, takes_none=TAKES_SOME,
        types_argument=False, run=_component,
        undefined="by value",
        may_be_none=never, size=_node_count, interval=no_number, items=unknown_items,
        ranges_type="never", order="any", linear="no",
        narrowed="", flow=COMPUTES, code="component",
    ),
    Builtin(
        "connected", "function", "connected(board, value, nodes, nodes, ...)",
        "Whether one connected component of the nodes that hold a value has a node in each of the "
        "groups: whether a path of that value joins them.",
        ("connected(board, small, (0, 0), [(0, 1), (1, 1)])", "true"),
        rule=_connected_rule, appended="graph", takes_map=True, takes_none=frozenset({1}),
        types_argument=False, run=_connected,
        undefined="by value",
        may_be_none=never, size=one, interval=truth, items=unknown_items,
        ranges_type="never", order="any", linear="no",
        narrowed="", flow=COMPUTES, code="connected",
    ),
)  # fmt: skip
