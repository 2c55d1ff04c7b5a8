"""Type errors: which part of an expression does not fit, and how to mend it."""

from __future__ import annotations

import re

from gamedsl.diagnostics import Note
from gamedsl.frontend.syntax import ast
from gamedsl.ir import expr as ir
from gamedsl.ir.builtins import BUILTINS, is_comparison
from gamedsl.ir.types import (
    BOOL,
    Bool,
    Never,
    NoneType,
    Number,
    Option,
    PerSeat,
    Type,
    fits,
    has_text,
)
from gamedsl.sema.typing_context import TypingContext, never


def report_misfit(
    context: TypingContext,
    node: ast.Node,
    typed: ir.Expr,
    wanted: Type,
    what: str,
    notes: tuple[Note, ...] = (),
) -> None:
    """Reports an expression that is not of the type wanted at its place, which `what` names."""
    if isinstance(typed.type, PerSeat) and not isinstance(wanted, PerSeat):
        report_per_role(context, typed)
        return
    context.problems.add(
        "GD0306",
        f"{what} must be {wanted}",
        node.span,
        why=f"this is {typed.type}",
        notes=notes,
        help=_conversion_fix(typed.type, wanted, node),
    )


def require_truth(context: TypingContext, node: ast.Node, typed: ir.Expr, what: str) -> ir.Expr:
    """Returns a typed condition; reports one that is no truth value."""
    if isinstance(typed.type, Bool | Never):
        return typed
    report_misfit(context, node, typed, BOOL, what)
    return never(node)


def report_arguments(
    context: TypingContext, node: ast.Node, function: str, arguments: tuple[ir.Expr, ...]
) -> None:
    """Reports which of a built-in's arguments does not fit."""
    usage = BUILTINS[function].usage
    for argument in arguments:
        if isinstance(argument.type, Option | NoneType) and function not in ("==", "!="):
            source = argument.span.text
            context.problems.add(
                "GD0321",
                f"`{usage}` does not take none",
                argument.span,
                why=f"this is {argument.type}",
                help=_none_test(source) if isinstance(argument.type, Option) else "",
            )
            return
    for argument in arguments:
        if isinstance(argument.type, PerSeat) and not BUILTINS[function].takes_map:
            report_per_role(context, argument)
            return
    given, help = " and ".join(str(a.type) for a in arguments), ""
    if any(has_text(argument.type) for argument in arguments):
        help = "text is stored, shown, or given to a function (`call:`); no rule looks into it"
    elif is_comparison(function):
        help = "numbers and values of one enum have an order, and tuples and records of these"
    if function == "**" and isinstance(arguments[1].type, Number):
        help = "an exponent is a whole number, such as `2` or `-1`"
    context.problems.add(
        "GD0305",
        f"`{usage}` does not take {given}",
        node.span,
        why="the types do not fit",
        help=help,
    )


def report_per_role(context: TypingContext, map: ir.Expr) -> None:
    """Reports a map of a value per role where one value is wanted."""
    source, seats = map.span.text, context.names.seats
    if not source.isidentifier():
        source = f"({source})"
    ways = [f"{source}.{word}" for word in (("me", "other") if context.me_allowed else ())]
    if len(seats) != 2:
        ways = ways[:1]
    ways += [f"{source}.{seats[0]}"] if seats else []
    context.problems.add(
        "GD0322",
        "this is a value per role, and one value is needed",
        map.span,
        why=str(map.type),
        help="take one role's: " + ", ".join(f"`{way}`" for way in ways),
    )


def _none_test(source: str) -> str:
    """Returns a test for none: a name, or an entry of it, is known after a test."""
    if re.fullmatch(r"[\w.\[\]]+", source):
        return f"test it first: `0 if {source} == none else …`"
    return "name it under `let`, and test it: `0 if x == none else …`"


def _conversion_fix(type: Type, wanted: Type, node: ast.Node) -> str:
    text = node.span.text
    if isinstance(wanted, Number) and isinstance(type, Bool):
        return f"write `1 if {text} else 0`" if len(text) < 60 else "write `1 if … else 0`"
    if isinstance(wanted, Bool) and isinstance(type, Number):
        return f"compare it: `{text} > 0`" if len(text) < 60 else "compare it with something"
    if isinstance(type, Option) and isinstance(wanted, Number):
        return f"say what it is then: `0 if {text} == none else …`" if text.isidentifier() else ""
    simple = re.fullmatch(r"[\w.\[\](), ]+", text) and " if " not in text and len(text) < 60
    if isinstance(type, Option) and fits(type.of, wanted) and simple:
        return f"test it first: `{text} != none`"
    return ""
