"""What a file makes the compiler do by itself is bounded, in units that are the same everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from gamedsl.compiler import Result, compile_file, compile_game
from gamedsl.engine.interpreter import Interpreter
from gamedsl.ir.evaluate import Budget, Meter, Scope, SpentError, evaluate
from gamedsl.ir.expr import Expr

HEAD = "game: g\nroles: [a, b]\n"
MOVE = "  - {role: all, choose: x, from: [l, r]}\n"

UNFINISHED = {
    "loop in a loop": "state: {n: 0}\nturns:\n" + MOVE + "  - repeat: 100000\n    turns:\n"
    "      - repeat: 100000\n        turns:\n          - do: n = 1 - n\npayoffs: n\n",
    "list that doubles": "state: {xs: {list: 0..9}}\nturns:\n  - do: add 1 to xs\n"
    "  - repeat: 40\n    turns:\n      - do: add x to xs for x in xs\n" + MOVE + "payoffs: 1\n",
    "writes to many places": "state: {m: {per: 1..4000, start: 0}}\nturns:\n  - repeat: 100000\n"
    "    turns:\n      - do: m[k] = k for k in 1..4000\n" + MOVE + "payoffs: m[1]\n",
    "large grid": "state: {g: {grid: [1000, 1000], of: 0..9}}\nturns:\n" + MOVE
    + "  - repeat: 100000\n    turns:\n      - do: g[3, 3] = 1\npayoffs: 1\n",
    "large hand": "turns:\n  - {draw: h, from: 5000 of 1..100000, seen_by: nobody}\n" + MOVE
    + "payoffs: 1\n",
    "large bag": "types: {R: {p: 1..60, q: 1..60}}\nstate:\n"
    "  deck: {bag: R, copies: 10000, seen_by: nobody}\nturns:\n"
    "  - {draw: h, from: 100000 of deck, seen_by: nobody}\n" + MOVE + "payoffs: 1\n",
    "many chance nodes": "turns:\n  - repeat: 100000\n    turns:\n"
    "      - {draw: d, from: 1..6, per: 1..4000, seen_by: all}\n" + MOVE + "payoffs: 1\n",
    "long game": "turns:\n  - repeat: 100000\n    turns:\n    " + MOVE + "payoffs: 1\n",
    "lets that go through much": "let:\n  f(n): sum(i * n for i in 1..n)\nturns:\n"
    "  - repeat: 1000\n    turns:\n"
    "      - {role: all, choose: y, from: [l, r], if: f(50000) > 1}\npayoffs: 1\n",
    "payoffs of many seats": "let:\n  f(n): sum(i * n for i in 1..n)\nturns:\n"
    "  - {draw: d, from: 1..2, seen_by: all}\n" + MOVE + "payoffs: f(60000)\n",
}  # fmt: skip


def compiled(folder: Path, text: str) -> Result:
    path = folder / "g.yaml"
    path.write_text(text)
    return compile_file(path)


@pytest.mark.parametrize("name", UNFINISHED)
def test_excessive_play_is_aborted(name: str, tmp_path: Path) -> None:
    head = HEAD.replace("[a, b]", "{p: 64}") if "seats" in name else HEAD
    result = compiled(tmp_path, head + UNFINISHED[name])
    assert [(d.code, d.severity) for d in result.diagnostics] == [("GD0460", "warning")]
    assert result.ok


def test_abort_point_is_deterministic(tmp_path: Path) -> None:
    text = HEAD + UNFINISHED["loop in a loop"]
    (first,) = compiled(tmp_path, text).diagnostics
    (again,) = compiled(tmp_path, text).diagnostics
    told = [(d.span.start, d.span.end, d.why, d.witness) for d in (first, again)]
    assert told[0] == told[1]
    assert first.why == "90,908 passes of this loop, and no end"
    assert first.span.text.startswith("repeat: 100000")


FOLDED = {
    "items in items": ("actions: [l, r]\nprotocol: simultaneous\nparams:\n"
    '  xs: "[i for i in 1..99000]"\n  n: "sum(1 for i in xs if i in xs)"\npayoffs: n\n', "GD0401"),
    "instances": ("protocol: {use: alternate, at_most: 9}\nactions:\n"
    "  put: {args: {p: 1..90, q: 1..90, r: 1..90, s: 1..90}}\npayoffs: 1\n", "GD0404"),
    "parts of state": ("types: {S: 1..4000, T: 0..3999}\nstate:\n"
    "  m: {per: [S, T], start: 0}\nturns:\n" + MOVE + "payoffs: 1\n", "GD0421"),
    "draws": ("types: {S: 1..4000, T: 0..3999}\nturns:\n"
    "  - {draw: d, from: 1..6, per: [S, T], seen_by: all}\n" + MOVE + "payoffs: 1\n", "GD0421"),
}  # fmt: skip


@pytest.mark.parametrize("name", FOLDED)
def test_work_before_play_is_bounded(name: str, tmp_path: Path) -> None:
    text, code = FOLDED[name]
    assert [d.code for d in compiled(tmp_path, HEAD + text).diagnostics] == [code]


def test_many_options_are_looked_up_and_not_searched(tmp_path: Path) -> None:
    turns = (
        "turns:\n  - {role: a, choose: x, from: 1..4000}\n  - {role: b, choose: y, from: 1..9}\n"
    )
    assert compiled(tmp_path, HEAD + turns + "payoffs: x / y\n").ok


def test_a_budget_is_only_for_who_gives_one(tmp_path: Path) -> None:
    path = tmp_path / "g.yaml"
    path.write_text(
        HEAD + "state: {n: 0}\nturns:\n  - repeat: 500\n    turns:\n      - do: n += 1\n" + MOVE
        + "payoffs: n\n"
    )  # fmt: skip
    ir, _ = compile_game(path)
    assert Interpreter(ir).start().variables["n"] == 500
    budget = Budget(100_000)
    assert Interpreter(ir, budget).start().variables["n"] == 500
    with pytest.raises(SpentError):
        Interpreter(ir, Budget(budget.spent - 1)).start()


def test_the_payoffs_are_worked_out_of_the_budget(tmp_path: Path) -> None:
    path = tmp_path / "g.yaml"
    path.write_text(
        HEAD + "turns:\n  - {draw: d, from: 1..2, seen_by: all}\n" + MOVE
        + "payoffs: sum(i for i in 1..1000)\n"
    )  # fmt: skip
    state = Interpreter(compile_game(path)[0], Budget(1500)).start()
    state.draw(0)
    state.choose(["l", "r"])
    with pytest.raises(SpentError):
        _ = state.payoffs


class Entered(Budget):
    """Counts what is entered."""

    count = 0

    def enter(self, expr: Expr) -> None:
        self.count += 1


def test_a_let_used_again_takes_as_much(tmp_path: Path) -> None:
    """So that no limit depends on what is kept."""
    took = {}
    for uses in (1, 2, 3):
        payoff = " + ".join(["many"] * uses)
        text = f"let:\n  many: sum(i for i in 1..100)\nturns:\n{MOVE}payoffs: {payoff}\n"
        ir = compiled(tmp_path, HEAD + text).ir
        assert ir is not None
        budget = Entered(10**6)
        meter = Meter(budget)
        scope = Scope(ir.seats, {}, ir.lets_by_name, budget=budget)
        assert evaluate(ir.payoffs[0][1], scope, meter) == uses * 5050
        assert budget.count == 1
        took[uses] = meter.spent
        assert budget.spent == meter.spent
    assert took[2] - took[1] == took[3] - took[2] > 100
