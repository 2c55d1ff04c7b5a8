"""The operations of a game as Python: functions, and jumps between them.

An operation that something jumps to begins a function, `at_<place>`; what follows stands in the
same function up to the next one. A jump is `return at_<place>`. A condition with nothing inside but
what always goes on is an `if`.
"""

from __future__ import annotations

from typing import Any, assert_never

from gamedsl.engine import flow
from gamedsl.engine.codegen.assignments import AssignmentWriter
from gamedsl.engine.codegen.choices import ChoiceWriter
from gamedsl.engine.codegen.control_flow import Jumps, needless_checks, step_contexts
from gamedsl.engine.codegen.draws import DrawWriter, indices
from gamedsl.engine.codegen.expressions import CodeScope, Expressions
from gamedsl.engine.codegen.facts import GameFacts
from gamedsl.engine.codegen.observations import ObservationWriter
from gamedsl.engine.codegen.writer import CodeLines, UnsupportedError, literal
from gamedsl.ir.builtins import values
from gamedsl.ir.expr import Const
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Loop

ACTING = CodeScope("s.me")


class ProgramWriter:
    """Writes the functions of all operations of a game."""

    def __init__(
        self, ir: GameIR, run: flow.FlatProgram, make: Expressions, facts: GameFacts
    ) -> None:  # fmt: skip
        self._ir = ir
        self._ops = run.ops
        self._make = make
        self._assignments = AssignmentWriter(make, run, facts)
        self._observations = ObservationWriter(make)
        self._jumps = Jumps(run.ops)
        self._needless = needless_checks(run.ops, make)
        contexts = step_contexts(ir.turns)
        self._choices = ChoiceWriter(
            ir, run, make, self._assignments, self._observations, self._jumps, contexts
        )
        self._chances = DrawWriter(
            make, self._assignments, self._observations, self._jumps, contexts, facts.ordered
        )
        self._asks = {first: place for place, op in enumerate(self._ops)
                      if isinstance(op, flow.Decide) for _, first in op.bodies}  # fmt: skip

    def write(self) -> None:
        for place in sorted(self._jumps.heads):
            lines = CodeLines(f"def at_{place}(s):")
            self._run(lines, place)
            self._make.module.add(lines)
        for place, op in enumerate(self._ops):
            if isinstance(op, flow.Decide):
                self._choices.take(place, op)

    def _run(self, lines: CodeLines, first: int, stop: int | None = None) -> None:
        """Writes operations from a place on, until play goes on elsewhere or `stop` is reached."""
        place = first
        while place != stop:
            if place in self._jumps.heads and place != first:
                lines(f"return {self._jumps.to(place)}")
                return
            op = self._ops[place]
            if place in self._jumps.ifs and isinstance(op, flow.Branch):
                lines.source(op.condition.span)
                with lines.block(f"if {self._make.holds(op.condition, ACTING)}:"):
                    self._run(lines, place + 1, op.otherwise)
                place = op.otherwise
                continue
            if not self._write(lines, place, op):
                return
            place += 1

    def _write(self, lines: CodeLines, place: int, op: flow.Op) -> bool:
        """Writes an operation. Returns whether play goes on with the next one."""
        match op:
            case flow.Branch():
                return self._test(lines, op)
            case flow.CheckEnd():
                return self._check(lines, place, op)
            case flow.Execute():
                return self._do(lines, op)
            case flow.PayNow():
                return self._pay(lines, op)
            case flow.Reveal():
                return self._reveal(lines, op)
            case flow.Decide():
                self._choices.ask(lines, place, op)
                return False
            case flow.ReturnFromBody():
                self._return(lines, place)
                return False
            case flow.DrawOutcome():
                return self._chance(lines, place, op)
            case flow.EnterLoop():
                return self._enter(lines, op)
            case flow.BeginPass():
                return self._pass(lines, op)
            case flow.EndPass():
                return self._again(lines, op)
            case flow.EnterStage():
                return self._begin(lines, op)
            case flow.LeaveStage():
                return self._close(lines, op)
            case flow.Stop():
                lines('s.kind = "end"')
                lines("s.asked = s.counts = ()")
                lines("return None")
                return False
            case flow.CallFunction():
                raise UnsupportedError("a call")
        assert_never(op)

    def _test(self, lines: CodeLines, op: flow.Branch) -> bool:
        lines.source(op.condition.span)
        with lines.block(f"if not {self._make.holds(op.condition, ACTING)}:"):
            lines(f"return {self._jumps.to(op.otherwise)}")
        return True

    def _check(self, lines: CodeLines, place: int, op: flow.CheckEnd) -> bool:
        if place in self._needless:
            return True
        lines.source(op.end.span)
        with lines.block(f"if {self._make.holds(op.end, ACTING)}:"):
            lines(f"return {self._jumps.to(op.over)}")
        return True

    def _do(self, lines: CodeLines, op: flow.Execute) -> bool:
        for statement in op.step.statements:
            self._assignments.statement(lines, statement, ACTING)
        return True

    def _pay(self, lines: CodeLines, op: flow.PayNow) -> bool:
        lines.source(op.step.span)
        slot = f"s.{self._make.module.slot('d', op.step.stream)}"
        lines(f"paid = {slot}.copy()")
        for seat, amount in op.step.amounts:
            code = self._make.value(amount, CodeScope(repr(seat)))
            lines(f"paid[{seat!r}] = exact(paid[{seat!r}] + {code})")
        lines(f"{slot} = paid")
        return True

    def _reveal(self, lines: CodeLines, op: flow.Reveal) -> bool:
        step, assignments = op.step, self._assignments
        lines.source(step.span)
        code = self._make.value(step.value, ACTING)
        if not self._make.known.is_some(step.value) and step.variable not in assignments.flagged:
            code = f"some({code})"
        lines(f"value = {code}")
        assignments.bind(lines, step.variable, "value")
        assignments.remember(lines, step.variable)
        if step.by_seat:
            absent = literal(tuple((seat, None) for seat in self._make.seats))
            with lines.block(f"for seat, part in {absent} if value is None else value.items():"):
                name = self._observations.name("part", step.type)
                self._observations.log_event(
                    lines, step, step.type, owner="seat", seat="seat", name=name, value="part"
                )
            return True
        name = self._observations.name("value", step.type)
        self._observations.log_event(
            lines, step, step.type, owner="s.me", seat="''", name=name, value="value"
        )
        return True

    def _return(self, lines: CodeLines, place: int) -> None:
        first = max(first for first in self._asks if first <= place)
        asked = self._asks[first]
        ask = self._ops[asked]
        assert isinstance(ask, flow.Decide)
        self._choices.end_body(lines, asked, ask)

    def _chance(self, lines: CodeLines, place: int, op: flow.DrawOutcome) -> bool:
        if not indices(op.step):
            return True
        self._chances.draw(lines, place, op)
        return False

    # loops

    def _slot(self, kind: str, name: str) -> str:
        return f"s.{self._make.module.slot(kind, name)}"

    def _enter(self, lines: CodeLines, op: flow.EnterLoop) -> bool:
        loop = op.loop
        lines.source(loop.span)
        lines(f"{self._slot('n', loop.id)} = 0")
        if loop.in_turn:
            lines(f"{self._slot('o', loop.id)} = s.me")
        if loop.times is not None:
            times = f"some({self._make.value(loop.times, ACTING)})"
            lines(f"{self._slot('t', loop.id)} = {times}")
        if loop.items is not None and not isinstance(loop.items, Const):
            items = self._make.value(loop.items, ACTING)
            lines(f"{self._slot('i', loop.id)} = values({items})")
        return True

    def _items(self, loop: Loop, known: tuple[Any, ...] | None) -> str:
        """Returns the code of the items of a loop."""
        if known is None:
            return self._slot("i", loop.id)
        return self._make.module.table("ITEMS", literal(known))

    def _pass(self, lines: CodeLines, op: flow.BeginPass) -> bool:
        loop = op.loop
        count = self._slot("n", loop.id)
        lines(f"passes = {count}")
        known = values(loop.items.value) if isinstance(loop.items, Const) else None
        if loop.items is not None:
            lines(f"items = {self._items(loop, known)}")
        size = "len(items)" if known is None else str(len(known))
        if loop.items is not None and not loop.cycle:
            self._leave_if(lines, f"passes == {size}", op)
        else:
            if loop.items is not None and not known:
                self._leave_if(lines, "not items", op)
            if loop.times is not None:
                self._leave_if(lines, f"passes == {self._slot('t', loop.id)}", op)
        if loop.bound is not None:
            self._at_bound(lines, op)
        for name in loop.resets:
            self._assignments.unbind(lines, name, by_seat=not loop.in_turn)
        lines(f"{count} = passes + 1")
        if loop.count is not None:
            self._assignments.bind(lines, loop.count, "passes + 1")
        if loop.items is not None:
            item = f"items[passes % {size}]" if loop.cycle else "items[passes]"
            if loop.item is not None:
                self._assignments.bind(lines, loop.item, item)
            else:
                lines(f"s.me = {item}")
        return True

    def _at_bound(self, lines: CodeLines, op: flow.BeginPass) -> None:
        """Writes the effect of as many passes as there may be."""
        loop = op.loop
        test = f"passes == {loop.bound}"
        if loop.until is None or loop.at_bound == "go_on":
            self._leave_if(lines, test, op)
            return
        with lines.block(f"if {test}:"):
            lines(f"return {self._jumps.to(op.over)}" if loop.at_bound == "end" else "refuse()")

    def _leave_if(self, lines: CodeLines, test: str, op: flow.BeginPass | flow.EndPass) -> None:
        with lines.block(f"if {test}:"):
            if op.loop.in_turn:
                lines(f"s.me = {self._slot('o', op.loop.id)}")
            lines(f"return {self._jumps.to(op.after)}")

    def _again(self, lines: CodeLines, op: flow.EndPass) -> bool:
        if op.loop.until is not None:
            lines.source(op.loop.until.span)
            self._leave_if(lines, self._make.holds(op.loop.until, ACTING), op)
        lines(f"return {self._jumps.to(op.head)}")
        return False

    # stages

    def _begin(self, lines: CodeLines, op: flow.EnterStage) -> bool:
        stage = op.stage
        lines.source(stage.span)
        paid = self._slot("d", "payoffs")
        lines(f"{self._slot('k', stage.id)} = {paid}")
        lines(f"{self._slot('o', stage.id)} = s.me")
        lines(f"{paid} = {self._make.module.table('ZEROS', zeros(self._ir))}")
        for name in stage.resets:
            self._assignments.unbind(lines, name)
        for state in stage.state:
            self._assignments.bind(lines, state.name, self._make.module.constant(state.start))
        return True

    def _close(self, lines: CodeLines, op: flow.LeaveStage) -> bool:
        stage = op.stage
        lines.source(stage.span)
        lines(f"s.me = {self._slot('o', stage.id)}")
        paid = self._slot("d", "payoffs")
        lines(f"inside = {paid}.copy()")
        for seat, payoff in stage.payoffs:
            lines(f"inside[{seat!r}] += {self._make.value(payoff, CodeScope(repr(seat)))}")
        lines(f"weight = some({self._make.value(stage.weight, ACTING)})")
        before = self._slot("k", stage.id)
        lines(f"{paid} = {{seat: exact(before + weight * inside[seat])")
        lines(f"    for seat, before in {before}.items()}}")
        return True


def zeros(ir: GameIR) -> str:
    """Returns the text of a stream of which nothing was paid."""
    return literal(dict.fromkeys(ir.seats, 0))
