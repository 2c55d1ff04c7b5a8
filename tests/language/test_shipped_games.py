"""What the shipped games pay, by plays worked out by hand, and who sees what in them.

A play is a text of canonical names: what chance brings and what is chosen, in order; where several
choose at once, one name for each in seat order.
"""

from __future__ import annotations

import random
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

import gamedsl
from gamedsl import Action
from tests.shipped import CLOSED

ROOT = Path(__file__).parent.parent.parent
GAMES = sorted(path.stem for path in (ROOT / "games").glob("*.yaml"))
PROTOCOLS = sorted(path.stem for path in (ROOT / "protocols").glob("*.yaml"))


@cache
def _env(name: str, params: str) -> gamedsl.Env:
    return gamedsl.load(name, params=yaml.safe_load(params) or None).env()


def begin(name: str, params: str = "") -> gamedsl.Episode:
    return _env(name, params).reset(chance="asked", forced="asked")


def go_on(episode: gamedsl.Episode, names: str) -> gamedsl.Episode:
    """Play on; every name must be an outcome of chance or a legal choice."""
    rest = iter(names.split())
    for name in rest:
        if episode.chance:
            episode.draw([outcome.name for outcome in episode.chance].index(name))
            continue
        asked = episode.decisions
        chosen = [name, *(next(rest) for _ in asked[1:])]
        episode.step({d.seat: Action(n) for d, n in zip(asked, chosen, strict=True)})
    return episode


