"""Payoff tables, flow charts, and who sees what: the facts are right and nothing overlaps."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from gamedsl.solve.table import PayoffTable
from gamedsl.tables.text import rendered
from gamedsl.view.game.payoffs import cells_of
from gamedsl.view.game.sight import Glance, visibility_rows
from gamedsl.view.game.views import Views
from tests.shipped import CLOSED, OPEN
from tests.show.pictures import Picture, built, views

NAMES = (*CLOSED, *OPEN)


def lines(shown: Views, view: str) -> list[str]:
    return rendered(shown.text(view)).splitlines()


def table(*rows: list[tuple[int, ...]]) -> PayoffTable:
    """A game of two, its actions called `a`, `b`, …"""
    names = tuple("abcdef"[: len(rows)]), tuple("abcdef"[: len(rows[0])])
    got = {
        (a, b): tuple(map(Fraction, rows[i][j]))
        for i, a in enumerate(names[0])
        for j, b in enumerate(names[1])
    }
    return PayoffTable(("row", "column"), ("r", "c"), names, got, got)


def test_best_responses_and_equilibria_are_marked() -> None:
    shown = lines(views("stag_hunt"), "table")
    assert "hunter_1 stag │ 4*, 4* │ 0, 3   │" in shown
    assert "         hare │ 3, 0   │ 2*, 2* │" in shown
    assert shown[-1] == "pure equilibria: (stag, stag), (hare, hare)"


def test_dominated_actions_are_noted() -> None:
    found = cells_of(table([(3, 3), (0, 5)], [(5, 0), (1, 1)])).notes()
    assert "a of row is strictly dominated by b" in found
    weak = cells_of(table([(1, 0), (1, 0)], [(1, 0), (0, 0)]))
    assert weak.dominated == {(0, "b"): ("weakly", "a")}


def test_a_duplicate_is_not_dominated() -> None:
    assert cells_of(table([(1, 1)], [(1, 1)])).dominated == {}


def test_three_player_game_has_tables_per_action() -> None:
    shown = lines(views("stag_hunt_n"), "table")
    assert "hunter_1: stag" in shown
    assert "hunter_1: hare" in shown
    assert "hunter_2 stag │ 4*, 4*, 4* │ 0, 0, 2    │" in shown


def test_payoffs_are_fractions(tmp_path: Path) -> None:
    path = tmp_path / "thirds.yaml"
    path.write_text(
        "game: thirds\nroles: [x, y]\nactions: [a, b]\nprotocol: simultaneous\n"
        "payoffs: [[1/3, 0], [0, -2/3]]\n"
    )
    shown = Views(built(path))
    assert "1/3*, −1/3" in "\n".join(lines(shown, "table"))
    assert any(label.text == "−2/3" for label in Picture(shown.picture("table")).labels)


@pytest.mark.parametrize(
    "name", ["stag_hunt", "stag_hunt_n", "public_goods", "pure_coordination", "prisoners_dilemma"]
)
def test_nothing_overlaps_in_a_table(name: str) -> None:
    picture = Picture(views(name).picture("table"))
    amounts = [label for label in picture.labels if label.text != ","]
    picture.labels = amounts
    assert picture.overlaps() == []
    assert picture.outside() == []


@pytest.mark.parametrize("name", NAMES)
def test_flow_and_sight_pictures_have_no_overlaps(name: str) -> None:
    for view in ("flow", "sight"):
        picture = Picture(views(name).picture(view))
        assert picture.overlaps() == [], view
        assert picture.outside() == [], view


def test_the_flow_of_goofspiel() -> None:
    assert lines(views("goofspiel"), "flow") == [
        "goofspiel · turn program, with line numbers",
        " 11  ↻ repeat 3 times",
        " 13  │ ○ draw prize from prizes",
        " 14  │ ● all choose at once bid: from hand.me · seen by owner",
        " 15  │ ◐ show argmax(bid) as taker",
        " 16  │ ↻ for each of left, right",
        " 16  │ │ ∙ drop bid.me from hand.me",
        " 17  │ if taker != none",
        "     │ ╌ ∙ points[taker] += prize",
        "     each gets sign(points.me - points.other)",
    ]


def test_the_flow_of_a_game_in_words() -> None:
    said, called, *_ = lines(views("proposer_solver"), "flow")[1:]
    assert said == "  7  ● proposer says problem: a text, at most 48 tokens"
    assert called.startswith("  8  ∙ call arithmetic(text: problem), which gives truth")
    assert "who is in turn says speech: a text" in lines(views("debate"), "flow")[4]


def test_referees_appear_in_flow_and_sight_views() -> None:
    assert "judge choose at once verdict: pro, con" in lines(views("debate"), "flow")[-2]
    assert lines(views("debate"), "sight")[1].split() == ["pro", "con", "judge"]


def test_flow_defines_the_names_in_payoffs() -> None:
    assert lines(views("kuhn_poker"), "flow")[-4:] == [
        "     each gets stake if me == winner else -stake",
        "       bettor is first if open == bet else second if reply == bet else none",
        "       stake is 2 if answer == call else 1",
        "       winner is bettor if answer == fold else argmax(card)",
    ]
    shown = "\n".join(lines(views("information_cascade"), "flow"))
    assert "wrong" not in shown.partition("each gets")[2]


def test_flow_shows_every_step_with_its_line() -> None:
    shown = "\n".join(lines(views("leduc_poker"), "flow"))
    for piece in (
        "10  ○ deal card from deck · seen by owner", "betting_round:25  ↻ go round first, second",
        "└ until waiting == 0, at most 6 times", "raise if owed > 0 and raises < cap →",
        "over as soon as any(folded)",
    ):  # fmt: skip
        assert piece in shown


def test_flow_keeps_parentheses(tmp_path: Path) -> None:
    payoff = "(1 if left else 2) * ((3 if left else 4) + 1)"
    path = tmp_path / "brackets.yaml"
    path.write_text(
        "game: brackets\nroles: [row, column]\nactions: [x, y]\nprotocol: simultaneous\n"
        f"let: {{left: move.row == x}}\npayoffs: {payoff}\n"
    )
    shown = [line.strip() for line in lines(Views(built(path, ())), "flow")]
    assert f"each gets {payoff}" in shown


@pytest.mark.parametrize("name", sorted((*CLOSED, *OPEN)))
def test_flow_has_no_lone_parenthesis(name: str) -> None:
    for line in lines(views(name), "flow"):
        assert line.count("(") == line.count(")"), line


def sees(shown: Views) -> dict[str, tuple[Glance, ...]]:
    return {row.name: row.glances for row in visibility_rows(shown.game.ir)}


def test_who_sees_the_cards_of_kuhn() -> None:
    rows = sees(views("kuhn_poker"))
    own = Glance(False, "some", "its own")
    assert rows["card"] == (own, own)
    assert rows["open"] == (Glance(True, "all"), Glance(False, "all"))


def test_hands_of_hanabi_are_seen_by_the_others() -> None:
    rows = {
        row.name: row for row in visibility_rows(views("hanabi").game.ir) if row.what == "state"
    }
    theirs = Glance(False, "some", "the others'")
    assert rows["hand"].glances == (theirs, theirs)
    assert rows["deck"].glances == (Glance(False, "nothing"), Glance(False, "nothing"))
    assert rows["deck"].public_length
    assert not rows["pile"].public_length


def test_a_hidden_draw_is_known_to_happen() -> None:
    rows = sees(views("lewis_signaling"))
    assert rows["target"] == (Glance(False, "all"), Glance(False, "happens"))


def test_bids_that_are_not_shown() -> None:
    bid = sees(views("goofspiel"))["bid"]
    assert bid == (Glance(True, "some", "its own"),) * 2


def test_what_happens_in_secret_is_not_known(tmp_path: Path) -> None:
    path = tmp_path / "secret.yaml"
    path.write_text(
        "game: secret\nroles: [x, y]\ntypes: {Coin: [h, t]}\nturns:\n"
        "  - {draw: coin, from: Coin, seen_by: x}\n"
        "  - {role: x, choose: bet, from: [more, less], seen_by: x, if: coin == h}\n"
        "  - {role: y, choose: guess, from: Coin}\n"
        "payoffs: 1 if guess == coin else 0\n"
    )
    rows = sees(Views(built(path)))
    assert rows["bet"] == (Glance(True, "all"), Glance(False, "nothing"))
    assert rows["coin"] == (Glance(False, "all"), Glance(False, "happens"))


def test_parts_of_a_record_are_named(tmp_path: Path) -> None:
    path = tmp_path / "parts.yaml"
    path.write_text(
        "game: parts\nroles: [x, y]\ntypes: {Card: {rank: [lo, hi], suit: [a, b]}}\nturns:\n"
        "  - {draw: card, from: Card, seen_by: {rank: all, suit: x}}\n"
        "  - {role: all, choose: guess, from: [a, b]}\n"
        "payoffs: 1 if guess.me == a else 0\n"
    )
    rows = sees(Views(built(path)))
    assert rows["card"] == (Glance(False, "all"), Glance(False, "some", "rank"))


def test_known_values_are_not_called_seen(tmp_path: Path) -> None:
    path = tmp_path / "driver.yaml"
    path.write_text(
        "game: driver\nroles: [ann, bob]\nturns:\n"
        "  - {draw: coin, from: [heads, tails], seen_by: ann}\n"
        "  - {role: ann, choose: one, from: [a, b]}\n"
        "  - {role: ann, choose: two, from: [c, d], knows: nothing}\n"
        "  - {role: ann, choose: three, from: [e, f], knows: coin}\n"
        "  - {role: bob, choose: last, from: [g, h]}\npayoffs: 1 if two == c else 0\n"
    )
    told = " ".join(lines(Views(built(path)), "tree"))
    assert "knows only that it is asked" in told
    assert "knows coin=tails" in told
    assert "has seen coin=heads" in told
    assert "has seen nothing" not in told
