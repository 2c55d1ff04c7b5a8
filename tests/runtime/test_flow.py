"""In which order steps run: conditions, loops, the end, stages."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from gamedsl import EvaluationError
from gamedsl.engine.kernel import PlayError
from gamedsl.ir import expr as ex
from gamedsl.ir.program import Action, Block, Pay, Stage
from tests.runtime.programs import (
    AB,
    ANY,
    GO,
    HERE,
    LOG,
    ME,
    at,
    choose,
    do,
    draw,
    either,
    eq,
    game,
    it,
    logged,
    loop,
    mine,
    op,
    paid,
    pay,
    put,
    read,
    show,
    start,
    state,
    trace,
)  # fmt: skip


def test_steps_run_in_order_under_conditions() -> None:
    assert logged(
        do(trace(1)),
        do(trace(2), condition=it(False)),
        Block("block", (do(trace(3)), do(trace(4))), HERE, it(True)),
        Block("block", (do(trace(5)), do(trace(6))), HERE, it(False)),
        do(trace(7)),
    ) == (1, 3, 4, 7)


def test_a_condition_that_is_none_is_an_error() -> None:
    with pytest.raises(EvaluationError, match="none here"):
        logged(do(trace(1), condition=read("x")))


def test_loop_counts_passes_from_one() -> None:
    assert logged(
        loop(do(trace(read("n"))), times=3, count="n"), do(trace(op("*", 10, read("n"))))
    ) == (1, 2, 3, 30)


def test_a_loop_of_no_passes_is_skipped() -> None:
    assert logged(loop(do(trace(1)), times=0), do(trace(2))) == (2,)
    assert logged(loop(do(trace(1)), items=(), item="x"), do(trace(2))) == (2,)
    assert logged(loop(do(trace(1)), items=(), item="x", cycle=True), do(trace(2))) == (2,)


def test_times_and_items_are_fixed_at_entry() -> None:
    grow = put("n", op("+", read("n"), 1))
    assert logged(loop(do(grow, trace(read("n"))), times=read("n")), states=(state("n", 2),)) == (
        3,
        4,
    )
    assert (
        logged(
            loop(do(trace(read("x"))), items=read("log"), item="x"),
            states=(),
        )
        == ()
    )
    assert logged(
        do(trace(1), trace(2)), loop(do(trace(read("x"))), items=read("log"), item="x")
    ) == (1, 2, 1, 2)


def test_until_is_looked_at_after_a_pass() -> None:
    assert logged(loop(do(trace(read("n"))), count="n", until=it(True), bound=9)) == (1,)
    assert logged(loop(do(trace(read("n"))), count="n", until=op(">=", read("n"), 3), bound=9)) == (
        1,
        2,
        3,
    )
    assert logged(
        loop(do(trace(read("n"))), times=2, count="n", until=op(">=", read("n"), 3)), do(trace(9))
    ) == (1, 2, 9)


def test_a_bound_that_is_reached() -> None:
    def run(**more: Any) -> Any:
        return logged(loop(do(trace(1)), bound=2, **more), do(trace(9)))

    assert run(items=AB, cycle=True) == (1, 1, 9)
    assert run(items=AB, cycle=True, until=it(False), at_bound="go_on") == (1, 1, 9)
    assert run(items=AB, cycle=True, until=it(False), at_bound="end") == (1, 1)
    with pytest.raises(PlayError, match="this loop has not ended after 2 passes"):
        run(items=AB, cycle=True, until=it(False))
    assert run(times=2, until=it(False)) == (1, 1, 9)


def test_seat_loop_restores_the_outer_actor() -> None:
    inner = loop(do(trace(ME)), id="inner", items=("b", "a"))
    outer = loop(do(trace(ME)), inner, do(trace(ME)), items=AB)
    assert logged(outer) == ("a", "b", "a", "a", "b", "b", "a", "b")
    assert logged(outer, do(trace(either(eq(ME, None), 1, 2))))[-1] == 1


def test_variable_loop_item_does_not_act() -> None:
    inner = loop(do(trace(read("x")), trace(ME)), id="inner", items=(1, 2), item="x")
    assert logged(loop(inner, items=("b",)), do(trace(read("x")))) == (1, "b", 2, "b", 2)


def test_a_cycle_goes_round_and_round() -> None:
    assert logged(loop(do(trace(ME)), items=AB, cycle=True, bound=5)) == ("a", "b", "a", "b", "a")


def test_pass_forgets_bindings_but_keeps_the_past() -> None:
    turns = [
        loop(
            do(trace(either(eq(read("x"), None), 0, read("x")))),
            show("x", read("n")),
            do(trace(op("len", ex.Past(ANY, HERE, "x")))),
            times=3, count="n", resets=("x",),
        )
    ]  # fmt: skip
    assert logged(*turns) == (0, 1, 0, 2, 0, 3)
    kept = [loop(*turns[0].body, times=3, count="n")]
    assert logged(*kept) == (0, 1, 1, 2, 2, 3)


def test_the_end_is_checked_after_every_step() -> None:
    full = op(">=", op("len", read("log")), 2)
    assert logged(do(trace(1)), do(trace(2)), do(trace(3)), end=full) == (1, 2)
    assert logged(do(trace(1), trace(2), trace(3)), do(trace(4)), end=full) == (1, 2, 3)
    assert logged(loop(do(trace(1)), times=9), do(trace(4)), end=full) == (1, 1)
    assert logged(do(trace(1)), show("x", 1), do(trace(2)), end=eq(read("x"), 1)) == (1,)


@pytest.mark.parametrize(
    ("step", "moves"),
    [
        (choose("x", ["a"], GO), ["go"]),
        (draw("x", ("go", "stop")), [0]),
        (show("x", "go"), []),
        (do(put("x", "go")), []),
        (pay("s", {"a": 1}), []),
    ],
)
def test_each_kind_of_step_can_end_the_game(step: Any, moves: list[Any]) -> None:
    over = op("!=", read("x"), None)
    ir = game(
        AB, [do(put("x", "go"), condition=it(isinstance(step, Pay))), step, do(trace(1))],
        {"a": op("len", read("log"))}, state=LOG, end=over,
    )  # fmt: skip
    assert paid(ir, *moves) == 0


def test_body_is_one_move_before_the_end() -> None:
    mark = Action("mark", (), None, (do(put("won", True)), do(trace(1))), HERE)
    ir = game(
        AB, [choose("move", ["a"], ["mark"], moves=(mark,)), do(trace(2))],
        {"a": op("len", read("log"))}, state=[*LOG, state("won", False)], end=read("won"),
    )  # fmt: skip
    assert paid(ir, "mark") == 1


def test_a_draw_for_several_is_one_step() -> None:
    over = op("!=", read("die"), None)
    ir = game(
        AB, [draw("die", (1, 2), per=(AB,), by_seat=True)], {"a": at(read("die"), "b")}, end=over
    )
    assert paid(ir, 0, 1) == 2


def test_utility_sums_streams_and_payoffs() -> None:
    turns = [loop(pay("payoffs", {"a": 1, "b": mine("size")}), pay("work", {"a": 3}), times=2)]
    ir = game(
        AB, turns, {"a": 10, "b": 20}, state=[state("size", {"a": 0, "b": Fraction(1, 2)})],
        scores=(("idle", (("a", op("neg", at(ex.Stream(ANY, HERE, "work"), "a"))), ("b", it(0)))),),
    )  # fmt: skip
    history = start(ir)
    assert history.payoffs == {"a": 12, "b": 21}
    assert history.streams["work"] == {"a": 6, "b": 0}
    assert history.streams["idle"] == {"a": -6, "b": 0}


def test_utility_without_payoffs_sums_streams() -> None:
    work = ex.Get(ANY, HERE, ex.Stream(ANY, HERE, "work"), ME)
    ir = game(AB, [pay("work", {"a": 3, "b": 4})], split=work)
    assert start(ir).payoffs == start(ir).rewards == {"a": 3, "b": 4}
    ir = game(AB, [pay("work", {"a": 3, "b": 4}), pay("payoffs", {"a": 1})], split=work)
    assert start(ir).payoffs == {"a": 1, "b": 0}
    assert start(ir).rewards == {"a": 3, "b": 4}


def stage(*body: Any, end: Any = None, weight: Any = 1, **payoffs: Any) -> Stage:
    listed = tuple((seat, it(amount)) for seat, amount in payoffs.items())
    inner = (state("pot", 0),)
    return Stage("stage", body, inner, ("move",), end, listed, it(weight), HERE)


def test_stage_restarts_and_weights_its_payoffs() -> None:
    grow = do(put("pot", op("+", read("pot"), 1)))
    inner = stage(grow, grow, a=read("pot"), b=1, weight=op("**", Fraction(1, 2), read("t")))
    ir = game(AB, [loop(inner, times=2, count="t")], {"a": 100})
    assert start(ir).payoffs == {"a": Fraction(203, 2), "b": Fraction(3, 4)}


def test_stage_end_ends_only_its_own_loops() -> None:
    grow = do(put("pot", op("+", read("pot"), 1)))
    full, turn = (
        op(">=", read("pot"), 3),
        do(trace(read("pot")), trace(either(eq(ME, None), 0, ME))),
    )
    inner = stage(loop(grow, id="inner", items=AB, cycle=True, bound=9), end=full)
    assert logged(loop(inner, turn, times=2), end=None) == (3, 0, 3, 0)
    over = op(">=", op("len", read("log")), 2)
    assert logged(loop(inner, turn, times=9), end=over) == (3, 0)
    busy = stage(do(trace(1)), do(trace(2)), do(trace(3)), a=5)
    assert logged(busy, do(trace(4)), end=over) == (1, 2, 3)
    bounded = stage(
        loop(grow, id="inner", items=AB, cycle=True, bound=2, until=it(False), at_bound="end")
    )
    assert logged(bounded, turn) == (2, 0)


def test_bound_in_body_ends_enclosing_game_or_stage() -> None:
    twice = loop(do(trace(1)), times=9, bound=2, until=it(False), at_bound="end")
    dig = choose("move", ["a"], ["dig"], moves=(Action("dig", (), None, (twice,), HERE),))
    payoffs = {"a": op("len", read("log"))}
    assert paid(game(AB, [dig, do(trace(2))], payoffs, state=LOG), "dig") == 2
    ir = game(AB, [stage(dig, do(trace(2))), do(trace(3))], payoffs, state=LOG)
    assert paid(ir, "dig") == 3


def test_a_stage_forgets_what_it_bound() -> None:
    inner = stage(do(trace(either(eq(read("move"), None), 0, read("move")))), show("move", 1))
    assert logged(inner, inner) == (0, 0)


def test_payments_inside_a_stage_are_weighted() -> None:
    deep = stage(pay("payoffs", {"a": 1}), pay("work", {"a": 1}), a=2, weight=10)
    outer = Stage("outer", (deep,), (), (), None, (("a", it(5)),), it(2), HERE)
    history = start(game(AB, [pay("payoffs", {"a": 1}), outer], {"a": 0}))
    assert history.payoffs == {"a": 71, "b": 0}
    assert history.streams["work"] == {"a": 1, "b": 0}


def test_copies_go_their_own_ways() -> None:
    ir = game(AB, [loop(choose("x", AB, GO, actor=ME), do(trace(read("x"))), items=AB)],
              {"a": op("len", read("log"))}, state=LOG)  # fmt: skip
    one = start(ir)
    two = one.copy()
    one.choose(["go"])
    assert two.asks[0].seat == "a"
    assert two.seen("b") == ()
    two.choose(["stop"])
    three = two.copy()
    two.choose(["go"])
    assert (one._state.bindings["log"], three._state.bindings["log"]) == (("go",), ("stop",))
    assert two._state.bindings["log"] == ("stop", "go")
    assert two.kind == "end"
