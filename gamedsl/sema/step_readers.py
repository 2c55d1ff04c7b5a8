"""The table of steps: which reader reads a step, by the key that it has.

A new kind of step is one row here, and its reader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from gamedsl.frontend.source.nodes import Entry, Mapping, Node, Scalar, Sequence
from gamedsl.ir import expr as ir
from gamedsl.ir.expr import reads_play
from gamedsl.ir.program import Step
from gamedsl.ir.types import BOOL
from gamedsl.sema.chance import read_draw
from gamedsl.sema.decisions import read_choose, read_say
from gamedsl.sema.effects import read_do, read_pay, read_show
from gamedsl.sema.function_calls import read_call
from gamedsl.sema.loops import read_block, read_loop
from gamedsl.sema.step_context import StepContext, WrittenStep
from gamedsl.sema.uses import read_use, use_file
from gamedsl.sema.values import constant

DECISIONS = (read_choose, read_say)
"""The readers of steps whose actors are `me` in the step's condition."""

MAX_STEPS = 1000
"""Steps of one game."""

StepReader = Callable[[StepContext, WrittenStep], tuple[Step, ...] | None]
"""Reads a step: the steps of the program that it stands for. None where it is wrong, and the names
that it would have bound are then not reported as unknown."""

STEP_READERS: dict[str, StepReader] = {
    "repeat": read_loop,
    "each": read_loop,
    "use": read_use,
    "while": read_loop,
    "until": read_loop,
    "turns": read_block,
    "choose": read_choose,
    "say": read_say,
    "draw": read_draw,
    "deal": read_draw,
    "show": read_show,
    "do": read_do,
    "pay": read_pay,
    "call": read_call,
}
"""The reader of a step by the first of these keys that it has."""


def read_program(context: StepContext, root: Mapping) -> tuple[Step, ...]:
    """Reads the steps of a game: its `turns`, or the protocol that stands for them."""
    context.program.sources = frozenset(entry.key.span.source.name for entry in root)
    respond = root.get("respond")
    form = respond.get("form") if isinstance(respond, Mapping) else respond
    context.program.tool_calls = isinstance(form, Scalar) and form.text == "tool"
    protocol = root.get("protocol")
    if protocol is not None:
        return use_file(context, protocol)
    return context.read_turns(root.get("turns"))


def read_step(context: StepContext, item: Mapping) -> tuple[Step, ...]:
    """Reads an item of `turns`: the one step that it stands for, or those of a protocol."""
    program = context.program
    program.steps_read += 1
    if not context.chain:
        program.outermost = item.span
    if program.steps_read > MAX_STEPS:
        if not context.problems.errors:
            why = f"at most {MAX_STEPS} steps, and as many uses of protocols"
            place = program.outermost or item.span
            context.problems.add("GD0419", "this game has too many steps", place, why=why)
        return ()
    head = next((found for key in STEP_READERS if (found := item.entry(key)) is not None), None)
    if head is None:
        return ()
    reader, test, condition = STEP_READERS[head.key.text], item.get("if"), None
    if test is not None and (reader is not read_loop or item.get("turns") is not None):
        condition, learned = context.condition(test, me=reader in DECISIONS)
        value = _known_value(context, test, condition)
        if value is False:
            _declare_only(context, item)
            return ()
        if value is None:
            context = replace(context, facts=context.facts | learned)
        else:
            condition = None
    steps = reader(context, WrittenStep(item, head, condition))
    if steps is None:
        _forgive_names(context, item, head)
    return steps or ()


def _known_value(context: StepContext, test: Node, condition: ir.Expr | None) -> bool | None:
    """Returns the value of a condition over params alone; None for any other."""
    if condition is None or reads_play(condition):
        return None
    with context.typer.context.collecting():
        found = constant(test, context.typer, BOOL)
    return bool(found[1]) if found is not None else None


def _declare_only(context: StepContext, item: Mapping) -> None:
    """Declares what a step binds that the params switch off: a name that is always none. What else
    is wrong in it matters only where something reads what it could not bind."""
    context.names.leave_out(item.span)
    entries = tuple(entry for entry in item if entry.key.text != "if")
    names, program = context.names, context.program
    ids, broken = program.ids.copy(), names.broken.copy()
    with context.typer.context.collecting() as problems:
        read_step(context, Mapping(entries, item.span))
    for name in names.broken - broken:
        names.withheld[name] = problems.found
    program.ids = ids


def _forgive_names(context: StepContext, item: Mapping, head: Entry) -> None:
    """Marks the names that a wrong step would have bound: reading them is no second problem."""
    actions = context.declared_actions
    named: list[Node | None] = [head.value, item.get("as"), item.get("gives")]
    named += [entry.key for entry in actions.section] if actions is not None else []
    context.names.broken.update(node.text for node in named if isinstance(node, Scalar))
    for source in (item.get("from"), item.get("read")):
        if isinstance(source, Mapping | Sequence):
            context.names.broken.update(_words(source))


def _words(node: Node | Entry) -> Iterator[str]:
    """Yields the keys and values in a list or map, and in those inside it: options among them."""
    match node:
        case Scalar():
            yield node.text
        case Entry():
            yield from (node.key.text, *_words(node.value))
        case Mapping() | Sequence():
            for part in node:
                yield from _words(part)