PLAYS: list[tuple[str, str, str, list[Any]]] = [
    ("advice", "", "4 5 5", [0, -1]),
    ("advice", "", "5 5 5", [0, 0]),
    ("advice", "{states: 9, bias: 2}", "3 1 4", [-1, -1]),
    ("bargaining", "", "10,0,0 3,2,1 1,0,1 accept", [10, 6]),
    ("bargaining", "", "10,0,0 3,2,1 1,2,3 reject 0,1,0 accept", [9, Fraction(9, 5)]),
    ("bargaining", "{patience: 1/2}", "2,1,2 0,5,0 1,2,3 reject 1,2,3 reject 1,0,1 accept",
     [1, Fraction(5, 2)]),
    ("bargaining", "{rounds: 2}", "10,0,0 3,2,1 1,2,3 reject 1,2,3 reject", [0, 0]),
    ("battleship", "",
     "across,0,0 across,0,1 across,1,0 across,1,0 0,1 0,0 1,0 1,1 1,1", [2, -2]),
    ("battleship", "{shots: 2, worth: [5, 2]}",
     "across,0,0 across,0,1 across,1,0 across,1,0 0,1 1,0 1,0 1,1", [3, -3]),
    ("blackjack", "", "spades,K hearts,5 clubs,10 clubs,6 stand spades,5", [-1]),
    ("blackjack", "", "spades,A hearts,A clubs,10 clubs,6 hit clubs,9 stand spades,6", [1]),
    ("blackjack", "", "spades,A hearts,7 clubs,A clubs,6 hit spades,K stand", [1]),
    ("blackjack", "", "spades,K hearts,Q clubs,A clubs,6 hit spades,2", [-1]),
    ("blackjack", "", "spades,K hearts,Q clubs,2 clubs,A stand spades,2 hearts,5", [0]),
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
    ("dark_hex", "", "0,0 0,0 0,1 1,0", [1, -1]),
    ("dark_hex", "", "0,0 1,0 1,0 0,1 0,1 1,1", [-1, 1]),
    ("first_price_auction", "", "7 5 3 4 bidder_2", [0, 1]),
    ("first_price_auction", "", "7 5 2 2 bidder_1", [5, 0]),
    ("first_price_auction", "{players: 3, top: 3}", "3 3 1 1 1 0 bidder_2", [0, 2, 0]),
    ("go", "", "pass pass", [-1, 1]),
    ("go", "{komi: -1}", "pass pass", [1, -1]),
    ("go", "{size: 2}", "place(0,0) pass place(0,1) pass pass", [-1, 1]),
    ("go", "{size: 2}",
     "place(0,0) place(1,1) place(0,1) place(1,0) place(0,0) place(0,1) place(0,0)", [0, 0]),
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
     "apple,arrow arrow word_1 arrow", [1, 1]),
    ("lewis_signaling", "{words: 2, objects: 4, shown: 2}",
     "apple,arrow arrow word_2 apple", [0, 0]),
    ("liars_dice", "", "3 6 raise(1,3) raise(2,3) liar", [-1, 1]),
    ("liars_dice", "", "1 2 raise(1,3) liar", [-1, 1]),
    ("liars_dice", "", "1 2 raise(1,2) raise(1,5) liar", [1, -1]),
    ("liars_dice", "{faces: 2}", "1 2 raise(1,1) raise(1,2) raise(2,1) raise(2,2) liar", [1, -1]),
    ("nim", "{piles: [1, 2]}", "take(0,1) take(1,1) take(1,1)", [-1, 1]),
    ("nine_mens_morris", "{men: 3}",
     "place(a7) place(b6) place(d7) place(d6) place(g7) b6", [1, -1]),
    ("nine_mens_morris", "{men: 3, turns: 7}",
     "place(a7) place(b6) place(d7) place(d6) place(a4) place(g7) move(a7,g1)", [0, 0]),
    ("nim", "{piles: [1, 2], misere: false}", "take(0,1) take(1,1) take(1,1)", [1, -1]),
    ("pursuit", "{predators: 1, needed: 1, size: 3, horizon: 2}",
     "0,0 2,2 right up down left", [Fraction(-1, 2), Fraction(1, 2)]),
    ("pursuit", "{predators: 2, needed: 2, size: 3, horizon: 4}",
     "0,0 0,2 0,1 down stay up up stay up", [Fraction(-1, 4), Fraction(-1, 4), Fraction(1, 4)]),
    ("repeated_prisoners_dilemma", "",
     "cooperate cooperate defect cooperate cooperate defect defect defect cooperate cooperate",
     [12, 12]),
    ("repeated_prisoners_dilemma", "{rounds: 3, discount: 1/2}",
     "defect cooperate cooperate cooperate cooperate defect",
     [Fraction(13, 2), Fraction(11, 4)]),
    ("repeated_stag_hunt", "",
     "soon later stag stag later later stag hare soon soon hare hare", [6, 9]),
    ("running_total", "{players: 2, top: 1}", "1 1 1 2", [1, 1]),
    ("running_total", "{players: 2, top: 1}", "1 1 2 1", [0, 0]),
    ("running_total", "{players: 2, top: 1, rounds: 2}", "1 0 0 0 0 1", [1, 1]),
    ("serial_dictatorship", "{players: 2}", "2 1 2 0 1 2 take(2) take(1)", [2, 2]),
    ("serial_dictatorship", "{players: 2}", "1 2 2 0 1 2 take(2) take(1)", [0, 1]),
    ("small_hanabi", "",
     "red,1 red,2 blue,1 blue,2 play(0) red,3 play(0) blue,3 play(0) red,1 play(0) red,1 play(0)"
     " blue,1 play(0)", [6, 6]),
    ("small_hanabi", "", "red,1 red,2 blue,1 blue,2 play(0) red,3 play(1)", [0, 0]),
    *(("hanabi_thinking", f"{{lives: 1, hand_size: 2, lost: {lost}}}",
       "red,1 red,5 blue,1 blue,5 play(0) red,3 play(0) green,2 play(1)", [pay, pay])
      for lost, pay in (("zero", 0), ("keep", 2))),
    ("spread", "{n: 2, size: 2, horizon: 1}", "0,0 1,1 0,0,0,1 stay stay",
     [Fraction(-1, 2), Fraction(-1, 2)]),
    ("spread", "{n: 2, size: 2, horizon: 1}", "0,0 1,1 0,0,0,1 right up", [-1, -1]),
    ("spread", "{n: 3, size: 3, horizon: 2}",
     "0,0 0,1 2,2 0,0,0,2,2,0 left left down stay right left",
     [Fraction(-7, 2), Fraction(-7, 2), -3]),
    ("tic_tac_toe", "", "mark(0,0) mark(1,0) mark(0,1) mark(1,1) mark(0,2)", [1, -1]),
    ("tic_tac_toe", "",
     "mark(0,0) mark(0,1) mark(0,2) mark(1,1) mark(1,0) mark(1,2) mark(2,1) mark(2,0) mark(2,2)",
     [0, 0]),
    ("tiny_hanabi", "", "d0 d0 a1 a1", [8, 8]),
    ("tiny_hanabi", "", "d1 d0 a0 a2", [10, 10]),
    ("tiny_hanabi", "", "d1 d0 a2 a2", [0, 0]),
    ("tiny_hanabi", "", "d0 d1 a2 a2", [10, 10]),
    ("trade_comm", "", "1,2 1 1 1,2 2,1", [1, 1]),
    ("trade_comm", "", "1,2 1 1 1,2 1,2", [0, 0]),
    ("ultimatum", "", "fair accept", [5, 5]),
    ("ultimatum", "", "low accept", [8, 2]),
    ("ultimatum", "", "high reject", [0, 0]),
    ("ultimatum_n", "{pie: 4}", "3 accept", [1, 3]),
    ("y", "", "place(1,1) place(0,2) place(1,0) place(2,0) place(0,1)", [1, -1]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "params", "names", "payoffs"), PLAYS)
