"""The example games that warm-ups of shipped games imitate: `benchmarks/writers.py` writes them."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import gamedsl
from tests.conftest import ROOT

with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(ROOT / "benchmarks")
    writers = importlib.import_module("writers")
EACH = pytest.mark.parametrize("name", writers.WRITERS)
FEW = 3
MOST = 120_000
"""Bytes of a file."""


def file_of(name: str) -> Path:
    path: Path = writers.GAMES / "data" / f"{name}_games.jsonl"
    return path


def games(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file_of(name).read_text(encoding="utf-8").splitlines()]


@EACH
def test_files_are_what_is_written_today(name: str) -> None:
    text = file_of(name).read_text(encoding="utf-8")
    assert text.startswith("".join(writers.examples(name, FEW)))
    count, _ = writers.WRITERS[name]
    assert text.count("\n") == count
    assert len(text.encode()) < MOST


@EACH
def test_all_replies_are_valid_in_todays_game(name: str) -> None:
    hash = gamedsl.load(ROOT / "games" / f"{name}.yaml").hash
    for game in games(name):
        assert game["hash"] == hash
        assert game["mistakes"] == []
        assert game["failures"] == {}


@EACH
def test_warm_up_imitates_the_file(name: str) -> None:
    text = (ROOT / "games" / f"{name}.yaml").read_text(encoding="utf-8")
    assert yaml.safe_load(text)["train"]["warm_up"]["expert"] == f"file:data/{name}_games.jsonl"


def test_texts_vary() -> None:
    for name, least in (("debate", 140), ("support", 75), ("twenty_questions", 60)):
        said = {
            text
            for game in games(name)
            for step in game["steps"]
            if step["step"] in ("speech", "message", "reply", "question")
            for text in step["choices"].values()
        }
        assert len(said) >= least, name


def test_askers_find_the_thing_and_few_drafts_are_wrong() -> None:
    assert all(game["payoffs"]["asker"] == "1" for game in games("twenty_questions"))
    drafts = [[s["step"] for s in game["steps"]].count("draft") for game in games("code_team")]
    assert {1, 2} <= {*drafts}
    assert sum(drafts) < 2 * len(drafts)
    assert all(game["payoffs"]["tester"] != "0" for game in games("code_team"))


def test_every_row_of_the_data_is_known() -> None:
    topics = (ROOT / "games/data/topics.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(row)["question"] for row in topics] == [*writers._reasons()]
    things = {*writers._things()}
    assert all(yes <= things for yes in writers._facts().values())
