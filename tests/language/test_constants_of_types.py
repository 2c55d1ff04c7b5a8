"""Params that are lists of a type's names: what was valid without that type is unchanged."""

from __future__ import annotations

import pytest

from gamedsl import Action
from tests.properties.walking import load

GAME = """\
game: k
roles: [a, b]
params: {colours: [red, blue], warm: [red], worth: {red: 1, blue: 2}}
types: {Colour: [red, blue]}
turns:
  - {role: all, choose: c, from: OPTIONS}
payoffs: PAYOFF
"""


@pytest.mark.parametrize(
    ("options", "payoff", "rules"),
    [
        ("Colour", "size(warm)", "862ae99f748e"),
        ("colours", "1 if c.me == red else 0", "f9126d4f7df9"),
        ("Colour", "sum(worth[x] for x in colours) + worth[c.me]", "a64e1e645c41"),
        ("Colour", "sum(w for x, w in worth) + worth[c.me]", "40ae4b779134"),
    ],
)
def test_rules_without_types_of_lists_keep_their_hash(
    options: str, payoff: str, rules: str
) -> None:
    text = GAME.replace("OPTIONS", options).replace("PAYOFF", payoff)
    assert load(text).ir.rules_hash[:12] == rules


@pytest.mark.parametrize("payoff", ["1 if c.me in warm else 0", "count(x == c.me for x in warm)"])
def test_lists_have_types_where_they_are_needed(payoff: str) -> None:
    game = load(GAME.replace("OPTIONS", "Colour").replace("PAYOFF", payoff))
    for choice, paid in (("red", 1), ("blue", 0)):
        episode = game.env().reset(0)
        episode.step(dict.fromkeys(game.ir.seats, Action(choice)))
        assert set(episode.payoffs.values()) == {paid}
