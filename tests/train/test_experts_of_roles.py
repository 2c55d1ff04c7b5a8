"""A warm-up in which each role imitates a player, or a file, of its own."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gamedsl.cli import main
from gamedsl.training.imitated_prompts import prompts_of
from gamedsl.training.imitation import described, rounds_of
from gamedsl.training.seats import assign_seats
from tests.train.conftest import HIDDEN, OFFER, recipe_of, run_of
from tests.train.test_warm_up_in_words import COUNT, WARM, _chats, _file, _said

FAIR, HARD = "fixed:fair,accept", "fixed:high,reject"


def _taught(game, roles: dict[str, str], **settings: Any) -> dict[str, list[list[float]]]:
    """What each role learns, prompt by prompt, nothing being held out."""
    given = {role: {"expert": expert} for role, expert in roles.items()}
    recipe = recipe_of(game, roles=given, warm_up__held_out=0, adapters="per_role", **settings)
    learned, _ = prompts_of(game, game.env(), recipe, assign_seats(game, recipe), None, 1)
    found: dict[str, list[list[float]]] = {role: [] for role in game.ir.seats}
    for query, target in zip(learned.queries, learned.targets, strict=True):
        found[query.adapter].append(target.tolist())
    return found


@pytest.mark.parametrize(
    ("roles", "settings", "proposer", "responder"),
    [
        ({"proposer": FAIR, "responder": HARD}, {}, [[0, 1, 0]], [[0, 1]]),
        ({"responder": HARD}, {"warm_up__expert": FAIR}, [[0, 1, 0]], [[0, 1]]),
        ({"responder": "none"}, {"warm_up__expert": FAIR}, [[0, 1, 0]], []),
        ({"responder": HARD}, {}, [], [[0, 1]] * 3),  # the proposer offers at random
        ({"responder": HARD}, {"warm_up__opponents": FAIR}, [], [[0, 1]]),
    ],
)
def test_each_imitates_its_own(
    compiled, roles: dict[str, str], settings: dict[str, Any],
    proposer: list[list[float]], responder: list[list[float]],
) -> None:  # fmt: skip
    found = _taught(compiled(OFFER), roles, **settings)
    assert found == {"proposer": proposer, "responder": responder}


def test_file_and_player_teach_a_role_each(compiled, tmp_path: Path) -> None:
    game = compiled(HIDDEN)
    played = recipe_of(game, steps=1, games=64, transcripts_every=1, group_by="deal")
    run_of(game, played, tmp_path / "run")
    file = tmp_path / "run" / "transcripts" / "step-000001.jsonl"
    found = _taught(game, {"holder": f"file:{file}", "caller": "fixed:low,doubt"})
    assert sum(1 for target in found["holder"] if 0 < target[0] < 1) == 2, "as the run played"
    assert found["caller"] == [[0, 1]] * len(found["caller"]) != []


def test_in_words_too(compiled, tmp_path: Path) -> None:
    game = compiled(COUNT)
    file = _file(game, tmp_path / "games.jsonl", ['{"n": 1}', '{"n": 2}'] * 6)
    given = {**WARM, "roles": {"caller": {"expert": file}}, "warm_up__held_out": 0}
    learnt, _ = _chats(game, **given)
    said = {chat.rows[0].adapter: set() for chat in learnt.chats}
    for chat, replies in zip(learnt.chats, _said(learnt), strict=True):
        said[chat.rows[0].adapter].update(replies)
    assert all(reply.startswith(('{"n":1}', '{"n":2}')) for reply in said["caller"])
    assert said["echo"]
    assert not any(reply.startswith("{") for reply in said["echo"])


def test_a_run_says_whom_each_imitated(tmp_path: Path, monkeypatch, capsys) -> None:
    """Nor is a setting of the warm-up said to be without effect."""
    monkeypatch.chdir(tmp_path)
    Path("offer.yaml").write_text(OFFER)
    given = ["model=tiny", "games=16", "group_size=16", "roles.responder.expert=fixed:high,accept"]
    given += ["warm_up.games=8", "warm_up.epochs=1"]
    flags = [part for one in given for part in ("--set", one)]
    assert main(["train", "offer.yaml", "--dry-run", *flags]) == 0
    printed = capsys.readouterr()
    assert "8 games of fixed:high,accept as responder" in printed.out
    assert "GD0716" not in printed.err
    assert main(["train", "offer.yaml", "--steps", "1", "--out", "run", *flags]) == 0
    start = json.loads(Path("run/metrics.jsonl").read_text().splitlines()[0])
    assert start["warm_up"]["expert"] == "fixed:high,accept as responder"


def test_rounds_are_for_players(compiled) -> None:
    roles = {"proposer": {"expert": FAIR}, "responder": {"expert": "file:games.jsonl"}}
    recipe = recipe_of(compiled(OFFER), roles=roles, warm_up__rounds=3)
    assert rounds_of(recipe) == 3
    assert recipe.players == (FAIR, "file:games.jsonl")
    files = replace(recipe, roles=(replace(recipe.roles[0], expert="none"), recipe.roles[1]))
    assert rounds_of(files) == 1
    assert described(files).startswith("nothing as proposer; file:games.jsonl as responder; at")
