"""All hands of Kuhn poker, for the games by hand that `benchmarks/peers.py` plays."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

import gamedsl
from tests.peers.plays import env_of

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
WORDS = {"c": "check", "b": "bet", "f": "fold", "k": "call"}
PLAYS = ("cc", "bf", "bk", "cbf", "cbk")
"""How a hand may go."""
HANDS = [(cards, play) for cards in permutations("JQK", 2) for play in PLAYS]
Pays = Callable[[tuple[str, ...], str], list[float]]
"""What both are paid for two cards and how the hand went."""


def module(name: str) -> Any:
    """A file of the benchmarks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        return importlib.import_module(name)


def ours(cards: tuple[str, ...], play: str) -> list[float]:
    episode, wanted = env_of("kuhn_poker").reset(seed=0, chance="asked"), list(cards)
    while episode.chance:
        episode.draw([outcome.name for outcome in episode.chance].index(wanted.pop(0)))
    for letter in play:
        episode.step({episode.decisions[0].seat: gamedsl.Action(WORDS[letter])})
    return [float(amount) for amount in episode.payoffs.values()]


def check(theirs: Pays) -> None:
    assert {hand: theirs(*hand) for hand in HANDS} == {hand: ours(*hand) for hand in HANDS}
