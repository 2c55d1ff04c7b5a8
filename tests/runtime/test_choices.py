"""Who chooses, from what, and what a choice does."""

from __future__ import annotations

from typing import Any

import pytest

from gamedsl.engine.kernel import PlayError
from gamedsl.ir import expr as ex
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Action
from gamedsl.ir.types import PerSeat, range_type
from gamedsl.ir.values import name_of
from tests.runtime.programs import (
    AB,
    ANY,
    GO,
    HERE,
    LOG,
    ME,
    asked,
    at,
    choose,
    do,
    either,
    eq,
    game,
    it,
    loop,
    mine,
    names,
    op,
    paid,
    place,
    played,
    put,
    read,
    show,
    start,
    state,
    trace,
)  # fmt: skip


def test_actor_may_be_computed_and_me_acts() -> None:
    turns = [
        loop(choose("move", AB, [0, 1, 2, 3], actor=ME, legal=it(mine("may"))), items=AB),
        choose("last", AB, GO, actor=read("who"), condition=eq(ME, "b")),
    ]
    ir = game(
        AB, turns, {"a": 0}, state=[state("may", {"a": (3, 1), "b": (2,)}), state("who", "b")]
    )
    history = start(ir)
    assert [ask.legal for ask in history.asks] == [("1", "3")]
    history.choose(["3"])
    assert asked(history) == [("b", "move")]
    assert history.asks[0].legal == ("2",)
    history.choose(["2"])
    assert asked(history) == [("b", "last")]


def test_missing_or_ineligible_actor_is_refused() -> None:
    with pytest.raises(PlayError, match="none cannot act here"):
        start(game(AB, [choose("x", AB, GO, actor=read("who"))], {"a": 0}))
    with pytest.raises(PlayError, match="b cannot act here"):
        start(game(AB, [choose("x", ["a"], GO, actor=it("b"))], {"a": 0}))
    skipped = choose("x", AB, GO, actor=read("who"), condition=op("!=", read("who"), None))
    assert start(game(AB, [skipped], {"a": 0})).kind == "end"


def test_legal_options_keep_the_options_order() -> None:
    ir = game(AB, [choose("x", ["a"], [1, 2, 3], legal=it((3, 1)))], {"a": 0})
    assert start(ir).asks[0].legal == ("1", "3")
    with pytest.raises(PlayError, match="7 is no option of `x`"):
        start(game(AB, [choose("x", ["a"], [1, 2, 3], legal=it((3, 7)))], {"a": 0}))


def test_instances_of_actions() -> None:
    """A later parameter may depend on an earlier one and on who acts; `when` has the last word."""
    raise_ = Action(
        "raise",
        (("by", it((1, 2))), ("to", op("..", read("by"), 2))),
        op("!=", op("+", read("by"), read("to")), mine("banned")),
        (do(put("bid", op("+", op("*", 10, read("by")), read("to")))),),
        HERE,
    )
    options = ["pass", ("raise", 1, 1), ("raise", 1, 2), ("raise", 2, 2)]
    turns = [choose("move", ["b"], [], moves=(Action("pass", (), None, (), HERE), raise_))]
    turns[0] = choose("move", ["b"], options, moves=turns[0].moves)
    ir = game(
        AB, turns, {"a": read("bid")}, state=[state("bid", 0), state("banned", {"a": 0, "b": 2})]
    )

    assert start(ir).asks[0].legal == tuple(map(name_of, ["pass", *options[2:]]))
    assert paid(ir, "pass") == 0
    assert paid(ir, name_of(("raise", 1, 2))) == 12


