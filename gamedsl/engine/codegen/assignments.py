"""Statements and places as Python: what is stored where, and whether it may be."""

from __future__ import annotations

from gamedsl.engine.codegen.bounds import rows
from gamedsl.engine.codegen.expressions import Expressions, Reader
from gamedsl.engine.codegen.facts import Facts, takes_none
from gamedsl.engine.codegen.writer import Lines, type_literal
from gamedsl.engine.flow import Flow
from gamedsl.engine.storage import misfit
from gamedsl.ir.expr import Const, Expr
from gamedsl.ir.statements import Add, Assign, Drop, DropItem, ForEach, Key, Place, Statement
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
    Tuple,
    Type,
)


class Storing:
    """Writes what changes variables."""

    def __init__(self, make: Expressions, run: Flow, facts: Facts) -> None:
        self.flagged = facts.flagged
        self._make = make
        self._flow = run
        self._lined = facts.lined

    def variable(self, name: str) -> str:
        return f"s.{self._make.module.slot('v', name)}"

    def put(self, lines: Lines, variable: str, code: str) -> None:
        """A variable gets another value."""
        lines(f"{self.variable(variable)} = {code}")
        if variable in self._lined:
            self._forget(lines, variable)

    def _forget(self, lines: Lines, grid: str) -> None:
        """What is kept beside a grid is no longer so."""
        module = self._make.module
        lines(f"s.{module.slot('m', grid)} = None")
        for length in self._lined[grid][2]:
            lines(f"s.{module.slot('l', f'{grid}_{length}')} = UNKNOWN")

    def bind(self, lines: Lines, variable: str, code: str) -> None:
        """A step binds a variable."""
        self.put(lines, variable, code)
        if variable in self.flagged:
            lines(f"s.{self._make.module.slot('f', variable)} = True")

    def unbind(self, lines: Lines, variable: str, *, by_seat: bool = True) -> None:
        """Forget what a variable holds and, `by_seat`, whose it was."""
        self.put(lines, variable, "None")
        if variable in self.flagged:
            lines(f"s.{self._make.module.slot('f', variable)} = False")
        if by_seat and variable in self._flow.by_seat:
            lines(f"s.{self._make.module.slot('b', variable)} = EMPTY")

    def remember(self, lines: Lines, variable: str) -> None:
        """Keep the value of a variable among its past ones, where these are read."""
        if variable in self._flow.past:
            slot = self._make.module.slot("p", variable)
            lines(f"s.{slot} = (*s.{slot}, {self.variable(variable)})")

    # places

    def path(self, place: Place, reader: Reader) -> list[str]:
        """The codes of the keys of a place."""
        return [self._key(key, reader) for key in place.keys]

    def _key(self, key: Key, reader: Reader) -> str:
        if key.kind == "field":
            return str(key.size[0])
        assert key.expr is not None
        code = self._make.value(key.expr, reader)
        if key.kind == "cell":
            rows, columns = key.size
            return f"{self._make.module.table('CELL', f'cells_of({rows}, {columns})')}[{code}]"
        return code if self._make.is_some(key.expr) or code == "s.me" else f"entry({code})"

    def store(
        self, lines: Lines, place: Place, path: list[str], new: str, *, there: bool = False
    ) -> None:  # fmt: skip
        """Put a value that fits at a place whose keys have been worked out; `there` if the value
        was worked out from what the place holds."""
        whole = self.variable(place.variable)
        if not path:
            self.put(lines, place.variable, new)
        elif len(path) > 1:
            self.put(lines, place.variable, f"put({whole}, ({', '.join(path)},), {new})")
        elif not place.keys or place.keys[0].kind == "entry":
            code = f"{{**{whole}, {path[0]}: {new}}}"
            code = code if there else f"put_entry({whole}, {path[0]}, {new})"
            self.put(lines, place.variable, code)
        elif place.keys[0].kind == "cell" and place.variable in self._lined:
            self._mark(lines, place, path[0], new)
        else:
            self.put(lines, place.variable, f"put_item({whole}, {path[0]}, {new})")

    def _mark(self, lines: Lines, place: Place, key: str, new: str) -> None:
        """Change one cell of a grid; look for new lines among those that it is in."""
        module, grid = self._make.module, place.variable
        rows, columns, lengths = self._lined[grid]
        whole, masks = self.variable(grid), f"s.{module.slot('m', grid)}"
        lines(f"at, new = {key}, {new}")
        with lines.block(f"if {masks} is None or new is None or {whole}[at] is not None:"):
            self._forget(lines, grid)
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
        lines(f"cells = [*{whole}]")
        lines("cells[at] = new")
        lines(f"{whole} = tuple(cells)")

    def part(self, place: Place, path: list[str]) -> str:
        """The code of what lies at a place."""
        whole = self.variable(place.variable)
        if not path:
            return whole
        if len(path) == 1 and place.keys and place.keys[0].kind == "entry":
            return f"{whole}[{path[0]}]"
        return f"part_of({whole}, ({', '.join(path)},))"

    # statements

    def statement(self, lines: Lines, statement: Statement, reader: Reader) -> None:
        lines.source(statement.span)
        if isinstance(statement, ForEach):
            self._for_each(lines, statement, reader)
            return
        make, place = self._make, statement.place
        path = self.path(place, reader)
        if isinstance(statement, Assign):
            code = make.value(statement.value, reader)
            self.store(lines, place, path, self.fitting(code, statement.value, place.type))
            return
        if path and not all(_is_simple(key) for key in path):
            lines(f"path = ({', '.join(path)},)")
            path = [f"path[{i}]" for i in range(len(path))]
        old = self.part(place, path)
        if isinstance(statement, DropItem):
            code = make.value(statement.index, reader)
            self.store(lines, place, path, f"without_item({old}, {code})", there=True)
        elif isinstance(statement, Drop):
            code = make.value(statement.value, reader)
            self.store(lines, place, path, f"with_less({old}, {code})", there=True)
        else:
            code = make.value(statement.value, reader)
            self.store(
                lines,
                place,
                path,
                self.added(
                    old,
                    code,
                    statement.value.type,
                    place.type,
                    is_some=make.is_some(statement.value),
                ),
                there=True,
            )

    def added(
        self, old: str, code: str, value: Type, type: Type, *, is_some: bool = False
    ) -> str:  # fmt: skip
        """The code of a collection with one more item, of the type `value`, if it may hold it."""
        match type:
            case List(of=inner, length=length, at_most=most):
                code = self.fit(code, value, inner, is_some=is_some) if _bounded(type) else code
                bounds = [bound for bound in (length, most) if bound is not None]
                more = f"{old} + ({code},)"
                return f"few({more}, {min(bounds)})" if bounds else more
            case Set(of=inner) | Bag(of=inner):
                code = self.fit(code, value, inner, is_some=is_some) if _bounded(inner) else code
                return f"with_more({old}, {code})"
        return self.checked(f"with_more({old}, {code})", type)

    def _for_each(self, lines: Lines, statement: ForEach, reader: Reader) -> None:
        """All that is written is worked out first; then it is carried out."""
        leaf: Statement = statement
        heads = []
        while isinstance(leaf, ForEach):
            heads.append(leaf)
            leaf = leaf.body
        lines("found = []")
        self._rows(lines, heads, leaf, reader)
        place = leaf.place
        keys = [f"path[{i}]" for i in range(len(place.keys))]
        if isinstance(leaf, Assign):
            loop = "for path, value in settled_on(found).items():"
        elif isinstance(leaf, DropItem):
            loop = "for path, value in sorted(found, key=lambda row: -row[1]):"
        else:
            loop = "for path, value in found:"
        with lines.block(loop):
            old = self.part(place, keys)
            if isinstance(leaf, Assign):
                new = self.fitting("value", leaf.value, place.type)
            elif isinstance(leaf, DropItem):
                new = f"without_item({old}, value)"
            elif isinstance(leaf, Drop):
                new = f"with_less({old}, value)"
            else:
                new = self.added(
                    old,
                    "value",
                    leaf.value.type,
                    place.type,
                    is_some=self._make.is_some(leaf.value),
                )
            self.store(lines, place, keys, new, there=not isinstance(leaf, Assign))

    def _rows(
        self, lines: Lines, heads: list[ForEach], leaf: Assign | Add | Drop | DropItem,
        reader: Reader,
    ) -> None:  # fmt: skip
        make = self._make
        if not heads:
            path = "".join(f"{key}, " for key in self.path(leaf.place, reader)).rstrip()
            value = leaf.index if isinstance(leaf, DropItem) else leaf.value
            lines(f"found.append((({path}), {make.value(value, reader)}))")
            return
        head = heads[0]
        names = {name: f"{name}_" for name in head.targets}
        inner = reader.bound(**names)
        source = make.elements(head.source, reader, keyed=head.keyed)
        if make.is_beyond(rows(head)):
            source = "beyond()"
        with lines.block(f"for {', '.join(names.values())} in {source}:"):
            if head.condition is not None:
                with lines.block(f"if {make.truth(head.condition, inner)}:"):
                    self._rows(lines, heads[1:], leaf, inner)
            else:
                self._rows(lines, heads[1:], leaf, inner)

    # what may be stored

    def fitting(self, code: str, value: Expr, type: Type) -> str:
        """The code of a value that may be stored under a type."""
        if isinstance(value, Const) and misfit(value.value, type) is None:
            return code
        given = value.type
        if isinstance(given, List):
            given = List(given.of, None, self._make.bounds.known_size(value))
        return self.fit(code, given, type, is_some=self._make.is_some(value))

    def fit(self, code: str, value: Type, type: Type, *, is_some: bool = False) -> str:
        """The code of a value of one type that may be stored under another."""
        if not _contains(type, value):
            if isinstance(type, List) and isinstance(value, List):
                bounds = [b for b in (type.length, type.at_most) if b is not None]
                if bounds and _contains(List(type.of), value):
                    return f"few({code}, {min(bounds)})"
            return self.checked(code, type)
        return code if is_some or takes_none(type) else f"some({code})"

    def checked(self, code: str, type: Type) -> str:
        """The code of a value, checked in play."""
        match type:
            case Number(low=int() as low, high=int() as high):
                return f"in_range({code}, {low}, {high})"
            case Option(of=Number(low=int() as low, high=int() as high)):
                return f"in_range_or_none({code}, {low}, {high})"
        if not _bounded(type):
            return code if takes_none(type) else f"some({code})"
        return f"fits({code}, {self._make.module.table('TYPE', type_literal(type))})"


