"""Minimax and Monte Carlo tree search, against what exact play is worth."""

from __future__ import annotations

import random

import pytest

import gamedsl
from gamedsl import Action
from gamedsl.players import PlayerError, open_player, play
from gamedsl.players.unbeaten import unbeaten

PIG = """
game: race
about: Hold what you have, or roll for more and risk it; the first to three wins.
roles: [a, b]
state: {points: {per: role, start: 0}, turn: 0}
actions: [roll, hold]
turns:
  - each: cycle(roles)
    at_most: 6
    turns:
      - {choose: move, from: actions}
      - if: move == roll
        turns:
          - {draw: die, from: [0, 1, 2], seen_by: all}
          - {do: points.me += die}
      - if: move == hold
        turns:
          - {do: points.me += 1}
end: max(points.a, points.b) >= 3
payoffs: sign(points.me - points.other)
claims: zero_sum
"""

TRIO = """
game: trio
about: Each in turn may take the money or pass; a would pass to b, who takes it before c.
roles: [a, b, c]
actions: [take, pass]
turns:
  - {role: a, choose: first, from: actions}
  - if: first == pass
    turns:
      - {role: b, choose: second, from: actions}
      - if: second == pass
        turns:
          - {role: c, choose: third, from: actions}
payoffs:
  a: 1 if first == take else 2 if second == take else 0
  b: 1 if first == take else 3 if second == take else 0 if third == take else 4
  c: 1 if first == take else 1 if second == take else 3 if third == take else 2
"""


@pytest.fixture(scope="module")
def board():
    return gamedsl.load("tic_tac_toe")


@pytest.fixture(scope="module")
def race(tmp_path_factory):
    path = tmp_path_factory.mktemp("games") / "race.yaml"
    path.write_text(PIG, encoding="utf-8")
    return gamedsl.load(path)


def value(episode, seat):
    """What a seat gets when both play best, and it the most; nothing is shared with the player."""
    if episode.done:
        return episode.payoffs[seat]
    if episode.chance:
        return sum(o.probability * value(drawn(episode, i), seat)
                   for i, o in enumerate(episode.chance))  # fmt: skip
    (decision,) = episode.decisions
    each = [value(after(episode, name), seat) for name in decision.legal]
    return max(each) if decision.seat == seat else min(each)


def drawn(episode, outcome):
    copy = episode.fork()
    copy.draw(outcome)
    return copy


def after(episode, name):
    copy = episode.fork()
    copy.step({copy.decisions[0].seat: Action(name)})
    return copy


def check_best(player, episode):
    """All best actions, and these alike, have all of the probability."""
    (decision,) = episode.decisions
    each = [value(after(episode, name), decision.seat) for name in decision.legal]
    best = [v == max(each) for v in each]
    assert player.odds(decision, episode) == pytest.approx([b / sum(best) for b in best])
    return len(set(each)) > 1


@pytest.mark.parametrize("spec", ["minimax", "minimax:depth=9"])
def test_minimax_finds_best_tic_tac_toe_moves(board, spec) -> None:
    player, dice, mattered = open_player(spec, board, seed=1), random.Random(4), 0
    for _ in range(12):
        episode = board.env().reset()
        for _ in range(dice.choice((4, 5))):
            episode = after(episode, dice.choice(episode.decisions[0].legal))
        if not episode.done:
            mattered += check_best(player, episode)
    assert mattered > 4


@pytest.mark.parametrize(
    ("spec", "backend"),
    [("minimax", "generated"), ("minimax:depth=6", "generated"), ("minimax", "tabulated")],
)
def test_minimax_averages_over_chance(race, spec, backend) -> None:
    player = open_player(spec, race, seed=1)
    pending = [(race.env(backend=backend).reset(chance="asked"), 0)]
    mattered = 0
    while pending:
        episode, depth = pending.pop()
        if episode.done or depth > 3:
            continue
        if episode.chance:
            pending += [(drawn(episode, i), depth) for i in range(len(episode.chance))]
            continue
        mattered += check_best(player, episode)
        pending += [(after(episode, name), depth + 1) for name in episode.decisions[0].legal]
    assert mattered > 4


def test_minimax_is_never_beaten(board) -> None:
    """All lines of anybody against all best moves; random play loses those that are known."""
    found = unbeaten(board, open_player("minimax", board, seed=1), by_position=True)
    assert all(lines.unbeaten and lines.wins for lines in found.values())
    lines = unbeaten(board, open_player("random", board, seed=1), ["x"], by_position=True)["x"]
    assert (lines.wins, lines.draws, lines.losses) == (131_184, 46_080, 77_904)
    episode = board.env().reset()
    for seat, name in lines.loss:
        episode.step({seat: Action(name)})
    assert episode.payoffs == {"x": -1, "o": 1}


def test_a_search_of_the_whole_game_is_exact(board) -> None:
    """At the beginning too, where most is cut off, and whatever was searched before."""
    exact, search = (open_player(spec, board, seed=1) for spec in ("minimax", "minimax:depth=9"))
    start, dice = board.env().reset(), random.Random(2)
    second = [after(start, name) for name in start.decisions[0].legal]
    third = [after(episode, name) for episode in second for name in episode.decisions[0].legal]
    for episode in (*dice.sample(third, 30), *second):
        (decision,) = episode.decisions
        assert search.odds(decision, episode) == exact.odds(decision, episode)


