"""`gamedsl eval --engine vllm`: where it is allowed, and what reaches the engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gamedsl.cli import main
from gamedsl.players.runs import vllm_of_run
from gamedsl.policies import vllm as engine
from gamedsl.policies.hf import HFPolicy
from gamedsl.recipe.table import Vllm
from tests.evaluate.test_eval_in_words import CHAT
from tests.writing import write

HERE = ["--games", "2", "--format", "json"]


def said(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(["eval", *argv, *HERE]) == 2
    return capsys.readouterr().err


def test_it_is_refused_where_nothing_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    told = said(capsys, "random", "--game", "stag_hunt", "--engine", "vllm")
    assert "in stag_hunt none is written" in told
    told = said(capsys, "random", "--game", "stag_hunt", "--vllm-context", "64")
    assert "`--vllm-context` is about vLLM" in told


def test_models_that_are_made_in_memory_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine.importlib.util, "find_spec", lambda name: True)
    told = said(capsys, "tiny", "--game", str(write(tmp_path, CHAT)), "--engine", "vllm")
    assert "`tiny` is made in memory" in told


def test_the_model_gets_the_settings_that_were_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []

    class Written(HFPolicy):
        def __init__(self, model: str, adapters: Any, *, settings: Any, **others: Any) -> None:
            super().__init__(model, adapters, **others)
            given.append(settings)

    monkeypatch.setattr(engine, "VllmPolicy", Written)
    game = ["--game", str(write(tmp_path, CHAT)), "--engine", "vllm"]
    assert main(["eval", "tiny", *game, "--vllm-cache", "0.5", *HERE]) == 0
    assert [(one.cache, one.context, one.idle) for one in given] == [(0.5, None, "resident")]


def test_a_run_brings_its_own_settings() -> None:
    trained = Vllm(idle="sleep", cache=4, context=512)
    assert vllm_of_run(trained, {}) == Vllm(idle="resident", cache=4, context=512)
    assert vllm_of_run(trained, {"cache": 1}) == Vllm(idle="resident", cache=1, context=512)
