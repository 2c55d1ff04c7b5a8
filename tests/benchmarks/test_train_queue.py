"""The queue of trainings: what is done is not done again, and a kill loses nothing."""

from __future__ import annotations

import importlib
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


def test_start_that_is_not_kept_is_refused(tmp_path: Path) -> None:
    """Before anything is trained: the last five of 41 checkpoints are kept."""
    entry = ENTRY | {"game": "guess_in_words", "beside": ["start"], "held_out": 8}
    ended = subprocess.run(
        queue(tmp_path, [entry]), check=False, capture_output=True, text=True, timeout=300
    )
    assert ended.returncode == 1
    assert "stag: a run saves 41 checkpoints and keeps" in ended.stderr
    assert not (tmp_path / "runs" / "stag-0").exists()


@pytest.mark.slow
def test_killed_queue_resumes_to_the_same_numbers(tmp_path: Path) -> None:
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


def test_changed_entry_is_trained_again(
    tmp_path: Path,
) -> None:
    run(tmp_path, [ENTRY | {"set": ENTRY["set"] | {"steps": 2}}])
    assert len(numbers(tmp_path)[3]) == 2
    assert "training" in run(tmp_path, [ENTRY | {"set": ENTRY["set"] | {"steps": 3}}])
    lines = (tmp_path / "results" / "stag-0.json").read_text(encoding="utf-8").splitlines()
    first = lines.index('"steps": [') + 1
    told = [json.loads(line.rstrip(",")) for line in lines[first : first + 3]]
    assert [step["step"] for step in told] == [1, 2, 3]
    assert told == json.loads("\n".join(lines))["steps"]


def test_entries_share_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results that name no wording are of the brief one."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    train_queue = importlib.import_module("train_queue")

    def of(listed: Any) -> Any:
        path = tmp_path / "list.yaml"
        path.write_text(yaml.safe_dump(listed), encoding="utf-8")
        (entry,) = train_queue.entries(path)
        return entry

    brief = of({"set": {"wording": "brief", "steps": 7}, "entries": [ENTRY]})
    assert brief.settings == {**ENTRY["set"], "wording": "brief"}
    explained = of([ENTRY])
    said = of([ENTRY | {"set": ENTRY["set"] | {"wording": "explained"}}])
    assert explained.fingerprint == said.fingerprint != brief.fingerprint


WORDS = """
game: speak
roles: [speaker]
turns:
  - {role: speaker, say: word, max_tokens: 4}
payoffs: 1
on_invalid: {then: forfeit, pay: -1}
train: {model: tiny, games: 8, group_size: 8, steps: 2, threads: 1}
"""


