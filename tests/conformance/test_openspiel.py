"""Every shipped game that OpenSpiel has too is the same game, node by node."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.conformance.games import ROWS
from tests.conformance.lockstep import Difference, compare
from tests.conformance.rows import Row, Walk

CASES = [
    pytest.param(
        row, walk, id=f"{row.id}-{walk.mode}{walk.games or ''}",
        marks=[pytest.mark.weekly] if walk.weekly else [],
    )
    for row in ROWS
    for walk in row.walks
]  # fmt: skip


@pytest.mark.parametrize(("row", "walk"), CASES)
def test_lockstep(row: Row, walk: Walk):
    env = row.env()
    agreement = row.agreement(env)
    walked = compare(env, row.theirs(), agreement, walk.mode, games=walk.games)
    if walk.mode == "tree":
        assert row.histories in (None, walked.histories)
        assert row.sets in (None, tuple(walked.sets.values()))
    if walk.mode == "random" and agreement.information:
        assert walked.shared >= row.again * walk.games


def test_rows_have_names_of_their_own():
    ids = [row.id for row in ROWS]
    assert len(set(ids)) == len(ids)


def test_what_only_one_side_has_must_be_declared():
    row = next(row for row in ROWS if row.id == "goofspiel")
    env = row.env()
    with pytest.raises(Difference, match="who moves differs"):
        compare(env, row.theirs(), replace(row.agreement(env), ours_has=frozenset({"chance"})))
