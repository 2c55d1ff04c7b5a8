"""What a dry run says of number formats, by a measurement that the test stands in for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from gamedsl.recipe.table import Recipe
from gamedsl.runtime import Game
from gamedsl.training import dry_run as dry
from gamedsl.training.seats import SeatAssignment
from tests.train.conftest import recipe_of
from tests.train.test_training_in_words import SPEAK

# PEFT itself asks transformers for a name that transformers has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")


def _told(game: Game, **settings: object) -> str:
    return _line(game, recipe_of(game, games=2, group_size=2, **settings), "frozen weights")


def _line(game: Game, recipe: Recipe, fact: str) -> str:
    shown = dry.dry_run(game, recipe, SeatAssignment(game.ir, recipe), lambda line: None)
    return next((line for line in shown.splitlines() if line.startswith(fact)), "")


@pytest.mark.parametrize(
    ("gain", "advice"),
    [
        (2.5, "bfloat16 multiplies 2.5 times as fast here: `--set dtype=bfloat16` pays"),
        (1.1, "bfloat16 multiplies 1.1 times as fast here: float32 is right"),
        (0.2, "bfloat16 multiplies 0.2 times as fast here: float32 is right"),
    ],
)
def test_advice_follows_the_measurement(
    gain: float, advice: str, compiled: Callable[[str], Game], monkeypatch: pytest.MonkeyPatch
) -> None:
    def rate(dtype: torch.dtype, device: torch.device, width: int) -> float:
        return 1e9 * (gain if dtype == torch.bfloat16 else 1)

    monkeypatch.setattr(dry, "measured_rate", rate)
    told = _told(compiled(SPEAK), model="tiny")
    assert "float32; " in told
    assert told.endswith(advice)


def test_a_format_that_was_chosen_gets_no_advice(compiled: Callable[[str], Game]) -> None:
    assert _told(compiled(SPEAK), model="tiny", dtype="bfloat16").split()[2:] == ["bfloat16"]


def test_trained_weights_get_no_advice(compiled: Callable[[str], Game]) -> None:
    assert not _told(compiled(SPEAK), model="tiny", finetuning="full")


def test_weights_that_are_trained_are_float32(compiled: Callable[[str], Game]) -> None:
    game = compiled(SPEAK)
    recipe = recipe_of(game, games=2, group_size=2, model="tiny", finetuning="full")
    recipe = replace(recipe, dtype="bfloat16")
    assert _line(game, recipe, "trained weights").split()[2:] == ["float32"]
    assert not _line(game, recipe, "frozen weights")
