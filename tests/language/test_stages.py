"""A game as a stage: what it says of its own roles is said of the seats of the game around it."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import gamedsl

STAGED = ["small_hanabi", "tic_tac_toe", "serial_dictatorship", "kuhn_poker", "leduc_poker"]


@pytest.mark.parametrize("name", STAGED)
def test_a_stage_plays_as_the_game_itself(name: str, tmp_path: Path) -> None:
    """With roles of other names, the same choices bring the same payoffs."""
    plain = gamedsl.load(name)
    seats = {seat: f"guest_{i}" for i, seat in enumerate(plain.ir.seats, 1)}
    path = tmp_path / "staged.yaml"
    path.write_text(f"game: staged\nroles: {{guest: {len(seats)}}}\nturns: [{{use: {name}}}]\n")
    staged = gamedsl.load(path)
    for seed in range(3):
        assert {seats[s]: paid for s, paid in played(plain, seed).items()} == played(staged, seed)


def played(game: gamedsl.Game, seed: int) -> dict[str, object]:
    """The payoffs of a play in which every choice and every outcome is drawn by its number."""
    episode = game.env(backend="interpreter").reset(chance="asked", forced="asked")
    random = Random(seed)
    while not episode.done:
        if episode.outcome_count:
            episode.draw(random.randrange(episode.outcome_count))
        else:
            asked = episode.decisions
            names = {d.seat: d.legal[random.randrange(len(d.legal))] for d in asked}
            episode.step({seat: gamedsl.Action(name) for seat, name in names.items()})
    return dict(episode.payoffs)


def test_stage_options_name_the_outer_roles(tmp_path: Path) -> None:
    path = tmp_path / "staged.yaml"
    path.write_text("game: staged\nroles: [ann, bob]\nturns: [{use: small_hanabi}]\n")
    names = gamedsl.load(path).env(backend="interpreter").action_names("ann")
    assert "hint(bob,red)" in names
    assert not [name for name in names if "player" in name]
