"""Access to parts of values: fields of records, entries of maps, items of lists, cells of grids.

A part of something that may be none has the plain type of the part: at run time, a part of none is
none, and an error only where a value is needed.
"""

from __future__ import annotations

from typing import Any

from gamedsl.diagnostics import Note
from gamedsl.diagnostics.fixes import Help, respell, substitute
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
    Union,
    domain,
    fits,
    plain,
    range_type,
    text_or_record,
)
from gamedsl.ir.values import name_of
from gamedsl.sema.name_resolution import report_role_as_seat
from gamedsl.sema.named_values import value_of
from gamedsl.sema.scope import LetName, LoopName, StateName, TypeName, VariableName
from gamedsl.sema.type_errors import (
    choosers,
    is_sole_argument,
    report_no_choice,
    report_others,
)
from gamedsl.sema.typing_context import Infer, TypingContext, never

# what stands after a point


def attribute(context: TypingContext, node: ast.Attribute, of: ir.Expr) -> ir.Expr:
    """Returns `of.name`: a field of a record, else the entry of the role of that name."""
    key = node.name
    if isinstance(of.type, Never):
        return of
    if isinstance(of, ir.LetMap) and key.id not in context.names.seats:
        of = _own_value(context, of)
    record = plain(of.type)
    if isinstance(record, Record):
        index = record.index(key.id)
        if index is not None:
            return ir.Field(record.types[index], node.span, of, index)
    if key.id in context.names.everyone:
        return entry(context, node, of, ir.Const(SEAT, key.span, key.id))
    if isinstance(record, Record):
        _report_no_field(context, key, record)
    elif key.id in context.names.roles:
        report_role_as_seat(context, key)
    else:
        _report_no_role(context, node, of)
    return never(node)


def type_member(
    context: TypingContext, node: ast.Attribute, name: str, declared: TypeName
) -> ir.Expr:
    """Returns one value of a declared type, such as `Rank.K`."""
    values = dict(declared.choices)
    if node.name.id in values:
        return ir.Const(declared.type, node.span, values[node.name.id])
    guess = did_you_mean(node.name.id, [n for n in values if n.isidentifier()])
    shown = ", ".join(list(values)[:6]) + (", …" if len(values) > 6 else "")
    context.problems.add(
        "GD0325",
        f"`{name}` has no value `{node.name.id}`",
        node.name.span,
        why=f"its values are {shown}",
        notes=(Note(declared.span, "declared here"),),
        help=respell(node.name.span, guess),
        cause=f"name {node.name.id}",
    )
    return never(node)


def _report_no_field(context: TypingContext, key: ast.Name, record: Record) -> None:
    names = [name for name, _ in record.fields]
    guess = did_you_mean(key.id, names)
    context.problems.add(
        "GD0324",
        f"{record} has no field `{key.id}`",
        key.span,
        why="its fields are " + ", ".join(names),
        help=respell(key.span, guess),
        cause=f"field {record}.{key.id}",
    )


def _keys(context: TypingContext, map: PerValue) -> tuple[Any, ...]:
    return domain(map.key, context.names.everyone) or ()


