"""Statements and places as Python: storing values, and checking them."""

from __future__ import annotations

from typing import assert_never

from gamedsl.engine.codegen.expressions import CodeScope, Expressions
from gamedsl.engine.codegen.facts import GameFacts
from gamedsl.engine.codegen.work import iteration
from gamedsl.engine.codegen.writer import CodeLines, type_literal
from gamedsl.engine.flow import FlatProgram
from gamedsl.engine.storage import admits_none, is_bounded, misfit, most_items
from gamedsl.ir.expr import Const, Expr
from gamedsl.ir.statements import (
    Add,
    Assign,
    Drop,
    DropItem,
    ForEach,
    Key,
    Place,
    Statement,
    Write,
    write_of,
)
from gamedsl.ir.types import (
    Bag,
    Bool,
    Enum,
    Grid,
    List,
    Never,
    NoneType,
    Number,
    Option,
    PerSeat,
    PerValue,
    Record,
    Seat,
    Set,
    Text,
    Tuple,
    Type,
    Union,
)  # fmt: skip


class AssignmentWriter:
    """Writes the code that changes variables."""

    def __init__(self, make: Expressions, run: FlatProgram, facts: GameFacts) -> None:
        self.flagged = facts.flagged
        self._make = make
        self._flow = run
        self._lined = facts.lined
        self._linked = facts.linked
        self._emptied = facts.emptied

    def variable(self, name: str) -> str:
        return f"s.{self._make.module.slot('v', name)}"

    def put(self, lines: CodeLines, variable: str, code: str) -> None:
        """Writes another value of a variable."""
        lines(f"{self.variable(variable)} = {code}")
        if self._is_cached(variable):
            self._forget(lines, variable)
            if variable in self._emptied:
                lines(f"{self._make.empty_slot(variable)} = None")

    def _is_cached(self, variable: str) -> bool:
        """Returns whether something is cached beside a variable, a grid."""
        return variable in self._lined or variable in self._linked or variable in self._emptied

    def _forget(self, lines: CodeLines, grid: str) -> None:
        """Discards what is cached beside a grid, but for its empty cells."""
        self._forget_lines(lines, grid)
        for graph in self._linked.get(grid, ()):
            lines(f"{self._make.components_slot(grid, graph)} = None")

    def _forget_lines(self, lines: CodeLines, grid: str) -> None:
        """Discards the line and the masks that are cached beside a grid."""
        if grid not in self._lined:
            return
        module = self._make.module
        lines(f"s.{module.slot('m', grid)} = None")
        for length in self._lined[grid][2]:
            lines(f"s.{module.slot('l', f'{grid}_{length}')} = UNKNOWN")

    def bind(self, lines: CodeLines, variable: str, code: str) -> None:
        """Writes the binding of a variable by a step."""
        self.put(lines, variable, code)
        if variable in self.flagged:
            lines(f"s.{self._make.module.slot('f', variable)} = True")

    def unbind(self, lines: CodeLines, variable: str, *, by_seat: bool = True) -> None:
        """Unbinds a variable and, `by_seat`, the last choice of each seat."""
        self.put(lines, variable, "None")
        if variable in self.flagged:
            lines(f"s.{self._make.module.slot('f', variable)} = False")
        if by_seat and variable in self._flow.by_seat:
            lines(f"s.{self._make.module.slot('b', variable)} = EMPTY")

    def remember(self, lines: CodeLines, variable: str) -> None:
        """Appends the value of a variable to its past values, where these are read."""
        if variable in self._flow.past:
            slot = self._make.module.slot("p", variable)
            lines(f"s.{slot} = (*s.{slot}, {self.variable(variable)})")

    # places

    def path(self, place: Place, scope: CodeScope) -> list[str]:
        """Returns the code of each key of a place."""
        return [self._key_code(key, scope) for key in place.keys]

    def _key_code(self, key: Key, scope: CodeScope) -> str:
        if key.kind == "field":
            return str(key.size[0])
        assert key.expr is not None
        code = self._make.value(key.expr, scope)
        if key.kind == "cell":
            rows, columns = key.size
            return f"{self._make.module.table('CELL', f'cells_of({rows}, {columns})')}[{code}]"
        return code if self._make.known.is_some(key.expr) or code == "s.me" else f"entry({code})"

    def store(
        self, lines: CodeLines, place: Place, path: list[str], new: str, *, there: bool = False
    ) -> None:  # fmt: skip
        """Stores a value that fits at a place whose keys have been worked out; `there` says that
        the value was worked out from what the place holds."""
        whole = self.variable(place.variable)
        if not path:
            self.put(lines, place.variable, new)
        elif len(path) > 1:
            self.put(lines, place.variable, f"put({whole}, ({', '.join(path)},), {new})")
        elif not place.keys or place.keys[0].kind == "entry":
            code = f"{{**{whole}, {path[0]}: {new}}}"
            code = code if there else f"put_entry({whole}, {path[0]}, {new})"
            self.put(lines, place.variable, code)
        elif place.keys[0].kind == "cell" and self._is_cached(place.variable):
            self._mark(lines, place, path[0], new)
        else:
            self.put(lines, place.variable, f"put_item({whole}, {path[0]}, {new})")

    def _mark(self, lines: CodeLines, place: Place, key: str, new: str) -> None:
        """Changes one cell of a grid; looks for new lines through it, joins the connected
        components beside it, and takes it from the empty cells."""
        grid = place.variable
        whole, empty = self.variable(grid), ""
        lines(f"at, new = {key}, {new}")
        with lines.block(f"if new is None or {whole}[at] is not None:"):
            self._forget(lines, grid)
            if grid in self._emptied:
                empty = self._make.empty_slot(grid)
                with lines.block("if new is None:"):
                    lines(f"{empty} = None")
        with lines.block("else:"):
            self._mark_lines(lines, grid)
            for graph in self._linked.get(grid, ()):
                slot, name = self._make.components_slot(grid, graph), self._make.graph(graph)
                known = self._make.connections(grid, graph)
                with lines.block(f"if {slot} is not None:"):
                    lines(f"{slot} = linked({slot}, new, at, {name}, {known})")
            if empty:
                with lines.block(f"if {empty} is not None:"):
                    lines(f"{empty} = less_cell({empty}, at)")
        lines(f"cells = [*{whole}]")
        lines("cells[at] = new")
        lines(f"{whole} = tuple(cells)")

    def _mark_lines(self, lines: CodeLines, grid: str) -> None:
        """Looks for new lines through an empty cell that is filled."""
        if grid not in self._lined:
            return
        module = self._make.module
        rows, columns, lengths = self._lined[grid]
        masks = f"s.{module.slot('m', grid)}"
        with lines.block(f"if {masks} is None:"):
            self._forget_lines(lines, grid)
        with lines.block("else:"):
            lines(f"mask = {masks}.get(new, 0) | 1 << at")
            lines(f"{masks} = {{**{masks}, new: mask}}")
            for length in lengths:
                slot = f"s.{module.slot('l', f'{grid}_{length}')}"
                through = module.table("LINES", f"lines_through({rows}, {columns}, {length})")
                with lines.block(f"if {slot} is not None:"):
                    lines(f"{slot} = UNKNOWN")
                with (
                    lines.block("else:"),
                    lines.block(f"for line in {through}[at]:"),
                    lines.block("if mask & line == line:"),
                ):
                    lines(f"{slot} = new")
                    lines("break")

    def part(self, place: Place, path: list[str]) -> str:
        """Returns the code of the part at a place."""
        whole = self.variable(place.variable)
        if not path:
            return whole
        if len(path) == 1 and place.keys and place.keys[0].kind == "entry":
            return f"{whole}[{path[0]}]"
        return f"part_of({whole}, ({', '.join(path)},))"

    # statements

    def statement(self, lines: CodeLines, statement: Statement, scope: CodeScope) -> None:
        """Writes the code of a statement."""
        lines.source(statement.span)
        match statement:
            case ForEach():
                self._for_each(lines, statement, scope)
            case Assign() | Add() | Drop() | DropItem():
                self._write(lines, statement, scope)
            case _:
                assert_never(statement)

    def _write(self, lines: CodeLines, write: Write, scope: CodeScope) -> None:
        place, changes = write.place, not isinstance(write, Assign)
        path = self.path(place, scope)
        if changes and path and not all(_is_simple(key) for key in path):
            lines(f"path = ({', '.join(path)},)")
            path = [f"path[{i}]" for i in range(len(path))]
        code = self._make.value(_operand(write), scope)
        self.store(lines, place, path, self._new(write, path, code), there=changes)

    def _new(self, write: Write, path: list[str], code: str) -> str:
        """Returns the code of the new value at a path; `code` is that of the write's operand."""
        place = write.place
        match write:
            case Assign(value=value):
                return self.fitting(code, value, place.type)
            case Add(value=value):
                some = self._make.known.is_some(value)
                return self.added(
                    self.part(place, path), code, value.type, place.type, is_some=some
                )
            case Drop():
                return f"with_less({self.part(place, path)}, {code})"
            case DropItem():
                return f"without_item({self.part(place, path)}, {code})"
        assert_never(write)

    def added(
        self, old: str, code: str, value: Type, type: Type, *, is_some: bool = False
    ) -> str:  # fmt: skip
        """Returns the code of a collection with one more item, of the type `value`, if it may hold
        it."""
        match type:
            case List(of=inner):
                code = self.fit(code, value, inner, is_some=is_some) if is_bounded(type) else code
                most, more = most_items(type), f"{old} + ({code},)"
                return more if most is None else f"few({more}, {most})"
            case Set(of=inner) | Bag(of=inner):
                code = self.fit(code, value, inner, is_some=is_some) if is_bounded(inner) else code
                return f"with_more({old}, {code})"
            case _:  # perhaps none: checked as a whole in play
                return self.checked(f"with_more({old}, {code})", type)

    def _for_each(self, lines: CodeLines, statement: ForEach, scope: CodeScope) -> None:
        """Writes the code that works out all writes first, and then carries them out."""
        write = write_of(statement)
        lines("found = []")
        self._rows(lines, statement, scope)
        place = write.place
        keys = [f"path[{i}]" for i in range(len(place.keys))]
        with lines.block(f"for path, value in {_in_order(write)}:"):
            new = self._new(write, keys, "value")
            self.store(lines, place, keys, new, there=not isinstance(write, Assign))

    def _rows(self, lines: CodeLines, statement: Statement, scope: CodeScope) -> None:
        """Writes the loops that append the path and the operand of each write to `found`."""
        make = self._make
        if not isinstance(statement, ForEach):
            path = "".join(f"{key}, " for key in self.path(statement.place, scope)).rstrip()
            lines(f"found.append((({path}), {make.value(_operand(statement), scope)}))")
            return
        names = {name: f"{name}_" for name in statement.targets}
        inner = scope.bound(**names)
        source = make.elements(statement.source, scope, keyed=statement.keyed)
        if make.known.is_beyond(iteration(statement)):
            source = "beyond()"
        with lines.block(f"for {', '.join(names.values())} in {source}:"):
            if statement.condition is not None:
                with lines.block(f"if {make.truth(statement.condition, inner)}:"):
                    self._rows(lines, statement.body, inner)
            else:
                self._rows(lines, statement.body, inner)

    # what may be stored

    def fitting(self, code: str, value: Expr, type: Type) -> str:
        """Returns the code of a value that may be stored under a type."""
        if isinstance(value, Const) and misfit(value.value, type) is None:
            return code
        given = value.type
        if isinstance(given, List):
            given = List(given.of, None, self._make.known.known_size(value))
        return self.fit(code, given, type, is_some=self._make.known.is_some(value))

    def fit(self, code: str, value: Type, type: Type, *, is_some: bool = False) -> str:
        """Returns the code of a value of one type that may be stored under another."""
        if not _contains(type, value):
            if isinstance(type, List) and isinstance(value, List):
                most = most_items(type)
                if most is not None and _contains(List(type.of), value):
                    return f"few({code}, {most})"
            return self.checked(code, type)
        return code if is_some or admits_none(type) else f"some({code})"

    def checked(self, code: str, type: Type) -> str:
        """Returns the code of a value that is checked in play."""
        match type:
            case Number(low=int() as low, high=int() as high):
                return f"in_range({code}, {low}, {high})"
            case Option(of=Number(low=int() as low, high=int() as high)):
                return f"in_range_or_none({code}, {low}, {high})"
            case _:  # `fits` checks any type
                pass
        if not is_bounded(type):
            return code if admits_none(type) else f"some({code})"
        return f"fits({code}, {self._make.module.table('TYPE', type_literal(type))})"


