"""Lotteries: exact odds, a fixed order, and what a seed draws."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations
from math import comb

import pytest
from scipy.stats import chisquare

from gamedsl.engine.chance import Lottery, equally, ticket, weighted
from gamedsl.ir.values import Bag, name_of


def listed(lottery: Lottery) -> dict[object, Fraction]:
    return {lottery.value(i): lottery.probability(i) for i in range(lottery.size)}


def test_copies_are_one_outcome_with_their_weight() -> None:
    lottery = equally(Bag.of(["a", "b", "a", "c"]))
    assert listed(lottery) == {"a": Fraction(1, 2), "b": Fraction(1, 4), "c": Fraction(1, 4)}
    assert [lottery.outcome(t) for t in range(lottery.total)] == [0, 0, 1, 2]


def test_weights_are_exact_and_zero_never_happens() -> None:
    weights = {"a": Fraction(1, 3), "b": Fraction(0), "c": Fraction(2, 3)}
    lottery = weighted(tuple(weights.items()))
    assert listed(lottery) == {"a": Fraction(1, 3), "c": Fraction(2, 3)}
    assert [lottery.outcome(t) for t in range(3)] == [0, 1, 1]


@pytest.mark.parametrize(
    ("items", "take"),
    [("abcd", 2), ("aabbc", 2), ("aabbc", 3), ("aaab", 4), ("abc", 0), ("abcabd", 1)],
)
def test_selection_weighs_hands_by_multiplicity(items: str, take: int) -> None:
    """The definition: all selections of copies are equally likely; hands that look alike merge."""
    lottery = equally(Bag.of(items), take)
    first = {item: items.index(item) for item in items}
    hands = Counter(
        tuple(sorted((items[i] for i in picked), key=first.__getitem__))
        for picked in combinations(range(len(items)), take)
    )
    ways = comb(len(items), take)
    assert listed(lottery) == {hand: Fraction(count, ways) for hand, count in hands.items()}
    assert lottery.total == ways
    drawn = [lottery.outcome(t) for t in range(lottery.total)]
    assert drawn == sorted(drawn)
    counted = Counter(lottery.value(i) for i in drawn)
    assert counted == hands
    assert named(lottery) == list(range(lottery.size))
    assert lottery.named("z") is lottery.named("a,b,c,d,a") is None


def named(lottery: Lottery) -> list[int | None]:
    """What is found by each outcome's name."""
    return [lottery.named(name_of(lottery.value(i))) for i in range(lottery.size)]


@pytest.mark.parametrize("take", [None, 1, 3])
def test_names_with_commas_are_found(take: int | None) -> None:
    """As of records, whose names could be read in several ways."""
    lottery = equally(Bag.of([("a", "b"), ("a",), ("b",), ("a", "b"), ("b", "a")]), take)
    names = [name_of(lottery.value(i)) for i in range(lottery.size)]
    assert [names[number] for number in named(lottery) if number is not None] == names


def test_a_large_selection_is_never_listed() -> None:
    lottery = equally(Bag.of(range(1000)), 50)
    assert lottery.size == comb(1000, 50)
    last = lottery.outcome(lottery.total - 1)
    assert last == lottery.size - 1
    assert lottery.value(last) == tuple(range(950, 1000))
    assert lottery.named(name_of(lottery.value(last))) == last
    assert lottery.named(name_of(lottery.value(last // 3))) == last // 3
    assert lottery.named("999," * 49 + "999") is None
    assert lottery.value(lottery.outcome(lottery.total // 3)) == tuple(
        sorted(lottery.value(lottery.outcome(lottery.total // 3)))
    )


def test_tickets_are_even_and_keyed() -> None:
    drawn = Counter(ticket(7, seed, "card", "1.2", "x") for seed in range(7000))
    assert chisquare([drawn[i] for i in range(7)]).pvalue > 0.01
    keys = [
        (1, "a", "", ""),
        (2, "a", "", ""),
        (1, "b", "", ""),
        (1, "a", "1", ""),
        (1, "a", "", "1"),
    ]
    assert len({ticket(2**64, *key) for key in keys}) == 5


def test_tickets_are_portable_and_cover_large_ranges() -> None:
    assert ticket(52, 7, "card", "", "") == 6
    total = comb(1000, 500)
    drawn = [ticket(total, seed) for seed in range(50)]
    assert max(drawn) > total * 9 // 10
    assert min(drawn) < total // 10
