"""What prompts merge: proved harmless where it is, and shown by two histories where it is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gamedsl
from gamedsl.solve import TooLarge, tabulate
from gamedsl.solve.bisimulation import Merging, merging
from tests.export.games import written


def merged(name: str, **params: Any) -> Merging:
    return merging(gamedsl.load(name, params=params).env())


def test_a_board_forgets_nothing_that_matters() -> None:
    found = merged("tic_tac_toe", rows=2, columns=3)
    assert found.lossless
    assert found.information_sets == len(
        tabulate(gamedsl.load("tic_tac_toe", params={"rows": 2, "columns": 3}).env()).info_sets
    )
    assert found.prompts == 187  # boards on which there is a choice, by whoever's turn it is
    assert merged("nim", piles=[1, 2, 2]).lossless
    kuhn = merged("kuhn_poker")
    assert (kuhn.information_sets, kuhn.prompts, kuhn.lossless) == (12, 12, True)


def test_too_many_histories_are_not_gone_through() -> None:
    with pytest.raises(TooLarge):
        merging(gamedsl.load("tic_tac_toe").env(), 5_000)


PENNIES = """\
game: pennies
roles: [even, odd]
turns:
  - repeat: 2
    count: n
    turns:
      - {role: all, choose: move, from: [heads, tails]}
      - {pay: payoffs, value: {even: won, odd: -won}}
let: {won: 1 if move.even == move.odd else -1}
"""


def test_what_was_won_before_decides_nothing(tmp_path: Path) -> None:
    found = merging(written(tmp_path, f"{PENNIES}view: [n]\n").env())
    assert (found.information_sets, found.prompts, found.lossless) == (10, 4, True)


def test_the_number_of_rounds_left_matters(tmp_path: Path) -> None:
    found = merging(written(tmp_path, f"{PENNIES}view: []\n").env())
    assert (found.information_sets, found.prompts) == (10, 2)
    assert [d.seat for d in found.differences] == ["even", "odd"]
    for difference in found.differences:
        assert difference.histories == ((), ("even: heads", "odd: heads"))
        assert difference.reason == "what may follow differs"
        first, second = difference.information_sets
        assert first == f"{difference.seat}:move"
        assert second.startswith(f"{difference.seat}:move [even.move=heads")


def test_what_another_remembers_matters(tmp_path: Path) -> None:
    """If one of them is told all, it may answer differently to what the other has forgotten."""
    text = PENNIES.replace("repeat: 2", "repeat: 3") + "view: {even: [n]}\n"
    found = merging(written(tmp_path, text).env())
    assert {d.seat for d in found.differences} == {"even"}
    assert merging(written(tmp_path, text.replace("{even: [n]}", "[n]")).env()).lossless


SIGNAL = """\
game: signal
roles: [sender, guesser]
types: {Card: [J, Q]}
turns:
  - {draw: card, from: Card, seen_by: sender}
  - {draw: coin, from: {front: 1/3, back: 2/3}, seen_by: all}
  - {role: sender, choose: word, from: [one, two]}
  - {role: guesser, choose: guess, from: Card}
payoffs: 1 if guess == card else 0
"""


@pytest.mark.parametrize(
    ("view", "reasons"),
    [
        ("{sender: [card], guesser: [word]}", []),  # the coin says nothing
        ("{sender: [card, coin], guesser: [word, coin]}", []),
        ("{sender: [card], guesser: []}", ["what is hidden is not equally likely"]),
        ("{sender: [], guesser: [word]}", ["what may follow differs"]),
        ("{sender: [card, coin], guesser: [word]}", ["what is hidden is not equally likely"] * 2),
        ("{sender: [coin], guesser: [coin]}", ["what may follow differs"] * 2),
    ],
)
def test_what_is_hidden_is_as_likely(view: str, reasons: list[str], tmp_path: Path) -> None:
    found = merging(written(tmp_path, f"{SIGNAL}view: {view}\n").env())
    assert [difference.reason for difference in found.differences] == reasons


def test_legal_actions_may_reveal_hidden_state(tmp_path: Path) -> None:
    text = """\
game: template
roles: [a, b]
turns:
  - {role: a, choose: offer, from: [low, high]}
  - {role: b, choose: answer, from: 1..2 if offer == low else 1..3}
payoffs: 0
view: {b: []}
prompts: {ask: {answer: "1, 2 or 3?"}}
"""
    found = merging(written(tmp_path, text).env())
    (difference,) = found.differences
    assert difference.reason == "their legal actions differ"
    assert difference.histories == (("a: low",), ("a: high",))
