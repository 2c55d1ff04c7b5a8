"""The players that follow the lines of Hanabi's short prompts: valid moves, the same scores."""

from __future__ import annotations

from pathlib import Path

import pytest

import gamedsl
from gamedsl.players import open_player
from gamedsl.prompting.replies import ParseFailure

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PLAYERS = {
    "told": ("hanabi_short", 271),
    "known": ("small_hanabi_short", 145),
    "touched": ("small_hanabi_short", 172),
}
"""The game of each player, and what it earns in 50 deals together."""


@pytest.mark.parametrize("name", PLAYERS)
def test_a_line_is_followed_by_valid_moves(name: str) -> None:
    file, earned = PLAYERS[name]
    game = gamedsl.load(BENCHMARKS / f"{file}.yaml")
    spec = f"module:{BENCHMARKS / 'hanabi_lines.py'}:{name}"
    player, env = open_player(spec, game, seed=0, allow_code=True), game.env()
    paid = 0
    for seed in range(50):
        episode = env.reset(seed=seed)
        while not episode.done:
            (decision,) = episode.decisions
            reply = player.act(decision, episode)
            assert isinstance(reply, str)
            assert not isinstance(episode.parse(decision, reply), ParseFailure)
            episode.step({decision.seat: reply})
        assert not episode.mistakes
        paid += episode.payoffs["player_1"]
    assert paid == earned
