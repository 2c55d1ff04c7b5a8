"""What the analysis of readers proves, looked for in play: a seat that has seen the same is asked
the same, and what it is said to read is a function of what it has seen."""

from __future__ import annotations

from pathlib import Path

import pytest

import gamedsl
from gamedsl.analysis.infoflow import check_information_flow
from gamedsl.compiler import compile_file
from gamedsl.diagnostics import Problems
from gamedsl.ir.game import GameIR
from gamedsl.sema.game import build_game
from gamedsl.sema.library import load_document
from tests.properties.information import DifferenceError, Programs, Witness

GAMES = Path(gamedsl.__file__).parent.parent / "games"

SMALL = [
    ("kuhn_poker", {}),
    ("goofspiel", {"n": 3}),
    ("lewis_signaling", {"words": 2, "objects": 3, "shown": 2}),
    ("guess_the_number", {"top": 4, "tries": 2}),
    ("liars_dice", {"faces": 2}),
]
LARGE = [
    ("leduc_poker", {}),
    ("small_hanabi", {}),
    ("goofspiel", {"n": 5}),
    ("liars_dice", {}),
    ("repeated_prisoners_dilemma", {}),
]


def game(name: str, params: dict[str, object]) -> GameIR:
    ir = compile_file(GAMES / f"{name}.yaml", params).ir
    assert ir is not None
    return ir


@pytest.mark.parametrize(("name", "params"), SMALL, ids=lambda part: str(part))
def test_whole_trees(name: str, params: dict[str, object]) -> None:
    witness = Witness(game(name, params))
    assert witness.tree(20_000) < 20_000
    assert witness.repeated > 5


@pytest.mark.parametrize(("name", "params"), LARGE, ids=lambda part: str(part))
def test_random_plays(name: str, params: dict[str, object]) -> None:
    witness = Witness(game(name, params))
    witness.plays(2, 20)
    assert witness.repeated > 20


def built(text: str, folder: Path) -> GameIR | None:
    """A game whose flows are not checked; None for what is no game."""
    path = folder / "random.yaml"
    path.write_text(text, encoding="utf-8")
    problems = Problems()
    document = load_document(path, problems)
    ir = None if document is None else build_game(document, None, problems)
    return None if problems.errors else ir


@pytest.mark.parametrize("seed", range(8))
def test_random_programs(seed: int, tmp_path: Path) -> None:
    """Programs that the analysis lets pass, however strange."""
    dropped = 0

    def sound(text: str) -> bool:
        nonlocal dropped
        ir, problems = built(text, tmp_path), Problems()
        if ir is None:
            return False
        check_information_flow(ir, problems)
        dropped += problems.errors
        return not problems.errors

    ir = built(Programs(seed).grown(sound, 12), tmp_path)
    assert ir is not None
    witness = Witness(ir)
    witness.plays(3, 25)
    assert witness.repeated > 30
    assert dropped > 0


LEAK = """game: leak
roles: [ann, bob]
state: {pot: 0}
turns:
  - {draw: x, from: 0..1, seen_by: ann}
  - {do: pot = x}
  - {role: bob, choose: guess, from: [0, 1]REST}
  - {role: all, choose: stop, from: [0, 1]}
payoffs: 0
"""


@pytest.mark.parametrize(("rest", "values"), [("", True), (", if: pot == 1", False)])
def test_a_leak_is_seen(rest: str, values: bool, tmp_path: Path) -> None:
    """What these tests look for is found where it is."""
    ir = built(LEAK.replace("REST", rest), tmp_path)
    assert ir is not None
    with pytest.raises(DifferenceError):
        Witness(ir, values=values).tree(100)
