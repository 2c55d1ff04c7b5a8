"""Hostile replies: none crashes, and none becomes an action that it does not unambiguously name."""

from __future__ import annotations

import pytest

from gamedsl.prompting.replies import REASONS, ParseFailure, read_choice, read_open_reply
from tests.rendering.hostile import SEATS, Reply, hostile


def read(reply: Reply) -> str | ParseFailure:
    if reply.said is not None:
        return read_open_reply(reply.text, reply.said, reply.type, SEATS)
    assert reply.form is not None
    return read_choice(reply.text, reply.form, reply.legal, reply.book)


@pytest.mark.parametrize(
    "seeds",
    [
        range(5_000),
        pytest.param(range(5_000, 105_000), marks=pytest.mark.slow, id="100,000 more"),
    ],
)
def test_no_hostile_reply_is_mistaken(seeds: range) -> None:
    valid, reasons = 0, set()
    for seed in seeds:
        reply = hostile(seed)
        found = read(reply)
        if isinstance(found, ParseFailure):
            assert reply.says is None, (seed, reply, found)
            assert found.text == reply.text
            reasons.add(found.reason)
        else:
            assert found == reply.says, (seed, reply)
            valid += 1
    assert valid > len(seeds) // 5
    assert reasons == REASONS.keys() - {"invalid", "tokens", "truncated", "timeout", "endpoint"}
