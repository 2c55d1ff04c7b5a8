"""What the operations of a game do, one rule at a time, in games written directly as IR."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from gamedsl import EvaluationError
from gamedsl.backends.interpreter import History, Interpreter
from gamedsl.backends.kernel import PlayError
from gamedsl.ir import expr as ex
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Action, Block, DropItem, ForEach, Key, Loop, Readers, Source, Stage
from gamedsl.ir.types import (
    NONE,
    SEAT,
    WHOLE,
    Bag as BagType,
    Enum,
    List,
    Option,
    PerSeat,
    Record,
    range_type,
)  # fmt: skip
from gamedsl.ir.values import Bag
from tests.runtime.programs import (
    ANY,
    HERE,
    ME,
    NOBODY,
    OTHERS,
    OWNER,
    add,
    at,
    choose,
    do,
    draw,
    drop,
    either,
    eq,
    from_bag,
    game,
    it,
    mine,
    op,
    pay,
    place,
    put,
    read,
    show,
    state,
)  # fmt: skip

AB = ("a", "b")
GO = ("go", "stop")


def start(ir: GameIR) -> History:
    return Interpreter(ir).start()


def played(ir: GameIR, *moves: Any) -> History:
    """A history after moves: a name for one who chooses, a list of them, or an outcome's number."""
    history = start(ir)
    for move in moves:
        before = history.copy()
        if isinstance(move, int):
            history.draw(move)
        else:
            history.choose([move] if isinstance(move, str) else move)
        assert before.kind != "end"
    return history


def paid(ir: GameIR, *moves: Any) -> Any:
    """What the first seat gets after moves that end the game."""
    history = played(ir, *moves)
    assert history.kind == "end"
    return history.payoffs[ir.seats[0]]


def names(history: History, seat: str) -> list[str]:
    return [f"{event.seat}.{event.step}={event.name}" for event in history.seen(seat)]


def asked(history: History) -> list[tuple[str, str]]:
    return [(ask.seat, ask.step) for ask in history.asks]


def loop(*body: Any, id: str = "loop", **more: Any) -> Loop:
    given = {k: it(v) if k in ("times", "items") else v for k, v in more.items()}
    return Loop(id, body, HERE, **given)


def trace(value: Any) -> Any:
    """Append to the list `log`."""
    return add("log", value)


LOG = [state("log", ())]


def logged(*turns: Any, states: tuple[Any, ...] = (), **more: Any) -> Any:
    """What the steps of a game without choices append to `log`."""
    history = start(game(AB, turns, {"a": 0}, state=(*LOG, *states), **more))
    assert history.kind == "end"
    return history._world.bindings["log"]


# conditions, blocks and loops


def test_steps_run_in_order_and_only_where_their_condition_holds() -> None:
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


def test_a_loop_counts_its_passes_from_one_and_keeps_the_last() -> None:
    assert logged(
        loop(do(trace(read("n"))), times=3, count="n"), do(trace(op("*", 10, read("n"))))
    ) == (1, 2, 3, 30)


def test_a_loop_of_no_passes_is_skipped() -> None:
    assert logged(loop(do(trace(1)), times=0), do(trace(2))) == (2,)
    assert logged(loop(do(trace(1)), items=(), item="x"), do(trace(2))) == (2,)
    assert logged(loop(do(trace(1)), items=(), item="x", cycle=True), do(trace(2))) == (2,)


def test_times_and_items_are_worked_out_when_the_loop_begins() -> None:
    grow = put("n", op("+", read("n"), 1))
    assert logged(
        loop(do(grow, trace(read("n"))), times=read("n")), states=(state("n", 2),)
    ) == (3, 4)
    assert logged(
        loop(do(trace(read("x"))), items=read("log"), item="x"),
        states=(),
    ) == ()
    assert logged(
        do(trace(1), trace(2)), loop(do(trace(read("x"))), items=read("log"), item="x")
    ) == (1, 2, 1, 2)


def test_until_is_looked_at_after_a_pass() -> None:
    assert logged(loop(do(trace(read("n"))), count="n", until=it(True), bound=9)) == (1,)
    assert logged(
        loop(do(trace(read("n"))), count="n", until=op(">=", read("n"), 3), bound=9)
    ) == (1, 2, 3)
    assert logged(
        loop(do(trace(read("n"))), times=2, count="n", until=op(">=", read("n"), 3)), do(trace(9))
    ) == (1, 2, 9)


