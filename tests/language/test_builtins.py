"""The table of built-ins: every row's example is true, and one row is all that a built-in takes."""

from __future__ import annotations

import json
import sys
from dataclasses import MISSING, fields, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gamedsl.bounds.expressions import Interpreter
from gamedsl.compiler import compile_file
from gamedsl.engine.codegen.builtin_code import FORMS
from gamedsl.engine.codegen.module import write_game
from gamedsl.engine.generated import Generated
from gamedsl.engine.interpreter import Interpreter as ReferenceKernel
from gamedsl.engine.kernel import Kernel
from gamedsl.engine.walk import EndNode, walk
from gamedsl.ir.abstract_values import ANY_NUMBER, AbstractValue, Interval, number_in
from gamedsl.ir.builtins import BUILTINS, UndefinedError
from gamedsl.ir.builtins_base import COMPUTES, TAKES_SOME, Arguments, Builtin
from gamedsl.ir.game import GameIR
from gamedsl.ir.types import NUMBER, WHOLE, List, Number, Type, range_type
from tests.docs.test_docs import ROOT

GAME = """\
game: examples
roles: [ann, bob]
types:
  Size: [small, large]
  Rank: {values: {ten: 10, jack: 10, ace: 11}}
state:
  note: {of: "text(9) | {number: 1..3}"}
  board: {grid: [2, 2], of: Size or none, neighbors: square}
  hand: {list: 0..9, start: "[3, 1, 3]", at_most: 5}
  score: {per: role, start: 2}
turns:
  - {role: ann, choose: bid, from: 1..3}
  - {role: bob, choose: answer, from: 1..2}
  - do: |
      score[bob] = 5
      board[0, 0] = small
      board[0, 1] = small
payoffs: PAYOFFS
"""


def game(folder: Path, payoffs: str, text: str = GAME) -> GameIR:
    path = folder / "examples.yaml"
    path.write_text(text.replace("PAYOFFS", json.dumps(payoffs)), encoding="utf-8")
    result = compile_file(path)
    assert result.ir is not None, [d.message for d in result.diagnostics]
    return result.ir


def payoffs(kernel: Kernel) -> list[dict[str, Any]]:
    """The payoffs of every play."""
    nodes = walk(kernel.start(), 1_000)
    return [dict(node.point.payoffs) for node in nodes if isinstance(node, EndNode)]


@pytest.mark.parametrize("row", BUILTINS.values(), ids=BUILTINS)
def test_example_of_a_built_in_is_true(row: Builtin, tmp_path: Path) -> None:
    text, value = row.example
    ir = game(tmp_path, f"1 if ({text}) == ({value}) else 0")
    for kernel in (ReferenceKernel(ir), Generated(ir)):
        assert payoffs(kernel) == [{"ann": 1, "bob": 1}] * 6


def test_every_field_of_a_row_is_required() -> None:
    assert all(f.default is MISSING and f.default_factory is MISSING for f in fields(Builtin))


def test_code_of_rows_names_every_form() -> None:
    named = {row.code for row in BUILTINS.values()}
    named = {code for code in named if "{" not in code and code != "call"}
    assert named == {name for name in FORMS if not name.startswith("@")}


def _first_digits(items: tuple[int, ...], count: int) -> tuple[int, ...]:
    if count < 1:
        raise UndefinedError("no digits")
    return tuple(int(str(abs(item))[0]) for item in items[:count])


def _digit_rule(types: tuple[Type, ...]) -> Type | None:
    fits = len(types) == 2 and isinstance(types[0], List) and isinstance(types[1], Number)
    return List(range_type(0, 9)) if fits else None


def _digit_size(arguments: Arguments) -> int | None:
    return int(arguments[1].number.high) if arguments[1].number.bounded else arguments[0].size


def _digit_items(arguments: Arguments) -> AbstractValue:
    return number_in(Interval(0, 9, True))


def _divide_by(one: Fraction, number: int | Fraction) -> Fraction:
    if number == 0:
        raise UndefinedError("division by zero")
    return one / number


