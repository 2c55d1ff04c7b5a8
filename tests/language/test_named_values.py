"""Names of `values` types, lists that mix names and numbers, and records with a field for each."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import gamedsl
from gamedsl.compiler import compile_file
from gamedsl.diagnostics.render import render
from gamedsl.engine.walk import ChanceNode, EndNode, JointNode, walk
from gamedsl.ir.program import Draw
from gamedsl.runtime.kernels import BACKENDS
from tests.writing import write

RANKS = "{values: {ten: 10, jack: 10, queen: 10, ace: 11}}"


def game(folder: Path, payoffs: str, types: str = f"Rank: {RANKS}", turns: str = "") -> Any:
    turns = (
        turns
        or """
  - {draw: card, from: Rank, seen_by: all}
  - {role: ann, choose: pick, from: Rank}"""
    )
    roles = "[ann, bob]" if "bob" in turns or "role: all" in turns else "[ann]"
    text = f"game: g\nroles: {roles}\ntypes:\n  {types}\nturns:{turns}\npayoffs: {payoffs}\n"
    return gamedsl.load(write(folder, text))


def problems(folder: Path, payoffs: str, types: str = f"Rank: {RANKS}") -> str:
    text = f"""
game: g
roles: [ann]
types:
  {types}
turns:
  - {{draw: card, from: Rank, seen_by: all}}
  - {{role: ann, choose: pick, from: Rank}}
