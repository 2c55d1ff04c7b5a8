"""What there is to say of replies, as tables: how much was valid, what was not, what it ended."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from gamedsl.evaluate.replies import Count
from gamedsl.evaluate.shown import Table, percent, short
from gamedsl.solve.words import plural

if TYPE_CHECKING:
    from gamedsl.evaluate.found import Evaluation


def in_words(found: Evaluation) -> list[Table]:
    """The tables of a game in words; none of another."""
    if not found.in_words:
        return []
    return [_replies(found), *_forfeits(found)]


def told_of_endpoints(found: Evaluation) -> list[str]:
    """What was spent at endpoints, a line each."""
    return [
        f"{name}: {plural(spent.calls, 'call')}"
        + (f", {spent.tokens:,} tokens" if spent.tokens else "; it does not count tokens")
        for name, spent in found.spent.items()
    ]


def _replies(found: Evaluation) -> Table:
    rows = tuple(
        (
            short(place.who), place.role, place.step, _reasons(count.invalid),
            f"{count.replies:,}", percent(count.valid),
            "–" if count.length is None else f"{count.length:.1f}",
        )
        for place, count in found.said.items()
    )  # fmt: skip
    ends = percent(found.own_ends)
    head = ("contestant", "role", "step", "why invalid", "replies", "valid", "tokens")
    below = f"games that no invalid reply ended: {ends}; brackets hold 95% Wilson intervals"
    return Table("Replies", head, rows, 4, below)


def _forfeits(found: Evaluation) -> list[Table]:
    rows = tuple(
        (short(place.who), place.role, place.step, _reasons(count.forfeits), f"{games:,}")
        for place, count in found.said.items() if (games := _ended(count))
    )  # fmt: skip
    head = ("contestant", "role", "step", "reasons", "games")
    return [Table("Games ended by an invalid reply", head, rows, 4)] if rows else []


def _ended(count: Count) -> int:
    return count.forfeits.total()


def _reasons(reasons: Counter[str]) -> str:
    return ", ".join(f"{reason} {n:,}" for reason, n in reasons.most_common()) or "–"
