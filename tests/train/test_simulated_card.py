"""Training on a device other than the processor: all tensors of a step lie on it, and the numbers
are those of the processor. The device is simulated (`tests.simulated_card`), so this says nothing
of a GPU's kernels."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.policies.architectures import TABLE
from tests.train.cases_on_a_card import RUNS
from tests.train.running_processes import environment

pytestmark = pytest.mark.slow

TOLERANCE = 1e-4
"""Of a number, relative above 1: sums of probabilities are taken in another order there."""
ROUNDED = {"bfloat16": 0.05}
"""The output layer is kept in float32 on a processor alone."""


@pytest.mark.parametrize(("what", "names"), [("runs", RUNS), ("models", TABLE)])
def test_numbers_are_those_of_the_processor(what: str, names: dict[str, object]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.train.cases_on_a_card", what], capture_output=True, text=True,
        cwd=ROOT, timeout=1800, env=environment(),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    found = {one.pop("case"): one for one in map(json.loads, done.stdout.splitlines())}
    assert list(found) == list(names)
    for name, one in found.items():
        assert "error" not in one, f"{name}: {one['error']}"
        assert one["numbers"] > 50
        assert one["differ"] < ROUNDED.get(name, TOLERANCE), name


def test_tensors_of_two_devices_are_not_mixed() -> None:
    """The device refuses what a GPU would refuse, and takes what a GPU takes."""
    done = subprocess.run(
        [sys.executable, "-c", MIXED], capture_output=True, text=True, cwd=ROOT, timeout=300,
        env=environment(),
    )  # fmt: skip
    assert done.stdout.split() == ["refused", "refused", "taken", "taken"], done.stderr


MIXED = """
import torch
from tests.simulated_card import simulated_card

with simulated_card() as card:
    there, here = torch.ones(3, device=card), torch.ones(3)
    for mixed in (
        lambda: there + here, lambda: torch.cat([there, here]),
        lambda: there + torch.tensor(1.0), lambda: there[torch.tensor([0, 2])],
    ):
        try:
            assert mixed().device == card
            print("taken")
        except RuntimeError as error:
            assert "one device" in str(error)
            print("refused")
"""
