"""Facts about a game that hold in every play, from its steps and types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import assert_never

from gamedsl.engine.codegen.builtin_code import emptied_grid, grid_size, lined_grid, linked_grid
from gamedsl.engine.storage import admits_none
from gamedsl.ir.builtins import element, values
from gamedsl.ir.expr import Apply, Const, Expr, expressions_in
from gamedsl.ir.game import GameIR
from gamedsl.ir.graphs import Adjacency
from gamedsl.ir.program import (
    Action,
    Binding,
    Block,
    Call,
    Choose,
    Do,
    Draw,
    Loop,
    Pay,
    Show,
    Stage,
    Step,
    walk_steps,
)  # fmt: skip
from gamedsl.ir.statements import Add, Assign, State, write_of
from gamedsl.ir.types import Bag, Enum, Type, domain


@dataclass(frozen=True, slots=True)
class GameFacts:
    """Facts about the variables of a game."""

    sure: frozenset[str]
    """Variables that are never none."""
    flagged: frozenset[str]
    """Variables that may be bound to none: a flag beside each says whether it is bound."""
    ordered: frozenset[str]
    """Bags that are always in the order of their type."""
    lined: dict[str, tuple[int, int, tuple[int, ...]]]
    """Grids that are looked through for lines: rows, columns, and the lengths of the lines."""
    linked: dict[str, tuple[Adjacency, ...]]
    """Grids whose connected components are asked for, and the graphs of their cells."""
    emptied: frozenset[str]
    """Grids whose empty cells are the options of a step, and kept beside them."""
    public: bool
    """Returns whether every seat sees every event."""


def facts_of(ir: GameIR) -> GameFacts:
    return GameFacts(
        _never_none(ir), _flagged(ir), _ordered_bags(ir), _lined(ir), _linked(ir), _emptied(ir),
        _is_public(ir),
    )  # fmt: skip


def _flagged(ir: GameIR) -> frozenset[str]:
    steps = tuple(walk_steps(ir.turns))
    flagged = {name for step in steps for name in _bound_to_none(step)}
    return frozenset(flagged | (_unbound(steps) & {state.name for state in ir.state}))


def _unbound(steps: Iterable[Step]) -> set[str]:
    """Returns the variables that loops and stages unbind."""
    return {name for step in steps if isinstance(step, Loop | Stage) for name in step.resets}


def _bound_to_none(step: Step) -> Iterator[str]:
    """Yields the variables that a step may bind to none, and those of the stage that it is."""
    match step:
        case Stage(state=states):
            yield from (state.name for state in states)
        case Choose(options=rows, moves=moves):
            if any(option.value is None for options in rows for option in options):
                yield step.variable
            for action in moves:
                yield from _none_arguments(step, action)
        case Draw(place=place):
            if place is None and not step.per and _perhaps_none(step.type):
                yield step.variable
        case Show():
            if _perhaps_none(step.value.type):
                yield step.variable
        case Loop(items=items, item=item):
            if items is not None and item is not None and _has_none(items):
                yield item
        case Do() | Pay() | Call() | Block():
            return
        case _:
            assert_never(step)


def _none_arguments(step: Choose, action: Action) -> Iterator[str]:
    """Yields the parameters of an action that may be none."""
    values = [o.value for options in step.options for o in options if isinstance(o.value, tuple)]
    for place, (name, _) in enumerate(action.parameters, 1):
        if any(value[0] == action.name and value[place] is None for value in values):
            yield name


def _has_none(items: Expr) -> bool:
    """Returns whether none may be among the items of a loop."""
    if isinstance(items, Const):
        return None in values(items.value)
    inner = element(items.type)
    return inner is None or _perhaps_none(inner)


def _perhaps_none(type: Type) -> bool:
    return admits_none(type) or (isinstance(type, Enum) and not type.members)


def _never_none(ir: GameIR) -> frozenset[str]:
    """Returns the variables that are never none: declared ones that start as something and are
    never unbound, since none cannot be stored in them."""
    steps = tuple(walk_steps(ir.turns))
    inner = [state for step in steps if isinstance(step, Stage) for state in step.state]
    declared = [*ir.state, *inner]
    unsure = _unbound(steps)
    unsure |= {s.name for s in declared if s.start is None or admits_none(s.type)}
    unsure |= {state.name for state in inner} - {state.name for state in ir.state}
    return frozenset({state.name for state in declared} - unsure)


def _ordered_bags(ir: GameIR) -> frozenset[str]:
    """Returns the bags that are in the order of their type at the start, and to which nothing is
    added."""
    written = {name for step in walk_steps(ir.turns) for name in _given_to(step)}
    return frozenset(
        state.name for state in ir.state
        if state.name not in written and isinstance(state.type, Bag) and _in_order(state, ir)
    )  # fmt: skip


def _given_to(step: Step) -> Iterator[str]:
    """Yields the declared variables that a step may give something new."""
    match step:
        case Choose(place=place) | Draw(place=place):
            if place is not None:
                yield place.variable
        case Do(statements=statements):
            for write in map(write_of, statements):
                if isinstance(write, Assign | Add):
                    yield write.place.variable
        case Stage(state=states):
            yield from (state.name for state in states)
        case Show() | Call() | Pay() | Block() | Loop():
            return
        case _:
            assert_never(step)


def _in_order(state: State, ir: GameIR) -> bool:
    """Returns whether a bag is in the order of its type."""
    assert isinstance(state.type, Bag)
    order = {value: i for i, value in enumerate(domain(state.type.of, ir.seats) or ())}
    places = [order.get(value, -1) for value in state.start]
    return -1 not in places and places == sorted(places)


def _is_public(ir: GameIR) -> bool:
    """Returns whether everybody is told everything."""
    told = (s.readers for s in walk_steps(ir.turns) if isinstance(s, Binding))
    return all(readers.kind == "all" and not readers.fields for readers in told)


def _lined(ir: GameIR) -> dict[str, tuple[int, int, tuple[int, ...]]]:
    """Returns the grids in which lines are looked for: rows, columns, and the lengths of the
    lines."""
    found: dict[str, tuple[int, int, tuple[int, ...]]] = {}
    for part in expressions_in((ir.turns, ir.end, ir.lets, ir.payoffs, ir.scores)):
        if (lined := lined_grid(part)) is not None and isinstance(part, Apply):
            size, known = grid_size(part), found.get(lined[0], (0, 0, ()))
            assert size is not None
            found[lined[0]] = (*size, tuple(sorted({*known[2], lined[1]})))
    return found


def _linked(ir: GameIR) -> dict[str, tuple[Adjacency, ...]]:
    """Returns the grids whose connected components are asked for, with the graphs of their
    cells."""
    found: dict[str, tuple[Adjacency, ...]] = {}
    for part in expressions_in((ir.turns, ir.end, ir.lets, ir.payoffs, ir.scores)):
        if (linked := linked_grid(part)) is not None:
            name, graph = linked
            found[name] = tuple(dict.fromkeys((*found.get(name, ()), graph)))
    return found


def _emptied(ir: GameIR) -> frozenset[str]:
    """Returns the grids whose empty cells are the options of a step."""
    steps = [step for step in walk_steps(ir.turns) if isinstance(step, Choose)]
    sources = [step.legal for step in steps if step.legal is not None]
    for action in (action for step in steps for action in step.moves):
        if action.when is None and len(action.parameters) == 1:
            sources.append(action.parameters[0][1])
    found = map(emptied_grid, sources)
    return frozenset(name for name in found if name is not None)
