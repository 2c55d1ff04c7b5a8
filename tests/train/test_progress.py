"""What a training run says inside of its steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gamedsl.training.loop import train
from gamedsl.training.progress import begin_part, begin_step, count, progress_text, telling
from gamedsl.training.runfolder import create
from gamedsl.training.sessions import writer
from tests.train import in_words
from tests.train.conftest import DILEMMA, policy_of, recipe_of
from tests.train.test_rates_of_roles import SAY


class Watch:
    """Notes what is said, in words, between the records of steps."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def progress(self, record: dict[str, Any]) -> None:
        self.said.append(f"{record['step']}: {progress_text(record)}")

    def start(self, record: dict[str, Any]) -> None:
        pass

    warm_up = step = end = start


@pytest.mark.parametrize("words", [False, True])
def test_each_part_of_a_step_is_told(
    compiled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: bool
) -> None:
    monkeypatch.setattr("gamedsl.training.progress.TOLD_EVERY", -1.0)
    game = compiled(SAY if words else DILEMMA)
    make = in_words.recipe_of if words else recipe_of
    recipe = make(game, steps=1, games=8, model="tiny", inner_steps=2)
    policy: Any = policy_of(game, recipe)
    watch = Watch()
    run = create(game, recipe, tmp_path / "run", {}, policy.tokenizer, 1)
    train(game, recipe, run, writer(policy) if words else policy, observers=[watch])
    said = watch.said
    if words:
        assert "1: games, 1 replies, 0 of 8 played" in said
        tokens = [one for one in said if one.startswith("1: update, pass 2 of 2, ")]
        assert tokens[-1].endswith(" tokens")
    else:
        assert "1: games, move 1, 8 of 8 played" in said
        assert "1: update, pass 2 of 2" in said
    assert "1: measures" in said


def test_tries_of_a_projection_are_told(
    compiled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gamedsl.training.progress.TOLD_EVERY", -1.0)
    game = compiled(DILEMMA)
    settings = {
        "method": "project",
        "project__fitter": "adam",
        "project__batch": 1,
        "inner_steps": 2,
        "project__fit": 0.0,
    }
    recipe = recipe_of(game, steps=1, games=8, model="tiny", **settings)
    policy: Any = policy_of(game, recipe)
    watch = Watch()
    run = create(game, recipe, tmp_path / "run", {}, policy.tokenizer, 1)
    train(game, recipe, run, policy, observers=[watch])
    assert "1: update, try 1, 1 of 2 prompts" in watch.said
    assert "1: update, try 2, 2 of 2 prompts" in watch.said


def test_nothing_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[dict[str, Any]] = []
    now = 100.0
    monkeypatch.setattr("gamedsl.training.progress.time.monotonic", lambda: now)
    with telling(told.append):
        begin_step(4)
        begin_part("games")
        count(1, 8, "played")
        now = 101.5
        count(2, 8, "played")
        count(3, 8, "played")
        begin_part("update")
    assert [progress_text(one) for one in told] == ["games, 2 of 8 played", "update"]
    count(4, 8, "played")
    assert len(told) == 2
