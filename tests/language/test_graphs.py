"""Graphs and connectivity: built-ins against plain search, and games that stand on them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gamedsl
from gamedsl.engine.codegen.module import write_game
from gamedsl.ir.builtins import BUILTINS, UndefinedError
from gamedsl.ir.graphs import Adjacency, graph_of_edges, grid_graph
from gamedsl.ir.types import SEAT, Grid, Option
from gamedsl.prompting.value_text import Words, as_text

GO = """\
game: capture_go
about: Stones without liberties are captured; the first to capture wins.
roles: [black, white]
params: {size: 3}
state:
  board: {grid: [size, size], of: role or none, neighbors: square}
  captured: {per: role, start: 0}
let:
  is_dead(c): "not any(board[n] == none for n in neighbors(board, component(board, c)))"
turns:
  - each: cycle(roles)
    at_most: {n: 20, then: end}
    turns:
      - {choose: cell, from: empty(board)}
      - do: board[cell] = me
      - do: captured.me = len([c for c in cells(board) if board[c] == other and is_dead(c)])
end: max(captured) > 0 or full(board)
payoffs: sign(captured.me - captured.other)
"""

Y = """\
game: game_of_y
about: A chain that touches all three sides wins.
roles: [x, o]
types:
  Point:
    nodes: [top, left, right, low_left, low, low_right]
    edges: [[top, left], [top, right], [left, right], [left, low_left], [left, low], [right, low],
      [right, low_right], [low_left, low], [low, low_right]]
state: {stone: {per: Point, of: role or none}}
let:
  sides: "[[top, left, low_left], [top, right, low_right], [low_left, low, low_right]]"
  wins(r): "connected(stone, r, sides[0], sides[1], sides[2])"
turns:
  - each: cycle(roles)
    at_most: 6
    turns:
      - {choose: point, from: "[p for p in Point if stone[p] == none]"}
      - do: stone[point] = me
end: wins(x) or wins(o)
payoffs: 1 if wins(me) else -1
claims: zero_sum
"""

MAP = """\
game: cops_and_robber
about: A cop moves along roads until it meets the robber.
roles: [cop, robber]
params: {nights: 4}
types:
  Town:
    nodes: [mill, harbor, market, ford, abbey]
    edges: [[mill, harbor], [harbor, market], [market, ford], [ford, abbey]]
state:
  at: {per: role, of: Town, start: mill}
  held: {per: Town, of: role or none}
let:
  free: "[t for t in Town if held[t] == none]"
turns:
  - do: at.robber = abbey
  - each: cycle(roles)
    at_most: {n: nights, then: end}
    turns:
      - {choose: to, from: "neighbors(Town, at.me)"}
      - do: at.me = to; held[to] = me
end: at.cop == at.robber
payoffs:
  cop: size(reachable(Town, at.cop, [at.cop, market, ford]))
  robber: size(component(held, at.robber)) + size(neighbors(held, free))
"""

RING = """\
game: ring
about: Whoever sits beside the guard is paid.
roles: {player: 4}
types:
  Ring: {nodes: role, edges: "[[player_1, player_2], [player_2, player_3], [player_3, player_4]]"}
  Cell: {cell: [2, 3], neighbors: torus}
  Knight: {cell: [2, 3], edges: [[[0, 0], [1, 2]], [[0, 2], [1, 0]]]}
  Number: {nodes: 1..4, edges: "[[i, i + 1] for i in 1..3]"}
turns:
  - {draw: guard, from: roles, seen_by: all}
  - {draw: cell, from: Cell, seen_by: all}
  - {draw: number, from: Number, seen_by: all}
  - {role: all, choose: go, from: [on]}
payoffs: |
  (1 if me in neighbors(Ring, guard) else 0) + 10 * size(neighbors(Cell, cell))
  + 100 * size(neighbors(Knight, cell)) + 1000 * size(neighbors(Number, number))
