"""What Gambit and OpenSpiel make of what is written for them.

OpenSpiel's reader knows no quote inside a text, no payoffs at inner nodes, and no terminal node
whose payoffs are left out; nothing of that is written.
"""

from __future__ import annotations

import io
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from gamedsl.export.gambit import to_efg, to_nfg
from gamedsl.solve import expected, exploitability, tabulate, uniform
from gamedsl.solve.tree import Tree
from tests.export import games, shapes

NODES = 50_000
QUICK = {"advice", "battle_of_the_sexes", "biased_rock_paper_scissors", "centipede", "chicken",
         "colonel_blotto", "dark_hex", "goofspiel", "information_cascade", "kuhn_poker",
         "kuhn_poker_n", "kuhn_poker_thinking", "kuhn_poker_tools",
         "matching_pennies", "prisoners_dilemma", "public_goods", "pure_coordination",
         "rock_paper_scissors", "stag_hunt", "stag_hunt_n", "tiny_hanabi", "trade_comm",
         "ultimatum", "ultimatum_n", "y"}  # fmt: skip
SLOW = {"first_price_auction", "jury", "leduc_poker", "repeated_prisoners_dilemma",
        "repeated_stag_hunt", "running_total"}  # fmt: skip
LARGER = {"bargaining", "battleship", "blackjack", "commons", "connect_four", "go",
          "guess_the_number", "hanabi", "hanabi_thinking", "hanabi_tools", "hex",
          "iterated_prisoners_dilemma", "lewis_signaling",
          "liars_dice", "negotiation", "nim", "nine_mens_morris", "pursuit",
          "serial_dictatorship", "small_hanabi", "small_hanabi_thinking", "small_hanabi_told",
          "small_hanabi_tools", "spread",
          "tic_tac_toe"}  # fmt: skip
"""Games of more nodes than `NODES`."""

EACH = [*sorted(QUICK), *(pytest.param(name, marks=pytest.mark.slow) for name in sorted(SLOW))]


def test_every_game_has_a_place() -> None:
    assert sorted(QUICK | SLOW | LARGER) == list(games.NAMES)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(LARGER - {"go"}))  # its nodes alone take minutes
def test_larger_games_are_larger(name: str) -> None:
    import gamedsl
    from gamedsl.solve.tree import TooLarge

    with pytest.raises(TooLarge):
        tabulate(gamedsl.load(name).env(), NODES)


def gambit_reads(text: str, *, table: bool = False) -> Any:
    gambit = pytest.importorskip("pygambit")
    return (gambit.read_nfg if table else gambit.read_efg)(io.StringIO(text))


def payoffs(profile: Any, game: Any) -> list[Fraction]:
    return [Fraction(str(profile.payoff(player))) for player in game.players]


@pytest.mark.parametrize("name", EACH)
def test_gambit(name: str) -> None:
    tree = tabulate(games.loaded(name).env(), forced="asked")
    game = gambit_reads(to_efg(games.loaded(name)))
    assert shapes.of_gambit(game) == shapes.of_tree(tree)
    values = expected(tree, uniform(tree), "payoffs")
    assert payoffs(game.mixed_behavior_profile(rational=True), game) == list(values.values())


@pytest.mark.parametrize("name", EACH)
def test_openspiel(name: str, tmp_path: Path) -> None:
    pyspiel = pytest.importorskip("pyspiel")
    path = tmp_path / "game.efg"
    path.write_text(to_efg(games.loaded(name)))
    game = pyspiel.load_game(f"efg_game(filename={os.fspath(path)})")
    tree = tabulate(games.loaded(name).env(), forced="asked")
    pending, values, nodes = [(game.new_initial_state(), 1.0)], [0.0] * len(tree.seats), 0
    while pending:
        state, reach = pending.pop()
        nodes += 1
        if state.is_terminal():
            values = [v + reach * got for v, got in zip(values, state.returns(), strict=True)]
        elif state.is_chance_node():
            pending += [(state.child(a), reach * p) for a, p in state.chance_outcomes()]
        else:
            legal = state.legal_actions()
            pending += [(state.child(action), reach / len(legal)) for action in legal]
    exact = expected(tree, uniform(tree), "payoffs").values()
    assert nodes == len(tree)
    assert values == pytest.approx([float(v) for v in exact], abs=1e-9)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kuhn_poker", Fraction(-1, 18)), ("matching_pennies", 0), ("rock_paper_scissors", 0),
        ("biased_rock_paper_scissors", 0),
    ],
)  # fmt: skip
def test_the_value_of_zero_sum_games(name: str, value: Fraction) -> None:
    """Gambit's linear program over the sequence form, in rationals; nobody gains by leaving it."""
    tree = tabulate(games.loaded(name).env(), forced="asked")
    game = gambit_reads(to_efg(tree))
    import pygambit

    (found, *_) = pygambit.nash.lp_solve(game, rational=True).equilibria
    assert payoffs(found, game) == [value, -value]
    assert exploitability(tree, policy(found, game, tree), "payoffs").nash_conv == 0


def policy(profile: Any, game: Any, tree: Tree) -> dict[str, dict[str, Fraction]]:
    """A behaviour profile of Gambit's for a tree of the same shape, by information set. Where a
    player's own choices never let it come, and nothing is said, the first action stands."""
    found: dict[str, dict[str, Fraction]] = {}
    pending = [(game.root, 0)]
    while pending:
        node, number = pending.pop()
        if tree.info[number] >= 0:
            info = tree.info_sets[tree.info[number]]
            odds = [Fraction(str(profile[action])) for action in node.infoset.actions]
            odds[0] += 1 - sum(odds)
            found[info.key] = dict(zip(info.actions, odds, strict=True))
        pending += zip(node.children, tree.children[number], strict=True)
    return found


@pytest.mark.parametrize(
    "name", ["chicken", "public_goods", "ultimatum", "tiny_hanabi", "kuhn_poker"]
)
def test_strategic_forms(name: str) -> None:
    """Gambit has as many reduced strategies, and what all pay on average is the same."""
    tree = tabulate(games.loaded(name).env())
    table, game = gambit_reads(to_nfg(tree), table=True), gambit_reads(to_efg(tree))
    sizes = [len(list(player.strategies)) for player in table.players]
    assert sizes == [len(list(player.strategies)) for player in game.players]
    even = [payoffs(g.mixed_strategy_profile(rational=True), g) for g in (table, game)]
    assert even[0] == even[1]
