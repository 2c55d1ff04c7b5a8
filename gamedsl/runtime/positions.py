"""Position keys: equal for histories after which the same may follow, for solvers that reach one
position by many histories.

A key depends on the rules alone, not on the events that seats have seen. A position stands for all
its histories only where every seat has seen everything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gamedsl.engine.interpreter import History, Interpreter
from gamedsl.engine.kernel import State
from gamedsl.ir.expr import LastBy, Past, Read, expressions_in
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Binding, Choose, Draw, walk_steps
from gamedsl.ir.types import NONE
from gamedsl.prompting.events import Event, information_set, known

if TYPE_CHECKING:
    from gamedsl.engine.codegen.play import Play

__all__ = [
    "State",
    "acting",
    "event_text",
    "has_perfect_information",
    "has_public_state",
    "name_of_set",
    "position",
    "position_without",
]


def has_perfect_information(ir: GameIR) -> bool:
    """Returns whether the rules alone say that everybody sees every choice and every outcome of
    chance, and that nobody moves together with others."""
    return all(
        step.readers.kind == "all" and not step.readers.fields
        and not (
            isinstance(step, Choose)
            and (step.knows is not None or (step.joint and len(step.actors) > 1))
        )
        for step in walk_steps(ir.turns)
        if isinstance(step, Binding)
    )  # fmt: skip


def has_public_state(ir: GameIR) -> bool:
    """Returns whether the rules alone say that everybody sees every choice and every outcome of
    chance, if not before choosing in the same step."""
    return all(
        step.readers.kind == "all" and not step.readers.fields
        and not (isinstance(step, Choose) and step.knows is not None)
        for step in walk_steps(ir.turns)
        if isinstance(step, Binding)
    )  # fmt: skip


def event_text(step: str, seat: str, name: str) -> str:
    """Returns an event as the names of information sets have it."""
    return known((Event(step, 0, seat, name),))


def name_of_set(seat: str, step: str, events: Sequence[str]) -> str:
    """Returns the name of the information set of a seat that has seen these events."""
    return information_set(seat, step, ", ".join(events))


def position_without(state: State, name: str, whole: bool) -> Hashable | None:
    """Returns the key of a generated state as `position` does, but for a variable: it is left out
    if `whole`, else reduced to where it holds none. None if the state has no such variable."""
    from gamedsl.engine.codegen.play import Play

    inner = _reference_of(state)
    if not isinstance(inner, Play):
        return None
    own = _slots(type(inner))
    places = [i for i, slot in enumerate(own) if slot in (f"v_{name}", f"f_{name}")]
    if not places:
        return None
    values = [getattr(inner, slot) for slot in own]
    for place in places:
        values[place] = None if whole else _mask_of_none(values[place])
    number = None if inner._site is None else inner._site.number
    return inner.kind, number, inner.me, frozen((inner._drawn, values))


def _mask_of_none(value: Any) -> Any:
    """Returns whether a value is none, for each of its parts."""
    if isinstance(value, Mapping):
        return {key: _mask_of_none(part) for key, part in value.items()}
    if type(value) in (tuple, list):
        return tuple(map(_mask_of_none, value))
    return value is None or value == NONE


def position(state: State) -> Hashable:
    """Returns the key of a state: equal for two histories only if all that may follow is the same.
    The events that seats have seen are no part of it. In a tabulated game every history has its
    own."""
    inner = _reference_of(state)
    if isinstance(inner, History):
        reached, dead = inner._state, _dead(inner._kernel)
        held = {name: value for name, value in reached.bindings.items() if name not in dead}
        parts = (inner._frames, inner._drawn, held, reached.paid)
        return inner.kind, inner._place, inner._me, frozen(parts)
    from gamedsl.engine.codegen.play import Play
    from gamedsl.engine.tabulated import TableState

    if isinstance(inner, TableState):
        return inner.node
    if not isinstance(inner, Play):
        raise TypeError(f"the positions of {type(state).__name__} are not known")
    own, site = _slots(type(inner)), inner._site
    values = [getattr(inner, slot) for slot in own]
    number = None if site is None else site.number
    return inner.kind, number, inner.me, frozen((inner._drawn, values))


def acting(state: State) -> str | None:
    """The seat whose turn it is, as `me` reads it in the rules; None for nobody's."""
    inner = _reference_of(state)
    found: str | None = inner._me if isinstance(inner, History) else inner.me
    return found


def _reference_of(state: State) -> Any:
    """A history of the reference, where a generated one has let it stand in; else the same."""
    if isinstance(state, History):
        return state
    from gamedsl.engine.codegen.interpreter_fallback import InterpreterFallback

    return state._reference if isinstance(state, InterpreterFallback) else state


def frozen(value: Any) -> Hashable:
    """A value of a game as something to look up; maps are equal only in the same order."""
    kind = type(value)
    if kind in _ATOMS:
        same: Hashable = value
        return same
    if kind is tuple or kind is list:
        return tuple(map(frozen, value))
    if kind is dict:
        return (*value, *map(frozen, value.values()))
    if isinstance(value, tuple | list):
        return tuple(map(frozen, value))
    if isinstance(value, Mapping):
        return (*map(frozen, value), *map(frozen, value.values()))
    if isinstance(value, Hashable):
        return value
    raise TypeError(f"{kind.__name__} is no value of a game")


_ATOMS = frozenset((int, str, bool, type(None), Fraction, frozenset))
"""Types of values that hold nothing that could change."""


@lru_cache(maxsize=64)
def _dead(kernel: Interpreter) -> frozenset[str]:
    return frozenset(unread(kernel.ir))


@lru_cache(maxsize=64)
def _slots(kind: type[Play]) -> tuple[str, ...]:
    """The slots that a generated class has for its game, but for variables that no rule reads."""
    from gamedsl.engine.codegen.play import Play

    dead = {f"{what}_{name}" for name in unread(kind.kernel.ir) for what in ("v", "f")}
    classes = kind.__mro__[: kind.__mro__.index(Play)]
    slots = (slot for c in classes for slot in getattr(c, "__slots__", ()))
    return tuple(slot for slot in slots if slot not in dead)


def unread(ir: GameIR) -> set[str]:
    """The variables of which no rule reads what they hold where a game stops: choices that are told
    and no more, and arguments that only their own action reads, whose steps never stop."""
    steps = tuple(walk_steps(ir.turns))
    bound = {s.variable for s in steps if isinstance(s, Binding)}
    reads = _reads(ir)
    found = {name for name in bound if not reads[name]}
    inside: Counter[str] = Counter()
    for action in (action for s in steps if isinstance(s, Choose) for action in s.moves):
        names = {name for name, _ in action.parameters}
        if any(isinstance(s, Choose | Draw) for s in walk_steps(action.body)):
            bound |= names
        own = _reads(action)
        inside.update({name: own[name] for name in names})
    found |= {name for name, count in inside.items() if count == reads[name] and name not in bound}
    return found - {state.name for state in ir.state}


def _reads(part: Any) -> Counter[str]:
    """Returns how often each variable is read in a part of the IR."""
    return Counter(e.name for e in expressions_in(part) if isinstance(e, Read | LastBy | Past))