def test_a_bound_that_is_reached() -> None:
    def run(**more: Any) -> Any:
        return logged(loop(do(trace(1)), bound=2, **more), do(trace(9)))

    assert run(items=AB, cycle=True) == (1, 1, 9)
    assert run(items=AB, cycle=True, until=it(False), at_bound="go_on") == (1, 1, 9)
    assert run(items=AB, cycle=True, until=it(False), at_bound="end") == (1, 1)
    with pytest.raises(PlayError, match="`until` has not held after 2 passes"):
        run(items=AB, cycle=True, until=it(False))
    assert run(times=2, until=it(False)) == (1, 1, 9)


def test_a_loop_over_seats_lets_each_act_and_gives_the_place_back() -> None:
    inner = loop(do(trace(ME)), id="inner", items=("b", "a"))
    outer = loop(do(trace(ME)), inner, do(trace(ME)), items=AB)
    assert logged(outer) == ("a", "b", "a", "a", "b", "b", "a", "b")
    assert logged(outer, do(trace(either(eq(ME, None), 1, 2))))[-1] == 1


def test_an_item_that_is_a_variable_does_not_act() -> None:
    inner = loop(do(trace(read("x")), trace(ME)), id="inner", items=(1, 2), item="x")
    assert logged(loop(inner, items=("b",)), do(trace(read("x")))) == (1, "b", 2, "b", 2)


def test_a_cycle_goes_round_and_round() -> None:
    assert logged(loop(do(trace(ME)), items=AB, cycle=True, bound=5)) == ("a", "b", "a", "b", "a")


def test_a_pass_forgets_what_it_binds_but_not_the_past() -> None:
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


# the end


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
        AB, [do(put("x", "go"), condition=it(step.__class__.__name__ == "Pay")), step, do(trace(1))],
        {"a": op("len", read("log"))}, state=LOG, end=over,
    )  # fmt: skip
    assert paid(ir, *moves) == 0


def test_a_body_is_one_move_and_the_end_waits_for_it() -> None:
    mark = Action("mark", (), None, (do(put("won", True)), do(trace(1))), HERE)
    ir = game(
        AB, [choose("move", ["a"], ["mark"], moves=(mark,)), do(trace(2))],
        {"a": op("len", read("log"))}, state=[*LOG, state("won", False)], end=read("won"),
    )  # fmt: skip
    assert paid(ir, "mark") == 1


def test_a_draw_for_several_is_one_step() -> None:
    over = op("!=", read("die"), None)
    ir = game(AB, [draw("die", (1, 2), per=(AB,), by_seat=True)], {"a": at(read("die"), "b")}, end=over)
    assert paid(ir, 0, 1) == 2


# choices


def test_the_actor_may_be_worked_out_and_me_is_who_acts() -> None:
    turns = [
        loop(choose("move", AB, [0, 1, 2, 3], actor=ME, legal=it(mine("may"))), items=AB),
        choose("last", AB, GO, actor=read("who"), condition=eq(ME, "b")),
    ]
    ir = game(AB, turns, {"a": 0}, state=[state("may", {"a": (3, 1), "b": (2,)}), state("who", "b")])
    history = start(ir)
    assert [ask.legal for ask in history.asks] == [("1", "3")]
    history.choose(["3"])
    assert asked(history) == [("b", "move")]
    assert history.asks[0].legal == ("2",)
    history.choose(["2"])
    assert asked(history) == [("b", "last")]


def test_an_actor_who_is_nobody_or_may_not_act() -> None:
    with pytest.raises(PlayError, match="none cannot act here"):
        start(game(AB, [choose("x", AB, GO, actor=read("who"))], {"a": 0}))
    with pytest.raises(PlayError, match="b cannot act here"):
        start(game(AB, [choose("x", ["a"], GO, actor=it("b"))], {"a": 0}))
    skipped = choose("x", AB, GO, actor=read("who"), condition=op("!=", read("who"), None))
    assert start(game(AB, [skipped], {"a": 0})).kind == "end"


def test_legal_options_stand_in_the_order_of_all_options() -> None:
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
    ir = game(AB, turns, {"a": read("bid")}, state=[state("bid", 0), state("banned", {"a": 0, "b": 2})])
    from gamedsl.ir.values import name_of

    assert start(ir).asks[0].legal == tuple(map(name_of, ["pass", *options[2:]]))
    assert paid(ir, "pass") == 0
    assert paid(ir, name_of(("raise", 1, 2))) == 12


