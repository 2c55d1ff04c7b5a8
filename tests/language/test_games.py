"""What the shipped games pay, by plays worked out by hand, and who sees what in them.

A play is a text of canonical names: what chance brings and what is chosen, in order; where several
choose at once, one name for each in seat order.
"""

from __future__ import annotations

import random
import re
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

import gamedsl
from gamedsl import Action

ROOT = Path(__file__).parent.parent.parent
GAMES = sorted(path.stem for path in (ROOT / "games").glob("*.yaml"))
PROTOCOLS = sorted(path.stem for path in (ROOT / "protocols").glob("*.yaml"))

_NAMES = re.compile(r"\{[^}]*\}|\S+")


@cache
def _env(name: str, params: str) -> gamedsl.Env:
    return gamedsl.load(name, params=yaml.safe_load(params) or None).env()


def begin(name: str, params: str = "") -> gamedsl.Episode:
    return _env(name, params).reset(chance="asked", forced="asked")


def go_on(episode: gamedsl.Episode, names: str) -> gamedsl.Episode:
    """Play on; every name must be an outcome of chance or a legal choice."""
    rest = iter(_NAMES.findall(names))
    for name in rest:
        if episode.chance:
            episode.draw([outcome.name for outcome in episode.chance].index(name))
            continue
        asked = episode.decisions
        chosen = [name, *(next(rest) for _ in asked[1:])]
        episode.step({d.seat: Action(n) for d, n in zip(asked, chosen, strict=True)})
    return episode


def legal(episode: gamedsl.Episode) -> str:
    """What whoever is asked first may choose."""
    return " ".join(episode.decisions[0].legal)


