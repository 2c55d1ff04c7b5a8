"""Steps without a decision or chance: `show`, `do` and `pay`."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from gamedsl.frontend.source.nodes import Node, Scalar
from gamedsl.ir import expr as ir
from gamedsl.ir.program import Do, Pay, Show, Step
from gamedsl.ir.statements import OWNER
from gamedsl.ir.types import PerSeat
from gamedsl.sema.bindings import declare_variable
from gamedsl.sema.payoffs import read_amounts
from gamedsl.sema.scope import is_reserved_stream
from gamedsl.sema.statements import read_statements
from gamedsl.sema.step_context import StepContext, WrittenStep
from gamedsl.sema.visibility import has_owner, read_step_readers


def read_show(context: StepContext, step: WrittenStep) -> tuple[Step, ...] | None:
    """Reads `show:`, which tells seats the value of an expression."""
    name = step.get("as")
    typed = _read_visible(context, step.head.value, name)
    readers = read_step_readers(step.get("seen_by"), context.typer)
    if typed is None or not isinstance(name, Scalar):
        return None
    type, joint = typed.type, isinstance(typed.type, PerSeat)
    acts, help = context.acting is not None, "name who sees it"
    if not has_owner(
        readers, name.text, step.span, acts or joint, context.problems, help, acts=acts
    ):
        return None
    inner = type.of if isinstance(type, PerSeat) else type
    actors = context.names.seats if joint else ()
    if not declare_variable(context, name.text, inner, name.span, actors=actors, joint=joint):
        return None
    id = context.program.step_id(name.text)
    by_seat: Literal[True] | None = True if joint and not acts and OWNER in readers.locals else None
    return (Show(id, name.text, typed, readers, step.span, step.condition, by_seat),)


def _read_visible(context: StepContext, node: Node, name: Node | None) -> ir.Expr | None:
    """Types what is shown. Of an expression over `me` where nobody acts, the help says how it gets
    a value per role."""
    with context.typer.context.collecting() as problems:
        typed = context.expression(node)
    own = f"own_{name.text}" if isinstance(name, Scalar) else "own_value"
    written = node.text if isinstance(node, Scalar) else node.span.text
    text = f"name it under `let`, `{own}: {written}`, and show `{own}`"
    for problem in problems.found:
        named = problem.code == "GD0303" and context.acting is None
        context.problems.extend((replace(problem, help=text) if named else problem,))
    return typed


def read_do(context: StepContext, step: WrittenStep) -> tuple[Step, ...] | None:
    """Reads `do:`, statements that write the state."""
    me = context.acting is not None
    statements = read_statements(step.head.value, context.typer, me=me, facts=context.facts)
    if statements is None:
        return None
    return (Do(context.program.step_id("do"), statements, step.span, step.condition),)


def read_pay(context: StepContext, step: WrittenStep) -> tuple[Step, ...] | None:
    """Reads `pay:`, a payoff to a stream during play."""
    stream, value = step.head.value, step.get("value")
    assert isinstance(stream, Scalar)
    if value is None or is_reserved_stream(stream, context.problems):
        return None
    amounts = read_amounts(context, value, "a payoff")
    id = context.program.step_id(stream.text)
    return (Pay(id, stream.text, amounts, step.span, step.condition),)
