"""Gradients of one training step in real processes, which speak by gloo: those of one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import distributed
from torch.optim.optimizer import register_optimizer_step_pre_hook

import gamedsl
from gamedsl.policies.process_group import ProcessGroup
from gamedsl.training.engine import open_policy
from gamedsl.training.loop import train
from gamedsl.training.runfolder import create
from tests.train.conftest import DILEMMA
from tests.train.in_words import recipe_of
from tests.train.test_thinking import PICK

# PEFT itself asks transformers for a name that transformers has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")

GAMES = {"closed": DILEMMA, "words": PICK}
TOLERANCE = 1e-5
"""Of the gradient of a parameter, relative, by its norm."""

Gradients = dict[str, list[torch.Tensor]]


def _gradients(
    folder: Path, group: ProcessGroup | None = None, shard: bool = False
) -> Gradients:  # fmt: skip
    """The gradients that the optimiser is given in the first step, by game."""
    found: Gradients = {}
    for name, text in GAMES.items():
        path = folder / f"{text.split()[1]}.yaml"
        path.write_text(text, encoding="utf-8")
        game = gamedsl.load(path)
        recipe = recipe_of(game, steps=1, games=32, group_size=32, shard=shard)
        policy = open_policy(game, recipe, lambda line: None, group=group)
        _leave_start(policy.parameters())
        given: list[torch.Tensor] = []

        def keep(optimizer: torch.optim.Optimizer, *_: Any, given: Any = given) -> None:
            for part in optimizer.param_groups:
                given.extend(parameter.grad.clone() for parameter in part["params"])

        run = create(game, recipe, folder / name, {}, policy.tokenizer, 1)
        hook = register_optimizer_step_pre_hook(keep)
        try:
            assert train(game, recipe, run, policy).finished
        finally:
            hook.remove()
        found[name] = given
    return found


def _leave_start(parameters: list[torch.nn.Parameter]) -> None:
    """Moves adapters from their start, where B = 0 makes the gradient of A zero."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in parameters:
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))


def _process(rank: int, size: int, folder: Path) -> None:
    """Is one of the processes: writes what it finds, with weights that are whole and shared out."""
    torch.set_num_threads(1)
    meeting = f"file://{folder}/meeting"
    distributed.init_process_group("gloo", init_method=meeting, rank=rank, world_size=size)
    group = ProcessGroup(rank, size)
    for shard in (False, True):
        own = folder / f"{rank}-{shard}"
        own.mkdir()
        torch.save(_gradients(own, group, shard), folder / f"{rank}-{shard}.pt")
    group.close()


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Gradients:
    return _gradients(tmp_path_factory.mktemp("alone"))


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3])
def test_gradients_are_those_of_one_process(size: int, alone: Gradients, tmp_path: Path) -> None:
    torch.multiprocessing.spawn(_process, (size, tmp_path), nprocs=size)
    for path in sorted(tmp_path.glob("*.pt")):
        found = torch.load(path)
        for name, expected in alone.items():
            for one, other in zip(found[name], expected, strict=True):
                assert (one - other).norm() / other.norm() < TOLERANCE, (path.name, name)
