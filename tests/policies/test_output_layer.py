"""The output layer in float32, without a copy of its weights in that format."""

from __future__ import annotations

import pytest
import torch

from gamedsl.policies import network, random_models
from gamedsl.policies.network import Network


def _network(dtype: torch.dtype) -> Network:
    model, _ = random_models.build_tiny()
    return Network(model.to(dtype).requires_grad_(False))


@pytest.mark.parametrize("part", [1, 1000, 2**24])
def test_parts_give_what_the_whole_gives(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = _network(torch.bfloat16)
    monkeypatch.setattr(network, "KEPT_BYTES", 0)
    monkeypatch.setattr(network, "PART_NUMBERS", part)
    parted = _network(torch.bfloat16)
    assert (whole._head_VD.dtype, parted._head_VD.dtype) == (torch.float32, torch.bfloat16)
    weights = parted.model.get_output_embeddings().weight
    assert parted._head_VD.data_ptr() == weights.data_ptr()
    generator = torch.Generator().manual_seed(0)
    start_RD = torch.randn(7, 64, generator=generator).bfloat16()
    pull_RV = torch.randn(7, whole.vocabulary, generator=generator)
    found = []
    for one in (whole, parted):
        hidden_RD = start_RD.clone().requires_grad_(True)
        logits_RV = one.head(hidden_RD)
        assert logits_RV.dtype == torch.float32
        (logits_RV * pull_RV).sum().backward()
        assert hidden_RD.grad is not None
        found.append((logits_RV.detach(), hidden_RD.grad))
    torch.testing.assert_close(found[0][0], found[1][0], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(found[0][1], found[1][1], rtol=2**-7, atol=1e-2)


def test_float32_weights_are_never_copied() -> None:
    one = _network(torch.float32)
    assert one._head_VD.data_ptr() == one.model.get_output_embeddings().weight.data_ptr()
