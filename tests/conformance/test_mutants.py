"""The comparison with OpenSpiel sees every one of the listed wrong rules."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.conformance.mutants import Mutant, caught, mutants

MUTANTS = list(mutants())
FIRST = {mutant.file: mutant for mutant in reversed(MUTANTS)}


@pytest.mark.parametrize(
    "mutant",
    [
        pytest.param(
            mutant, id=mutant.id, marks=[] if mutant is FIRST[mutant.file] else pytest.mark.weekly
        )
        for mutant in MUTANTS
    ],
)
def test_the_mutant_is_caught(mutant: Mutant, tmp_path: Path):
    assert mutant.distance() == 1
    assert caught(mutant, tmp_path), f"nothing differs, though {mutant.why}"


def test_six_games_have_five_mutants_each():
    many = Counter(game for mutant in MUTANTS for game in mutant.games)
    assert sum(count >= 5 for count in many.values()) >= 6


def test_a_right_game_is_not_caught(tmp_path: Path):
    same = Mutant(("kuhn_poker",), "kuhn_poker.yaml", "Three cards", "Some cards", "only words")
    assert caught(same, tmp_path) is None
