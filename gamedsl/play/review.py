"""The review of a play: each closed decision of a person, with what it cost against the best
option."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from gamedsl.play.advice import Advice, Adviser
from gamedsl.play.session import Moment
from gamedsl.runtime.decision import Action
from gamedsl.tables.model import Column, Table, text_columns
from gamedsl.tables.numbers import number

if TYPE_CHECKING:
    from gamedsl.players.seat_text import SeatText

NEGLIGIBLE = 1e-9
"""Costs that rounding alone explains."""


class Reviewed(NamedTuple):
    """A decision of a person: the seat, the step, the option that was chosen, the best one, and the
    advice on it."""

    seat: str
    step: str
    chosen: str
    best: str
    advice: Advice
    cost: float


def review(moments: Sequence[Moment], adviser: Adviser) -> list[Reviewed]:
    """Returns the closed decisions of a play in order. Raises what the adviser raises."""
    found = []
    for moment in moments:
        for decision in moment.episode.decisions:
            reply = moment.answers.get(decision.seat)
            if not isinstance(reply, Action) or reply.name not in decision.legal:
                continue
            advice = adviser.advise(decision, moment.episode)
            option = decision.legal.index(reply.name)
            cost = float(advice.cost(option))
            best = decision.legal[advice.worth.index(max(advice.worth))]
            found.append(
                Reviewed(
                    decision.seat, decision.step, reply.name,
                    reply.name if cost <= NEGLIGIBLE else best, advice,
                    0.0 if cost <= NEGLIGIBLE else cost,
                )
            )  # fmt: skip
    return found


def review_table(found: Sequence[Reviewed], text: SeatText) -> Table:
    """Returns a review as a table: a row for each decision."""
    columns = (*text_columns("seat", "decision", "chosen", "best"), Column("cost", "right"))
    rows = [
        (one.seat, one.step, text.option(one.chosen), text.option(one.best), number(one.cost))
        for one in found
    ]
    return Table(columns, rows)
