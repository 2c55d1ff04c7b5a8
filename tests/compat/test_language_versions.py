"""Files of version 1 of the language keep their meaning, compiled games are read and play alike."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import gamedsl
from gamedsl.ir.codec import decode
from gamedsl.ir.game import GameIR
from gamedsl.players.table import open_player
from gamedsl.runtime import Env
from gamedsl.sema.library import FOLDERS
from gamedsl.storage.shipped import shipped_folder
from tests.compat.language import COMPILED, HERE, built, kept_hashes, names

REMEDY = "run python -m tests.compat.language, and commit what it adds"

read = cache(built)


@pytest.mark.parametrize("name", kept_hashes())
def test_rules_hash_is_kept(name: str) -> None:
    assert read(name)[0].rules_hash == kept_hashes()[name]


def test_every_game_has_a_kept_hash() -> None:
    assert sorted(kept_hashes()) == sorted(names()), REMEDY


def test_every_protocol_and_reward_is_held() -> None:
    """Each is read for one of the games whose hash is kept."""
    held = {path for name in kept_hashes() for path in read(name)[1]}
    library = shipped_folder()
    files = {path for folder in FOLDERS.values() for path in (library / folder).glob("*.yaml")}
    assert {path.resolve() for path in files} <= held


def test_hashes_of_the_first_release_are_among_them() -> None:
    first = json.loads((HERE.parent / "v0_1_0" / "hashes.json").read_text("utf-8"))
    kept = kept_hashes()
    assert {name: kept[name] for name in first} == {
        name: hashes["rules_hash"] for name, hashes in first.items()
    }


def compiled(name: str) -> tuple[Path, dict[str, Any]]:
    path = HERE / "compiled" / f"{name}.json"
    return path, json.loads(path.read_text("utf-8"))


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_game_keeps_its_hashes(name: str) -> None:
    path, content = compiled(name)
    written, game = decode(content), gamedsl.load(path)
    assert content["language"] == 1
    assert written.rules_hash == content["rules_hash"] == game.ir.rules_hash
    assert content["rules_hash"] == read(name)[0].rules_hash


def plays(ir: GameIR, others: Env, seed: int) -> int:
    """Plays one game by random valid moves, and another along; both must ask, show and pay the
    same. Returns the number of decisions."""
    player = open_player("random", gamedsl.load(ir.name), seed=seed)
    env = Env(ir, backend="interpreter")
    one, other, count = env.reset(seed=seed), others.reset(seed=seed), 0
    while not one.done:
        asked, again = one.decisions, other.decisions
        for decision, same in zip(asked, again, strict=True):
            assert (decision.seat, decision.step) == (same.seat, same.step)
            assert decision.legal == same.legal
            assert decision.information_set == same.information_set
        moves = {decision.seat: player.act(decision, one) for decision in asked}
        one.step(moves)
        other.step(moves)
        count += len(asked)
    assert other.done
    assert (one.payoffs, one.rewards) == (other.payoffs, other.rewards)
    return count


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_game_plays_as_its_file(name: str) -> None:
    written, game = decode(compiled(name)[1]), gamedsl.load(name)
    assert sum(plays(written, game.env(), seed) for seed in range(5)) >= 5
