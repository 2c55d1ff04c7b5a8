"""The statements of `do:`: places, and what is stored there.

Only declared state can be assigned. What a statement reads to find its place, and what it stores,
are expressions like any other; `x += e` is written out as `x = x + e`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from gamedsl.diagnostics import Note
from gamedsl.frontend.source.nodes import Node, Scalar, Sequence
from gamedsl.frontend.syntax import ast
from gamedsl.frontend.syntax.parser import parse_statements
from gamedsl.ir import expr as ir
from gamedsl.ir import statements
from gamedsl.ir.types import (
    NEVER,
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
    join,
    plain,
)
from gamedsl.sema.name_resolution import report_unknown_name
from gamedsl.sema.narrow import Fact, Facts, key, without
from gamedsl.sema.scope import StateName
from gamedsl.sema.type_errors import range_fix, report_misfit
from gamedsl.sema.typer import Typer


def read_statements(
    node: Node,
    typer: Typer,
    *,
    me: bool,
    facts: Facts = frozenset(),
) -> tuple[statements.Statement, ...] | None:
    """Reads the statements of a text, or of a list of texts; None where one is wrong.

    `me` says whether they are read by one role, `facts` what is known not to be none before the
    first of them.
    """
    parts = node.items if isinstance(node, Sequence) else (node,)
    trees: list[ast.Statement] = []
    sound = True
    for part in parts:
        assert isinstance(part, Scalar)
        found = parse_statements(part, typer.problems)
        sound = sound and found is not None
        trees += found or ()
    written = []
    for tree in trees:
        typer.context.begin(me=me, facts=facts)
        statement = StatementReader(typer).statement(tree)
        facts = _facts_after(tree, statement, facts)
        sound = sound and statement is not None
        if statement is not None:
            written.append(statement)
    return tuple(written) if sound else None


def read_place(
    node: ast.Node, typer: Typer, *, me: bool, facts: Facts = frozenset()
) -> statements.Place | None:
    """Returns declared state, or a part of it, that an expression names; None where it names
    none."""
    typer.context.begin(me=me, facts=facts)
    return StatementReader(typer).place(node, "is written")


@dataclass(frozen=True, slots=True)
class StatementReader:
    """Types one statement in the present place of a typing walk."""

    typer: Typer

    def statement(self, tree: ast.Statement) -> statements.Statement | None:
        match tree:
            case ast.Assign():
                return self.assign(tree)
            case ast.Add(place=place, value=value):
                return self.element_change(statements.Add, tree, place, value)
            case ast.Drop(place=place, value=value):
                return self.element_change(statements.Drop, tree, place, value)
            case ast.DropItem(item=item):
                return self.drop_item(tree, item)
            case ast.Each(body=inner):
                with self.typer.each(tree.targets, tree.source, tree.condition) as each:
                    body = self.statement(inner)
                if body is None or isinstance(each.source.type, Never):
                    return None
                return statements.ForEach(
                    body, each.targets, each.source, each.condition, each.keyed, tree.span
                )
            case _:
                assert_never(tree)

    def assign(self, tree: ast.Assign) -> statements.Statement | None:
        place = self.place(tree.place, "is assigned")
        if place is None and tree.op != "=":
            return None
        if tree.op == "=":
            with self.typer.context.doubtful(tree.value, place is None):
                wanted = None if place is None else _expected_type(place)
                value = self.typer.infer(tree.value, wanted)
        else:
            sign = tree.op[0]
            operator = ast.Operator(tree.span, sign, (tree.place, tree.value))
            value = self.typer.infer(operator, None if place is None else place.type)
        if place is None or isinstance(value.type, Never):
            return None
        if isinstance(place.type, Never):
            self.learn(place, value.type)
        fitted = self.fitted_value(tree.value, value, place, f"`{_one_line(tree.place)}`")
        return None if fitted is None else statements.Assign(place, fitted, tree.span)

    def learn(self, place: statements.Place, type: Type) -> None:
        """Learns the type of state that was declared `none` from what is assigned to it."""
        learned, inner = self.typer.context.learned, plain(type)
        if not place.keys and not isinstance(inner, NoneType | Never):
            earlier = learned.get(place.variable, NEVER)
            learned[place.variable] = join(earlier, inner) or earlier

    def element_change(
        self,
        make: type[statements.Add] | type[statements.Drop],
        tree: ast.Statement,
        where: ast.Node,
        what: ast.Node,
    ) -> statements.Statement | None:
        """Reads `add` and `drop`, of one element."""
        word = "add" if make is statements.Add else "drop"
        place = self.place(where, "is changed")
        into = None if place is None else plain(place.type)
        inner = into.of if isinstance(into, List | Set | Bag) else None
        value = self.typer.infer(what, inner)
        if place is None or isinstance(value.type, Never) or isinstance(into, Never):
            return None
        if inner is None:
            self.typer.problems.add(
                "GD0329",
                f"`{word}` works on a list, a set or a bag",
                where.span,
                why=f"this is {place.type}",
                help="to store a value, write `=`",
                notes=self.declaration_note(place),
            )
            return None
        title = f"what is {'added to' if word == 'add' else 'dropped from'} `{_one_line(where)}`"
        element = statements.Place(place.variable, place.keys, inner, place.span)
        fitted = self.fitted_value(what, value, element, title)
        return None if fitted is None else make(place, fitted, tree.span)

    def drop_item(self, tree: ast.DropItem, item: ast.Node) -> statements.Statement | None:
        place = self.place(item, "is changed")
        if place is None or isinstance(place.type, Never):
            return None
        last = place.keys[-1]
        if last.kind != "item" or last.expr is None:
            self.typer.problems.add(
                "GD0329",
                "`drop` with an index takes an item out of a list",
                item.span,
                why="this is no list",
                help="to empty a place that may be none, write `= none`",
                notes=self.declaration_note(place),
            )
            return None
        kind = List(place.type)
        list = statements.Place(
            place.variable, place.keys[:-1], self.type_of(place, kind), place.span
        )
        return statements.DropItem(list, last.expr, tree.span)

    def type_of(self, place: statements.Place, default: Type) -> Type:
        """Returns the type of what a place without its last key holds."""
        declared = self.typer.names.declared[place.variable]
        assert isinstance(declared, StateName)
        type: Type = declared.type
        for step in place.keys[:-1]:
            type = _part_type(plain(type), step)
        return type if isinstance(plain(type), List) else default

    # places

    def place(self, node: ast.Node, what: str) -> statements.Place | None:
        """Returns declared state or a part of it; `what` is done with it, for the message."""
        if isinstance(node, ast.Name):
            declared = self.assignable(node.id)
            if declared is None:
                self.report_no_state(node, what)
                return None
            whole = NEVER if isinstance(declared.type, NoneType) else declared.type
            return statements.Place(node.id, (), whole, node.span)
        read = self.typer.infer(node)
        keys: list[statements.Key] = []
        while True:
            match read:
                case ir.Get(of=of, key=inner):
                    listed = isinstance(plain(of.type), List)
                    keys.append(statements.Key("item" if listed else "entry", inner))
                case ir.Cell(of=of, key=inner, rows=rows, columns=columns):
                    keys.append(statements.Key("cell", inner, (rows, columns)))
                case ir.Field(of=of, index=index):
                    keys.append(statements.Key("field", None, (index,)))
                case _:
                    break
            read = of
        name = read.name if isinstance(read, ir.Read | ir.LastBy | ir.LetMap) else ""
        declared = self.assignable(name)
        if declared is None or not isinstance(read, ir.Read):
            if not isinstance(read.type, Never):
                self.report_no_state(node, what)
            return None
        type: Type = declared.type
        for step in reversed(keys):
            type = _part_type(plain(type), step)
        return statements.Place(name, tuple(reversed(keys)), type, node.span)

    def assignable(self, name: str) -> StateName | None:
        """Returns declared state that may be assigned; None for any other name."""
        declared = self.typer.names.declared.get(name)
        if name in self.typer.context.locals or not isinstance(declared, StateName):
            return None
        return declared

    def report_no_state(self, node: ast.Node, what: str) -> None:
        """Reports an expression that is no state."""
        names = self.typer.names
        while isinstance(node, ast.Attribute | ast.Index):
            node = node.of
        if isinstance(node, ast.Name) and node.id not in self.typer.context.locals:
            if names.anywhere(node.id) is None and node.id not in ("me", "other", "roles"):
                report_unknown_name(self.typer.context, node)
                return
            place = names.anywhere(node.id)
        else:
            place = None
        self.typer.problems.add(
            "GD0328",
            f"only state {what}",
            node.span,
            why="this is no variable of `state`",
            notes=(Note(place, "declared here"),) if place else (),
            help="declare a variable under `state:`, with its value at the start",
        )

    def declaration_note(self, place: statements.Place) -> tuple[Note, ...]:
        found = self.typer.names.declared.get(place.variable)
        return (Note(found.span, "declared here"),) if found is not None else ()

    # values

    def fitted_value(
        self, node: ast.Node, value: ir.Expr, place: statements.Place, what: str
    ) -> ir.Expr | None:
        """Returns a value, if a place of this type may hold it; reported if not."""
        wanted = place.type
        value = self.typer.fitted(value, wanted)
        if not fits(value.type, wanted):
            help = "" if place.keys else range_fix(place.variable, wanted)
            notes = self.declaration_note(place)
            report_misfit(self.typer.context, node, value, wanted, what, notes, help)
            return None
        inner = plain(wanted)
        if isinstance(value, ir.Const) and isinstance(inner, Number) and value.value is not None:
            low, high = inner.low, inner.high
            if low is not None and high is not None and not low <= value.value <= high:
                self.typer.problems.add(
                    "GD0330",
                    f"{what} cannot hold {value.value}",
                    value.span,
                    why=f"not from {low} to {high}",
                    notes=self.declaration_note(place),
                )
                return None
        return value


def _expected_type(place: statements.Place) -> Type | None:
    """Returns the type by which a value is understood; None for state without a type."""
    return None if isinstance(place.type, Never) else place.type


def _part_type(type: Type, key: statements.Key) -> Type:
    """Returns the type of a part of a value; `Never` where it has no such part."""
    match type:
        case PerSeat(of=of) | PerValue(of=of) | List(of=of) | Grid(of=of):
            return of
        case Record(types=types) | Tuple(of=types):
            return types[key.size[0]] if key.kind == "field" else NEVER
        case (
            Bool() | Number() | Enum() | Seat() | NoneType() | Text() | Option() | Set() | Bag()
            | Union() | Never()
        ):  # fmt: skip
            return NEVER
        case _:
            assert_never(type)


def _one_line(node: ast.Node) -> str:
    return " ".join(node.span.text.split())


def _facts_after(
    tree: ast.Statement, statement: statements.Statement | None, given: Facts
) -> Facts:
    """Returns the facts of non-none expressions after a statement: of a call none, since it may
    read what was written."""
    given = frozenset(fact for fact in given if "(" not in fact.of)
    simple = tree.body if isinstance(tree, ast.Each) else tree
    if not isinstance(simple, ast.Assign):
        return given
    node = simple.place
    while isinstance(node, ast.Attribute | ast.Index):
        node = node.of
    name = node.id if isinstance(node, ast.Name) else ""
    kept = without(given, [name])
    if isinstance(statement, statements.Assign) and not isinstance(
        statement.value.type, Option | NoneType
    ):
        return kept | ({Fact(key(simple.place), "bound")} if key(simple.place) else set())
    return kept
