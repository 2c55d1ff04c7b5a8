"""The graphs that built-ins are given: those of grids, of declared types and of maps over them."""

from __future__ import annotations

from gamedsl.frontend.syntax import ast
from gamedsl.ir import expr as ir
from gamedsl.ir.builtins_graphs import node_type
from gamedsl.ir.graphs import MAX_NODES, Adjacency, grid_graph
from gamedsl.ir.types import Grid, List, Number, Tuple, Type
from gamedsl.sema.scope import TypeName
from gamedsl.sema.typing_context import TypingContext


def nodes_of_type(context: TypingContext, node: ast.Node) -> ir.Const | None:
    """Returns the nodes of a graph that is named by its type; None for any other expression."""
    declared = _declared_type(context, node)
    if declared is None:
        return None
    values = tuple(value for _, value in declared.choices)
    return ir.Const(List(declared.type, len(values)), node.span, values)


def _declared_type(context: TypingContext, node: ast.Node) -> TypeName | None:
    if not isinstance(node, ast.Name) or node.id in context.locals:
        return None
    declared = context.names.declared.get(node.id)
    return declared if isinstance(declared, TypeName) else None


def wanted_types(first: Type, function: str, count: int) -> tuple[Type | None, ...]:
    """Returns the types by which the arguments after the first are understood: nodes, and for
    `connected` a value of the board before them."""
    node = node_type(first)
    board = getattr(first, "of", None)
    return (board if function == "connected" else node, *(node,) * count)


def graph_argument(context: TypingContext, node: ast.Node, first: ir.Expr) -> ir.Expr | None:
    """Returns the graph of the first argument of a call, an adjacency list; None with a problem
    where none is declared."""
    written = node.arguments[0] if isinstance(node, ast.Call) else node
    declared = _declared_type(context, written)
    graph = _graph_of_type(context, first.type) if declared is None else declared.graph
    if graph is None:
        _report_no_graph(context, written, first.type, declared)
        return None
    nodes = node_type(first.type)
    assert nodes is not None, "the rule of the built-in wants one"
    type = List(Tuple((nodes, List(nodes))), len(graph))
    return ir.Const(type, first.span, graph)


def _graph_of_type(context: TypingContext, board: Type) -> Adjacency | None:
    """Returns the graph of a board: the one that its grid declares, else that of the only declared
    type whose values are its cells."""
    if isinstance(board, Grid) and board.rows * board.columns > MAX_NODES:
        return None
    if isinstance(board, Grid) and board.neighbors is not None:
        return grid_graph(board.rows, board.columns, board.neighbors)
    nodes = node_type(board)
    found = {
        declared.graph
        for declared in context.names.declared.values()
        if isinstance(declared, TypeName) and declared.type == nodes and declared.graph is not None
    }
    return found.pop() if len(found) == 1 else None


def _cells(type: Type) -> str:
    """Returns the rows and columns of a type of cells, as they are written; empty for others."""
    match type:
        case Tuple(of=(Number(low=0, high=int() as row), Number(low=0, high=int() as column))):
            return f"[{row + 1}, {column + 1}]"
        case _:
            return ""


def _report_no_graph(
    context: TypingContext, node: ast.Node, board: Type, declared: TypeName | None
) -> None:
    name = node.span.text
    shown = f"`{name}`" if len(name) < 40 and "\n" not in name else "this"
    if isinstance(board, Grid) and board.rows * board.columns > MAX_NODES:
        why = f"its {board.rows * board.columns:,} cells are too many: at most {MAX_NODES:,}"
        help = "make the grid smaller"
    elif isinstance(board, Grid):
        why = "no `neighbors` beside its `grid`"
        help = "declare `neighbors: square` there, or `king`, `hex` or `torus`"
    else:
        why = "no edges are declared between its nodes"
        type = name if declared is not None and name.isidentifier() else "Place"
        cells = isinstance(board, List) and _cells(board.of)
        help = f"declare them under `types`: `{type}: {{nodes: [a, b], edges: [[a, b]]}}`"
        if cells:
            help = (
                f"say there which cells are joined: `{type}: {{cell: {cells}, "
                "neighbors: square}`, or `king`, `hex` or `torus`"
            )
    context.problems.add("GD0334", f"{shown} has no graph", node.span, why=why, help=help)
