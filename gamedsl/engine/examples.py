"""Examples of what may be said and of what functions may give, for random plays of open games.

An open decision has no list of options: plays choose among a few valid replies, drawn from a seed
of the step and of what has been seen. Where none is found that the step's `valid` admits, a play
ends there. A function that may take long, or cannot run here, is not called: its result is drawn
from its type, as often as its arguments differ. What examples say meets few tests; so that plays go
on behind one, what would be false is true of half of the texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from random import Random
from typing import Any

from gamedsl.calls.registry import lookup
from gamedsl.calls.types import ListOf, OrNone
from gamedsl.calls.types import Type as Described
from gamedsl.engine.calling import name_of_data, registered
from gamedsl.engine.interpreter import Interpreter
from gamedsl.engine.legal import Spoken
from gamedsl.ir.evaluate import Budget, EvaluationError, Scope
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Choose
from gamedsl.ir.types import TEXT, PerSeat
from gamedsl.prompting.babble import sample_said
from gamedsl.prompting.events import SILENCE

MANY = 4
"""Examples of one decision."""

NUMBER = "42"
"""The first example of a text: most functions that look at texts can read it."""

TRIES = 60
"""Replies that are drawn to find valid ones."""

LONG = 1
"""Seconds that a function may take before plays do without it."""


def rehearsal(ir: GameIR, budget: Budget | None = None) -> Interpreter:
    """The rules of a game, interpreted, for plays at random: every decision has some options."""
    if not ir.open:
        return Interpreter(ir, budget)
    return Interpreter(ir, budget, quick, spoken(ir))


def left_before(ir: GameIR) -> dict[str, Any]:
    """An example of what an earlier episode left of the state that lasts."""
    return {
        state.name: dict.fromkeys(ir.seats, NUMBER) if isinstance(state.type, PerSeat) else NUMBER
        for state in ir.lasting
    }


def spoken(ir: GameIR) -> Spoken:
    """Examples of what a seat may say at a step, by canonical name; silence is one where the game
    goes on without a valid reply."""
    silent = {seat for seat, cost in ir.costs.items() if cost.then in ("skip", "play")}

    def examples(
        step: Choose, seat: str, scope: Scope, admits: Callable[[str], bool]
    ) -> tuple[str, ...]:
        assert step.said is not None
        counted = sum(len(v) for k, v in scope.bindings.items() if k.endswith("@past"))
        random, found = Random(f"{step.id} {seat} {len(scope.bindings)} {counted}"), list[str]()
        for number in range(TRIES):
            name = sample_said(step.said, step.type, ir.seats, random)
            if number == 0 and step.type == TEXT and step.said.form == "text":
                name = NUMBER
            if name not in found and _holds(admits, name):
                found.append(name)
            if len(found) == MANY:
                break
        return (*found, SILENCE) if seat in silent else tuple(found)

    return examples


def _holds(admits: Callable[[str], bool], name: str) -> bool:
    try:
        return admits(name)
    except EvaluationError:
        return False


def quick(name: str, arguments: Mapping[str, Any]) -> Any:
    """A `gamedsl.engine.calling.Caller` for plays that are only looked at."""
    function = lookup(name)
    assert function is not None, "the compiler has looked it up"
    told = ", ".join(map(name_of_data, arguments.values()))
    random = Random(f"{name} {told}")
    if function.time_limit > LONG or function.missing_here() is not None:
        return _drawn(function.result, random)
    found = registered(name, arguments)
    return _drawn("bool", random) if found is False else found


def _drawn(type: Described, random: Random) -> Any:
    """A value of a described type."""
    match type:
        case OrNone(of=inner):
            return _drawn(inner, random) if random.random() < 0.5 else None
        case ListOf(of=inner):
            return tuple(_drawn(inner, random) for _ in range(random.randrange(4)))
        case tuple():
            return random.choice(type)
        case Mapping():
            return {field: _drawn(inner, random) for field, inner in type.items()}
    plain = {
        "text": ("", "yes", "3 + 4"), "int": (0, 1, 2), "bool": (False, True),
        "number": (0, Fraction(1, 2), 1), "any": (0, "yes"),
    }  # fmt: skip
    return random.choice(plain[type])
