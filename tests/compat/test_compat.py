"""Files that version 0.1.0 wrote are read by this one: hashes, transcripts, runs and results.

`python -m tests.compat FOLDER` wrote them, before the packages were rearranged.
"""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest

from gamedsl.cli import main
from tests.compat.__main__ import HALF, RUNS, STEPS, hashes

HERE = Path(__file__).parent / "v0_1_0"
HASHES: dict[str, dict[str, str]] = json.loads((HERE / "hashes.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", HASHES)
def test_content_hashes_are_unchanged(name: str) -> None:
    assert hashes(name) == HASHES[name]


@pytest.mark.parametrize("name", HASHES)
def test_transcripts_replay(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", name, str(HERE / "transcripts" / f"{name}.jsonl"), "--quiet"]) == 0
    assert "2 episodes, ok" in capsys.readouterr().out


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpacks the training runs, each stopped at half of its steps."""
    folder = tmp_path_factory.mktemp("runs")
    with tarfile.open(HERE / "runs.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder


def records(path: Path) -> list[dict[str, Any]]:
    """Returns the lines of a metrics file without times and sentences."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    left_out = {"seconds", "summary"}
    return [{k: v for k, v in line.items() if k not in left_out} for line in lines]


def assert_near(one: Any, other: Any, place: str = "") -> None:
    """Compares two JSON values; numbers may differ by the rounding of another processor."""
    if isinstance(one, dict) and isinstance(other, dict):
        assert sorted(one) == sorted(other), place
        for key in one:
            assert_near(one[key], other[key], f"{place}.{key}")
    elif isinstance(one, list) and isinstance(other, list):
        assert len(one) == len(other), place
        for number, (a, b) in enumerate(zip(one, other, strict=True)):
            assert_near(a, b, f"{place}[{number}]")
    elif isinstance(one, float) and isinstance(other, float | int):
        # the last bits of a processor's odds decide a play of the sample now and then
        sampled = 0.02 if place.startswith(".contributions") else 1e-4
        assert other == pytest.approx(one, rel=1e-3, abs=sampled), place
    else:
        assert one == other, place


TIPPED = {"expert_iteration"}
"""Runs whose steps the rounding of another processor may change: a search that finds two
moves equally good takes another one."""


@pytest.mark.parametrize("name", RUNS)
def test_runs_resume_to_the_same_numbers(runs: Path, tmp_path: Path, name: str) -> None:
    run = tmp_path / name
    shutil.copytree(runs / name, run)
    assert not (run / "report.html").exists()
    whole = records(run / "whole.jsonl")
    assert main(["train", "--resume", str(run), "--format", "concise"]) == 0
    assert len(whole) == STEPS + 2  # with the records of the start and of the end
    resumed = records(run / "metrics.jsonl")
    assert len(resumed) == len(whole)
    for old, new in zip(whole, resumed, strict=True):
        if name in TIPPED and old["step"] > HALF:
            old, new = ({key: type(r[key]) for key in old} for r in (old, new))
        # later versions write further fields
        assert_near(old, {key: value for key, value in new.items() if key in old})
    assert (run / "report.html").stat().st_size > 1000


def test_runs_are_compared_and_evaluated(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [str(runs / name) for name in RUNS]
    assert main(["report", *folders, "--out", str(tmp_path / "page.html")]) == 0
    assert (tmp_path / "page.html").stat().st_size > 1000
    run = runs / "project_tabular"
    assert main(["eval", str(run), "random", "--game", "kuhn_poker", "--format", "json"]) == 0
    assert "exploitability" in capsys.readouterr().out


def test_results_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy, board = HERE / "results" / "kuhn_poker.json", tmp_path / "leaderboard.json"
    shutil.copy(HERE / "results" / "leaderboard.json", board)
    before = json.loads(board.read_text(encoding="utf-8"))
    assert main(["eval", "--leaderboard", str(board)]) == 0
    assert "policy:kuhn_poker.json" in capsys.readouterr().out
    players = f"policy:{policy}", "random"
    assert (
        main(["eval", *players, "--game", "kuhn_poker", "--out", str(tmp_path / "new.json")]) == 0
    )
    new = json.loads((tmp_path / "new.json").read_text(encoding="utf-8"))
    old = json.loads((HERE / "results" / "evaluation.json").read_text(encoding="utf-8"))
    assert sorted({*new, "leaderboard"}) == sorted(old)
    assert json.loads(board.read_text(encoding="utf-8")) == before