def test_plays(name: str, params: str, names: str, payoffs: list[Any]) -> None:
    assert list(go_on(begin(name, params), names).payoffs.values()) == payoffs


LEGAL = [
    ("connect_four", "{rows: 2, columns: 3, run: 3}", "mark(1,0) mark(0,0)", "mark(1,1) mark(1,2)"),
    ("first_price_auction", "", "3 1", "0 1 2"),
    ("dark_hex", "", "0,0 0,0", "0,1 1,0 1,1"),
    ("go", "{size: 2}", "place(0,0) place(0,1) place(1,1)", "pass"),
    ("go", "{size: 4}",
     "place(0,1) place(0,2) place(1,0) place(1,3) place(2,1) place(2,2) pass place(1,1) place(1,2)",
     "place(0,3) place(2,0) place(2,3) place(3,0) place(3,1) place(3,2) place(3,3) pass"),
    ("y", "", "place(1,1)", "place(0,0) place(0,1) place(0,2) place(1,0) place(2,0)"),
    ("battleship", "", "across,0,0 across,0,1", "across,1,0 down,0,1"),
    ("battleship", "", "across,0,0 across,0,1 across,1,0 across,1,0 0,1 0,0", "0,0 1,0 1,1"),
    ("battleship", "{repeats: true}",
     "across,0,0 across,0,1 across,1,0 across,1,0 0,1 0,0", "0,0 0,1 1,0 1,1"),
    ("negotiation", "", "4 1,0,1 1,2,3 0,10,1", "keep(0,0,0) keep(0,0,1) keep(1,0,0) keep(1,0,1)"),
    ("goofspiel", "", "2 3 1 1", "1 2"),
    ("kuhn_poker_n", "", "0 1 2 check", "check bet"),
    ("kuhn_poker_n", "", "0 1 2 check bet fold", "fold call"),
    ("leduc_poker", "", "K,a Q,a", "check bet"),
    ("leduc_poker", "", "K,a Q,a bet", "fold call raise"),
    ("leduc_poker", "", "K,a Q,a bet raise", "fold call"),
    ("leduc_poker", "", "K,a Q,a bet raise call J,b", "check bet"),
    ("lewis_signaling", "{words: 2, objects: 4, shown: 2}", "apple,arrow arrow word_1",
     "apple arrow"),
    ("liars_dice", "{faces: 2}", "1 2 raise(1,2)", "raise(2,1) raise(2,2) liar"),
    ("liars_dice", "{faces: 2}", "1 2 raise(2,2)", "liar"),
    ("nim", "{piles: [1, 2]}", "take(1,1)", "take(0,1) take(1,1)"),
    ("nine_mens_morris", "{men: 4}",
     "place(a7) place(b6) place(d7) place(d6) place(a4) place(f6)", "a7 d7 a4"),
    ("nine_mens_morris", "{men: 4}",
     "place(a7) place(b6) place(d7) place(d6) place(a4) place(g7) place(d5) place(g1)",
     "move(d5,c5) move(d5,e5) move(a4,b4) move(a4,a1)"),
    ("small_hanabi", "", "red,1 red,2 blue,1 blue,2",
     "play(0) play(1) hint(player_2,blue) hint(player_2,1) hint(player_2,2)"),
    ("small_hanabi", "",
     "red,1 red,2 blue,1 blue,2 hint(player_2,1) hint(player_1,1) hint(player_2,1)",
     "play(0) play(1) discard(0) discard(1)"),
    ("tiny_hanabi", "", "d0 d1 a1", "a0 a1 a2"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "params", "names", "choices"), LEGAL)
