"""What is known about a game before play, from its steps and types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gamedsl.engine.codegen.builtin_code import grid_size, lined_grid
from gamedsl.engine.storage import admits_none
from gamedsl.ir.builtins import element, values
from gamedsl.ir.expr import Apply, Const, expressions_in
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import (
    Action,
    Binding,
    Choose,
    Do,
    Draw,
    Loop,
    Show,
    Stage,
    Step,
    walk_steps,
)
from gamedsl.ir.statements import Add, Assign, ForEach, Place, State, Statement
from gamedsl.ir.types import Bag, Enum, Type, domain


@dataclass(frozen=True, slots=True)
class GameFacts:
    """What is known about the variables of a game."""

    sure: frozenset[str]
    """Those that are never none."""
    flagged: frozenset[str]
    """Those that may be bound to none: whether they are bound is kept beside them."""
    ordered: frozenset[str]
    """Bags that are always in the order of their type."""
    lined: dict[str, tuple[int, int, tuple[int, ...]]]
    """Grids that are looked through for lines: rows, columns, and the lengths of the lines."""
    public: bool
    """Whether everybody is told everything."""


def facts_of(ir: GameIR) -> GameFacts:
    return GameFacts(_never_none(ir), _flagged(ir), _ordered_bags(ir), _lined(ir), _is_public(ir))


def _flagged(ir: GameIR) -> frozenset[str]:
    found: set[str] = set()
    steps = tuple(walk_steps(ir.turns))
    for step in steps:
        if isinstance(step, Stage):
            found |= {state.name for state in step.state}
        elif isinstance(step, Choose):
            if any(option.value is None for options in step.options for option in options):
                found.add(step.variable)
            found |= {name for action in step.moves for name in _none_in(step, action)}
        elif isinstance(step, Draw | Show | Loop):
            found |= _none_by(step)
    unbound = {name for step in steps if isinstance(step, Loop | Stage) for name in step.resets}
    return frozenset(found | (unbound & {state.name for state in ir.state}))


def _none_in(step: Choose, action: Action) -> Iterator[str]:
    """The parameters of an action that may be none."""
    values = [o.value for options in step.options for o in options if isinstance(o.value, tuple)]
    for place, (name, _) in enumerate(action.parameters, 1):
        if any(value[0] == action.name and value[place] is None for value in values):
            yield name


def _none_by(step: Step) -> set[str]:
    """The variable that a step may bind to none."""
    match step:
        case Draw(place=None) if _perhaps_none(step.type) and not step.per:
            return {step.variable}
        case Show() if _perhaps_none(step.value.type):
            return {step.variable}
        case Loop(items=items, item=str() as item) if items is not None:
            if isinstance(items, Const):
                return {item} if None in values(items.value) else set()
            inner = element(items.type)
            return {item} if inner is None or _perhaps_none(inner) else set()
    return set()


def _perhaps_none(type: Type) -> bool:
    return admits_none(type) or (isinstance(type, Enum) and not type.members)


def _never_none(ir: GameIR) -> frozenset[str]:
    """The variables that are never none: declared ones that start as something and are never
    unbound, since nothing that is none can be stored in them."""
    steps = tuple(walk_steps(ir.turns))
    stages = [step for step in steps if isinstance(step, Stage)]
    declared = [*ir.state, *(state for stage in stages for state in stage.state)]
    unbound = {name for step in steps if isinstance(step, Loop | Stage) for name in step.resets}
    unsure = unbound | {s.name for s in declared if s.start is None or admits_none(s.type)}
    inner = {state.name for stage in stages for state in stage.state}
    unsure |= inner - {state.name for state in ir.state}
    return frozenset({state.name for state in declared} - unsure)


def _ordered_bags(ir: GameIR) -> frozenset[str]:
    """The bags that are in the order of their type at the start, and that nothing is added to."""
    written = set()
    for step in walk_steps(ir.turns):
        if isinstance(step, Choose | Draw) and step.place is not None:
            written.add(step.place.variable)
        elif isinstance(step, Do):
            written |= {place.variable for place in _given(step.statements)}
        elif isinstance(step, Stage):
            written |= {state.name for state in step.state}
    return frozenset(
        state.name for state in ir.state
        if state.name not in written and isinstance(state.type, Bag) and _in_order(state, ir)
    )  # fmt: skip


def _given(statements: Iterable[Statement]) -> Iterator[Place]:
    """The places that may be given something new."""
    for statement in statements:
        if isinstance(statement, ForEach):
            yield from _given((statement.body,))
        elif isinstance(statement, Assign | Add):
            yield statement.place


def _in_order(state: State, ir: GameIR) -> bool:
    """Whether a bag is in the order of its type."""
    assert isinstance(state.type, Bag)
    order = {value: i for i, value in enumerate(domain(state.type.of, ir.seats) or ())}
    places = [order.get(value, -1) for value in state.start]
    return -1 not in places and places == sorted(places)


def _is_public(ir: GameIR) -> bool:
    """Whether everybody is told everything."""
    told = (s.readers for s in walk_steps(ir.turns) if isinstance(s, Binding))
    return all(readers.kind == "all" and not readers.fields for readers in told)


def _lined(ir: GameIR) -> dict[str, tuple[int, int, tuple[int, ...]]]:
    """The grids that are looked through for lines: rows, columns, and the lengths of the lines."""
    found: dict[str, tuple[int, int, tuple[int, ...]]] = {}
    for part in expressions_in((ir.turns, ir.end, ir.lets, ir.payoffs, ir.scores)):
        if (lined := lined_grid(part)) is not None and isinstance(part, Apply):
            size, known = grid_size(part), found.get(lined[0], (0, 0, ()))
            assert size is not None
            found[lined[0]] = (*size, tuple(sorted({*known[2], lined[1]})))
    return found
