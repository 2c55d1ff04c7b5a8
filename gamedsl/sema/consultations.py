"""Registered functions in the condition of what is said: `valid: not exact(line, secret)`."""

from __future__ import annotations

from gamedsl.calls import registry
from gamedsl.calls.registry import CallError
from gamedsl.frontend.syntax import ast
from gamedsl.ir import expr as ir
from gamedsl.ir.types import Never
from gamedsl.sema.signatures import (
    BROKEN,
    Signature,
    report_argument,
    report_fault,
    report_unregistered,
    signature_of,
    takes,
)
from gamedsl.sema.typing_context import Infer, TypingContext, never


def consult(context: TypingContext, node: ast.Call, infer: Infer) -> ir.Expr | None:
    """Returns the call of a registered function, wrong or not; None where there is none of that
    name. `infer` types the arguments."""
    try:
        signature = signature_of(node.name.id)
    except CallError as error:
        if not context.consults:
            return None
        report_unregistered(context.problems, node.name.id, node.name.span, str(error), BROKEN)
        return never(node)
    if signature is None:
        return None
    if not _may_stand_here(context, node, signature):
        return never(node)
    if len(node.arguments) != len(signature.arguments):
        wanted = ", ".join(name for name, _ in signature.arguments)
        context.problems.add(
            "GD0482", f"`{signature.name}` takes {len(signature.arguments)} arguments", node.span,
            why=f"these are {len(node.arguments)}",
            help=f"give them in this order: `{signature.name}({wanted})`; it is {signature.text}",
        )  # fmt: skip
        return never(node)
    given: list[tuple[str, ir.Expr]] = []
    for written, (name, wanted_type) in zip(node.arguments, signature.arguments, strict=True):
        typed = infer(written, wanted_type)
        if isinstance(typed.type, Never):
            return never(node)
        if not takes(wanted_type, typed.type):
            report_argument(context, name, typed, signature)
            return never(node)
        given.append((name, typed))
    if report_fault(context, given, signature, node.name.span):
        return never(node)
    return ir.Consult(
        signature.result, node.span, signature.name, signature.version, tuple(given)
    )  # fmt: skip


def _may_stand_here(context: TypingContext, node: ast.Call, signature: Signature) -> bool:
    """Returns whether a registered function may be called at this place; reported if not."""
    unfit = signature.function.unfit_for_conditions
    if context.consults and not context.open_lets and unfit is None:
        return True
    names = [name for name, _ in signature.arguments]
    pairs = zip(names, node.arguments, strict=False)
    given = ", ".join(f"{name}: {written.span.text}" for name, written in pairs)
    step = f"`{{call: {signature.name}, with: {{{given}}}, gives: …}}`"
    if unfit is not None:
        why, help = unfit, f"let what is said stand, and call it behind: {step}"
    elif context.open_lets:
        why, help = "this is a `let`", "write it in `valid` itself"
    else:
        why = "registered functions are called by `valid`, and by steps"
        help = f"call it in a step, and read what that gives: {step}"
    context.problems.add(
        "GD0496", f"`{signature.name}` cannot be called here", node.span, why=why, help=help,
    )  # fmt: skip
    return False


def registered_names(context: TypingContext) -> tuple[str, ...]:
    """Returns the registered functions that may be called at this place of the walk."""
    if not context.consults or context.open_lets:
        return ()
    found = ((name, registry.lookup(name)) for name in registry.names())
    return tuple(name for name, one in found if one and one.unfit_for_conditions is None)
