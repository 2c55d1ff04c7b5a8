"""Slots of token prefixes: what is found, what goes, what stays."""

from __future__ import annotations

import torch

from gamedsl.policies.kv_pool import SCRAP, KVPool


def _use(pool: KVPool, *texts: str) -> list[list[int]]:
    """Slots of texts, as a call claims them."""
    sequences = [("a", text.encode()) for text in texts]
    known = pool.find(sequences)
    pool.reserve(sum(len(text) - kept for text, kept in zip(texts, known, strict=True)))
    return [pool.claim(adapter, tokens) for adapter, tokens in sequences]


def test_slots_are_shared_by_prefix_per_adapter() -> None:
    pool = KVPool(1, 100)
    stag, stay = _use(pool, "stag", "stay")
    assert stag[:3] == stay[:3]
    assert len(pool) == len({*stag, *stay}) == 5
    assert SCRAP not in stag
    assert pool.find([("a", b"stags"), ("b", b"stag"), ("a", b"hare")]) == [4, 0, 0]
    assert not {*pool.claim("b", b"stag")} & {*stag, *stay}
    pool.forget("a")
    assert pool.find([("a", b"stag"), ("b", b"stag")]) == [0, 4]


def test_eviction_is_lru_and_spares_current_call() -> None:
    pool = KVPool(1, 10)
    _use(pool, "old")
    _use(pool, "new")
    (kept,) = _use(pool, "older")
    assert pool.find([("a", b"older"), ("a", b"new")]) == [5, 3]
    _use(pool, "new")
    assert _use(pool, "old", "xyz!")[0] == kept[:3]
    assert pool.find([("a", b"xyz!")]) == [4]
    assert len(pool) <= 10
    whole = KVPool(1, 10)
    (path,) = _use(whole, "abcdefgh")
    assert _use(whole, "abcdefghijkl")[0][:8] == path  # found by the call that needs more room
    _use(pool, "a" * 30)  # more than there is room for: alone
    assert pool.find([("a", b"a" * 30)]) == [30]


def test_what_is_written_is_read_and_survives_growth() -> None:
    pool = KVPool(2, 1000)
    (path,) = _use(pool, "stag")
    keys, values = torch.randn(2, 4, 3, 5), torch.randn(2, 4, 3, 6)
    for layer in range(2):
        pool.write(layer, torch.tensor(path), keys[layer], values[layer])
    (more,) = _use(pool, "hare" * 50)
    pool.write(0, torch.tensor(more), torch.zeros(200, 3, 5), torch.zeros(200, 3, 6))
    for layer in range(2):
        key_THD, value_THD = pool.read(layer, torch.tensor(path))
        assert torch.equal(key_THD, keys[layer])
        assert torch.equal(value_THD, values[layer])
    assert not pool.read(1, torch.tensor([SCRAP]))[0].any()
