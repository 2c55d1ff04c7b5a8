"""The packed tree against its definition, by brute force."""

from __future__ import annotations

import random

import torch

from gamedsl.policies.base import Encoded
from gamedsl.policies.prefix_tree import chunks, pack


def _random_queries(count: int) -> list[tuple[str, Encoded]]:
    rng = random.Random(3)
    queries = []
    for _ in range(count):
        prompt = tuple(rng.choice((5, 6)) for _ in range(rng.randint(1, 6)))
        labels = {(7,), (8, 5), (8, 6, 5), (9, 5, 5, 6)}
        chosen = tuple(rng.sample(sorted(labels), rng.randint(1, 4)))
        queries.append((rng.choice("abc"), Encoded(prompt, chosen)))
    return queries


def test_nodes_are_prefixes_and_mask_is_ancestry() -> None:
    queries = _random_queries(25)
    tree = pack(queries)
    expected = {
        (adapter, sequence[:n])
        for adapter, query in queries
        for label in query.labels
        for sequence in [query.prompt + label[:-1]]
        for n in range(1, len(sequence) + 1)
    }
    mask_NN = tree.mask(torch.float32, torch.device("cpu"))[0, 0]
    nodes = []
    for segment in tree.segments:
        for node in range(segment.start, segment.stop):
            seen = (mask_NN[node] == 0).nonzero().flatten().tolist()
            nodes.append((segment.adapter, tuple(tree.token_N[seen].tolist())))
            assert tree.depth_N[node] == len(seen) - 1
    assert len(nodes) == len(tree) == len(set(nodes))
    assert set(nodes) == expected
    assert mask_NN.unique().tolist() == [torch.finfo(torch.float32).min, 0.0]


def test_label_tokens_are_scored_at_their_prefix() -> None:
    queries = _random_queries(25)
    tree = pack(queries)
    mask_NN = tree.mask(torch.float32, torch.device("cpu"))[0, 0]
    labels = [(q.prompt, label) for _, q in queries for label in q.labels]
    scored: dict[int, set[tuple[tuple[int, ...], int]]] = {}
    for row, token, label in zip(
        tree.plan.row_T.tolist(),
        tree.plan.token_T.tolist(),
        tree.plan.label_T.tolist(),
        strict=True,
    ):
        seen = (mask_NN[tree.row_R[row]] == 0).nonzero().flatten()
        scored.setdefault(label, set()).add((tuple(tree.token_N[seen].tolist()), token))
    for index, (prompt, label) in enumerate(labels):
        assert scored[index] == {(prompt + label[:n], label[n]) for n in range(len(label))}


def test_log_pi_by_hand() -> None:
    tree = pack([("a", Encoded((1,), ((2,), (3, 2))))])
    logits_RV = torch.tensor([[0.0, 0.0, 1.0, 2.0], [0.0, 0.0, 3.0, 0.0]])
    if tree.row_R.tolist() != [0, 1]:
        logits_RV = logits_RV[tree.row_R]
    p = logits_RV.softmax(-1)
    joint = torch.tensor([p[0, 2], p[0, 3] * p[1, 2]])
    (log_pi,) = tree.plan.log_pi(logits_RV.log_softmax(-1)[tree.plan.row_T, tree.plan.token_T])
    torch.testing.assert_close(log_pi.exp(), joint / joint.sum())


def test_chunks_cover_all_and_keep_prefixes_together() -> None:
    queries = _random_queries(40)
    limit = 30
    groups = chunks(queries, limit)
    assert sorted(index for group in groups for index in group) == list(range(40))
    assert len(groups) > 1
    for group in groups:
        assert len(pack([queries[index] for index in group])) <= limit
    apart = [("a", Encoded((1,) * 20, ((2,),))), ("a", Encoded((3,) * 20, ((2,),)))] * 10
    assert [len(group) for group in chunks(apart, 20)] == [10, 10]
