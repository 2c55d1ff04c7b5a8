"""Typed expressions: the closed set of forms that every engine knows, and the folds over them.

Names are resolved (a `Read` says what it reads), params are folded into `Const`, `let`s are calls,
and `me` is explicit: an expression that `depends on me` is evaluated once for each seat. Spans are
kept for messages and take no part in comparison or hashing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from typing import Any, assert_never, cast

from gamedsl.diagnostics.spans import Span
from gamedsl.ir.types import Type

Value = int | Fraction | bool | str | None | tuple[Any, ...] | frozenset[Any] | dict[Any, Any]


@dataclass(frozen=True, slots=True)
class _Typed:
    type: Type
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Const(_Typed):
    value: Any
    origin: str | None = field(default=None, compare=False, repr=False)
    """The param or data file that it was folded from, where it was."""

    def __hash__(self) -> int:
        return hash((self.type, _hashable(self.value)))  # a map of values is a dict


def _hashable(value: Any) -> Any:
    """Returns what is equal where values are, and may be hashed."""
    if isinstance(value, dict):
        return frozenset((key, _hashable(entry)) for key, entry in value.items())
    return tuple(map(_hashable, value)) if isinstance(value, tuple) else value


@dataclass(frozen=True, slots=True)
class Read(_Typed):
    """A variable: what a step bound last (each seat's own, as a map, if joint), a declared state
    variable, a loop's pass or item, an action's argument. None where it is not bound."""

    name: str


@dataclass(frozen=True, slots=True)
class LastBy(_Typed):
    """The per-seat map of what each seat last chose in the single decisions that bind `name`."""

    name: str


@dataclass(frozen=True, slots=True)
class Past(_Typed):
    """The list of all bindings of `name` so far, the latest included."""

    name: str


@dataclass(frozen=True, slots=True)
class Local(_Typed):
    """A comprehension's target or a parameter of the `let` around it."""

    name: str


@dataclass(frozen=True, slots=True)
class Me(_Typed):
    """The seat that the expression is evaluated for."""


@dataclass(frozen=True, slots=True)
class Stream(_Typed):
    """The per-seat map of a payoff stream, as reward files read it (`payoff`)."""

    name: str


@dataclass(frozen=True, slots=True)
class Apply(_Typed):
    """An operator or a built-in: `function` is a row of `gamedsl.ir.builtins`."""

    function: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Logic(_Typed):
    """`and` / `or`, which look at their second operand only if they must."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class If(_Typed):
    test: Expr
    then: Expr
    other: Expr


@dataclass(frozen=True, slots=True)
class Get(_Typed):
    """`of[key]` of a map or a list; none of none, an error outside a list."""

    of: Expr
    key: Expr


@dataclass(frozen=True, slots=True)
class Field(_Typed):
    """The part number `index` of a record or tuple; none of none."""

    of: Expr
    index: int


@dataclass(frozen=True, slots=True)
class Cell(_Typed):
    """`of[row, column]` of a grid of `rows` by `columns`; an error outside it."""

    of: Expr
    key: Expr
    rows: int
    columns: int


@dataclass(frozen=True, slots=True)
class LetCall(_Typed):
    """A `let`, with its arguments; `seat` is whom it is evaluated for where it depends on me."""

    name: str
    arguments: tuple[Expr, ...]
    seat: Expr | None


@dataclass(frozen=True, slots=True)
class LetMap(_Typed):
    """The per-seat map of a `let` that depends on me."""

    name: str


@dataclass(frozen=True, slots=True)
class Table(_Typed):
    """A payoff table's column for one seat: the cell under the values of `keys`."""

    keys: tuple[Expr, ...]
    cells: dict[tuple[Any, ...], Expr]


@dataclass(frozen=True, slots=True)
class Build(_Typed):
    """A list or tuple made of its items."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Collect(_Typed):
    """The list of `item` for each element of `source` that meets `condition`.

    Two targets of a `keyed` one are an element's index (or seat) and the element; several targets
    of another are the parts of a tuple.
    """

    item: Expr
    targets: tuple[str, ...]
    source: Expr
    condition: Expr | None
    keyed: bool = False


@dataclass(frozen=True, slots=True)
class Consult(_Typed):
    """The result of a registered function, in the condition of what is said; `arguments` are in the
    function's order. It is pure and quick, so that it may be called as often as is asked."""

    function: str
    version: int
    arguments: tuple[tuple[str, Expr], ...]


Expr = (
    Const | Read | LastBy | Past | Local | Me | Stream | Apply | Logic | If | Get | Field | Cell
    | LetCall | LetMap | Table | Build | Collect | Consult
)  # fmt: skip


CHAIN = "for"
"""The built-in of several `for`: the items of a list of lists, one list after another."""


def loops_of(expr: Expr) -> tuple[Collect, ...]:
    """Returns the loops of a comprehension, the outermost first: the last one has the item, and a
    comprehension of one `for` is its only loop. Empty for any other expression."""
    match expr:
        case Collect():
            return (expr,)
        case Apply(function=function, arguments=(Collect(item=inner) as outer,)) if (
            function == CHAIN and (loops := loops_of(inner))
        ):
            return (outer, *loops)
        case _:  # no comprehension
            return ()


def walk(expr: Expr) -> Iterator[Expr]:
    """Yields an expression and every expression inside it, each before its parts."""
    yield expr
    for child in children(expr):
        yield from walk(child)


PLAY = Read, LastBy, Past, Stream, LetCall, LetMap, Me, Consult
"""The expressions whose values depend on the play, or on who reads them; lets are taken for such,
whatever their bodies, and calls of registered functions, which are made in play alone."""


def bind_local(expr: Expr, name: str, value: Expr) -> Expr:
    """Returns an expression with a value in place of a local name."""
    if isinstance(expr, Local):
        return value if expr.name == name else expr
    if isinstance(expr, Collect) and name in expr.targets:
        return replace(expr, source=bind_local(expr.source, name, value))

    def bound(part: Any) -> Any:
        if isinstance(part, _Typed):
            return bind_local(cast(Expr, part), name, value)
        return tuple(map(bound, part)) if isinstance(part, tuple) else part

    parts = {each.name: getattr(expr, each.name) for each in fields(expr)}
    kept = ("type", "span", "value", "origin")
    return replace(expr, **{k: bound(part) for k, part in parts.items() if k not in kept})


def reads_play(expr: Expr) -> bool:
    """Whether the value of an expression may depend on the play, or on who reads it."""
    return any(isinstance(part, PLAY) for part in walk(expr))


def expressions_in(part: Any) -> Iterator[Expr]:
    """Yields every expression in a part of the IR, and every expression inside it."""
    for root in roots(part):
        yield from walk(root)


def roots(part: Any) -> Iterator[Expr]:
    """Yields the expressions in a part of the IR that are evaluated by themselves: those that lie
    in no other expression."""
    if isinstance(part, _Typed):
        yield cast(Expr, part)
    elif isinstance(part, tuple):
        for item in part:
            yield from roots(item)
    elif isinstance(part, dict):
        yield from roots(tuple(part.values()))
    elif is_dataclass(part):
        for each in fields(part):
            if each.compare and each.name != "type":
                yield from roots(getattr(part, each.name))


def children(expr: Expr) -> tuple[Expr, ...]:
    """Returns the expressions directly inside one, in the order of its fields."""
    match expr:
        case Const() | Read() | LastBy() | Past() | Local() | Me() | Stream() | LetMap():
            return ()
        case Apply(arguments=parts) | Build(items=parts):
            return parts
        case LetCall(arguments=parts, seat=seat):
            return parts if seat is None else (*parts, seat)
        case Logic(left=left, right=right):
            return left, right
        case If(test=test, then=then, other=other):
            return test, then, other
        case Get(of=of, key=key) | Cell(of=of, key=key):
            return of, key
        case Field(of=of):
            return (of,)
        case Table(keys=keys, cells=cells):
            return (*keys, *cells.values())
        case Collect(item=item, source=source, condition=condition):
            return (item, source) if condition is None else (item, source, condition)
        case Consult(arguments=given):
            return tuple(argument for _, argument in given)
        case _:
            assert_never(expr)
