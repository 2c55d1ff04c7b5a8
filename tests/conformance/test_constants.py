"""Known numbers of known games: sizes of trees, values, and payoffs of uniform play.

From the literature where a name is given, else found by running OpenSpiel. Nodes without a choice
are left out, as OpenSpiel leaves them out, but for tic-tac-toe.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import cache

import pytest

import gamedsl
from gamedsl.solve import Tree, expected, exploitability, tabulate, uniform
from gamedsl.solve.tree import CHANCE, TERMINAL
from tests.conformance.sequence_form import value


@cache
def tree_of(name: str) -> Tree:
    return tabulate(gamedsl.load(name).env())


LEWIS = {"words": 3, "objects": 3, "shown": 3}


@pytest.mark.parametrize(
    ("name", "params", "chance", "decisions", "ends", "sets"),
    [
        ("kuhn_poker", {}, 4, 24, 30, (6, 6)),
        ("leduc_poker", {}, 157, 3_780, 5_520, (468, 468)),
        ("goofspiel", {}, 28, 174, 216, (45, 45)),
        ("lewis_signaling", LEWIS, 1, 12, 27, (3, 3)),
        # After the highest bid there is nothing to choose: 32 ways there by 9 rolls.
        ("liars_dice", {"faces": 3}, 4, 576 - 32 * 9, 567, None),
    ],
)
def test_sizes(name, params, chance, decisions, ends, sets):
    tree = tabulate(gamedsl.load(name, params=params).env()) if params else tree_of(name)
    kinds = Counter(info if info < 0 else 0 for info in tree.info)
    assert (kinds[CHANCE], kinds[0], kinds[TERMINAL]) == (chance, decisions, ends)
    if sets:
        owners = Counter(tree.owner)
        assert tuple(owners[i] for i in range(len(tree.seats))) == sets


@pytest.mark.parametrize(
    ("name", "earned", "nash_conv"),
    [
        ("kuhn_poker", Fraction(1, 8), Fraction(11, 12)),
        ("leduc_poker", -0.078125, 4.747222),
        ("goofspiel", 0, None),
        ("rock_paper_scissors", 0, 0),
    ],
)
def test_uniform_play(name, earned, nash_conv):
    tree = tree_of(name)
    policy = uniform(tree)
    first, second = expected(tree, policy, "payoffs").values()
    assert (first, second) == (pytest.approx(earned), pytest.approx(-earned))
    if nash_conv is not None:
        assert float(exploitability(tree, policy, "payoffs").nash_conv) == pytest.approx(
            float(nash_conv), abs=1e-6
        )


@pytest.mark.parametrize(
    ("name", "known"),
    [("kuhn_poker", -1 / 18), ("leduc_poker", -0.0856064), ("goofspiel", 0)],
)
def test_value_of_the_game(name, known):
    assert value(tree_of(name)) == pytest.approx(known, abs=1e-6)


@pytest.mark.parametrize("bluff", [Fraction(0), Fraction(1, 7), Fraction(1, 3)])
def test_equilibria_of_kuhn_poker(bluff):
    """Kuhn (1950): the first player bluffs with the jack up to one time in three.

    Below: how often a seat bets, or calls where the other has bet (True).
    """
    often = {
        ("first", False): {"J": bluff, "Q": Fraction(0), "K": 3 * bluff},
        ("first", True): {"J": Fraction(0), "Q": bluff + Fraction(1, 3), "K": Fraction(1)},
        ("second", False): {"J": Fraction(1, 3), "Q": Fraction(0), "K": Fraction(1)},
        ("second", True): {"J": Fraction(0), "Q": Fraction(1, 3), "K": Fraction(1)},
    }
    tree = tree_of("kuhn_poker")
    policy = {}
    for info in tree.info_sets:
        card = next(c for c in "JQK" if f"card={c}" in info.key)
        bold = often[info.seat, "call" in info.actions][card]
        policy[info.key] = dict(zip(info.actions, (1 - bold, bold), strict=True))
    found = exploitability(tree, policy, "payoffs")
    assert found.nash_conv == 0
    assert found.values == {"first": Fraction(-1, 18), "second": Fraction(1, 18)}


Ply = dict[frozenset[tuple[str, str]], tuple[gamedsl.Episode, int, Fraction]]


def positions(game: str, plies: int) -> Iterator[Ply]:
    """Yields the positions of a board game ply by ply: an episode, the histories that lead there,
    and how likely uniform play does. A position is who has taken which cells."""
    start = gamedsl.load(game).env().reset(chance="asked", forced="asked")
    ply: Ply = {frozenset(): (start, 1, Fraction(1))}
    for _ in range(plies + 1):
        yield ply
        after: Ply = {}
        for board, (episode, count, likely) in ply.items():
            (asked,) = episode.decisions or (None,)
            for name in asked.legal if asked else ():
                key = board | {(asked.seat, name)}
                known = after.get(key)
                if known is None:
                    moved = episode.fork()
                    moved.step({asked.seat: gamedsl.Action(name)})
                    known = moved, 0, Fraction(0)
                share = likely / len(asked.legal)
                after[key] = known[0], known[1] + count, known[2] + share
        ply = after


def test_tic_tac_toe_in_numbers():
    boards, ends, games, earned = 0, Counter(), Counter(), Fraction(0)
    for ply in positions("tic_tac_toe", 9):
        boards += len(ply)
        for episode, count, likely in ply.values():
            if episode.done:
                result = episode.payoffs["x"]
                ends[result] += 1
                games[result] += count
                earned += likely * result
    assert (boards, ends) == (5_478, {1: 626, -1: 316, 0: 16})
    assert games == {1: 131_184, -1: 77_904, 0: 46_080}
    assert games.total() == 255_168
    assert float(earned) == pytest.approx(0.2968254, abs=1e-7)


CONNECT_FOUR = (1, 7, 49, 238, 1_120, 4_263, 16_422, 54_859)


@pytest.mark.parametrize("plies", [4, pytest.param(6, marks=pytest.mark.weekly)])
def test_connect_four_has_so_many_positions(plies):
    found = [len(ply) for ply in positions("connect_four", plies)]
    assert tuple(found) == CONNECT_FOUR[: plies + 1]
