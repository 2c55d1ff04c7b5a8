"""Each part of the benchmark of GPUs runs small on the CPU, and prints what it compares."""

from __future__ import annotations

import importlib
import json
import sys
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

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


def _check_printed(part: str, found: dict[str, Any], printed: str) -> None:
    """Checks that each row has its peer or limit, and that what is printed is their quotient."""
    transformers, peft = version("transformers"), version("peft")
    match part:
        case "check":
            row = found["tiny"]
            gap, cosine = row["probability_gap"], row["gradient_cosine"]
            told = [f"within {gap:.4f} of float32 on the CPU, cosine of the gradients {cosine:.5f}",
                    f"{row['sampler_gap']:.4f} nats apart (limit 0.05)"]  # fmt: skip
        case "step":
            row, peer = found["toy"], found["toy"]["peer"]
            ours = {games: row[games] for games in ("8", "16")}
            ratio = peer["seconds"] / min(one["seconds"] for one in ours.values())
            assert peer["ratio"] == pytest.approx(ratio)
            told = [f"transformers {transformers} with PEFT {peft}, one padded row",
                    f"{peer['seconds']:.3f} s, {ratio:.1f} times ours"]  # fmt: skip
            told += [f"{games} games: {one['seconds']:.3f} s a step" for games, one in ours.items()]
            told += [f"{one['mfu']:.1%} of {one['rate'] / 1e12:.2f} TFLOP" for one in ours.values()]
        case "words":
            row = found["toy"]
            ours, theirs = row["tokens_a_second"], row["transformers"]
            assert row["ratio"] == pytest.approx(ours / theirs)
            told = [f"{ours:,.0f} tokens a second, transformers {transformers} {theirs:,.0f}:",
                    f"{ours / theirs:.2f} times as many"]  # fmt: skip
        case "memory":
            told = []
            for kind in ("closed", "words"):
                row = found["toy"][kind]
                ratio = row["allocated"] / row["said"]
                assert row["ratio"] == pytest.approx(ratio)
                told += [f"toy, {kind}: {row['allocated'] / 1e9:.2f} GB allocated",
                         f"{row['said'] / 1e9:.2f} said: {ratio:.2f}"]  # fmt: skip
        case "learn":
            last = found["exploitability"][-1]
            told = [f"{found['start']:.3f} to {last:.3f}, uniform play {found['uniform']:.3f}"]
        case _:
            raise AssertionError(part)
    assert [one for one in told if one not in printed] == []


@pytest.mark.slow
@pytest.mark.parametrize("part", ["check", "step", "words", "memory", "learn"])
def test_part_prints_what_it_compares(
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
    _check_printed(part, found, capsys.readouterr().out)
    match part:
        case "check":
            assert found["tiny"]["gradient_cosine"] > 0.98
            assert 0 < found["tiny"]["sampler_gap"] < 0.05
        case "step":
            assert 0 < found["toy"]["16"]["mfu"] < 1
        case "memory":
            assert 0.5 < found["toy"]["closed"]["ratio"] < 1.8
            assert 0.3 < found["toy"]["words"]["ratio"] < 1.3
        case "learn":
            assert found["start"] == pytest.approx(found["uniform"], abs=0.01)
            assert len(found["exploitability"]) == found["steps"] == 2
            assert found["exploitability"][-1] < 0.36
        case _:
            assert part == "words"


WORDS = {"tokens_a_second": 300.0, "transformers": 200.0, "ratio": 1.5}


def test_wrong_rows_are_noticed() -> None:
    line = f"300 tokens a second, transformers {version('transformers')} 200: 1.50 times as many"
    _check_printed("words", {"toy": WORDS}, line)
    with pytest.raises(AssertionError):
        _check_printed("words", {"toy": WORDS | {"ratio": 1.4}}, line)
    with pytest.raises(AssertionError):
        _check_printed("words", {"toy": WORDS}, line.replace("1.50", "1.40"))
    with pytest.raises(KeyError, match="transformers"):
        _check_printed("words", {"toy": {"tokens_a_second": 300.0, "ratio": 1.5}}, line)


def test_learning_is_compared_with_committed_runs(gpu: ModuleType) -> None:
    page = (BENCHMARKS.parent / "docs" / "results.md").read_text(encoding="utf-8")
    known = ", ".join(f"{one:.3f}" for one in gpu.committed())
    assert f"| an adapter a role, seeds 0, 1, 2 | {known} |" in page
    assert f"Uniform play is at {gpu.UNIFORM:.3f}." in page
