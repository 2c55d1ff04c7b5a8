"""The shipped game of werewolves is trained by its own recipe, on the embedded model."""

from __future__ import annotations

from pathlib import Path

import pytest

from gamedsl.cli import main
from gamedsl.training.runfolder import open_run


@pytest.mark.slow
def test_replies_are_valid_after_the_warm_up(tmp_path: Path) -> None:
    """Of one night and one day, and of the first step alone, which is what the warm-up gives."""
    folder, short = tmp_path / "run", ("--param", "days=1", "--set", "steps=1")
    given = ["train", "werewolf", *short, "--out", str(folder), "--format", "concise"]
    assert main(given) == 0
    (step,) = [record for record in open_run(folder).records() if record["event"] == "step"]
    assert step["sequences"] >= 20
    assert step["valid"]["player"] >= 0.9
