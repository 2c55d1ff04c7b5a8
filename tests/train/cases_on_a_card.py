"""Trains and scores on the processor and on the simulated card, and prints how far they differ:

    python -m tests.train.cases_on_a_card runs
    python -m tests.train.cases_on_a_card models

One JSON object a line: `case`, and by how much numbers `differ` at most, or the `error`. It is a
process of its own, since the simulated device cannot be taken away again.
"""

from __future__ import annotations

import json
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, partialmethod
from pathlib import Path
from typing import Any

import pytest
import torch

import gamedsl
from gamedsl.policies.base import Query
from gamedsl.policies.full_model import FullPolicy
from gamedsl.policies.generation import Request, join_turns
from gamedsl.policies.hf import HFPolicy
from gamedsl.policies.lora import LoraSpec
from gamedsl.training import checkpoint
from tests.policies.architectures import TABLE, write
from tests.simulated_card import simulated_card
from tests.train.conftest import recipe_of, run_of

CLOSED = {"model": "tiny", "games": 16, "steps": 2}
WORDS = {"model": "tiny", "games": 8, "group_size": 4, "steps": 2, "lr": 1e-3}
TAUGHT = {**WORDS, "warm_up__expert": "random", "warm_up__games": 10}
UNTAUGHT = {**WORDS, "warm_up__expert": "none"}
UNLIKE = ("seconds", "contributions")
"""Fields of records that differ from run to run, or are decided by ties of equal seats."""
THINKING = "game: thinking\nextends: stag_hunt\nrespond: {form: tag, think: 8, at_limit: close}\n"
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "grpo": ("stag_hunt", {**CLOSED, "method": "grpo", "kl": 0.1, "entropy": 0.05}),
    "two passes": ("stag_hunt", {**CLOSED, "inner_steps": 2, "minibatches": 2}),
    "deterministic": ("stag_hunt", {**CLOSED, "deterministic": True, "recompute": "on"}),
    "tree": ("stag_hunt", {**CLOSED, "estimator": "tree"}),
    "expert": ("stag_hunt", {**CLOSED, "method": "expert"}),
    "magnet": ("kuhn_poker", {**CLOSED, "method": "magnet", "adapters": "per_role"}),
    "project": ("matching_pennies", {**CLOSED, "method": "project"}),
    "critic": (
        "kuhn_poker", {**CLOSED, "method": "grpo", "estimator": "sampled", "baseline": "critic"}
    ),
    "pool": (
        "rock_paper_scissors",
        {**CLOSED, "opponents": {"self": 0.5, "pool": 0.5}, "pool__every": 1},
    ),
    "all weights": ("stag_hunt", {**CLOSED, "finetuning": "full"}),
    "bfloat16": ("stag_hunt", {**CLOSED, "dtype": "bfloat16"}),
    "words": ("guess_in_words", {**TAUGHT, "kl": 0.1, "entropy": 0.01, "ratio": "sequence"}),
    "words, critic": ("guess_in_words", {**TAUGHT, "baseline": "critic"}),
    "words, replays": (
        "guess_in_words", {**TAUGHT, "credit": "counterfactual", "replays": 2, "baseline": "none"}
    ),
    "words, all weights": ("guess_in_words", {**TAUGHT, "finetuning": "full"}),
    "thoughts": ("thinking", {**UNTAUGHT, "method": "project", "thoughts": 2}),
    "tools": ("kuhn_poker_tools", UNTAUGHT),
    "speeches": ("debate_by_rule", UNTAUGHT),
}  # fmt: skip
QUERIES = tuple(
    Query((("user", f"Fog {i}?"),), ("s", "ha", "hen"), name) for i in range(2) for name in "ab"
)
REQUESTS = tuple(
    Request((("user", f"Tell a story of round {i}."),), "a", 12, seed=i) for i in range(4)
)


