"""What generated code does its own way does as the reference does: small games, one for each way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gamedsl
from gamedsl.ir import types as t
from gamedsl.ir.game import Let
from gamedsl.ir.program import Action, Choose, Readers
from gamedsl.ir.values import Bag
from tests.runtime.programs import (
    AB,
    GO,
    HERE,
    OTHERS,
    choose,
    const,
    do,
    draw,
    ex,
    from_bag,
    game,
    loop,
    op,
    put,
    read,
    show,
    state,
)  # fmt: skip
from tests.runtime.test_backends import TwinKernel, plays, whole

LINES = """\
game: lines
roles: [x, o]
state:
  board: {grid: [3, 3], of: role or none}
actions:
  mark: {args: {cell: empty(board)}, do: "board[cell] = me"}
  wipe: {args: {cell: cells(board)}, when: "board[cell] != none", do: "board[cell] = none"}
  clear: {do: "board[c] = none for c in cells(board)"}
turns:
  - each: cycle(roles)
    at_most: 14
    turns:
      - {choose: move, from: actions}
      - {show: "line(board, 3)", as: three}
      - {show: "line(board, 2)", as: two}
payoffs: 1 if line(board, 3) == me else 0
"""

COLUMNS = """\
game: columns
roles: [x, o]
state:
  board: {grid: [2, 3], of: role or none}
  dropped: 0
actions:
  drop_in: {args: {cell: lowest_empty(board)}, do: "board[cell] = me; dropped += 1"}
  skip: {when: dropped > 2}
turns:
  - each: cycle(roles)
    at_most: 6
    until: full(board)
    turns: [{choose: move, from: actions}]
payoffs: count(c for c in cells(board) if board[c] == me)
"""

SECRETS = """\
game: secrets
roles: [ann, bob, cyd]
turns:
  - {role: ann, choose: one, from: [a, b], seen_by: others}
  - {role: bob, choose: two, from: [a, b], seen_by: nobody}
  - {role: cyd, choose: three, from: [a, b], seen_by: ann}
  - {role: all, choose: four, from: [a, b], seen_by: me != bob}
  - {role: all, choose: five, from: [a, b], seen_by: owner}
payoffs: 1 if one == a else 0
"""

AT_ONCE = """\
game: at_once
roles: [ann, bob]
state:
  pot: 5
  took: {per: role, list: 0..2, at_most: 3}
actions:
  take: {args: {n: 0..2}, when: n <= pot, do: "pot -= min(n, pot); add n to took.me"}
  wait: {when: pot > 1}
turns:
  - repeat: 2
    count: k
    turns:
      - {role: all, choose: move, from: actions}
      - {pay: payoffs, value: sum(took.me) if k == 2 else 0}
payoffs: len(past(move))
"""

ARGUMENTS = """\
game: arguments
roles: [ann, bob]
types: {Colour: [red, green, blue]}
state:
  hand: {per: role, list: Colour, at_most: 3}
  bag: {bag: Colour, copies: 2}
actions:
  give:
    args: {to: others, i: slots(hand.me)}
    when: size(hand[to]) < 3
    do: add hand.me[i] to hand[to]; drop hand.me[i]
  name: {args: {what: Colour}, when: "any(what == c for c in hand.other)"}
turns:
  - repeat: 2
    turns:
      - {each: roles, draw: hand.me, from: bag, seen_by: all}
  - each: cycle(roles)
    at_most: 4
    turns: [{choose: move, from: actions}]
no_move: pass
payoffs: size(hand.me)
"""

STAGES = """\
game: stages
roles: [row, column]
protocol: {use: repeated, stage: repeated_prisoners_dilemma, rounds: 2}
"""


@pytest.mark.parametrize(
    "text", [LINES, COLUMNS, SECRETS, AT_ONCE, ARGUMENTS, STAGES],
    ids=lambda text: text.split()[1],
)  # fmt: skip
def test_small_games_play_alike(text: str, tmp_path: Path) -> None:
    path = tmp_path / "game.yaml"
    path.write_text(text, encoding="utf-8")
    kernel = TwinKernel(gamedsl.load(path).ir)
    if whole(kernel.start(), 150) > 150:
        for twins in plays(kernel, 8):
            assert not twins.stands_in


def agree(ir: gamedsl.ir.game.GameIR) -> Any:
    """Go through a game with both backends; the last history that they came to."""
    twins = TwinKernel(ir).start()
    assert whole(twins, 300) <= 300
    return twins
