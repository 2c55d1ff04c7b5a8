"""Chance as Python: possible outcomes, and the effects of an outcome."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from gamedsl.engine import flow
from gamedsl.engine.codegen.assignments import AssignmentWriter
from gamedsl.engine.codegen.choices import stage_slot
from gamedsl.engine.codegen.control_flow import Jumps, StepContext, is_repeated_draw
from gamedsl.engine.codegen.expressions import CodeScope, Expressions
from gamedsl.engine.codegen.observations import ObservationWriter, memorable
from gamedsl.engine.codegen.writer import CodeLines, literal
from gamedsl.engine.storage import admits_none
from gamedsl.ir.expr import Const
from gamedsl.ir.program import Draw
from gamedsl.ir.statements import OWNER, Place
from gamedsl.ir.types import Bag, List, PerSeat, PerValue, Seat, Set, Type
from gamedsl.ir.values import name_of


class DrawWriter:
    """Writes the operation `DrawOutcome`, and the effects of the outcome."""

    def __init__(
        self, make: Expressions, assignments: AssignmentWriter, observations: ObservationWriter,
        jumps: Jumps, contexts: Mapping[str, StepContext], ordered: frozenset[str],
    ) -> None:  # fmt: skip
        """`contexts` are those of all steps, by id; `ordered` are the bags that are always in the
        order of their type."""
        self._make = make
        self._assignments = assignments
        self._observations = observations
        self._jumps = jumps
        self._contexts = contexts
        self._ordered = ordered

    def draw(self, lines: CodeLines, place: int, op: flow.DrawOutcome) -> None:
        """Writes a stop at a chance node."""
        step = op.step
        lines.source(step.span)
        if step.place is None and is_repeated_draw(step):
            with lines.block("if not s._drawn:"):
                self._assignments.unbind(lines, step.variable)
        elif step.place is None:
            self._assignments.unbind(lines, step.variable)
        lines(f"s._lottery = {self._lottery(step)}")
        lines(f"s._site = draws_{place}")
        lines('s.kind = "chance"')
        lines("s.asked = s.counts = ()")
        lines("return None")
        self._take(place, op)

    def _drawer(self, step: Draw) -> str:
        """Returns the code of the seat that draws: the one that is drawn for, or the acting one."""
        if not step.by_seat:
            return "s.me"
        every = indices(step)
        if len(every) == 1:
            return repr(every[0][0])
        return f"{self._table(step)}[len(s._drawn)][0]"

    def _table(self, step: Draw) -> str:
        return self._make.module.table("INDICES", literal(indices(step)))

    def _lottery(self, step: Draw) -> str:
        make, source = self._make, step.source
        module, scope = make.module, CodeScope(self._drawer(step))
        if source.kind == "weights":
            return module.table("LOTTERY", f"weighted({literal(source.weights)})")
        take = "None"
        if source.take is not None:
            take = f"some({make.value(source.take, scope)})"
        ranks = f"lambda: s.kernel.ranks({step.id!r})"
        if source.kind == "bag":
            assert source.bag is not None
            path = self._assignments.path(source.bag, scope)
            items = self._assignments.part(source.bag, path)
            alike = isinstance(source.bag.type, Bag) and source.bag.type.of == step.type
            if source.take is None and source.bag.variable in self._ordered and alike:
                return f"FromBag({items})"
            if source.take is None:
                return f"draw_one({items}, {ranks})"
            return f"draw_from({items}, {ranks}, {take}, ())"
        assert source.values is not None
        items = make.value(source.values, scope)
        dealt = "s._drawn" if step.deal else "()"
        listed = dealt
        if step.deal and source.take is not None:
            listed = "[item for each in s._drawn for item in each]"
        lottery = f"draw_from({items}, {ranks}, {take}, {listed})"
        constant = isinstance(source.values, Const) and isinstance(source.take, Const | None)
        if not constant or not memorable(step.type):
            return lottery
        memo = module.own("LOTTERIES", "{}")
        return f"({memo}.get({dealt}) or remember({memo}, {dealt}, {lottery}))"

    def _take(self, place: int, op: flow.DrawOutcome) -> None:
        """Writes the function that carries out an outcome, and the site of the chance node."""
        step, module = op.step, self._make.module
        every = indices(step)
        lines = CodeLines(f"def drew_{place}(s, value):")
        lines.source(step.span)
        if every != ((),):
            lines(f"index = {self._table(step)}[{'len(s._drawn)' if len(every) > 1 else 0}]")
        drawer = "index[0]" if step.by_seat else "s.me"
        self._take_out(lines, step, drawer)
        owner = self._bind(lines, step, drawer)
        if len(every) > 1:
            lines("s._drawn = (*s._drawn, value)")
            lines(f"last = len(s._drawn) == {len(every)}")
            with lines.block("if last:"):
                lines("s._drawn = ()")
                self._assignments.remember(lines, step.variable)
        else:
            self._assignments.remember(lines, step.variable)
        plain_name = name = self._observations.name("value", step.type)
        if every and len(every[0]) > step.by_seat:
            name = f"':'.join([*map(name_of, index[{int(step.by_seat)}:]), {name}])"
        self._observations.log_event(
            lines, step, step.type, owner=owner, seat=_seat(owner), name=name, value="value"
        )
        after = self._jumps.to(place + 1)
        again = f" if last else {self._jumps.to(place)}" if is_repeated_draw(step) else ""
        lines(f"return {after}{again}")
        module.add(lines)
        here = self._contexts[step.id]
        loops = "".join(f"s.{module.slot('n', loop)}, " for loop in here.loops).rstrip()
        names = tuple(tuple(map(name_of, index)) for index in every)
        module.later(
            f"draws_{place} = Draws({place}, {step.id!r}, {literal(names)}, drew_{place}, "
            f"lambda s: ({loops}), lambda value: {plain_name}, {stage_slot(self._make, here)!r})"
        )

    def _take_out(self, lines: CodeLines, step: Draw, drawer: str) -> None:
        """Writes the removal of an outcome from its bag."""
        bag = step.source.bag
        if step.source.kind != "bag" or bag is None:
            return
        keys = self._assignments.path(bag, CodeScope(drawer))
        if step.source.take is None:
            old = self._assignments.part(bag, keys)
            take = "taken" if isinstance(bag.type, Bag) else "with_less"
            self._assignments.store(lines, bag, keys, f"{take}({old}, value)", there=True)
            return
        lines(f"left = {self._assignments.part(bag, keys)}")
        with lines.block("for item in value:"):
            lines("left = with_less(left, item)")
        self._assignments.store(lines, bag, keys, "left")

    def _bind(self, lines: CodeLines, step: Draw, drawer: str) -> str:
        """Writes the binding of an outcome. Returns the code of its owner."""
        assignments = self._assignments
        every = indices(step)
        if step.place is None:
            code = "value"
            if every != ((),):
                code = f"nested({assignments.variable(step.variable)}, index, value)"
            assignments.bind(lines, step.variable, code)
            owner = "index[0]" if step.by_seat else "None"
        else:
            owner = self._keep(lines, step, step.place, drawer)
        if OWNER in step.readers.locals:
            if owner == "None":
                return "s.me"
            if owner == "owner":
                lines("owner = s.me if owner is None else owner")
        return owner

    def _keep(self, lines: CodeLines, step: Draw, place: Place, drawer: str) -> str:
        """Writes an outcome into declared state. Returns the code of its owner."""
        assignments, make = self._assignments, self._make
        keys = assignments.path(place, CodeScope(drawer))
        depth = len(indices(step)[0])
        type: Type = place.type
        for _ in range(depth):
            type = type.of if isinstance(type, PerSeat | PerValue) else type
        path = [f"path[{i}]" for i in range(len(keys) + depth)]
        if path:
            parts = [*keys, *(["*index"] if depth else [])]
            lines(f"path = ({', '.join(parts)},)")
        if step.how == "append":
            new = self._appended(lines, step, assignments.part(place, path), type)
        else:
            drawn = step.type if step.source.take is None else List(step.type)
            new = assignments.fit("value", drawn, type, is_some=self._is_some(step))
        assignments.store(lines, place, path, new, there=step.how == "append")
        if step.by_seat:
            return "index[0]"
        if not path:
            return "None"
        first = place.keys[0].expr if place.keys else None
        if first is not None and isinstance(first.type, Seat):
            return "path[0]"
        lines(f"owner = next((key for key in path if key in {literal(make.seats)}), None)")
        return "owner"

    def _appended(self, lines: CodeLines, step: Draw, old: str, type: Type) -> str:
        """Returns the code of the collection with the outcome added."""
        if step.source.take is None and isinstance(type, List | Set | Bag):
            some = self._is_some(step)
            return self._assignments.added(old, "value", step.type, type, is_some=some)
        lines(f"new = {old}")
        with lines.block(f"for item in {'(value,)' if step.source.take is None else 'value'}:"):
            lines("new = with_more(new, item)")
        return self._assignments.checked("new", type)

    def _is_some(self, step: Draw) -> bool:
        """Returns whether an outcome is never none."""
        return memorable(step.type) and not admits_none(step.type)


def _seat(owner: str) -> str:
    """Returns the code of the seat of an event."""
    if owner in ("None", "index[0]", "path[0]"):
        return "''" if owner == "None" else owner
    return f"({owner} or '')"


def indices(step: Draw) -> tuple[tuple[object, ...], ...]:
    """Returns the indices that a step draws for, in order."""
    return tuple(product(*step.per))
