"""Recipes, models and runs for the tests of training in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gamedsl.policies.generation import Writing
from gamedsl.recipe.table import Recipe
from gamedsl.runtime import Game
from gamedsl.train.runfolder import RunFolder, create
from gamedsl.train.words.loop import train_words, writer
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
    assert train_words(game, recipe, run, policy).finished
    return run, policy


def steps_of(game: Game, recipe: Recipe, folder: Path) -> list[dict[str, Any]]:
    """The records of the steps of a run to its end."""
    run, _ = run_of(game, recipe, folder)
    return [record for record in run.records() if record["event"] == "step"]
