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


CALLS = """game: calls
roles: [asker, teller]
on_invalid: {then: forfeit, pay: -1}
state: {secret: {of: 1..3, start: 2}}
turns:
  - {role: asker, choose: guess, from: 1..3}
  - {role: teller, say: word, max_tokens: 20, valid: secret == 2}
  - {call: exact, with: {text: word, value: guess}, gives: right, seen_by: all}
payoffs: {asker: 1 if right else 0, teller: 0}
"""


def test_stage_calls_and_valid_read_its_variables(tmp_path: Path) -> None:
    """What a call of a stage binds, and what `valid` reads, are the stage's own variables."""
    (tmp_path / "calls.yaml").write_text(CALLS)
    outer = tmp_path / "outer.yaml"
    outer.write_text(
        "game: outer\nroles: [ann, bob]\non_invalid: {then: forfeit, pay: -1}\n"
        "turns: [{use: calls}]\n"
    )
    episode = gamedsl.load(outer).env(backend="interpreter").reset()
    episode.step({"ann": gamedsl.Action("2")})
    episode.step({"bob": "2"})
    assert dict(episode.payoffs) == {"ann": 1, "bob": 0}


def test_stage_draws_per_pair_of_roles(tmp_path: Path) -> None:
    """Each index of a draw that is a role is one of the game around."""
    (tmp_path / "pairs.yaml").write_text(
        "game: pairs\nroles: [one, two]\nturns:\n"
        "  - {draw: worth, from: 1..2, per: [role, role], seen_by: all}\n"
        "  - {role: all, choose: go, from: [a, b]}\n"
        "payoffs: worth[me][one] + worth[me][two]\n"
    )
    outer = tmp_path / "outer.yaml"
    outer.write_text("game: outer\nroles: [ann, bob]\nturns: [{use: pairs}]\n")
    episode = gamedsl.load(outer).env(backend="interpreter").reset(seed=1)
    episode.step({"ann": gamedsl.Action("a"), "bob": gamedsl.Action("b")})
    assert all(2 <= paid <= 4 for paid in dict(episode.payoffs).values())