@pytest.mark.slow
def test_words_game_is_evaluated_on_separate_seeds(
    tmp_path: Path,
) -> None:
    game = tmp_path / "speak.yaml"
    game.write_text(WORDS, encoding="utf-8")
    claims = [{"measure": "valid.speaker", "over": "first", "at_least": 0}]
    claims += [{"measure": "held_out.games", "over": "run", "within": [6, 6]}]
    random = "held_out.beside.random"
    claims += [{"measure": f"{random}.payoff.speaker", "interval": f"{random}.interval.speaker",
                "over": "run"}]  # fmt: skip
    entry = {"name": "speak", "game": str(game), "held_out": 6, "claims": claims}
    entry["beside"] = ["start", "random"]
    command = queue(tmp_path, [entry])
    command[1] = str(BENCHMARKS / "methods.py")
    done = subprocess.run([*command, "--run"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "valid of speaker at least 0, at the first step" in done.stdout
    found = json.loads((tmp_path / "results" / "speak-0.json").read_text(encoding="utf-8"))
    held, valid = found["held_out"], found["held_out"]["valid"]["speaker"]
    assert (held["games"], held["seed"]) == (6, 1)
    assert held["payoff"]["speaker"] == pytest.approx(2 * valid - 1, abs=1e-5)
    low, high = held["interval"]["speaker"]
    assert low <= held["payoff"]["speaker"] <= high
    first, other = held["beside"]["start"], held["beside"]["random"]
    for one in (first, other):
        assert one["games"] == 6
        assert one["payoff"]["speaker"] == pytest.approx(2 * one["valid"]["speaker"] - 1, abs=1e-5)
    low, high = other["interval"]["speaker"]
    assert f"({low:.3f} to {high:.3f})" in done.stdout


def test_valid_replies_are_those_of_the_hardest_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a step that is always valid would hide the others."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    train_queue = importlib.import_module("train_queue")
    said = [("ann", 0.9), ("bob", 0.7), ("ann", 0.2), ("ann", 1.0)]
    replies = [{"role": role, "valid": {"value": value}} for role, value in said]
    assert train_queue.least_valid(replies) == {"ann": {"value": 0.2}, "bob": {"value": 0.7}}


def test_shares_have_wilson_intervals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of six games won by `ann` all, of `bob`'s payoffs not all are 0 or 1."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    train_queue = importlib.import_module("train_queue")
    assert train_queue.shares(tmp_path) == {}
    games = [{"payoffs": {"ann": "1", "bob": bob}} for bob in ("1", "1", "1", "0", "0", "-1/2")]
    (tmp_path / "1-one.jsonl").write_text("\n".join(map(json.dumps, games)), encoding="utf-8")
    found = train_queue.shares(tmp_path)
    assert found == {"ann": pytest.approx([0.6097, 1], abs=1e-4)}


def test_shares_of_a_step_have_wilson_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 16 of 16 replies, and 31 of 33. A record of an earlier version has no counts, and no
    interval."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    lean = importlib.import_module("train_queue").lean
    step = {"step": 1, "valid": {"pro": 1.0, "con": 31 / 33}, "loss": 2.0}
    assert lean(step, whole=True) == {"step": 1, "valid": {"pro": 1.0, "con": 0.939394}}
    found = lean(step | {"replies": {"pro": 16, "con": 33}}, whole=True)
    assert found["replies"] == {"pro": 16, "con": 33}
    assert found["valid_interval"]["pro"] == pytest.approx([0.80639, 1], abs=1e-5)
    assert found["valid_interval"]["con"] == pytest.approx([0.80393, 0.98322], abs=1e-5)


def test_kept_policies_say_what_is_in_range(monkeypatch: pytest.MonkeyPatch) -> None:
    """A decision without a range says nothing, and a policy that is not kept neither."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    lean = importlib.import_module("train_queue").lean
    here, there = {"x": 0.32, "y": 0.68}, {"x": 0.5, "y": 0.5}
    policy = {key: {"role": "r", "probs": p} for key, p in (("a", here), ("b", there))}
    policy["c"] = policy["b"]
    ranges = {"of": {"a": {"x": [[0, 0.3]], "y": [[0.7, 1]]}, "b": {"x": [[0, 0]], "y": [[1, 1]]}}}
    step = {"step": 1, "policy": policy, "in_range": {"inside": 1, "of": 2}}
    found = lean(step, True, ranges)
    assert found["in_range"] == {"inside": 1, "of": 2}
    assert [one.get("in_range") for one in found["policy"].values()] == [True, False, None]
    assert found["policy"]["a"]["probs"] == here
    assert lean(step, False, ranges) == {"step": 1, "in_range": {"inside": 1, "of": 2}}
    assert lean(step, True)["policy"]["a"] == {"probs": here}


def test_results_name_files_from_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    written = importlib.import_module("train_queue").written
    inside, outside = f"file:{BENCHMARKS.parent}/games/data/a.jsonl", "file:/elsewhere/b.jsonl"
    told = written({"recipe": {"warm_up": {"expert": inside}}, "also": outside, "steps": []})
    assert json.loads(told)["recipe"]["warm_up"]["expert"] == "file:games/data/a.jsonl"
    assert json.loads(told)["also"] == outside


def judged(folder: Path, at_most: float, *flags: str) -> tuple[int, str]:
    """The exit code of `methods.py` with one claim, and what it prints."""
    claim = {"measure": "exploitability", "over": "all", "at_most": at_most}
    command = queue(folder, [ENTRY | {"set": ENTRY["set"] | {"steps": 2}, "claims": [claim]}])
    command[1] = str(BENCHMARKS / "methods.py")
    done = subprocess.run([*command, *flags], capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout


def test_claims_are_judged(tmp_path: Path) -> None:
    code, told = judged(tmp_path, 3)
    assert (code, "missing: stag, seed 0" in told) == (1, True)
    code, told = judged(tmp_path, 3, "--run")
    assert (code, "**0 of 1 hold**" in told) == (0, False)
    code, told = judged(tmp_path, -1)
    assert (code, "**0 of 1 hold**" in told) == (1, True)


@pytest.mark.slow
def test_experts_are_played_before_a_run(tmp_path: Path) -> None:
    game = tmp_path / "key.yaml"
    text = (BENCHMARKS / "hidden_key.yaml").read_text(encoding="utf-8")
    game.write_text(text.replace("max_tokens: 16", "max_tokens: 80"), encoding="utf-8")
    settings = {"model": "tiny", "steps": 1, "games": 8, "threads": 1, "warm_up.epochs": 1}
    expert = {"player": "Keeper", "games": 16}
    last = "held_out.last"
    entry = {
        "name": "key", "game": str(game), "set": settings,
        "expert": expert, "held_out": 8, "carry": 2,
        "claims": [{"measure": f"{last}.value", "interval": f"{last}.interval", "over": "run"}],
    }  # fmt: skip
    run(tmp_path, [entry])
    found = json.loads((tmp_path / "results" / "key-0.json").read_text(encoding="utf-8"))
    file = tmp_path / "runs" / "key-0.expert.jsonl"
    assert found["recipe"]["warm_up"]["expert"] == f"file:{file}"
    imitated = found["start"]["warm_up"]
    assert imitated["games"] + imitated["held_out_games"] == 16
    held = found["held_out"]
    assert held["games"] == 8
    mean = (held["first"]["value"] + held["last"]["value"]) / 2
    assert held["payoff"]["keeper"] == pytest.approx(mean, abs=1e-5)
    assert len(held["first"]["interval"]) == len(held["last"]["interval"]) == 2
    assert "key, seed 0: training" in run(tmp_path, [entry | {"expert": expert | {"games": 8}}])
