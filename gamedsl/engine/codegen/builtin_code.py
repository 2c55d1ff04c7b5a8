"""Code of built-in functions that are written out; the others are called as the reference calls
them.

One row each: the code of a call, or None where the types of its arguments are not those that the
row is for.
"""

from __future__ import annotations

from typing import assert_never

from gamedsl.engine.codegen.expressions import CodeScope, Expressions, Inline
from gamedsl.engine.codegen.knowledge import independent_parts
from gamedsl.engine.codegen.observations import memorable
from gamedsl.engine.codegen.writer import CodeLines, literal
from gamedsl.ir.builtins_base import MAX_BITS, MAX_ITEMS
from gamedsl.ir.expr import (
    Apply,
    Build,
    Cell,
    Collect,
    Const,
    Consult,
    Expr,
    Field,
    Get,
    If,
    LastBy,
    LetCall,
    LetMap,
    Local,
    Logic,
    Me,
    Past,
    Read,
    Stream,
    Table,
    children,
    loops_of,
)  # fmt: skip
from gamedsl.ir.graphs import Adjacency
from gamedsl.ir.types import (
    Bag,
    Bool,
    Enum,
    Grid,
    List,
    Number,
    PerSeat,
    PerValue,
    Record,
    Seat,
    Set,
    Tuple,
    Type,
    plain,
)

LARGE = 1 << (MAX_BITS - 1)


def _codes(make: Expressions, expr: Apply, scope: CodeScope) -> list[str]:
    return [make.code(argument, scope) for argument in expr.arguments]


def _numbers(expr: Apply) -> bool:
    return all(isinstance(argument.type, Number) for argument in expr.arguments)


def _wholes(expr: Apply) -> bool:
    return all(isinstance(a.type, Number) and a.type.whole for a in expr.arguments)


def _arithmetic(make: Expressions, expr: Apply, scope: CodeScope) -> str | None:
    if not _numbers(expr):
        return None
    left, right = _codes(make, expr, scope)
    code = f"({left} {expr.function} {right})"
    if not _wholes(expr):
        return f"exact{code}"
    most = make.known.magnitude(expr)
    return code if most is not None and most < LARGE else f"whole{code}"


def _whole_division(make: Expressions, expr: Apply, scope: CodeScope) -> str | None:
    if not _wholes(expr):
        return None
    left, right = _codes(make, expr, scope)
    return f"({left} {expr.function} {right})"


def _negation(make: Expressions, expr: Apply, scope: CodeScope) -> str | None:
    return f"(-{make.code(expr.arguments[0], scope)})" if _numbers(expr) else None


def _equality(make: Expressions, expr: Apply, scope: CodeScope) -> str:
    left, right = _codes(make, expr, scope)
    if right == "None" and isinstance(expr.arguments[0], Read | Local | Get | Field | LetCall):
        return f"({left} {'is' if expr.function == '==' else 'is not'} None)"
    return f"({left} {expr.function} {right})"


def _order(make: Expressions, expr: Apply, scope: CodeScope) -> str | None:
    left, right = (make.code(argument, scope) for argument in expr.arguments[:2])
    if len(expr.arguments) == 2:
        return f"({left} {expr.function} {right})"
    ranks = _ranks(make, expr.arguments[2])
    return ranks and f"({ranks}[{left}] {expr.function} {ranks}[{right}])"


def _ranks(make: Expressions, order: Expr) -> str | None:
    """A constant map of value to rank, for values of an enum."""
    if not isinstance(order, Const) or not all(isinstance(v, str) for v in order.value):
        return None
    return make.module.table("RANK", literal({value: i for i, value in enumerate(order.value)}))


def _range(make: Expressions, expr: Apply, scope: CodeScope) -> str | None:
    size = make.known.known_size(expr)
    if size is None or size > MAX_ITEMS:
        return None
    low, high = _codes(make, expr, scope)
    return f"tuple(range({low}, {high} + 1))"


def _index(make: Expressions, expr: Apply, scope: CodeScope) -> str | None:
    ranks = _ranks(make, expr.arguments[1])
    return ranks and f"{ranks}[{make.code(expr.arguments[0], scope)}]"