def main(what: str) -> None:
    torch.set_num_threads(1)
    for name, case in cases(what):
        try:
            here = case("cpu")
            with simulated_card() as card:
                there = case(str(card))
            told = {"differ": differ(here, there), "numbers": len(here)}
        except Exception:
            told = {"error": traceback.format_exc()[-3000:]}
        print(json.dumps({"case": name, **told}), flush=True)


def cases(what: str) -> Iterator[tuple[str, Callable[[str], dict[Any, float]]]]:
    """Yields the names of cases, and what gives the numbers of one on a device."""
    if what == "runs":
        for name, (game, settings) in RUNS.items():
            yield name, partial(trained, game, settings)
    else:
        for name in TABLE:
            yield name, partial(scored, name)


def differ(here: dict[Any, float], there: dict[Any, float]) -> float:
    """Returns the largest difference of two numbers of one place, relative above 1."""
    assert here.keys() == there.keys(), here.keys() ^ there.keys()
    return max(abs(there[key] - number) / max(1.0, abs(number)) for key, number in here.items())


def trained(name: str, settings: dict[str, Any], device: str) -> dict[Any, float]:
    """Returns the metrics and the weights of a run."""
    with tempfile.TemporaryDirectory() as folder, on(device):
        game = name
        if name == "thinking":
            game = str(Path(folder, "thinking.yaml"))
            Path(game).write_text(THINKING, encoding="utf-8")
        loaded = gamedsl.load(game)
        recipe = recipe_of(loaded, **settings)
        run, _ = run_of(loaded, recipe, Path(folder) / "run")
        found = checkpoint.latest(run)
        assert found is not None
        return dict(numbers([run.records(), found.adapters]))


def scored(name: str, device: str) -> dict[Any, float]:
    """Returns log-probabilities, gradients and replies of a toy model of an architecture."""
    row = TABLE[name]
    with tempfile.TemporaryDirectory() as folder:
        where = str(write(name, Path(folder) / "model"))
        lora = LoraSpec(4, 8, targets=row.targets)
        policy = HFPolicy(where, ("a", "b"), lora=lora, device=device, dtype=torch.float32)
        found: list[Any] = [policy.log_probs(QUERIES)]
        policy.backward(QUERIES, [torch.tensor([1.0, -1.0, 0.0])] * len(QUERIES))
        found.append([p.grad for p in policy.parameters()])
        if not row.refused:
            replies = policy.generate(REQUESTS)
            found.append([reply.reply_ids for reply in replies])
            rows = [join_turns("a", [reply], 1.0)[0][0] for reply in replies]
            found.append(policy.token_log_probs(rows))
            policy.token_backward(rows, [torch.ones(len(one)) for one in found[-1]])
            found.append([p.grad for p in policy.parameters()])
        return dict(numbers(found))


@contextmanager
def on(device: str) -> Iterator[None]:
    """Policies are made on a device inside of the block. All weights are then kept in no file of
    safetensors, which would read the memory of the card."""
    made = {kind: kind.__init__ for kind in (HFPolicy, FullPolicy)}
    with pytest.MonkeyPatch.context() as patch:
        for kind, init in made.items():
            patch.setattr(kind, "__init__", partialmethod(_made, init, device))
        patch.setattr(FullPolicy, "save_adapter", lambda policy, name, path: path.mkdir())
        yield


def _made(policy: Any, init: Callable[..., None], device: str, *args: Any, **given: Any) -> None:
    init(policy, *args, **{**given, "device": device})


def numbers(given: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, float]]:
    """Yields the numbers of a nested value, by their places; those of tensors one by one."""
    if isinstance(given, torch.Tensor):
        given = given.detach().cpu().flatten().tolist()
    if isinstance(given, dict):
        for key, value in given.items():
            if key not in UNLIKE:
                yield from numbers(value, (*place, key))
    elif isinstance(given, (list, tuple)):
        for at, value in enumerate(given):
            yield from numbers(value, (*place, at))
    elif isinstance(given, (int, float)):
        yield place, float(given)


if __name__ == "__main__":
    main(sys.argv[1])
