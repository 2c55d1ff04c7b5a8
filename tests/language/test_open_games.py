"""What does not fit a game in which something is said gets a clear word, and what fits it works."""

from __future__ import annotations

from pathlib import Path

import pytest

import gamedsl
from gamedsl import cli
from gamedsl.players import open_player
from gamedsl.players.base import PlayerError, play

POSED = """
game: case
roles: [ann, bob]
turns:
  - {role: all, say: number, read: {n: 1..9}, valid: number.me.n != 5}
  - {call: same_number, with: {text: word, value: 3}, gives: hit}
payoffs: 1 if hit else 0
"""
SAID = POSED.replace("  - {call", "  - {role: ann, say: word, max_tokens: 20}\n  - {call").lstrip()


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "case.yaml"
    path.write_text(SAID, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    "command",
    [
        ("solve",), ("show", "--view", "tree"), ("show", "--view", "table"),
        ("export", "--to", "efg"), ("export", "--to", "nfg"),
    ],
)  # fmt: skip
def test_what_lists_all_plays_says_why_not(
    command: tuple[str, ...], file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([command[0], file, *command[1:]]) != 0
    assert "written replies, calls or a referee" in capsys.readouterr().err


def test_show_has_flow_and_sight(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["show", file]) == 0
    shown = capsys.readouterr().out
    assert "say at once number" in shown
    assert "call same_number" in shown
    assert "choice of word" in shown


def test_random_players_say_what_is_valid(file: str) -> None:
    game = gamedsl.load(file)
    env, player = game.env(), open_player("random", game, seed=1)
    for seed in range(8):
        episode = play(env, dict.fromkeys(env.seats, player), seed)
        assert not episode.mistakes
        assert 5 not in {said[0] for said in episode.state.variables["number"].values()}


@pytest.mark.parametrize("spec", ["mcts:5", "minimax", "equilibrium"])
def test_players_of_closed_games_are_refused(spec: str, file: str) -> None:
    with pytest.raises(PlayerError, match="something is said"):
        open_player(spec, gamedsl.load(file), seed=0)
