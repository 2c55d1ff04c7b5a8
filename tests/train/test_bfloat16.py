"""Training in bfloat16, the number format of GPUs, on the CPU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

import gamedsl
from gamedsl.policies.activations import Activations
from gamedsl.policies.base import Query
from gamedsl.policies.generation import Request, join_turns
from gamedsl.policies.hf import HFPolicy
from gamedsl.policies.lora import LoraSpec
from gamedsl.runtime import Game
from gamedsl.training import checkpoint
from gamedsl.training.loop import train
from gamedsl.training.scoring import Scorer
from tests.conftest import ROOT
from tests.train.conftest import StopAfter, policy_of, recipe_of, run_of, same

pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")

WORDS = {"games": 4, "group_size": 2, "warm_up__expert": "none", "steps": 3, "lr": 1e-3}
MODELS = pytest.mark.parametrize(
    "model", ["tiny", pytest.param("smollm2-135m", marks=pytest.mark.slow)]
)


THINKING = """
game: thinking
extends: stag_hunt
respond: {form: tag, think: 8, at_limit: close}
"""


def _game(name: str, folder: Path) -> Game:
    if name != "thinking":
        return gamedsl.load(ROOT / "games" / f"{name}.yaml")
    path = folder / "thinking.yaml"
    path.write_text(THINKING, encoding="utf-8")
    return gamedsl.load(path)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("tiny", "guess_in_words"), ("tiny", "thinking"), ("tiny", "stag_hunt"),
        pytest.param("smollm2-135m", "guess_in_words", marks=pytest.mark.slow),
        pytest.param("smollm2-135m", "kuhn_poker_thinking", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_resumed_equals_uninterrupted(model: str, name: str, tmp_path: Path) -> None:
    """So do written replies, thoughts before a choice, and projections onto a closed game."""
    game, settings = _game(name, tmp_path), dict(WORDS)
    if name == "stag_hunt":
        settings |= {"method": "project"}
    recipe = recipe_of(game, model=model, dtype="bfloat16", checkpoint_every=100, **settings)
    whole, _ = run_of(game, recipe, tmp_path / "whole")
    steps = [record for record in whole.records() if record["event"] == "step"]
    assert len(steps) == 3
    if name != "stag_hunt":
        assert 0 < max(step["sampler_gap"] for step in steps) < 0.1
    stop = StopAfter(2)
    run, outcome = run_of(
        game, recipe, tmp_path / "parts", observers=[stop], interrupt=stop.interrupt
    )
    assert (outcome.step, outcome.finished) == (2, False)
    assert train(game, recipe, run, policy_of(game, recipe)).finished
    same(tmp_path / "whole", tmp_path / "parts")


def _disturbed(model: str, dtype: torch.dtype) -> HFPolicy:
    policy = HFPolicy(model, dtype=dtype)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(0.003 * torch.randn(parameter.shape, generator=generator))
    return policy


@MODELS
def test_sampler_is_no_further_off_than_rounding(model: str) -> None:
    """What the sampler says of its tokens differs from what the trainer says by less than either
    differs from float32."""
    half, full = (_disturbed(model, dtype) for dtype in (torch.bfloat16, torch.float32))
    asked = [
        Request((("user", f"Tell a story of round {i}."),), "shared", 24, seed=i) for i in range(12)
    ]
    replies = half.generate(asked)
    rows = [join_turns("shared", [reply], 1.0)[0][0] for reply in replies]
    sampler = torch.tensor([log_p for reply in replies for log_p in reply.log_probs])
    trainer, exact = (torch.cat(policy.token_log_probs(rows)) for policy in (half, full))
    likely = exact.exp() > 0.01
    gap, rounding = (
        (ours - other).abs()[likely].mean()
        for ours, other in ((sampler, trainer), (trainer, exact))
    )
    assert likely.sum() > 20
    assert 0 < gap < 1.5 * rounding
    assert gap < 0.02
    assert all(p.dtype == torch.float32 for p in half.parameters())


@MODELS
def test_scores_are_those_of_float32_but_for_rounding(model: str) -> None:
    half, full = (_disturbed(model, dtype) for dtype in (torch.bfloat16, torch.float32))
    queries = [
        Query((("user", f"Fog in round {i}?"),), ("stag", "hare", "wolf"), "shared")
        for i in range(6)
    ]
    ours, theirs = (torch.stack(policy.log_probs(queries)) for policy in (half, full))
    assert (ours.exp() - theirs.exp()).abs().max() < 0.05
    weights = [torch.tensor([1.0, -0.5, -0.5])] * len(queries)
    gradients = []
    for policy in (half, full):
        policy.backward(queries, weights)
        gradients.append(torch.cat([p.grad.flatten() for p in policy.parameters()]))
    assert torch.cosine_similarity(*gradients, dim=0) > 0.98


def test_small_updates_of_whole_models_are_kept(tmp_path: Path) -> None:
    """A step of 1e-6 is far below what bfloat16 can add to most weights."""
    game = _game("stag_hunt", tmp_path)
    recipe = recipe_of(game, model="tiny", finetuning="full", lr=1e-6, steps=1)
    recipe = replace(recipe, dtype="bfloat16")
    policy = policy_of(game, recipe)
    before = [parameter.detach().clone() for parameter in policy.parameters()]
    run, _ = run_of(game, recipe, tmp_path / "run")
    found = checkpoint.latest(run)
    assert found is not None
    after = [tensor for state in found.adapters.values() for tensor in state.values()]
    assert {tensor.dtype for tensor in after} == {torch.float32}
    pairs = list(zip(before, after, strict=True))
    moved = sum(int((was.cpu() != now).sum()) for was, now in pairs)
    trained = sum(int((was.cpu() != now).any()) for was, now in pairs)
    assert trained > len(pairs) / 2
    assert moved > 0.2 * sum(was.numel() for was, _ in pairs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@MODELS
def test_kept_graphs_change_no_bit(
    model: str, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scores and gradients are the same whether no pass of play is kept for the update, or all."""
    queries = [
        Query((("user", f"Round {i}: the fog is {'thick, ' * i}and it is cold."),),
              ("stag", "hare", "wolf"), "shared")
        for i in range(6)
    ]  # fmt: skip
    found: list[list[torch.Tensor]] = []
    for room in (False, True):
        policy = HFPolicy(model, dtype=dtype, lora=LoraSpec(layers=2), max_tokens=60)
        monkeypatch.setattr(Activations, "has_room", lambda *_, room=room: room)
        scorer = Scorer(policy)
        scorer.score(queries[::2])
        scorer.score(queries)
        assert {graph is not None for graph in scorer.graphs(queries)} == {room}
        scorer.backward(queries, [torch.linspace(-1, 1, len(one.labels)) for one in queries])
        slopes = [p.grad.flatten() for p in policy.parameters() if p.grad is not None]
        found.append([scorer.log_pi(query) for query in queries] + [torch.cat(slopes)])
    assert found[0][-1].norm() > 0
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))
