"""Recipes, models and runs for the tests of training in words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import torch

from gamedsl.policies.base import Query
from gamedsl.policies.generation import Writing
from gamedsl.recipe.table import Recipe
from gamedsl.runtime import Game
from gamedsl.training.advantages import Advantage, Advantages, Weighed
from gamedsl.training.estimators import ActionSums, Experience
from gamedsl.training.loop import train
from gamedsl.training.losses import Pulls, TokenBatch, descend, surrogate
from gamedsl.training.methods.base import Learner
from gamedsl.training.reference import Reference
from gamedsl.training.runfolder import RunFolder, create
from gamedsl.training.scoring import Scorer
from gamedsl.training.sessions import writer
from gamedsl.training.trajectories import Batch
from tests.train import conftest


def recipe_of(game: Game, **settings: Any) -> Recipe:
    """The game's recipe for the `tiny` model, with settings on top."""
    given = {"model": "tiny", "games": 8, "group_size": 8, "lr": 0.005, "seed": 0, **settings}
    return conftest.recipe_of(game, **given)


def opened(game: Game, recipe: Recipe) -> Writing:
    return writer(conftest.policy_of(game, recipe))


def run_of(game: Game, recipe: Recipe, folder: Path) -> tuple[RunFolder, Writing]:
    """A run to its end, and the policy as it is then."""
    policy = opened(game, recipe)
    run = create(game, recipe, folder, {}, policy.tokenizer, 1)
    assert train(game, recipe, run, policy).finished
    return run, policy


def steps_of(game: Game, recipe: Recipe, folder: Path) -> list[dict[str, Any]]:
    """The records of the steps of a run to its end."""
    run, _ = run_of(game, recipe, folder)
    return [record for record in run.records() if record["event"] == "step"]


def weighed(batch: Batch, recipe: Recipe, learners: Collection[str]) -> Weighed:
    """The advantages of written replies."""
    return Advantages(recipe, written=True).weigh(batch, learners)


def tokens_of(batch: Batch, advantages: Sequence[Advantage], temperature: float = 1.0,
              **given: Any) -> TokenBatch:  # fmt: skip
    """The rows of tokens that replies of a batch train."""
    return TokenBatch(advantages, batch.queries, temperature, **given)


def learn(
    policy: Writing, optimizer: torch.optim.Optimizer, advantages: Sequence[Advantage],
    queries: Sequence[Query], recipe: Recipe, step: int,
) -> dict[str, Any]:  # fmt: skip
    """One step's update by replies and their advantages; `queries` are those of their batch."""
    scorer, reference = Scorer(policy, keeps_graphs=False), Reference(policy, {})
    learner = Learner(policy, optimizer, scorer, reference, recipe, written=True)
    if not advantages:
        return learner.idle(step)
    batch = Batch(queries=list(queries), step=step)
    found = Experience(step, batch, (), ActionSums([], [], [], 0), advantages)
    return descend(learner, surrogate(learner, found, Pulls()), found)
