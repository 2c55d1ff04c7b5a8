"""A run folder has copies of the files that its game reads, and of no others."""

from __future__ import annotations

from pathlib import Path

import gamedsl
from gamedsl.train.runfolder import create
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


def test_a_base_of_this_name_stays_apart(tmp_path: Path) -> None:
    file = tmp_path / "chicken.yaml"
    file.write_text("game: chicken\nextends: chicken\nabout: mine\n", encoding="utf-8")
    game = gamedsl.load(file)
    recipe = recipe_of(game, steps=1)
    run = create(game, recipe, tmp_path / "run", {}, policy_of(game, recipe).tokenizer, 1)
    assert gamedsl.load(run.path / "game" / "chicken.yaml").hash == game.hash