def test_all_choose_in_the_state_before_and_bodies_run_in_seat_order() -> None:
    grab = Action(
        "grab", (), op(">", read("left"), 0),
        (do(put("left", op("-", read("left"), 1)), trace(ME)), show("rest", read("left"))), HERE,
    )  # fmt: skip
    step = choose("move", AB, ["grab", "wait"], joint=True, moves=(grab, Action("wait", (), None, (), HERE)))
    ir = game(
        AB, [step, do(trace(at(read("move"), "b")), trace(either(eq(ME, None), 0, ME)))],
        {"a": 0}, state=[*LOG, state("left", 1)],
    )  # fmt: skip
    history = start(ir)
    assert [ask.legal for ask in history.asks] == [("grab", "wait")] * 2
    history.choose(["grab", "grab"])
    assert history._world.bindings["left"] == -1
    assert history._world.bindings["log"] == ("a", "b", "grab", 0)
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
    turns = [loop(choose("x", AB, [1, 2], actor=ME), items=AB, resets=("x",))]
    last = ex.LastBy(ANY, HERE, "x")
    ir = game(AB, turns, {"a": op("+", op("*", 10, read("x")), op("len", last))})
    assert paid(ir, "1", "2") == 21  # the second pass forgot whose the first was
    kept = [loop(choose("x", AB, [1, 2], actor=ME), items=AB)]
    both = {"a": op("+", op("*", 10, at(last, "a")), at(last, "b"))}
    assert paid(game(AB, kept, both), "1", "2") == 12


def test_a_choice_may_write_the_actor_s_own_state() -> None:
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


# chance


def test_a_deal_gives_to_each_what_is_left() -> None:
    ir = game(AB, [draw("card", "JQQ", per=(AB,), deal=True, by_seat=True)], {"a": 0})
    history = start(ir)
    assert history.draws == ("card", ("a",))
    assert list(history.outcomes) == [("J", Fraction(1, 3)), ("Q", Fraction(2, 3))]
    history.draw(1)
    assert history.draws == ("card", ("b",))
    assert list(history.outcomes) == [("J", Fraction(1, 2)), ("Q", Fraction(1, 2))]
    history.draw(0)
    assert history._world.bindings["card"] == {"a": "Q", "b": "J"}


def test_draws_for_each_are_independent() -> None:
    step = draw("die", (1, 2), OWNER, per=(AB, ("x", "y")), by_seat=True)
    history = start(game(AB, [step], {"a": 0}))
    for _ in range(4):
        assert [outcome.name for outcome in history.outcomes] == ["1", "2"]
        history.draw(history.outcome_count - 1)
    assert history._world.bindings["die"] == {"a": {"x": 2, "y": 2}, "b": {"x": 2, "y": 2}}
    assert names(history, "a") == ["a.die=x:2", "a.die=y:2"]


def test_a_source_may_depend_on_whom_it_is_for() -> None:
    step = draw("card", mine("hand"), per=(AB,), by_seat=True)
    history = start(game(AB, [step], {"a": 0}, state=[state("hand", {"a": (1,), "b": (2, 3)})]))
    assert [o.name for o in history.outcomes] == ["1"]
    history.draw(0)
    assert [o.name for o in history.outcomes] == ["2", "3"]


def test_what_is_drawn_from_a_bag_is_taken_out() -> None:
    deck = state("deck", Bag.of(["K", "J", "J", "Q"]), BagType(ANY))
    rank = Enum("Rank", ("J", "Q", "K"))
    turns = [
        draw("card", from_bag("deck"), OWNER, per=(AB,), deal=True, by_seat=True, type=rank),
        draw("board", from_bag("deck"), type=rank),
    ]
    ir = game(AB, turns, {"a": op("len", read("deck"))}, state=[deck])
    history = start(ir)
    assert list(history.outcomes) == [
        ("J", Fraction(1, 2)), ("Q", Fraction(1, 4)), ("K", Fraction(1, 4)),
    ]  # fmt: skip
    history = played(ir, 0, 0)
    assert [outcome.name for outcome in history.outcomes] == ["Q", "K"]
    assert names(history, "a") == ["a.card=J"]
    history.draw(1)
    assert names(history, "b") == ["b.card=J", ".board=K"]
    assert history._world.bindings["deck"] == Bag.of(["Q"])