def test_what_is_legal(name: str, params: str, names: str, choices: str) -> None:
    episode = go_on(begin(name, params), names)
    assert " ".join(episode.decisions[0].legal) == choices


HIDDEN = [
    # game, params, two plays, the seat that must not tell them apart
    ("advice", "", "2 4", "3 4", "decider"),
    ("bargaining", "", "10,0,0 3,2,1", "10,0,0 0,5,0", "ann"),
    ("battleship", "", "across,0,0 across,0,1 across,1,0 across,1,0",
     "across,0,0 across,0,1 across,1,0 down,0,0", "first"),
    ("battleship", "", "across,0,0 across,0,1 across,1,0 across,1,0 0,1",
     "across,0,1 across,0,1 across,1,0 across,1,0 0,1", "second"),
    ("blackjack", "", "spades,K hearts,5 clubs,10 clubs,6", "spades,K hearts,5 spades,2 clubs,6",
     "player"),
    ("first_price_auction", "", "7 5", "7 9", "bidder_1"),
    ("dark_hex", "", "0,0 1,1", "0,0 1,0", "x"),
    ("goofspiel", "", "2 3 1", "2 3 2", "left"),
    ("trade_comm", "", "1,2 1 1", "2,2 1 1", "bob"),
    ("guess_the_number", "", "3 2", "7 2", "guesser"),
    ("information_cascade", "", "red red blue red red blue", "blue red red blue blue blue",
     "guesser_1"),
    ("jury", "", "guilty guilty innocent guilty", "innocent guilty guilty guilty", "juror_1"),
    ("kuhn_poker", "", "J Q bet", "J K bet", "first"),
    ("kuhn_poker_n", "", "0 1 2 bet", "0 2 1 bet", "player_1"),
    ("leduc_poker", "", "K,a Q,a check", "K,a J,b check", "first"),
    ("lewis_signaling", "{words: 2, objects: 4, shown: 2}", "apple,arrow apple word_1",
     "apple,arrow arrow word_1", "receiver"),
    ("liars_dice", "", "1 2 raise(1,2)", "1 5 raise(1,2)", "first"),
    ("running_total", "", "0 1 2 3", "0 2 1 3", "adder_1"),
    ("serial_dictatorship", "{players: 2}", "1 2 0 1 2 0", "1 2 0 1 1 1", "agent_1"),
    ("small_hanabi", "", "red,1 red,2 blue,1 blue,2", "red,1 blue,3 blue,1 blue,2", "player_1"),
    ("tiny_hanabi", "", "d0 d1 a1", "d0 d0 a1", "first"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "params", "one", "another", "seat"), HIDDEN)
def test_what_is_hidden(name: str, params: str, one: str, another: str, seat: str) -> None:
    first, second = (go_on(begin(name, params), names) for names in (one, another))
    assert first.information(seat) == second.information(seat)
    others = [s for s in first.env.seats if s != seat]
    if others and name not in ("guess_the_number", "jury"):
        assert any(first.information(s) != second.information(s) for s in others)


