"""When two ways to compute a distribution count as one, in each number format."""

from __future__ import annotations

import pytest
import torch

from gamedsl.policies.agreement import agree
from gamedsl.policies.base import Query
from gamedsl.policies.hf import HFPolicy


def _log_p(*logits: float) -> torch.Tensor:
    return torch.tensor([logits]).log_softmax(-1)


LIKELY = _log_p(4.0, 3.0, 0.0, -12.0)
TAIL = LIKELY + torch.tensor([[0.0, 0.0, 0.0, 0.5]])
HEAD = _log_p(4.0, 3.5, 0.0, -12.0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_only_likely_tokens_are_compared(dtype: torch.dtype) -> None:
    assert agree([LIKELY], [TAIL], dtype)
    assert not agree([LIKELY], [HEAD], dtype)


def test_float32_is_held_to_more_digits() -> None:
    near = _log_p(4.0, 3.05, 0.0, -12.0)
    assert agree([LIKELY], [near], torch.bfloat16)
    assert not agree([LIKELY], [near], torch.float32)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_nan_agrees_with_nothing(dtype: torch.dtype) -> None:
    nothing = torch.full((1, 4), float("nan"))
    assert not agree([nothing], [LIKELY], dtype)
    assert not agree([LIKELY], [nothing], dtype)
    assert not agree([nothing], [nothing], dtype)


def test_masked_tokens_do_not_hide_a_difference() -> None:
    masked = LIKELY.clone()
    masked[0, 3] = float("-inf")
    assert agree([masked.log_softmax(-1)], [masked.log_softmax(-1)], torch.bfloat16)
    assert not agree([masked.log_softmax(-1)], [HEAD], torch.float32)


def test_saturated_labels_do_not_hide_a_wrong_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """One label may be so likely that the labels' distribution tells nothing of the others."""
    whole = HFPolicy._packed_logits

    def wrong(self: HFPolicy, items: object) -> object:
        logits_RV, plan = whole(self, items)
        return logits_RV.roll(1, -1) if len(items) == 2 else logits_RV, plan

    monkeypatch.setattr(HFPolicy, "_packed_logits", wrong)
    policy = HFPolicy("tiny")
    assert policy.packing == "padded"
    query = Query((("user", "?"),), ("a", "b"), "shared")
    assert policy.log_probs([query])[0].exp().sum().item() == pytest.approx(1.0)