def test_some_of_a_list_or_bag_at_once() -> None:
    scene = draw("scene", Source("values", values=it("abc"), take=it(2)))
    history = played(game(AB, [scene], {"a": 0}), 1)
    assert history._world.bindings["scene"] == ("a", "c")
    assert names(history, "a") == [".scene=a,c"]
    turns = [draw("hand", from_bag("deck", take=2), place=place("hand", ME), how="append")]
    states = [state("deck", Bag.of("aabb")), state("hand", {"a": ("z",), "b": ()})]
    ir = game(AB, [loop(*turns, items=("a",))], {"a": 0}, state=states)
    assert list(start(ir).outcomes) == [
        ("a,a", Fraction(1, 6)), ("a,b", Fraction(2, 3)), ("b,b", Fraction(1, 6)),
    ]  # fmt: skip
    bindings = played(ir, 1)._world.bindings
    assert bindings["hand"] == {"a": ("z", "a", "b"), "b": ()}
    assert bindings["deck"] == Bag.of("ab")


def test_too_little_to_draw_from() -> None:
    with pytest.raises(PlayError, match="1 cannot be drawn from 0"):
        start(game(AB, [draw("x", ())], {"a": 0}))
    with pytest.raises(PlayError, match="3 cannot be drawn from 2"):
        start(game(AB, [draw("x", Source("values", values=it("ab"), take=it(3)))], {"a": 0}))


def test_a_draw_may_write_declared_state() -> None:
    """Each index is a part of the place; who a part belongs to is its owner."""
    hand = place("hand", type=PerSeat(List(ANY, at_most=1)))
    deal = draw("hand", "xy", OTHERS, place=hand, how="append", per=(AB,), by_seat=True, deal=True)
    ir = game(AB, [deal, deal], {"a": 0}, state=[state("hand", {"a": (), "b": ()})])
    history = played(ir, 0, 0)
    assert history._world.bindings["hand"] == {"a": ("x",), "b": ("y",)}
    assert names(history, "a") == ["b.hand=y"]
    assert names(history, "b") == ["a.hand=x"]
    with pytest.raises(PlayError, match="the list has 2 items, more than 1"):
        history.draw(0)
    each = loop(draw("hand", "xy", OTHERS, place=place("hand", ME)), items=AB)
    history = played(game(AB, [each], {"a": 0}, state=[state("hand", {"a": 0, "b": 0})]), 0, 1)
    assert names(history, "a") == ["b.hand=y"]


def test_chance_is_keyed_by_seed_step_pass_and_index() -> None:
    def drawn(*turns: Any, seed: int = 1) -> list[int]:
        history, found = start(game(AB, turns, {"a": 0})), []
        while history.kind != "end":
            if history.kind == "chance":
                found.append(history.pick(seed))
                history.draw(found[-1])
            else:
                history.choose([history.asks[0].legal[0]])
        return found

    dice = draw("die", tuple(range(1000)))
    alone = drawn(loop(dice, times=4))
    assert len(set(alone)) == 4
    before = draw("other", tuple(range(1000)), condition=it(True))
    assert drawn(loop(before, dice, times=4))[1::2] == alone
    assert drawn(loop(dice, times=4), seed=2) != alone
    both = drawn(draw("die", tuple(range(1000)), per=(AB,)))
    assert both[0] != both[1]
    assert drawn(draw("card", tuple(range(1000)))) != drawn(dice)


# who sees what


def test_who_sees_a_choice_a_draw_and_what_is_shown() -> None:
    abc = ("a", "b", "c")
    turns = [
        choose("x", ["b"], GO, readers=NOBODY),
        draw("y", (1, 2), Readers("seats", ("c",))),
        draw("z", (1, 2), Readers("test", test=op("!=", ME, "a"))),
        loop(show("w", op("+", read("y"), 10), OTHERS), items=("b",)),
        show("v", None),
    ]
    history = played(game(abc, turns, {"a": 0}), "go", 0, 1)
    assert names(history, "a") == [".w=11", ".v=none"]
    assert names(history, "b") == ["b.x=go", ".z=2", ".v=none"]
    assert names(history, "c") == [".y=1", ".z=2", ".w=11", ".v=none"]


def test_fields_with_readers_of_their_own() -> None:
    card = Record("Card", (("rank", ANY), ("suit", ANY)))
    readers = Readers("nobody", fields=((0, OWNER), (1, Readers("all"))))
    deal = draw("card", (("K", "s"), ("Q", "h")), readers, type=card, per=(AB,), by_seat=True)
    history = played(game(AB, [deal], {"a": 0}), 0, 1)
    assert names(history, "a") == ["a.card=rank=K,suit=s", "b.card=suit=h"]
    assert names(history, "b") == ["a.card=suit=s", "b.card=rank=Q,suit=h"]
    hidden = Readers("nobody", fields=((0, Readers("nobody")),))
    pick = choose("card", ["a"], [("K", "s"), ("Q", "h")], readers=hidden)
    history = played(game(AB, [pick], {"a": 0}), "K,s")
    assert (names(history, "a"), names(history, "b")) == (["a.card=K,s"], [])


