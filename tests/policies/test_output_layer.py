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


@pytest.mark.parametrize("scaling", [{}, {"final_logit_softcapping": 3.0}, {"logits_scaling": 2.0}])
@pytest.mark.parametrize(("dtype", "kept"), [("float32", 2**30), ("bfloat16", 0)])
def test_log_p_has_the_gradient_of_all_logits(
    dtype: str, kept: int, scaling: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network, "KEPT_BYTES", kept)
    monkeypatch.setattr(network, "CACHED_LOGITS", 259 * 3)
    monkeypatch.setattr(network, "MANY_LOGITS", 259 * 3)
    monkeypatch.setattr(network, "_TOKENS", 4)
    one = _network(getattr(torch, dtype))
    for name, value in scaling.items():
        setattr(one.config, name, value)
    assert one.row_block == 3
    generator = torch.Generator().manual_seed(1)
    start_RD = torch.randn(8, 64, generator=generator)
    row_T = torch.tensor([7, 0, 0, 3, 5, 5, 5, 6, 1, 2, 0])  # 4 predicts nothing
    token_T = torch.randint(0, one.vocabulary, row_T.shape, generator=generator)
    pull_T = torch.randn(row_T.shape, generator=generator)

    def whole(hidden_RD: torch.Tensor) -> torch.Tensor:
        return one.head(hidden_RD).log_softmax(-1)[row_T, token_T]

    found = []
    for log_p in (whole, lambda hidden_RD: one.log_p(hidden_RD, row_T, token_T)):
        hidden_RD = start_RD.clone().requires_grad_(True)
        log_p_T = log_p(hidden_RD)
        (log_p_T * pull_T).sum().backward(retain_graph=True)
        first_RD = hidden_RD.grad
        assert first_RD is not None
        (again_RD,) = torch.autograd.grad(log_p_T, hidden_RD, -pull_T)
        torch.testing.assert_close(again_RD, -first_RD)
        found.append((log_p_T.detach(), first_RD))
        with torch.no_grad():
            torch.testing.assert_close(log_p(start_RD), log_p_T.detach())
    torch.testing.assert_close(found[1][0], found[0][0], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(found[1][1], found[0][1], rtol=1e-4, atol=1e-5)


def test_a_likely_token_keeps_its_small_gradient() -> None:
    one = _network(torch.float32)
    hidden_RD = (40 * one._head_VD[5:6] / one._head_VD[5].norm() ** 2).requires_grad_(True)
    log_p_T = one.log_p(hidden_RD, torch.tensor([0]), torch.tensor([5]))
    assert -1e-6 <= log_p_T.item() <= 0
    log_p_T.sum().backward()
    assert hidden_RD.grad is not None
    assert float(hidden_RD.grad.norm()) < 1e-5
