"""What a run opens is closed at its end, be that the last step, an error or an interrupt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gamedsl.api.training_job import new_job, run_job
from gamedsl.policies import factory
from gamedsl.policies.errors import ModelError
from gamedsl.policies.factory import PolicyOptions, close_policy, open_policy
from gamedsl.policies.handed_on import HandedOn
from gamedsl.policies.tabular import TabularPolicy
from gamedsl.prompting.tokenizers import together
from gamedsl.recipe.resolve import parse_overrides
from gamedsl.training import engine, runfolder
from gamedsl.training.dry_run import dry_run
from gamedsl.training.errors import TrainError
from gamedsl.training.loop import Observer
from gamedsl.training.methods.base import Record
from tests.train.conftest import DILEMMA
from tests.writing import write


class Closing(TabularPolicy):
    """A policy that is closed, as one whose replies vLLM writes."""

    opened: list[Closing] = []

    def __init__(self, adapters: tuple[str, ...]) -> None:
        super().__init__(adapters)
        self.closed = 0
        self.opened.append(self)

    def close(self) -> None:
        self.closed += 1


class Failing:
    """An observer that raises at the first step."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def start(self, record: Record) -> None: ...

    warm_up = end = progress = start

    def step(self, record: Record) -> None:
        raise self._error


@pytest.fixture(autouse=True)
def closing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(Closing, "opened", [])
    monkeypatch.setattr("gamedsl.policies.tabular.TabularPolicy", Closing)
    yield
    assert [one.closed for one in Closing.opened] == [1] * len(Closing.opened)
    assert Closing.opened


def train(folder: Path, *observers: Observer) -> None:
    settings = parse_overrides(["model=tabular", "steps=2", "games=8"])
    job = new_job(write(folder, DILEMMA), {}, settings)
    run_job(job, lambda *given: observers, out=folder / "run")


def test_at_the_last_step(tmp_path: Path) -> None:
    train(tmp_path)


@pytest.mark.parametrize("error", [RuntimeError("out of memory"), KeyboardInterrupt()])
def test_at_an_error(error: BaseException, tmp_path: Path) -> None:
    with pytest.raises(type(error)):
        train(tmp_path, Failing(error))


def test_where_there_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*given: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(runfolder, "create", full)
    with pytest.raises(OSError, match="no space"):
        train(tmp_path)


def test_where_labels_do_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unequal(*given: Any, **more: Any) -> None:
        raise ValueError("`a` has two tokens")

    monkeypatch.setattr(engine, "draw_labels", unequal)
    with pytest.raises(TrainError, match="equal in tokens"):
        train(tmp_path)


def test_where_workers_do_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(*given: Any) -> None:
        raise ModelError("no cluster", "start one")

    monkeypatch.setattr(engine, "_with_workers", lacking)
    job = new_job(write(tmp_path, DILEMMA), {}, parse_overrides(["model=tabular"]))
    with pytest.raises(ModelError):
        engine.open_policy(job.game, replace(job.recipe, cluster="ray"), lambda line: None)


def test_where_another_model_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def second_missing(model: str, names: tuple[str, ...], *given: Any) -> Closing:
        if model == "missing":
            raise ModelError("no model", "take another")
        return Closing(names)

    monkeypatch.setattr(factory, "_open_model", second_missing)
    with pytest.raises(ModelError):
        open_policy(
            {"row": "tabular", "column": "missing"}, PolicyOptions(), join_tokenizers=together
        )


def test_all_models_behind_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        factory, "_open_model", lambda model, names, *given: HandedOn(Closing(names))
    )
    models = {"row": "tabular", "column": "other"}
    close_policy(HandedOn(open_policy(models, PolicyOptions(), join_tokenizers=together)))


def test_after_a_dry_run(tmp_path: Path) -> None:
    job = new_job(write(tmp_path, DILEMMA), {}, parse_overrides(["model=tabular"]))
    dry_run(job.game, job.recipe, job.seating, lambda line: None)
