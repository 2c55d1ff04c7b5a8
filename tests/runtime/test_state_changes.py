"""Statements write parts of variables, and say what they cannot."""

from __future__ import annotations

from typing import Any

import pytest

from gamedsl.engine.kernel import PlayError
from gamedsl.ir import expr as ex
from gamedsl.ir.statements import DropItem, ForEach, Key
from gamedsl.ir.types import WHOLE, List, Option, PerSeat, Record, range_type
from gamedsl.ir.values import Bag
from tests.runtime.programs import (
    AB,
    ANY,
    HERE,
    add,
    at,
    do,
    drop,
    eq,
    game,
    it,
    op,
    place,
    put,
    read,
    start,
    state,
)  # fmt: skip


def stated(start_value: Any, *statements: Any, type: Any = ANY, **more: Any) -> Any:
    ir = game(AB, [do(*statements)], {"a": 0}, state=[state("x", start_value, type)], **more)
    return start(ir)._state.bindings["x"]


def test_statements_write_parts() -> None:
    item, field = Key("item", it(1)), Key("field", None, (0,))
    cell = Key("cell", it((1, 0)), (2, 3))
    assert stated((1, 2, 3), put("x", 9, item)) == (1, 9, 3)
    assert stated((1, 2, 3, 4, 5, 6), put("x", 9, cell)) == (1, 2, 3, 9, 5, 6)
    assert stated({"a": ((1, 2),) * 2}, put("x", 9, "a", item, field)) == {"a": ((1, 2), (9, 2))}
    assert stated((1,), add("x", 1)) == (1, 1)
    assert stated(frozenset({1}), add("x", 1), add("x", 2)) == frozenset({1, 2})
    assert stated(Bag.of("a"), add("x", "a")) == Bag.of("aa")
    assert stated((1, 2, 1), drop("x", 1)) == (2, 1)
    assert stated(Bag.of("aab"), drop("x", "a")) == Bag.of("ab")
    assert stated(frozenset("ab"), drop("x", "a")) == frozenset("b")
    assert stated((7, 8, 9), DropItem(place("x"), it(1), HERE)) == (7, 9)


@pytest.mark.parametrize(
    ("value", "statement", "message"),
    [
        ((1,), put("x", 9, Key("item", it(1))), "a list of 1 has no item 1"),
        ((1,) * 4, put("x", 9, Key("cell", it((2, 0)), (2, 2))), r"no cell \(2, 0\)"),
        ({"a": 1}, put("x", 9, "b"), "there is nothing for b"),
        ({"a": 1}, put("x", 9, None), "its key is none"),
        (None, put("x", 9, "a"), "none has no parts"),
        ((1,), drop("x", 2), "there is no 2 to drop"),
        (Bag.of("a"), drop("x", "b"), "there is no b to drop"),
        ((1,), DropItem(place("x"), it(1), HERE), "a list of 1 has no item 1"),
        (0, put("x", 6, type=range_type(0, 5)), "6 is not from 0 to 5"),
        (0, put("x", None, type=WHOLE), "it is none"),
        ((), put("x", (1, 2), type=List(WHOLE, at_most=1)), "more than 1"),
        ((1,), add("x", 2, type=List(WHOLE, at_most=1)), "more than 1"),
        ((1,), add("x", 9, type=List(range_type(0, 5))), "9 is not from 0 to 5"),
        ({"a": 1}, put("x", {"a": 9}, type=PerSeat(range_type(0, 5))), "9 is not from 0 to 5"),
        ((), put("x", (1, 9), type=Record("r", (("p", WHOLE), ("q", range_type(0, 5))))),
         "9 is not from 0 to 5"),
    ],
)  # fmt: skip
def test_what_cannot_be_written(value: Any, statement: Any, message: str) -> None:
    with pytest.raises(PlayError, match=message):
        stated(value, statement)


def test_optional_variable_may_become_none() -> None:
    assert stated(1, put("x", None, type=Option(range_type(0, 5)))) is None


def test_parallel_statement_reads_the_old_state() -> None:
    def local(name: str) -> ex.Local:
        return ex.Local(ANY, HERE, name)

    r = local("r")
    swap = ForEach(
        put("x", at(read("x"), op("other", r, AB)), r), ("r",), it(AB), None, False, HERE
    )
    assert stated({"a": 1, "b": 2}, swap) == {"a": 2, "b": 1}
    some = ForEach(put("x", 0, r), ("r",), it(AB), eq(r, "b"), False, HERE)
    assert stated({"a": 1, "b": 2}, some) == {"a": 1, "b": 0}
    items = ForEach(DropItem(place("x"), local("i"), HERE), ("i", "v"), read("x"),
                    op(">", local("v"), 1), True, HERE)  # fmt: skip
    assert stated((1, 2, 3, 1), items) == (1, 1)
    clash = ForEach(put("x", r), ("r",), it((1, 2)), None, False, HERE)
    with pytest.raises(PlayError, match="one place is given two values: 1 and 2"):
        stated(0, clash)
