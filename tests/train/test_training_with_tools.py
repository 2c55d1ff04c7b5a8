"""The shipped agent with tools is trained by its own recipe, on the embedded model."""

from __future__ import annotations

from pathlib import Path

import pytest

from gamedsl.cli import main
from gamedsl.training.runfolder import open_run


@pytest.mark.slow
def test_calls_are_valid_after_the_warm_up(tmp_path: Path) -> None:
    """Nine of ten calls of the first step are valid, which is what the warm-up gives."""
    folder = tmp_path / "run"
    given = ["train", "tool_agent", "--set", "steps=1"]
    assert main([*given, "--out", str(folder), "--format", "concise"]) == 0
    steps = [record for record in open_run(folder).records() if record["event"] == "step"]
    invalid = sum(sum(record["invalid"].values()) for record in steps)
    assert 1 - invalid / sum(record["sequences"] for record in steps) >= 0.9