payoffs: {payoffs}
"""
    return render(compile_file(write(folder, text)).diagnostics)


def paid(game: Any, backend: str = "interpreter") -> list[Any]:
    """Returns what ann is paid in each play, in order."""
    nodes = walk(game.env(backend=backend).reset(chance="asked"), 10_000)
    return [node.point.payoffs["ann"] for node in nodes if isinstance(node, EndNode)]


# names with values


def test_equal_values_stay_four_outcomes(tmp_path: Path) -> None:
    found = game(tmp_path, "0")
    first = next(walk(found.env().reset(chance="asked"), 10))
    assert isinstance(first, ChanceNode)
    assert [(o.name, o.probability) for o in first.point.chance] == [
        (name, Fraction(1, 4)) for name in ("ten", "jack", "queen", "ace")
    ]


def test_equal_values_stay_four_options(tmp_path: Path) -> None:
    asked = [n for n in walk(game(tmp_path, "0").env().reset(chance="asked"), 99)
             if isinstance(n, JointNode)]  # fmt: skip
    assert {tuple(node.point.decisions[0].legal) for node in asked} == {
        ("ten", "jack", "queen", "ace")
    }


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("payoffs", "wanted"),
    [
        ("1 if card == pick else 0", {1: 4, 0: 12}),  # by name
        ("1 if card == jack else 0", {1: 4, 0: 12}),
        ("1 if jack == card else 0", {1: 4, 0: 12}),
        ("1 if card != jack else 0", {1: 12, 0: 4}),
        ("1 if card in [ten, jack] else 0", {1: 8, 0: 8}),
        ("1 if value_of(card) == value_of(pick) else 0", {1: 10, 0: 6}),  # by value
        ("card - pick", {0: 10, 1: 3, -1: 3}),
        ("card", {10: 12, 11: 4}),
        ("1 if card < pick else 0", {1: 3, 0: 13}),
        ("1 if card >= 11 else 0", {1: 4, 0: 12}),
        ("1 if card < ace else 0", {1: 12, 0: 4}),
        ("max(card, pick)", {10: 9, 11: 7}),
        ("max([card, pick])", {10: 9, 11: 7}),
        ("sum(set([card, pick, queen]))", {20: 6, 21: 3, 31: 4, 30: 2, 10: 1}),
        ("len(set([card, pick, queen]))", {1: 1, 2: 9, 3: 6}),
        ("count([card, pick], jack)", {2: 1, 1: 6, 0: 9}),
        ("sum(count([card, pick], r) * r for r in Rank)", {20: 9, 21: 6, 22: 1}),
        ("index(card)", {0: 4, 1: 4, 2: 4, 3: 4}),
        ("card if card == ace else -1", {11: 4, -1: 12}),
        ("sum([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 4][card] for r in 1..2)", {6: 12, 8: 4}),
    ],
)
def test_equality_is_by_name_and_arithmetic_by_value(
    tmp_path: Path, backend: str, payoffs: str, wanted: dict[int, int]
) -> None:
    assert Counter(paid(game(tmp_path, payoffs), backend)) == wanted


@pytest.mark.parametrize("backend", BACKENDS)
def test_values_may_be_cells_roles_and_truths(tmp_path: Path, backend: str) -> None:
    types = """Move: {values: {up: [-1, 0], stay: [0, 0], rest: [0, 0]}}
  Whose: {values: {hers: ann, his: bob}}
  Rank: {values: {yes: true, no: false}}"""
    turns = """
  - {draw: step, from: Move, seen_by: all}
  - {draw: whose, from: Whose, seen_by: all}
  - {draw: card, from: Rank, seen_by: all}
  - {role: all, choose: bid, from: 1..2}"""
    text = "step[0] + ((1, 1) + step)[0] + 10 * bid[whose] + (100 if card else 0)"
    found = game(tmp_path, text, types, turns)
    steps = {-1: 1, 1: 2}
    wanted = Counter({
        step + 10 * bid + more: times * 4
        for step, times in steps.items() for bid in (1, 2) for more in (0, 100)
    })  # fmt: skip
    assert Counter(paid(found, backend)) == wanted


def test_prompts_and_transcripts_say_names(tmp_path: Path) -> None:
    found = game(tmp_path, "card + pick")
    for seed in range(8):
        episode = found.env().reset(seed)
        drawn = next(name for name in ("ten", "jack", "queen", "ace")
                     if f"card: {name}." in str(episode.decisions[0].messages))  # fmt: skip
        episode.step({"ann": gamedsl.Action("jack")})
        assert episode.payoffs["ann"] == (21 if drawn == "ace" else 20)
        assert drawn in str(episode.transcript)


def test_choice_read_by_value_binds_the_value(tmp_path: Path) -> None:
    """It needs no look-up in play; one that is read by name binds the name."""
    chosen = {
        text: game(tmp_path, text).ir.steps[0].values["ann"]["jack"]
        for text in ("pick + 1", "value_of(pick)", "1 if pick == jack else 0", "len(past(pick))")
    }
    assert list(chosen.values()) == [10, 10, "jack", "jack"]


@pytest.mark.parametrize(
    ("payoffs", "wanted"),
    [
        ("1 if card == 10 else 0", "`ten` and `jack` are both 10"),
        ("1 if 10 == card else 0", "`ten` and `jack` are both 10"),
        ("1 if 10 in [card, pick] else 0", "`ten` and `jack` are both 10"),
        ("count([card, pick], 10)", "`ten` and `jack` are both 10"),
        ("1 if card == knave else 0", "unknown name `knave`"),
    ],
)
def test_plain_values_do_not_equal_names(tmp_path: Path, payoffs: str, wanted: str) -> None:
    assert wanted in problems(tmp_path, payoffs)


def test_plain_value_equals_the_only_name_with_it(tmp_path: Path) -> None:
    found = game(tmp_path, "1 if card == 11 else 0", "Rank: {values: {low: 7, high: 11}}")
    assert Counter(paid(found)) == {1: 2, 0: 2}


def test_ranges_of_names_stand_beside_ranges_of_values(tmp_path: Path) -> None:
    types = "Rank: {values: {A: 11, 2..4: 12..14, J: 10}}"
    found = game(tmp_path, "card if card in [2, 4] else 0 if card == A else -1", types)
    assert Counter(paid(found)) == {12: 5, 14: 5, 0: 5, -1: 10}


def test_map_of_options_binds_values(tmp_path: Path) -> None:
    turns = "\n  - {role: ann, choose: pick, from: {ten: 10, jack: 10, ace: 11}}"
    found = game(tmp_path, "1 if pick == 10 else 0", turns=turns)
    assert paid(found) == [1, 1, 0]


# lists that mix names and numbers


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("ranks", ["[A, 2..4, J]", "[A, 2, 3, 4, J]", '["A", "2", "3", 4, J]'])
def test_names_and_numbers_are_told_apart_by_name(tmp_path: Path, backend: str, ranks: str) -> None:
    types = f"Rank: {ranks}"
    tested = "3 if card == 2 else 4 if card in [3, A] else 5 if card > 4 else index(card)"
    assert Counter(paid(game(tmp_path, tested, types), backend)) == {3: 10, 4: 10, 5: 5}


def test_numbers_in_a_mixed_list_are_no_amounts(tmp_path: Path) -> None:
    assert "does not take one of A, 2, 3" in problems(tmp_path, "card + 2", "Rank: [A, 2..3]")


def test_list_of_numbers_and_params_stays_numeric(tmp_path: Path) -> None:
    text = "game: g\nroles: [ann]\nparams: {n: 4}\ntypes: {Rank: [n, 5]}\nturns:\n" \
        "  - {role: ann, choose: pick, from: Rank}\npayoffs: pick + 1\n"  # fmt: skip
    assert sorted(paid(gamedsl.load(write(tmp_path, text)))) == [5, 6]


def test_options_may_mix_names_and_numbers(tmp_path: Path) -> None:
    turns = "\n  - {role: ann, choose: pick, from: [pass, 1..3]}\n"
    found = game(tmp_path, "1 if pick == pass else 2 if pick == 3 else 0", "Rank: [A, B]", turns)
    assert paid(found) == [1, 0, 0, 2]


# records


DECK = "Card: {rank: [A, 2..10, J, Q, K], suit: [clubs, diamonds, hearts, spades]}"


@pytest.mark.parametrize("backend", BACKENDS)
def test_card_of_52_is_drawn_chosen_and_told(tmp_path: Path, backend: str) -> None:
    turns = """
  - {draw: card, from: Card, seen_by: ann}
  - {role: ann, choose: claim, from: Card}
  - {role: bob, choose: answer, from: [believe, doubt]}"""
    payoffs = "1 if claim == card else 2 if claim.rank == 10 and card.suit == hearts else 0"
    found = game(tmp_path, payoffs, DECK, turns)
    (draw,) = (step for step in found.ir.turns if isinstance(step, Draw))
    assert draw.type == found.ir.steps[0].type
    assert len(found.ir.steps[0].options[0]) == 52
    assert Counter(paid(found, backend)) == {1: 104, 2: 2 * (13 * 4 - 1), 0: 2 * (52 * 52 - 103)}
    episode = found.env(backend=backend).reset(3)
    assert "10,hearts" in episode.decisions[0].labels
    episode.step({"ann": gamedsl.Action("10,hearts")})
    assert "ann chose 10,hearts." in str(episode.decisions[0].messages)


@pytest.mark.parametrize("backend", BACKENDS)
def test_record_has_a_field_per_value(tmp_path: Path, backend: str) -> None:
    types = """Good: [book, hat]
  Offer: {gives: {per: Good, of: 0..2}, firm: truth}"""
    turns = "\n  - {role: ann, choose: offer, from: Offer}"
    one = "offer.gives.book * 10 + sum(offer.gives[g] for g in Good)"
    other = "sum(n * (11 if g == book else 1) for g, n in offer.gives)"
    for text in (one, other, "sum(offer.gives) + 10 * offer.gives[book]"):
        found = game(tmp_path, text, types, turns)
        amounts = [book * 11 + hat for book in range(3) for hat in range(3) for _ in range(2)]
        assert paid(found, backend) == amounts


def test_state_of_one_for_each_starts_and_changes(tmp_path: Path) -> None:
    text = """
