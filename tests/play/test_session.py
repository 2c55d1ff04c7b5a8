"""Plays with people: what they are told, what they may take back, and what advice they get."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

import gamedsl
from gamedsl import Action
from gamedsl.play.advice import BeliefAdviser, Unadvised, adviser_of
from gamedsl.play.belief_search import fitting_histories
from gamedsl.play.opponents import strongest_player
from gamedsl.play.session import PlaySession
from gamedsl.players.base import PlayerError
from gamedsl.players.random import RandomPlayer
from gamedsl.players.seat_text import SeatText
from gamedsl.players.table import open_player


def session_of(name: str, people: set[str], seed: int = 1) -> PlaySession:
    game = gamedsl.load(name)
    others = {seat: RandomPlayer(seed=seed) for seat in game.ir.everyone if seat not in people}
    return PlaySession(game, frozenset(people), others, seed=seed)


@pytest.mark.parametrize(
    "name", ["kuhn_poker", "leduc_poker", "battleship", "small_hanabi", "stag_hunt", "dark_hex"]
)
def test_text_is_the_same_within_an_information_set(name: str) -> None:
    env = gamedsl.load(name).env()
    text, found = SeatText(env), dict[str, str]()
    player, met = RandomPlayer(seed=3), 0
    for seed in range(60):
        episode = env.reset(seed=seed)
        while not episode.done:
            for decision in episode.decisions:
                told = "\n".join(
                    (
                        *text.news(episode, decision.seat, 0),
                        text.situation(decision, episode),
                        text.question(decision),
                    )
                )
                met += decision.information_set in found
                assert found.setdefault(decision.information_set, told) == told
            episode.step({d.seat: player.act(d, episode) for d in episode.decisions})
    assert met


def test_masked_actions_have_their_names() -> None:
    session = session_of("stag_hunt", {"hunter_1"})
    decision = session.waiting[0]
    text = SeatText(session.episode.env)
    assert [text.option(name) for name in decision.legal] == ["stag", "hare"]
    assert "4" in text.rules(decision.seat)  # the payoffs, which a model is not told


def test_answers_of_several_wait_for_the_last() -> None:
    session = session_of("stag_hunt", {"hunter_1", "hunter_2"})
    session.answer("hunter_1", Action("stag"))
    assert [decision.seat for decision in session.waiting] == ["hunter_2"]
    assert session.take_back("hunter_1") == 0
    assert [decision.seat for decision in session.waiting] == ["hunter_1", "hunter_2"]
    session.answer("hunter_1", Action("hare"))
    session.answer("hunter_2", Action("hare"))
    assert session.episode.payoffs == {"hunter_1": 2, "hunter_2": 2}


def test_nothing_hidden_is_learned_by_taking_back() -> None:
    session = session_of("kuhn_poker", {"first"}, seed=2)
    session.answer("first", Action("check"))
    if session.waiting:  # the second has bet, after what it knows
        assert session.take_back("first") is None


def test_open_games_are_taken_back_against_players() -> None:
    alone = session_of("tic_tac_toe", {"x"})
    alone.answer("x", Action("mark(1,1)"))
    assert alone.take_back("x") == 0
    assert len(alone.waiting[0].legal) == 9
    both = session_of("tic_tac_toe", {"x", "o"})
    both.answer("x", Action("mark(1,1)"))
    assert both.take_back("x") is None


def test_own_hidden_choices_may_be_taken_back() -> None:
    session = session_of("battleship", {"first"})
    first = session.waiting[0].legal[0]
    session.answer("first", Action(first))
    seen = session.episode.seen("first")
    others = [event for event in seen if event.seat != "first"]
    assert (session.take_back("first") is None) == bool(others)


def test_illegal_answers_leave_the_play_where_it_is() -> None:
    session = session_of("tic_tac_toe", {"x"})
    with pytest.raises(ValueError, match="not legal"):
        session.answer("x", Action("mark(7,7)"))
    with pytest.raises(ValueError, match="not asked"):
        session.answer("o", Action("mark(0,0)"))
    assert len(session.waiting[0].legal) == 9


def test_equilibrium_advice_is_that_of_kuhn() -> None:
    game = gamedsl.load("kuhn_poker")
    adviser = adviser_of(game)
    assert adviser is not None
    env = game.env()
    for seed in range(40):
        episode = env.reset(seed=seed)
        decision = episode.decisions[0]
        if "card=J" in decision.information_set:
            advice = adviser.advise(decision, episode)
            assert advice.worth[decision.legal.index("check")] == -1
    queen = next(
        e for s in range(40) if "card=Q" in (e := env.reset(seed=s)).decisions[0].information_set
    )
    advice = adviser.advise(queen.decisions[0], queen)
    bet = queen.decisions[0].legal.index("bet")
    assert advice.odds[bet] == 0
    assert advice.cost(bet) == Fraction(1, 6)


def test_search_advises_where_the_game_is_large() -> None:
    game = gamedsl.load("connect_four")
    adviser = adviser_of(game)
    assert adviser is not None
    assert "simulations" in adviser.source
    episode = game.env().reset(seed=1)
    for column in (3, 0, 3, 0, 3, 0):  # three in a column, with the fourth to come
        decision = episode.decisions[0]
        name = next(name for name in decision.legal if name.endswith(f",{column})"))
        episode.step({decision.seat: Action(name)})
    decision = episode.decisions[0]
    advice = adviser.advise(decision, episode)
    best = decision.legal[advice.worth.index(max(advice.worth))]
    assert best.endswith(",3)")


def test_belief_weighs_what_others_could_choose(tmp_path: Path) -> None:
    """Second may not raise by a low card: who folds has it twice as often as a middle one."""
    file = tmp_path / "folds.yaml"
    file.write_text(
        "game: folds\nroles: [first, second]\ntypes: {Card: [low, middle, high]}\n"
        "actions: {raise: {when: card.me != low}, fold: {}}\nturns:\n"
        "  - {deal: card, from: Card, seen_by: owner}\n"
        "  - {role: second, choose: bid, from: actions}\n"
        "  - {role: first, choose: answer, from: [yes, no]}\npayoffs: 0\n",
        encoding="utf-8",
    )
    game = gamedsl.load(file)
    episodes = (game.env().reset(seed=seed) for seed in range(40))
    episode = next(e for e in episodes if e.seen("first")[0].name == "high")
    episode.step({"second": Action("fold")})
    (decision,) = episode.decisions
    key, seen = decision.information_set, episode.seen("first")
    cards: Counter[str] = Counter()
    for seed in range(20):
        dice = Random(seed)
        found = fitting_histories(game.kernel().start(), key, "first", seen, dice)
        cards.update(state.seen("second")[0].name for state in found)
    assert set(cards) == {"low", "middle"}
    assert cards["low"] / cards.total() == pytest.approx(2 / 3, abs=0.05)
    with pytest.raises(Unadvised, match="earned the same"):
        BeliefAdviser(game).advise(decision, episode)


def test_search_of_beliefs_knows_a_sure_win() -> None:
    game = gamedsl.load("kuhn_poker")
    adviser, env = BeliefAdviser(game), game.env()
    episode = next(e for s in range(40) if "K" in (e := env.reset(seed=s)).seen("second")[0])
    episode.step({"first": Action("bet")})
    decision = episode.decisions[0]
    advice = adviser.advise(decision, episode)
    named = dict(zip(decision.legal, zip(advice.odds, advice.worth, strict=True), strict=True))
    assert named == {"call": (1, 2), "fold": (0, -1)}
    assert not adviser.reviews


def test_large_hidden_games_have_estimates() -> None:
    assert adviser_of(gamedsl.load("debate")) is None
    game = gamedsl.load("liars_dice")
    adviser = adviser_of(game)
    assert isinstance(adviser, BeliefAdviser)
    assert "600 simulations" in adviser.source
    episode = game.env().reset(seed=1)
    advice = adviser.advise(episode.decisions[0], episode)
    assert len(set(advice.worth)) > 1
    assert advice.tries is not None
    assert sum(advice.tries) == 600
    assert advice.worth[advice.odds.index(max(advice.odds))] == max(advice.worth)


def test_the_strongest_player_fits_the_game() -> None:
    for name, expected in (
        ("tic_tac_toe", "minimax"),
        ("kuhn_poker", "equilibrium"),
        ("small_hanabi", "hanabi_convention"),
        ("debate", "random"),
    ):
        assert strongest_player(gamedsl.load(name), 1)[0] == expected


def test_a_file_seats_no_person() -> None:
    game = gamedsl.load("kuhn_poker")
    with pytest.raises(PlayerError, match="cannot seat a person"):
        open_player("human", game, seed=1, from_file=True)


def test_people_play_everywhere_that_players_do(monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    game = gamedsl.load("kuhn_poker")
    player = open_player("human", game, seed=1)
    err = io.StringIO()
    monkeypatch.setattr("sys.stdin", io.StringIO("1\n" * 9))
    monkeypatch.setattr("sys.stderr", err)
    dice = Random(1)
    from gamedsl.players.base import play

    for seed in (dice.getrandbits(20) for _ in range(3)):
        others = RandomPlayer(seed=seed)
        assert play(game.env(), {"first": player, "second": others}, seed).done
    assert err.getvalue().count("card for first") == 3