def test_joint_choices_precede_bodies_in_seat_order() -> None:
    grab = Action(
        "grab", (), op(">", read("left"), 0),
        (do(put("left", op("-", read("left"), 1)), trace(ME)), show("rest", read("left"))), HERE,
    )  # fmt: skip
    step = choose(
        "move", AB, ["grab", "wait"], joint=True, moves=(grab, Action("wait", (), None, (), HERE))
    )
    ir = game(
        AB, [step, do(trace(at(read("move"), "b")), trace(either(eq(ME, None), 0, ME)))],
        {"a": 0}, state=[*LOG, state("left", 1)],
    )  # fmt: skip
    history = start(ir)
    assert [ask.legal for ask in history.asks] == [("grab", "wait")] * 2
    history.choose(["grab", "grab"])
    assert history._state.bindings["left"] == -1
    assert history._state.bindings["log"] == ("a", "b", "grab", 0)
    assert names(history, "b") == ["a.move=grab", "b.move=grab", ".rest=0", ".rest=-1"]


def test_those_choose_together_for_whom_the_condition_holds() -> None:
    abc = ("a", "b", "c")
    step = choose("vote", abc, GO, joint=True, condition=op("!=", ME, "b"))
    ir = game(abc, [step], {"a": op("len", read("vote"))})
    assert [seat for seat, _ in asked(start(ir))] == ["a", "c"]
    assert paid(ir, ["go", "stop"]) == 2
    nobody = choose("vote", abc, GO, joint=True, condition=it(False))
    assert start(game(abc, [nobody], {"a": 0})).kind == "end"


def test_choices_are_bound_by_variable_and_by_seat() -> None:
    """A turn forgets the last choice, but not what each seat chose last; a round forgets both."""
    last = ex.LastBy(ANY, HERE, "x")
    turns = loop(choose("x", AB, [1, 2], actor=ME), items=AB, resets=("x",))
    each = op("+", op("*", 10, at(last, "a")), at(last, "b"))
    assert paid(game(AB, [turns], {"a": op("+", each, op("*", 100, read("x")))}), "1", "2") == 212
    seen = do(trace(either(eq(read("x"), None), 0, read("x"))), trace(op("len", last)))
    choice = choose("x", AB, [1, 2], actor=ME)
    ir = game(AB, [loop(seen, choice, items=AB, resets=("x",))], {"a": 0}, state=LOG)
    assert played(ir, "1", "2")._state.bindings["log"] == (0, 0, 0, 1)
    rounds = loop(
        seen, choose("x", ["a"], [1, 2], condition=eq(read("n"), 1)), times=2, count="n",
        resets=("x",),
    )  # fmt: skip
    ir = game(AB, [rounds], {"a": 0}, state=LOG)
    assert played(ir, "1")._state.bindings["log"] == (0, 0, 0, 0)


def test_choice_may_write_the_actors_state() -> None:
    bid = place("bid", ME, type=range_type(0, 5))
    turns = [choose("bid", AB, [3, 9], joint=True, place=bid)]
    ir = game(AB, turns, {"a": op("-", at(read("bid"), "a"), at(read("bid"), "b"))}, state=[
        state("bid", {"a": 0, "b": 0}, PerSeat(range_type(0, 5)))])  # fmt: skip
    assert paid(ir, ["3", "3"]) == 0
    with pytest.raises(PlayError, match="`bid` cannot hold this: 9 is not from 0 to 5"):
        played(ir, ["3", "9"])


def test_who_has_no_legal_action() -> None:
    stuck = choose("x", AB, [1, 2], joint=True, legal=either(eq(ME, "a"), (), (1, 2)))
    lead = choose("open", ["a"], GO)
    turns = [lead, stuck, do(trace(1))]
    payoffs = {"a": op("len", read("log"))}

    def ruled(no_move: Any) -> GameIR:
        return game(AB, turns, payoffs, state=LOG, no_move=no_move)

    with pytest.raises(PlayError, match="`a` has no legal `x`") as caught:
        played(ruled("error"), "go")
    assert caught.value.witness == ("a has seen: a.open=go",)
    assert paid(ruled("end"), "go") == 0
    history = played(ruled("pass"), "go")
    assert asked(history) == [("b", "x")]
    assert paid(ruled("pass"), "go", "1") == 1
    none = choose("x", AB, [1, 2], joint=True, legal=it(()))
    assert paid(game(AB, [none, do(trace(1))], payoffs, state=LOG, no_move="pass")) == 1
