"""The small model that tests train holds Kuhn poker's mixed equilibrium, by the settings of the
benchmark, and loses it without the magnet."""

from __future__ import annotations

from pathlib import Path
from statistics import mean

import pytest
import yaml

import gamedsl
from tests.train.conftest import recipe_of, run_of

ENTRIES = Path(__file__).parents[2] / "benchmarks" / "methods.yaml"


def exploitability(name: str, folder: Path, steps: int) -> list[float]:
    """Of a control, seed 0, at each of some steps, with prompts that are worded as those that the
    settings were found with, which are short."""
    listed = yaml.safe_load(ENTRIES.read_text(encoding="utf-8"))
    entries = {entry["name"]: entry for entry in listed["entries"]}
    settings = listed["set"] | entries[name]["set"] | {"steps": steps}
    game = gamedsl.load(entries[name]["game"]).worded(settings["wording"])
    magnet = {f"magnet__{key}": value for key, value in settings.pop("magnet").items()}
    run, _ = run_of(game, recipe_of(game, **settings, **magnet), folder)
    return [record["exploitability"] for record in run.records() if record["event"] == "step"]


@pytest.mark.weekly
def test_the_magnet_holds_what_is_lost_without_it(tmp_path: Path) -> None:
    held = exploitability("tiny-magnet", tmp_path / "magnet", 240)
    assert mean(held[-40:]) < 0.1
    assert max(held[-40:]) < 0.15
    lost = exploitability("tiny-no-magnet", tmp_path / "none", 60)
    assert min(lost[-40:]) > 0.3
