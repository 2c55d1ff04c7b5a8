"""The benchmark of games in words: two games for real, and what it calls a fault."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("words")


@pytest.mark.weekly
def test_two_games_are_played_called_and_trained(
    words: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    for name, count in (("EPISODES", 4), ("CALLED", 2), ("STEPS", 1)):
        monkeypatch.setattr(words, name, count)
    out = tmp_path / "words.json"
    games = ["guess_in_words", "kuhn_poker_tools"]
    monkeypatch.setattr(
        sys, "argv", ["words.py", "--only", *games, "--threads", "1", "--out", str(out)]
    )
    assert words.main() == 0
    found = json.loads(out.read_text(encoding="utf-8"))["games"]
    assert list(found) == games
    for one in found.values():
        assert one["model"]["games"] == 4
        assert one["endpoint"]["endpoints"]["model"]["calls"] > 0
        assert one["train"]["steps"] == 1
    assert {row["valid"] for row in found["kuhn_poker_tools"]["model"]["replies"]} == {1.0}
    assert "| `kuhn_poker_tools` | first: open | tool | 100% (" in capsys.readouterr().out


def test_warnings_and_closed_decisions_without_answers_are_faults(words: ModuleType) -> None:
    row = {"role": "judge", "step": "verdict", "form": "label", "replies": 4, "closed": True}
    played = {"seconds": 1.0, "own_ends": 1.0, "warnings": [], "replies": []}
    one = {"model": {**played, "replies": [{**row, "valid": 0.5}]}, "endpoint": played,
           "train": {**played, "warnings": ["UserWarning: odd"]}}  # fmt: skip
    assert words.faults_of("debate", one) == [
        "debate: UserWarning: odd",
        "debate: 50% of 4 replies of judge at verdict",
    ]
    one["model"]["replies"] = [{**row, "valid": 0.6}, {**row, "closed": False, "valid": 0.0}]
    assert words.faults_of("debate", one) == ["debate: UserWarning: odd"]
    line = "| `debate` | judge: verdict | label | 0% (0 to 49) of 4 | – | 100% | 1, 1, 1 |"
    assert line in words.table({"debate": one})


def test_the_page_shows_what_the_results_say(words: ModuleType) -> None:
    found = results("words")
    page = (BENCHMARKS.parent / "docs" / "results.md").read_text(encoding="utf-8")
    assert page == words.rewritten(page, found), "--only --page docs/results.md"


@pytest.mark.slow
def test_one_model_has_played_all_games_in_words(words: ModuleType) -> None:
    assert sorted(results("words_tiny")) == sorted(words.names())


@pytest.mark.parametrize("file", ["words", "words_tiny"])
def test_the_results_have_no_fault(words: ModuleType, file: str) -> None:
    games = results(file)
    assert [fault for name, one in games.items() for fault in words.faults_of(name, one)] == []


def results(name: str) -> Any:
    """The games of a file of results."""
    file = BENCHMARKS / "results" / f"{name}.json"
    return json.loads(file.read_text(encoding="utf-8"))["games"]