def _bounded(type: Type) -> bool:
    """Whether a type says something that is not proved when the game is compiled."""
    match type:
        case Number(low=low):
            return low is not None
        case Bool() | Enum() | Seat() | NoneType() | Never():
            return False
        case Option(of=inner) | Set(of=inner) | Bag(of=inner) | Grid(of=inner):
            return _bounded(inner)
        case PerSeat(of=inner) | PerValue(of=inner):
            return _bounded(inner)
        case List(of=inner, length=length, at_most=most):
            return length is not None or most is not None or _bounded(inner)
        case Tuple(of=types) | Record(types=types):
            return any(map(_bounded, types))
    return False


def _contains(type: Type, value: Type) -> bool:
    """Whether every value of one type, none aside, may be stored under another without a check."""
    if not _bounded(type):
        return True
    match type, value:
        case Option(of=inner), Option(of=other):
            return _contains(inner, other)
        case Option(of=inner), _:
            return _contains(inner, value)
        case Number(low=int() as low, high=int() as high), Number(low=int() as a, high=int() as b):
            return low <= a and b <= high
        case List(of=inner, length=length, at_most=most), List(of=other, length=n, at_most=m):
            bounds = [bound for bound in (length, most) if bound is not None]
            known = n if m is None else m
            return (not bounds or (known is not None and known <= min(bounds))) and _contains(
                inner, other
            )
        case (Set(of=inner), Set(of=other)) | (Bag(of=inner), Bag(of=other)):
            return _contains(inner, other)
        case (Grid(of=inner), Grid(of=other)) | (PerSeat(of=inner), PerSeat(of=other)):
            return _contains(inner, other)
        case PerValue(of=inner), PerValue(of=other):
            return _contains(inner, other)
        case ((Tuple() | Record()), (Tuple() | Record())):
            wanted = type.types if isinstance(type, Record) else type.of
            given = value.types if isinstance(value, Record) else value.of
            return len(wanted) == len(given) and all(map(_contains, wanted, given))
    return False


def _is_simple(code: str) -> bool:
    """Whether a key's code may stand twice."""
    return code.isidentifier() or code == "s.me" or code.isdigit() or code[:1] == "'"