DIGITS = Builtin(
    "digits", "function", "digits(list, whole number)",
    "The first digits of the first items.", ("digits([12, 345], 1)", "[1]"),
    rule=_digit_rule, appended="", takes_map=False, takes_none=TAKES_SOME, types_argument=False,
    run=_first_digits, undefined="by value",
    may_be_none=lambda arguments: False, size=_digit_size,
    interval=lambda arguments: Interval(0, 0), ranges_type="never", items=_digit_items,
    order="any", linear="no", narrowed="", flow=COMPUTES, code="call",
)  # fmt: skip

HALF = Builtin(
    "half", "function", "half(whole number)",
    "Half of an even number; none of an odd one.", ("half(4)", "2"),
    rule=lambda types: WHOLE if types and isinstance(types[0], Number) else None,
    appended="", takes_map=False, takes_none=TAKES_SOME, types_argument=False,
    run=lambda x: x // 2, undefined="never",
    may_be_none=lambda arguments: False, size=lambda arguments: 1,
    interval=lambda arguments: arguments[0].number
    * Interval(Fraction(1, 2), Fraction(1, 2)),
    ranges_type="bounded", items=lambda arguments: arguments[0],
    order="any", linear="no", narrowed="", flow=COMPUTES, code="({0} // 2)",
)  # fmt: skip


@pytest.mark.parametrize("row", [DIGITS, HALF], ids=lambda row: row.name)
def test_one_row_adds_a_built_in(
    row: Builtin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BUILTINS, row.name, row)
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    sys.modules.pop("generate", None)
    text = {"digits": "sum(digits(hand, bid)) + len(digits(hand, 2))", "half": "half(4 * bid)"}
    ir = game(tmp_path, text[row.name])
    wanted = {"digits": [5, 6, 9], "half": [2, 4, 6]}[row.name]
    for kernel in (ReferenceKernel(ir), Generated(ir)):
        assert sorted({p["ann"] for p in payoffs(kernel)}) == wanted
    assert (row.code.format("(4 * s.v_bid)") if "{" in row.code else row.name) in write_game(ir)

    payoff, values = ir.payoffs[0][1], Interpreter(ir.seats, {})
    assert not values.value(payoff).none
    if row is DIGITS:
        collection = payoff.arguments[0].arguments[0]
        assert (values.size(collection), values.value(collection).item.number.high) == (3, 9)
        assert values.interval(payoff).ends == (0, 27 + 2)
    else:
        assert values.interval(payoff).ends == (2, 6)
        ranged = game(tmp_path, "bid", GAME.replace("from: 1..3", "from: 1..half(8)"))
        assert [option.value for option in ranged.steps[0].options[0]] == [1, 2, 3, 4]

    import generate

    assert (
        f"| `{row.usage}` | {row.about} | `{row.example[0]}` is `{row.example[1]}` |"
        in "\n".join(generate.expressions())
    )


PARTIAL = Builtin(
    "reciprocal", "function", "reciprocal(number)",
    "One by the number; undefined for 0.", ("reciprocal(4)", "0.25"),
    rule=lambda types: NUMBER if len(types) == 1 and isinstance(types[0], Number) else None,
    appended="", takes_map=False, takes_none=TAKES_SOME, types_argument=False,
    run=partial(_divide_by, Fraction(1)), undefined="by value",
    may_be_none=lambda arguments: False, size=lambda arguments: 1,
    interval=lambda arguments: ANY_NUMBER, ranges_type="never",
    items=lambda arguments: arguments[0], order="any", linear="no", narrowed="",
    flow=COMPUTES, code="call",
)  # fmt: skip


@pytest.mark.parametrize(("undefined", "codes"), [("by value", ["GD0402"]), ("never", [])])
def test_undefined_payoff_of_an_added_row_is_found(
    undefined: Any, codes: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last of 400 outcomes has no payoff, and only ten histories are enumerated."""
    monkeypatch.setitem(BUILTINS, PARTIAL.name, replace(PARTIAL, undefined=undefined))
    (tmp_path / "far.yaml").write_text(
        "game: far\nroles: [ann, bob]\nturns:\n  - {role: all, choose: n, from: 1..20}\n"
        "payoffs: reciprocal(40 - n.ann - n.bob)\n"
    )
    found = compile_file(tmp_path / "far.yaml", histories=10).diagnostics
    assert [one.code for one in found if one.code == "GD0402"] == codes
