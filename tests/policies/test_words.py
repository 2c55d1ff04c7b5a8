"""The model that reads words in their places; what it learns of some prompts holds for others."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
import torch

from gamedsl.policies.base import Query
from gamedsl.policies.errors import ModelError
from gamedsl.policies.word_network import WordsPolicy

SIGNS = ("circle", "cross", "square", "star")


def _query(left: str, right: str, adapter: str = "shared") -> Query:
    """Who is asked must say what stands on the left."""
    text = f"left: {left}\nright: {right}\nOptions:\n" + "\n".join(SIGNS)
    return Query((("system", "Play."), ("user", text)), SIGNS, adapter)


def _taught(policy: WordsPolicy, queries: list[Query], steps: int = 40) -> None:
    """Until it says what stands on the left."""
    left = [query.messages[1][1].split()[1] for query in queries]
    targets = [torch.tensor([float(sign == one) for sign in SIGNS]) for one in left]
    optimizer = torch.optim.Adam(policy.parameters(queries[0].adapter), lr=5e-3)
    for _ in range(steps):
        optimizer.zero_grad()
        policy.backward(queries, [-target for target in targets])
        optimizer.step()


def test_learning_generalises_across_prompts() -> None:
    policy = WordsPolicy(seed=1, rows=(64, 8), width=64)
    pairs = list(product(SIGNS, SIGNS))
    new = [(sign, sign) for sign in SIGNS]
    _taught(policy, [_query(*pair) for pair in pairs if pair not in new])
    for (sign, _), score in zip(new, policy.log_probs([_query(*p) for p in new]), strict=True):
        assert score[SIGNS.index(sign)].exp() > 0.9


def test_word_positions_matter_and_policy_starts_uniform() -> None:
    policy = WordsPolicy(("one", "other"), rows=(64, 8), width=64)
    mirrored = [_query("star", "cross", "one"), _query("cross", "star", "one")]
    assert sorted(policy.encode(mirrored[0]).prompt) != sorted(policy.encode(mirrored[1]).prompt)
    for score in policy.log_probs(mirrored):
        assert torch.allclose(score.exp(), torch.full((4,), 0.25))
    _taught(policy, mirrored)
    assert [SIGNS[score.argmax()] for score in policy.log_probs(mirrored)] == ["star", "cross"]
    (untaught,) = policy.log_probs([_query("star", "cross", "other")])
    assert torch.allclose(untaught.exp(), torch.full((4,), 0.25)), "the other adapter is its own"
    with pytest.raises(KeyError, match="nobody"):
        policy.log_probs([_query("star", "cross", "nobody")])


def test_gradients_are_those_of_the_weighted_sum() -> None:
    policy, queries = WordsPolicy(), [_query("star", "cross"), _query("cross", "cross")]
    _taught(policy, queries, steps=5)
    weights = [torch.tensor([1.0, -2.0, 0.5, 0.0]), torch.tensor([0.0, 1.0, 0.0, 3.0])]
    for parameter in policy.parameters():
        parameter.grad = None
    policy.backward(queries, weights)
    hidden = policy.parameters()[1]
    slope = float(hidden.grad[3, 5])
    worth = []
    for change in (1e-2, -2e-2):
        with torch.no_grad():
            hidden[3, 5] += change
        scores = policy.log_probs(queries)
        worth.append(sum(float((w * s).sum()) for w, s in zip(weights, scores, strict=True)))
    assert slope == pytest.approx((worth[0] - worth[1]) / 2e-2, abs=2e-3)
    assert abs(slope) > 1e-4


def test_what_is_saved_reads_words_as_before(tmp_path: Path) -> None:
    policy, queries = (
        WordsPolicy(rows=(64, 8), width=64),
        [_query("star", "cross"), _query("square", "circle")],
    )
    _taught(policy, queries)
    policy.save_adapter("shared", tmp_path / "saved")
    other = WordsPolicy(seed=7, rows=(64, 8), width=64)
    other.log_probs([_query("circle", "circle"), queries[1]])  # rows in another order
    other.load_adapter("shared", tmp_path / "saved")
    for a, b in zip(policy.log_probs(queries), other.log_probs(queries), strict=True):
        assert torch.equal(a, b)
    with pytest.raises(ValueError, match="not the weights"):
        WordsPolicy(width=8).load_adapter("shared", tmp_path / "saved")


def test_networks_of_fewer_labels_are_read() -> None:
    older, policy = (WordsPolicy(rows=(64, labels), width=64) for labels in (8, 16))
    optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
    query = _query("star", "cross")
    _taught(older, [query])
    policy.load_adapter_state("shared", older.adapter_state("shared"))
    (before,) = policy.log_probs([query])
    assert torch.equal(before, older.log_probs([query])[0])
    policy.backward([query], [torch.tensor([1.0, 0.0, 0.0, 0.0])])
    optimizer.step()
    assert policy.log_probs([query])[0][0] < before[0]
    with pytest.raises(ValueError, match="not the weights"):
        older.load_adapter_state(
            "shared", WordsPolicy(rows=(64, 16), width=64).adapter_state("shared")
        )


def test_there_are_only_so_many_words() -> None:
    policy = WordsPolicy(rows=(16, 4), width=8)
    policy.encode(_query("star", "cross"))
    with pytest.raises(ModelError, match="tells 16 words in places apart"):
        [policy.encode(_query(sign, sign + "s")) for sign in SIGNS]
