"""Each part of the benchmark of GPUs runs on the CPU, at a small size."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from gamedsl.policies import hf

# PEFT itself asks transformers for a name that transformers has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCHMARKS)
    monkeypatch.setattr(hf, "load", hf.load)  # which the benchmark changes
    return importlib.import_module("gpu")


@pytest.mark.slow
@pytest.mark.parametrize("part", ["check", "step", "words", "memory", "learn"])
def test_a_part_runs_and_prints_a_ratio(
    part: str, gpu: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    out = tmp_path / "gpu.json"
    monkeypatch.setattr(sys, "argv", ["gpu.py", "--part", part, "--small", "--out", str(out)])
    gpu.main()
    told = json.loads(out.read_text(encoding="utf-8"))
    assert (told["part"], told["small"]) == (part, True)
    assert told["versions"].keys() == {"torch", "transformers", "peft"}
    found = told["found"]
    match part:
        case "check":
            assert found["tiny"]["gradient_cosine"] > 0.98
            assert 0 < found["tiny"]["sampler_gap"] < 0.05
        case "step":
            assert 0 < found["toy"]["16"]["mfu"] < 1
            assert found["toy"]["peer"]["ratio"] > 0
        case "words":
            assert found["toy"]["ratio"] > 0
        case "memory":
            assert 0.5 < found["toy"]["closed"]["ratio"] < 1.8
            assert 0.3 < found["toy"]["words"]["ratio"] < 1.3
        case "learn":
            assert len(found["exploitability"]) >= found["steps"]
            assert found["floor_ratio"] > 0.5
    assert part in capsys.readouterr().out
