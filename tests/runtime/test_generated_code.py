"""What generated code does in its own way comes to the same: small games, one for each way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import gamedsl
from gamedsl.engine.codegen.module import write_game
from gamedsl.engine.codegen.writer import Module, UnsupportedError
from gamedsl.engine.generated import Generated
from gamedsl.engine.interpreter import Interpreter
from gamedsl.ir import types as t
from gamedsl.ir.evaluate import EvaluationError
from gamedsl.ir.game import GameIR, Let
from gamedsl.ir.program import Action, Source
from gamedsl.ir.statements import Readers
from gamedsl.ir.values import Bag
from tests import shipped
from tests.runtime import programs
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
    at_most: {n: 7, then: go_on}
    until: full(board)
    turns: [{choose: move, from: actions}]
no_move: pass
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
  take: {args: {n: 0..2}, when: n <= pot, do: add n to took.me}
  wait: {when: pot > 1}
turns:
  - repeat: 2
    count: k
    turns:
      - {role: all, choose: move, from: actions}
      - do: pot -= min(size(took[r]) for r in roles)
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


def agree(ir: GameIR) -> None:
    """Go through a game with both backends."""
    kernel = TwinKernel(ir)
    assert whole(kernel.start(), 300) <= 300


def fails(ir: GameIR, message: str) -> None:
    """A game fails when it begins, with both backends."""
    with pytest.raises(EvaluationError, match=message):
        TwinKernel(ir).start()


WHOLE, SMALL = t.WHOLE, t.range_type(0, 3)


def typed(name: str, type: t.Type) -> ex.Read:
    return ex.Read(type, HERE, name)


@pytest.mark.parametrize(("index", "fine"), [(0, True), (1, True), (2, False), (-1, False)])
@pytest.mark.parametrize("type", [WHOLE, t.range_type(-1, 5), programs.ANY])
def test_lists_have_no_items_before_the_first(index: int, fine: bool, type: t.Type) -> None:
    item = ex.Get(WHOLE, HERE, typed("xs", t.List(WHOLE, 2)), typed("i", type))
    states = (state("xs", (4, 5), t.List(WHOLE, 2)), state("i", index, type))
    ir = game(AB, [show("x", item)], {"a": read("x")}, state=states)
    if fine:
        agree(ir)
    else:
        fails(ir, "a list of 2 has no item")


@pytest.mark.parametrize("value", [0, 3, 4, -1, None])
@pytest.mark.parametrize("given", [t.range_type(0, 5), t.range_type(-2, 2), WHOLE, t.Option(SMALL)])
def test_stored_values_fit_their_range(value: Any, given: t.Type) -> None:
    """Whatever the type of the expression says that it may be."""
    if value is None and not isinstance(given, t.Option):
        return
    if isinstance(given, t.Number) and value not in (t.domain(given, ()) or (value,)):
        return
    step = do(put("x", typed("y", given), type=SMALL))
    states = (state("x", 1, SMALL), state("y", value, given))
    ir = game(AB, [step], {"a": read("x")}, state=states)
    if value in (0, 3):
        agree(ir)
    else:
        fails(ir, "`x` cannot hold this")


@pytest.mark.parametrize("most", [2, 3])
def test_lists_grow_to_their_bound(most: int) -> None:
    type = t.List(SMALL, at_most=most)
    step = do(*[programs.add("xs", const(n), type=type) for n in range(3)])
    ir = game(AB, [step], {"a": op("len", read("xs"))}, state=(state("xs", (), type),))
    if most == 3:
        agree(ir)
    else:
        fails(ir, "the list has 3 items, more than 2")


@pytest.mark.parametrize("start", [{1: 1, 2: 1, 3: 2}, {3: 1, 1: 2, 2: 1}, {2: 1, 3: 3}])
def test_bags_are_drawn_in_type_order(start: dict[int, int]) -> None:
    type = t.range_type(1, 3)
    bag, place = state("bag", Bag(start), t.Bag(type)), programs.place("bag", type=t.Bag(type))
    turns = [draw("x", Source("bag", bag=place), id=f"x_{i}", type=type) for i in range(3)]
    back = do(programs.add("bag", read("x"), type=t.Bag(type)))
    for steps in (turns, [turns[0], back, turns[1]]):
        agree(game(AB, steps, {"a": read("x")}, state=(bag,)))


def test_loop_forgotten_variable_becomes_none() -> None:
    forgetful = loop(do(put("y", typed("x", SMALL), type=SMALL)), times=2, resets=("x",))
    states = (state("x", 1, SMALL), state("y", 1, SMALL))
    fails(game(AB, [forgetful], {"a": 0}, state=states), "`y` cannot hold this: it is none")


def test_generated_legal_options_keep_the_order() -> None:
    step = choose("x", ["a"], (1, 2, 3), legal=const((3, 1, 3)))
    agree(game(AB, [step], {"a": read("x")}))
    numbers = Action("n", (("i", const((2, 0, 1))),), None, (), HERE)
    last = Action("go", (), None, (), HERE)
    options = ["go", ("n", 0), ("n", 1), ("n", 2)]
    step = choose("x", ["a"], options, moves=(numbers, last))
    agree(game(AB, [step], {"a": 0}))
    both = (("i", const((0, 1))), ("j", const((0, 1))))
    options = [("n", 0, 0), ("n", 1, 0), ("n", 0, 1), ("n", 1, 1)]
    step = choose("x", ["a"], options, moves=(Action("n", both, None, (), HERE),))
    agree(game(AB, [step], {"a": 0}))


def test_let_reads_the_tried_actions_arguments() -> None:
    small = ex.LetCall(programs.ANY, HERE, "small", (), None)
    test = ex.Logic(t.BOOL, HERE, "and", small, op("!=", read("i"), read("j")))
    several = Action("pair", (("i", const((0, 1, 2))), ("j", const((0, 1, 2)))), test, (), HERE)
    options = [("pair", i, j) for i in range(3) for j in range(3)]
    step = choose("x", ["a"], options, moves=(several,))
    body = op("<", op("+", read("i"), read("j")), 3)
    agree(game(AB, [step], {"a": 0}, lets={"small": body}, state=(state("i", 7),)))


def test_who_chooses_sees_it_whoever_else_does() -> None:
    for readers in (OTHERS, Readers("nobody"), Readers("seats", ("c",)), Readers("owner")):
        turns = [choose("x", ("a", "b", "c"), GO, joint=True, readers=readers)]
        turns += [choose("y", ["b"], GO, readers=readers)]
        agree(game(("a", "b", "c"), turns, {"a": 0}))


def test_end_is_checked_whenever_it_may_hold() -> None:
    """After what changes something that its condition reads, through a let too, and who acts."""
    score = ex.LetCall(programs.ANY, HERE, "score", (), None)
    over = op(">", op("+", score, op("len", read("picked"))), 2)
    picked = (state("n", 0), state("picked", ()), state("idle", 0))
    body = [
        draw("x", (0, 1), id="x"),
        do(put("idle", op("+", read("idle"), 1)), id="idle"),
        do(put("n", op("+", read("n"), read("x"))), id="add"),
        choose("y", ["a"], GO),
        do(programs.add("picked", read("y")), id="pick", condition=op("==", read("y"), "go")),
    ]
    ir = game(AB, [loop(*body, times=3)], {"a": read("idle")}, lets={"score": read("n")},
              state=picked, end=over)  # fmt: skip
    agree(ir)
    mine = op("==", programs.ME, "b")
    turn = choose("y", AB, GO, actor=programs.ME)
    agree(game(AB, [loop(turn, items=AB, id="turns")], {"a": 0}, end=mine))


def test_let_is_evaluated_with_its_arguments() -> None:
    lets = (
        Let("twice", ("x",), op("+", ex.Local(programs.ANY, HERE, "x"), read("n")), False, HERE),
    )
    call = ex.LetCall(programs.ANY, HERE, "twice", (read("n"),), None)
    ir = game(AB, [do(put("n", call)), do(put("n", call), id="again")], {"a": read("n")},
              state=(state("n", 3),))  # fmt: skip
    agree(replace(ir, lets=lets))


def test_nested_lets_generate_in_linear_time() -> None:
    def read_let(i: int) -> ex.LetCall:
        return ex.LetCall(WHOLE, HERE, f"n{i}", (), None)

    lets = {"n0": read("n")} | {
        f"n{i}": op("+", read_let(i - 1), read_let(i - 1)) for i in range(1, 40)
    }
    ir = game(AB, [choose("x", ["a"], GO)], {"a": 0}, lets=lets, state=(state("n", 1, WHOLE),))
    shown = replace(ir, turns=(*ir.turns, show("y", read_let(3)), show("z", read_let(39), id="z")))
    twins = TwinKernel(ir).start()
    twins.choose(["go"])
    assert twins.kind == "end"
    assert "beyond()" in write_game(shown)


def test_file_name_writes_no_code(tmp_path: Path) -> None:
    """A name of a file may hold line ends: the comments that give it stay comments."""
    rules = (shipped.GAMES / "tic_tac_toe.yaml").read_text()
    path = tmp_path / "a\n    raise SystemExit(1)\n    #.yaml"
    path.write_text(rules)
    text = write_game(gamedsl.load(path).ir)
    assert "# a     raise SystemExit(1)     #.yaml:" in text
    assert not any(line.strip().startswith("raise SystemExit") for line in text.splitlines())


def test_line_of_several_lines_is_refused() -> None:
    for text in ("a = 1\nb = 2", "a = 1\fb = 2", "a = '\u2028'", "# \r"):
        module = Module()
        module.later(text)
        with pytest.raises(UnsupportedError):
            module.text()


@pytest.mark.parametrize("backend", ["reference", "generated"])
def test_move_without_an_end_is_an_error(backend: str, tmp_path: Path) -> None:
    """A thousand times a thousand times a thousand passes, and nobody is asked meanwhile."""
    path = tmp_path / "g.yaml"
    path.write_text(
        "game: g\nroles: [a]\nstate: {s: 0}\nturns:\n  - {role: a, choose: x, from: [u, v]}\n"
        "  - repeat: 1000\n    turns:\n      - repeat: 1000\n        turns:\n"
        "          - repeat: 1000\n            turns:\n              - do: s = 1 - s\npayoffs: s\n"
    )
    ir = gamedsl.load(path).ir
    kernel = Interpreter(ir) if backend == "reference" else Generated(ir)
    state = kernel.start()
    with pytest.raises(EvaluationError, match="more than 1,000,000 steps before anybody acts"):
        state.choose(["u"])
