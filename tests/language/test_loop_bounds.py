"""The bound of a loop that states none, from what each of its passes uses up."""

from __future__ import annotations

from pathlib import Path

import pytest

from gamedsl.compiler import compile_file
from gamedsl.ir.program import Loop, walk_steps
from tests.language.test_proofs import built

GAME = """\
game: example
roles: [x, o]
state:
  board: {grid: [2, 3], of: role or none}
  deck: {bag: 1..4, copies: 2}
  hand: {per: role, set: 1..5, start: [1, 2, 3, 4, 5]}
  row: {list: 1..3, at_most: 3, start: [3, 1, 2]}
  filled: 0
turns:
  - each: cycle(roles)
    until: filled == 9
    turns:
TURNS
payoffs: filled
"""

CHOSEN = "{choose: cell, from: empty(board)}"
FILL = "{do: 'board[cell] = me'}"
GO = "{choose: go, from: [up, down]}"


def loop(folder: Path, *steps: str) -> tuple[list[str], Loop | None]:
    """The problems of a game, and its loop where it has a bound."""
    path = folder / "example.yaml"
    path.write_text(GAME.replace("TURNS", "\n".join(f"      - {step}" for step in steps)))
    codes = [problem.code for problem in compile_file(path).diagnostics]
    if "GD0431" in codes:
        return codes, None
    return codes, next(step for step in walk_steps(built(path).turns) if isinstance(step, Loop))


BOUNDED = {
    "a chosen cell is filled": (6, [CHOSEN, FILL]),
    "a drawn cell is filled": (6, ["{draw: cell, from: empty(board), seen_by: all}", FILL, GO]),
    "the cell is filled later": (6, [CHOSEN, GO, "{do: 'filled = 0'}", FILL]),
    "within steps of the mover": (
        6, ["{role: other, turns: [{choose: cell, from: empty(board)}, {do: 'board[cell] = me'}]}"],
    ),
    "within a loop over numbers": (
        6, [GO, "{each: i in 1..2, turns: [{choose: cell, from: empty(board)}, "
            "{do: 'board[cell] = me'}]}"],
    ),
    "a card is drawn from a bag": (8, ["{draw: card, from: deck, seen_by: all}", GO]),
    "a card is dropped from a set": (
        10, ["{choose: card, from: hand.me}", "{do: drop card from hand.me}"],
    ),
    "an item is dropped from a list": (3, [GO, "{do: 'drop row[0]'}"]),
    "the least of several": (
        3, [CHOSEN, FILL, "{do: 'drop row[0]'}", "{draw: card, from: deck, seen_by: all}"],
    ),
}  # fmt: skip

UNBOUNDED = {
    "the cell need not be empty": ["{choose: cell, from: cells(board)}", FILL],
    "it is not always filled": [CHOSEN, "{do: 'board[cell] = me', if: 'cell == (0, 0)'}"],
    "it may be emptied": [CHOSEN, "{do: 'board[cell] = me if cell == (0, 0) else none'}"],
    "another cell may be filled": [
        CHOSEN, "{choose: cell, from: cells(board), if: 'cell == (0, 0)'}", FILL,
    ],
    "another is emptied": [CHOSEN, FILL, "{do: 'board[0, 0] = none'}"],
    "nothing is filled": [CHOSEN],
    "the bag is refilled": [
        "{draw: card, from: deck, seen_by: all}", "{do: add card to deck}", GO,
    ],
    "nothing is surely drawn": [GO, "{draw: card, from: deck, seen_by: all, if: go == up}"],
}  # fmt: skip


@pytest.mark.parametrize(("passes", "steps"), BOUNDED.values(), ids=BOUNDED)
def test_loop_ends_by_what_it_uses_up(passes: int, steps: list[str], tmp_path: Path) -> None:
    codes, found = loop(tmp_path, *steps)
    assert "GD0431" not in codes
    assert found is not None
    assert found.bound == passes


@pytest.mark.parametrize("steps", UNBOUNDED.values(), ids=UNBOUNDED)
def test_loop_without_a_bound_is_refused(steps: list[str], tmp_path: Path) -> None:
    assert loop(tmp_path, *steps)[0] == ["GD0431"]
