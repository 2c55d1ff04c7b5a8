"""Gambit's files as games of ours: the same trees, in words that people can read."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import pytest

import gamedsl
from gamedsl.compiler import compile_file
from gamedsl.diagnostics import Problems
from gamedsl.diagnostics.render import render
from gamedsl.export.gambit import to_efg, to_nfg
from gamedsl.imports import import_text
from gamedsl.runtime import Action, Game
from gamedsl.solve import tabulate
from gamedsl.solve.table import one_shot
from tests.export import games, shapes

POKER = """EFG 2 R "One-card poker" { "Fred" "Alice" }
"A note:
  two lines"

c "" 1 "" { "Red" 1/2 "Black" 1/2 } 0
p "" 1 1 "" { "Raise" "Fold" } 0
p "" 2 1 "" { "Meet" "Pass" } 0
t "" 1 "Win Big" { 2, -2 }
t "" 2 "Win" { 1, -1 }
t "" 2 "Win" { 1, -1 }
p "" 1 2 "" { "Raise" "Fold" } 0
p "" 2 1 "" { "Meet" "Pass" } 0
t "" 3 "Lose Big" { -2, 2 }
t "" 2 "Win" { 1, -1 }
t "" 4 "Lose" { -1, 1 }
"""

POKER_FILE = """game: poker
about: One-card poker
# A note:
#   two lines
# Names that had to be changed:
#   fred = "Fred"
#   alice = "Alice"
roles: [fred, alice]
turns:
  - {draw: chance, from: {Red: 1/2, Black: 1/2}, seen_by: fred}
  - {role: fred, choose: move_1, from: [Raise, Fold]}
  - {role: alice, choose: move_2, from: [Meet, Pass], if: move_1 == Raise}
let:
  outcome:
    2 if chance == Red and move_2 == Meet else
    -2 if chance == Black and move_2 == Meet else
    -1 if chance == Black and move_1 == Fold else
    1
payoffs:
  fred: outcome
  alice: -outcome
"""

HEAD = 'EFG 2 R "a game" { "ann" "bob" }\n'

ROUND = ("battle_of_the_sexes", "centipede", "colonel_blotto", "goofspiel", "information_cascade",
         "kuhn_poker", "kuhn_poker_n", "public_goods", "rock_paper_scissors", "tiny_hanabi",
         "ultimatum", "ultimatum_n", "advice", "stag_hunt_n")  # fmt: skip
LARGE = ("first_price_auction", "jury", "leduc_poker", "repeated_prisoners_dilemma",
         "repeated_stag_hunt", "running_total")  # fmt: skip


def imported(text: str, folder: Path) -> gamedsl.Game:
    problems = Problems()
    written = import_text(text, "imported", problems)
    assert written is not None, render(problems.found)
    path = folder / "imported.yaml"
    path.write_text(written)
    result = compile_file(path)
    assert result.diagnostics == [], written
    return Game(result.ir, result.document.files)


def written(text: str) -> str:
    found = import_text(text, "imported", Problems())
    assert found is not None
    return found


def shape(game: gamedsl.Game) -> shapes.Shape:
    return shapes.of_tree(tabulate(game.env(), forced="asked", forgetful=True))


def test_a_file_as_people_write_it() -> None:
    assert import_text(POKER, "poker", Problems()) == POKER_FILE


def test_it_is_the_same_tree(tmp_path: Path) -> None:
    assert shape(imported(POKER, tmp_path)) == shapes.of_text(POKER)


@pytest.mark.parametrize(
    "name", [*ROUND, *(pytest.param(n, marks=pytest.mark.slow) for n in LARGE)]
)
def test_there_and_back(name: str, tmp_path: Path) -> None:
    """Our games, exported, imported and exported again."""
    game = games.loaded(name)
    text = to_efg(game)
    back = imported(text, tmp_path)
    assert shape(back) == shape(game)
    assert shapes.of_text(to_efg(back)) == shapes.of_text(text)


def test_payoffs_on_the_way_add_up(tmp_path: Path) -> None:
    text = HEAD + (
        'p "" 1 1 "" { "l" "r" } 1 "paid now" { .5, 1/3 }\n'
        'p "" 2 1 "" { "a" "b" } 2 "" { 1.25, 0 }\nt "" 1\nt "" 0\nt "" 1 "paid now" { 1/2, 1/3 }\n'
    )
    tree = tabulate(imported(text, tmp_path).env())
    assert sorted(tree.payoffs[n] for n in tree.terminals) == [
        (Fraction(1), Fraction(2, 3)), (Fraction(7, 4), Fraction(1, 3)),
        (Fraction(9, 4), Fraction(2, 3)),
    ]  # fmt: skip
    assert shapes.of_tree(tree) == shapes.of_text(text)


def test_hidden_values_are_revealed_only_at_the_end(tmp_path: Path) -> None:
    """Bob learns that he is asked, and nothing of which of two moves asked him."""
    text = HEAD + (
        'p "" 1 1 "" { "l" "m" "r" } 0\nt "" 1 "" { 0, 0 }\np "" 2 1 "" { "x" "y" } 0\n'
        't "" 2 "" { 1, 0 }\nt "" 3 "" { 2, 0 }\n'
        'p "" 2 1 0\nt "" 4 "" { 3, 0 }\nt "" 5 "" { 4, 0 }\n'
    )
    assert "- {show: move_1 == m or move_1 == r, as: told_1, seen_by: all}" in written(text)
    assert shape(imported(text, tmp_path)) == shapes.of_text(text)


def test_names_that_cannot_stay(tmp_path: Path) -> None:
    text = (
        'EFG 2 R "été: 100%" { "1" "me" }\n""\np "" 1 1 "" { "2-0" "none" "x" "-x" } 0\n'
        'c "" 1 "" { "1/2" 1/2 "1/2" 1/2 } 0\np "" 2 1 "" { "-1" "10" } 0\n'
        + "".join(f't "" {i} "" {{ {i}, 0 }}\n' for i in range(1, 7))
    )
    file = written(text)
    for line in ('about: "été: 100%"', '#   player_1 = "1"', '#   me_2 = "me"', '#   a_2_0 = "2-0"',
                 '#   none_2 = "none"', '#   x_2 = "-x"', '#   a_1_2 = "1/2"',
                 '#   a_1_2_2 = "1/2"'):  # fmt: skip
        assert line in file.splitlines()
    game = imported(text, tmp_path)
    assert shape(game) == shapes.of_text(text)
    assert game.env().action_names("me_2") == ("-1", "10")


def test_a_player_who_never_moves(tmp_path: Path) -> None:
    text = HEAD + 'p "" 2 1 "" { "l" "r" } 0\nt "" 1 "" { 1, 0 }\nt "" 2 "" { 2, 0 }\n'
    assert "  - {role: ann, choose: idle, from: [wait]}\n" in written(text)
    tree = tabulate(imported(text, tmp_path).env())
    assert shapes.of_tree(tree) == shapes.of_text(text)


def test_it_can_be_played_and_has_prompts(tmp_path: Path) -> None:
    episode = imported(POKER, tmp_path).env().reset(seed=3)
    while not episode.done:
        assert all(d.messages for d in episode.decisions)
        episode.step({d.seat: Action(d.legal[0]) for d in episode.decisions})
    assert sum(episode.payoffs.values()) == 0


MATRIX = """NFG 1 R "Three" { "Player 1" "Player 2" "Player 3" }
{ { "Top" "Bottom" } { "Left" "Right" } { "1" "2" } }
"A comment."

