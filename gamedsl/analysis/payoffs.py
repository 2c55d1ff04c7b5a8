"""Proves that every outcome has payoffs and rewards: nothing divides by zero, or has no mean.

Most expressions cannot fail by their form, and nothing is gone through for them. For the others
every outcome is worked out, if there are at most `LIMIT` and it takes at most `WORK`; what a larger
game hides shows when it is played, as an `EvaluationError`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from itertools import chain, islice
from typing import Any, assert_never

from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.fixes import Help, substitute
from gamedsl.diagnostics.spans import Span
from gamedsl.ir.builtins import BUILTINS
from gamedsl.ir.evaluate import (
    MAX_WORK,
    EvaluationError,
    Meter,
    Scope,
    TooMuchWorkError,
    evaluate,
)  # fmt: skip
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
from gamedsl.ir.outcome import Amounts, History, amount_of, bind, count_outcomes, histories
from gamedsl.ir.types import Bag, List, PerSeat, PerValue, Set

LIMIT = 100_000
"""Outcomes that are gone through."""

WORK = 3_000_000
"""Operations that are spent on it."""

_COLLECTIONS = List, Set, Bag, PerSeat, PerValue
_OPEN = Read, Stream, LetCall, LetMap, Local, Me
_HARMLESS_EXPONENT = 16


def check_payoffs_defined(ir: GameIR, problems: Problems) -> None:
    """GD0402: a payoff without a value in some outcome. GD0602: a reward. Each with the outcome."""
    if not ir.plain:
        return
    lets = [let.body for let in ir.lets]
    scores = [amount for _, amounts in ir.scores for _, amount in amounts]
    payoffs = [payoff for _, payoff in (*ir.payoffs, *ir.referee_payoffs)]
    risky = any(map(_may_fail, chain(payoffs, scores, lets)))
    splits = [ir.reward.split, *(let.body for let in ir.reward.lets)]
    risky_split = any(map(_may_fail, splits))
    whole = (risky or risky_split) and count_outcomes(ir) <= LIMIT
    work = 0
    seen: set[tuple[object, ...]] = set()
    for history in islice(histories(ir), None if whole else 1):
        meter = Meter()
        streams = _streams(ir, history, meter, problems)
        if streams is None:
            return
        work += meter.spent
        key = tuple(amount for amounts in streams.values() for amount in amounts.values())
        if key not in seen and (risky_split or not seen):
            seen.add(key)
            meter, witness = Meter(), partial(_witness, ir, history)
            if not rewards_are_defined(ir, streams, witness, meter, problems):
                return
            work += meter.spent
        if work > WORK:
            return


def _streams(
    ir: GameIR, history: History, meter: Meter, problems: Problems
) -> dict[str, Amounts] | None:
    """The payoffs, as the stream `payoff`, and the scores of an outcome."""
    scope = Scope(ir.seats, bind(ir, history), ir.lets_by_name)
    streams: dict[str, Amounts] = {}
    for name, amounts in (("payoff", (*ir.payoffs, *ir.referee_payoffs)), *ir.scores):
        for seat, amount in amounts:
            own = Meter()
            try:
                value = amount_of(amount, scope.seated(seat), own)
            except EvaluationError as error:
                why, help = cause_of(error)
                what = "payoff" if name == "payoff" else f"score `{name}`"
                problems.add(
                    "GD0402",
                    f"the {what} of `{seat}` {fault_of(error, 'in some outcome')}",
                    error.span,
                    why=why,
                    witness=_witness(ir, history),
                    help=help,
                )
                return None
            if seat in ir.seats:
                streams.setdefault(name, {})[seat] = value
            meter.spent += own.spent
    return streams


def rewards_are_defined(
    ir: GameIR,
    streams: Mapping[str, Mapping[str, int | Fraction]],
    witness: Callable[[], tuple[str, ...]],
    meter: Meter,
    problems: Problems,
) -> bool:
    """Whether every seat has a reward, given what was paid to each stream; GD0602 where one has
    none, with the lines of `witness`. The work is added to `meter`."""
    lets = {let.name: let for let in ir.reward.lets}
    payoffs = streams.get("payoff") or dict.fromkeys(ir.seats, 0)
    scope = Scope(ir.seats, {}, lets, {**streams, "payoff": payoffs, "streams": streams})
    for seat in ir.seats:
        own = Meter()
        try:
            amount_of(ir.reward.split, scope.seated(seat), own)
        except EvaluationError as error:
            paid = ", ".join(f"{s} {amount}" for s, amount in payoffs.items())
            problems.add(
                "GD0602",
                f"the reward of `{seat}` {fault_of(error, 'in some outcome')}",
                _setting(ir, error.expr),
                why=f"`{ir.reward.name}` gives none",
                notes=(Note(error.span, cause_of(error)[0]),),
                witness=(*witness(), f"payoffs: {paid}"),
                help="set its params otherwise, or use another reward"
                if ir.reward.places
                else "use another reward, or change this one",
            )
            return False
        meter.spent += own.spent
    return True


def _setting(ir: GameIR, expr: Expr) -> Span:
    """Returns the place at which the game sets the param that an expression of its reward file
    reads, or names it."""
    places = dict(ir.reward.places)
    read = (part.origin for part in walk(expr) if isinstance(part, Const) and part.origin)
    return next((places[name] for name in read if name in places), ir.reward.use)


def fault_of(error: EvaluationError, where: str) -> str:
    """Returns the reason for a missing value, as the end of a sentence."""
    if isinstance(error, TooMuchWorkError):
        return f"takes more than {MAX_WORK:,} steps to work out"
    return f"has no value {where}: {error.message}"


def cause_of(error: EvaluationError) -> tuple[str, Help]:
    """Returns the note under the expression, and the remedy."""
    expr = error.expr
    if isinstance(error, TooMuchWorkError):
        return "given up here", "go through a smaller collection, or check a smaller game"
    if isinstance(expr, Apply) and BUILTINS[expr.function].undefined == "by zero":
        divisor = expr.arguments[1].span.text
        if len(divisor) < 60 and "\n" not in divisor:
            whole = expr.span.text
            then = f"{whole} if {divisor} != 0 else 0"
            help = f"say what it is then: `{then}`"
            fits = len(help) < 100 and "\n" not in help
            return f"`{divisor}` is 0", substitute(expr.span, f"({then})", help) if fits else ""
    return "no value", ""


def _witness(ir: GameIR, history: History) -> tuple[str, ...]:
    """The outcome, a line a step."""
    lines = []
    for step, names in zip(ir.steps, history, strict=True):
        chosen = [f"{seat} {name}" for seat, name in zip(step.actors, names, strict=True)]
        more = ", …" if len(chosen) > 8 else ""
        lines.append(f"{step.id}: {', '.join(chosen[:8])}{more}")
    return tuple(lines)


def _may_fail(expr: Expr) -> bool:
    return any(map(_is_risky, walk(expr)))


def _is_risky(expr: Expr) -> bool:
    """Whether this operation, not those inside it, has no value for some operands."""
    match expr:
        case Get(of=of):
            return isinstance(of.type, List) and not _within(expr, of.type)
        case Apply():
            return _has_no_value(expr)
        case (
            Const() | Read() | LastBy() | Past() | Local() | Me() | Stream() | Logic() | If()
            | Field() | Cell() | LetCall() | LetMap() | Table() | Build() | Collect() | Consult()
        ):  # fmt: skip
            return False
        case _:
            assert_never(expr)


def _has_no_value(expr: Apply) -> bool:
    """Whether a built-in may be undefined for its operands."""
    undefined = BUILTINS[expr.function].undefined
    match undefined:
        case "never":
            return False
        case "by zero":
            return _known(expr.arguments[1]) in (None, 0)
        case "by exponent":
            exponent = _known(expr.arguments[1])
            return exponent is None or not 0 <= exponent <= _HARMLESS_EXPONENT
        case "by size" | "by value":
            return _known(expr) is None
        case "of nothing":
            collection = expr.arguments[0]
            return isinstance(collection.type, _COLLECTIONS) and not _has_items(collection)
    assert_never(undefined)


def _known(expr: Expr) -> Any:
    """The value of an expression that reads nothing; None where it reads something or has none."""
    if any(isinstance(part, _OPEN) for part in walk(expr)):
        return None
    try:
        return evaluate(expr, Scope())
    except EvaluationError:
        return None


def _has_items(collection: Expr) -> bool:
    type = collection.type
    return isinstance(type, PerSeat) or (isinstance(type, List) and bool(type.length))


def _within(get: Get, type: List) -> bool:
    """Whether an index lies within a list: a known one, or the place of a role or option."""
    length = type.length or 0
    if isinstance(get.key, Apply) and get.key.function == "index":
        order = get.key.arguments[1]
        return isinstance(order, Const) and len(order.value) <= length
    key = _known(get.key)
    return isinstance(key, int) and 0 <= key < length
