"""Bounds on how much of a seat's history its prompts tell, where a window leaves some of it out."""

from __future__ import annotations

from collections.abc import Callable

from gamedsl.bounds.programs import ProgramBounds, UnboundedError
from gamedsl.bounds.window_bounds import Weights, most_since
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Binding, Choose, Show, Step
from gamedsl.ir.types import Option, PerSeat, PerValue, Record, Text, Type, domain, has_text
from gamedsl.prompting.visibility import may_read
from gamedsl.prompting.windows import never_repeated

Weigh = Callable[[Binding, str], int]
"""The most that the events of one run of a step weigh for a seat."""


def most_in_prompts(
    ir: GameIR, bounds: ProgramBounds, seat: str, weigh: Weigh, others: Weigh
) -> dict[str, int | None]:
    """Returns the most that the events in a seat's prompts weigh together, by the id of each step
    at which it decides; None without a bound. `others` weighs what the seat sees of its own step
    without its own reply."""

    once = frozenset(never_repeated(ir.turns)) if seat not in ir.views else frozenset[str]()

    def weight(step: Step) -> int:
        return weigh(step, seat) if isinstance(step, Binding) else 0

    def repeated(step: Step) -> int:
        return 0 if step.id in once else weight(step)

    def first(step: Step) -> int:
        if not (ir.is_chat and window is not None and window.last) or step.id in once:
            return repeated(step)
        return others(step, seat) if isinstance(step, Binding) else 0

    window = ir.windows.get(seat)
    whole = bounds.totals_before(weight)
    if window is None:
        return whole
    fixed = bounds.totals_before(lambda step: weight(step) if step.id in once else 0)
    silent = ir.costs[seat].then in ("skip", "play")

    def counts(step: Choose) -> bool:
        return window.last is not None or (step.variable == window.since and not silent)

    choices = 1 if window.last is None else window.last + ir.is_chat
    recent = most_since(bounds, ir.turns, seat, choices, counts, Weights(repeated, first))
    return {
        step.id: _shorter(whole[step.id], recent[step.id], fixed[step.id])
        for step in ir.steps
        if seat in step.actors
    }


def _shorter(whole: int | None, recent: int | None, fixed: int | None) -> int | None:
    """Returns the smaller of the whole history and of its part within the window."""
    if recent is None or fixed is None:
        return whole
    return recent + fixed if whole is None else min(whole, recent + fixed)


def most_reply_tokens(ir: GameIR) -> int:
    """Returns the most tokens of replies that a prompt of a game in words can have.

    Raises `UnboundedError` where the form of the game gives no bound.
    """
    most = 0
    for seat in ir.everyone:
        for tokens in reply_tokens(ir, seat).values():
            if tokens is None:
                raise UnboundedError("the form of a loop does not tell how often it runs")
            most = max(most, tokens)
    return most


def reply_tokens(ir: GameIR, seat: str) -> dict[str, int | None]:
    """Returns the most tokens of replies in the prompts of one seat, by the id of each step at
    which it decides; None where a loop gives no bound. Raises as `most_reply_tokens`."""
    weigh, others = _token_weights(ir, own=True), _token_weights(ir, own=False)
    found = most_in_prompts(ir, ProgramBounds(ir), seat, weigh, others)
    return {step.id: found[step.id] for step in ir.steps if seat in step.actors}


def _token_weights(ir: GameIR, *, own: bool) -> Weigh:
    """Returns what weighs the tokens of replies that a seat sees of a step: of all, or of all but
    its own."""
    longest = max((step.said.max_tokens for step in ir.steps if step.said is not None), default=0)

    def weigh(step: Binding, seat: str) -> int:
        if isinstance(step, Choose):
            seats = [
                actor for actor in step.actors
                if (own if actor == seat else may_read(step.readers, seat, actor))
            ]  # fmt: skip
            limit = 0 if step.said is None else step.said.max_tokens
            return limit * (len(seats) if step.joint else own and bool(seats))
        if not isinstance(step, Show):
            return 0
        owners = ir.seats if step.by_seat else (None,)
        seen = sum(may_read(step.readers, seat, owner) for owner in owners)
        return seen and seen * longest * _count_texts(step.type, len(ir.everyone))

    return weigh


def _count_texts(type: Type, seats: int) -> int:
    """Returns the most texts in a value that is shown. Raises `UnboundedError` without a bound."""
    match type:
        case Text():
            return 1
        case Option(of=inner):
            return _count_texts(inner, seats)
        case PerSeat(of=inner):
            return seats * _count_texts(inner, seats)
        case PerValue(key=key, of=inner) if (keys := domain(key, ())) is not None:
            return len(keys) * _count_texts(inner, seats)
        case Record():
            return sum(_count_texts(inner, seats) for inner in type.types)
        case _:  # of other types, those without texts are counted
            pass
    if has_text(type):
        raise UnboundedError("it is not told how many texts a step shows")
    return 0
