"""The page of the installation says what `benchmarks/first_run.py` measured."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOUND = json.loads((ROOT / "benchmarks/results/first_run.json").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
MOST_CPU_SECONDS = 6


def test_page_has_the_measured_seconds() -> None:
    warm = FOUND["warm"]
    for seconds in (
        FOUND["installs"]["install the core, with the download"]["wall"],
        FOUND["installs"]["install train, with the download"]["wall"],
        FOUND["cold"]["until step 1"]["wall"],
        warm["until step 1"]["cpu"],
    ):
        assert f"| {seconds:.1f} |" in PAGE
    parts = warm["parts, CPU"]
    assert f"imports take {parts['import']:.1f} and the model {parts['model']:.1f}" in PAGE


def test_warm_start_is_short() -> None:
    assert FOUND["warm"]["until step 1"]["cpu"] < MOST_CPU_SECONDS
