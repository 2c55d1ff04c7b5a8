"""What a seat sees: as data, as text and as a vector; and that it sees no more."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice
from pathlib import Path

import pytest

import gamedsl
from gamedsl import Action
from gamedsl.ir import types as ty
from gamedsl.ir.statements import Readers
from gamedsl.ir.value_names import value_of
from gamedsl.ir.values import Bag, name_of
from gamedsl.prompting.visibility import may_read
from tests.export.games import NAMES, every_history, loaded, play, written
from tests.writing import write

CARD = ty.Record(
    "Card", (("colour", ty.Enum("C", ("red", "red_2"))), ("rank", ty.range_type(1, 3)))
)
SEATS = ("a", "a_1", "b")


@pytest.mark.parametrize(
    ("type", "value"),
    [
        (ty.NUMBER, Fraction(-2, 3)),
        (ty.Option(ty.SEAT), None),
        (ty.SEAT, "a_1"),
        (CARD, ("red_2", 3)),
        (ty.List(CARD), (("red", 1), ("red_2", 3))),
        (ty.List(CARD), ()),
        (ty.List(ty.cell_type(3, 3), 2), ((0, 1), (2, 2))),
        (ty.Set(ty.range_type(1, 12)), frozenset({1, 2, 12})),
        (ty.Set(CARD), frozenset()),
        (ty.Bag(CARD), Bag.of([("red", 1), ("red", 1), ("red_2", 2)])),
        (ty.PerSeat(ty.Option(ty.NUMBER)), {"a": None, "a_1": -2, "b": 3}),
        (ty.PerSeat(CARD, partial=True), {"b": ("red", 2)}),
        (ty.PerValue(CARD.types[0], ty.List(ty.WHOLE)), {"red": (), "red_2": (1, 2)}),
        (ty.Union((CARD.types[0], ty.range_type(1, 5))), 4),
        (ty.Grid(1, 3, ty.Option(ty.SEAT)), (None, "a_1", "a")),
    ],
    ids=str,
)
def test_a_value_is_read_back_from_its_name(type: ty.Type, value: object) -> None:
    assert value_of(name_of(value), type, SEATS) == value


def test_foreign_name_is_not_a_type_value() -> None:
    for name, type in [("blue", CARD.types[0]), ("red,4x", CARD), ("{1 2", ty.Set(ty.WHOLE))]:
        with pytest.raises(ValueError, match="is not"):
            value_of(name, type, SEATS)


def test_kuhn_as_data_text_and_vector() -> None:
    env = loaded("kuhn_poker").env()
    episode = env.reset(chance="asked")
    episode.draw(2)
    episode.draw(0)
    episode.step({"first": Action("check")})
    first, second = episode.view("first"), episode.view("second")
    assert second.data == {
        "seat": "second", "role": "second", "step": "reply", "legal": ["check", "bet"],
        "state": {}, "bound": {"card": {"second": "J"}, "open": "check"},
        "seen": [
            {"step": "card", "occurrence": 0, "seat": "second", "name": "J"},
            {"step": "open", "occurrence": 0, "seat": "first", "name": "check"},
        ],
    }  # fmt: skip
    assert first.data["bound"] == {"card": {"first": "K"}, "open": "check"}
    assert (first.step, first.legal) == (None, ())
    assert second.text == (
        "second chooses reply: check, bet\ncard: second J\nopen: check\n"
        "seen: second.card=J, first.open=check"
    )
    on = {name for name, x in zip(env.vector_names("second"), second.vector, strict=True) if x == 1}
    assert on == {"me=second", "asked:reply", "card[second]=J", "open=check"}
    assert set(second.vector) == {0, 1}


def test_a_board_is_drawn_as_a_grid() -> None:
    episode = loaded("tic_tac_toe").env().reset()
    for seat, name in [("x", "mark(0,2)"), ("o", "mark(1,1)")]:
        episode.step({seat: Action(name)})
    view = episode.view("o")
    assert view.text.splitlines()[:5] == [
        "o is not asked", "board:", "    0 1 2", "  0 . . x", "  1 . o .",
    ]  # fmt: skip
    assert view.data["state"]["board"] == [[None, None, "x"], [None, "o", None], [None] * 3]
    assert episode.table.splitlines()[0] == "board:"


def test_hidden_collections_reveal_only_length() -> None:
    env = loaded("small_hanabi").env()
    episode = env.reset(seed=1)
    view = episode.view("player_1")
    assert view.data["state"]["hand"]["player_1"] == {"length": 2}
    assert len(view.data["state"]["hand"]["player_2"]) == 2
    assert view.data["state"]["deck"] == {"length": 8}
    assert "deck: 8 hidden" in view.text
    assert "player_1: 2 hidden" in view.text
    named = dict(zip(env.vector_names("player_1"), view.vector, strict=True))
    assert (named["len(deck)"], named["len(hand[player_1])"]) == (8, 1)
    assert not any(name.startswith("hand[player_1][") for name in named)
    assert sum(named[f"hand[player_2][0].rank={rank}"] for rank in (1, 2, 3)) == 1
    assert "deck: " in episode.table
    assert "hidden" not in episode.table


FORMS = """\
game: forms
roles: [a, b]
types:
  Card: {rank: [J, Q], suit: [r, s]}
