"""Sums between layers are float32 where weights have fewer digits, and so nearer to a model of
float32."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from gamedsl.policies.models import load
from gamedsl.policies.residual import widen
from tests.policies.architectures import TABLE, write

IDS = torch.randint(3, 30, (4, 24), generator=torch.Generator().manual_seed(0))


def _hidden(model: Any) -> torch.Tensor:
    with torch.no_grad():
        hidden: torch.Tensor = model.get_decoder()(input_ids=IDS, use_cache=False).last_hidden_state
    return hidden.double()


@pytest.mark.parametrize("name", TABLE)
def test_layers_hand_on_float32(name: str, tmp_path: Path) -> None:
    folder = str(write(name, tmp_path / name))
    exact, plain, wide = (
        load(folder, dtype=dtype).model for dtype in (torch.float32, *[torch.bfloat16] * 2)
    )
    assert widen(exact) == torch.float32
    assert widen(wide) == torch.float32
    between: list[torch.dtype] = []
    for layer in wide.get_decoder().layers:
        layer.register_forward_pre_hook(lambda _, given: between.append(given[0].dtype))
    found = _hidden(wide)
    assert set(between) == {torch.float32}
    away = [(one - _hidden(exact)).norm().item() for one in (found, _hidden(plain))]
    assert away[0] < away[1]
    assert wide(IDS).logits.dtype == torch.bfloat16  # its own output layer


def test_plain_layer_norms_are_left_as_they_are() -> None:
    config = transformers.GPTNeoXConfig(
        vocab_size=30, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=32,
    )  # fmt: skip
    model = transformers.GPTNeoXForCausalLM(config).to(torch.bfloat16).eval()
    before = _hidden(model)
    assert widen(model) == torch.bfloat16
    assert torch.equal(_hidden(model), before)