def test_occurrences_count_what_the_reader_has_seen() -> None:
    shown = Readers("test", test=op("or", eq(ME, "a"), eq(read("n"), 3)))
    shown = Readers("test", test=ex.Logic(ANY, HERE, "or", eq(ME, "a"), eq(read("n"), 3)))
    ir = game(AB, [loop(show("x", read("n"), shown), times=3, count="n")], {"a": 0})
    history = start(ir)
    assert [event.occurrence for event in history.seen("a")] == [0, 1, 2]
    assert [event.occurrence for event in history.seen("b")] == [0]
    turns = [loop(choose("x", AB, GO, actor=ME), items=AB, cycle=True, bound=4)]
    history = played(game(AB, turns, {"a": 0}), "go", "go")
    assert history.asks[0].occurrence == 1


# statements


def stated(start_value: Any, *statements: Any, type: Any = ANY, **more: Any) -> Any:
    ir = game(AB, [do(*statements)], {"a": 0}, state=[state("x", start_value, type)], **more)
    return start(ir)._world.bindings["x"]


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
        ((), put("x", (1, 9), type=Record("r", (("p", WHOLE), ("q", range_type(0, 5))))), "9 is not"),
    ],
)  # fmt: skip
def test_what_cannot_be_written(value: Any, statement: Any, message: str) -> None:
    with pytest.raises(PlayError, match=message):
        stated(value, statement)


def test_what_may_be_none_may_be_set_to_none() -> None:
    assert stated(1, put("x", None, type=Option(range_type(0, 5)))) is None


def test_a_statement_for_many_sees_the_state_before_it() -> None:
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


# payments and stages


def test_streams_add_up_and_utility_is_what_is_paid_and_the_payoffs() -> None:
    turns = [loop(pay("payoffs", {"a": 1, "b": mine("size")}), pay("work", {"a": 3}), times=2)]
    ir = game(
        AB, turns, {"a": 10, "b": 20}, state=[state("size", {"a": 0, "b": Fraction(1, 2)})],
        scores=(("idle", (("a", op("neg", at(ex.Stream(ANY, HERE, "work"), "a"))), ("b", it(0)))),),
    )  # fmt: skip
    history = start(ir)
    assert history.payoffs == {"a": 12, "b": 21}
    assert history.streams["work"] == {"a": 6, "b": 0}
    assert history.streams["idle"] == {"a": -6, "b": 0}


def test_without_payoffs_utility_is_what_the_reward_file_splits() -> None:
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


def test_a_stage_starts_anew_and_its_payoffs_are_weighted() -> None:
    grow = do(put("pot", op("+", read("pot"), 1)))
    inner = stage(grow, grow, a=read("pot"), b=1, weight=op("**", Fraction(1, 2), read("t")))
    ir = game(AB, [loop(inner, times=2, count="t")], {"a": 100})
    assert start(ir).payoffs == {"a": Fraction(203, 2), "b": Fraction(3, 4)}


def test_the_end_of_a_stage_ends_only_itself_and_its_loops() -> None:
    grow = do(put("pot", op("+", read("pot"), 1)))
    full, turn = op(">=", read("pot"), 3), do(trace(read("pot")), trace(either(eq(ME, None), 0, ME)))
    inner = stage(loop(grow, id="inner", items=AB, cycle=True, bound=9), end=full)
    assert logged(loop(inner, turn, times=2), end=None) == (3, 0, 3, 0)
    over = op(">=", op("len", read("log")), 2)
    assert logged(loop(inner, turn, times=9), end=over) == (3, 0)
    busy = stage(do(trace(1)), do(trace(2)), do(trace(3)), a=5)
    assert logged(busy, do(trace(4)), end=over) == (1, 2, 3)
    bounded = stage(loop(grow, id="inner", items=AB, cycle=True, bound=2, until=it(False), at_bound="end"))
    assert logged(bounded, turn) == (2, 0)


def test_what_is_paid_inside_a_stage_is_weighted_too() -> None:
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
    assert (one._world.bindings["log"], three._world.bindings["log"]) == (("go",), ("stop",))
    assert two._world.bindings["log"] == ("stop", "go")
    assert two.kind == "end"
