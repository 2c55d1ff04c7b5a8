"""Attention by a plan against the dense mask, over random trees, and what it costs."""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gamedsl.policies import tree_attention as module
from gamedsl.policies import tree_plan
from gamedsl.policies.models import load
from gamedsl.policies.prefix_tree import Nodes, TreeBuilder
from gamedsl.policies.random_models import build_small, build_tiny, made
from gamedsl.policies.tree_attention import adopt, arguments, tree_attention
from gamedsl.policies.tree_plan import TreePlan, plan

CPU = torch.device("cpu")
ROOT = Path(__file__).resolve().parents[2]


def grown(parents: list[int]) -> Nodes:
    """The tree in which node i hangs below parents[i], a node before it, or is a root (-1)."""
    children: dict[int, list[int]] = {}
    for node, parent in enumerate(parents):
        children.setdefault(parent, []).append(node)
    depth: list[int] = []
    stop: list[int] = []
    todo = [(root, 0, False) for root in reversed(children[-1])]
    open_: list[int] = []
    while todo:
        node, level, closed = todo.pop()
        if closed:
            stop[open_.pop()] = len(depth)
            continue
        open_.append(len(depth))
        depth.append(level)
        stop.append(-1)
        todo.append((node, level, True))
        todo += [(child, level + 1, False) for child in reversed(children.get(node, []))]
    return Nodes(torch.arange(len(depth)) % 200, torch.tensor(depth), torch.tensor(stop), ())


def chain(size: int) -> Nodes:
    return grown(list(range(-1, size - 1)))


def star(size: int) -> Nodes:
    return grown([-1] + [0] * (size - 1))


def comb(size: int) -> Nodes:
    """A spine with a leaf at each node, which comes before the spine goes on."""
    return grown([-1, *(at - 1 if at % 2 else max(0, at - 2) for at in range(1, size))])


def prompts(count: int, rules: int = 300, own: int = 40, adapters: int = 1) -> Nodes:
    """Prompts that share rules and a part of what follows them, each with three labels."""
    builder = TreeBuilder()
    rng = torch.Generator().manual_seed(count)
    for adapter in range(adapters):
        beginnings = [torch.randint(9, (own,), generator=rng).tolist() for _ in range(count)]
        for text in sorted(beginnings):
            for label in range(3):
                builder.add(str(adapter), (*(at % 200 for at in range(rules)), *text, label, label))
    return builder.finish()


@st.composite
def trees(draw: st.DrawFn) -> Nodes:
    """Runs of nodes that hang below nodes before them, and some roots."""
    parents = [-1]
    for _ in range(draw(st.integers(0, 12))):
        below = draw(st.integers(-1, len(parents) - 1))
        for _ in range(draw(st.sampled_from((1, 2, 5, 20, 70)))):
            parents.append(below)
            below = len(parents) - 1
    return grown(parents)


@contextmanager
def small_pieces() -> Iterator[None]:
    """Pieces that are small: even small trees have shared keys, and batches are many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree_plan, "CALL", 1)
        patch.setattr(tree_plan, "MERGE", 1)
        patch.setattr(tree_plan, "_SIZES", (1, 2, 4, 8, 16))
        patch.setitem(tree_plan._SCORES, "cpu", 300)
        patch.setattr(module, "_SLICE", 3)
        yield


def seen(tree: Nodes) -> torch.Tensor:
    return tree.mask(torch.float32, CPU)[0, 0] == 0


def covered(size: int, pieces: TreePlan) -> torch.Tensor:
    """How often the plan's pieces attend from each node to each."""
    count_NN = torch.zeros(size, size, dtype=torch.int64)
    for batch in pieces.batches:
        mask_GBK = batch.mask(torch.float32)[:, 0]
        group_P, row_P, column_P = (mask_GBK == 0).nonzero().T
        query_P, key_P = batch.query_GB[group_P, row_P], batch.key_GK[group_P, column_P]
        once = torch.ones(len(query_P), dtype=torch.int64)
        count_NN.index_put_((query_P.long(), key_P.long()), once, accumulate=True)
    for shared in pieces.shared:
        keys = torch.arange(size)[shared.keys]
        count_NN[shared.start : shared.stop, keys] += 1
    return count_NN


@given(trees())
@example(chain(200))
@example(star(200))
@example(comb(200))
@settings(deadline=None, max_examples=60)
def test_pieces_cover_each_pair_once(tree: Nodes) -> None:
    for pieces in (nullcontext(), small_pieces()):
        with pieces:
            told = plan(tree.depth_N, tree.stop_N, CPU)
        assert torch.equal(covered(len(tree), told), seen(tree).long())


def test_trees_of_each_kind_have_shared_keys() -> None:
    for tree in (chain(3000), comb(3000), prompts(40), prompts(20, adapters=2)):
        pieces = plan(tree.depth_N, tree.stop_N, CPU)
        assert pieces.shared
        assert len(pieces.batches) < 60


