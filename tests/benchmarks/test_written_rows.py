"""The benchmark of rows whose frozen layers are read once, at a small size."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT


def test_both_ways_are_measured_beside_the_limit(tmp_path: Path) -> None:
    """The script itself compares the log-probabilities of both."""
    out = tmp_path / "out.json"
    arguments = ["--model", "tiny", "--adapted", "1", "--chats", "2", "--epochs", "1", "--out"]
    subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "written_rows.py", *arguments, out], check=True
    )
    (found,) = json.loads(out.read_text())["layers"]
    assert found["adapted"] == 1
    assert found["limit"] > 1
    assert found["read once"] > 0
    assert found["first epoch"] > 0


def test_page_tells_the_committed_figures() -> None:
    found = json.loads((ROOT / "benchmarks/results/written_rows.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs/results.md").read_text(encoding="utf-8")
    for one in found["layers"]:
        seconds = f"{one['read once']:.1f} | {one['read each time']:.1f}"
        assert f"| {one['adapted']} | {seconds} | {one['ratio']:.2f} | {one['limit']:.2f} |" in page
