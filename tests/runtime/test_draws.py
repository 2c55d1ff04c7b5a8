"""What chance draws, where it goes, and who comes to know what."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from gamedsl.engine.kernel import PlayError
from gamedsl.ir import expr as ex
from gamedsl.ir.program import Source
from gamedsl.ir.statements import Readers
from gamedsl.ir.types import Bag as BagType
from gamedsl.ir.types import Enum, List, PerSeat, Record
from gamedsl.ir.values import Bag
from tests.runtime.programs import (
    AB,
    ANY,
    GO,
    HERE,
    ME,
    NOBODY,
    OTHERS,
    OWNER,
    at,
    choose,
    draw,
    eq,
    from_bag,
    game,
    it,
    loop,
    mine,
    names,
    op,
    place,
    played,
    read,
    show,
    start,
    state,
)  # fmt: skip


def test_a_deal_gives_to_each_what_is_left() -> None:
    ir = game(AB, [draw("card", "JQQ", per=(AB,), deal=True, by_seat=True)], {"a": 0})
    history = start(ir)
    assert history.draws == ("card", ("a",))
    assert list(history.outcomes) == [("J", Fraction(1, 3)), ("Q", Fraction(2, 3))]
    history.draw(1)
    assert history.draws == ("card", ("b",))
    assert list(history.outcomes) == [("J", Fraction(1, 2)), ("Q", Fraction(1, 2))]
    history.draw(0)
    assert history._state.bindings["card"] == {"a": "Q", "b": "J"}


def test_draws_for_each_are_independent() -> None:
    step = draw("die", (1, 2), OWNER, per=(AB, ("x", "y")), by_seat=True)
    history = start(game(AB, [step], {"a": 0}))
    for _ in range(4):
        assert [outcome.name for outcome in history.outcomes] == ["1", "2"]
        history.draw(history.outcome_count - 1)
    assert history._state.bindings["die"] == {"a": {"x": 2, "y": 2}, "b": {"x": 2, "y": 2}}
    assert names(history, "a") == ["a.die=x:2", "a.die=y:2"]


def test_draw_source_may_depend_on_recipient() -> None:
    step = draw("card", mine("hand"), per=(AB,), by_seat=True)
    history = start(game(AB, [step], {"a": 0}, state=[state("hand", {"a": (1,), "b": (2, 3)})]))
    assert [o.name for o in history.outcomes] == ["1"]
    history.draw(0)
    assert [o.name for o in history.outcomes] == ["2", "3"]


def test_drawing_from_a_bag_removes_the_value() -> None:
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
    assert history._state.bindings["deck"] == Bag.of(["Q"])


def test_some_of_a_list_or_bag_at_once() -> None:
    scene = draw("scene", Source("values", values=it("abc"), take=it(2)))
    history = played(game(AB, [scene], {"a": 0}), 1)
    assert history._state.bindings["scene"] == ("a", "c")
    assert names(history, "a") == [".scene=a,c"]
    turns = [draw("hand", from_bag("deck", take=2), place=place("hand", ME), how="append")]
    states = [state("deck", Bag.of("aabb")), state("hand", {"a": ("z",), "b": ()})]
    ir = game(AB, [loop(*turns, items=("a",))], {"a": 0}, state=states)
    assert list(start(ir).outcomes) == [
        ("a,a", Fraction(1, 6)), ("a,b", Fraction(2, 3)), ("b,b", Fraction(1, 6)),
    ]  # fmt: skip
    bindings = played(ir, 1)._state.bindings
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
    assert history._state.bindings["hand"] == {"a": ("x",), "b": ("y",)}
    assert names(history, "a") == ["b.hand=y"]
    assert names(history, "b") == ["a.hand=x"]
    with pytest.raises(PlayError, match="the list has 2 items, more than 1"):
        history.draw(0)
    each = loop(draw("hand", "xy", OTHERS, place=place("hand", ME)), items=AB)
    history = played(game(AB, [each], {"a": 0}, state=[state("hand", {"a": 0, "b": 0})]), 0, 1)
    assert names(history, "a") == ["b.hand=y"]
    each = loop(draw("hand", "xy", OTHERS, place=place("hand", read("r"))), items=AB, item="r")
    history = played(game(AB, [each], {"a": 0}, state=[state("hand", {"a": 0, "b": 0})]), 0, 1)
    assert names(history, "a") == ["b.hand=y"]


def test_hands_are_dealt_without_what_earlier_hands_have() -> None:
    source = Source("values", values=it((1, 2, 3, 3)), take=it(2))
    ir = game(AB, [draw("hand", source, per=(AB,), deal=True, by_seat=True)], {"a": 0})
    history = played(ir, 1)
    assert [outcome.name for outcome in history.outcomes] == ["2,3"]


def test_draw_for_nobody_and_past_for_several() -> None:
    past = ex.Past(ANY, HERE, "die")
    nobody, both = (draw("die", (1, 2), per=(seats,)) for seats in ((), AB))
    assert start(game(AB, [nobody], {"a": 0})).kind == "end"
    ir = game(AB, [loop(both, times=2)], {"a": op("len", past), "b": at(at(past, 1), "a")})
    assert played(ir, 0, 0, 1, 1).payoffs == {"a": 2, "b": 2}


def test_redrawn_variable_drops_old_recipients() -> None:
    turns = [draw("die", (1, 2), per=(AB,)), draw("die", (1, 2), per=(("a",),), id="die_2")]
    assert played(game(AB, turns, {"a": op("len", read("die"))}), 0, 0, 0).payoffs["a"] == 1


def test_chance_key_has_seed_step_pass_index() -> None:
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


def test_readers_of_choices_draws_and_shows() -> None:
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


def test_what_is_chosen_together_becomes_known_together() -> None:
    known = Readers("test", test=eq(op("len", read("x")), 2))
    step = choose("x", AB, GO, joint=True, readers=known)
    history = played(game(AB, [step], {"a": 0}), ["go", "stop"])
    assert names(history, "a") == names(history, "b") == ["a.x=go", "b.x=stop"]


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
