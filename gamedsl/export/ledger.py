"""The amounts that a play has paid so far, for libraries that take a reward at every step.

Amounts that steps pay are passed on at once; those that only the end decides, at the end. Their sum
over an episode is always the exact payoff or reward.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Literal, assert_never

from gamedsl.ir.builtins import BUILTINS
from gamedsl.ir.expr import (
    Apply,
    Build,
    Cell,
    Collect,
    Const,
    Consult,
    Expr,
    Field,
    Get,
    If,
    LastBy,
    LetCall,
    LetMap,
    Local,
    Logic,
    Me,
    Past,
    Read,
    Stream,
    Table,
    walk,
)
from gamedsl.ir.game import GameIR
from gamedsl.ir.outcome import rewards_of
from gamedsl.ir.program import Pay, Stage, walk_steps
from gamedsl.runtime.episode import Episode

What = Literal["payoffs", "rewards"]
Amounts = Mapping[str, int | Fraction]


class Ledger:
    """The amounts that each seat has earned at a point of a play, in payoffs or rewards.

    `during` says whether anything can be earned before the end: steps pay to a stream, and the
    reward file only adds such streams up, with fixed weights.
    """

    def __init__(self, ir: GameIR, what: What) -> None:
        steps = tuple(walk_steps(ir.turns))
        pays = {step.stream for step in steps if isinstance(step, Pay)}
        staged = any(isinstance(step, Stage) for step in steps)
        given = bool(ir.payoffs) or staged or "payoffs" in pays
        additive = not ir.reward.lets and not ir.scores and _is_additive(ir.reward.split)
        self._ir = ir
        self._what = what
        self._split = what == "rewards" or not given
        self.during = (bool(pays) or staged) and (additive or not self._split)

    def earned(self, episode: Episode) -> Amounts:
        """Each seat's total so far, exact; 0 where a payoff is void."""
        if episode.done:
            final = episode.payoffs if self._what == "payoffs" else episode.rewards
            return {seat: amount or 0 for seat, amount in final.items()}
        nothing: Amounts = dict.fromkeys(self._ir.seats, 0)
        if not self.during:
            return nothing
        streams = {name: dict(amounts) for name, amounts in episode.paid.items()}
        payoffs = streams.pop("payoffs", dict(nothing))
        return rewards_of(self._ir, payoffs, streams) if self._split else payoffs


def _is_additive(split: Expr) -> bool:
    """Whether a split of a sum is the sum of the splits, as far as its form tells."""
    match split:
        case Stream() | Const(value=0):
            return True
        case Get(of=of, key=key):
            return _is_additive(of) and _is_fixed(key)
        case If(test=test, then=then, other=other):
            return _is_fixed(test) and _is_additive(then) and _is_additive(other)
        case Collect(item=item, source=source, condition=condition):
            fixed = condition is None or _is_fixed(condition)
            return fixed and _is_fixed(source) and _is_additive(item)
        case Apply():
            return _is_linear(split)
        case (
            Const() | Read() | LastBy() | Past() | Local() | Me() | Logic() | Field() | Cell()
            | LetCall() | LetMap() | Table() | Build() | Consult()
        ):  # fmt: skip
            return False
        case _:
            assert_never(split)


def _is_linear(expr: Apply) -> bool:
    """Whether a built-in is linear in arguments that are additive, the others being fixed."""
    parts = expr.arguments
    linear = BUILTINS[expr.function].linear
    match linear:
        case "no":
            return False
        case "all":
            return all(map(_is_additive, parts))
        case "first":
            return _is_additive(parts[0]) and all(map(_is_fixed, parts[1:]))
        case "either":
            left, right = parts
            return (_is_additive(left) and _is_fixed(right)) or (
                _is_fixed(left) and _is_additive(right)
            )
        case _:
            assert_never(linear)


def _is_fixed(expr: Expr) -> bool:
    """Whether an expression reads no stream."""
    return not any(isinstance(part, Stream) for part in walk(expr))
