"""The queue of trainings: what is done is not done again, and a kill loses nothing."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
ENTRY = {
    "name": "stag",
    "game": "stag_hunt",
    "set": {"model": "tabular", "steps": 40, "checkpoint_every": 1, "transcripts_every": 1},
    "claims": [{"measure": "exploitability", "over": "last_fifth", "at_most": 3}],
}


def queue(folder: Path, listed: list[dict[str, Any]]) -> list[str]:
    (folder / "list.yaml").write_text(yaml.safe_dump(listed), encoding="utf-8")
    return [
        *(sys.executable, str(BENCHMARKS / "train_queue.py"), str(folder / "list.yaml")),
        *("--runs", str(folder / "runs"), "--results", str(folder / "results")),
    ]


def run(folder: Path, listed: list[dict[str, Any]]) -> str:
    return subprocess.run(
        queue(folder, listed), check=True, capture_output=True, text=True, timeout=300
    ).stdout


def numbers(folder: Path) -> Any:
    """What a result says, without what the clock says."""
    found = json.loads((folder / "results" / "stag-0.json").read_text(encoding="utf-8"))
    steps = [{k: v for k, v in step.items() if k != "seconds"} for step in found["steps"]]
    return found["fingerprint"], found["hash"], found["recipe"], steps


def test_a_killed_queue_goes_on_to_the_same_numbers(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    whole.mkdir()
    cut.mkdir()
    assert run(whole, [ENTRY]).splitlines()[0] == "stag, seed 0: training"
    process = subprocess.Popen(queue(cut, [ENTRY]), start_new_session=True)
    checkpoints = cut / "runs" / "stag-0" / "checkpoints"
    while not any(checkpoints.glob("step-00000[3-9].pt")) and process.poll() is None:
        time.sleep(0.005)
    subprocess.run(["kill", "-KILL", "--", f"-{process.pid}"], check=True)
    assert process.wait() == -signal.SIGKILL
    assert not (cut / "results").exists()
    assert "training" in run(cut, [ENTRY])
    assert numbers(cut) == numbers(whole)
    assert run(cut, [ENTRY]) == "stag, seed 0: done\n"


def test_a_changed_entry_is_trained_anew(tmp_path: Path) -> None:
    short = ENTRY | {"set": ENTRY["set"] | {"steps": 2}}
    run(tmp_path, [short])
    assert len(numbers(tmp_path)[3]) == 2
    assert "training" in run(tmp_path, [ENTRY | {"set": ENTRY["set"] | {"steps": 3}}])
    assert len(numbers(tmp_path)[3]) == 3


def test_a_result_has_a_line_for_each_step_and_reads_back(tmp_path: Path) -> None:
    run(tmp_path, [ENTRY | {"set": ENTRY["set"] | {"steps": 3}}])
    lines = (tmp_path / "results" / "stag-0.json").read_text(encoding="utf-8").splitlines()
    first = lines.index('"steps": [') + 1
    told = [json.loads(line.rstrip(",")) for line in lines[first : first + 3]]
    assert [step["step"] for step in told] == [1, 2, 3]
    assert told == json.loads("\n".join(lines))["steps"]


@pytest.mark.parametrize(("at_most", "code"), [(3, 0), (-1, 1)])
def test_claims_are_judged(tmp_path: Path, at_most: float, code: int) -> None:
    claim = {"measure": "exploitability", "over": "all", "at_most": at_most}
    listed = [ENTRY | {"set": ENTRY["set"] | {"steps": 2}, "claims": [claim]}]
    command = queue(tmp_path, listed)
    command[1] = str(BENCHMARKS / "methods.py")
    missing = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert missing.returncode == 1
    assert "missing: stag, seed 0" in missing.stdout
    made = subprocess.run([*command, "--run"], capture_output=True, text=True, timeout=300)
    assert made.returncode == code
    assert ("**0 of 1 hold**" in made.stdout) == bool(code)
