"""How much memory keys and values get."""

from __future__ import annotations

import pytest
import torch

from gamedsl.policies import kv_room as rooms
from gamedsl.policies.hf import HFPolicy
from gamedsl.policies.kv_room import GIB, bytes_per_token, kv_room
from gamedsl.policies.multi_model import joined
from gamedsl.policies.vllm_engine import VllmSettings

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


@pytest.mark.parametrize(
    ("device", "free", "given", "gib"),
    [
        (CPU, 20 * GIB, {}, 2.0),  # the most of a processor
        (CPU, 500 * GIB, {}, 2.0),
        (CPU, 9 * GIB, {}, 1.0),
        (CPU, 0.1 * GIB, {}, 1 / 16),
        (CUDA, 78 * GIB, {}, 16.0),
        (CUDA, 78 * GIB, {"models": 2}, 8.0),
        (CUDA, 64 * GIB, {}, 16.0),
        (CUDA, 63.9 * GIB, {}, 8.0),
        (CUDA, 78 * GIB, {"vllm_weights": 16 * GIB}, 16.0),
        (CUDA, 10 * GIB, {"vllm_weights": 16 * GIB}, 1 / 16),
    ],
)
def test_room_is_a_share_of_free_memory(
    device: torch.device, free: float, given: dict[str, int], gib: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(rooms, "free_memory", lambda _: free)
    assert kv_room(device, **given) == gib


def test_tokens_that_fit_follow_from_their_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rooms, "free_memory", lambda _: 9 * GIB)
    size = 2 * 4 * 2 * 16 * 4  # keys and values, layers, heads, size of a head, bytes
    policy = HFPolicy("tiny")
    assert bytes_per_token(policy._network.config, 4, torch.float32) == size
    assert policy.cache_tokens("shared") == GIB // size
    half = HFPolicy("tiny", dtype=torch.bfloat16)
    assert half.cache_tokens("shared") == 2 * GIB // size
    assert HFPolicy("tiny", kv_bytes=10 * size).cache_tokens("shared") == 10
    assert HFPolicy("tiny", ("other",), models=2).cache_tokens("other") == GIB // size // 2
    both = joined(
        [half, HFPolicy("tiny", ("other",), kv_bytes=7 * size)], ("shared", "other"), half.tokenizer
    )
    assert [both.cache_tokens(name) for name in both.adapters] == [2 * GIB // size, 7]
    assert VllmSettings().cache is None