PLAYS: list[tuple[str, str, str, list[Any]]] = [
    ("advice", "", "4 5 5", [0, -1]),
    ("advice", "", "5 5 5", [0, 0]),
    ("advice", "{states: 9, bias: 2}", "3 1 4", [-1, -1]),
    ("bargaining", "", "10,0,0 3,2,1 1,0,1 accept", [10, 6]),
    ("bargaining", "", "10,0,0 3,2,1 1,2,3 reject 0,1,0 accept", [9, Fraction(9, 5)]),
    ("bargaining", "{patience: 1/2}", "2,1,2 0,5,0 1,2,3 reject 1,2,3 reject 1,1,1 accept",
     [Fraction(5, 4), Fraction(5, 4)]),
    ("bargaining", "{rounds: 2}", "10,0,0 3,2,1 1,2,3 reject 1,2,3 reject", [0, 0]),
    ("centipede", "", "take", [4, 1]),
    ("centipede", "", "pass take", [2, 8]),
    ("centipede", "{rounds: 3, large: 3, growth: 3}", "pass pass pass", [27, 81]),
    ("colonel_blotto", "", "2,1,2 0,5,0", [1, -1]),
    ("colonel_blotto", "", "5,0,0 0,5,0", [0, 0]),
    ("colonel_blotto", "{soldiers: 3}", "0,0,3 1,1,1", [-1, 1]),
    ("commons", "{players: 2, seasons: 2, stock: 5, most: 3, growth: 2}",
     "take(3) take(1) take(2) take(0)", [3, 3]),
    ("commons", "{players: 2, seasons: 2, stock: 5, most: 1, growth: 2}",
     "take(0) take(1) take(1) take(1)", [1, 2]),
    ("connect_four", "",
     "mark(5,0) mark(5,1) mark(4,1) mark(5,2) mark(4,2) mark(5,3) mark(3,2) mark(4,3) mark(3,3)"
     " mark(5,6) mark(2,3)", [1, -1]),
    ("first_price_auction", "", "7 5 3 4 bidder_2", [0, 1]),
    ("first_price_auction", "", "7 5 2 2 bidder_1", [5, 0]),
    ("first_price_auction", "{players: 3, top: 3}", "3 3 1 1 1 0 bidder_2", [0, 2, 0]),
    ("goofspiel", "", "2 3 1 3 1 3 1 2 2", [-1, 1]),
    ("goofspiel", "", "1 1 1 2 2 2 3 3 3", [0, 0]),
    ("guess_the_number", "{top: 4, tries: 2}", "3 1 3", [1]),
    ("guess_the_number", "{top: 4, tries: 2}", "3 4 1", [0]),
    ("information_cascade", "{players: 2}", "red red blue red blue", [1, 0]),
    ("jury", "", "guilty guilty guilty innocent guilty innocent guilty guilty guilty guilty",
     [1, 1, 1]),
    ("jury", "", "guilty innocent guilty guilty innocent innocent innocent", [-1, -1, -1]),
    ("jury", "{rounds: 1}", "innocent guilty innocent innocent guilty innocent guilty",
     [-1, -1, -1]),
    ("kuhn_poker", "", "K Q bet call", [2, -2]),
    ("kuhn_poker", "", "K Q check check", [1, -1]),
    ("kuhn_poker", "", "Q K check bet fold", [-1, 1]),
    ("kuhn_poker", "", "J K bet fold", [1, -1]),
    ("kuhn_poker_n", "", "0 1 2 check bet fold call", [-2, 3, -1]),
    ("kuhn_poker_n", "{players: 4}", "3 0 1 4 check check bet fold call fold", [4, -1, -2, -1]),
    ("kuhn_poker_n", "{players: 4}", "3 0 1 4 check check check check", [-1, -1, -1, 3]),
    ("leduc_poker", "", "K,a Q,a bet call Q,b check bet call", [-7, 7]),
    ("leduc_poker", "", "J,a J,b bet raise fold", [-3, 3]),
    ("leduc_poker", "", "J,a J,b check check K,a check check", [0, 0]),
    ("leduc_poker", "", "K,a Q,a bet raise call J,b bet raise call", [13, -13]),
    ("lewis_signaling", "{words: 2, objects: 4, shown: 2}",
     "{apple arrow} arrow word_1 arrow", [1, 1]),
    ("lewis_signaling", "{words: 2, objects: 4, shown: 2}",
     "{apple arrow} arrow word_2 apple", [0, 0]),
    ("liars_dice", "", "3 6 raise(1,3) raise(2,3) liar", [-1, 1]),
    ("liars_dice", "", "1 2 raise(1,3) liar", [-1, 1]),
    ("liars_dice", "", "1 2 raise(1,2) raise(1,5) liar", [1, -1]),
    ("nim", "{piles: [1, 2]}", "take(0,1) take(1,1) take(1,1)", [-1, 1]),
    ("nim", "{piles: [1, 2], misere: false}", "take(0,1) take(1,1) take(1,1)", [1, -1]),
    ("pursuit", "{predators: 1, needed: 1, size: 3, horizon: 2}",
     "0,0 2,2 right up down left", [Fraction(-1, 2), Fraction(1, 2)]),
    ("pursuit", "{predators: 2, needed: 2, size: 3, horizon: 4}",
     "0,0 0,2 0,1 down stay up up stay up", [Fraction(-1, 4), Fraction(-1, 4), Fraction(1, 4)]),
    ("repeated_prisoners_dilemma", "",
     "cooperate cooperate defect cooperate cooperate defect defect defect cooperate cooperate",
     [12, 12]),
    ("repeated_stag_hunt", "",
     "soon later stag stag later later stag hare soon soon hare hare", [6, 9]),
    ("running_total", "{players: 2, top: 1}", "1 1 1 2", [1, 1]),
    ("running_total", "{players: 2, top: 1}", "1 1 2 1", [0, 0]),
    ("serial_dictatorship", "{players: 2}", "2 1 2 0 1 2 take(2) take(1)", [2, 2]),
    ("serial_dictatorship", "{players: 2}", "1 2 2 0 1 2 take(2) take(1)", [0, 1]),
    ("small_hanabi", "",
     "red,1 red,2 blue,1 blue,2 play(0) red,3 play(0) blue,3 play(0) red,1 play(0) red,1 play(0)"
     " blue,1 play(0)", [6, 6]),
    ("small_hanabi", "", "red,1 red,2 blue,1 blue,2 play(0) red,3 play(1)", [0, 0]),
    ("tic_tac_toe", "", "mark(0,0) mark(1,0) mark(0,1) mark(1,1) mark(0,2)", [1, -1]),
    ("tic_tac_toe", "",
     "mark(0,0) mark(0,1) mark(0,2) mark(1,1) mark(1,0) mark(1,2) mark(2,1) mark(2,0) mark(2,2)",
     [0, 0]),
    ("tiny_hanabi", "", "d0 d0 a1 a1", [8, 8]),
    ("tiny_hanabi", "", "d1 d0 a0 a2", [10, 10]),
    ("tiny_hanabi", "", "d1 d0 a2 a2", [0, 0]),
    ("tiny_hanabi", "", "d0 d1 a2 a2", [10, 10]),
    ("ultimatum", "", "fair accept", [5, 5]),
    ("ultimatum", "", "low accept", [8, 2]),
    ("ultimatum", "", "high reject", [0, 0]),
    ("ultimatum_n", "{pie: 4}", "3 accept", [1, 3]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "params", "names", "payoffs"), PLAYS)
def test_plays(name: str, params: str, names: str, payoffs: list[Any]) -> None:
    assert list(go_on(begin(name, params), names).payoffs.values()) == payoffs
