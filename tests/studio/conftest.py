"""A studio for all tests of a module, with a folder of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from tests.studio.client import Client, running


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("studio")


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    with running(folder) as found:
        yield found


@pytest.fixture
def owner(address: str) -> Iterator[Client]:
    """A browser that has the studio's cookie."""
    with Client(address) as client:
        yield client


@pytest.fixture
def stranger(address: str) -> Iterator[Client]:
    """A browser that has nothing."""
    with Client(address, enter=False) as client:
        yield client
