"""A play shows its seat what it may see, and nothing more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gamedsl import load
from gamedsl.mcp.refusal import Refused
from gamedsl.mcp.session import Session
from gamedsl.mcp.tasks import Tasks

GAME = """\
game: peek
roles: [ann, bob]
turns:
  - {draw: card, from: [aardvark, buffalo], seen_by: ann}
  - {role: ann, choose: move, from: [bet, fold]}
  - {role: bob, choose: answer, from: [call, pass]}
payoffs: {ann: 1 if card == aardvark else 2, bob: 3}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "peek.yaml").write_text(GAME, encoding="utf-8")
    return tmp_path


def drawn(root: Path, seat: str, seed: int) -> str:
    """All that a seat is shown in a play, as text."""
    play = Session(load(root / "peek.yaml"), seat, "random", seed)
    shown = [play.view()]
    while not shown[-1]["done"]:
        shown.append(play.move(shown[-1]["options"][0]))
    return json.dumps([{k: v for k, v in s.items() if k != "seed"} for s in shown])


def test_a_seat_is_shown_no_card_of_another(root: Path) -> None:
    told = {drawn(root, "bob", seed).replace("bet", "fold") for seed in range(12)}
    assert len(told) == 1  # the same, whichever card ann holds
    assert len({drawn(root, "ann", seed) for seed in range(12)}) == 2
    assert '"payoff": "3"' in told.pop()


def test_options_are_checked_before_they_are_played(root: Path) -> None:
    play = Session(load(root / "peek.yaml"), "ann", "random", 1)
    with pytest.raises(Refused, match="not one of the options"):
        play.move("raise")
    assert play.move("bet")["done"]
    with pytest.raises(Refused, match="over"):
        play.move("bet")


def test_words_are_read_as_a_model_would_be() -> None:
    play = Session(load("guess_in_words"), load("guess_in_words").ir.seats[0], "random", 1)
    assert play.view()["messages"]


@pytest.mark.parametrize(
    ("seat", "opponents", "said"),
    [("an", "random", "did you mean `ann`"), ("ann", "module:x.py", "cannot be held"),
     ("ann", "endpoint:http://localhost#m", "cannot be held")],
)  # fmt: skip
def test_other_seats_and_players_are_refused(
    root: Path, seat: str, opponents: str, said: str
) -> None:
    with pytest.raises(Refused, match=said):
        Session(load(root / "peek.yaml"), seat, opponents, 1)


@pytest.mark.parametrize("path", ["../x.yaml", "/etc/passwd", ".env", "a/../../x.yaml"])
def test_paths_stay_below_the_folder(
    root: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    (root / ".env").write_text("game: x\n")
    given = {"path": path, "text": None, "proofs": False}
    with pytest.raises(Refused, match="fix:"):
        Tasks(root).carry_out("validate", given)


def test_a_link_out_of_the_folder_is_refused(
    root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "x.yaml"
    outside.write_text(GAME)
    (root / "link.yaml").symlink_to(outside)
    with pytest.raises(Refused, match="outside"):
        Tasks(root).carry_out(
            "prompts", {"path": "link.yaml", "text": None, "seat": None, "at": None}
        )
