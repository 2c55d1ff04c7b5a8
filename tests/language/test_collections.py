"""Votes, sets of a type's values, and lets over collections of several kinds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gamedsl
from gamedsl import Action
from tests.writing import write

BACKENDS = ["interpreter", "generated", "tabulated"]
GAME = """\
game: election
roles: [ann, bob, cyd]
types: {Colour: [a, b, c]}
state: {seen: {set: Colour}, left: {bag: Colour}}
turns:
  - {role: all, choose: vote, from: Colour}
  - do: |
      add vote[k] to seen for k in roles
      add vote[k] to left for k in roles
"""


def paid(folder: Path, payoffs: str, votes: str, backend: str, more: str = "") -> Any:
    """Everyone's payoff after these votes, a letter each; one number where all are alike."""
    game = gamedsl.load(write(folder, f'{GAME}{more}payoffs: "{payoffs}"\n'))
    episode, rest = game.env(backend=backend).reset(), iter(votes)
    while not episode.done:
        episode.step({d.seat: Action(next(rest)) for d in episode.decisions})
    found = list(episode.payoffs.values())
    return found[0] if len(set(found)) == 1 else found


VALUES = [
    ("1 if most(vote) == a else 0", "aba", 1),
    ("1 if most(vote) == none else 0", "aba", 0),
    ("1 if most(vote) == none else 0", "abc", 1),
    ("1 if most([x for x in vote if x == c]) == none else 0", "aba", 1),
    ("sum(index(x) for x in modes(vote))", "bcb", 1),
    ("size(modes(vote))", "abc", 3),
    ("size(modes([x for x in vote if x == c]))", "aba", 0),
    ("1 if vote.me in modes(vote) else 0", "aab", [1, 1, 0]),
    ("1 if most([3, 1, 3, 1, 3]) == 3 else 0", "aaa", 1),
    ("1 if most(left) == b else 0", "bcb", 1),
    ("size(difference(Colour, seen))", "aab", 1),
    ("size(union(seen, Colour))", "aab", 3),
    ("size(intersection(Colour, modes(vote)))", "aab", 1),
    ("1 if seen == Colour else 0", "abc", 1),
    ("1 if Colour == seen else 0", "aab", 0),
    ("size(Colour if me == ann else seen)", "aaa", [3, 1, 1]),
    ("size(seen if me == ann else Colour)", "aaa", [1, 3, 3]),
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("text", "votes", "expected"), VALUES)
def test_values(tmp_path: Path, text: str, votes: str, expected: object, backend: str) -> None:
    assert paid(tmp_path, text, votes, backend) == expected


GENERIC = """\
let:
  few(xs): size(xs) < 3
  has(xs, x): any(y == x for y in xs)
  total(xs): sum(index(x) for x in xs if has(xs, x))
  own(xs): count(x == vote.me for x in xs)
"""
GENERIC_VALUES = [
    ("(1 if few(seen) else 0) + (1 if few(left) else 0) + (1 if few(vote) else 0)", "aba", 1),
    ("(1 if few([1, 2]) else 0) + (1 if few(Colour) else 0)", "aba", 1),
    ("(1 if has(seen, b) else 0) + (1 if has(1..3, 2) else 0)", "aba", 2),
    ("total(seen) + 10 * total(left) + 100 * total(vote) + 1000 * total(roles)", "cbc", 3583),
    ("own(seen) + 10 * own(left) + 100 * own(vote)", "aab", [231, 231, 121]),
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("text", "votes", "expected"), GENERIC_VALUES)
def test_lets_are_generic(
    tmp_path: Path, text: str, votes: str, expected: object, backend: str
) -> None:
    assert paid(tmp_path, text, votes, backend, GENERIC) == expected


def test_let_is_typed_once_per_argument_type(tmp_path: Path) -> None:
    test = "few(seen) and few(Colour) and few(left) or few(seen)"
    text = f"{GAME}{GENERIC}payoffs: 1 if {test} else 0\n"
    game = gamedsl.load(write(tmp_path, text))
    assert [x.name for x in game.ir.lets if x.name.startswith("few")] == ["few", "few.2"]