SHOWN = [
    # game, params, two plays, the seat that must tell them apart
    ("battleship", "", "across,0,0 across,0,1 across,1,0 across,1,0 0,1",
     "across,0,0 across,0,0 across,1,0 across,1,0 0,1", "first"),
    ("colonel_blotto", "", "2,1,2 0,5,0", "2,1,2 5,0,0", "red"),
    ("dark_hex", "", "0,0 1,1", "0,0 0,0", "x"),
    ("first_price_auction", "", "7 5 3 4", "7 5 3 2", "bidder_1"),
    ("goofspiel", "", "2 3 1", "2 1 3", "left"),
    ("guess_the_number", "", "3 2", "1 2", "guesser"),
    ("hanabi", "", "red,1 red,1 red,2 red,3 red,4 blue,1", "red,1 red,1 red,2 red,3 red,4 blue,2",
     "player_1"),
    ("jury", "", "guilty guilty guilty guilty guilty", "guilty guilty guilty guilty innocent",
     "juror_3"),
    ("repeated_stag_hunt", "", "soon later", "soon soon", "hunter_1"),
    ("small_hanabi", "", "red,1 red,2 blue,1 blue,2 hint(player_2,blue)",
     "red,1 red,2 blue,1 blue,2 hint(player_2,1)", "player_2"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "params", "one", "another", "seat"), SHOWN)
def test_what_is_shown(name: str, params: str, one: str, another: str, seat: str) -> None:
    first, second = (go_on(begin(name, params), names) for names in (one, another))
    assert first.information(seat) != second.information(seat)


def test_a_hint_narrows_what_a_card_can_be() -> None:
    episode = go_on(begin("small_hanabi"), "red,1 red,2 blue,1 red,1 hint(player_2,blue)")
    touched, other = episode.view("player_2").data["state"]["could"]["player_2"]
    assert [card["colour"] for card in touched] == ["blue"] * 3
    assert [card["colour"] for card in other] == ["red"] * 3


@pytest.mark.parametrize(("players", "cards"), [(2, 10), (3, 15), (4, 16), (5, 20)])
def test_hands_of_hanabi(players: int, cards: int) -> None:
    episode, dealt = begin("hanabi", f"{{players: {players}}}"), 0
    while episode.chance:
        episode.draw(dealt % len(episode.chance))
        dealt += 1
    assert dealt == cards


@pytest.mark.parametrize(
    ("names", "clues"),
    [
        ("hint(player_2,blue) play(0) blue,3 play(0) red,3 play(0) red,1 play(0) blue,1", 2),
        ("hint(player_2,blue) play(0) blue,3 play(0) red,3 play(0) red,1 play(0) blue,1"
         " hint(player_1,red) play(0)", 2),
        ("play(0) red,3 play(0) blue,3 play(0) red,1 play(0) red,1 play(0)", 3),
    ],
)  # fmt: skip
def test_a_whole_colour_gives_back_a_clue(names: str, clues: int) -> None:
    episode = go_on(begin("small_hanabi"), f"red,1 red,2 blue,1 blue,2 {names}")
    assert episode.view("player_1").data["state"]["clue"] == clues


def test_empty_deck_gives_everyone_one_more_turn() -> None:
    episode = go_on(begin("small_hanabi"), "red,1 red,2 blue,1 blue,2")
    asked = []
    for move in ["hint", "hint", *["hint", "discard"] * 8, "discard", "discard"]:
        asked.append(episode.decisions[0].seat)
        go_on(episode, next(name for name in episode.decisions[0].legal if name.startswith(move)))
        if episode.chance:
            episode.draw(0)
    assert asked == ["player_1", "player_2"] * 10
    assert list(episode.payoffs.values()) == [0, 0]
    assert episode.view("player_1").data["state"]["hand"]["player_1"] == {"length": 1}


@pytest.mark.parametrize("name", CLOSED)
def test_random_plays_end(name: str) -> None:
    env = _env(name, "")
    for seed in range(3):
        episode, chooser = env.reset(seed=seed), random.Random(seed)
        while not episode.done:
            episode.step({d.seat: Action(chooser.choice(d.legal)) for d in episode.decisions})
        assert None not in episode.payoffs.values()
        assert None not in episode.rewards.values()


