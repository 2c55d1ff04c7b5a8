"""The perceptron over words at their places: what it reads, what it starts from, how it lasts."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from gamedsl.policies.base import Query
from gamedsl.policies.mlp import MlpPolicy


def _query(text: str, labels: tuple[str, ...] = ("fold", "call"), name: str = "one") -> Query:
    return Query((("system", "Rules."), ("user", text)), labels, name)


QUERIES = [
    _query("card: K.\nfirst chose bet."),
    _query("card: Q.\nfirst chose bet.", ("fold", "call", "raise")),
    _query("card: K.", name="other"),
]
WEIGHTS = [torch.tensor([1.0, -2.0]), torch.tensor([0.5, 0.0, 1.0]), torch.tensor([3.0, 1.0])]


@pytest.fixture
def policy() -> MlpPolicy:
    """One whose labels are not all zero."""
    policy = MlpPolicy(("one", "other"), seed=3)
    draw = torch.Generator().manual_seed(0)
    for name in policy.adapters:
        state = policy.adapter_state(name)
        state["labels"] = torch.randn(state["labels"].shape, generator=draw) / 5
        policy.load_adapter_state(name, state)
    return policy


def test_it_starts_from_uniform_play() -> None:
    found = MlpPolicy(("one", "other")).log_probs(QUERIES)
    assert [row.exp().tolist() for row in found] == [
        pytest.approx([1 / len(row)] * len(row)) for row in found
    ]


def test_scores_are_log_probabilities_whatever_is_beside_them(policy) -> None:
    alone = [policy.log_probs([query])[0] for query in QUERIES]
    for query, one, together in zip(QUERIES, alone, policy.log_probs(QUERIES), strict=True):
        assert one.shape == (len(query.labels),)
        assert float(one.exp().sum()) == pytest.approx(1.0, abs=1e-6)
        assert torch.allclose(one, together, atol=1e-6)
        assert float(one.max() - one.min()) > 0.01


def test_a_word_counts_by_where_it_stands(policy) -> None:
    texts = ("a b", "b a", "a\nb", "a", "a b c")
    found = policy.log_probs([_query(text) for text in texts])
    assert len({round(float(row[0]), 5) for row in found}) == len(texts)
    rules = Query((("system", "Other rules."), ("user", "a b")), ("fold", "call"), "one")
    assert torch.allclose(policy.log_probs([rules])[0], found[0], atol=1e-6)


def test_backward_adds_the_gradient_of_the_weighted_sum(policy) -> None:
    policy.backward(QUERIES, WEIGHTS)
    step = 1e-2
    for parameter in policy.parameters():
        place = int(parameter.grad.abs().argmax())
        ends = []
        for sign in (1, -1):
            with torch.no_grad():
                parameter.view(-1)[place] += sign * step
                scores = policy.log_probs(QUERIES)
                parameter.view(-1)[place] -= sign * step
            ends.append(sum(float((w * s).sum()) for w, s in zip(WEIGHTS, scores, strict=True)))
        slope = (ends[0] - ends[1]) / (2 * step)
        assert float(parameter.grad.view(-1)[place]) == pytest.approx(slope, rel=0.05)


def test_adapters_are_their_own(policy) -> None:
    policy.backward(QUERIES[:2], WEIGHTS[:2])
    assert all(parameter.grad is None for parameter in policy.parameters("other"))
    first, second = (MlpPolicy(("one", "other"), seed=seed) for seed in (0, 1))
    words = [net.adapter_state(name)["words"] for net in (first, second) for name in net.adapters]
    assert len({float(table.sum()) for table in words}) == 4


def test_state_and_folder_round_trip(policy, tmp_path: Path) -> None:
    fresh = MlpPolicy(("one", "other"))
    fresh.load_adapter_state("one", policy.adapter_state("one"))
    policy.save_adapter("other", tmp_path)
    fresh.load_adapter("other", tmp_path)
    for a, b in zip(fresh.log_probs(QUERIES), policy.log_probs(QUERIES), strict=True):
        assert torch.equal(a, b)
    with pytest.raises(ValueError, match="not the state"):
        fresh.load_adapter_state("one", {})
    with pytest.raises(KeyError, match="adapters"):
        fresh.log_probs([_query("a", name="nobody")])
    with pytest.raises(ValueError, match="weights"):
        fresh.backward(QUERIES, WEIGHTS[:1])
