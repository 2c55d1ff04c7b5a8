"""Sizes are checked before anything is made of them: settings, adapters, numbers of commands."""

from __future__ import annotations

import resource
import subprocess
import sys
from typing import Any

import pytest

import gamedsl
from gamedsl.cli import main
from gamedsl.diagnostics import Problems
from gamedsl.policies import lora
from gamedsl.policies.errors import ModelError
from gamedsl.policies.hf import HFPolicy
from gamedsl.policies.lora import LoraSpec
from gamedsl.recipe.methods import table
from gamedsl.recipe.resolve import override, resolve

NUMBERS = [row for row in table().values() if row.kind in ("whole", "number", "pair")]
GIGABYTE = 10**9


@pytest.fixture(scope="module")
def kuhn() -> Any:
    return gamedsl.load("kuhn_poker").ir


def _codes(ir: Any, name: str, value: Any) -> set[str]:
    problems = Problems()
    resolve(ir, [override(name, value)], problems)
    return {problem.code for problem in problems.found}


@pytest.mark.parametrize("row", NUMBERS, ids=lambda row: row.name)
def test_every_number_has_a_range(row: Any, kuhn: Any) -> None:
    assert row.low is not None
    assert row.high is not None
    for value in (row.high + 1, 10**30, 10**400):
        assert "GD0703" in _codes(kuhn, row.name, [value] * 2 if row.kind == "pair" else value)
    largest = [row.high] * 2 if row.kind == "pair" else row.high
    assert not _codes(kuhn, row.name, largest) & {"GD0702", "GD0703"}


@pytest.mark.parametrize("name", ["rank", "alpha"])
def test_a_role_has_the_same_ranges(name: str, kuhn: Any) -> None:
    assert "GD0702" in _codes(kuhn, f"roles.first.lora.{name}", 10**7)
    assert "GD0702" in _codes(kuhn, "roles.first.lr", 10**400)


def test_shares_of_opponents_are_bounded(kuhn: Any) -> None:
    assert "GD0703" in _codes(kuhn, "opponents.random", 10**400)


def test_a_rank_above_the_width_is_refused() -> None:
    with pytest.raises(ModelError, match="a rank above 64 adds nothing"):
        HFPolicy("tiny", lora=LoraSpec(rank=65, useful=True))
    assert HFPolicy("tiny", lora=LoraSpec(rank=64, useful=True)).adapters == ("shared",)


def test_an_older_run_keeps_its_rank() -> None:
    assert HFPolicy("tiny", lora=LoraSpec(rank=65)).adapters == ("shared",)


def test_adapters_must_fit_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lora, "free_memory", lambda device: 1e6)
    with pytest.raises(ModelError, match="GB are free"):
        HFPolicy("tiny", lora=LoraSpec(rank=64))


def test_a_limit_of_the_process_counts_as_memory() -> None:
    """In a process of its own, which has 100 MB beyond what it uses."""
    program = """
import resource, torch
from gamedsl.policies.activations import free_memory
from pathlib import Path
pages = int(Path("/proc/self/statm").read_text().split()[0])
most = pages * 4096 + 10**8
resource.setrlimit(resource.RLIMIT_AS, (most, most))
assert free_memory(torch.device("cpu")) <= 10**8
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_huge_rank_takes_no_memory() -> None:
    """It took 7.9 GB."""
    done = subprocess.run(
        [sys.executable, "-m", "gamedsl", "train", "kuhn_poker", "--model", "tiny", "--dry-run",
         "--set", "lora.rank=1000000"],
        capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (GIGABYTE, GIGABYTE)),
    )  # fmt: skip
    assert done.returncode == 1
    assert "GD0703" in done.stderr
    assert "`lora.rank` must be a whole number from 1 to 65,536" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("eval", "random", "--game", "kuhn_poker", "--games", "1000000000000"),
        ("eval", "random", "--game", "kuhn_poker", "--seed", str(10**30)),
        ("eval", "random", "--game", "kuhn_poker", "--concurrency", "100000"),
        ("eval", "random", "--game", "kuhn_poker", "--timeout", "1e300"),
        ("eval", "random", "--game", "kuhn_poker", "--timeout", "nan"),
        ("eval", "random", "--game", "kuhn_poker", "--search", "1" * 5000),
        ("solve", "kuhn_poker", "--iterations", str(10**15)),
        ("solve", "kuhn_poker", "--limit", str(10**15)),
        ("solve", "kuhn_poker", "--seed", "-1"),
        ("show", "kuhn_poker", "--width", str(10**9)),
        ("show", "kuhn_poker", "--limit", "0"),
        ("export", "kuhn_poker", "--to", "efg", "--limit", "-3"),
        ("prompts", "kuhn_poker", "--seed", "x"),
        ("validate", "kuhn_poker", "--thorough", str(10**15)),
    ],
)
def test_numbers_of_commands_have_ranges(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    err = capsys.readouterr().err
    assert "is no number " in err or "is too large: at most " in err
    assert len(err) < 3000
