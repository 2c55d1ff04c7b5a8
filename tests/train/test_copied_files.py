"""A run folder has copies of the files that its game reads, and of no others."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import gamedsl
from gamedsl.cli import main
from gamedsl.runs.saved import SavedRun
from gamedsl.training.runfolder import create
from tests.train.conftest import policy_of, recipe_of

GAME = """
game: copied
about: 2001-99-99
roles: [left, right]
params: {file: {type: text, default: up/secret.txt}}
types: {Noun: {file: words/../words/nouns.txt}}
data: {rows: {file: rows.jsonl, fields: {word: Noun}}}
turns:
  - {draw: row, from: rows, seen_by: all}
  - {role: all, choose: move, from: Noun}
payoffs: 1 if move.left == row.word else 0
"""


def test_a_run_copies_what_the_game_reads(tmp_path: Path) -> None:
    folder = tmp_path / "game"
    (folder / "words").mkdir(parents=True)
    (folder / "words" / "nouns.txt").write_text("apple\npear\n", encoding="utf-8")
    (folder / "rows.jsonl").write_text('{"word": "pear"}\n', encoding="utf-8")
    (tmp_path / "secret.txt").write_text("swordfish", encoding="utf-8")
    (folder / "up").symlink_to("..")
    (folder / "copied.yaml").write_text(GAME, encoding="utf-8")
    game = gamedsl.load(folder / "copied.yaml")
    recipe = recipe_of(game, steps=1)
    policy = policy_of(game, recipe)
    copies = create(game, recipe, tmp_path / "run", {}, policy.tokenizer, 1).path / "game"
    assert sorted(str(path.relative_to(copies)) for path in copies.rglob("*.*")) == [
        "copied.yaml",
        "rows.jsonl",
        "words/nouns.txt",
    ]
    assert gamedsl.load(copies / "copied.yaml").hash == game.hash


PROTOCOL = """
protocol: in_turn
turns:
  - each: roles
    turns:
      - {choose: move, from: Word}
"""
REWARD = "reward: halved\nabout: Half of the own payoff.\nsplit: payoff[me] / 2\n"
USER = """
game: user
roles: [left, right]
types: {Word: {file: words.txt}}
protocol: in_turn
payoffs: 1 if move.left == move.right else 0
rewards: halved
"""


def test_a_moved_run_resumes_with_local_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "home"
    folder.mkdir()
    for name, text in {
        "user.yaml": USER, "in_turn.yaml": PROTOCOL, "halved.yaml": REWARD,
        "words.txt": "apple\npear\n", "unused.yaml": "game: unused\n",
    }.items():  # fmt: skip
        (folder / name).write_text(text, encoding="utf-8")
    run = folder / "run"
    flags = ["--model", "tabular", "--out", str(run)]
    assert main(["train", str(folder / "user.yaml"), "--steps", "1", *flags]) == 0
    moved = tmp_path / "elsewhere"
    shutil.move(run, moved)
    shutil.rmtree(folder)
    assert sorted(path.name for path in (moved / "game").iterdir()) == [
        "halved.yaml", "in_turn.yaml", "user.yaml", "words.txt",
    ]  # fmt: skip
    assert main(["train", "--resume", str(moved), "--steps", "2"]) == 0, capsys.readouterr().err
    assert len(SavedRun(moved).records()) == 4


def test_a_base_of_this_name_stays_apart(tmp_path: Path) -> None:
    file = tmp_path / "chicken.yaml"
    file.write_text("game: chicken\nextends: chicken\nabout: mine\n", encoding="utf-8")
    game = gamedsl.load(file)
    recipe = recipe_of(game, steps=1)
    run = create(game, recipe, tmp_path / "run", {}, policy_of(game, recipe).tokenizer, 1)
    assert gamedsl.load(run.path / "game" / "chicken.yaml").hash == game.hash
