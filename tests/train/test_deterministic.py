"""`deterministic: true`: torch takes no operation whose last bits are left to chance."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
import yaml

from gamedsl.cli import CLEAN, main
from gamedsl.policies.hf import HFPolicy
from gamedsl.training.engine import deterministic

SIZE = ["--set", "games=2", "--set", "group_size=1", "--model", "tiny"]


@pytest.mark.parametrize("name", ["guess_in_words", "kuhn_poker"])
def test_training_runs_with_deterministic_operations(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    seen: list[tuple[bool, str | None]] = []
    for method in ("token_backward", "forward"):
        update = getattr(HFPolicy, method)

        def watched(self: HFPolicy, *given: object, update=update) -> object:
            set_to = os.environ.get("CUBLAS_WORKSPACE_CONFIG")
            seen.append((torch.are_deterministic_algorithms_enabled(), set_to))
            return update(self, *given)

        monkeypatch.setattr(HFPolicy, method, watched)
    out = tmp_path / "run"
    settings = ["--set", "deterministic=true", "--set", "warm_up.expert=none"]
    command = ["train", name, *SIZE, *settings, "--steps", "1", "--out", str(out)]
    assert main(command) == CLEAN
    assert set(seen) == {(True, ":4096:8")}
    assert yaml.safe_load((out / "recipe.yaml").read_text())["deterministic"] is True
    assert not torch.are_deterministic_algorithms_enabled()


def test_setting_of_the_process_is_put_back() -> None:
    torch.use_deterministic_algorithms(True)
    try:
        for wanted in (True, False):
            with deterministic(wanted):
                assert torch.are_deterministic_algorithms_enabled()
            assert torch.are_deterministic_algorithms_enabled()
    finally:
        torch.use_deterministic_algorithms(False)
    with pytest.raises(ZeroDivisionError), deterministic(True):
        raise ZeroDivisionError
    assert not torch.are_deterministic_algorithms_enabled()