game: g
roles: [ann]
types:
  Good: [book, hat]
  Share: {per: Good, of: 0..9}
state: {pool: {of: Share, start: 4}}
turns:
  - {role: ann, choose: good, from: Good}
  - do: pool[good] += 2; pool.book = pool.book + 1
payoffs: pool.book * 10 + pool.hat
"""
    found = gamedsl.load(write(tmp_path, text))
    assert [paid(found, backend) for backend in BACKENDS] == [[74, 56]] * len(BACKENDS)


@pytest.mark.parametrize(
    ("field", "count"),
    [("truth", 2), ("role or none", 2), ("set of Good", 4), ("[1, 3, 5]", 3), ("Good", 2),
     ("{per: role, of: Good}", 2), ("Worth", 3), ("0..2", 3)],
)  # fmt: skip
def test_records_with_any_finite_field_may_be_chosen(
    tmp_path: Path, field: str, count: int
) -> None:
    types = f"""Good: [book, hat]
  Worth: {{values: {{none_at_all: 0, some: 1, more: 1}}}}
  Pair: {{one: {field}, two: 1..2}}"""
    turns = "\n  - {role: ann, choose: pair, from: Pair}"
    found = game(tmp_path, "pair.two", types, turns)
    (options,) = found.ir.steps[0].options
    assert len({option.name for option in options}) == len(options) == 2 * count
    assert [paid(found, backend) for backend in BACKENDS] == [[1, 2] * count] * len(BACKENDS)


@pytest.mark.parametrize("backend", BACKENDS)
def test_records_may_be_arguments_of_actions(tmp_path: Path, backend: str) -> None:
    text = """
