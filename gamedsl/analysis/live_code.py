"""The steps and expressions of a game that its params leave: a file is written for other values of
them too, so that what these switch off is no mistake.

A test is decided by params if no play can change its value, and a param is read in it: in the test
itself, or in a `let`. `a and b` is decided as soon as one of both decides it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import replace
from typing import assert_never

from gamedsl.bounds.programs import exact_passes
from gamedsl.ir.evaluate import EvaluationError, Scope, evaluate
from gamedsl.ir.expr import (
    PLAY,
    Apply,
    Const,
    Expr,
    If,
    LetCall,
    LetMap,
    Local,
    Logic,
    children,
    expressions_in,
    roots,
    walk,
)
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import (
    Action,
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
)


class LiveCode:
    """Holds what the params of a game leave of it.

    `steps` are the steps that they do not switch off, those inside others included. `lets` are the
    names of lets that live code reads, and of those that nothing reads.
    """

    def __init__(self, ir: GameIR) -> None:
        self._ir = ir
        self._scope = Scope(ir.seats, lets=ir.lets_by_name)
        self._with_params = _lets_with_params(ir)
        self.steps = tuple(self._live_steps(ir.turns))
        own = [part for step in self.steps for part in self._own_parts(step)]
        paid = (ir.payoffs, ir.scores, ir.referee_payoffs)
        self._roots = tuple(roots((tuple(own), ir.end, *paid)))
        self.lets = self._read_lets()

    def expressions(self, without: Set[str]) -> Iterator[Expr]:
        """Yields the expressions that may be evaluated, those inside others included; the bodies
        of some lets are left out."""
        yield from self._live_parts(self._roots)
        named = self.lets - without
        yield from self._live_parts(let.body for let in self._ir.lets if let.name in named)

    def decided(self, test: Expr | None) -> bool | None:
        """Returns the value that the params give to a test; None where they leave it open."""
        if test is None or not self._reads_params(test):
            return None
        return self._truth(test)

    # steps

    def _live_steps(self, steps: Iterable[Step]) -> Iterator[Step]:
        for step in steps:
            if self.decided(step.condition) is False:
                continue
            yield step
            match step:
                case Choose():
                    for action in self.actions(step):
                        yield from self._live_steps(action.body)
                case Loop(body=body):
                    if exact_passes(step) != 0:
                        yield from self._live_steps(body)
                case Block(body=body) | Stage(body=body):
                    yield from self._live_steps(body)
                case Draw() | Show() | Do() | Pay() | Call():
                    pass
                case _:
                    assert_never(step)

    def actions(self, step: Choose) -> Iterator[Action]:
        """Yields the declared actions of a step that the params do not switch off."""
        return (action for action in step.moves if self.decided(action.when) is not False)

    def _own_parts(self, step: Step) -> tuple[object, ...]:
        """Returns a step without the steps inside it, and without actions that are switched off."""
        match step:
            case Block() | Loop() | Stage():
                return (replace(step, body=()),)
            case Choose():
                heads = tuple(replace(action, body=()) for action in self.actions(step))
                return (replace(step, moves=heads),)
            case Draw() | Show() | Do() | Pay() | Call():
                return (step,)
            case _:
                assert_never(step)

    # expressions

    def _live_parts(self, parts: Iterable[Expr]) -> Iterator[Expr]:
        for part in parts:
            yield part
            yield from self._live_parts(self._live_children(part))

    def _live_children(self, expr: Expr) -> tuple[Expr, ...]:
        match expr:
            case If(test=test, then=then, other=other) if (holds := self.decided(test)) is not None:
                return (then if holds else other,)
            case Logic(op=op, left=left) if self.decided(left) is (op == "or"):
                return ()
            case _:
                return children(expr)

    def _read_lets(self) -> frozenset[str]:
        lets = self._ir.lets_by_name
        live: set[str] = set()
        queue = list(self._roots)
        while queue:
            for part in self._live_parts([queue.pop()]):
                if isinstance(part, LetCall | LetMap) and part.name not in live:
                    live.add(part.name)
                    queue.append(lets[part.name].body)
        ir = self._ir
        parts = (ir.turns, ir.end, ir.payoffs, ir.scores, ir.referee_payoffs,
                 tuple(let.body for let in ir.lets))  # fmt: skip
        read = {p.name for p in expressions_in(parts) if isinstance(p, LetCall | LetMap)}
        return frozenset(live | (lets.keys() - read))

    # tests

    def _truth(self, test: Expr) -> bool | None:
        match test:
            case Logic(op=op, left=left, right=right):
                decisive = op == "or"
                sides = self._truth(left), self._truth(right)
                if decisive in sides:
                    return decisive
                return None if None in sides else not decisive
            case Apply(function="not", arguments=(inner,)):
                known = self._truth(inner)
                return None if known is None else not known
            case If(test=inner, then=then, other=other):
                known = self._truth(inner)
                return None if known is None else self._truth(then if known else other)
            case LetCall(name=name, arguments=()):
                return self._truth(self._ir.lets_by_name[name].body)
            case _:
                return self._value(test)

    def _value(self, test: Expr) -> bool | None:
        """Returns the value of a test that reads no play; None for any other."""
        if any(isinstance(part, Local) or _reads_play(part) for part in walk(test)):
            return None
        if any(isinstance(p, LetCall) and not self._is_constant(p) for p in walk(test)):
            return None
        try:
            value = evaluate(test, self._scope)
        except EvaluationError:
            return None
        return value if isinstance(value, bool) else None

    def _is_constant(self, call: LetCall) -> bool:
        """Whether a let has one value, whatever happens."""
        parts = walk(self._ir.lets_by_name[call.name].body)
        return not call.arguments and all(
            self._is_constant(part) if isinstance(part, LetCall) else not isinstance(part, PLAY)
            for part in parts
        )

    def _reads_params(self, expr: Expr) -> bool:
        return any(
            part.name in self._with_params if isinstance(part, LetCall | LetMap)
            else isinstance(part, Const) and part.origin is not None
            for part in walk(expr)
        )  # fmt: skip


def _reads_play(part: Expr) -> bool:
    return isinstance(part, PLAY) and not isinstance(part, LetCall)


def _lets_with_params(ir: GameIR) -> frozenset[str]:
    """Returns the names of the lets that read a param, directly or through others."""
    found: set[str] = set()
    before = -1
    while before < len(found):
        before = len(found)
        found |= {
            let.name for let in ir.lets
            if any(
                part.name in found if isinstance(part, LetCall | LetMap)
                else isinstance(part, Const) and part.origin is not None
                for part in walk(let.body)
            )
        }  # fmt: skip
    return frozenset(found)
