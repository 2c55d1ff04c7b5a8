"""The tables of tuned controls are those of the committed runs, and say what the page says."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def grid(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("grid")


def test_the_page_has_the_table_of_each_grid(grid: ModuleType) -> None:
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    made = grid.tables(grid.read())
    assert len(made) == len(grid.read()), "python benchmarks/methods.py --grid"
    for table in made.values():
        assert table in page


def test_a_grid_with_missing_runs_has_no_table(grid: ModuleType, tmp_path: Path) -> None:
    assert not grid.tables(grid.read(), tmp_path)


def test_all_settings_are_run_then_the_best(grid: ModuleType) -> None:
    methods = [{"row": "m", "set": {"method": "grpo"}, "over": {"lr": [0.1, 0.2, 0.3]}}]
    tried = grid.Grid("g", "G", "kuhn_poker", [0, 1], 1, {"steps": 1}, methods)
    found: dict[str, dict[str, float]] = {}
    order = []
    for settings, seed in grid.missing(tried, found):
        worst = abs(settings["lr"] - 0.2)
        found[grid.key(settings, seed)] = {"last": worst, "worst": worst}
        order.append((settings["lr"], seed))
    assert order == [(0.1, 0), (0.2, 0), (0.3, 0), (0.2, 1)]
    assert "| m | 1 of 3 | `lr: 0.2` | 0.000, 0.000 | 0.000, 0.000 |" in grid.table(tried, found)


def test_what_the_page_says_of_momentum_and_entropy(grid: ModuleType) -> None:
    (controls,) = (one for one in grid.read() if one.name == "tabular")
    found = grid.results(controls)
    worst = {
        (method["row"], str(one.get("betas"))): []
        for method in controls.methods for one in controls.settings(method)
    }  # fmt: skip
    for method in controls.methods:
        for one in controls.settings(method):
            worst[method["row"], str(one.get("betas"))].append(found[grid.key(one, 0)]["worst"])
    for (row, betas), values in worst.items():
        if ("entropy" in row and betas == "[0.9, 0.999]") or row.startswith("plain"):
            assert min(values) > grid.NEAR, row
        if "magnet" in row:
            assert min(values) < grid.NEAR, row
