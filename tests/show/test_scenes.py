"""Scenes: what one seat sees, as boards and cards, in pictures and in terminals."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from gamedsl.runtime import Action, Episode
from gamedsl.tables.text import rendered
from gamedsl.view.game.scene import Board, Card, Fact, Hand, Scene, scene_of
from tests.show.pictures import GAMES, Picture, built

DRAWN = (
    "tic_tac_toe", "connect_four", "hex", "go", "battleship", "dark_hex", "hanabi", "kuhn_poker",
    "leduc_poker", "blackjack", "goofspiel", "small_hanabi", "nine_mens_morris", "nim",
)  # fmt: skip


def points(name: str, plays: int, seed: int = 0, **params: str) -> Iterator[Episode]:
    """Every point of some random plays, at which somebody is asked or the play is over."""
    env = built(GAMES / f"{name}.yaml", tuple(params.items())).env(run_seed=seed)
    dice = random.Random(seed)
    for number in range(plays):
        episode = env.reset(seed=number)
        yield episode
        while not episode.done:
            episode.step({d.seat: Action(dice.choice(d.legal)) for d in episode.decisions})
            yield episode


def text(scene: Scene, width: int = 80) -> str:
    return rendered(scene.lines(width))


def picture(scene: Scene, width: float = 520) -> Picture:
    return Picture(scene.canvas(width).document("scene", text(scene)))


def test_a_board_is_a_board() -> None:
    episode = next(points("tic_tac_toe", 1))
    for name in ("mark(0,2)", "mark(1,1)"):
        episode.step({episode.decisions[0].seat: Action(name)})
    scene = scene_of(episode, "x")
    (board,) = scene.things
    assert isinstance(board, Board)
    assert [cell.text for cell in board.row(0)] == ["", "", "x"]
    assert board.row(1)[1].seat == 1
    assert board.row(0)[0].option == "mark(0,0)"
    assert board.row(1)[1].option == ""
    assert text(scene) == (
        "board\n"
        "    0   1   2\n"
        "  ┌───┬───┬───┐\n"
        "0 │   │   │ x │\n"
        "  ├───┼───┼───┤\n"
        "1 │   │ o │   │\n"
        "  ├───┼───┼───┤\n"
        "2 │   │   │   │\n"
        "  └───┴───┴───┘"
    )
    drawn = scene.canvas().document("board", "")
    assert 'data-option="mark(0,0)"' in drawn
    assert 'data-option="mark(1,1)"' not in drawn


def test_hexagons_are_drawn_as_such() -> None:
    scene = scene_of(next(points("hex", 1, size="4")), "x")
    (board,) = scene.things
    assert isinstance(board, Board)
    assert board.hexagonal
    rows = text(scene).splitlines()[2:]
    assert [len(row) - len(row.lstrip()) for row in rows] == [0, 1, 2, 3]
    assert scene.canvas().document("hex", "").count("Z") == 16


def test_wide_boards_lose_their_frame() -> None:
    scene = scene_of(next(points("go", 1, size="19")), "black")
    assert "┌" in text(scene, 100)
    assert "┌" not in text(scene, 60)
    assert max(map(len, text(scene, 60).splitlines())) <= 60


def test_cards_are_shown_to_those_who_see_them() -> None:
    episode = next(points("kuhn_poker", 1))
    first, second = (scene_of(episode, seat) for seat in ("first", "second"))
    (mine, *_), (other, *_) = first.things, second.things
    assert isinstance(mine, Hand)
    assert mine.cards[0].caption == "first"
    assert mine.cards != getattr(other, "cards", ())
    card = episode.state.variables["card"]
    assert mine.cards == (Card((card["first"],), "first"),)


def test_hidden_cards_lie_face_down() -> None:
    episode = next(points("hanabi", 1))
    scene = scene_of(episode, "player_1")
    hands = {thing.title: thing for thing in scene.things if isinstance(thing, Hand)}
    assert all(card == Card() for card in hands["hand of player_1"].cards)
    assert all(len(card.face) == 2 for card in hands["hand of player_2"].cards)
    assert Fact("deck", "40 hidden") in scene.things


def test_many_cards_are_folded(tmp_path: Path) -> None:
    (tmp_path / "many.yaml").write_text(
        "game: many\nroles: [ann]\ntypes: {Card: 0..59}\nstate: {hand: {set: Card}}\n"
        "turns:\n  - {do: hand = set(c for c in Card)}\n"
        "  - {role: ann, choose: move, from: [stay, go]}\npayoffs: 0\n",
        encoding="utf-8",
    )
    scene = scene_of(built(tmp_path / "many.yaml").env().reset(), "ann")
    (hand,) = scene.things
    assert isinstance(hand, Hand)
    assert (len(hand.cards), hand.more) == (40, 20)
    assert "and 20 more cards" in text(scene)
    assert picture(scene).overlaps() == []


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", "battleship", "dark_hex", "hanabi"])
def test_scene_is_the_same_within_an_information_set(name: str) -> None:
    shown: dict[str, Scene] = {}
    for episode in points(name, 60 if name != "hanabi" else 3):
        for seat in episode.env.seats:
            known = f"{episode.information(seat)} {episode.view(seat).data} {episode.done}"
            scene = scene_of(episode, seat)
            assert shown.setdefault(known, scene) == scene
    assert len(shown) > 10


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("width", [320, 520])
def test_no_texts_overlap(name: str, width: float) -> None:
    for number, episode in enumerate(points(name, 1, seed=2)):
        if number % 3:
            continue
        for seat in episode.env.seats:
            found = picture(scene_of(episode, seat), width)
            stones = [label for label in found.labels if "over" in label.style]
            found.labels = [label for label in found.labels if "over" not in label.style]
            assert found.overlaps() == []
            assert found.outside() == []
            assert len(stones) <= len(found.marks)


@pytest.mark.parametrize("name", DRAWN)
def test_lines_fit_a_narrow_terminal(name: str) -> None:
    for episode in points(name, 1, seed=3):
        for line in text(scene_of(episode, episode.env.seats[0]), 60).splitlines():
            assert len(line) <= 60
