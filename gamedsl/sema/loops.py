"""Steps with steps inside: loops (`repeat`, `each`, `while`, `until`) and `turns` blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NamedTuple

from gamedsl.bounds.loop_bounds import pass_bound
from gamedsl.diagnostics.spans import Span
from gamedsl.frontend.source.nodes import Entry, Mapping, Node, Scalar
from gamedsl.ir import expr as ir
from gamedsl.ir.abstract_values import ANYTHING, NATURAL, AbstractValue, Interval, number_in
from gamedsl.ir.builtins import element
from gamedsl.ir.expr import reads_play
from gamedsl.ir.program import AtBound, Block, Loop, Step
from gamedsl.ir.types import BOOL, NEVER, SEAT, WHOLE, Number, Type
from gamedsl.sema.bindings import declare_everywhere
from gamedsl.sema.chance import values_of
from gamedsl.sema.decisions import read_actors
from gamedsl.sema.narrow import unchanged, without
from gamedsl.sema.scope import LoopName, Namespace, ParamName, report_taken
from gamedsl.sema.step_context import StepContext, WrittenStep, names_written, options_written
from gamedsl.sema.types import part_of

MAX_PASSES = 100_000
"""Passes of one loop."""

LOOP_KEYS = ("repeat", "each", "count", "until", "while", "at_most")
"""The keys of a step that belong to its loop; what is left is the body, if it has no `turns`."""

_CYCLE = re.compile(r"cycle\((.+)\)\Z", re.DOTALL)
_ITEM = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\s+in\s+(.+)\Z", re.DOTALL)

_MISSPELT_IN = re.compile(r"([a-z][a-z0-9_]*)\s+\w+\s+\w")
"""What an item's name is probably in, where what follows it is no `in`."""


@dataclass(frozen=True, slots=True)
class Order:
    """The items of a loop's `each` (None if they are wrong), whether they repeat, and the name
    and type of an item; without a name the items are seats that act."""

    items: ir.Expr | None
    cycle: bool
    name: Scalar | None
    type: Type


class WrittenName(NamedTuple):
    """A name that a loop declares: its type, and what is known of its value in a pass."""

    name: Scalar
    type: Type
    value: AbstractValue


def read_block(context: StepContext, step: WrittenStep) -> tuple[Step, ...]:
    """Reads `turns:` without a loop: steps under one condition, or those of the roles that act."""
    role, turns, program = step.get("role"), step.get("turns"), context.program
    if role is None:
        body = context.read_steps(turns)
        if step.condition is None:
            return body
        return (Block(program.step_id("block"), body, step.span, step.condition),)
    actors = read_actors(context, step.item)
    if actors is None:
        return ()
    with program.loop():
        body = replace(context, acting=actors.seats).read_steps(turns)
    id, items = program.step_id("turn"), actors.items(role.span)
    return (Loop(id, body, step.span, items=items, condition=step.condition),)


def read_loop(context: StepContext, step: WrittenStep) -> tuple[Step, ...]:
    """Reads a loop (`repeat`, `each`, `while`, `until`) around `turns`, or around the step itself.

    `while: e` is `if: e` of the whole loop and `until: not e`: the program knows no other loop.
    """
    stays, condition, program = step.item.entry("while"), step.condition, context.program
    if stays is not None and condition is not None:
        loop = read_loop(context, replace(step, condition=None))
        return loop and (Block(program.step_id("block"), loop, step.span, condition),)
    repeat, each, count = step.get("repeat"), step.get("each"), step.get("count")
    problems = context.problems
    before = problems.count_errors()
    times, order, seats = None, Order(None, False, None, NEVER), context.acting
    if repeat is not None:
        times = ir.Const(WHOLE, repeat.span, context.types.number(repeat, 0, MAX_PASSES))
    elif each is not None:
        order = _read_order(context, each)
    facts = unchanged(context.facts)
    if stays is not None:
        in_turn = each is not None and order.name is None
        outside = replace(context, acting=None) if in_turn else context
        options = ((option.text, option.span) for option, _ in options_written(step.item))
        context.names.inside.update((*names_written(step.item), *options))
        condition, learned = outside.condition(stays.value)
        context.names.inside.clear()
        facts |= learned
    if order.name is None and each is not None:
        seats = _possible_seats(context, order.items)
    written = _written_names(context, order, times, count)
    with _local_names(context, written) as local:
        facts = without(facts, (local.name.text for local in written))
        inner = replace(context, acting=seats, facts=facts)
        with program.loop() as bound:
            body = _read_body(inner, step.item)
            behind = replace(inner, facts=unchanged(facts))
            until = _read_until(behind, step, stays, condition)
    if problems.count_errors() > before:
        return ()
    passes, at_bound = _read_bound(context, step, body, order.cycle)
    if problems.count_errors() > before:
        return ()
    return (
        Loop(
            program.step_id("loop"), body, step.span, times, order.items, order.cycle,
            item=local.get(order.name.text) if order.name is not None else None,
            count=local.get(count.text) if isinstance(count, Scalar) else None,
            until=until, bound=passes, at_bound=at_bound, resets=tuple(dict.fromkeys(bound)),
            condition=condition,
        ),
    )  # fmt: skip


