"""Choices that prompts need not tell, since what their author says next tells them.

Where a role chooses to talk and then says something only `if: act == talk`, "ann said: …" tells
that it chose to talk. The line "ann chose talk." before it is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from gamedsl.ir.expr import Apply, Const, Expr, Get, LastBy, Logic, Me, Read, walk
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Binding, Block, Choose, Step, substeps, walk_steps
from gamedsl.ir.values import name_of
from gamedsl.prompting.events import Seen
from gamedsl.prompting.templates import event_template


class ImpliedChoices:
    """The choices of one game that what is said implies: of steps that alone bind their variable,
    and whose choices all see. A line that the file writes itself is never left out."""

    def __init__(self, ir: GameIR) -> None:
        steps = [step for step in walk_steps(ir.turns) if isinstance(step, Binding)]
        times = Counter(step.variable for step in steps)
        self._chosen = {
            step.variable: step.id
            for step in steps
            if isinstance(step, Choose) and step.said is None and step.place is None
            and step.readers.kind == "all" and not step.readers.fields
            and times[step.variable] == 1 and _has_default(ir, step)
        }  # fmt: skip
        self._implied: dict[str, tuple[_Implied, ...]] = {}
        """What each step at which something is said implies, by its id."""
        for step, tests in _guarded(ir.turns, ()):
            if step.said is not None and _has_default(ir, step):
                told = tuple(one for test in tests for one in self._implied_by(test, step))
                self._implied |= {step.id: told} if told else {}

    def without_implied(self, events: Seen) -> Seen:
        """Returns the events of one message without the choices that later ones of it imply."""
        if not self._implied:
            return events
        kept, waiting = [], dict[tuple[str, str], tuple[str, str]]()
        for event in reversed(events):
            places = (event.step, event.seat), (event.step, "")
            if (event.seat, event.name) in [waiting.pop(place, None) for place in places]:
                continue
            for one in self._implied.get(event.step, ()):
                place = one.step, event.seat if one.own else ""
                waiting[place] = event.seat, one.name
            kept.append(event)
        return tuple(reversed(kept))

    def _implied_by(self, test: Expr, step: Choose) -> Iterator[_Implied]:
        """Yields the choices that a condition needs to hold, if its reader is the step's actor."""
        match test:
            case Logic(op="and", left=left, right=right):
                yield from self._implied_by(left, step)
                yield from self._implied_by(right, step)
            case Apply(function="==", arguments=(one, Const(value=value))):
                variable, own = _chosen_by_actor(one, step)
                if variable in self._chosen:
                    yield _Implied(self._chosen[variable], own, name_of(value))
            case _:  # any other condition tells no choice for sure
                pass


class _Implied(NamedTuple):
    """A choice at a step: the last of the speaker's `own` there, or else the last of all, which is
    left out where the speaker made it."""

    step: str
    own: bool
    name: str


def _chosen_by_actor(expr: Expr, step: Choose) -> tuple[str, bool]:
    """Returns the variable of which an expression is what the actor of a step chose, or what was
    chosen last, and whether it is the actor's own; the empty name for any other expression."""
    match expr:
        case Get(of=Read(name=name) | LastBy(name=name), key=Me()):
            return name, True
        case Get(of=Read(name=name) | LastBy(name=name), key=Const(value=seat)):
            return name if step.actors == (seat,) else "", True
        case Read(name=name):
            return name, False
        case _:
            return "", False


def _guarded(
    steps: tuple[Step, ...], around: tuple[Expr, ...]
) -> Iterator[tuple[Choose, tuple[Expr, ...]]]:
    """Yields the decisions in some steps, each with the conditions that hold when it is reached."""
    for step in steps:
        own = () if step.condition is None else (step.condition,)
        if isinstance(step, Choose):
            yield step, (*around, *own)
            continue
        inside, bound = (*around, *own), _bound_in(step)
        kept = (test for test in inside if _reads(test).isdisjoint(bound))
        yield from _guarded(substeps(step), tuple(kept) if isinstance(step, Block) else ())


def _bound_in(step: Step) -> set[str]:
    return {inner.variable for inner in walk_steps(substeps(step)) if isinstance(inner, Binding)}


def _reads(test: Expr) -> set[str]:
    return {part.name for part in walk(test) if isinstance(part, Read | LastBy)}


def _has_default(ir: GameIR, step: Choose) -> bool:
    return all(event_template(ir, step, seat) is None for seat in ir.everyone)