state:
  far: {of: 0..100, start: 25}
  purse: {of: 0..9, start: 3, seen_by: a}
  trail: {list: Card, at_most: 2}
  odd: {of: 1..3, start: 2, seen_by: me == b}
turns:
  - {draw: card, from: Card, seen_by: {rank: all, suit: b}}
  - {draw: two, from: 2 of Card, seen_by: owner, per: role}
  - {draw: price, from: 10..90, seen_by: all}
  - {role: a, choose: bid, from: 0..40, seen_by: owner}
  - {show: none if bid > 20 else a, as: low, seen_by: [b]}
  - {do: far = far - 25}
  - {role: b, choose: answer, from: [yes, no], seen_by: nobody}
payoffs: 0
"""


@pytest.fixture
def forms(tmp_path: Path) -> gamedsl.Env:
    return written(tmp_path, FORMS).env()


def begun(env: gamedsl.Env) -> gamedsl.Episode:
    """Card Q,s; two J,s and Q,s for both; price 50."""
    episode = env.reset(chance="asked")
    for name in ("Q,s", "J,s,Q,s", "J,s,Q,s", "50"):
        names = [outcome.name for outcome in episode.chance]
        episode.draw(names.index(name))
    return episode


def test_fields_are_seen_by_those_who_may(forms: gamedsl.Env) -> None:
    episode = begun(forms)
    assert episode.view("a").data["bound"]["card"] == {"rank": "Q"}
    assert episode.view("b").data["bound"]["card"] == {"rank": "Q", "suit": "s"}
    assert "card: rank=Q\n" in episode.view("a").text
    assert "card: Q,s\n" in episode.view("b").text
    for seat, suit in (("a", 0), ("b", 1)):
        named = dict(zip(forms.vector_names(seat), episode.view(seat).vector, strict=True))
        assert (named["card.rank=Q"], named["card.suit=s"]) == (1, suit)


PARTLY_SHOWN = """\
game: partly_shown
roles: [ann, bob]
types: {Card: {rank: 1..2, suit: [spades, hearts]}}
turns:
  - {role: ann, choose: pick, from: Card, seen_by: {suit: bob}}
  - {role: bob, choose: last, from: [a, b]}
