"""The games of a step as JSON-able records: one for each distinct course of play."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gamedsl.train.rollout import Batch


def transcripts(batch: Batch) -> Iterator[dict[str, Any]]:
    """The episodes' transcripts, the most played first, each with the number of games that took
    it."""
    for history in sorted(batch.histories, key=lambda h: (h.group, -h.games)):
        told: dict[str, Any] = {"games": history.games, "group": history.group}
        lineup = batch.lineup(history)
        if lineup.opponent != "self":
            told |= {"opponent": lineup.opponent, "member": lineup.member}
            told |= {"learner": lineup.learner}
        yield told | history.episode.transcript
