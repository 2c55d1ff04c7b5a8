"""Undirected graphs as values, the neighborhoods of grids, and connected components.

A graph is an adjacency list, a plain value of the language: a pair (node, its neighbors) for each
node, both in the order of the nodes. Inside, a set of nodes is a whole number whose bit `i` stands
for node `i`, so that a component grows by a few operations on numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import product
from typing import Any

from gamedsl.ir.builtins_base import UndefinedError, values
from gamedsl.ir.values import name_of

Adjacency = tuple[tuple[Any, tuple[Any, ...]], ...]

MAX_NODES = 4096
"""Nodes of a graph."""

NodeSet = int
"""Bit `i` says whether node `i` is in it."""

_SQUARE = ((-1, 0), (0, -1), (0, 1), (1, 0))

_STEPS: Mapping[str, tuple[tuple[int, int], ...]] = {
    "square": _SQUARE,
    "king": (*_SQUARE, (-1, -1), (-1, 1), (1, -1), (1, 1)),
    "hex": ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0)),
    "torus": _SQUARE,
}
"""The steps (rows, columns) from a cell to its neighbors. `torus` goes on at the opposite edge. In
a `hex` grid each row is shifted by half a cell to the right of the row above it (axial coordinates:
a rhombus, the board of Hex)."""


@lru_cache(maxsize=64)
def grid_graph(rows: int, columns: int, neighborhood: str) -> Adjacency:
    """Returns the graph of the cells of a grid, row by row."""
    found = []
    for row, column in product(range(rows), range(columns)):
        near = [(row + down, column + right) for down, right in _STEPS[neighborhood]]
        if neighborhood == "torus":
            near = [(r % rows, c % columns) for r, c in near]
        inside = {(r, c) for r, c in near if 0 <= r < rows and 0 <= c < columns}
        found.append(((row, column), tuple(sorted(inside - {(row, column)}))))
    return tuple(found)


@lru_cache(maxsize=64)
def grid_shape(adjacency: Adjacency) -> str | None:
    """Returns the neighborhood of a grid whose graph this is; None for any other graph."""
    last = adjacency[-1][0] if adjacency else None
    if not (isinstance(last, tuple) and len(last) == 2 and all(type(n) is int for n in last)):
        return None
    rows, columns = last[0] + 1, last[1] + 1
    if len(adjacency) != rows * columns:
        return None
    shapes = (shape for shape in _STEPS if grid_graph(rows, columns, shape) == adjacency)
    return next(shapes, None)


def graph_of_edges(nodes: tuple[Any, ...], edges: Iterable[tuple[Any, Any]]) -> Adjacency:
    """Returns the graph with these nodes and undirected edges between them."""
    near: dict[Any, set[Any]] = {node: set() for node in nodes}
    for one, other in edges:
        near[one].add(other)
        near[other].add(one)
    return tuple((node, tuple(each for each in nodes if each in near[node])) for node in nodes)


class Graph:
    """An adjacency list, with the places of its nodes and the node sets of their neighbors."""

    def __init__(self, adjacency: Adjacency) -> None:
        self.neighbors = dict(adjacency)
        self.nodes = tuple(self.neighbors)
        self.places = {node: place for place, node in enumerate(self.nodes)}
        self.near: tuple[NodeSet, ...] = tuple(map(self.node_set, self.neighbors.values()))

    def place(self, node: Any) -> int:
        """Returns the place of a node. Raises UndefinedError for what is no node."""
        found = self.places.get(node)
        if found is None:
            raise UndefinedError(f"there is no node {name_of(node)}")
        return found

    def node_set(self, nodes: Iterable[Any]) -> NodeSet:
        """Returns the set of these nodes. Raises UndefinedError if one is no node."""
        found = 0
        for node in nodes:
            found |= 1 << self.place(node)
        return found

    def given(self, nodes: Any) -> NodeSet:
        """Returns the set of one node, or of the nodes of a collection."""
        several = isinstance(nodes, frozenset | dict)
        if isinstance(nodes, tuple) and nodes not in self.places:  # a list, or a cell outside
            several = not nodes or any(node in self.places for node in nodes)
        return self.node_set(values(nodes)) if several else 1 << self.place(nodes)

    def listed(self, nodes: NodeSet) -> tuple[Any, ...]:
        """Returns the nodes of a set, in their order."""
        return tuple(node for place, node in enumerate(self.nodes) if nodes >> place & 1)

    def adjacent(self, nodes: NodeSet) -> NodeSet:
        """Returns the open neighborhood of a set: the nodes beside it that are not in it."""
        found, left = 0, nodes
        while left:
            lowest = left & -left
            left ^= lowest
            found |= self.near[lowest.bit_length() - 1]
        return found & ~nodes

    def reachable(self, start: NodeSet, within: NodeSet) -> NodeSet:
        """Returns the nodes to which paths lead from `start`, all of whose nodes are in `within`:
        graph search from all of `start` at once."""
        reached = frontier = start & within
        while frontier:
            lowest = frontier & -frontier
            new = self.near[lowest.bit_length() - 1] & within & ~reached
            reached |= new
            frontier ^= lowest | new
        return reached

    def holding(self, board: Any, value: Any) -> NodeSet:
        """Returns the nodes at which a board, a grid or a map over the nodes, has a value."""
        cells = board if isinstance(board, tuple) else map(board.get, self.nodes)
        return sum(1 << place for place, held in enumerate(cells) if held == value)

    def held_at(self, board: Any, node: Any) -> Any:
        """Returns the value of a board at a node."""
        return board[self.place(node)] if isinstance(board, tuple) else board.get(node)

    def components(self, nodes: NodeSet) -> tuple[NodeSet, ...]:
        """Returns the connected components of the subgraph that a set of nodes induces."""
        found = []
        while nodes:
            found.append(self.reachable(nodes & -nodes, nodes))
            nodes &= ~found[-1]
        return tuple(found)


@lru_cache(maxsize=64)
def graph_of(adjacency: Adjacency) -> Graph:
    """Returns the graph of an adjacency list, made once."""
    return Graph(adjacency)


def is_connected(components: Iterable[NodeSet], groups: Iterable[NodeSet]) -> bool:
    """Returns whether one of the components has a node in each of the groups."""
    groups = tuple(groups)
    return any(all(component & group for group in groups) for component in components)