payoffs: 1 if last == a else 0
"""


def test_choice_is_seen_in_part(tmp_path: Path) -> None:
    env = gamedsl.load(write(tmp_path, PARTLY_SHOWN)).env()
    episode = env.reset()
    episode.step({"ann": Action("2,hearts")})
    assert episode.view("ann").data["bound"]["pick"] == {"rank": 2, "suit": "hearts"}
    assert episode.view("bob").data["bound"]["pick"] == {"suit": "hearts"}
    for seat, rank in (("ann", 1), ("bob", 0)):
        named = dict(zip(env.vector_names(seat), episode.view(seat).vector, strict=True))
        assert (named["pick.rank=2"], named["pick.suit=hearts"]) == (rank, 1)
    assert "ann chose suit=hearts." in episode.decisions[0].messages[-1][1]


def test_numbers_lists_and_tests_as_floats(forms: gamedsl.Env) -> None:
    episode = begun(forms)
    a, b = (dict(zip(forms.vector_names(s), episode.view(s).vector, strict=True)) for s in "ab")
    assert a["far"] == 0.25
    assert (a["price is bound"], a["price"]) == (1, 0.5)
    assert a["purse=3"] == 1
    assert "purse=3" not in b
    assert (b["odd is seen"], b["odd=2"], a["odd is seen"], a["odd=2"]) == (1, 1, 0, 0)
    assert (a["two[a](J,s)"], a["two[a](J,r)"]) == (1, 0)
    assert "two[b](J,s)" not in a
    assert a["len(trail)"] == 0
    assert "trail[1].rank=Q" in a
    assert "trail[2].rank=Q" not in a
    assert (a["bid is bound"], a["asked:bid"], b["low is bound"]) == (0, 1, 0)
    episode.step({"a": Action("30")})
    a, b = (dict(zip(forms.vector_names(s), episode.view(s).vector, strict=True)) for s in "ab")
    assert (a["bid is bound"], a["bid"], a["far"]) == (1, 0.75, 0)
    assert not any(name.startswith("bid") for name in b)
    assert (b["low is bound"], b["low=a"]) == (1, 0), "none was shown"
    assert not any(name.startswith("low") for name in a)
    assert {"answer=yes", "answer=no"} <= b.keys(), "who chose it knows it"
    assert not any(name.startswith("answer") for name in a)
    episode.step({"b": Action("no")})
    assert episode.view("b").data["bound"]["answer"] == "no"
    assert "answer" not in episode.view("a").data["bound"]


def test_what_was_told_last_counts() -> None:
    episode = loaded("goofspiel").env().reset(chance="asked")
    episode.draw(2)
    episode.step({"left": Action("1"), "right": Action("3")})
    assert episode.view("left").data["bound"] == {
        "prize": 3, "bid": {"left": "1"}, "taker": "right",
    }  # fmt: skip
    episode.draw(0)
    assert episode.view("left").data["bound"]["prize"] == 1
    assert "asked before" in episode.env.vector_names("left")
    named = dict(zip(episode.env.vector_names("left"), episode.view("left").vector, strict=True))
    assert (named["asked before"], named["prize=1"], named["prize=3"]) == (1, 1, 0)


def test_the_same_knowledge_gives_the_same_view() -> None:
    """A view holds nothing that the seat has not seen; at every node of some trees, and in a part
    of two larger ones."""
    for name in (
        "kuhn_poker", "goofspiel", "ultimatum", "tiny_hanabi", "leduc_poker", "small_hanabi",
    ):  # fmt: skip
        env = loaded(name).env()
        known: dict[str, object] = {}
        for episode in islice(every_history(env), 3_000):
            asked = {decision.seat: decision.information_set for decision in episode.decisions}
            if not episode.decisions:
                continue
            for seat in env.seats:
                view = episode.view(seat)
                key = asked.get(seat) or episode.information(seat)
                found = (view.data, view.text, view.vector)
                assert known.setdefault(key, found) == found, f"{name}: {key}"
        assert len(known) > 5


def test_kuhn_vectors_tell_its_information_sets_apart() -> None:
    vectors: dict[str, tuple[float, ...]] = {}
    for episode in every_history(loaded("kuhn_poker").env()):
        for decision in episode.decisions:
            vectors[decision.information_set] = episode.view(decision.seat).vector
    assert len(vectors) == len(set(vectors.values())) == 12


@pytest.mark.parametrize("name", NAMES)
def test_every_game_has_views_of_one_size(name: str) -> None:
    env = loaded(name).env()
    layouts = {seat: env.viewer.layout(seat).components for seat in env.seats}
    for seat in env.seats:
        names = env.vector_names(seat)
        assert len(names) == len(set(names)) > len(env.seats)
    for seed in range(2):
        for moment, episode in enumerate(play(env, seed)):
            if moment % 3 and not episode.done:
                continue
            for seat in env.seats:
                view = episode.view(seat)
                for component, value in zip(layouts[seat], view.vector, strict=True):
                    assert component.low <= value <= component.high, component
                assert view.text.startswith(seat)
                assert view.data["seat"] == seat


def test_there_is_no_view_of_a_stranger() -> None:
    episode = loaded("kuhn_poker").env().reset()
    with pytest.raises(ValueError, match="no seat `third`; there are first, second"):
        episode.view("third")


def test_field_readers_decide_who_may_read() -> None:
    whole = Readers("nobody", fields=((0, Readers("owner")), (1, Readers("seats", ("bob",)))))
    assert may_read(whole, "ann", "ann")
    assert not may_read(whole, "ann", "cid")
    assert may_read(whole, "ann", None)
    assert may_read(whole, "bob", "cid")
    assert not may_read(Readers("nobody"), "ann", "ann")
