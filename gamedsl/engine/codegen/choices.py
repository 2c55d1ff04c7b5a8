"""Decisions as Python: the seats that are asked, and the effects of their choices."""

from __future__ import annotations

from collections.abc import Mapping

from gamedsl.engine import flow
from gamedsl.engine.codegen.assignments import AssignmentWriter
from gamedsl.engine.codegen.control_flow import Jumps, StepContext
from gamedsl.engine.codegen.expressions import CodeScope, Expressions
from gamedsl.engine.codegen.observations import ObservationWriter
from gamedsl.engine.codegen.options import OptionWriter
from gamedsl.engine.codegen.writer import CodeLines, literal
from gamedsl.engine.storage import misfit
from gamedsl.ir.expr import Me
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Choose


class ChoiceWriter:
    """Writes the operation `Decide`, and the effects of its answer."""

    def __init__(
        self, ir: GameIR, run: flow.FlatProgram, make: Expressions, assignments: AssignmentWriter,
        observations: ObservationWriter, jumps: Jumps, contexts: Mapping[str, StepContext],
    ) -> None:  # fmt: skip
        self._ir = ir
        self._flow = run
        self._make = make
        self._assignments = assignments
        self._observations = observations
        self._jumps = jumps
        self._options = OptionWriter(make, assignments)
        self._contexts = contexts

    # asking

    def ask(self, lines: CodeLines, place: int, op: flow.Decide) -> None:
        """Writes a stop at a decision; play goes on where nobody has anything to choose."""
        step = op.step
        lines.source(step.span)
        if step.joint:
            self._ask_all(lines, place, op)
            return
        if step.condition_first:
            self._skip(lines, op, "s.me")
        if step.actor is None:
            lines(f"me = {step.actors[0]!r}")
        else:
            lines(f"me = {self._make.value(step.actor, CodeScope('s.me'))}")
        if not step.condition_first:
            self._skip(lines, op, "me")
        acting = self._contexts[step.id].acting if isinstance(step.actor, Me) else ()
        if step.actor is not None and not (acting and set(acting) <= set(step.actors)):
            with lines.block(f"if me not in {literal(step.actors)}:"):
                lines("refuse()")
        self._options.legal(lines, step)
        if not step.static:
            with lines.block("if not found:"):
                self._nothing(lines, op, f"return {self._jumps.to(op.after)}")
        if step.knows is not None:
            lines(f"s._knows = ({self._knows(step)},)")
        lines("s._places = (found,)")
        lines("s.counts = (len(found),)")
        lines("s.asked = (me,)")
        self._stop(lines, place)

    def _skip(self, lines: CodeLines, op: flow.Decide, me: str) -> None:
        """Writes that play goes on where the step's condition does not hold for `me`."""
        if op.step.condition is not None:
            with lines.block(f"if not {self._make.holds(op.step.condition, CodeScope(me))}:"):
                lines(f"return {self._jumps.to(op.after)}")

    def _ask_all(self, lines: CodeLines, place: int, op: flow.Decide) -> None:
        """Writes a decision of several seats."""
        step = op.step
        if step.static and step.condition is None and step.knows is None:
            sizes = "".join(f"range({len(options)}), " for options in step.options).rstrip()
            lines(f"s._places = {self._make.module.table('PLACES', f'({sizes})')}")
            lines(f"s.counts = {literal(tuple(map(len, step.options)))}")
            lines(f"s.asked = {literal(step.actors)}")
            self._stop(lines, place)
            return
        lines("asked, legal, knows = [], [], []")
        with lines.block(f"for me in {literal(step.actors)}:"):
            if step.condition is not None:
                with lines.block(f"if not {self._make.holds(step.condition, CodeScope('me'))}:"):
                    lines("continue")
            self._options.legal(lines, step)
            with lines.block("if found:"):
                lines("asked.append(me)")
                lines("legal.append(found)")
                if step.knows is not None:
                    lines(f"knows.append({self._knows(step)})")
            with lines.block("else:"):
                self._nothing(lines, op, "pass")
        with lines.block("if not asked:"):
            lines(f"return {self._jumps.to(op.after)}")
        lines("s.asked, s._places = tuple(asked), tuple(legal)")
        if step.knows is not None:
            lines("s._knows = tuple(knows)")
        lines("s.counts = tuple(map(len, legal))")
        self._stop(lines, place)

    def _knows(self, step: Choose) -> str:
        """Returns the code of the names of what `me` knows."""
        entries = (self._make.value(entry.value, CodeScope("me")) for entry in step.knows or ())
        return f"({''.join(f'name_of({code}), ' for code in entries)})"

    def _stop(self, lines: CodeLines, place: int) -> None:
        lines(f"s._site = asks_{place}")
        lines('s.kind = "decide"')
        lines("return None")

    def _nothing(self, lines: CodeLines, op: flow.Decide, passed: str) -> None:
        """Writes the effect of a seat that has nothing to choose."""
        if self._ir.no_move == "end":
            lines(f"return {self._jumps.to(op.over)}")
        elif self._ir.no_move == "pass":
            lines(passed)
        else:
            lines("refuse()")

    # choosing

    def take(self, place: int, op: flow.Decide) -> None:
        """Writes the function that carries out a choice, and the site of the decision."""
        step = op.step
        lines = CodeLines(f"def took_{place}(s, places):")
        lines.source(step.span)
        if step.joint:
            self._take_all(lines, place, op)
        else:
            self._take_one(lines, place, op)
        self._make.module.add(lines)
        names = self._options.names(step, "seat")
        self._make.module.later(
            f"asks_{place} = Asks({place}, {step.id!r}, took_{place}, "
            f"{{seat: {names} for seat in {literal(step.actors)}}}, "
            f"{stage_slot(self._make, self._contexts[step.id])!r})"
        )

    def _take_one(self, lines: CodeLines, place: int, op: flow.Decide) -> None:
        step, assignments = op.step, self._assignments
        lines("(place,) = places")
        lines(f"seat = {step.actors[0]!r}" if step.actor is None else "(seat,) = s.asked")
        lines(f"value = {self._options.values(step, 'seat')}[place]")
        if step.place is not None:
            path = assignments.path(step.place, CodeScope("seat"))
            assignments.store(lines, step.place, path, self._fitting(step))
        else:
            assignments.bind(lines, step.variable, "value")
        assignments.remember(lines, step.variable)
        if step.variable in self._flow.by_seat:
            slot = self._make.module.slot("b", step.variable)
            lines(f"s.{slot} = {{**s.{slot}, seat: value}}")
        name = f"{self._options.names(step, 'seat')}[place]"
        self._observations.log_event(
            lines, step, step.type, owner="seat", seat="seat", name=name, value="value"
        )
        after = f"return {self._jumps.to(place + 1)}"
        if op.bodies:
            lines(f"s.{self.outside(place)} = s.me")
            self._begin_body(lines, op, after)
        else:
            lines(after)

    def _take_all(self, lines: CodeLines, place: int, op: flow.Decide) -> None:
        step, assignments = op.step, self._assignments
        lines("seats = s.asked")
        values = f"{self._options.values(step, 'seat')}[place]"
        lines(f"picked = [{values} for seat, place in zip(seats, places)]")
        lines("chosen = dict(zip(seats, picked))")
        if step.place is not None:
            path = assignments.path(step.place, CodeScope("seat"))
            lines(f"paths = [({', '.join(path)},) for seat in seats]")
            with lines.block("for path, value in zip(paths, picked):"):
                keys = [f"path[{i}]" for i in range(len(path))]
                assignments.store(lines, step.place, keys, self._fitting(step))
        else:
            variable = assignments.variable(step.variable)
            assignments.bind(lines, step.variable, f"{{**({variable} or EMPTY), **chosen}}")
        assignments.remember(lines, step.variable)
        with lines.block("for seat, place, value in zip(seats, places, picked):"):
            name = f"{self._options.names(step, 'seat')}[place]"
            self._observations.log_event(
                lines, step, step.type, owner="seat", seat="seat", name=name, value="value"
            )
        if not op.bodies:
            lines(f"return {self._jumps.to(place + 1)}")
            return
        bodied = tuple(name for name, _ in op.bodies)
        lines(f"s.{self.waiting(place)} = tuple([(seat, value) for seat, value in chosen.items()")
        lines(f"    if (value[0] if value.__class__ is tuple else value) in {literal(bodied)}])")
        lines(f"s.{self.outside(place)} = s.me")
        lines(f"return next_{place}")
        self._write_next(place, op)

    def _write_next(self, place: int, op: flow.Decide) -> None:
        """Writes the function that begins the next of the waiting bodies, or goes on."""
        lines = CodeLines(f"def next_{place}(s):")
        waiting = f"s.{self.waiting(place)}"
        with lines.block(f"if not {waiting}:"):
            lines(f"s.me = s.{self.outside(place)}")
            lines(f"return {self._jumps.to(place + 1)}")
        lines(f"(seat, value), *rest = {waiting}")
        lines(f"{waiting} = tuple(rest)")
        self._begin_body(lines, op, "refuse()")
        self._make.module.add(lines)

    def _begin_body(self, lines: CodeLines, op: flow.Decide, otherwise: str) -> None:
        """Writes the jump to the body of the action that `value` is an instance of, or `otherwise`,
        where the action has none."""
        step = op.step
        if len(step.moves) == len(op.bodies) == 1 and step.legal is None:
            self._enter_body(lines, step, *op.bodies[0])
            return
        lines("action = value[0] if value.__class__ is tuple else value")
        for name, first in op.bodies:
            with lines.block(f"if action == {name!r}:"):
                self._enter_body(lines, step, name, first)
        bodied = len(step.moves) == len(op.bodies) and step.legal is None
        lines("refuse()" if bodied else otherwise)

    def _enter_body(self, lines: CodeLines, step: Choose, name: str, first: int) -> None:
        (action,) = (action for action in step.moves if action.name == name)
        lines("s.me = seat")
        for i, (parameter, _) in enumerate(action.parameters):
            self._assignments.bind(lines, parameter, f"value[{i + 1}]")
        lines(f"return {self._jumps.to(first)}")

    def end_body(self, lines: CodeLines, place: int, op: flow.Decide) -> None:
        """Writes the end of a body: the operation `ReturnFromBody`."""
        if op.step.joint:
            lines(f"return next_{place}")
        else:
            lines(f"s.me = s.{self.outside(place)}")
            lines(f"return {self._jumps.to(place + 1)}")

    def waiting(self, place: int) -> str:
        return self._make.module.slot("w", str(place))

    def outside(self, place: int) -> str:
        return self._make.module.slot("o", str(place))

    def _fitting(self, step: Choose) -> str:
        """Returns the code of `value`, checked if the place may not hold it."""
        assert step.place is not None
        type = step.place.type
        fits = all(misfit(o.value, type) is None for options in step.options for o in options)
        return "value" if fits else self._assignments.checked("value", type)


def stage_slot(make: Expressions, here: StepContext) -> str:
    """Returns the slot that holds the payments before the stage around a step; empty where there is
    no stage."""
    return make.module.slot("k", here.stage) if here.stage is not None else ""
