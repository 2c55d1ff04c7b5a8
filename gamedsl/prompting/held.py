"""Bounds of the history in prompts, for windows that leave some of it out."""

from __future__ import annotations

from collections.abc import Callable

from gamedsl.ir.game import GameIR
from gamedsl.ir.lengths import UnboundedError, most_before
from gamedsl.ir.program import Binding, Choose, Show, Step
from gamedsl.ir.recent import Weights, most_since
from gamedsl.ir.types import Option, PerSeat, Record, Text, Type, has_text
from gamedsl.prompting.visibility import may_read
from gamedsl.prompting.windows import never_repeated

Weigh = Callable[[Binding, str], int]
"""The most that what a seat sees of one run of a step weighs."""


def most_told(ir: GameIR, seat: str, weigh: Weigh, others: Weigh) -> dict[str, int | None]:
    """The most that prompts tell a seat of what it has seen, by the id of each step at which it is
    asked; None where the form of the game gives no bound. `others` is what the seat sees of its own
    step, its own reply apart."""

    once = frozenset(never_repeated(ir.turns))

    def of(step: Step) -> int:
        return weigh(step, seat) if isinstance(step, Binding) else 0

    def again(step: Step) -> int:
        return 0 if step.id in once else of(step)

    def first(step: Step) -> int:
        if not (ir.is_chat and window is not None and window.last) or step.id in once:
            return again(step)
        return others(step, seat) if isinstance(step, Binding) else 0

    count, window = len(ir.everyone), ir.windows.get(seat)
    whole = most_before(ir.turns, of, count)
    if window is None:
        return whole
    kept = most_before(ir.turns, lambda step: of(step) if step.id in once else 0, count)
    silent = ir.costs[seat].then in ("skip", "play")

    def counts(step: Choose) -> bool:
        return window.last is not None or (step.variable == window.since and not silent)

    choices = 1 if window.last is None else window.last + ir.is_chat
    recent = most_since(ir.turns, seat, choices, counts, Weights(again, first), count)
    return {
        step.id: _told(whole[step.id], recent[step.id], kept[step.id])
        for step in ir.steps
        if seat in step.actors
    }


def _told(whole: int | None, recent: int | None, kept: int | None) -> int | None:
    """All that there is, or the part that is told."""
    if recent is None or kept is None:
        return whole
    return recent + kept if whole is None else min(whole, recent + kept)


def tokens_held(ir: GameIR) -> int:
    """The most tokens of replies that a prompt of a game in words can hold. `UnboundedError` where
    the form of the game gives no bound."""
    held = 0
    for seat in ir.everyone:
        for told in held_at(ir, seat).values():
            if told is None:
                raise UnboundedError("the form of a loop does not tell how often it runs")
            held = max(held, told)
    return held


def held_at(ir: GameIR, seat: str) -> dict[str, int | None]:
    """The same of the prompts of one seat, by the id of each step at which it is asked; None where
    a loop gives no bound. `UnboundedError` as above."""
    found = most_told(ir, seat, _tokens(ir, own=True), _tokens(ir, own=False))
    return {step.id: found[step.id] for step in ir.steps if seat in step.actors}


def _tokens(ir: GameIR, *, own: bool) -> Weigh:
    """The tokens of replies that a seat sees of a step: of all, or of all but its own."""
    longest = max((step.said.max_tokens for step in ir.steps if step.said is not None), default=0)

    def weigh(step: Binding, seat: str) -> int:
        if isinstance(step, Choose):
            seats = [
                actor for actor in step.actors
                if (own if actor == seat else _may_see(step, seat, actor))
            ]  # fmt: skip
            limit = 0 if step.said is None else step.said.max_tokens
            return limit * (len(seats) if step.joint else own and bool(seats))
        if not isinstance(step, Show) or not may_read(step.readers, seat, None):
            return 0
        return longest * _texts(step.type, len(ir.everyone))

    return weigh


def _texts(type: Type, seats: int) -> int:
    """Returns the largest number of texts in a shown value. Raises `UnboundedError` if there is
    no bound."""
    match type:
        case Text():
            return 1
        case Option(of=inner):
            return _texts(inner, seats)
        case PerSeat(of=inner):
            return seats * _texts(inner, seats)
        case Record():
            return sum(_texts(inner, seats) for inner in type.types)
    if has_text(type):
        raise UnboundedError("it is not told how many texts a step shows")
    return 0


def _may_see(step: Choose, seat: str, actor: str) -> bool:
    fields = [inner for _, inner in step.readers.fields] or [step.readers]
    return any(may_read(readers, seat, actor) for readers in fields)