def _value(make: Expressions, expr: Apply, scope: CodeScope) -> str | None:
    """The value of a name of a `values` type, or of none; collections are left to the reference."""
    name, table = expr.arguments
    if not isinstance(plain(name.type), Enum) or not isinstance(table, Const):
        return None
    values = make.module.table("VALUE", literal(table.value))
    return f"{values}.get({make.code(name, scope)})"


def _other(make: Expressions, expr: Apply, scope: CodeScope) -> str | None:
    seats = expr.arguments[1]
    if not isinstance(seats, Const):
        return None
    every = seats.value
    others = {seat: tuple(s for s in every if s != seat) for seat in every}
    if expr.function == "other":
        table = {seat: rest[0] for seat, rest in others.items() if rest}
        return (
            f"{make.module.table('OTHER', literal(table))}[{make.code(expr.arguments[0], scope)}]"
        )
    table_name = make.module.table("OTHERS", literal(others))
    return f"{table_name}[{make.code(expr.arguments[0], scope)}]"


def _membership(make: Expressions, expr: Apply, scope: CodeScope) -> str | None:
    value, collection = expr.arguments
    if make.known.known_size(value) is None:
        return None
    left, right = _codes(make, expr, scope)
    match plain(collection.type):
        case PerSeat() | PerValue():
            right = f"{right}.values()"
        case List() | Set() | Bag() | Tuple() | Record() | Grid():
            pass
        case _:  # no collection that Python's `in` reads as the reference does
            return None
    return f"({left} {expr.function} {right})"


def _quantifier(make: Expressions, expr: Apply, scope: CodeScope) -> str | None:
    """The code of `all` and `any`, of truth values that are collected here or declared as state."""
    (source,) = expr.arguments
    sought = expr.function == "any"
    if make.gathers(source):
        if not make.known.is_truth(loops_of(source)[-1].item):
            return None
        code = f"[{make.comprehension(source, scope, ordered=False)}]"
    elif isinstance(source, Read) and make.known.is_some(source) and _holds_truths(source.type):
        code = make.items(source, scope, ordered=False)
    else:
        return None
    return f"({sought} {'in' if sought else 'not in'} {code})"


def _holds_truths(type: Type) -> bool:
    """Returns whether a type is a collection of truth values, none of which is none."""
    return isinstance(type, List | Set | Grid | PerSeat | PerValue) and isinstance(type.of, Bool)


def _count(make: Expressions, expr: Apply, scope: CodeScope) -> str | None:
    first, *wanted = expr.arguments
    if not wanted:
        if make.gathers(first) and make.known.is_truth(loops_of(first)[-1].item):
            return f"sum([{make.comprehension(first, scope, ordered=False)}])"
        return None
    if isinstance(first.type, List | Grid) and make.known.known_size(first) is not None:
        return f"{make.code(first, scope)}.count({make.code(wanted[0], scope)})"
    if isinstance(first.type, PerSeat) and isinstance(wanted[0].type, Enum | Seat | Bool | Number):
        code = make.code(wanted[0], scope)
        return f"list({make.code(first, scope)}.values()).count({code})"
    return None


def _size(make: Expressions, expr: Apply, scope: CodeScope) -> str | None:
    (collection,) = expr.arguments
    code = make.code(collection, scope)
    if make.gathers(collection):
        return f"len([{make.comprehension(collection, scope, ordered=False)}])"
    match plain(collection.type):
        case List() | Set() | Grid() | PerSeat() | PerValue():
            known = make.known.known_size(collection) is not None
            return f"len({code})" if known else f"at_most(len({code}), {make.most})"
        case Bag():
            return f"at_most(sum({code}.values()), {make.most})"
        case _:  # the reference is called
            return None


def _sum(make: Expressions, expr: Apply, scope: CodeScope) -> str | None:
    (collection,) = expr.arguments
    inner = getattr(collection.type, "of", None)
    if not isinstance(inner, Number):
        return None
    if make.gathers(collection):
        code = f"sum([{make.comprehension(collection, scope, ordered=False)}])"
    else:
        if isinstance(collection.type, Tuple):
            return None
        code = f"sum({make.items(collection, scope, ordered=False)})"
    if not inner.whole:
        return f"exact({code})"
    return f"whole({code})"