def drawn(
    tree: Nodes, dtype: torch.dtype, heads: tuple[int, int, int], seed: int = 0
) -> list[torch.Tensor]:
    """Queries, keys, values, and the gradient of the result."""
    generator = torch.Generator().manual_seed(seed)
    key_heads, repeats, size = heads
    shapes = [(key_heads, repeats, size), (key_heads, size), (key_heads, size)]
    return [
        torch.randn(len(tree), *shape, generator=generator).to(dtype)
        for shape in (*shapes, shapes[0])
    ]


def by_plan(tree: Nodes, given: list[torch.Tensor]) -> list[torch.Tensor]:
    """The result and the gradients of queries, keys and values."""
    pieces = plan(tree.depth_N, tree.stop_N, CPU)
    return differentiated(lambda q, k, v: tree_attention(q, k, v, pieces, 0.3), given)


def by_mask(tree: Nodes, given: list[torch.Tensor]) -> list[torch.Tensor]:
    def dense(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        score = torch.einsum("nhrd,khd->hrnk", query, key) * 0.3
        score = score.masked_fill(~seen(tree), -torch.inf)
        return torch.einsum("hrnk,khd->nhrd", score.softmax(-1), value)

    return differentiated(dense, given)


def differentiated(
    attend: Callable[..., torch.Tensor], given: list[torch.Tensor]
) -> list[torch.Tensor]:
    leaves = [one.clone().requires_grad_() for one in given[:3]]
    result = attend(*leaves)
    result.backward(given[3])
    return [result.detach(), *(leaf.grad for leaf in leaves if leaf.grad is not None)]


def assert_near(ours: list[torch.Tensor], exact: list[torch.Tensor], tolerance: float) -> None:
    for one, other in zip(ours, exact, strict=True):
        scale = float(other.abs().max()) or 1.0  # a root that sees itself alone has no slope
        assert float((one.to(other.dtype) - other).abs().max()) <= tolerance * scale


@given(trees(), st.sampled_from([(1, 1, 8), (2, 3, 4), (3, 1, 16)]))
@settings(deadline=None, max_examples=40)
def test_results_and_gradients_are_those_of_the_mask(
    tree: Nodes, heads: tuple[int, int, int]
) -> None:
    given_ = drawn(tree, torch.float32, heads)
    assert_near(by_plan(tree, given_), by_mask(tree, given_), 1e-5)


LARGE = {
    "chain": lambda: chain(1500),
    "star": lambda: star(1500),
    "comb": lambda: comb(1500),
    "prompts": lambda: prompts(30),
    "two adapters": lambda: prompts(15, adapters=2),
}


@pytest.mark.parametrize("kind", LARGE)
@pytest.mark.parametrize("fused", [True, False])
def test_large_trees_agree_with_the_mask(
    kind: str, fused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not fused:  # as on a device that has not the processor's kernel
        monkeypatch.setattr(module, "_FORWARD", None)
    tree = LARGE[kind]()
    given_ = drawn(tree, torch.float32, (2, 2, 16))
    assert_near(by_plan(tree, given_), by_mask(tree, given_), 1e-5)


@given(trees(), st.sampled_from([(1, 2, 4), (2, 1, 4)]))
@settings(deadline=None, max_examples=40)
def test_many_small_pieces_agree_with_the_mask(tree: Nodes, heads: tuple[int, int, int]) -> None:
    given_ = drawn(tree, torch.float32, heads)
    with small_pieces():
        assert_near(by_plan(tree, given_), by_mask(tree, given_), 1e-5)


def as_on_a_gpu(patch: pytest.MonkeyPatch) -> None:
    """16-bit tensors stay as they are, and the processor's kernel is not there."""
    patch.setattr(module, "_FORWARD", None)
    patch.setattr(module, "_widened", lambda *tensors: tensors)


def assert_within_rounding(tree: Nodes, given_: list[torch.Tensor], tolerance: float) -> None:
    ours = by_plan(tree, given_)
    assert {one.dtype for one in ours} == {torch.bfloat16}
    assert_near(ours, by_mask(tree, [one.float() for one in given_]), tolerance)


@pytest.mark.parametrize("gpu", [False, True])
@pytest.mark.parametrize("kind", ["prompts", "comb"])
def test_large_trees_in_bfloat16(kind: str, gpu: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if gpu:
        as_on_a_gpu(monkeypatch)
    given_ = drawn(LARGE[kind](), torch.bfloat16, (2, 2, 16))
    assert_within_rounding(LARGE[kind](), given_, 0.03 if gpu else 0.01)


@given(trees(), st.sampled_from([(1, 1, 8), (2, 3, 4), (3, 1, 16)]), st.booleans())
@settings(deadline=None, max_examples=60)
def test_bfloat16_agrees_within_its_rounding(
    tree: Nodes, heads: tuple[int, int, int], gpu: bool
) -> None:
    given_ = drawn(tree, torch.bfloat16, heads)
    with pytest.MonkeyPatch.context() as patch:
        if gpu:
            as_on_a_gpu(patch)
        assert_within_rounding(tree, given_, 0.03 if gpu else 0.01)


def test_values_may_be_narrower_than_queries() -> None:
    tree = prompts(10)
    query, key, value, grad = drawn(tree, torch.float32, (2, 2, 16))
    given_ = [query, key, value[..., :5], grad[..., :5]]
    assert_near(by_plan(tree, given_), by_mask(tree, given_), 1e-5)


def test_gradients_repeat_to_the_last_bit() -> None:
    tree = prompts(30)
    given_ = drawn(tree, torch.float32, (2, 2, 16))
    for one, other in zip(by_plan(tree, given_), by_plan(tree, given_), strict=True):
        assert torch.equal(one, other)


def test_cost_grows_with_the_nodes() -> None:
    costs = []
    for count in (50, 500):
        tree = prompts(count)
        pairs = float((tree.depth_N + 1).sum())
        costs.append(plan(tree.depth_N, tree.stop_N, CPU).cost / pairs)
    assert costs[1] < costs[0] < 1.7


def test_small_trees_are_one_masked_block() -> None:
    tree = prompts(2, rules=10, own=10)
    pieces = plan(tree.depth_N, tree.stop_N, CPU)
    assert not pieces.shared
    assert [len(batch.query_GB) for batch in pieces.batches] == [1]


@torch.no_grad()
@pytest.mark.parametrize("build", [build_tiny, build_small])
def test_models_of_ours_are_adopted(build: Callable[[], tuple[Any, Any]]) -> None:
    model = build()[0]
    plain, tree = copy.deepcopy(model), prompts(20)
    assert adopt(model)
    for dropped in (False, True):
        hidden = [
            one.get_decoder()(
                input_ids=tree.token_N[None], position_ids=tree.depth_N[None], use_cache=False,
                **arguments(tree, by, torch.float32, CPU),
            ).last_hidden_state
            for one, by in ((model, not dropped), (plain, False))
        ]  # fmt: skip
        assert_near(hidden[:1], hidden[1:], 1e-5)


def test_a_node_sensitive_to_rounding_is_adopted() -> None:
    """In bfloat16 one of the probed nodes is far from what the mask gives: it is nearer to what it
    is in float32."""
    assert adopt(load("smollm2-135m", dtype=torch.bfloat16).model)


@torch.no_grad()
@pytest.mark.parametrize(
    ("family", "adopted"), [("Qwen3", True), ("Mixtral", True), ("Olmo2", True), ("Gemma2", False)]
)
def test_other_families_agree_or_keep_the_mask(family: str, adopted: bool) -> None:
    config = getattr(transformers, f"{family}Config")(
        vocab_size=300, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, head_dim=8, pad_token_id=0,
    )  # fmt: skip
    model = made(getattr(transformers, f"{family}ForCausalLM"), config, 0).eval()
    assert adopt(model) == adopted
    tree = prompts(8, rules=40)
    hidden = [
        model.get_decoder()(
            input_ids=tree.token_N[None], position_ids=tree.depth_N[None], use_cache=False,
            **arguments(tree, by_plan_, torch.float32, CPU),
        ).last_hidden_state
        for by_plan_ in (adopted, False)
    ]  # fmt: skip
    assert_near(hidden[:1], hidden[1:], 1e-5)


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_models_whose_attention_does_more_are_left(
    attention: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = build_tiny()[0]
    model.config._attn_implementation = attention
    capped = module.attend
    monkeypatch.setitem(
        module.AttentionInterface._global_mapping, module.NAME,
        lambda *args, **options: capped(*args, **options, softcap=30.0),
    )  # fmt: skip
    assert not adopt(model)
    assert model.config._attn_implementation == attention


MEMORY = """
import sys, torch
from tests.policies.test_tree_attention import by_plan, chain, comb, drawn, prompts
from gamedsl.policies.process_memory import peak_memory
tree = {"chain": lambda: chain(65_536), "comb": lambda: comb(65_536),
        "prompts": lambda: prompts(1_400)}[sys.argv[1]]()
assert len(tree) >= 60_000
small = prompts(20)
heads = tuple(map(int, sys.argv[2:]))
given = drawn(tree, torch.float32, heads)
by_plan(small, drawn(small, torch.float32, heads))
before = peak_memory()
by_plan(tree, given)
print(peak_memory() - before)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "heads"), [("prompts", (3, 3, 64)), ("comb", (1, 2, 8)), ("chain", (1, 2, 8))]
)
def test_64k_tokens_need_less_than_a_gigabyte(kind: str, heads: tuple[int, int, int]) -> None:
    """The heads are those of a model of 135M parameters where the tree is that of prompts."""
    told = subprocess.run(
        [sys.executable, "-c", MEMORY, kind, *map(str, heads)],
        capture_output=True, text=True, check=True, cwd=ROOT, timeout=500,
    ).stdout  # fmt: skip
    assert 0 < float(told) < 1e9