def _used(node: Any) -> set[str]:
    """The names that stand behind `use` and `protocol` anywhere in a file."""
    if isinstance(node, list):
        return set().union(*map(_used, node))
    if not isinstance(node, dict):
        return set()
    here = {v for k, v in node.items() if k in ("use", "protocol") and isinstance(v, str)}
    return here.union(*map(_used, node.values()))


def _read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


SINGLE = ("tool_loop",)
"""Protocols that one shipped game uses: games of tools are few."""


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_protocol_is_used_by_two_games(protocol: str) -> None:
    users = [game for game in GAMES if protocol in _used(_read(ROOT / "games" / f"{game}.yaml"))]
    assert len(users) >= (1 if protocol in SINGLE else 2)


LINES = {
    "prisoners_dilemma": 10, "stag_hunt": 10, "tic_tac_toe": 17, "connect_four": 8,
    "battleship": 45, "kuhn_poker": 30, "leduc_poker": 50, "hanabi": 80, "nine_mens_morris": 50,
    "small_hanabi_told": 50, "support": 50,
}  # fmt: skip
"""Without blanks, comments and the texts of prompts: the targets of the language."""


@pytest.mark.parametrize("name", GAMES)
def test_short_things_are_short(name: str) -> None:
    text = (ROOT / "games" / f"{name}.yaml").read_text(encoding="utf-8")
    told = text.partition("\nprompts:")[0].splitlines()
    lines = [line for line in told if line.strip() and line.lstrip()[0] != "#"]
    assert len(lines) <= LINES.get(name, 40)
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize(
    ("name", "param", "value"),
    [("kuhn_poker_n", "players", 11), ("hanabi", "players", 6), ("ultimatum_n", "pie", 0)],
)
def test_params_have_ranges(name: str, param: str, value: int) -> None:
    with pytest.raises(gamedsl.CompileError, match="is not allowed for the param"):
        gamedsl.load(name, params={param: value})


TEAM = """
game: team
roles: [a, b, c]
actions: [x, y]
protocol: simultaneous
payoffs: {a: 5, b: 5 if move.b == y else 2, c: 2}
scores: {speed: 2 * index(me), care: {a: 1, b: 3, c: 0}, process: index(me)}
"""

REWARDS = [
    ("individual", "x", [5, 2, 2]),
    ("shared", "x", [3, 3, 3]),
    ("zero_sum", "x", [3, Fraction(-3, 2), Fraction(-3, 2)]),
    ("{use: mixing, matrix: [[1, 0, 0], [0, 1, 1], [1, 0, -1]]}", "y", [5, 7, 3]),
    ("hybrid", "x", [Fraction(9, 5), Fraction(11, 5), Fraction(13, 5)]),
    ("{use: hybrid, alpha: 1/4}", "y", [1, Fraction(7, 4), Fraction(5, 2)]),
    ("margin", "x", [1, Fraction(-1, 2), Fraction(-1, 2)]),
    ("margin", "y", [Fraction(1, 4), Fraction(1, 4), Fraction(-1, 2)]),
    ("{use: margin, win: 3, lose: 0}", "y", [Fraction(3, 2), Fraction(3, 2), 0]),
    ("rank", "x", [1, Fraction(1, 4), Fraction(1, 4)]),
    ("rank", "y", [Fraction(3, 4), Fraction(3, 4), 0]),
    ("{use: weighted, weights: {speed: 0.7, care: 0.3}}", "x",
     [Fraction(3, 10), Fraction(23, 10), Fraction(28, 10)]),
    ("{use: weighted, weights: {care: 2}}", "x", [2, 6, 0]),
]  # fmt: skip


@pytest.mark.parametrize(("rewards", "b", "expected"), REWARDS)
def test_rewards(tmp_path: Path, rewards: str, b: str, expected: list[Any]) -> None:
    path = tmp_path / "team.yaml"
    path.write_text(f"{TEAM}rewards: {rewards}\n")
    episode = gamedsl.load(path).env().reset()
    episode.step({"a": Action("x"), "b": Action(b), "c": Action("x")})
    assert list(episode.rewards.values()) == expected