def _report_no_role(context: TypingContext, node: ast.Attribute, of: ir.Expr) -> None:
    """Reports a name after a point that is neither a role nor a field."""
    kind = plain(of.type)
    kinds = text_or_record(kind)
    if kinds is not None and kinds.record.index(node.name.id) is not None:
        text = node.of.span.text
        context.problems.add(
            "GD0324", f"a text has no field `{node.name.id}`", node.name.span,
            why=f"this is {kind}",
            help=f"test it first: `{text} is not text`, as in `0 if {text} is text else …`",
        )  # fmt: skip
        return
    records = [one for one in kind.of if isinstance(one, Record)] if isinstance(kind, Union) else []
    if any(record.index(node.name.id) is not None for record in records):
        context.problems.add(
            "GD0324", f"not every value here has the field `{node.name.id}`", node.name.span,
            why=f"this is {kind}",
            help="choose from one record for all, in which a field may be none, such as "
            f"`{node.name.id}: 1..3 or none`",
        )  # fmt: skip
        return
    key, guess = node.name, did_you_mean(node.name.id, [*context.names.seats, "me", "other"])
    place = context.names.role_spans.get(guess) if guess else None
    whole = ""
    help: Help = respell(key.span, guess, "the roles: " + ", ".join(context.names.seats[:8]))
    inner = of.type.of if isinstance(of.type, PerSeat) else None
    source = node.of.span.text
    if key.id == "others" and isinstance(of.type, PerSeat):
        report_others(context, node, of)
        return
    if key.id in context.locals or isinstance(
        context.names.declared.get(key.id), VariableName | StateName | LetName | LoopName
    ):
        whole = f"{source}[{key.id}]"
        help = substitute(node.span, whole, f"for an entry that a name chooses, write `{whole}`")
    elif isinstance(kind, PerValue) and key.id in map(name_of, _keys(context, kind)):
        whole = f"{source}[{key.id}]"
        help = substitute(node.span, whole, f"this has an entry for each key: write `{whole}`")
    if isinstance(inner, Record) and inner.index(key.id) is not None:
        actors = choosers(context, of) or context.names.seats
        own = context.me_allowed and {*context.names.seats} <= {*actors}
        whole = f"{source}.{'me' if own else actors[0]}.{key.id}"
        help = substitute(node.span, whole, f"take one role's first: `{whole}`")
        if is_sole_argument(node.span):
            seats = "roles" if {*context.names.everyone} <= {*actors} else f"[{', '.join(actors)}]"
            each = f"{source}[r].{key.id} for r in {seats}"
            help = substitute(
                node.span, each, f"go through the roles: `{each}`; for one, `{whole}`"
            )
    context.problems.add(
        "GD0309",
        f"`{key.id}` is not a role",
        key.span,
        why="`.` reads a value of one role",
        notes=(Note(place, "declared here"),) if place else (),
        help=help,
        cause="" if whole else f"name {key.id}",
    )


def index(context: TypingContext, node: ast.Index, of: ir.Expr, infer: Infer) -> ir.Expr:
    """Returns `of[keys]`, one entry after another; two keys of a grid are one place in it."""
    keys = node.keys
    if isinstance(of, ir.LetMap) and len(keys) > 1:
        of = _own_value(context, of)
    type = plain(of.type)
    if isinstance(type, Grid) and len(keys) == 2:
        parts = tuple(infer(key, None) for key in keys)
        place = ir.Build(Tuple(tuple(p.type for p in parts)), node.span, parts)
        if any(isinstance(p.type, Never) for p in parts):
            return never(node)
        return entry(context, node, of, place)
    if len(keys) > 1 and not isinstance(type, PerSeat | PerValue | Never):
        context.problems.add(
            "GD0310",
            "an index is one value",
            node.span,
            why=f"{len(keys)} are given",
            help="index a list of lists twice: `m[i][j]`",
        )
        return never(node)
    for key in keys:
        of = entry(context, node, of, infer(key, _wanted_key(of.type)))
    return of


def entry(context: TypingContext, node: ast.Node, of: ir.Expr, key: ir.Expr) -> ir.Expr:
    """Returns one entry of a map, item of a list, cell of a grid or part of a tuple."""
    if isinstance(of.type, Never) or isinstance(key.type, Never):
        return never(node)
    if isinstance(of, ir.LetMap) and not isinstance(key.type, Seat):
        of = _own_value(context, of)
    type = plain(of.type)
    if isinstance(type, Enum) and not isinstance(key.type, Seat):
        of = value_of(of)
        type = plain(of.type)
    if not _is_key(type, key.type):
        key = value_of(key)
    match type:
        case PerSeat() if isinstance(key.type, Seat):
            if isinstance(of, ir.LetMap):
                return ir.LetCall(type.of, node.span, of.name, (), key)
            return _seat_entry(context, node, of, type, key)
        case PerValue() if fits(key.type, type.key) or _spells_members(key.type, type.key):
            return ir.Get(type.of, node.span, of, key)
        case Record(key=keys, types=types) if keys is not None and (
            _is_key(type, key.type) or _is_worth(keys, key.type)
        ):
            return _field_by_key(context, node, of, types[0], keys, key)
        case List() if _is_whole(key.type):
            return ir.Get(type.of, node.span, of, key)
        case Grid() if _is_cell(key.type):
            return ir.Cell(type.of, node.span, of, key, type.rows, type.columns)
        case Tuple() if isinstance(key, ir.Const) and _is_whole(key.type):
            if 0 <= key.value < len(type.of):
                return ir.Field(type.of[key.value], node.span, of, key.value)
    if isinstance(key.type, Seat) and isinstance(of, ir.Read):
        variable = context.names.declared.get(of.name)
        if isinstance(variable, VariableName) and variable.actors and not variable.joint:
            last = ir.LastBy(PerSeat(type, True), of.span, of.name)
            return _choice_of(context, node, last, type, key)
    context.problems.add(
        "GD0310",
        f"{type} cannot be indexed by {key.type}",
        node.span,
        help=_key_help(type, key),
    )
    return never(node)


