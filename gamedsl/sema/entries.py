"""Parts of values: fields of records, entries of maps, items of lists, cells of grids.

A part of something that may be none has the plain type of the part: at run time, a part of none is
none, and an error only where a value is needed.
"""

from __future__ import annotations

from gamedsl.diagnostics import Note
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.frontend.syntax import ast
from gamedsl.ir import expr as ir
from gamedsl.ir.types import (
    SEAT,
    Enum,
    Grid,
    List,
    Never,
    Number,
    Option,
    PerSeat,
    PerValue,
    Record,
    Seat,
    Tuple,
    Type,
    fits,
    plain,
)
from gamedsl.sema.misfits import Misfits
from gamedsl.sema.scope import LetName, TypeName, VariableName


class Entries(Misfits):
    """Gives `.` and `[ ]` their meaning."""

    # what stands after a point

    def attribute(self, node: ast.Attribute) -> ir.Expr:
        """A value of a type, a field of a record, or the entry of a role: `x.me`, `x.other`,
        `x.rolename`, never of a local of that name."""
        key = node.name
        if isinstance(node.of, ast.Name) and node.of.id not in self.locals:
            declared = self.names.declared.get(node.of.id)
            if isinstance(declared, TypeName):
                return self.member(node, node.of.id, declared)
        if key.id in ("me", "other"):
            seat = self.word(key)
            assert seat is not None
            return self.entry(node, self.map(node.of), seat)
        of = self.map(node.of)
        if isinstance(of.type, Never):
            return of
        if isinstance(of, ir.LetMap) and key.id not in self.names.seats:
            of = self.mine(of)
        record = plain(of.type)
        if isinstance(record, Record):
            index = record.index(key.id)
            if index is not None:
                return ir.Field(record.types[index], node.span, of, index)
        if key.id in self.names.everyone:
            return self.entry(node, of, ir.Const(SEAT, key.span, key.id))
        if isinstance(record, Record):
            self.no_field(key, record)
        elif key.id in self.names.roles:
            self.several_seats(key)
        else:
            self.no_role(node, of)
        return self.never(node)

    def member(self, node: ast.Attribute, name: str, declared: TypeName) -> ir.Expr:
        """`Rank.K`: one value of a declared type."""
        values = dict(declared.choices)
        if node.name.id in values:
            return ir.Const(declared.type, node.span, values[node.name.id])
        guess = did_you_mean(node.name.id, [n for n in values if n.isidentifier()])
        shown = ", ".join(list(values)[:6]) + (", …" if len(values) > 6 else "")
        self.problems.add(
            "GD0325",
            f"`{name}` has no value `{node.name.id}`",
            node.name.span,
            why=f"its values are {shown}",
            notes=(Note(declared.span, "declared here"),),
            help=f"did you mean `{guess}`?" if guess else "",
        )
        return self.never(node)

    def no_field(self, key: ast.Name, record: Record) -> None:
        names = [name for name, _ in record.fields]
        guess = did_you_mean(key.id, names)
        self.problems.add(
            "GD0324",
            f"{record} has no field `{key.id}`",
            key.span,
            why="its fields are " + ", ".join(names),
            help=f"did you mean `{guess}`?" if guess else "",
        )

    def no_role(self, node: ast.Attribute, of: ir.Expr) -> None:
        """What stands after the point is no role, and there is no field."""
        key, guess = node.name, did_you_mean(node.name.id, [*self.names.seats, "me", "other"])
        place = self.names.role_spans.get(guess) if guess else None
        help = "the roles: " + ", ".join(self.names.seats[:8])
        inner = of.type.of if isinstance(of.type, PerSeat) else None
        if isinstance(inner, Record) and inner.index(key.id) is not None:
            seat = "me" if self.me_allowed else self.names.seats[0]
            help = f"take one role's first: `{node.of.span.text}.{seat}.{key.id}`"
        elif guess:
            help = f"did you mean `{guess}`?"
        self.problems.add(
            "GD0309",
            f"`{key.id}` is not a role",
            key.span,
            why="`.` reads a value of one role",
            notes=(Note(place, "declared here"),) if place else (),
            help=help,
        )

    # what stands in brackets

    def index(self, node: ast.Index) -> ir.Expr:
        of, keys = self.map(node.of), node.keys
        if isinstance(of, ir.LetMap) and len(keys) > 1:
            of = self.mine(of)
        type = plain(of.type)
        if isinstance(type, Grid) and len(keys) == 2:
            parts = tuple(self.infer(key) for key in keys)
            place = ir.Build(Tuple(tuple(p.type for p in parts)), node.span, parts)
            if any(isinstance(p.type, Never) for p in parts):
                return self.never(node)
            return self.entry(node, of, place)
        if len(keys) > 1 and not isinstance(type, PerSeat | PerValue | Never):
            self.problems.add(
                "GD0310",
                "an index is one value",
                node.span,
                why=f"{len(keys)} are given",
                help="index a list of lists twice: `m[i][j]`",
            )
            return self.never(node)
        for key in keys:
            of = self.entry(node, of, self.infer(key, _wanted_key(of.type)))
        return of

    def entry(self, node: ast.Node, of: ir.Expr, key: ir.Expr) -> ir.Expr:
        """One entry of a map, by role or by value; an item of a list; a cell of a grid."""
        if isinstance(of.type, Never) or isinstance(key.type, Never):
            return self.never(node)
        if isinstance(of, ir.LetMap) and not isinstance(key.type, Seat):
            of = self.mine(of)
        type = plain(of.type)
        match type:
            case PerSeat() if isinstance(key.type, Seat):
                if isinstance(of, ir.LetMap):
                    return ir.LetCall(type.of, node.span, of.name, (), key)
                return self.seat_entry(node, of, type, key)
            case PerValue() if fits(key.type, type.key) or _spelt(key.type, type.key):
                return ir.Get(type.of, node.span, of, key)
            case List() if _whole(key.type):
                return ir.Get(type.of, node.span, of, key)
            case Grid() if _is_cell(key.type):
                return ir.Cell(type.of, node.span, of, key, type.rows, type.columns)
            case Tuple() if isinstance(key, ir.Const) and _whole(key.type):
                if 0 <= key.value < len(type.of):
                    return ir.Field(type.of[key.value], node.span, of, key.value)
        if isinstance(key.type, Seat) and isinstance(of, ir.Read):
            variable = self.names.declared.get(of.name)
            if isinstance(variable, VariableName) and variable.actors and not variable.joint:
                last = ir.LastBy(PerSeat(type, True), of.span, of.name)
                return self.choice_of(node, last, type, key)
        self.problems.add(
            "GD0310",
            f"{type} cannot be indexed by {key.type}",
            node.span,
            help=self.key_help(type, key),
        )
        return self.never(node)

    def key_help(self, type: Type, key: ir.Expr) -> str:
        """How a type is indexed."""
        if isinstance(key.type, Option):
            return f"test it first: `{key.span.text} != none`"
        match type:
            case PerValue():
                return f"it takes {type.key}"
            case Grid():
                return "a grid takes a cell, or a row and a column: `board[0, 2]`"
            case Tuple():
                return f"it takes a number from 0 to {len(type.of) - 1}, written out"
            case Record():
                return f"name the field, such as `.{type.fields[0][0]}`"
        return "a value per role takes a role, a list takes a whole number from 0"

    def seat_entry(self, node: ast.Node, map: ir.Expr, type: PerSeat, key: ir.Expr) -> ir.Expr:
        """A role's entry; none where it may not have chosen, an error where it has not."""
        variable = self.names.declared.get(map.name) if isinstance(map, ir.Read) else None
        if (
            isinstance(variable, VariableName)
            and variable.joint
            and variable.actors
            and isinstance(key, ir.Const)
        ):
            return self.choice_of(node, map, type.of, key)
        return ir.Get(Option(type.of) if type.partial else type.of, node.span, map, key)

    def choice_of(self, node: ast.Node, map: ir.Expr, type: Type, key: ir.Expr) -> ir.Expr:
        """What a seat chose, if it is one of those that do."""
        assert isinstance(map, ir.Read | ir.LastBy)
        variable = self.names.declared[map.name]
        assert isinstance(variable, VariableName)
        if not isinstance(key, ir.Const) or key.value in variable.actors:
            return ir.Get(type, node.span, map, key)
        self.problems.add(
            "GD0323",
            f"`{key.value}` makes no choice `{map.span.text}`",
            key.span,
            why="does not act in that step",
            notes=(Note(variable.span, f"only {', '.join(variable.actors[:6])} act here"),),
            help="add it to the `role:` of the step",
        )
        return self.never(node)

    def mine(self, map: ir.LetMap) -> ir.Expr:
        """A let that depends on me, for me, where there is one: not its map."""
        if not self.me_allowed or not isinstance(map.type, PerSeat):
            return map
        self.uses_me = True
        return ir.LetCall(map.type.of, map.span, map.name, (), ir.Me(SEAT, map.span))

    def map(self, node: ast.Node) -> ir.Expr:
        """What `.` and `[ ]` read; a let that depends on me is its per-role map."""
        return self.collection(node) if isinstance(node, ast.Name) else self.infer(node)

    def collection(self, node: ast.Name) -> ir.Expr:
        """A bare name where a collection is wanted: a let that depends on me is a map."""
        let = self.names.declared.get(node.id) if node.id not in self.locals else None
        if isinstance(let, LetName) and not let.parameters:
            type = self.let_type(let, node.span)
            if let.per_seat:
                return ir.LetMap(PerSeat(type), node.span, let.name)
        return self.infer(node)


def _wanted_key(type: Type) -> Type | None:
    """The type of a map's keys or a grid's places, by which bare names in them are understood."""
    inner = plain(type)
    if isinstance(inner, PerValue):
        return inner.key
    return inner.cell if isinstance(inner, Grid) else None


def _whole(type: Type) -> bool:
    return isinstance(type, Number) and type.whole


def _spelt(key: Type, keys: Type) -> bool:
    """Whether a map that a param spells out has a value for each member of a declared enum."""
    return (
        isinstance(key, Enum)
        and isinstance(keys, Enum)
        and not keys.name
        and set(key.members) <= set(keys.members)
    )


def _is_cell(type: Type) -> bool:
    """Whether a type is that of two whole numbers."""
    if isinstance(type, List):
        return type.length == 2 and _whole(type.of)
    return isinstance(type, Tuple) and len(type.of) == 2 and all(map(_whole, type.of))