def _read_until(
    context: StepContext, step: WrittenStep, stays: Entry | None, condition: ir.Expr | None
) -> ir.Expr | None:
    """Returns the condition after a pass for which a loop ends; of `while`, that it fails."""
    test = step.get("until")
    if test is not None:
        return context.check(test, BOOL, "a condition")
    if stays is None or condition is None:
        return None
    span = stays.key.span._replace(end=stays.value.span.end)
    return ir.Apply(BOOL, span, "not", (condition,))


def _read_body(context: StepContext, item: Mapping) -> tuple[Step, ...]:
    """Reads the steps of one pass: the `turns` of a loop, those of a `role` beside them in its
    turn, or the step that the loop repeats."""
    turns, role = item.entry("turns"), item.entry("role")
    if turns is not None and role is not None:
        return read_block(context, WrittenStep(Mapping((role, turns), item.span), turns, None))
    if turns is not None:
        return context.read_steps(turns.value)
    inner = tuple(entry for entry in item if entry.key.text not in LOOP_KEYS)
    return context.program.read_step(context, Mapping(inner, item.span))


def _read_order(context: StepContext, each: Node) -> Order:
    """Reads `each:`: a collection, `cycle(…)` of one, and a name for its items."""
    name: Scalar | None = None
    cycle = False
    if isinstance(each, Scalar):
        if (named := _ITEM.match(each.text)) and not _CYCLE.match(each.text):
            name, each = part_of(each, *named.span(1)), part_of(each, *named.span(2))
        if around := _CYCLE.match(each.text):
            cycle, each = True, part_of(each, *around.span(1))
        typed = values_of(context, each)
    else:
        typed = context.expression(each)
    if typed is None:
        if name is None and isinstance(each, Scalar) and (word := _MISSPELT_IN.match(each.text)):
            context.names.broken.add(word[1])
        return Order(None, cycle, name, NEVER)
    of = element(typed.type)
    if of is None or (name is None and of != SEAT):
        _report_order(context, each, typed, of)
        return Order(None, cycle, name, NEVER)
    return Order(typed, cycle, name, of)


def _report_order(context: StepContext, each: Node, typed: ir.Expr, of: Type | None) -> None:
    """Reports a loop over what is no collection, or, without a name, over what are no roles."""
    text = each.span.text if len(each.span.text) < 40 else "…"
    message, help = "a loop goes through a collection", "write a list, a range or a type"
    if of is not None:
        message = "what a loop without a name goes through are roles"
        help = f"give each item a name: `each: x in {text}`"
    elif isinstance(typed.type, Number) and not reads_play(typed):
        help = f"to repeat it, write `repeat: {text}`"
    context.problems.add("GD0430", message, each.span, why=f"this is {typed.type}", help=help)


def _possible_seats(context: StepContext, items: ir.Expr | None) -> tuple[str, ...]:
    """Returns the seats that a loop over roles may come to."""
    seats = context.names.seats
    if isinstance(items, ir.Const):
        return tuple(seat for seat in seats if seat in items.value)
    return seats


