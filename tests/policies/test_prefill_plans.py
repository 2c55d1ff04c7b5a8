"""How new tokens are cut into pieces and passes before a reply is drawn."""

from __future__ import annotations

import random

import pytest

from gamedsl.policies.kv_pool import KVPool
from gamedsl.policies.prefill import PASS_COST, _Piece, _planned

MOST = 512


def _plan(sequences: list[tuple[str, tuple[int, ...]]], kept: int) -> list[list[_Piece]]:
    """The passes that fill a pool, the first `kept` sequences of which it has already."""
    pool = KVPool(1, 10**6)
    pool.find(sequences)
    paths = [pool.claim(*one) for one in sequences[:kept]]
    fresh = [(len(path), 0) for path in paths]
    for adapter, tokens in sequences[kept:]:
        before = len(pool)
        paths.append(pool.claim(adapter, tokens))
        count = len(pool) - before
        fresh.append((len(tokens) - count, count))
    return _planned(sequences, paths, fresh, MOST)


def _sequences(seed: int) -> list[tuple[str, tuple[int, ...]]]:
    """Prompts that begin alike, at several depths, and some that stand alone."""
    rng = random.Random(seed)

    def text(most: int) -> tuple[int, ...]:
        return tuple(rng.randrange(50) for _ in range(rng.randint(1, most)))

    found = []
    for adapter in ("a", "b"):
        rules = [text(300), text(40)]
        found += [(adapter, rng.choice(rules) + text(90)) for _ in range(12)]
        found += [(adapter, found[-1][1] + text(30)) for _ in range(3)]
        found += [(adapter, text(200)) for _ in range(4)]
    return sorted(set(found))


@pytest.mark.parametrize("seed", range(8))
def test_new_tokens_are_computed_once_in_order(seed: int) -> None:
    sequences, kept = _sequences(seed), seed % 3
    plan = _plan(sequences, kept)
    slots = [slot for pieces in plan for p in pieces for slot in p.slots[p.begin : p.end]]
    assert len(slots) == len(set(slots))
    known = {(*tokens[:at], adapter) for adapter, tokens in sequences[:kept]
             for at in range(1, len(tokens) + 1)}  # fmt: skip
    for pieces in plan:
        known |= {
            (*p.tokens[:at], p.adapter) for p in pieces for at in range(p.begin + 1, p.end + 1)
        }
        for piece in pieces:
            assert all((*piece.tokens[:at], piece.adapter) in known for at in range(1, piece.end))
    assert all((*tokens, adapter) in known for adapter, tokens in sequences)


@pytest.mark.parametrize("seed", range(8))
def test_passes_are_bounded_and_hardly_padded(seed: int) -> None:
    for pieces in _plan(_sequences(seed), 0):
        width = max(map(len, pieces))
        assert len(pieces) == 1 or len(pieces) * width <= MOST
        assert len(pieces) * width - sum(map(len, pieces)) <= PASS_COST


def test_mixed_prompt_lengths_need_little_padding() -> None:
    rng = random.Random(1)
    sequences = [("a", tuple(rng.randrange(10**6) for _ in range(n))) for n in range(20, 220, 5)]
    plan = _plan(sequences, 0)
    computed = sum(len(pieces) * max(map(len, pieces)) for pieces in plan)
    assert computed < 1.15 * sum(len(tokens) for _, tokens in sequences)
