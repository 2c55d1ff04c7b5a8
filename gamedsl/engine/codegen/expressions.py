"""Expressions as Python expressions.

`code` writes a form; what it writes has the reference's value, or raises where the reference has
none. Forms that could hide a none (a condition, an index) are guarded unless the form itself says
that it is never none; types are trusted for speed only where being wrong raises, and for ranges,
which are checked wherever a value is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, assert_never

from gamedsl.engine.codegen.knowledge import Knowledge, independent_parts
from gamedsl.engine.codegen.writer import CodeLines, Module, UnsupportedError, literal
from gamedsl.ir import expr as ex
from gamedsl.ir.builtins import BUILTINS
from gamedsl.ir.evaluate import Scope, evaluate
from gamedsl.ir.expr import Expr
from gamedsl.ir.game import Let
from gamedsl.ir.graphs import Adjacency
from gamedsl.ir.types import (
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
)  # fmt: skip

_PLAY = (
    ex.Read, ex.LastBy, ex.Past, ex.Me, ex.Stream, ex.LetMap, ex.Table,
)  # fmt: skip
"""Forms that read the play, or may; calls of lets apart."""

SHORT = 120
"""Characters of the code of a let that is written out where it is read."""

Inline = Callable[["Expressions", ex.Apply, "CodeScope"], str | None]
"""Returns the code of a call of a built-in function; None where it is called as the reference calls
it."""


@dataclass(frozen=True, slots=True)
class CodeScope:
    """The names that an expression reads, as code: the seat it is evaluated for, comprehension
    targets and let parameters, variables that are kept elsewhere than in the state, and the payoff
    streams."""

    me: str = "None"
    locals: Mapping[str, str] = field(default_factory=dict)
    held: Mapping[str, str] = field(default_factory=dict)
    streams: str = ""
    values: Mapping[int, str] = field(default_factory=dict)
    """Parts of an expression whose values are at hand, by their identity."""

    def seated(self, me: str) -> CodeScope:
        return replace(self, me=me)

    def bound(self, **more: str) -> CodeScope:
        return replace(self, locals={**self.locals, **more})

    def with_values(self, more: Mapping[int, str]) -> CodeScope:
        return replace(self, values={**self.values, **more})


class Expressions:
    """The expressions of one game, with its lets; or of its reward file, with that one's."""

    def __init__(
        self,
        module: Module,
        seats: tuple[str, ...],
        lets: Mapping[str, Let],
        most: int,
        inline: Mapping[str, Inline],
        prefix: str = "let",
        sure: frozenset[str] = frozenset(),
    ) -> None:
        self.seats = seats
        self.most = most
        """The size allowed to collections of unknown size."""
        self.known = Knowledge(seats, lets, most, sure)
        self._lets = lets
        self.module = module
        self._inline = inline
        self._prefix = prefix
        self._written: dict[str, str] = {}
        """Functions of lets, by their names, and what else is written once."""
        self._short: dict[tuple[str, str], str] = {}
        """The code of lets that is written out, by their names and what they are read with; empty
        for those whose code is too long."""

    def value(self, expr: Expr, scope: CodeScope) -> str:
        """Returns the code of an expression that is worked out by itself."""
        return "beyond()" if self.known.is_beyond(expr) else self.code(expr, scope)

    def holds(self, condition: Expr, scope: CodeScope) -> str:
        """Returns the code of a condition."""
        code = self.value(condition, scope)
        return code if self.known.is_truth(condition) else f"truth({code})"

    def code(self, expr: Expr, scope: CodeScope) -> str:
        """Returns the code of a part of an expression."""
        if id(expr) in scope.values:
            return scope.values[id(expr)]
        match expr:
            case ex.Const():
                return self._const(expr, scope)
            case ex.Read():
                return self._read(expr, scope)
            case ex.LastBy():
                return self._last_by(expr, scope)
            case ex.Past():
                return self._past(expr, scope)
            case ex.Local():
                return self._local(expr, scope)
            case ex.Me():
                return self._me(expr, scope)
            case ex.Stream():
                return self._stream(expr, scope)
            case ex.Apply():
                return self._apply(expr, scope)
            case ex.Logic():
                return self._logic(expr, scope)
            case ex.If():
                return self._if(expr, scope)
            case ex.Get():
                return self._get(expr, scope)
            case ex.Field():
                return self._field(expr, scope)
            case ex.Cell():
                return self._cell(expr, scope)
            case ex.LetCall():
                return self._let_call(expr, scope)
            case ex.LetMap():
                return self._let_map(expr, scope)
            case ex.Table():
                return self._table(expr, scope)
            case ex.Build():
                return self._build(expr, scope)
            case ex.Collect():
                value = self.fixed(expr)
                return self._collect(expr, scope) if value is None else self.module.constant(value)
            case ex.Consult():
                raise AssertionError("games in words are interpreted")
        assert_never(expr)

    def truth(self, expr: Expr, scope: CodeScope) -> str:
        code = self.code(expr, scope)
        return code if self.known.is_truth(expr) else f"truth({code})"

    # collections

    def items(self, source: Expr, scope: CodeScope, *, ordered: bool = True) -> str:
        """Returns code that iterates over a collection; `ordered` if the order matters."""
        code = self.sized(source, scope)
        if code.startswith("tuple(") and isinstance(source, ex.Apply | ex.Collect):
            return code.removeprefix("tuple(").removesuffix(")")
        match plain(source.type):
            case List() | Grid():
                return code
            case Set() if not ordered:
                return code
            case PerSeat() | PerValue():
                return f"{code}.values()"
            case _:  # in the order of the reference, which `values` knows for every collection
                return f"values({code})"

    def sized(self, expr: Expr, scope: CodeScope) -> str:
        """Returns code of a value no larger than was assumed, to be used so that none raises."""
        code = self.code(expr, scope)
        if self.known.known_size(expr) is not None:
            return code
        return f"small({code}, {self.most})"

    def gathers(self, expr: Expr) -> bool:
        """Returns whether `comprehension` writes an expression: a comprehension whose items, of
        several `for`, are known to be no more than the reference allows."""
        loops = ex.loops_of(expr)
        return bool(loops) and (len(loops) == 1 or self.known.known_size(expr) is not None)

    def comprehension(self, expr: Expr, scope: CodeScope, *, ordered: bool = True) -> str:
        """`item for targets in source if condition`, with further `for` where there are several."""
        return " ".join(self._loops(ex.loops_of(expr), scope, ordered=ordered))

    def _loops(
        self, loops: tuple[ex.Collect, ...], scope: CodeScope, *, ordered: bool
    ) -> tuple[str, str]:
        """Returns the code of the item of some loops, and that of their `for` and `if`."""
        expr, *others = loops
        source = self.elements(expr.source, scope, keyed=expr.keyed, ordered=ordered)
        ahead = ""
        parts = (expr.item,) if expr.condition is None else (expr.condition, expr.item)
        size = self.known.known_size(expr.source)
        early = independent_parts(parts, set(expr.targets), reads=size is None or size > 6)
        if early:  # work out once what does not depend on the element
            codes = [self.code(part, scope) for part in early]
            names = [f"h{len(scope.values) + i}" for i in range(len(codes))]
            ahead = f"for {', '.join(names)}, items in (({', '.join(codes)}, {source}),) "
            source = "items"
            scope = scope.with_values(dict(zip(map(id, early), names, strict=True)))
        inner = scope.bound(**{name: f"{name}_" for name in expr.targets})
        target = ", ".join(f"{name}_" for name in expr.targets)
        loop = f"{ahead}for {target} in {source}"
        if expr.condition is not None:
            loop += f" if {self.truth(expr.condition, inner)}"
        if not others:
            return self.code(expr.item, inner), loop
        if id(expr.item) in inner.values:  # the inner lists do not depend on the element
            name = f"e{len(inner.values)}"
            return name, f"{loop} for {name} in {inner.values[id(expr.item)]}"
        item, more = self._loops(tuple(others), inner, ordered=ordered)
        return item, f"{loop} {more}"

    def elements(
        self, source: Expr, scope: CodeScope, *, keyed: bool, ordered: bool = True
    ) -> str:  # fmt: skip
        """Returns code that iterates over a collection, or over pairs of key and element."""
        if not keyed:
            return self.items(source, scope, ordered=ordered)
        code = self.sized(source, scope)
        match plain(source.type):
            case PerSeat() | PerValue():
                return f"{code}.items()"
            case List() | Grid():
                return f"enumerate({code})"
            case _:  # `pairs` knows every collection
                return f"pairs({code})"

    def graph(self, adjacency: Adjacency) -> str:
        """Returns the name of a graph."""
        return self.module.table("GRAPH", f"graph_of({self.module.constant(adjacency)})")

    def components_slot(self, grid: str, adjacency: Adjacency) -> str:
        """Returns the place in the state of the connected components of a grid."""
        return f"s.{self.module.slot('g', f'{grid}_{self.graph(adjacency)}')}"

    def connections(self, grid: str, adjacency: Adjacency) -> str:
        """Returns the name of the list of the connections that are asked for in a grid."""
        key = f"connections of {self.components_slot(grid, adjacency)}"
        if key not in self._written:
            self._written[key] = self.module.own("CONNECTIONS", "[]")
        return self._written[key]

    def empty_slot(self, grid: str) -> str:
        """Returns the place in the state of the list of the empty cells of a grid."""
        return f"s.{self.module.slot('e', grid)}"

    def fixed(self, expr: Expr) -> Any:
        """Returns the value of an expression that reads no play: of variables, none but the shape
        of grids. None where it reads play, or has no value."""
        grids: dict[str, tuple[None, ...]] = {}
        if not self.known.is_quick(expr) or not self._is_fixed(expr, grids):
            return None
        with suppress(Exception):
            return evaluate(expr, Scope(self.seats, bindings=grids, lets=self._lets))
        return None

    def _is_fixed(self, expr: Expr, grids: dict[str, tuple[None, ...]]) -> bool:
        """Returns whether an expression reads no play; `grids` gets empty grids of the shapes that
        it reads."""
        shapes = {
            id(part.arguments[0])
            for part in ex.walk(expr)
            if isinstance(part, ex.Apply) and part.function == "cells"
        }
        for part in ex.walk(expr):
            if isinstance(part, ex.Read) and isinstance(part.type, Grid) and id(part) in shapes:
                if not self.known.is_some(part):
                    return False
                grids[part.name] = (None,) * (part.type.rows * part.type.columns)
            elif isinstance(part, ex.LetCall):
                let = self._lets[part.name]
                if self.known.is_seated(let) or not self._is_fixed(let.body, grids):
                    return False
            elif isinstance(part, _PLAY):
                return False
        return True

    def lowest(self, rows: int, columns: int) -> str:
        """Returns the function that lists the positions of the lowest empty cells of a grid."""
        name = f"lowest_{rows}_{columns}"
        if name not in self._written:
            self._written[name] = name
            lines = CodeLines(f"def {name}(cells):")
            lines("found = []")
            for column in range(columns):
                word = "if"
                for row in reversed(range(rows)):
                    with lines.block(f"{word} cells[{row * columns + column}] is None:"):
                        lines(f"found.append({row * columns + column})")
                    word = "elif"
            lines("return found")
            self.module.add(lines)
        return name

    # forms

    def _const(self, expr: ex.Const, scope: CodeScope) -> str:
        return self.module.constant(expr.value)

    def _read(self, expr: ex.Read, scope: CodeScope) -> str:
        return scope.held.get(expr.name) or f"s.{self.module.slot('v', expr.name)}"

    def _last_by(self, expr: ex.LastBy, scope: CodeScope) -> str:
        return f"s.{self.module.slot('b', expr.name)}"

    def _past(self, expr: ex.Past, scope: CodeScope) -> str:
        return f"s.{self.module.slot('p', expr.name)}"

    def _local(self, expr: ex.Local, scope: CodeScope) -> str:
        if expr.name not in scope.locals:
            raise UnsupportedError(f"the local {expr.name}")
        return scope.locals[expr.name]

    def _me(self, expr: ex.Me, scope: CodeScope) -> str:
        return scope.me

    def _stream(self, expr: ex.Stream, scope: CodeScope) -> str:
        if not scope.streams:
            raise UnsupportedError("a stream")
        return f"{scope.streams}[{expr.name!r}]"

    def _apply(self, expr: ex.Apply, scope: CodeScope) -> str:
        if all(isinstance(argument, ex.Const) for argument in expr.arguments):
            with suppress(Exception):
                return self.module.constant(evaluate(expr, Scope(self.seats)))
        row = BUILTINS.get(expr.function)
        form = self._inline.get(expr.function if row is None else row.code)
        code = form(self, expr, scope) if form is not None else None
        return self.call(expr, scope) if code is None else code

    def call(self, expr: ex.Apply, scope: CodeScope) -> str:
        """The code of a built-in by its template, or a call of the function that the reference
        calls."""
        row = BUILTINS[expr.function]
        allowed = row.takes_none
        codes = []
        for place, argument in enumerate(expr.arguments):
            code = self.code(argument, scope)
            if place in allowed or self.known.is_some(argument):
                guarded = code
            else:
                guarded = f"some({code})"
            if place == 0 and self.known.known_size(argument) is None:
                guarded = f"small{'_or_none' if place in allowed else ''}({code}, {self.most})"
            codes.append(guarded)
        if "{" in row.code:
            result = row.code.format(*codes)
        else:
            run = self.module.table(f"run_{expr.function}", f"BUILTINS[{expr.function!r}].run")
            result = f"{run}({', '.join(codes)})"
        if self.known.known_size(expr) is None:
            return f"small_or_none({result}, {self.most})"
        return result

    def _logic(self, expr: ex.Logic, scope: CodeScope) -> str:
        left, right = self.truth(expr.left, scope), self.truth(expr.right, scope)
        return f"({left} {expr.op} {right})"

    def _if(self, expr: ex.If, scope: CodeScope) -> str:
        then, other = self.code(expr.then, scope), self.code(expr.other, scope)
        return f"({then} if {self.truth(expr.test, scope)} else {other})"

    def _get(self, expr: ex.Get, scope: CodeScope) -> str:
        of, key = self.code(expr.of, scope), self.code(expr.key, scope)
        match plain(expr.of.type):
            case PerSeat():
                found = f"{of}.get({key})"
            case PerValue(key=kind) if not _has_none(kind):
                found = f"{of}.get({key})"
            case List() | Grid() | Record() if _from_zero(expr.key):
                found = f"{of}[{key}]"
            case _:  # `get` knows every collection, and reports what has no such entry
                return f"get({of}, {key})"
        return self._of(expr.of, scope, of, found) or f"get({of}, {key})"

    def _field(self, expr: ex.Field, scope: CodeScope) -> str:
        of = self.code(expr.of, scope)
        found = None
        if isinstance(plain(expr.of.type), Tuple | Record):
            found = self._of(expr.of, scope, of, f"{of}[{expr.index}]")
        return found or f"field({of}, {expr.index})"

    def _of(self, of: Expr, scope: CodeScope, code: str, part: str) -> str | None:
        """Returns the code of a part of a value, none of none; None where the value's code is too
        long to be written twice."""
        if self.known.is_sure(of):
            return part
        if isinstance(of, ex.Read | ex.Local):
            return f"(None if {code} is None else {part})"
        return None

    def _cell(self, expr: ex.Cell, scope: CodeScope) -> str:
        of, key = self.code(expr.of, scope), self.code(expr.key, scope)
        return f"at_cell({of}, {key}, {expr.rows}, {expr.columns})"

    def _let_call(self, expr: ex.LetCall, scope: CodeScope) -> str:
        me = scope.me if expr.seat is None else self.code(expr.seat, scope)
        arguments = [self.code(argument, scope) for argument in expr.arguments]
        return self._called(expr.name, me, arguments, scope)

    def _let_map(self, expr: ex.LetMap, scope: CodeScope) -> str:
        pairs = (f"{seat!r}: {self._called(expr.name, repr(seat), [], scope)}"
                 for seat in self.seats)  # fmt: skip
        return f"{{{', '.join(pairs)}}}"

    def _called(self, name: str, me: str, arguments: list[str], scope: CodeScope) -> str:
        let = self._lets[name]
        if any(variable in scope.held for variable in self.known.variables(let.body)):
            raise UnsupportedError(f"`{name}` reads what is not in the state")
        if not let.parameters and not self.known.is_seated(let):
            key = name, scope.streams
            if key not in self._short:
                code = self.code(let.body, CodeScope(streams=scope.streams))
                self._short[key] = code if len(code) <= SHORT else ""
            if self._short[key]:
                return self._short[key]
        if name not in self._written:
            self._written[name] = self.module.name(self._prefix, name)
            self._define(let, self._written[name])
        given = [me] if self.known.is_seated(let) else []
        streams = ["streams"] if self._prefix != "let" else []
        return f"{self._written[name]}({', '.join(['s', *streams, *given, *arguments])})"

    def _define(self, let: Let, name: str) -> None:
        """Writes the function of a let."""
        locals = {parameter: f"{parameter}_" for parameter in let.parameters}
        seated = self.known.is_seated(let)
        given = ["me"] if seated else []
        streams = ["streams"] if self._prefix != "let" else []
        lines = CodeLines(f"def {name}({', '.join(['s', *streams, *given, *locals.values()])}):")
        lines.source(let.body.span)
        if let.per_seat:
            with lines.block("if me is None:"):
                lines("return None")
        scope = CodeScope("me" if seated else "None", locals, {}, "".join(streams))
        lines(f"return {self.code(let.body, scope)}")
        self.module.add(lines)

    def _table(self, expr: ex.Table, scope: CodeScope) -> str:
        key = "".join(f"{self.code(k, scope)}, " for k in expr.keys).rstrip()
        cells = expr.cells
        if all(isinstance(cell, ex.Const) for cell in cells.values()):
            values = {key: cell.value for key, cell in cells.items() if isinstance(cell, ex.Const)}
            return f"{self.module.table('T', literal(values))}[{key}]"
        locals = sorted(scope.locals)
        names = ", ".join(["s", "me", *(["streams"] if scope.streams else []),
                           *(f"{name}_" for name in locals)])  # fmt: skip
        inner = CodeScope(
            "me", {n: f"{n}_" for n in locals}, {}, "streams" if scope.streams else ""
        )
        if scope.held:
            raise UnsupportedError("a table of what is not in the state")
        pairs = ", ".join(
            f"{literal(key)}: lambda {names}: {self.code(cell, inner)}"
            for key, cell in cells.items()
        )
        given = ", ".join(["s", scope.me, *([scope.streams] if scope.streams else []),
                           *(scope.locals[name] for name in locals)])  # fmt: skip
        return f"{self.module.table('T', f'{{{pairs}}}')}[{key}]({given})"

    def _build(self, expr: ex.Build, scope: CodeScope) -> str:
        return f"({''.join(f'{self.code(item, scope)}, ' for item in expr.items).rstrip()})"

    def _collect(self, expr: ex.Collect, scope: CodeScope) -> str:
        return f"tuple([{self.comprehension(expr, scope)}])"


def _has_none(type: Type) -> bool:
    return not isinstance(type, Number | Enum | Seat | Bool)


def _from_zero(key: Expr) -> bool:
    """Returns whether a key is a whole number from 0."""
    if isinstance(key, ex.Const):
        return isinstance(key.value, int) and key.value >= 0
    return isinstance(key.type, Number) and key.type.low is not None and key.type.low >= 0
