"""What `benchmarks/peers.py` counts and plays."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspiel")
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

CODE = '''"""A module."""

# a comment
def double(x):
    """Doubles."""
    text = """two
    lines"""
    return 2 * x
'''


@pytest.fixture
def peers(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import peers

    yield peers
    sys.modules.pop("peers", None)


def test_lines_are_those_with_code(peers: Any) -> None:
    assert peers.code_lines(CODE) == 4
    assert 10 < peers.game_lines() <= len(peers.GAME.read_text().splitlines())


def test_both_sides_play_the_same_game(peers: Any) -> None:
    """A hand of Kuhn poker has two or three decisions."""
    contest = peers.open_spiel()
    for side in (contest.theirs, contest.ours):
        assert 200 <= side.play(100, random.Random(0)) <= 300
