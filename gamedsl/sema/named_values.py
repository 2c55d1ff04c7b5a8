"""Names of a `values` type as the values that they stand for.

At run time such a value is its name, so that two names of one value stay apart: in what is drawn
and dealt, in bags and sets, in prompts and transcripts. Typing puts the value in where a rule needs
one: a number, a cell, a role, a truth value.
"""

from __future__ import annotations

from dataclasses import replace

from gamedsl.ir import expr as ir
from gamedsl.ir.builtins import BUILTINS, Builtin
from gamedsl.ir.types import Enum, List, PerValue, Type, valued

MATCHES = ("==", "!=", "in", "not in", "count")
"""Built-ins that ask whether two values are the same one."""


def value_of(expr: ir.Expr) -> ir.Expr:
    """Returns an expression with each name replaced by the value that it stands for: of a name, or
    of a collection or map of names. Any other expression is returned as it is."""
    enum = valued(expr.type)
    if enum is None:
        return expr
    table = value_table(enum, expr)
    type = value_type(expr.type)
    assert type is not None
    match expr:
        case ir.Const(value=str() as name):
            return ir.Const(type, expr.span, table.value[name])
        case ir.Collect():
            return replace(expr, type=type, item=value_of(expr.item))
        case ir.Apply(function=ir.CHAIN, arguments=(ir.Collect(item=inner) as over,)):
            lists = value_of(inner)
            over = replace(over, type=List(lists.type), item=lists)
            return replace(expr, type=type, arguments=(over,))
        case ir.Build(items=items):
            return replace(expr, type=type, items=tuple(map(value_of, items)))
        case _:  # worked out during play
            return ir.Apply(type, expr.span, "value_of", (expr, table))


def value_table(enum: Enum, expr: ir.Expr) -> ir.Const:
    """Returns the value of each name of a `values` type as a map, read where `expr` stands."""
    assert enum.values is not None
    assert enum.of is not None
    values = dict(zip(enum.members, enum.values, strict=True))
    return ir.Const(PerValue(enum, enum.of), expr.span, values)


def value_type(type: Type) -> Type | None:
    """Returns the type of `value_of` an expression of a type; None where it has no names."""
    return BUILTINS["value_of"].rule((type,))


def by_value(row: Builtin, arguments: tuple[ir.Expr, ...]) -> tuple[ir.Expr, ...]:
    """Returns the arguments of a built-in, names as their values where it orders them, or does not
    take the names; as they are where it does not take the values either."""
    types = tuple(argument.type for argument in arguments)
    if row.name == "value_of" or not any(map(valued, types)):
        return arguments
    ordered = row.kind == "comparison" or row.appended == "order of the values"
    if not ordered and row.rule(types) is not None:
        return arguments
    converted = tuple(map(value_of, arguments))
    taken = row.rule(tuple(argument.type for argument in converted)) is not None
    return converted if taken else arguments


def shared_value(function: str, arguments: tuple[ir.Expr, ...]) -> Enum | None:
    """Returns the `values` type of which two names stand for one value, where a built-in would ask
    whether a name is the same as something else; None where there is none."""
    if function not in MATCHES:
        return None
    enums = (valued(argument.type) for argument in arguments)
    return next((e for e in enums if e is not None and not has_distinct_values(e)), None)


def has_distinct_values(enum: Enum) -> bool:
    """Returns whether no two names of a `values` type stand for one value."""
    return enum.values is not None and len(set(enum.values)) == len(enum.values)