def _extreme(make: Expressions, expr: Apply, scope: CodeScope) -> str | None:
    first, *rest = expr.arguments
    if isinstance(first.type, Number):
        return f"{expr.function}({', '.join(_codes(make, expr, scope))})" if rest else None
    if isinstance(first.type, Tuple):
        return None
    inner = getattr(first.type, "of", None)
    if not rest and isinstance(inner, Number):
        return f"{expr.function}({make.items(first, scope, ordered=False)})"
    ranks = _ranks(make, rest[0]) if rest and isinstance(inner, Enum) else None
    if ranks is None:
        return None
    return f"{expr.function}({make.items(first, scope)}, key={ranks}.__getitem__)"


def _to_list(make: Expressions, expr: Apply, scope: CodeScope) -> str | None:
    (collection,) = expr.arguments
    match plain(collection.type):
        case List():
            code = make.sized(collection, scope)
            return code if isinstance(collection, Apply | Collect) else f"tuple({code})"
        case PerSeat() | PerValue() | Set():
            return f"tuple({make.items(collection, scope)})"
        case _:  # the reference is called
            return None


def _to_set(make: Expressions, expr: Apply, scope: CodeScope) -> str | None:
    (collection,) = expr.arguments
    if isinstance(collection, Collect):
        remembered = _remembered_set(make, collection, scope)
        code = f"frozenset([{make.comprehension(collection, scope, ordered=False)}])"
        return remembered or code
    if make.gathers(collection):
        return f"frozenset([{make.comprehension(collection, scope, ordered=False)}])"
    if isinstance(collection.type, List | Set | PerSeat | PerValue):
        return f"frozenset({make.items(collection, scope, ordered=False)})"
    return None


def _remembered_set(make: Expressions, expr: Collect, scope: CodeScope) -> str | None:
    """A set made from another, as a function of it and of what else is read, whose values are kept:
    play makes the same few sets again and again."""
    source = plain(expr.source.type)
    size = make.known.known_size(expr.source)
    if not isinstance(source, Set) or expr.keyed or size is None or size < 8:
        return None
    parts = (expr.item,) if expr.condition is None else (expr.condition, expr.item)
    early = independent_parts(parts, set(expr.targets), reads=True)
    if not all(memorable(part.type) for part in (*early, expr.source)):
        return None
    names = {id(part): f"h{i}" for i, part in enumerate(early)}
    inner = CodeScope(values=names, locals={name: f"{name}_" for name in expr.targets})
    if any(_reads(part, set(expr.targets), names) for part in parts):
        return None
    name = make.module.name("set_of")
    lines = CodeLines(f"def {name}({', '.join(['items', *names.values()])}):")
    lines.source(expr.span)
    test = ""
    if expr.condition is not None:
        test = f" if {make.truth(expr.condition, inner)}"
    target = ", ".join(inner.locals.values())
    lines(f"return frozenset([{make.code(expr.item, inner)} for {target} in items{test}])")
    make.module.add(lines)
    key = ", ".join(make.code(part, scope) for part in (expr.source, *early))
    return f"remembered({make.module.own('SETS', '{}')}, {name}, ({key},))"


def _reads(expr: Expr, names: set[str], known: dict[int, str]) -> bool:
    """Returns whether an expression reads more than the locals of these names, apart from the parts
    whose values are `known`."""
    if id(expr) in known:
        return False
    match expr:
        case Local(name=name):
            return name not in names
        case Const() | Apply() | Logic() | If() | Build() | Field() | Get() | Cell():
            return any(_reads(child, names, known) for child in children(expr))
        case Read() | LastBy() | Past() | Me() | Stream() | LetCall() | LetMap():
            return True
        case Table() | Collect() | Consult():
            return True
    assert_never(expr)


def _chain(make: Expressions, expr: Apply, scope: CodeScope) -> str | None:
    """The items of several `for`, as one list."""
    value = make.fixed(expr)
    if value is not None:
        return make.module.constant(value)
    return f"tuple([{make.comprehension(expr, scope)}])" if make.gathers(expr) else None


def _slots(make: Expressions, expr: Apply, scope: CodeScope) -> str | None:
    (items,) = expr.arguments
    return f"tuple(range(len({make.sized(items, scope)})))"


def _end(make: Expressions, expr: Apply, scope: CodeScope) -> str | None:
    (items,) = expr.arguments
    place = 0 if expr.function == "first" else -1
    if make.known.known_size(items) is None:
        return None
    return f"end(some({make.code(items, scope)}), {place})"


