"""Whether all that is declared is read, and written. A `let` or a state variable that nothing
reads, or a state variable that nothing writes, is a slip, or is left over. A collection that steps
write, and what is drawn or chosen into state, may be there to be seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from gamedsl.diagnostics import Problems
from gamedsl.diagnostics.fixes import Fix
from gamedsl.diagnostics.spans import Span
from gamedsl.frontend.source.edits import delete_unnamed
from gamedsl.ir.expr import Expr, LastBy, LetCall, LetMap, Past, Read, expressions_in
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import (
    Choose,
    Draw,
    bound_place,
    statements_of,
    walk_steps,
    written_variables,
)
from gamedsl.ir.statements import Assign, write_of
from gamedsl.ir.types import Bag, Grid, List, PerSeat, PerValue, Set, Type
from gamedsl.prompting.template_syntax import Broken, parse

CLAIM = "everything declared under `let` and `state` is read, and state is written"


def check_declared(ir: GameIR, problems: Problems) -> None:
    """GD0476 and GD0477: each name is read, and each state variable that is read is written."""
    check_all_read(ir, problems)
    check_all_written(ir, problems)


def check_all_read(ir: GameIR, problems: Problems) -> None:
    """GD0476: the rules, the payoffs, the view and the templates do not name it, nor would they for
    other values of the params."""
    read = _read(ir).union(ir.switched_off)
    for name, span, what in _declared(ir):
        if name not in read and span.source is ir.span.source:
            problems.add(
                "GD0476", f"nothing reads the {what} `{name}`", span, severity="warning",
                why="its value makes no difference",
                help=Fix("read it, or delete it", delete_unnamed(span)),
            )  # fmt: skip


def check_all_written(ir: GameIR, problems: Problems) -> None:
    """GD0477: no step writes it, nor would one for other values of the params."""
    read, written = _read(ir), _written(ir).union(ir.switched_off)
    for state in ir.state:
        name, span = state.name, state.span
        kept = name in written or isinstance(_entry_type(state.type), List | Set | Bag | Grid)
        if kept or name not in read or span.source is not ir.span.source:
            continue
        problems.add(
            "GD0477", f"nothing writes the state variable `{name}`", span, severity="warning",
            why="it is what it is at the start in every play",
            help=f"write it in a step, such as `do: {name} = …`, or declare a constant under "
            "`params` or `let`",
        )  # fmt: skip


def _declared(ir: GameIR) -> Iterator[tuple[str, Span, str]]:
    yield from ((let.name, let.span, "let") for let in ir.lets)
    steps = (step for step in walk_steps(ir.turns) if isinstance(step, Draw | Choose))
    filled = {step.place.variable for step in steps if step.place is not None}
    written = _written(ir)
    for state in ir.state:
        collection = isinstance(_entry_type(state.type), List | Set | Bag | Grid)
        if state.name not in filled and not (collection and state.name in written):
            yield state.name, state.span, "state variable"


def _written(ir: GameIR) -> set[str]:
    """Returns the state variables that a step writes."""
    found: set[str] = set()
    for step in walk_steps(ir.turns):
        place = bound_place(step)
        found |= written_variables(step) | ({place.variable} if place is not None else set())
    return found


def _entry_type(type: Type) -> Type:
    """Returns the type of the entries of a map of any depth; any other type as it is."""
    while isinstance(type, PerSeat | PerValue):
        type = type.of
    return type


def _read(ir: GameIR) -> set[str]:
    """The names whose values are used somewhere, other than to work out their own."""
    bodies = [(let.name, let.body) for let in ir.lets]
    paid = (ir.payoffs, ir.scores, ir.referee_payoffs)
    parts: tuple[Any, ...] = (ir.turns, ir.end, ir.view, *paid)
    count = _count(parts)
    for variable, value in _assigned(ir):
        count[variable] -= _count(value)[variable]
    found = {name for name, times in count.items() if times > 0}
    for name, body in bodies:
        found |= _count(body).keys() - {name}
    for step in walk_steps(ir.turns):
        if isinstance(step, Draw) and step.source.bag is not None:
            found.add(step.source.bag.variable)
    for template in ir.templates:
        parsed = parse(template.text)
        if not isinstance(parsed, Broken):
            found |= {mention.name for mention in parsed.mentions}
    return found


_NAMING = Read, LastBy, Past, LetCall, LetMap


def _count(part: Any) -> Counter[str]:
    """Counts the reads of each name in a part of the IR."""
    return Counter(e.name for e in expressions_in(part) if isinstance(e, _NAMING))


def _assigned(ir: GameIR) -> Iterator[tuple[str, Expr]]:
    """Each variable that a statement assigns, and the value."""
    for step in walk_steps(ir.turns):
        for statement in statements_of(step):
            write = write_of(statement)
            if isinstance(write, Assign):
                yield write.place.variable, write.value
