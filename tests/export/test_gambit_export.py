"""What is written for Gambit: the text itself, and that it is the game's tree."""

from __future__ import annotations

from fractions import Fraction

import pytest

import gamedsl
from gamedsl.export.gambit import NormalFormTooLarge, to_efg, to_nfg
from gamedsl.solve import InfoSet, TreeBuilder, tabulate
from gamedsl.solve.tree import TooLarge, Tree
from tests.export import games, shapes

STAG_HUNT = """EFG 2 R "stag_hunt" { "hunter_1" "hunter_2" }
"Stag pays most but needs both hunters; hare is safe alone. (gamedsl HASH)"

p "" 1 1 "hunter_1:move" { "stag" "hare" } 0
p "" 2 1 "hunter_2:move" { "stag" "hare" } 0
t "" 1 "(4, 4)" { 4, 4 }
t "" 2 "(0, 3)" { 0, 3 }
p "" 2 1 "hunter_2:move" { "stag" "hare" } 0
t "" 3 "(3, 0)" { 3, 0 }
t "" 4 "(2, 2)" { 2, 2 }
"""

ULTIMATUM = (
    'NFG 1 R "ultimatum" { "proposer" "responder" }\n{ { "low" "fair" "high" } {'
    ' "accept accept accept" "accept accept reject" "accept reject accept" "accept reject reject"'
    ' "reject accept accept" "reject accept reject" "reject reject accept" "reject reject reject"'
    " } }\n"
)


def coin() -> Tree:
    """One who does not see a coin, with names that need care."""
    builder = TreeBuilder(['the "one"'])
    root = builder.chance([Fraction(1, 3), Fraction(2, 3)], ["a\nb", 'c"'])
    blind = InfoSet('k "e" y', 'the "one"', "one", "move", ('x"', "y"))
    nodes = [builder.decision(blind), builder.decision(blind)]
    builder.link(root, nodes)
    builder.link(nodes[0], [builder.terminal([Fraction(1, 7)]), builder.terminal([0])])
    builder.link(nodes[1], [builder.terminal([0]), builder.terminal([Fraction(1, 7)])])
    return builder.tree()


def test_the_text() -> None:
    game = gamedsl.load("stag_hunt")
    assert to_efg(game) == STAG_HUNT.replace("HASH", game.hash[:16])


def test_names_are_escaped_and_numbers_are_fractions() -> None:
    assert to_efg(coin()).splitlines() == [
        r'EFG 2 R "" { "the \"one\"" }', '""', "",
        r'c "" 1 "" { "a b" 1/3 "c\"" 2/3 } 0',
        r'p "" 1 1 "k \"e\" y" { "x\"" "y" } 0',
        't "" 1 "(1/7)" { 1/7 }', 't "" 2 "(0)" { 0 }',
        r'p "" 1 1 "k \"e\" y" { "x\"" "y" } 0',
        't "" 2 "(0)" { 0 }', 't "" 1 "(1/7)" { 1/7 }',
    ]  # fmt: skip
    assert shapes.of_text(to_efg(coin())) == shapes.of_tree(coin())


def test_outcomes_of_chance_have_their_names() -> None:
    assert 'c "" 1 "" { "J" 1/3 "Q" 1/3 "K" 1/3 } 0' in to_efg(gamedsl.load("kuhn_poker"))


def test_moves_without_an_alternative(tmp_path) -> None:
    game = games.written(
        tmp_path,
        "game: only\nroles: [one]\nturns:\n  - {draw: c, from: [1], seen_by: all}\n"
        "  - {role: one, choose: a, from: [x]}\n  - {role: one, choose: b, from: [y, z]}\n"
        "payoffs: 1 if b == y else 0\n",
    )
    lines = [line[0] for line in to_efg(game).splitlines()[3:]]
    assert lines == ["c", "p", "p", "t", "t"]
    assert [line[0] for line in to_efg(game, forced="taken").splitlines()[3:]] == ["p", "t", "t"]


@pytest.mark.parametrize("name", ["kuhn_poker", "tiny_hanabi", "goofspiel", "centipede", "jury"])
def test_the_tree_is_that_of_the_game(name: str) -> None:
    game = games.loaded(name)
    text = to_efg(game)
    assert text == to_efg(gamedsl.load(name))
    assert shapes.of_text(text) == shapes.of_tree(tabulate(game.env(), forced="asked"))
    assert shapes.of_text(to_efg(game, forced="taken")) == shapes.of_tree(tabulate(game.env()))


def test_a_tree_that_is_too_large() -> None:
    with pytest.raises(TooLarge):
        to_efg(gamedsl.load("kuhn_poker"), limit=50)


def test_a_strategic_form() -> None:
    game = gamedsl.load("ultimatum")
    head, payoffs = to_nfg(game).split(f'(gamedsl {game.hash[:16]})"\n\n')
    assert head.startswith(ULTIMATUM)
    cells = [tuple(map(int, line.split())) for line in payoffs.splitlines()]
    # The proposer's strategy varies fastest.
    assert cells[:6] == [(8, 2), (5, 5), (2, 8), (8, 2), (5, 5), (0, 0)]
    assert cells[-3:] == [(0, 0)] * 3
    assert len(cells) == 24


def test_reduced_strategies(tmp_path) -> None:
    """Who goes out at once has one strategy, not one for each thing it could do later."""
    game = games.written(
        tmp_path,
        "game: later\nroles: [one, two]\nturns:\n  - {role: one, choose: a, from: [quit, stay]}\n"
        "  - {role: two, choose: b, from: [l, r], if: a == stay}\n"
        "  - {role: one, choose: c, from: [x, y], if: b == r}\npayoffs: {one: 1 if c == x else 0,"
        " two: 1/2}\n",
    )
    lines = to_nfg(game).splitlines()
    assert lines[1] == '{ { "quit *" "stay x" "stay y" } { "l" "r" } }'
    assert lines[4:] == ["0 1/2"] * 4 + ["1 1/2", "0 1/2"]


def test_a_strategic_form_that_is_too_large() -> None:
    with pytest.raises(NormalFormTooLarge, match=r"player_1 has 6,561 strategies") as found:
        to_nfg(gamedsl.load("kuhn_poker_n"))
    assert found.value.counts == {"player_1": 6561, "player_2": 10000, "player_3": 65536}