"""


def load(folder: Path, text: str) -> gamedsl.Game:
    path = folder / f"{text.split()[1]}.yaml"
    path.write_text(text, encoding="utf-8")
    return gamedsl.load(path)


def plays(game: gamedsl.Game, backend: str, count: int) -> Iterator[tuple[Any, ...]]:
    """Yields the ends of seeded random plays, and how many options there were on the way."""
    random = Random(0)
    for _ in range(count):
        state, counts = game.kernel(backend).start(), []
        while state.kind != "end":
            if state.kind == "chance":
                state.apply(state.sample(random.random))
            else:
                counts.append(state.counts)
                state.apply(*[random.randrange(count) for count in state.counts])
        yield tuple(counts), dict(state.payoffs)


@pytest.mark.parametrize("text", [GO, Y, MAP, RING], ids=lambda text: text.split()[1])
def test_backends_agree_on_games_of_graphs(text: str, tmp_path: Path) -> None:
    game = load(tmp_path, text)
    assert game.kernel("generated").written
    found = list(plays(game, "generated", 60))
    assert found == list(plays(game, "interpreter", 60))
    assert len({str(end) for end in found}) > 1


def test_tabulated_kernel_agrees_on_a_graph(tmp_path: Path) -> None:
    game = load(tmp_path, Y)
    assert list(plays(game, "tabulated", 40)) == list(plays(game, "interpreter", 40))


def test_components_are_kept_beside_a_grid(tmp_path: Path) -> None:
    """Removing a stone discards them; the answer stays that of a search."""
    text = """\
game: stones
roles: [x, o]
state:
  board: {grid: [3, 3], of: role or none, neighbors: hex}
turns:
  - each: cycle(roles)
    at_most: {n: 12, then: end}
    turns:
      - {choose: cell, from: cells(board)}
      - do: board[cell] = none if board[cell] == me else me
      - {show: "size(component(board, (1, 1)))", as: wide, seen_by: all}
      - {show: "connected(board, me, (0, 0), (2, 2), [(1, 0), (1, 1)])", as: joined, seen_by: all}
      - {pay: payoffs, value: wide + (10 if joined else 0)}
payoffs: 0
"""
    game = load(tmp_path, text)
    assert "linked(" in write_game(game.ir)
    assert list(plays(game, "generated", 60)) == list(plays(game, "interpreter", 60))


def test_empty_cells_are_kept_beside_a_grid(tmp_path: Path) -> None:
    """Emptying a cell discards their list; they stay the options that a search of the grid finds,
    beside those of another action too."""
    text = """\
game: fill
roles: [x, o]
state:
  board: {grid: [5, 6], of: role or none}
  back: {grid: [6, 5], of: role or none}
actions:
  place:
    args: {cell: empty(board)}
    do: board[cell] = me
  mark:
    args: {cell: empty(back)}
    do: ["back[cell] = me", "board[cell[1], cell[0]] = none if cell[0] == 2 else me"]
  clear: {do: "board[c] = none for c in cells(board) if c[0] == 4"}
turns:
  - each: cycle(roles)
    at_most: {n: 10, then: end}
    turns:
      - {choose: corner, from: empty(board)}
      - {do: "board[corner] = me"}
  - each: cycle(roles)
    at_most: {n: 40, then: end}
    choose: move
    from: actions
payoffs: size(empty(board)) + 100 * size(empty(back))
"""
    game = load(tmp_path, text)
    assert "less_cell(" in write_game(game.ir)
    assert list(plays(game, "generated", 40)) == list(plays(game, "interpreter", 40))


@st.composite
def boards(draw: st.DrawFn) -> tuple[Grid, Adjacency, tuple[Any, ...]]:
    rows, columns = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    shape = draw(st.sampled_from(["square", "king", "hex", "torus"]))
    cells = tuple(draw(st.sampled_from([None, "x", "o"])) for _ in range(rows * columns))
    grid = Grid(rows, columns, Option(SEAT), shape)
    return grid, grid_graph(rows, columns, shape), cells


def searched(near: dict[Any, Any], start: Any, within: set[Any]) -> set[Any]:
    """The textbook's depth-first search."""
    found: set[Any] = set()
    stack = [start] if start in within else []
    while stack:
        node = stack.pop()
        if node not in found:
            found.add(node)
            stack += [n for n in near[node] if n in within]
    return found


