"""Lets the solver be tested on a fake env before and without the compiler."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest


@pytest.fixture(autouse=True)
def _action(monkeypatch: pytest.MonkeyPatch) -> None:
    """The runtime's `Action`, where the runtime is not there yet."""
    try:
        import gamedsl.runtime  # noqa: F401
    except ImportError:
        fake = SimpleNamespace(Action=lambda name: SimpleNamespace(name=name))
        monkeypatch.setitem(sys.modules, "gamedsl.runtime", fake)
