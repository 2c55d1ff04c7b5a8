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
from typing import Any

from gamedsl.diagnostics import Note
from gamedsl.diagnostics.spans import Span
from gamedsl.frontend.source.nodes import Entry, Mapping, Node, Scalar
from gamedsl.ir import expr as ir
from gamedsl.ir import program, statements
from gamedsl.ir.builtins import element
from gamedsl.ir.game import GameIR, Let
from gamedsl.ir.types import (
    NUMBER,
    SEAT,
    WHOLE,
    Bag,
    Grid,
    List,
    Option,
    PerSeat,
    PerValue,
    Record,
    Seat,
    Set,
    Tuple,
    Type,
    Union,
)
from gamedsl.ir.values import Bag as BagValue
from gamedsl.ir.values import instance_name, name_of
from gamedsl.sema.library import find, given_params
from gamedsl.sema.step_context import StepContext
from gamedsl.sema.visibility import read_step_readers

MAX_DEPTH = 4
"""Games inside each other."""


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
    return (replace(stage, body=tuple(_seen_by(step, readers) for step in stage.body)),)


def _build(context: StepContext, name: Scalar, given: dict[str, Entry]) -> GameIR | None:
    """Builds the game of a stage; None (and diagnostics) where it is wrong or inside itself."""
    stages, problems = context.program.stages, context.problems
    chain = (*stages.chain, *context.chain)
    if name.text in chain or len(chain) >= MAX_DEPTH + 4:
        problems.add(
            "GD0405",
            f"the game `{name.text}` uses itself",
            name.span,
            why=" → ".join((*chain, name.text)),
            help="delete this step, or write the steps themselves",
        )
        return None
    source = name.span.source  # the file that names the game, which may be another than this
    near = source.folder / Path(source.name).name
    document = find("game", name.text, near, problems, name.span)
    if document is None:
        return None
    return stages.build(document, given, problems, (*chain, name.text))


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


def _seen_by(step: program.Step, readers: statements.Readers) -> program.Step:
    """Returns a step of a stage; a public choice is seen by some alone."""
    if isinstance(step, program.Choose) and step.readers.kind == "all" and step.place is None:
        return replace(step, readers=readers)
    return step


def _roles(count: int) -> str:
    return f"{count} role{'s' if count != 1 else ''}"


def _bound_names(steps: tuple[program.Step, ...]) -> list[str]:
    """Returns the names that steps bind."""
    found: list[str] = []
    for step in program.walk_steps(steps):
        if isinstance(step, program.Choose | program.Draw | program.Show):
            place = None if isinstance(step, program.Show) else step.place
            found += [] if place is not None else [step.variable]
        if isinstance(step, program.Loop):
            found += [name for name in (step.item, step.count) if name is not None]
    return found