game: g
roles: [ann, bob]
types:
  Rank: {values: {ten: 10, jack: 10}}
  Card: {rank: Rank, colour: [red, 7]}
protocol: {use: alternate, at_most: 4}
state: {last: {of: Card or none}, turn: 0}
actions:
  show:
    args: {card: Card, more: Rank}
    when: card.rank != more
    do: last = card; turn += 1
end: turn == 2
payoffs: 0 if last == none else last.rank if last.colour == 7 else -1
"""
    found = gamedsl.load(write(tmp_path, text))
    first = found.env(backend=backend).reset(0)
    assert first.decisions[0].legal == (
        "show(ten,red,jack)", "show(ten,7,jack)", "show(jack,red,ten)", "show(jack,7,ten)"
    )  # fmt: skip
    assert Counter(paid(found, backend)) == {10: 8, -1: 8}


def test_rows_of_data_hold_records(tmp_path: Path) -> None:
    (tmp_path / "hands.jsonl").write_text(
        '{"card": {"rank": 10, "suit": "hearts"}, "goods": {"book": 2, "hat": 0}, "tags": ["a"],'
        ' "at": [0, 1], "extra": 1}\n'
        '{"card": {"rank": "A", "suit": "spades"}, "goods": {"book": 0, "hat": 1}, "tags": [],'
        ' "at": null}\n',
        encoding="utf-8",
    )
    text = """
game: g
roles: [ann]
types:
  Card: {rank: [A, 2..10], suit: [hearts, spades]}
  Good: [book, hat]
  Tag: [a, b]
  Cell: {cell: [2, 2]}
data:
  hands:
    file: hands.jsonl
    fields: {card: Card, goods: {per: Good, of: 0..2}, tags: set of Tag, at: Cell or none}
turns:
  - {draw: row, from: hands, seen_by: all}
  - {role: ann, choose: pick, from: [hat, book]}
payoffs: (100 if row.card.rank == 10 else 0) + 10 * row.goods.book + size(row.tags)
"""
    found = gamedsl.load(write(tmp_path, text))
    assert paid(found) == [121, 121, 0, 0]


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ('{"card": {"rank": 11, "suit": "hearts"}}', "`card.rank` must be one of A, 2, 3, 4"),
        ('{"card": {"rank": 2}}', "`card` has no `suit`"),
        ('{"card": "2,hearts"}', 'must be a Card, an object {"rank": …, "suit": …}'),
    ],
)
def test_row_of_another_form_is_refused(tmp_path: Path, row: str, why: str) -> None:
    (tmp_path / "hands.jsonl").write_text(row + "\n", encoding="utf-8")
    text = """
game: g
roles: [ann]
types: {Card: {rank: [A, 2..10], suit: [hearts, spades]}}
data: {hands: {file: hands.jsonl, fields: {card: Card}}}
turns:
  - {draw: row, from: hands, seen_by: all}
payoffs: 0
"""
    assert why in render(compile_file(write(tmp_path, text)).diagnostics)


def test_rules_in_prompts_say_what_names_stand_for(tmp_path: Path) -> None:
    text = str(game(tmp_path, "card + pick").env().reset(0).decisions[0].messages)
    assert "(the value of card) + pick" in text
    assert "pick: ten (10), jack (10), queen (10) or ace (11)" in text
    assert "values of Rank: ten: 10, jack: 10, queen: 10 and ace: 11" in text
