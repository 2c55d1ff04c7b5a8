"""What generated code tells a seat is what the reference does."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

import gamedsl
from gamedsl.engine.generated import Generated, view_code_of
from gamedsl.ir.evaluate import Scope, evaluate
from gamedsl.ir.game import GameIR
from gamedsl.prompting.prompts import Prompter

GAMES = (
    "iterated_prisoners_dilemma", "nim", "pursuit", "small_hanabi_told", "spread", "tic_tac_toe",
)  # fmt: skip
"""Those with a declared view whose decisions are all closed."""

LOOKING = """\
game: looking
roles: [x, o]
state:
  board: {grid: [3, 3], of: role or none}
  last: {of: role or none}
let:
  mine(c): board[c] == me
actions:
  mark: {args: {cell: empty(board)}, do: "board[cell] = me; last = me"}
turns:
  - {draw: coin, from: {heads: 1/2, tails: 1/2}, seen_by: [x]}
  - {choose: bid, role: all, from: [low, high], seen_by: owner}
  - each: cycle(roles)
    at_most: {n: 9, then: go_on}
    until: line(board, 3) != none
    turns: [{choose: move, from: actions}]
view:
  - three: line(board, 3)
  - two: line(board, 2)
  - mine: "[mine(c) for c in cells(board)]"
  - last: last
  - bid: bid.me
  - moves: "len(past(move))"
payoffs: 1 if line(board, 3) == me else 0
"""


def reference(ir: GameIR, seat: str, step: str, variables: Any) -> list[Any]:
    scope = Scope(ir.seats, variables, ir.lets_by_name, {}, seat)
    return [evaluate(entry.value, scope) for entry in ir.entries_at(seat, step) or ()]


def compared(game: gamedsl.Game, plays: int) -> int:
    """How many tellings of random plays were compared."""
    env, shown, found, random = game.env(), view_code_of(game.ir), 0, Random(0)
    for seed in range(plays):
        episode = env.reset(seed=seed)
        while not episode.done:
            moves = {}
            for decision in episode.decisions:
                variables = decision._state.variables
                place = decision.seat, decision.step
                told = shown[place](variables, decision.seat)
                assert [*map(repr, told)] == [*map(repr, reference(game.ir, *place, variables))]
                moves[decision.seat] = gamedsl.Action(random.choice(decision.legal))
                found += 1
            episode.step(moves)
    return found


@pytest.mark.parametrize("name", GAMES)
def test_what_is_told_is_what_the_reference_tells(name: str) -> None:
    assert compared(gamedsl.load(name), 5) > 10


def test_what_rules_keep_beside_variables_is_not_read(tmp_path: Path) -> None:
    """Lines of grids, which the rules' code remembers; what a seat bid; earlier moves."""
    file = tmp_path / "looking.yaml"
    file.write_text(LOOKING, encoding="utf-8")
    assert compared(gamedsl.load(file), 20) > 100


def test_where_code_raises_the_reference_decides() -> None:
    ir = gamedsl.load("tic_tac_toe").ir
    step, kernel = ir.steps[0], Generated(ir)

    def failing(variables: Any, seat: str) -> tuple[Any, ...]:
        raise ZeroDivisionError

    def texts(shown: Any) -> Any:
        return Prompter(ir, lambda: {("x", step.id): shown}).viewing.texts("x", step, state, book)

    state, book = kernel.start().variables, gamedsl.load("tic_tac_toe").env().reset(seed=0)._book
    assert texts(failing) == Prompter(ir).viewing.texts("x", step, state, book)
    assert texts(lambda variables, seat: ("nothing at all",)) == ("nothing at all",)