@dataclass
class Renamer:
    """Copies IR with its variables and lets under a prefix, and seats for seats."""

    prefix: str
    seats: dict[str, str]
    number: Callable[[str], str]

    def __call__(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return value if isinstance(value, Span) else tuple(map(self, value))
        if isinstance(value, dict):
            return type(value)((self(k), self(v)) for k, v in value.items())
        if not dataclasses.is_dataclass(value) or isinstance(value, type):
            return value
        changes: dict[str, Any] = {}
        for part in dataclasses.fields(value):
            old = getattr(value, part.name)
            if isinstance(old, tuple) or (dataclasses.is_dataclass(old) and _holds_names(old)):
                changes[part.name] = self(old)
        changes |= self.own(value)
        return replace(value, **changes) if changes else value

    def own(self, value: Any) -> dict[str, Any]:
        """Returns the changed fields of one node itself."""
        named = self.named
        match value:
            case ir.Read() | ir.LastBy() | ir.Past() | ir.LetCall() | ir.LetMap():
                return {"name": named(value.name)}
            case ir.Const():
                return {"value": self.value(value.value, value.type)}
            case ir.Table():
                return {"cells": {self.key(k, value): self(v) for k, v in value.cells.items()}}
            case program.Choose():
                seats = tuple(self.seats[s] for s in value.actors)
                return {"id": self.number(value.id), "variable": named(value.variable),
                        "actors": seats, "options": self.options(value)}  # fmt: skip
            case program.Draw():
                per = tuple(tuple(self.seats.get(v, v) if value.by_seat and not i else v
                                  for v in index) for i, index in enumerate(value.per))  # fmt: skip
                source = self(value.source)
                weights = tuple((self.value(v, value.type), odds) for v, odds in source.weights)
                return {"id": self.number(value.id), "variable": named(value.variable), "per": per,
                        "source": replace(source, weights=weights)}  # fmt: skip
            case program.Show():
                return {"id": self.number(value.id), "variable": named(value.variable)}
            case statements.State():
                return {"name": named(value.name), "start": self.value(value.start, value.type)}
            case program.Loop():
                return {"id": self.number(value.id), "item": value.item and named(value.item),
                        "count": value.count and named(value.count),
                        "resets": tuple(map(named, value.resets))}  # fmt: skip
            case program.Do() | program.Pay() | program.Block() | program.Stage():
                return self.step(value)
            case statements.Place():
                return {"variable": named(value.variable)}
            case program.Action():
                return {"name": value.name, "parameters": tuple(
                    (named(name), self(source)) for name, source in value.parameters)}  # fmt: skip
            case statements.Readers():
                return {"seats": tuple(self.seats[s] for s in value.seats)}
        return {}

    def step(self, value: Any) -> dict[str, Any]:
        changes: dict[str, Any] = {"id": self.number(value.id)}
        if isinstance(value, program.Pay):
            changes["amounts"] = self.paid(value.amounts)
        if isinstance(value, program.Stage):
            changes["payoffs"] = self.paid(value.payoffs)
            changes["resets"] = tuple(map(self.named, value.resets))
        return changes

    def paid(self, amounts: tuple[tuple[str, ir.Expr], ...]) -> tuple[tuple[str, ir.Expr], ...]:
        return tuple((self.seats[seat], self(amount)) for seat, amount in amounts)

    def options(self, step: program.Choose) -> tuple[tuple[program.Choice, ...], ...]:
        given = {action.name: [element(source.type) or SEAT for _, source in action.parameters]
                 for action in step.moves}  # fmt: skip
        return tuple(
            tuple(self.choice(c, step.type, given) for c in choices) for choices in step.options
        )

    def choice(
        self, choice: program.Choice, type: Type, given: dict[str, list[Type]]
    ) -> program.Choice:
        """An option with the seats in it exchanged: a value, or an action with its arguments."""
        if not given:
            value = self.value(choice.value, type)
            named = name_of(choice.value) == choice.name
            return replace(choice, name=name_of(value) if named else choice.name, value=value)
        if isinstance(choice.value, str):
            return choice
        name, *old = choice.value
        arguments = tuple(map(self.value, old, given[name]))
        return replace(choice, name=instance_name(name, arguments), value=(name, *arguments))

    def key(self, key: tuple[Any, ...], table: ir.Table) -> tuple[Any, ...]:
        return tuple(self.value(k, e.type) for k, e in zip(key, table.keys, strict=True))

    def named(self, name: str) -> str:
        return self.prefix + name

    def value(self, value: Any, type: Type) -> Any:
        """A value with the seats in it exchanged."""
        match type:
            case Seat() if value is not None:
                return self.seats.get(value, value)
            case Option(of=inner) if value is not None:
                return self.value(value, inner)
            case List(of=inner) | Grid(of=inner) if isinstance(value, tuple):
                return tuple(self.value(v, inner) for v in value)
            case Record(types=types) | Tuple(of=types) if isinstance(value, tuple):
                return tuple(map(self.value, value, types))
            case Union(of=parts) if isinstance(value, str) and Seat() in parts:
                return self.seats.get(value, value)
            case Bag(of=inner) if isinstance(value, dict):
                return BagValue({self.value(k, inner): count for k, count in value.items()})
            case Set(of=inner) if isinstance(value, frozenset):
                return frozenset(self.value(v, inner) for v in value)
            case PerSeat(of=inner) if isinstance(value, dict):
                return {self.seats.get(k, k): self.value(v, inner) for k, v in value.items()}
            case PerValue(of=inner) if isinstance(value, dict):
                return {k: self.value(v, inner) for k, v in value.items()}
        return value


def _holds_names(value: Any) -> bool:
    return isinstance(
        value,
        ir.Expr | Let | program.Source | statements.Place | statements.Key | statements.Readers
        | program.Choose | program.Draw | program.Show | program.Do | program.Pay | program.Block
        | program.Loop | program.Stage | program.Action | statements.Assign | statements.Add
        | statements.Drop | statements.DropItem | statements.ForEach | statements.State,
    )  # fmt: skip
