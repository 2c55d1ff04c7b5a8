"""The convention of Hanabi: what it earns, what it never does, and that it sees its view alone."""

from __future__ import annotations

from collections import defaultdict
from itertools import product

import pytest

import gamedsl
from gamedsl import Action
from gamedsl.players import PlayerError, open_player, play
from gamedsl.players.hanabi import HanabiTurn, PublicKnowledge

SEEDS = 40
HINTS = "hanabi_convention:hints"


@pytest.fixture(scope="module")
def small():
    return gamedsl.load("small_hanabi")


def test_it_earns_most_of_what_there_is(small) -> None:
    """Never a wrong card, so never nothing; less where hints are read and other moves are not."""
    for name, least, mean in (("hanabi_convention", 4, 5.85), (HINTS, 3, 5.525)):
        player, env = open_player(name, small, seed=0), small.env()
        scores = [
            play(env, dict.fromkeys(small.ir.seats, player), seed=seed).payoffs["player_1"]
            for seed in range(SEEDS)
        ]
        assert min(scores) >= least
        assert sum(scores) / SEEDS == mean


def test_whole_hanabi_and_more_players() -> None:
    for name, params, least in (("hanabi", {}, 18), ("small_hanabi", {"players": 3}, 4)):
        game = gamedsl.load(name, params)
        player = open_player("hanabi_convention", game, seed=0)
        episode = play(game.env(), dict.fromkeys(game.ir.seats, player), seed=0)
        assert episode.payoffs["player_1"] >= least


def test_what_all_know_of_a_card_is_so(small) -> None:
    """No hint lies: of each card that a seat sees, what the table says of it is true."""
    player, checked = open_player("hanabi_convention", small, seed=0), 0
    for seed in range(30):
        episode = small.env().reset(seed=seed)
        while not episode.done:
            (decision,) = episode.decisions
            table, hands = player.table(decision.view)
            for seat, hand in hands.items():
                pairs = list(zip(hand, table.maybe[seat], strict=True))
                assert all(card in maybe for card, maybe in pairs)
                checked += sum(len(maybe) < len(table.copies) for _, maybe in pairs)
            episode.step({decision.seat: Action(player.choose(decision.view))})
    assert checked > 100


def test_the_table_is_that_of_the_game(small) -> None:
    """Piles, tokens and the deck, worked out from what a seat has seen, are as the rules have them;
    what a card may be is what the rules say or less."""
    player, env = open_player("random", small, seed=1), small.env()
    reader, discards = open_player("hanabi_convention", small, seed=0), 0
    for seed in range(30):
        episode = env.reset(seed=seed)
        while not episode.done:
            (decision,) = episode.decisions
            state = episode.view(decision.seat).state
            table, hands = reader.table(decision.view)
            assert table.pile == state["pile"]
            assert (table.clues, table.lives) == (state["clue"], state["life"])
            assert table.deck == state["deck"].length
            for seat, hand in hands.items():
                assert tuple(hand) == tuple(state["hand"][seat])
            for seat, slots in table.maybe.items():
                assert all(m <= c for m, c in zip(slots, state["could"][seat], strict=True))
            legal = [name for name in decision.legal if not name.startswith("play")]
            name = player.act(decision, episode).name if seed % 3 == 0 or not legal else legal[-1]
            discards += name.startswith("discard")
            episode.step({decision.seat: Action(name)})
    assert discards > 20


def test_hint_meanings_match_the_convention_player() -> None:
    """`small_hanabi_told` keeps in its state, by rules of its own, what the player works out."""
    told, read = gamedsl.load("small_hanabi_told"), 0
    player = open_player(HINTS, told, seed=0)
    for seed in range(20):
        episode = told.env().reset(seed=seed)
        while not episode.done:
            (decision,) = episode.decisions
            table, _ = player.table(decision.view)
            could = episode.view(decision.seat).state["could"]
            for seat, slots in table.maybe.items():
                assert tuple(slots) == tuple(could[seat])
                read += slots != table.could[seat]
            episode.step({decision.seat: Action(player.choose(decision.view))})
    assert read > 100


def test_equal_views_get_equal_answers() -> None:
    """All histories of a few cards: wherever a seat sees the same, it does the same."""
    game = gamedsl.load(
        "small_hanabi", {"colours": ["red"], "copies": {1: 2, 2: 2, 3: 1}, "clues": 1}
    )
    player = open_player("hanabi_convention", game, seed=0)
    answers: dict[str, set[tuple[float, ...]]] = defaultdict(set)
    hidden: dict[str, set[str]] = defaultdict(set)
    pending = [game.env().reset(chance="asked")]
    while pending:
        episode = pending.pop()
        for outcome in range(episode.outcome_count):
            pending.append(episode.fork())
            pending[-1].draw(outcome)
        for decision in episode.decisions:
            answers[decision.information_set].add(tuple(player.odds(decision, episode)))
            held = sorted(episode.state.variables["hand"][decision.seat])
            hidden[decision.information_set].add(str(held))
            for name in decision.legal:
                pending.append(episode.fork())
                pending[-1].step({decision.seat: Action(name)})
    assert all(len(odds) == 1 for odds in answers.values())
    assert sum(len(hands) > 1 for hands in hidden.values()) > 20


def test_hint_exists_for_either_card_and_none(small) -> None:
    """With two cards, whatever they are: one that asks for the first if it can be played, one for
    the second, and if neither can be, one that asks for nothing."""
    for red, blue in product(range(4), range(4)):
        table = PublicKnowledge(small.params, ["me", "you"])
        table.pile = {"red": red, "blue": blue}
        for hand in product(table.copies, repeat=2):
            if hand[0] == hand[1] and table.copies[hand[0]] == 1:
                continue
            words = dict.fromkeys(str(part) for card in hand for part in card)
            legal = [f"hint(you,{what})" for what in words]
            read = set()
            for name in legal:
                after = table.copy()
                what = name[len("hint(you,") : -1]
                after.hint("you", what, [i for i, c in enumerate(hand) if what in map(str, c)])
                if all(c in maybe for c, maybe in zip(hand, after.maybe["you"], strict=True)):
                    read.add(frozenset(hand[i] for i in after.plays("you", {})))
            good = {card for card in hand if table.playable(card)}
            assert all(any(card in cards for cards in read) for card in good)
            assert good or frozenset() in read
            assert [h for h in HanabiTurn(table, "me", {"you": hand}, legal)._hints() if h.fair]


def test_other_games_are_refused() -> None:
    with pytest.raises(PlayerError, match="`tiny_hanabi` is not Hanabi"):
        open_player("hanabi_convention", gamedsl.load("tiny_hanabi"), seed=0)


def test_it_has_one_setting(small) -> None:
    with pytest.raises(PlayerError, match="no setting `moves`"):
        open_player("hanabi_convention:moves", small, seed=0)
