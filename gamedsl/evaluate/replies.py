"""Statistics of replies in games in words: their validity, their length, and the forfeits they
caused.

They are kept by contestant, role and step, referees included.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gamedsl.evaluate.intervals import Estimate, share_of_clusters
from gamedsl.evaluate.seating import Holders
from gamedsl.players.base import Answered

if TYPE_CHECKING:
    from gamedsl.runtime import Decision, Episode


class ReplySite(NamedTuple):
    """The place of replies: the contestant's name, its role, and the step."""

    who: str
    role: str
    step: str


@dataclass
class ReplyCount:
    """The replies at one place. `invalid` are those that were not valid, by reason, `forfeits`
    those of them that ended a game; of `written` replies the `tokens` were counted. `asked` and
    `refused` are the replies, and the invalid ones, of each cluster of games, by its number: the
    replies of one are alike."""

    replies: int = 0
    invalid: Counter[str] = field(default_factory=Counter)
    forfeits: Counter[str] = field(default_factory=Counter)
    written: int = 0
    tokens: int = 0
    asked: Counter[int] = field(default_factory=Counter)
    refused: Counter[int] = field(default_factory=Counter)

    def add(self, more: ReplyCount) -> None:
        self.replies += more.replies
        self.invalid += more.invalid
        self.forfeits += more.forfeits
        self.written += more.written
        self.tokens += more.tokens
        self.asked += more.asked
        self.refused += more.refused

    @property
    def valid(self) -> Estimate | None:
        """The share of valid replies."""
        asked_C = np.array(list(self.asked.values()))
        refused_C = np.array([self.refused[cluster] for cluster in self.asked])
        return share_of_clusters(asked_C - refused_C, asked_C, least_effect=1)

    @property
    def length(self) -> float | None:
        """Tokens of a reply, on average; None where none were counted."""
        return self.tokens / self.written if self.written else None


Counts = Mapping[ReplySite, ReplyCount]


def in_clusters(games: Sequence[Counts], size: int) -> dict[ReplySite, ReplyCount]:
    """The counts of games, of which so many in a row are a cluster."""
    return summed(
        {
            place: replace(
                count,
                asked=Counter({number // size: count.replies}),
                refused=Counter({number // size: count.invalid.total()}),
            )
            for place, count in counts.items()
        }
        for number, counts in enumerate(games)
    )


def summed(every: Iterable[Counts]) -> dict[ReplySite, ReplyCount]:
    """All counts together, in the order of their places."""
    found: dict[ReplySite, ReplyCount] = {}
    for counts in every:
        for place, count in counts.items():
            found.setdefault(place, ReplyCount()).add(count)
    return found


@dataclass
class Talk:
    """The replies of one game. `who` has the names of all holders of seats, referees included."""

    episode: Episode
    who: Mapping[str, str]
    asked: Counter[str] = field(default_factory=Counter)
    """Decisions by seat."""
    visits: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Visits of seats to information sets; to be asked again after a mistake is none."""
    counts: dict[ReplySite, ReplyCount] = field(default_factory=dict)
    replies: list[dict[str, str]] = field(default_factory=list)
    """The written texts, in order."""

    def step(self, answers: Sequence[tuple[Decision, Answered]]) -> None:
        """Answer all decisions that the game waits for, and note what came of the answers."""
        known = len(self.episode.mistakes)
        self.asked.update(decision.seat for decision, _ in answers)
        self.visits.update(_visited(decision) for decision, _ in answers if not decision.failed)
        self.episode.step({decision.seat: answer.reply for decision, answer in answers})
        if not self.episode.env.ir.in_form:
            return
        for decision, answer in answers:
            count = self.counts.setdefault(self._place(decision), ReplyCount())
            count.replies += 1
            if answer.tokens:
                count.written += 1
                count.tokens += answer.tokens
            if answer.text is not None:
                told = {"seat": decision.seat, "step": decision.step, "text": answer.text}
                self.replies.append(told)
        for decision, failure, *_ in self.episode.mistakes[known:]:
            count = self.counts[self._place(decision)]
            count.invalid[failure.reason] += 1
            count.forfeits[failure.reason] += decision.seat in self.episode.failures

    def earlier_visits(self, decision: Decision) -> int:
        """How often the seat of a decision that the game waits for was in its information set
        before."""
        return self.visits[_visited(decision)] - bool(decision.failed)

    def _place(self, decision: Decision) -> ReplySite:
        return ReplySite(self.who[decision.seat], decision.role, decision.step)

    @property
    def record(self) -> dict[str, Any]:
        """The game as a line of a transcript file, with the written texts."""
        return {"holders": dict(self.who), **self.episode.transcript, "replies": self.replies}


def _visited(decision: Decision) -> tuple[str, str]:
    return decision.seat, decision.information_set


Keep = Callable[[Holders, Sequence[dict[str, Any]]], None]
"""Is given the records of a seating's games, as they end."""