# grids


LARGEST_GRID = 400
"""Cells of a grid beside which lines are kept."""
MANY_CELLS = 25
"""Cells of a grid beside which the list of those that are empty is kept."""


def _is_grid(expr: Apply) -> bool:
    return isinstance(expr.arguments[0].type, Grid)


def grid_size(expr: Apply) -> tuple[int, int] | None:
    """Rows and columns of the grid of a function on grids, its last arguments."""
    rows, columns = expr.arguments[-2:]
    if isinstance(rows, Const) and isinstance(columns, Const) and _is_grid(expr):
        return rows.value, columns.value
    return None


def places(rows: int, columns: int) -> tuple[tuple[int, int], ...]:
    """The cells of a grid, row by row."""
    return tuple((row, column) for row in range(rows) for column in range(columns))


def _cells(make: Expressions, expr: Apply, scope: CodeScope) -> str | None:
    size = grid_size(expr)
    if size is None or not make.known.is_some(expr.arguments[0]):
        return None
    return make.module.constant(places(*size))


def _empty(make: Expressions, expr: Apply, scope: CodeScope) -> str | None:
    size = grid_size(expr)
    if size is None:
        return None
    cells = make.module.constant(places(*size))
    grid = make.code(expr.arguments[0], scope)
    return f"tuple([p for p, v in zip({cells}, {grid}) if v is None])"


def _lowest(make: Expressions, expr: Apply, scope: CodeScope) -> str | None:
    size = grid_size(expr)
    if size is None:
        return None
    cells = make.module.constant(places(*size))
    grid = make.code(expr.arguments[0], scope)
    return f"tuple([{cells}[at] for at in {make.lowest(*size)}({grid})])"


def _line(make: Expressions, expr: Apply, scope: CodeScope) -> str | None:
    """The value of a line, kept beside its grid (`storing`)."""
    size, lined = grid_size(expr), lined_grid(expr)
    if size is None or lined is None or lined[0] in scope.held:
        return None
    grid, length = lined
    masks, line = make.module.slot("m", grid), make.module.slot("l", f"{grid}_{length}")
    again = f"lined(s, {masks!r}, {line!r}, {make.code(expr.arguments[0], scope)}, "
    return f"(s.{line} if s.{line} is not UNKNOWN else {again}{length}, {size[0]}, {size[1]}))"


def lined_grid(expr: Expr) -> tuple[str, int] | None:
    """The variable in which an expression looks for a line, and its length, where what is found is
    kept beside it."""
    if not isinstance(expr, Apply) or expr.function != "line":
        return None
    size = grid_size(expr)
    grid, length = expr.arguments[:2]
    if size is None or size[0] * size[1] > LARGEST_GRID:
        return None
    if not isinstance(grid, Read) or not isinstance(length, Const) or length.value < 1:
        return None
    inner = plain(grid.type.of) if isinstance(grid.type, Grid) else None
    return (grid.name, length.value) if _single(inner) else None


def emptied_grid(expr: Expr) -> str | None:
    """The variable whose empty cells an expression lists, where their list is kept beside it:
    changing that takes longer than listing the cells of a small grid."""
    if not isinstance(expr, Apply) or expr.function != "empty":
        return None
    size, grid = grid_size(expr), expr.arguments[0]
    if size is None or size[0] * size[1] < MANY_CELLS or not isinstance(grid, Read):
        return None
    return grid.name


def _neighbors(make: Expressions, expr: Apply, scope: CodeScope) -> str | None:
    adjacency, nodes = expr.arguments
    graph = _graph(make, adjacency)
    if graph is None:
        return None
    if isinstance(plain(nodes.type), List | Set | Bag):
        return f"{graph}.listed({graph}.adjacent({_node_set(make, nodes, graph, scope)}))"
    return f"{graph}.neighbors[{make.code(nodes, scope)}]"


def _reachable(make: Expressions, expr: Apply, scope: CodeScope) -> str | None:
    adjacency, *sets = expr.arguments
    graph = _graph(make, adjacency)
    if graph is None:
        return None
    start, within = (_node_set(make, nodes, graph, scope) for nodes in sets)
    return f"frozenset({graph}.listed({graph}.reachable({start}, {within})))"


