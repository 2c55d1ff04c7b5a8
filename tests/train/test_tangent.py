"""Moves of log-odds along a tangent, and what it learns from them."""

from __future__ import annotations

import pytest
import torch

from gamedsl.policies.base import Query
from gamedsl.policies.tabular import TabularPolicy
from gamedsl.training.methods.tangent import Tangent

WANTED = torch.tensor([1.5, -0.5, 0.8, 0.4, -1.0, 0.3, 0.7])


@pytest.fixture
def queries() -> list[Query]:
    """Two decisions of each of two adapters; one offers three labels."""
    asked = [("one", "left", "ab"), ("two", "right", "ab"), ("one", "up", "ab"), ("two", "in", "a")]
    return [Query((("user", text),), (*labels, "c"), name) for name, text, labels in asked]


def _moved(policy: TabularPolicy, tangent: Tangent, queries: list[Query], learns: bool) -> float:
    """The largest log-odds still missing after eight moves."""
    flat = torch.cat(tangent.odds(policy.log_probs(queries))).double()
    aims = flat + WANTED.double()
    sizes = [len(query.labels) - 1 for query in queries]
    counts = [torch.ones(size) for size in sizes]
    for _ in range(8):
        now = torch.cat(tangent.odds(policy.log_probs(queries))).double()
        tangent.move((aims - now).split(sizes), counts, damping=1e-4)
        then = torch.cat(tangent.odds(policy.log_probs(queries))).double()
        if learns:
            tangent.learn((then - now).split(sizes))
    return float((aims - then).abs().max())


def test_moves_go_where_they_should(queries: list[Query]) -> None:
    """A table is no different anywhere: one move does it."""
    policy = TabularPolicy(("one", "two"))
    tangent = Tangent(policy, queries, policy.forward(queries))
    sizes = [len(query.labels) - 1 for query in queries]
    wanted = WANTED.split(sizes)
    before = [row.clone() for row in policy.log_probs(queries)]
    tangent.move(wanted, [torch.ones(size) for size in sizes], damping=1e-6)
    after = tangent.odds(policy.log_probs(queries))
    for was, now, asked in zip(tangent.odds(before), after, wanted, strict=True):
        assert (now - was).tolist() == pytest.approx(asked.tolist(), abs=1e-3)
    tangent.undo()
    for was, now in zip(before, policy.log_probs(queries), strict=True):
        assert torch.equal(was, now)


def test_frozen_adapters_do_not_move(queries: list[Query]) -> None:
    policy = TabularPolicy(("one", "two"))
    tangent = Tangent(policy, queries, policy.forward(queries))
    sizes = [len(query.labels) - 1 for query in queries]
    before = {name: policy.adapter_state(name) for name in policy.adapters}
    learned = dict(tangent.learned)
    wanted, counts = WANTED.split(sizes), [torch.ones(size) for size in sizes]
    tangent.move(wanted, counts, damping=1e-4, frozen=["one"])
    tangent.learn([row / 2 for row in wanted])
    for key, tensor in policy.adapter_state("one").items():
        assert torch.equal(tensor, before["one"][key])
    assert any(not torch.equal(row, before["two"][key])
               for key, row in policy.adapter_state("two").items())  # fmt: skip
    assert torch.equal(tangent.learned["one"], learned["one"])
    assert not torch.equal(tangent.learned["two"], learned["two"])


def test_wrong_best_response_is_corrected(queries: list[Query]) -> None:
    """Expecting a fifth of what moves do overshoots for ever, unless it learns from them."""
    for learns in (True, False):
        policy = TabularPolicy(("one", "two"))
        tangent = Tangent(policy, queries, policy.forward(queries))
        tangent.relearn({name: R_MM / 5 for name, R_MM in tangent.learned.items()})
        left = _moved(policy, tangent, queries, learns)
        assert left < 0.01 if learns else left > 1


def test_what_was_learned_is_what_was_seen(queries: list[Query]) -> None:
    """Broyden: R c is what the move did, and R is as it was for what is at right angles to c."""
    policy = TabularPolicy(("one",))
    pair = [query for query in queries if query.adapter == "one"]
    tangent = Tangent(policy, pair, policy.forward(pair))
    sizes = [len(query.labels) - 1 for query in pair]
    before_MM = tangent.learned["one"]
    count, asked = torch.ones(sum(sizes)), torch.tensor([1.0, 2.0, 0.0, 0.0])
    tangent.move(asked.split(sizes), count.split(sizes), damping=0.0)
    c_M = torch.linalg.solve(before_MM, asked.double())
    seen = torch.tensor([0.5, 0.5, 0.2, 0.0], dtype=torch.float64)
    tangent.learn(seen.split(sizes))
    after_MM = tangent.learned["one"]
    assert (after_MM @ c_M).tolist() == pytest.approx(seen.tolist(), abs=1e-6)
    across = torch.tensor([c_M[1], -c_M[0], 0.3, -0.2], dtype=torch.float64)
    across = across - c_M * float(across @ c_M) / float(c_M @ c_M)
    assert (after_MM @ across).tolist() == pytest.approx((before_MM @ across).tolist(), rel=1e-6)
