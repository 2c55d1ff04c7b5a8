"""`state:` sections: variables with a type, a value at the start, and readers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, assert_never

from gamedsl.diagnostics import Note, Problems
from gamedsl.frontend.source.nodes import Entry, Mapping, Node, Scalar, Sequence
from gamedsl.ir import expr as ir
from gamedsl.ir.builtins import values as elements
from gamedsl.ir.evaluate import EvaluationError, Scope, evaluate
from gamedsl.ir.statements import EVERYONE, State
from gamedsl.ir.types import (
    NEVER,
    NONE,
    SEAT,
    WHOLE,
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
    fits,
)
from gamedsl.ir.values import Bag as BagValue
from gamedsl.ir.values import name_of
from gamedsl.sema.scope import (
    StateName,
    TypeName,
    report_taken,
)
from gamedsl.sema.typer import Typer
from gamedsl.sema.types import Types
from gamedsl.sema.values import constant, syntax, why_undefined
from gamedsl.sema.visibility import has_owner, owner_advice, read_readers

MAX_COPIES = 10_000
"""Items of a bag at the start."""

MAX_CELLS = 1_000_000
"""Values that one variable holds, with all its indices and the cells of its grid."""


@dataclass(frozen=True)
class States:
    """Reads state variables and declares them among the names of `types`."""

    types: Types

    @property
    def typer(self) -> Typer:
        return self.types.typer

    @property
    def problems(self) -> Problems:
        return self.types.problems

    def declare(self, section: Node | None) -> tuple[State, ...]:
        found = []
        for entry in section.entries if isinstance(section, Mapping) else ():
            name, span = entry.key.text, entry.key.span
            names = self.types.names
            if report_taken(name, span, names.anywhere(name), self.problems):
                if name not in names.role_spans:  # of neither can anything be said
                    names.declared[name] = StateName(NEVER, span)
                continue
            state = self.read(entry)
            if state is None:
                self.types.names.broken.add(name)
                continue
            found.append(state)
            written = entry.value if isinstance(entry.value, Mapping) else Mapping((), span)
            holds = _is_collection(written) and not _may_be_unbound(state.start)
            self.types.names.declared[name] = StateName(state.type, span, holds)
        return tuple(found)

    def read(self, entry: Entry) -> State | None:
        name, node, span = entry.key.text, entry.value, entry.key.span
        if not isinstance(node, Mapping):
            found = self.value(node)
            if found is None:
                return None
            value, type = found
            wide = _widened(type)
            learned = self.typer.context.learned
            if wide == NONE and name in learned:
                wide = Option(learned[name])
            return State(name, wide, value, EVERYONE, span)
        inner = self.form(node)
        if inner is None:
            return None
        type, start = inner
        per = node.get("per")
        indices = per.items if isinstance(per, Sequence) else () if per is None else (per,)
        cells = len(start) if isinstance(type, Grid) else 1
        for index in reversed(indices):
            keyed = self.types.read(index)
            if keyed is None:
                return None
            cells *= len(keyed.choices)
            if cells > MAX_CELLS:
                self.problems.add(
                    "GD0421", f"`{name}` has more than {MAX_CELLS:,} parts", span,
                    why="one for each of its indices and cells",
                    notes=(Note(index.span, "it is for each of these"),),
                    help="keep fewer, or a list of those that differ from the start",
                )  # fmt: skip
                return None
            start = {value: start for _, value in keyed.choices}
            type = PerSeat(type) if keyed.type == SEAT else PerValue(keyed.type, type)
        readers = read_readers(node.get("seen_by"), self.typer)
        advice = owner_advice(node.get("per"))
        has_owner(readers, name, span, isinstance(type, PerSeat), self.problems, advice)
        lasts = node.get("lasts")
        if lasts is not None and not self.check_persistent(name, type, lasts):
            return None
        persistence: Literal["run"] | None = None if lasts is None else "run"
        size: Literal["hidden"] | None = None if node.get("size") is None else "hidden"
        return State(name, type, start, readers, span, persistence, size)

    def check_persistent(self, name: str, type: Type, node: Node) -> bool:
        """Whether state may last for a run: rules look into no text, so that a game is the same
        whatever is written there, and what has a limit can be kept and shown."""
        inner = type.of if isinstance(type, PerSeat) else type
        if isinstance(inner, Text) and inner.limit is not None:
            return True
        self.problems.add(
            "GD0486", f"`{name}` cannot last: it is {type}", node.span,
            why="a text with a limit may, one or one per role",
            help="write `of: text(200)`" if isinstance(inner, Text)
            else "let a role say it in words, into a variable `{of: text(200), lasts: run}`",
        )  # fmt: skip
        return False

    def form(self, node: Mapping) -> tuple[Type, Any] | None:
        """Reads the type and the start of one value: of a bag, list, set, grid, or a plain one."""
        if node.get("bag") is not None:
            return self.bag(node)
        start = node.get("start")
        if node.get("grid") is not None:
            size, of = self.types.size(node.get("grid")), node.get("of")
            inner = self.kind(of) if of is not None else None
            if size is None or inner is None:
                return None
            shape = node.get("neighbors")
            grid = Grid(*size, inner, shape.text if isinstance(shape, Scalar) else None)
            return self.started(grid, start, _empty(inner), size[0] * size[1])
        for key, kind in (("list", List), ("set", Set)):
            written = node.get(key)
            if written is not None:
                inner = self.kind(written)
                if inner is None:
                    return None
                limit = self.types.number(node.get("at_most"), 1, MAX_COPIES)
                made: Any = List(inner, None, limit) if kind is List else Set(inner)
                return self.started(made, start, () if kind is List else frozenset(), None)
        of = node.get("of")
        if of is not None:
            inner = self.kind(of)
            return None if inner is None else self.started(inner, start, None, None)
        assert start is not None, "the schema wants a type or a start"
        found = self.value(start)
        return found and (_widened(found[1]), found[0])

    def kind(self, node: Node) -> Type | None:
        """Reads the type of what a variable holds; a list of names written here declares them."""
        found = self.types.read(node)
        if found is not None:
            self.types.claim(found, node)
        return found.type if found is not None else None

    def started(
        self, type: Type, start: Node | None, empty: Any, repeat: int | None
    ) -> tuple[Type, Any] | None:
        """Reads the start as written, for each cell of a grid; else empty, or unbound."""
        wanted = type.of if isinstance(type, Grid) else type
        value = empty
        if start is not None:
            found = self.value(start, wanted)
            if found is None:
                return None
            value, given = found
            if isinstance(type, Record) and type.key is not None and fits(given, type.types[0]):
                value, given = (value,) * len(type.fields), type
            if isinstance(type, Set):
                value = frozenset(elements(value))
                given = Set(given.of) if isinstance(given, List) else given
            if not fits(given, wanted) or not _in_range(wanted, value):
                self.problems.add(
                    "GD0306", f"the start must be {wanted}", start.span,
                    why=f"this is {given if not fits(given, wanted) else name_of(value)}",
                )  # fmt: skip
                return None
        return type, (value,) * repeat if repeat else value

    def bag(self, node: Mapping) -> tuple[Type, Any] | None:
        """Reads `bag: T`, each value once, or as often as `copies` says of it."""
        written, copies = node.get("bag"), node.get("copies")
        assert written is not None
        found = self.types.read(written)
        if found is None:
            return None
        self.types.claim(found, written)
        bag = BagValue()
        for _, value in found.choices:
            count = 1 if copies is None else self.copies(copies, found, value)
            if count is None:
                return None
            if count:
                bag[value] = count
        return Bag(found.type), bag

    def copies(self, node: Node, of: TypeName, value: Any) -> int | None:
        """Returns the multiplicity of a value in a bag; the fields of a record may be named."""
        tree = syntax(node, self.problems)
        if tree is None:
            return None
        fields = dict(of.type.fields) if isinstance(of.type, Record) else {}
        typed = self.typer.expression(tree, expected=WHOLE, locals=fields)
        if isinstance(typed.type, Never):
            return None
        given = dict(zip(fields, value, strict=True)) if fields else {}
        try:
            count = evaluate(typed, Scope(seats=self.types.names.seats, locals=given))
        except EvaluationError as error:
            why = why_undefined(error)
            self.problems.add("GD0401", error.message, error.span, why=why)
            return None
        if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= MAX_COPIES:
            self.problems.add(
                "GD0421", f"a number of copies is a whole number from 0 to {MAX_COPIES}", node.span,
                why=f"this is {name_of(count)}",
            )  # fmt: skip
            return None
        return count

    def value(self, node: Node, expected: Type | None = None) -> tuple[Any, Type] | None:
        if isinstance(node, Mapping):
            return None
        found = constant(node, self.typer, expected)
        if found is None:
            return None
        value, type = found[1], found[2]
        if isinstance(expected, List | Set) and isinstance(type, List) and not value:
            type = expected
        elif expected is not None:
            fitted = self.typer.fitted(ir.Const(type, node.span, value), expected)
            type = fitted.type
            value = fitted.value if isinstance(fitted, ir.Const) else value
        return value, type


def _is_collection(written: Mapping) -> bool:
    """Whether a variable is declared as a collection, whatever the params are."""
    of = written.get("of")
    text = of.text if isinstance(of, Scalar) else ""
    named = text.startswith(("set of ", "list of ", "bag of ")) and not text.endswith(" or none")
    return named or any(written.get(key) is not None for key in ("bag", "list", "set", "grid"))


def _may_be_unbound(start: Any) -> bool:
    """Whether a variable, or an entry of a map, begins without a value."""
    if isinstance(start, dict) and not isinstance(start, BagValue):
        return any(map(_may_be_unbound, start.values()))
    return start is None


def _widened(type: Type) -> Type:
    """Returns the type of a variable by that of its start: one that starts with a number may hold
    any, since its range is not declared."""
    if isinstance(type, Number):
        return WHOLE if type.whole else Number()
    return NONE if isinstance(type, NoneType) else type


def _empty(type: Type) -> Any:
    """Returns the initial value of a cell: 0, if that is a value, else none."""
    return 0 if isinstance(type, Number) and _in_range(type, 0) else None


def _in_range(type: Type, value: Any) -> bool:
    """Whether a value that fits a type is in its ranges, and not too long."""
    match type:
        case Number(low=int() as low, high=int() as high):
            return isinstance(value, int) and low <= value <= high
        case Option(of=inner):
            return value is None or _in_range(inner, value)
        case List(of=inner, at_most=most):
            return (most is None or len(value) <= most) and all(_in_range(inner, v) for v in value)
        case Set(of=inner):
            return all(_in_range(inner, v) for v in value)
        case Tuple(of=types) | Record(types=types):
            return all(map(_in_range, types, value))
        case (
            Number() | Bool() | Enum() | Seat() | NoneType() | Text() | Bag() | Grid() | PerSeat()
            | PerValue() | Union() | Never()
        ):  # fmt: skip
            return True
        case _:
            assert_never(type)