def _component(make: Expressions, expr: Apply, scope: CodeScope) -> str | None:
    linked = linked_grid(expr)
    if linked is None or linked[0] in scope.held:
        return None
    board, node, _ = (make.code(argument, scope) for argument in expr.arguments)
    components = _components(make, *linked, board)
    return f"component_at({components}, {board}, {node}, {make.graph(linked[1])})"


def _connected(make: Expressions, expr: Apply, scope: CodeScope) -> str | None:
    board, value, *groups, adjacency = expr.arguments
    graph, linked = _graph(make, adjacency), linked_grid(expr)
    if graph is None:
        return None
    fixed = [_fixed_node_set(make, group, graph) for group in groups]
    sets = ", ".join(_node_set(make, group, graph, scope) for group in groups)
    cells, held = make.code(board, scope), make.code(value, scope)
    if linked is None or linked[0] in scope.held or not make.known.is_some(value):
        components = f"{graph}.components({graph}.holding({cells}, {held}))"
        return f"is_connected({components}, ({sets},))"
    components = f"{_components(make, *linked, cells)}.get({held}, NO_CELLS)"
    if None in fixed:
        return f"is_connected({components}[0], ({sets},))"
    text = f"connection({make.connections(*linked)}, {sets})"
    return f"({components}[1] & {make.module.table('BIT', text)} != 0)"


def _graph(make: Expressions, adjacency: Expr) -> str | None:
    return make.graph(adjacency.value) if isinstance(adjacency, Const) else None


def _node_set(make: Expressions, nodes: Expr, graph: str, scope: CodeScope) -> str:
    """A set of nodes as a number."""
    fixed = _fixed_node_set(make, nodes, graph)
    return fixed or f"{graph}.given({make.sized(nodes, scope)})"


def _fixed_node_set(make: Expressions, nodes: Expr, graph: str) -> str | None:
    """A set of nodes as a number, worked out ahead; None if it reads play."""
    value = make.fixed(nodes)
    return None if value is None else make.module.table("NODES", f"{graph}.given({literal(value)})")


def _components(make: Expressions, grid: str, graph: Adjacency, board: str) -> str:
    """The connected components of a grid, kept beside it (`linked`)."""
    slot, known = make.components_slot(grid, graph), make.connections(grid, graph)
    again = f"grouped(s, {slot.removeprefix('s.')!r}, {board}, {make.graph(graph)}, {known})"
    return f"({slot} if {slot} is not None else {again})"


def linked_grid(expr: Expr) -> tuple[str, Adjacency] | None:
    """The variable whose connected components an expression asks for, and the graph of its cells,
    where they are kept beside it."""
    if not isinstance(expr, Apply) or expr.function not in ("component", "connected"):
        return None
    board, graph = expr.arguments[0], expr.arguments[-1]
    if not isinstance(board, Read) or not isinstance(graph, Const):
        return None
    inner = plain(board.type.of) if isinstance(board.type, Grid) else None
    return (board.name, graph.value) if _single(inner) else None


def _single(type: Type | None) -> bool:
    return isinstance(type, Seat | Number | Bool) or (isinstance(type, Enum) and bool(type.members))


PARTS = "@parts"
"""No function of the language: all parts of the records or tuples in a collection."""


def _parts(make: Expressions, expr: Apply, scope: CodeScope) -> str:
    return f"set().union(*{make.items(expr.arguments[0], scope, ordered=False)})"


FORMS: dict[str, Inline] = {
    PARTS: _parts,
    "arithmetic": _arithmetic,
    "whole division": _whole_division,
    "negation": _negation,
    "equality": _equality,
    "order": _order,
    "range": _range,
    "index": _index,
    "value": _value,
    "other": _other,
    "membership": _membership,
    "quantifier": _quantifier,
    "count": _count,
    "size": _size,
    "sum": _sum,
    "extreme": _extreme,
    "list": _to_list,
    "chain": _chain,
    "set": _to_set,
    "slots": _slots,
    "end": _end,
    "cells": _cells,
    "empty cells": _empty,
    "lowest cells": _lowest,
    "line": _line,
    "neighbors": _neighbors,
    "reachable": _reachable,
    "component": _component,
    "connected": _connected,
}
"""The forms that rows of built-ins name in `Builtin.code`."""
