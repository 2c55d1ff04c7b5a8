"""`while` on a loop: tested before each pass, the first too."""

from __future__ import annotations

from pathlib import Path

import pytest

import gamedsl
from gamedsl.view.game.flow import outline

TWENTY_ONE = """\
game: twenty_one
about: The player draws as often as it likes; then the dealer draws while it has less than five.
roles: [player]
types: {Card: 1..5}
state:
  deck: {bag: Card, seen_by: nobody}
  hand: 0
  dealer: 0
actions: {draw: {}, stay: {}}
turns:
  - until: move == stay or hand > 6
    at_most: 6
    turns:
      - {role: player, choose: move, from: actions}
      - {if: move == draw, turns: [{draw: card, from: deck, seen_by: all}, {do: hand += card}]}
  - if: hand <= 6
    while: dealer < 5
    at_most: 4
    turns:
      - {draw: extra, from: deck, seen_by: all}
      - do: dealer += extra
payoffs: -1 if hand > 6 else 1 if dealer > 6 else sign(hand - dealer)
"""


def load(folder: Path, text: str) -> gamedsl.Game:
    path = folder / "twenty_one.yaml"
    path.write_text(text)
    return gamedsl.load(path)


@pytest.mark.parametrize("engine", ["interpreter", "generated"])
def test_a_dealer_draws_below_the_limit_only(tmp_path: Path, engine: str) -> None:
    hands = set()
    waiting = [load(tmp_path, TWENTY_ONE).env(backend=engine).reset(chance="asked")]
    while waiting:
        episode = waiting.pop()
        steps = episode.transcript["steps"]
        hand = tuple(int(s["chance"]["extra"]) for s in steps if s["step"] == "extra")
        if episode.done:
            hands.add(hand)
            continue
        assert sum(hand) < 5
        for number in range(len(episode.chance) or 2):
            after = episode.fork()
            if episode.chance:
                after.draw(number)
            else:
                after.step({"player": gamedsl.Action(["draw", "stay"][number])})
            waiting.append(after)
    assert {(), (5,), (4, 1), (1, 2, 3)} <= hands
    assert all(sum(hand) >= 5 for hand in hands if hand)


def test_while_is_if_and_until_not(tmp_path: Path) -> None:
    spelt = TWENTY_ONE.replace(
        "  - if: hand <= 6\n    while: dealer < 5\n",
        "  - if: hand <= 6\n    turns:\n     - if: dealer < 5\n       until: not (dealer < 5)\n",
    ).replace("    at_most: 4\n    turns:\n", "       at_most: 4\n       turns:\n")
    spelt = spelt.replace("      - {draw: extra", "        - {draw: extra")
    spelt = spelt.replace("      - do: dealer", "        - do: dealer")
    short, long = load(tmp_path, TWENTY_ONE), load(tmp_path, spelt)
    assert short.ir.rules_hash == long.ir.rules_hash


def test_a_loop_may_have_no_pass(tmp_path: Path) -> None:
    none = load(tmp_path, TWENTY_ONE.replace("dealer: 0", "dealer: 5"))
    episode = none.env().reset(chance="asked")
    episode.step({"player": gamedsl.Action("stay")})
    assert episode.done


def test_pictures_show_while(tmp_path: Path) -> None:
    items = outline(load(tmp_path, TWENTY_ONE).ir)
    (loop,) = items[-1].inside
    assert (loop.again, loop.condition) == ("while dealer < 5, at most 4 times", "")


def test_steps_inside_know_what_while_tests(tmp_path: Path) -> None:
    """A step adds what may be none, where `while` says that it is not."""
    text = TWENTY_ONE.replace("dealer += extra", "dealer += extra + limit").replace(
        "  - if: hand <= 6\n",
        "  - {show: hand if hand > 1 else none, as: limit, seen_by: all}\n  - if: hand <= 6\n",
    )
    load(tmp_path, text.replace("while: dealer < 5", "while: limit != none and dealer < 5"))
    with pytest.raises(gamedsl.CompileError, match="GD0321"):
        load(tmp_path, text)


@pytest.mark.parametrize(
    ("loop", "test", "code"),
    [("each: roles", "me == ann", "GD0303"), ('each: "x in [1, 2]"', "x == 1", "GD0301")],
)
def test_while_is_read_outside_the_loop(tmp_path: Path, loop: str, test: str, code: str) -> None:
    """Neither who acts in a pass nor the item of one is known before the first."""
    step = "{role: ann, choose: move, from: [a, b]}"
    text = f"game: g\nroles: [ann, bob]\nturns: [{{{loop}, while: {test}, turns: [{step}]}}]\n"
    with pytest.raises(gamedsl.CompileError, match=code):
        load(tmp_path, text + "payoffs: 0\n")
