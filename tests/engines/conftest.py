"""The suite of vLLM: it needs an environment in which vLLM is installed, as docs/engines.md says.

    pytest -m vllm tests/engines

One engine serves all tests of a process; commands and the server are processes of their own.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from gamedsl.policies.vllm import VllmPolicy

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all tests here; vLLM's own warnings are not ours."""
    missing = importlib.util.find_spec("vllm") is None
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.vllm)
            item.add_marker(pytest.mark.filterwarnings("default"))
            if missing:
                item.add_marker(pytest.mark.skip("vLLM is not installed"))


@pytest.fixture(scope="session")
def policy() -> Iterator[VllmPolicy]:
    """The embedded model with two adapters, `a` and `b`, that differ."""
    import torch

    from gamedsl.policies.vllm import VllmPolicy
    from gamedsl.policies.vllm_engine import VllmSettings

    settings = VllmSettings(cache=0.5, context=1024)
    made = VllmPolicy("smollm2-135m", ("plain", "a", "b"), settings=settings)
    for seed, name in enumerate(("a", "b")):
        shake(made, name, torch.Generator().manual_seed(seed))
    yield made
    made.close()


def shake(policy: VllmPolicy, adapter: str, generator: object) -> None:
    """Move an adapter's weights at random, as far as it changes replies and leaves them words."""
    import torch

    with torch.no_grad():
        for tensor in policy.parameters(adapter):
            noise = torch.randn(tensor.shape, generator=generator)
            tensor.add_(0.02 * noise)
