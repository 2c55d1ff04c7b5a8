"""Tables of docs/results.md are those of the committed results; claims are judged as by hand."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
HALF = {"a": {"probs": {"x": 0.5, "y": 0.5}}}
SURE = {"a": {"probs": {"x": 0.05, "y": 0.95}}}


@pytest.fixture
def methods(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("methods")


@pytest.fixture
def made(methods: ModuleType) -> list[tuple[Any, dict[str, Any]]]:
    """The committed results as they are: whether one is of today's game, `methods.py` says."""
    queue = importlib.import_module("train_queue")
    runs = queue.runs_of(queue.entries(queue.LIST), queue.RUNS, queue.RESULTS)
    files = {path.name for path in queue.RESULTS.iterdir()}
    assert files <= {run.result.name for run in runs}, "results of no entry"
    return [(run, json.loads(run.result.read_text())) for run in runs if run.result.name in files]


def test_the_page_shows_what_the_results_say(methods: ModuleType, made: Any) -> None:
    found = methods.tables([run.entry for run, _ in made], made)
    assert len(found) >= 5
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert page == methods.rewritten(page, found), "benchmarks/methods.py --page docs/results.md"


def test_what_is_claimed_of_the_results_holds(methods: ModuleType, made: Any) -> None:
    for run, told in made:
        for one in methods.judged(run.entry, told):
            assert one.holds, f"{run.name}: {one.text}: {one.found}"


def test_a_page_takes_new_numbers(methods: ModuleType) -> None:
    page = "Before\n\n| runs | found |\n| --- | --- |\n| one | 1 |\n| two | 2 |\n\nAfter\n"
    new = "| runs | found |\n| --- | --- |\n| one | 3 |\n"
    assert methods.rewritten(page, {"runs": new}) == f"Before\n\n{new}\nAfter\n"
    with pytest.raises(SystemExit, match="no table with the heading: others"):
        methods.rewritten(page, {"others": new})


def result(*policies: Any, start: Any = None) -> dict[str, Any]:
    steps = [{"step": n, "policy": policy} for n, policy in enumerate(policies, start=1)]
    return {"name": "hand", "start": start, "steps": steps, "end": None, "cpu_seconds": 12.5}


@pytest.mark.parametrize(
    ("policies", "at"), [([HALF, SURE, SURE], 2), ([SURE, HALF, SURE], 3), ([SURE, HALF], None)]
)
def test_the_step_at_which_a_run_settled(
    methods: ModuleType, policies: list[Any], at: int | None
) -> None:
    claim = {"measure": "settled_at_step", "over": "run", "at_most": 2}
    told = methods.verdict(claim, result(*policies))
    assert told.found == ("never" if at is None else str(at))
    assert told.holds == (at == 2)


@pytest.mark.parametrize(
    ("action", "confidence", "value", "holds"),
    [
        ("y", "clear", "1", True),
        ("x", "too close to call", "0.500", False),
        ("x", "clear", "0", False),
    ],
)
def test_whether_the_outcome_was_predicted(
    methods: ModuleType, action: str, confidence: str, value: str, holds: bool
) -> None:
    prediction = {"profile": {"a": action}, "confidence": confidence}
    claim = {"measure": "as_predicted", "over": "run", "at_least": 1}
    told = methods.verdict(claim, result(HALF, SURE, start={"prediction": prediction}))
    assert (told.found, told.holds) == (value, holds)


@pytest.mark.parametrize(("high", "found", "by"), [(0.5, "0", "0.000"), (0.44, "1", "0.060")])
def test_decisions_outside_what_equilibria_leave_them(
    methods: ModuleType, high: float, found: str, by: str
) -> None:
    ranges = {"of": {"a": {"x": [[0, high]], "y": [[0.1, 1]]}}}
    made = result(HALF, start={"ranges": ranges})
    assert methods.verdict({"measure": "outside_ranges"}, made).found == found
    far = methods.verdict({"measure": "farthest_from_ranges", "at_most": 0.05}, made)
    assert (far.found, far.holds) == (by, found == "0")


def test_exploitability_is_averaged_over_a_window(methods: ModuleType) -> None:
    steps = [{"step": n, "exploitability": n / 10} for n in range(1, 11)]
    claim = {"measure": "mean_exploitability", "over": "last_fifth", "at_most": 0.96}
    told = methods.verdict(claim, {"name": "hand", "steps": steps})
    assert (told.found, told.holds) == ("0.950", True)


def test_a_number_without_a_bound_is_told(methods: ModuleType) -> None:
    told = methods.verdict({"measure": "cpu_seconds", "over": "run"}, result(SURE))
    assert (told.text, told.found, told.holds) == ("cpu seconds", "12", True)
