"""The table of tuned controls is that of the committed runs, and says what the page says of it."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def grid(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("grid")


def test_the_page_has_the_table_of_the_runs(grid: ModuleType) -> None:
    found = json.loads(grid.RESULTS.read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert grid.table(grid.read(), found) in page


def test_what_the_page_says_of_momentum_and_entropy(grid: ModuleType) -> None:
    controls = grid.read()
    found = json.loads(grid.RESULTS.read_text(encoding="utf-8"))
    worst = {
        (method["row"], str(one.get("betas"))): []
        for method in controls.methods for one in controls.settings(method)
    }  # fmt: skip
    for method in controls.methods:
        for one in controls.settings(method):
            worst[method["row"], str(one.get("betas"))].append(found[grid.key(one, 0)]["worst"])
    for (row, betas), values in worst.items():
        if "grpo" in row and (betas == "[0.9, 0.999]" or row.startswith("plain")):
            assert min(values) > grid.NEAR, row