def _contains(type: Type, value: Type) -> bool:
    """Returns whether every value of the type `value`, none aside, may be stored under `type`
    without a check."""
    if not is_bounded(type):
        return True
    match type:
        case Option(of=inner):
            return _contains(inner, value.of if isinstance(value, Option) else value)
        case Number(low=low, high=high):
            if low is None or high is None or not isinstance(value, Number):
                return False
            if value.low is None or value.high is None:
                return False
            return low <= value.low and value.high <= high
        case List(of=inner):
            if not isinstance(value, List):
                return False
            most = most_items(type)
            known = value.length if value.at_most is None else value.at_most
            few = most is None or (known is not None and known <= most)
            return few and _contains(inner, value.of)
        case Set(of=inner) | Bag(of=inner) | Grid(of=inner) | PerSeat(of=inner):
            if not isinstance(value, Set | Bag | Grid | PerSeat):
                return False
            return value.__class__ is type.__class__ and _contains(inner, value.of)
        case PerValue(of=inner):
            return isinstance(value, PerValue) and _contains(inner, value.of)
        case Tuple(of=wanted) | Record(types=wanted):
            if not isinstance(value, Tuple | Record):
                return False
            given = value.of if isinstance(value, Tuple) else value.types
            return len(wanted) == len(given) and all(map(_contains, wanted, given))
        case Bool() | Enum() | Seat() | NoneType() | Text() | Never() | Union():
            return True
    assert_never(type)


def _operand(write: Write) -> Expr:
    """Returns the expression of a write: the value that is stored or dropped, or the index."""
    return write.index if isinstance(write, DropItem) else write.value


def _in_order(write: Write) -> str:
    """Returns the code of what a `for` found, in an order in which it can be written."""
    match write:
        case Assign():
            return "settled_on(found).items()"
        case DropItem():
            return "sorted(found, key=lambda row: -row[1])"
        case Add() | Drop():
            return "found"
    assert_never(write)


def _is_simple(code: str) -> bool:
    """Returns whether the code of a key may be written twice."""
    return code.isidentifier() or code == "s.me" or code.isdigit() or code[:1] == "'"
