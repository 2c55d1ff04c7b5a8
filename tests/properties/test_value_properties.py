"""Built-ins on grids, orders and ranges against plain Python; statements of any text."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gamedsl.bounds.expressions import Interpreter
from gamedsl.diagnostics import Problems
from gamedsl.diagnostics.render import render
from gamedsl.frontend.syntax.parser import parse_expression
from gamedsl.ir import expr as ir
from gamedsl.ir.builtins import BUILTINS, order_of
from gamedsl.ir.evaluate import EvaluationError, Scope, evaluate
from gamedsl.ir.types import BOOL, WHOLE, Enum, Record, Tuple, Type, domain, range_type
from gamedsl.sema.scope import Namespace, StateName
from gamedsl.sema.statements import read_statements
from gamedsl.sema.typer import Typer
from tests.language.test_values import PLACE, names, scalar

ENUM = Enum("Size", ("small", "large", "huge"))
PAIR = Record("Pair", (("size", ENUM), ("number", range_type(0, 2))))
ORDERED: tuple[Type, ...] = (ENUM, PAIR, Tuple((BOOL, PAIR)), Tuple((WHOLE, WHOLE)))


@st.composite
def grids(draw: st.DrawFn) -> tuple[int, int, tuple[Any, ...]]:
    rows, columns = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    cells = st.sampled_from([None, "x", "o"])
    return rows, columns, tuple(draw(cells) for _ in range(rows * columns))


@given(grids(), st.integers(1, 5))
def test_line_is_any_straight_run(grid: tuple[int, int, tuple[Any, ...]], length: int) -> None:
    rows, columns, cells = grid
    at = {(r, c): cells[r * columns + c] for r in range(rows) for c in range(columns)}
    winners = {
        value
        for (r, c), value in at.items()
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1))
        if value is not None
        and all(at.get((r + i * down, c + i * right)) == value for i in range(length))
    }
    found = BUILTINS["line"].run(cells, length, rows, columns)
    assert found in winners if winners else found is None
    empty = BUILTINS["empty"].run(cells, rows, columns)
    assert set(empty) == {place for place, value in at.items() if value is None}
    assert BUILTINS["full"].run(cells) == (not empty)
    lowest = BUILTINS["lowest_empty"].run(cells, rows, columns)
    assert list(lowest) == [
        (max(r for r, d in empty if d == c), c)
        for c in range(columns)
        if any(d == c for _, d in empty)
    ]


def rank(value: Any) -> Any:
    """By the declared order, worked out without the built-ins."""
    if isinstance(value, tuple):
        return tuple(map(rank, value))
    return ENUM.members.index(value) if isinstance(value, str) else value


@given(st.sampled_from(ORDERED), st.data())
def test_order_is_that_of_the_parts(type: Type, data: st.DataObject) -> None:
    listed = domain(type, ()) or [(a, b) for a in range(-2, 3) for b in range(-2, 3)]
    items = data.draw(st.lists(st.sampled_from(listed), min_size=2, max_size=4))
    order = order_of(type)
    constant = () if order is None else (order,)
    run = {name: BUILTINS[name].run for name in ("<", "<=", ">", ">=", "max", "sorted", "best")}
    if type != ENUM:
        a, b = items[:2]
        assert run["<"](a, b, *constant) == (rank(a) < rank(b))
        assert run["<="](a, b, *constant) == (rank(a) <= rank(b))
        assert run[">"](a, b, *constant) == (rank(a) > rank(b))
        assert run[">="](a, b, *constant) == (rank(a) >= rank(b))
    assert run["max"](tuple(items), *constant) == max(items, key=rank)
    assert list(run["sorted"](tuple(items), *constant)) == sorted(items, key=rank)
    top = max(map(rank, items))
    assert run["best"](dict(enumerate(items)), *constant) == {
        i for i, item in enumerate(items) if rank(item) == top
    }


numbers = st.recursive(
    st.sampled_from(["a", "b", "0", "1", "3", "len([a, b])"]),
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*"]), inner),
        st.builds("({} {} {})".format, inner, st.sampled_from(["//", "%"]), st.just("b")),
        st.builds("{}({}, {})".format, st.sampled_from(["min", "max"]), inner, inner),
        st.builds("(-{})".format, inner),
        st.builds("abs({})".format, inner),
        st.builds("clip({}, 0, {})".format, inner, st.just("b")),
        st.builds("({} if a < b else {})".format, inner, inner),
    ),
    max_leaves=8,
)


@given(numbers, st.integers(-2, 4), st.integers(1, 3))
def test_values_lie_in_their_interval(text: str, a: int, b: int) -> None:
    declared: dict[str, Any] = {
        "a": StateName(range_type(-2, 4), PLACE),
        "b": StateName(range_type(1, 3), PLACE),
    }
    problems = Problems()
    tree = parse_expression(scalar(text), problems)
    assert tree is not None
    typed = Typer(Namespace(declared=declared), problems).expression(tree)
    assert not problems.found, render(problems.found)
    bounds = Interpreter((), {}).interval(typed)
    assert bounds.bounded
    assert bounds.whole
    value = evaluate(typed, Scope((), {"a": a, "b": b}))
    assert bounds.low <= value <= bounds.high


WORDS = (
    "size = += -= add drop to from hand board deck pile bid folder seen at me other [ ] ( ) . , ; "
    "\n for in if else r x roles 0 1 K a none + - == clip( rank face untyped card move Card"
)
soup = st.lists(st.sampled_from(WORDS.split(" ")), max_size=14).map(" ".join)
frames = st.builds("{} = {} for {} in {}".format, soup, soup, st.sampled_from("rxK"), soup)


@given(st.one_of(soup, frames, st.text(max_size=30)))
def test_no_statement_crashes_the_compiler(text: str) -> None:
    typer = Typer(names(), Problems())
    found = read_statements(scalar(text), typer, me=True)
    assert found is not None or typer.problems.found or typer.context.untyped
    assert not typer.problems.found or render(typer.problems.found)


@given(soup)
def test_no_expression_over_values_crashes(text: str) -> None:
    problems = Problems()
    tree = parse_expression(scalar(text), problems)
    if tree is None:
        return
    typed = Typer(names(), problems).expression(tree, me=True)
    if not problems.found and not any(
        isinstance(p, ir.LetCall | ir.LetMap) for p in ir.walk(typed)
    ):
        with suppress(EvaluationError):
            evaluate(typed, Scope(("ann", "bob"), me="ann"))
