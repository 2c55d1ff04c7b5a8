"""Choices from a `values` type that are read by their values alone bind these directly.

`at + move`, where `move` is chosen from `{up: (-1, 0), …}`, need not look up at every read what
`up` stands for: the option `up` binds (-1, 0). Options keep their names, which is what seats see,
so the game stays the same. A variable qualifies if nothing else binds it, its options do not depend
on play, and each expression that reads it asks for its value.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from gamedsl.diagnostics.spans import Span
from gamedsl.ir import expr as ir
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Choice, Choose, bound_names, walk_steps
from gamedsl.ir.types import Enum
from gamedsl.sema.named_values import value_type


def bind_values(game: GameIR) -> GameIR:
    """Returns a game in which such choices bind values instead of names."""
    variables = _read_by_value(game, _candidates(game))
    if not variables:
        return game
    changed = _mapped(game, lambda part: _by_value(part, variables))
    assert isinstance(changed, GameIR)
    rest = replace(changed, enums=())
    kept = tuple(e for e in changed.enums if e not in variables.values() or _holds(rest, e))
    return replace(changed, enums=kept)


def _candidates(game: GameIR) -> dict[str, Enum]:
    """Returns the variables that are only ever bound to a choice from all names of a `values`
    type."""
    found: dict[str, Enum] = {}
    others: set[str] = {state.name for state in game.states}
    for step in walk_steps(game.turns):
        for name in bound_names(step):
            enum = _free_choice(step) if isinstance(step, Choose) else None
            if enum is None or found.setdefault(name, enum) != enum:
                others.add(name)
        if isinstance(step, Choose):
            others |= {name for action in step.moves for name, _ in action.parameters}
    return {name: enum for name, enum in found.items() if name not in others}


def _free_choice(step: Choose) -> Enum | None:
    """Returns the `values` type from which a step always offers the same options."""
    valued = isinstance(step.type, Enum) and step.type.values is not None
    free = step.static and step.place is None and step.said is None
    return step.type if valued and free and isinstance(step.type, Enum) else None


def _read_by_value(game: GameIR, variables: dict[str, Enum]) -> dict[str, Enum]:
    """Returns those of the variables that every expression reads by their values."""
    if not variables:
        return {}
    read: Counter[str] = Counter()
    for expr in ir.expressions_in(game):
        match expr:
            case ir.Read(name=name) | ir.LastBy(name=name) | ir.Past(name=name):
                read[name] += 1
            case ir.Apply(function="value_of", arguments=(named, _)):
                found = _variable(named)
                if found is not None:
                    read[found] -= 1
            case _:  # reads no variable itself
                pass
    return {name: enum for name, enum in variables.items() if not read[name]}


def _variable(named: ir.Expr) -> str | None:
    """Returns the variable that an expression reads whole, or one role's entry of."""
    inner = named.of if isinstance(named, ir.Get) else named
    return inner.name if isinstance(inner, ir.Read | ir.LastBy) else None


def _by_value(part: Any, variables: dict[str, Enum]) -> Any:
    """Returns a part of a game with the values of these variables in place of names."""
    match part:
        case ir.Apply(function="value_of", arguments=(named, _)) if _variable(named) in variables:
            return _retyped(named)
        case Choose(variable=name) if name in variables and _free_choice(part) is not None:
            enum = variables[name]
            assert enum.values is not None
            assert enum.of is not None
            worth = dict(zip(enum.members, enum.values, strict=True))
            options = tuple(
                tuple(Choice(option.name, worth[option.name], option.span) for option in row)
                for row in part.options
            )
            return replace(part, options=options, type=enum.of)
        case _:
            return part


def _retyped(named: ir.Expr) -> ir.Expr:
    """Returns a read of names as one of their values."""
    type = value_type(named.type)
    assert type is not None
    return (
        replace(named, type=type, of=_retyped(named.of))
        if isinstance(named, ir.Get)
        else replace(named, type=type)
    )


def _mapped(part: Any, change: Callable[[Any], Any]) -> Any:
    """Returns a part of the IR with `change` applied to all inside it, and then to itself. What
    does not change stays the same object."""
    if isinstance(part, tuple):
        items = tuple(_mapped(item, change) for item in part)
        return items if any(a is not b for a, b in zip(items, part, strict=True)) else part
    if isinstance(part, dict):
        entries = {key: _mapped(value, change) for key, value in part.items()}
        return entries if any(entries[key] is not part[key] for key in part) else part
    if not dataclasses.is_dataclass(part) or isinstance(part, Span | type):
        return part
    fields = {
        field.name: _mapped(getattr(part, field.name), change)
        for field in dataclasses.fields(part)
        if field.compare and field.name != "type"
    }
    new = {name: value for name, value in fields.items() if value is not getattr(part, name)}
    return change(replace(part, **new) if new else part)


def _holds(part: Any, enum: Enum) -> bool:
    """Whether a part of the IR has an enum among its types."""
    return any(found == enum for found in _enums_in(part))


def _enums_in(part: Any) -> Iterator[Enum]:
    if isinstance(part, Enum):
        yield part
    if isinstance(part, tuple):
        for item in part:
            yield from _enums_in(item)
    elif isinstance(part, dict):
        yield from _enums_in(tuple(part.values()))
    elif dataclasses.is_dataclass(part) and not isinstance(part, Span | type):
        for field in dataclasses.fields(part):
            if field.compare:
                yield from _enums_in(getattr(part, field.name))