@given(boards(), st.data())
def test_connectivity_is_that_of_a_search(
    board: tuple[Grid, Adjacency, tuple[Any, ...]], data: st.DataObject
) -> None:
    _, graph, cells = board
    near, nodes = dict(graph), [node for node, _ in graph]
    assert all(node in near[other] for node in nodes for other in near[node])
    held = dict(zip(nodes, cells, strict=True))
    start = data.draw(st.sampled_from(nodes))
    same = {node for node in nodes if held[node] == held[start]}
    group = searched(near, start, same)
    assert BUILTINS["component"].run(cells, start, graph) == group
    assert BUILTINS["component"].run(held, start, graph) == group
    within = data.draw(st.lists(st.sampled_from(nodes), unique=True))
    assert BUILTINS["reachable"].run(graph, start, tuple(within)) == (
        searched(near, start, set(within))
    )
    beside = {n for node in group for n in near[node]} - group
    assert set(BUILTINS["neighbors"].run(graph, frozenset(group))) == beside
    assert BUILTINS["neighbors"].run(graph, start) == near[start]
    ends = [tuple(data.draw(st.lists(st.sampled_from(nodes), min_size=1))) for _ in range(2)]
    joined = any(
        held[one] == "x" and other in searched(near, one, {n for n in nodes if held[n] == "x"})
        for one, other in product(*ends)
    )
    assert BUILTINS["connected"].run(cells, "x", *ends, graph) == joined


def test_what_is_no_node_is_undefined() -> None:
    graph = grid_graph(2, 2, "square")
    with pytest.raises(UndefinedError, match="there is no node 2,0"):
        BUILTINS["neighbors"].run(graph, (2, 0))
    with pytest.raises(UndefinedError, match="there is no node 5,5"):
        BUILTINS["reachable"].run(graph, (0, 0), ((5, 5),))


def test_neighborhoods_of_grids() -> None:
    def near(shape: str, cell: tuple[int, int]) -> set[tuple[int, int]]:
        return set(dict(grid_graph(3, 3, shape))[cell])

    assert near("square", (1, 1)) == {(0, 1), (1, 0), (1, 2), (2, 1)}
    assert near("hex", (1, 1)) == {(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)}
    assert len(near("king", (1, 1))) == 8
    assert near("king", (0, 0)) == {(0, 1), (1, 0), (1, 1)}
    assert near("torus", (0, 0)) == {(0, 1), (0, 2), (1, 0), (2, 0)}
    assert dict(grid_graph(1, 2, "torus")) == {(0, 0): ((0, 1),), (0, 1): ((0, 0),)}


def test_edges_have_no_direction_and_count_once() -> None:
    graph = graph_of_edges(("a", "b", "c"), [("b", "a"), ("a", "b")])
    assert graph == (("a", ("b",)), ("b", ("a",)), ("c", ()))


def test_rows_of_a_hex_grid_are_slanted() -> None:
    cells = ("x", None, "o", "o")
    marks = Words()
    assert as_text(cells, Grid(2, 2, Option(SEAT), "hex"), marks) == "  0 1\n0 x .\n 1 o o"
    assert as_text(cells, Grid(2, 2, Option(SEAT)), marks) == "  0 1\n0 x .\n1 o o"


def test_neighbors_read_no_board(tmp_path: Path) -> None:
    """Which cells are joined is known to all, though the board is hidden."""
    text = """\
game: hidden_board
roles: [x, o]
state:
  board: {grid: [2, 2], of: role or none, neighbors: square, seen_by: x}
turns:
  - {role: x, choose: mark, from: [x, o], seen_by: owner}
  - do: board[0, 0] = mark
  - {role: o, choose: cell, from: "neighbors(board, (0, 0))"}
payoffs: 1 if cell == (0, 1) else 0
"""
    assert load(tmp_path, text).ir.steps
    leaky = text.replace('"neighbors(board, (0, 0))"', '"list(component(board, (0, 0)))"')
    with pytest.raises(gamedsl.CompileError, match="GD0440"):
        load(tmp_path, leaky)


def test_rules_in_words_say_who_is_beside_whom(tmp_path: Path) -> None:
    text = str(load(tmp_path, MAP).env().reset(seed=0).decisions[0].messages)
    assert "to: one of the neighbors of its at" in text
    assert "neighbors: [[mill, harbor], [harbor, market], [market, ford], [ford, abbey]]" in text
    words = str(load(tmp_path, GO).env().reset(seed=0).decisions[0].messages)
    assert "neighbors: cells that share an edge" in words
