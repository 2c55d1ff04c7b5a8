"""The lowest payoff of a role: exact where the tree is small, else a bound that holds."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import gamedsl
from gamedsl.bounds.payoff_bounds import payoff_bounds
from gamedsl.runtime.env import Env


def played(env: Env, seed: int) -> dict[str, object]:
    random, episode = Random(seed), env.reset(seed)
    while not episode.done:
        episode.step({d.seat: gamedsl.Action(random.choice(d.legal)) for d in episode.decisions})
    return dict(episode.payoffs)


@pytest.mark.parametrize(("name", "least"), [("hanabi", 0), ("connect_four", -1), ("commons", 0)])
def test_of_a_large_game_the_form_shows_it(name: str, least: int) -> None:
    env = gamedsl.load(name).env()
    assert env.least == dict.fromkeys(env.seats, least)


def test_a_forfeit_costs_it() -> None:
    episode = gamedsl.load("connect_four").env().reset(0)
    episode.step({"x": "not a label"})
    assert episode.payoffs == {"x": -1, "o": None}


@pytest.mark.parametrize(
    "name", ["hanabi", "commons", "pursuit", "bargaining", "nim", "repeated_prisoners_dilemma"]
)
def test_payoffs_stay_within_their_bounds(name: str) -> None:
    env = gamedsl.load(name).env()
    spans = {seat: payoff_bounds(env.ir, seat) for seat in env.seats}
    for seed in range(6):
        for seat, paid in played(env, seed).items():
            span = spans[seat]
            assert span is not None
            assert span[0] <= paid <= span[1]


GAME = """\
game: g
roles: [a, b]
state: {{n: 3, m: {{per: role, start: 1}}}}
turns:
  - repeat: 9
    turns:
      - {{role: all, choose: x, from: 0..4}}
      - do: {change}
payoffs: {{a: n, b: m.me}}
"""


@pytest.mark.parametrize(
    ("change", "a", "b"),
    [
        ("n += x.a", (3, 39), (1, 1)),
        ("n -= x.a + 1", (-42, 3), (1, 1)),
        ("m[r] += x[r] for r in roles", (3, 3), (1, 73)),
        ("m.a -= 1; m.b = m.a + 2", (3, 3), (-8, 19)),
        ("n = x.b - 5", (-5, 3), (1, 1)),
        ("n = 2 * n", None, (1, 1)),
        ("n = n + n", None, (1, 1)),
        ("n = clip(9, x.a, 2)", (0, 4), (1, 1)),
    ],
)
def test_what_state_may_hold(change: str, a: object, b: object, tmp_path: Path) -> None:
    path = tmp_path / "g.yaml"
    path.write_text(GAME.format(change=change))
    env = gamedsl.load(path).env()
    assert [payoff_bounds(env.ir, seat) for seat in env.seats] == [a, b]
    paid = played(env, 1)
    for span, seat in ((a, "a"), (b, "b")):
        assert span is None or span[0] <= paid[seat] <= span[1]


def test_payoffs_count_the_referees_that_chose(tmp_path: Path) -> None:
    path = tmp_path / "contest.yaml"
    path.write_text(
        "game: contest\nroles: [a, b]\nreferees: {judge: {seats: 6, swap: [a, b]}}\nturns:\n"
        "  - {role: all, choose: x, from: [left, right]}\n"
        "  - {role: [judge], choose: better, from: roles}\n"
        "payoffs: count(better, me)\n"
    )
    assert payoff_bounds(gamedsl.load(path).ir, "a") == (0, 6)