def _field_by_key(
    context: TypingContext, node: ast.Node, of: ir.Expr, type: Type, keys: Type, key: ir.Expr
) -> ir.Expr:
    """Returns the field of a record that is read as a map, by its key."""
    values: tuple[Any, ...] = domain(keys, context.names.everyone) or ()
    if isinstance(keys, Enum) and keys.of is not None and _is_worth(keys, key.type):
        values, keys = keys.values or (), keys.of
    if isinstance(key, ir.Const):
        if key.value in values:
            return ir.Field(type, node.span, of, values.index(key.value))
        context.problems.add(
            "GD0310", f"there is no entry of `{name_of(key.value)}`", key.span,
            why=f"the entries are {', '.join(map(name_of, values[:6]))}",
        )  # fmt: skip
        return never(node)
    listed = ir.Const(List(keys, len(values)), key.span, values)
    place = ir.Apply(range_type(0, len(values) - 1), key.span, "index", (key, listed))
    return ir.Get(type, node.span, of, place)


def _is_key(type: Type, key: Type) -> bool:
    """Whether a type is indexed by names, and not by the values that they stand for."""
    keys = keys_of(type)
    return keys is not None and (fits(key, keys) or _spells_members(key, keys))


def _is_worth(keys: Type, key: Type) -> bool:
    """Whether keys are names of some values of a type, and a key is a value of it: a role, where
    a map is for some of the roles."""
    return isinstance(keys, Enum) and keys.of is not None and fits(key, keys.of)


def keys_of(type: Type) -> Type | None:
    """Returns the type of the keys of a map, or of a record that is read as one."""
    if isinstance(type, PerSeat):
        return SEAT
    return type.key if isinstance(type, PerValue | Record) else None


def _key_help(type: Type, key: ir.Expr) -> str:
    """Returns the fix that says how a type is indexed."""
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
        case _:  # per-role maps and lists; no other type is indexed
            return "a value per role takes a role, a list takes a whole number from 0"


def _seat_entry(
    context: TypingContext, node: ast.Node, map: ir.Expr, type: PerSeat, key: ir.Expr
) -> ir.Expr:
    """Returns a role's entry, which may be none where not every role has one."""
    variable = context.names.declared.get(map.name) if isinstance(map, ir.Read) else None
    if (
        isinstance(variable, VariableName)
        and variable.joint
        and variable.actors
        and isinstance(key, ir.Const)
    ):
        return _choice_of(context, node, map, type.of, key)
    return ir.Get(Option(type.of) if type.partial else type.of, node.span, map, key)


def _choice_of(
    context: TypingContext, node: ast.Node, map: ir.Expr, type: Type, key: ir.Expr
) -> ir.Expr:
    """Returns what a seat chose; reports a seat that does not act in that step."""
    assert isinstance(map, ir.Read | ir.LastBy)
    variable = context.names.declared[map.name]
    assert isinstance(variable, VariableName)
    if not isinstance(key, ir.Const) or key.value in variable.actors:
        return ir.Get(type, node.span, map, key)
    report_no_choice(context, map, str(key.value), key.span)
    return never(node)


def _own_value(context: TypingContext, map: ir.LetMap) -> ir.Expr:
    """Returns the value for `me` of a let that depends on `me`; its map where there is no `me`."""
    if not context.me_allowed or not isinstance(map.type, PerSeat):
        return map
    return ir.LetCall(map.type.of, map.span, map.name, (), context.me(map.span))


def _wanted_key(type: Type) -> Type | None:
    """Returns the type of a map's keys or a grid's places, by which bare names in them are
    understood."""
    inner = plain(type)
    if isinstance(inner, PerValue | Record):
        return inner.key
    return inner.cell if isinstance(inner, Grid) else None


def _is_whole(type: Type) -> bool:
    return isinstance(type, Number) and type.whole


def _spells_members(key: Type, keys: Type) -> bool:
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
        return type.length == 2 and _is_whole(type.of)
    return isinstance(type, Tuple) and len(type.of) == 2 and all(map(_is_whole, type.of))