def _written_names(
    context: StepContext, order: Order, times: ir.Const | None, count: Node | None
) -> list[WrittenName]:
    """Returns the names that a loop gives to its item and to the number of its pass."""
    source = None if order.items is None else context.typer.context.value(order.items)
    found = []
    if order.name is not None:
        found.append(WrittenName(order.name, order.type, source.item if source else ANYTHING))
    if isinstance(count, Scalar):
        passes = None if source is None or order.cycle else source.size
        passes = times.value if times is not None else passes
        number = NATURAL if passes is None else Interval(1, max(1, passes), True)
        found.append(WrittenName(count, WHOLE, number_in(number)))
    return found


@contextmanager
def _local_names(context: StepContext, written: list[WrittenName]) -> Iterator[dict[str, str]]:
    """Declares the item and the count of a loop for what is read inside it, and yields their names
    in the IR by those written. What is around the loop has its names back behind it."""
    typing, scopes = context.typer.context, (context.names, *context.outer)
    local: dict[str, str] = {}
    hidden: list[tuple[Namespace, str, LoopName]] = []
    known = dict(typing.known)
    for name, type, value in written:
        others = (other.name for other in written if other.name is not name)
        twice = next((other.span for other in others if other.text == name.text), None)
        places = (twice, *(scope.lasting(name.text) for scope in scopes))
        first = next((place for place in places if place is not None), None)
        if report_taken(name.text, name.span, first, context.problems):
            continue
        for scope in scopes:
            earlier = scope.declared.get(name.text)
            if isinstance(earlier, LoopName):
                hidden.append((scope, name.text, earlier))
        variable = _loop_variable(context, name, type)
        declare_everywhere(context, name.text, variable)
        local[name.text] = variable.variable
        known[variable.variable] = value
        context.program.bind(variable.variable)
    with typing.scope(typing.scoped | local.keys(), known):
        yield local
    for scope, text, earlier in hidden:
        scope.declared[text] = earlier


def _loop_variable(context: StepContext, name: Scalar, type: Type) -> LoopName:
    """Returns the variable of a loop. Loops one after another that give a name to one type share
    it; a loop inside another of that name has one of its own."""
    known = context.names.loops.setdefault(name.text, [])
    around = context.names.declared.get(name.text)
    is_inside = name.text in context.typer.context.scoped
    for shared in known:
        if shared.type == type and not (is_inside and shared == around):
            return shared
    actions = context.declared_actions
    taken = actions is not None and name.text in actions.arguments
    number = len(known) + 1 + taken
    variable = name.text if number == 1 else f"{name.text}.{number}"
    known.append(LoopName(type, name.span, variable))
    return known[-1]


def _read_bound(
    context: StepContext, step: WrittenStep, body: tuple[Step, ...], cycle: bool
) -> tuple[int | None, AtBound]:
    """Reads `at_most`: after how many passes a loop ends at the latest, and how; None for a loop
    that ends by itself. Reports a loop without a bound."""
    limit, limit_param = step.get("at_most"), None
    span: Span = limit.span if limit is not None else step.span
    at_bound: AtBound = "error"
    if isinstance(limit, Mapping):
        match limit.get("then"):
            case Scalar(text="end" | "go_on" as way):
                at_bound = way
            case _:  # without `then`, an error
                pass
        limit = limit.get("n")
    if isinstance(limit, Scalar):
        known = context.names.declared.get(limit.text)
        if limit.value == "none" or (isinstance(known, ParamName) and known.value is None):
            limit_param = limit.text if isinstance(known, ParamName) else None
            limit = None
    if limit is not None:
        return context.types.number(limit, 1, MAX_PASSES), at_bound
    if not cycle and (step.get("repeat") or step.get("each")) is not None:
        return None, at_bound
    bound = pass_bound(body, context.program.state)
    if bound is None and not context.problems.errors:
        head = step.item.entry("each") or step.item.entry("until") or step.item.entry("while")
        by_param = limit_param is not None and context.chain
        context.problems.add(
            "GD0431", "this loop has no bound", head.value.span if head else span,
            why="it may go round for ever",
            help=f"set `{limit_param}` of `{context.chain[-1]}`: `{limit_param}: 100`"
            if by_param
            else "say how many passes there can be: `at_most: 100`",
        )  # fmt: skip
    return bound, at_bound