def test_what_was_searched_before_changes_nothing(board) -> None:
    """A position that was met deep in a search is looked at anew where it is nearer."""
    player, dice = open_player("minimax:depth=3", board, seed=1), random.Random(3)
    for _ in range(6):
        episode = board.env().reset()
        while not episode.done:
            (decision,) = episode.decisions
            fresh = open_player("minimax:depth=3", board, seed=1)
            assert player.odds(decision, episode) == fresh.odds(decision, episode)
            episode = after(episode, dice.choice(decision.legal))


def test_a_horizon_counts_as_even(board) -> None:
    """One move ahead it takes a win, and sees nothing else."""
    player, episode = open_player("minimax:depth=1", board, seed=1), board.env().reset()
    (decision,) = episode.decisions
    assert set(player.odds(decision, episode)) == {1 / 9}
    for name in ("mark(0,0)", "mark(2,0)", "mark(0,1)", "mark(2,1)"):
        episode = after(episode, name)
    (decision,) = episode.decisions
    odds = dict(zip(decision.legal, player.odds(decision, episode), strict=True))
    assert odds["mark(0,2)"] == 1


def test_losing_lines_agree_by_move_and_position(race) -> None:
    player = open_player("minimax:depth=2", race, seed=1)
    alone = unbeaten(race, player, ["b"])["b"]
    merged = unbeaten(race, player, ["b"], by_position=True)["b"]
    assert (alone.wins, alone.draws, alone.losses) == (merged.wins, merged.draws, merged.losses)
    assert alone.losses > 0
    assert any(seat == "chance" for seat, _ in alone.loss)


def test_only_the_likeliest_actions_are_played() -> None:
    """A player that nearly always does right is unbeaten by what it does most, not by all of it."""
    nim = gamedsl.load("nim", {"piles": [1, 2, 2]})
    player = open_player("mix:0.9*minimax+0.1*random", nim, seed=1)
    found = [
        unbeaten(nim, player, ["first"], **how)["first"]
        for how in ({"support": "most"}, {"least": 0.2}, {})
    ]
    assert [lines.unbeaten for lines in found] == [True, True, False]
    assert found[2].wins > found[0].wins


def test_mcts_beats_random_and_is_seeded(board) -> None:
    env = board.env()

    def games(seed):
        x = open_player("mcts:60", board, seed=seed)
        plays = [play(env, {"x": x, "o": open_player("random", board, seed=s)}) for s in range(12)]
        return [(e.payoffs["x"], e.transcript["steps"]) for e in plays]

    first = games(1)
    assert sum(payoff for payoff, _ in first) >= 9
    assert first == games(1)
    assert first != games(2)


def test_mcts_sees_what_matters_to_each_of_three(tmp_path) -> None:
    """Whoever moves ends the game for all; only the last column is its own."""
    path = tmp_path / "trio.yaml"
    path.write_text(TRIO, encoding="utf-8")
    trio = gamedsl.load(path)
    episode = play(trio.env(), dict.fromkeys("abc", open_player("mcts:300", trio, seed=1)))
    assert episode.payoffs == {"a": 2, "b": 3, "c": 1}


def test_mcts_finds_good_move_and_averages_chance(race) -> None:
    nim = gamedsl.load("nim", {"piles": [1, 2, 4]})
    player, episode = open_player("mcts:600", nim, seed=1), nim.env().reset()
    (decision,) = episode.decisions
    best = [value(after(episode, name), decision.seat) for name in decision.legal]
    assert best.count(1) == 1
    assert player.odds(decision, episode).index(1) == best.index(1)
    player, episode = open_player("mcts:400", race, seed=3), race.env().reset(chance="asked")
    check = [value(after(episode, n), "a") for n in episode.decisions[0].legal]
    odds = player.odds(episode.decisions[0], episode)
    assert odds.index(1) == check.index(max(check))


@pytest.mark.parametrize(
    ("game", "spec", "said"),
    [
        ("kuhn_poker", "minimax", "everybody sees everything"),
        ("kuhn_poker", "mcts:10", "everybody sees everything"),
        ("matching_pennies", "minimax", "moves in turn"),
        ("ultimatum", "minimax", "constant sum"),
        ("centipede", "minimax:depth=2", "claims none"),
        ("stag_hunt_n", "minimax", "two seats"),
        ("tic_tac_toe", "minimax:depth", "no whole number"),
        ("tic_tac_toe", "minimax:6", "no setting `6`"),
        ("tic_tac_toe", "mcts:many", "no whole number"),
    ],
)
def test_games_and_settings_that_are_refused(game, spec, said) -> None:
    with pytest.raises(PlayerError, match=said) as caught:
        open_player(spec, gamedsl.load(game), seed=0)
    assert caught.value.help


def test_large_game_needs_a_depth(monkeypatch, race) -> None:
    from gamedsl.players import minimax

    monkeypatch.setattr(minimax, "LIMIT", 10)
    monkeypatch.setattr(minimax, "_EXACT", {})
    with pytest.raises(PlayerError, match="more than 10 positions") as caught:
        open_player("minimax", race, seed=0)
    assert "minimax:depth=6" in caught.value.help
