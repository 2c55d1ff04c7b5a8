"""Proves that the probabilities of chance sum to one, exactly."""

from __future__ import annotations

from collections.abc import Iterator

from gamedsl.analysis.history_sample import HistorySample
from gamedsl.analysis.nodes import history_lines
from gamedsl.analysis.proof import Proof
from gamedsl.diagnostics import Problems

CLAIM = "wherever chance draws, the probabilities of the outcomes sum to exactly 1"

LISTED = 2_000
"""Outcomes that are listed to be added up: a hand of five cards alone has 2,598,960."""


def check_chance(sample: HistorySample, problems: Problems) -> Iterator[Proof]:
    """Checks that the probabilities of each draw sum to 1.

    A draw is one of a whole number of equally likely tickets, or has written weights that were
    summed when they were read (GD0433): the sum is 1 by construction. As a check on that, it is
    computed in the visited histories.
    """
    listed, counted = LISTED, 0
    for node in sample.nodes:
        many = node.state.outcome_count
        if not 0 < many <= listed:
            continue
        listed, counted = listed - many, counted + 1
        total = sum(outcome.probability for outcome in node.state.outcomes)
        if total != 1:
            witness = (*history_lines(node), f"the probabilities sum to {total}")
            yield Proof("chance", CLAIM, "refuted", sample.extent, (), witness)
            return
    count = f"{counted:,} chance node{'s' * (counted != 1)}"
    yield Proof("chance", CLAIM, "proved", f"by exact weights; added up at {count}")