{ { "" 3, 0, 2 } { "" 0, 1.5, 0 } { "" 0, 2, 0 } { "" 1, 0, 0 } { "" 1/3, 0, 0 } }
1 2 3 4 5 0 2 3
"""


def test_a_strategic_game(tmp_path: Path) -> None:
    table = one_shot(tabulate(imported(MATRIX, tmp_path).env()))
    assert table is not None
    assert table.actions == (("Top", "Bottom"), ("Left", "Right"), ("s_1", "s_2"))
    third = Fraction(1, 3)
    assert table.payoffs[("Bottom", "Left", "s_1")] == (0, Fraction(3, 2), 0)
    assert table.payoffs[("Top", "Left", "s_2")] == (third, 0, 0)
    assert table.payoffs[("Bottom", "Left", "s_2")] == (0, 0, 0)
    assert table.payoffs[("Bottom", "Right", "s_2")] == (0, 2, 0)
    assert written(MATRIX).endswith(
        "protocol: simultaneous\npayoffs: |\n"
        "  player_1, player_2, player_3 | s_1       | s_2\n"
        "  Top, Left                    | 3, 0, 2   | 1/3, 0, 0\n"
        "  Top, Right                   | 0, 2, 0   | 0, 1.5, 0\n"
        "  Bottom, Left                 | 0, 1.5, 0 | 0, 0, 0\n"
        "  Bottom, Right                | 1, 0, 0   | 0, 2, 0\n"
    )


@pytest.mark.parametrize("strategies", ["2 2", '{ "1" "2" } { "1" "2" }'])
def test_payoffs_one_by_one(strategies: str, tmp_path: Path) -> None:
    text = f'NFG 1 R "x" {{ "a" "b" }} {{ {strategies} }}\n1 2  3 4\n5 6, 7 8\n'
    table = one_shot(tabulate(imported(text, tmp_path).env()))
    assert table is not None
    assert table.payoffs == {
        ("1", "1"): (1, 2), ("2", "1"): (3, 4), ("1", "2"): (5, 6), ("2", "2"): (7, 8),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["chicken", "biased_rock_paper_scissors", "public_goods"])
def test_a_table_there_and_back(name: str, tmp_path: Path) -> None:
    game = games.loaded(name)
    back = imported(to_nfg(game), tmp_path)
    before, after = (one_shot(tabulate(g.env())) for g in (game, back))
    assert before is not None
    assert after is not None
    assert list(after.payoffs.values()) == list(before.payoffs.values())
    assert [len(names) for names in after.actions] == [len(names) for names in before.actions]


# Trees that nobody thought of.


def random_game(rng: random.Random, recall: bool = True) -> str:
    """A random tree in which nodes of a player with the same past of its own may be one set, and
    without `recall` any nodes of a player."""
    players = rng.randint(1, 3)
    lines: list[str] = []
    sets: dict[tuple, list[tuple[int, int]]] = {}
    counts = [0] * (players + 1)

    def node(depth: int, past: tuple[tuple, ...]) -> None:
        kind = rng.random()
        if depth == 0 or kind < 0.15:
            paid = (Fraction(rng.randint(-6, 6), rng.choice((1, 1, 2, 3))) for _ in range(players))
            lines.append(f't "" {len(lines) + 1} "" {{ {", ".join(map(str, paid))} }}')
            return
        if kind < 0.35:
            number = len(lines) + 1
            weights = [rng.randint(1, 4) for _ in range(rng.randint(1, 3))]
            names = " ".join(f'"o{i}" {w}/{sum(weights)}' for i, w in enumerate(weights))
            lines.append(f'c "" {number} "" {{ {names} }} 0')
            for _ in weights:
                node(depth - 1, past)
            return
        player = rng.randint(1, players)
        known = sets.setdefault((player, past[player] if recall else ()), [])
        if known and rng.random() < 0.6:
            number, actions = rng.choice(known)
        else:
            counts[player] += 1
            number, actions = counts[player], rng.randint(1, 3)
            known.append((number, actions))
        shown = " ".join(f'"a{i}"' for i in range(actions))
        lines.append(f'p "" {player} {number} "" {{ {shown} }} 0')
        for action in range(actions):
            own = (*past[:player], (*past[player], number, action), *past[player + 1 :])
            node(depth - 1, own)

    node(rng.randint(1, 5), tuple(() for _ in range(players + 1)))
    names = " ".join(f'"p{i}"' for i in range(players))
    return "\n".join([f'EFG 2 R "random" {{ {names} }}', *lines]) + "\n"


@pytest.mark.parametrize("recall", [True, False], ids=["recall", "no recall"])
@pytest.mark.parametrize("seed", range(40))
def test_random_trees(seed: int, recall: bool, tmp_path: Path) -> None:
    """Whatever there is comes back as the same tree, whatever its players forget, in whatever order
    they move. Who never moves has a step with one option, which is no node where such are left out.
    """
    text = random_game(random.Random(seed), recall)
    path = tmp_path / "imported.yaml"
    path.write_text(written(text))
    result = compile_file(path)
    assert result.ok, render(result.diagnostics)
    game, expected = gamedsl.load(path), shapes.of_text(text)
    assert shapes.of_tree(tabulate(game.env(), forgetful=True)) == shapes.elided(expected)
    if "idle" not in path.read_text():
        assert shape(game) == expected


def test_what_is_not_bound_can_be_shown(tmp_path: Path) -> None:
    """A program of the importer may show an earlier move that was not made."""
    game = games.written(
        tmp_path,
        "game: nothing\nroles: [a, b]\nturns:\n"
        "  - {draw: c, from: {x: 1/2, y: 1/2}, seen_by: nobody}\n"
        "  - {draw: d, from: {x: 1/2, z: 1/2}, if: c == x, seen_by: nobody}\n"
        "  - {show: d, as: told, seen_by: a}\n  - {role: a, choose: m, from: [l, r]}\n"
        "  - {role: b, choose: n, from: [l, r]}\npayoffs: 1 if m == n and d == x else 0\n",
    )
    told = set()
    for seed in range(12):
        episode = game.env().reset(seed=seed)
        told.add(episode.view("a").data["bound"]["told"])
    assert told == {None, "x", "z"}


def test_a_set_after_paths_of_different_lengths(tmp_path: Path) -> None:
    """Bob does not know whether one or two moves came before his own."""
    bob = 'p "" 2 1 "" { "x" "y" } 0\nt "" 1 "" { 1, 0, 0 }\nt "" 2 "" { 0, 1, 0 }\n'
    out = 't "" 3 "" { 0, 0, 1 }\n'
    text = (
        'EFG 2 R "a game" { "ann" "bob" "cid" }\nc "" 1 "" { "h" 1/2 "t" 1/2 } 0\n'
        f'p "" 1 1 "" {{ "in" "out" }} 0\n{bob}{out}p "" 1 2 "" {{ "in" "out" }} 0\n'
        f'p "" 3 1 "" {{ "in" "out" }} 0\n{bob}{out}{out}'
    )
    assert shape(imported(text, tmp_path)) == shapes.of_text(text)
