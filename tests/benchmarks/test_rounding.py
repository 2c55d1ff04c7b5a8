"""What the pages say of rounding to bfloat16, and how it is measured."""

from __future__ import annotations

import importlib.util
import json
import sys

import pytest
import torch

from gamedsl.policies.hf import HFPolicy
from tests.conftest import ROOT

# PEFT itself asks transformers for a name that transformers has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")

FOUND = json.loads((ROOT / "benchmarks/results/rounding.json").read_text(encoding="utf-8"))
GAMES = [one for one in FOUND.values() if isinstance(one, dict)]


def test_page_tells_the_committed_figures() -> None:
    page = (ROOT / "docs/training/step.md").read_text(encoding="utf-8")
    means = sorted(one["results"]["mean"] for one in GAMES)
    most = max(one["results"]["most"] for one in GAMES)
    weights = max(one["weights"]["most"] for one in GAMES)
    told = " ".join(page.split())
    assert f"by {means[0]:.3f} to {means[-1]:.3f} on average, and by up to {most:.2f}." in told
    assert f"Rounding the weights alone moves them by up to {weights:.2f} (" in told


def test_only_products_inside_the_block_are_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The adapters, the output layer and later passes are those of float32."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    spec = importlib.util.spec_from_file_location("rounding", ROOT / "benchmarks/rounding.py")
    assert spec is not None
    assert spec.loader is not None
    rounding = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(rounding)
    sys.modules.pop("shared", None)
    policy = HFPolicy("tiny", trunk_tokens=0)
    queries = rounding.decisions(policy, "kuhn_poker", 2)
    exact = torch.cat(policy.log_probs(queries))
    with rounding.products(policy, rounding._rounded, rounding._rounded):
        rounded = torch.cat(policy.log_probs(queries))
    apart = (rounded - exact).abs().max()
    assert 1e-6 < apart < 0.1
    assert torch.equal(torch.cat(policy.log_probs(queries)), exact)
