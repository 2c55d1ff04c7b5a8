"""The suite of the libraries that games are exported to: `pytest -m peers -W default tests/peers`.

Each has a module here, which is skipped, with the reason, where the library is not installed or is
of another version. Not all fit beside the README's install; `.ci/run` makes a second environment.
"""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks all tests here; the libraries' own warnings are not ours."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.peers)
            item.add_marker(pytest.mark.filterwarnings("default"))
