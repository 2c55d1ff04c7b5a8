"""Games inside games: a game that is used as a stage, in a scope of its own.

The stage is compiled as the game that it is, then its variables and lets are given names that
nothing outside can say (`prisoners_dilemma.move`), and its roles the seats of the game around it,
in order.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, assert_never

from gamedsl.diagnostics import Note
from gamedsl.diagnostics.spans import Span
from gamedsl.frontend.source.nodes import Entry, Mapping, Node, Scalar
from gamedsl.ir import expr as ir
from gamedsl.ir import program, statements
from gamedsl.ir.builtins import element
from gamedsl.ir.game import GameIR
from gamedsl.ir.types import (
    NUMBER,
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
    domain,
)
from gamedsl.ir.values import Bag as BagValue
from gamedsl.ir.values import instance_name, name_of
from gamedsl.sema.library import find, given_params
from gamedsl.sema.step_context import StepContext
from gamedsl.sema.visibility import read_step_readers

MAX_DEPTH = 8
"""Games inside each other, the outermost counted."""


def read_stage(context: StepContext, node: Node, name: Scalar) -> tuple[program.Step, ...]:
    """Returns the stage that a `use` step stands for; none (and diagnostics) if it is wrong."""
    inner = _build(context, name, given_params(node, "weight", "if", "seen_by"))
    if inner is None:
        return ()
    seats = context.names.seats
    if len(inner.seats) != len(seats):
        context.problems.add(
            "GD0434",
            f"`{inner.name}` is for {_roles(len(inner.seats))}, and this game has {len(seats)}",
            name.span,
            why="a stage has as many roles as the game around it",
            notes=(Note(inner.span, "declared here"),),
            help=f"give this game {_roles(len(inner.seats))}: "
            f"`roles: [{', '.join(inner.seats[:6])}]`"
            if len(inner.seats) <= 6
            else "",
        )
        return ()
    weight = node.get("weight") if isinstance(node, Mapping) else None
    typed: ir.Expr | None = ir.Const(WHOLE, name.span, 1)
    if weight is not None:
        typed = context.check(weight, NUMBER, "a weight")
    if typed is None:
        return ()
    stage = _embed(context, inner, typed, node.span)
    seen = node.get("seen_by") if isinstance(node, Mapping) else None
    if seen is None:
        return (stage,)
    readers = read_step_readers(seen, context.typer)
    body = program.map_steps(stage.body, lambda step: _hide_choice(step, readers))
    return (replace(stage, body=body),)


def _build(context: StepContext, name: Scalar, given: dict[str, Entry]) -> GameIR | None:
    """Builds the game of a stage; None (and diagnostics) where it is wrong or inside itself."""
    stages, problems = context.program.stages, context.problems
    chain = (*stages.chain, *context.chain)
    if name.text in chain or len(chain) >= MAX_DEPTH:
        problems.add(
            "GD0405",
            f"the game `{name.text}` uses itself"
            if name.text in chain
            else f"games use each other more than {MAX_DEPTH} deep",
            name.span,
            why=" → ".join((*chain, name.text)),
            help="delete this step, or write the steps themselves",
        )
        return None
    source = name.span.source  # the file that names the game, which may be another than this
    near = source.folder / Path(source.name).name
    document = find("game", name.text, near, problems, name.span, stages.budget.loaded)
    if document is None or not stages.can_use(document, name.span, problems):
        return None
    return stages.build(document, given, problems, (*chain, name.text), stages.budget)


def _embed(context: StepContext, inner: GameIR, weight: ir.Expr, span: Span) -> program.Stage:
    """Returns a game as a stage of the game around it, which takes over its lets and enums."""
    draft = context.program
    seats = dict(zip(inner.seats, context.names.seats, strict=True))
    rename = Renamer(f"{inner.name}.", seats, draft.step_id)
    known = {let.name for let in draft.stages.lets}
    for let in inner.lets:
        renamed = replace(rename(let), name=rename.prefix + let.name)
        if renamed.name not in known:
            draft.stages.lets.append(renamed)
    body = rename(inner.turns)
    bound = dict.fromkeys(_bound_names(body))
    for enum in inner.enums:
        if enum not in context.names.enums:
            context.names.enums.append(enum)
    return program.Stage(
        draft.step_id(inner.name),
        body,
        rename(inner.state),
        tuple(bound),
        rename(inner.end),
        tuple((rename.seats[seat], rename(payoff)) for seat, payoff in inner.payoffs),
        weight,
        span,
    )


def _hide_choice(step: program.Step, readers: statements.Readers) -> program.Step:
    """Returns a step with its readers, where it is a public choice that writes no state."""
    if isinstance(step, program.Choose) and step.readers.kind == "all" and step.place is None:
        return replace(step, readers=readers)
    return step


def _roles(count: int) -> str:
    return f"{count} role{'s' if count != 1 else ''}"


def _bound_names(steps: tuple[program.Step, ...]) -> list[str]:
    """Returns the names that steps bind, those of declared state left out."""
    names: list[str] = []
    for step in program.walk_steps(steps):
        match step:
            case program.Choose() | program.Draw():
                names += [step.variable] if step.place is None else []
            case program.Show() | program.Call():
                names.append(step.variable)
            case program.Loop():
                names += [name for name in (step.item, step.count) if name is not None]
            case program.Do() | program.Pay() | program.Block() | program.Stage():
                pass
            case _:
                assert_never(step)
    return names


@dataclass
class Renamer:
    """Copies IR with its variables and lets under a prefix, seats for seats and new step ids."""

    prefix: str
    seats: dict[str, str]
    number: Callable[[str], str]

    def __call__(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return value if isinstance(value, Span) else tuple(map(self, value))
        if not dataclasses.is_dataclass(value) or isinstance(value, Type | type):
            return value
        changes: dict[str, Any] = {}
        for part in dataclasses.fields(value):
            old = getattr(value, part.name)
            if isinstance(old, tuple) or dataclasses.is_dataclass(old):
                changes[part.name] = self(old)
        if isinstance(value, program.Step):
            changes |= {"id": self.number(value.id)} | self.of_step(value)
        elif isinstance(value, ir.Expr):
            changes |= self.of_expression(value)
        else:
            changes |= self.of_part(value)
        return replace(value, **changes) if changes else value

    def of_step(self, step: program.Step) -> dict[str, Any]:
        """Returns the fields of a step that name variables or seats, renamed."""
        named = self.named
        match step:
            case program.Choose():
                actors = tuple(self.seats[seat] for seat in step.actors)
                options = self.options(step)
                return {"variable": named(step.variable), "actors": actors, "options": options}
            case program.Draw():
                source = self(step.source)
                weights = tuple((self.value(v, step.type), odds) for v, odds in source.weights)
                return {
                    "variable": named(step.variable),
                    "per": tuple(map(self.indices, step.per)),
                    "source": replace(source, weights=weights),
                }
            case program.Show() | program.Call():
                return {"variable": named(step.variable)}
            case program.Loop():
                return {
                    "item": step.item and named(step.item),
                    "count": step.count and named(step.count),
                    "resets": tuple(map(named, step.resets)),
                }
            case program.Pay():
                return {"amounts": self.amounts(step.amounts)}
            case program.Stage():
                resets = tuple(map(named, step.resets))
                return {"payoffs": self.amounts(step.payoffs), "resets": resets}
            case program.Do() | program.Block():
                return {}
            case _:
                assert_never(step)

    def of_expression(self, expr: ir.Expr) -> dict[str, Any]:
        """Returns the fields of an expression that name variables, lets or seats, renamed."""
        match expr:
            case ir.Read() | ir.LastBy() | ir.Past() | ir.LetCall() | ir.LetMap():
                return {"name": self.named(expr.name)}
            case ir.Const():
                return {"value": self.value(expr.value, expr.type)}
            case ir.Table():
                types = [key.type for key in expr.keys]
                return {
                    "cells": {
                        tuple(map(self.value, key, types)): self(cell)
                        for key, cell in expr.cells.items()
                    }
                }
            case (
                ir.Local() | ir.Me() | ir.Stream() | ir.Apply() | ir.Logic() | ir.If() | ir.Get()
                | ir.Field() | ir.Cell() | ir.Build() | ir.Collect() | ir.Consult()
            ):  # fmt: skip
                return {}
            case _:
                assert_never(expr)

    def of_part(self, part: Any) -> dict[str, Any]:
        """Returns the fields of a part of a step that name variables or seats, renamed."""
        match part:
            case statements.State():
                start = self.value(part.start, part.type)
                return {"name": self.named(part.name), "start": start}
            case statements.Place():
                return {"variable": self.named(part.variable)}
            case statements.Readers():
                return {"seats": tuple(self.seats[seat] for seat in part.seats)}
            case program.Action():
                parameters = ((self.named(name), self(source)) for name, source in part.parameters)
                return {"parameters": tuple(parameters)}
            case _:  # any other part names none
                return {}

    def amounts(self, amounts: tuple[tuple[str, ir.Expr], ...]) -> tuple[tuple[str, ir.Expr], ...]:
        return tuple((self.seats[seat], self(amount)) for seat, amount in amounts)

    def indices(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Returns the values of one index of a draw: of seats those of the game around."""
        by_seat = all(isinstance(value, str) and value in self.seats for value in values)
        return tuple(self.seats[value] for value in values) if by_seat else values

    def options(self, step: program.Choose) -> tuple[tuple[program.Choice, ...], ...]:
        given = {action.name: [element(source.type) or SEAT for _, source in action.parameters]
                 for action in step.moves}  # fmt: skip
        return tuple(
            tuple(self.choice(c, step.type, given) for c in choices) for choices in step.options
        )

    def choice(
        self, choice: program.Choice, type: Type, given: dict[str, list[Type]]
    ) -> program.Choice:
        """Returns an option with its seats exchanged: a value, or an action with its arguments."""
        if not given:
            value = self.value(choice.value, type)
            named = name_of(choice.value) == choice.name
            return replace(choice, name=name_of(value) if named else choice.name, value=value)
        if isinstance(choice.value, str):
            return choice
        name, *old = choice.value
        arguments = tuple(map(self.value, old, given[name]))
        return replace(choice, name=instance_name(name, arguments), value=(name, *arguments))

    def named(self, name: str) -> str:
        return self.prefix + name

    def value(self, value: Any, type: Type) -> Any:
        """Returns a value of a type with the seats in it exchanged."""
        if value is None:
            return None
        match type:
            case Seat():
                return self.seats.get(value, value)
            case Option(of=inner):
                return self.value(value, inner)
            case List(of=inner) | Grid(of=inner):
                return tuple(self.value(v, inner) for v in value)
            case Record(types=types) | Tuple(of=types):
                return tuple(map(self.value, value, types))
            case Union(of=parts):
                seats = tuple(self.seats)
                own = [part for part in parts if value in (domain(part, seats) or ())]
                return self.value(value, own[0]) if own else value
            case Bag(of=inner):
                return BagValue({self.value(k, inner): count for k, count in value.items()})
            case Set(of=inner):
                return frozenset(self.value(v, inner) for v in value)
            case PerSeat(of=inner):
                return {self.seats.get(k, k): self.value(v, inner) for k, v in value.items()}
            case PerValue(key=key, of=inner):
                return {self.value(k, key): self.value(v, inner) for k, v in value.items()}
            case Bool() | Number() | Enum() | NoneType() | Text() | Never():
                return value
            case _:
                assert_never(type)
