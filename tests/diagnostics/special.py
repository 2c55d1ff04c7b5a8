"""Problems that no YAML case can show: each builds a bad input below a folder, and names it.

Of those of imported files the input is the wrong example of the explanation.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import gamedsl
from gamedsl.api.training_job import hire
from gamedsl.cli import main
from gamedsl.compiler import compile_file
from gamedsl.diagnostics import Diagnostic, Problems, codes
from gamedsl.imports import SUFFIXES, import_file
from gamedsl.ir.codec import encode
from gamedsl.recipe.resolve import resolve
from gamedsl.runtime import Game
from gamedsl.training.context_length import check_context
from gamedsl.training.engine import open_policy
from gamedsl.training.sessions import writer


def _missing(folder: Path) -> str:
    (folder / "stag_hunt.yaml").write_text("game: stag_hunt\n")
    return "stag_hnut.yaml"


def _folder(folder: Path) -> str:
    (folder / "games").mkdir()
    (folder / "games" / "chicken.yaml").write_text("game: chicken\n")
    return "games"


def _large(folder: Path) -> str:
    with (folder / "large.yaml").open("wb") as stream:
        stream.truncate((1 << 20) + 1)
    return "large.yaml"


def _long_chain(folder: Path) -> str:
    for number in range(25):
        text = f"game: g{number}\nextends: g{number + 1}\n"
        (folder / f"g{number}.yaml").write_text(text)
    return "g0.yaml"


def _not_text(folder: Path) -> str:
    (folder / "latin.yaml").write_bytes(b"game: x\nabout: caf\xe9\n")
    return "latin.yaml"


def _unreadable(folder: Path) -> str:
    return "x" * 300 + ".yaml"


def _no_compiled_game(folder: Path) -> str:
    (folder / "stag.json").write_text('{"game": "stag_hunt"}')
    return "stag.json"


def _of_another_game(folder: Path) -> str:
    assert main(["compile", "stag_hunt", "-o", "mine.json"]) == 0
    content = json.loads((folder / "mine.json").read_text("utf-8"))
    content |= encode(gamedsl.load("chicken").ir) | {"hash": gamedsl.load("chicken").hash}
    (folder / "mine.json").write_text(json.dumps(content))
    return "mine.json"


def _no_player(folder: Path) -> str:
    game = "roles: [row, column]\nactions: [left, right]\nprotocol: simultaneous\n"
    train = "train:\n  roles: {column: {player: randm}}\n"
    (folder / "held.yaml").write_text(f"game: held\n{game}payoffs: 1\n{train}")
    return "held.yaml"


def _not_read(folder: Path) -> str:
    wrong = codes.text_examples("GD0717")[0]
    (folder / "story.yaml").write_text(wrong + "train: {model: tiny}\n")
    return "story.yaml"


def _imported(code: str) -> Callable[[Path], str]:
    def build(folder: Path) -> str:
        wrong = codes.text_examples(code)[0]
        name = f"game.{wrong[:3].lower()}" if wrong[1:3] == "FG" else "game.efg"
        (folder / name).write_text(wrong)
        return name

    return build


SPECIAL: dict[str, Callable[[Path], str]] = {
    "GD0001": _missing,
    "GD0002": _folder,
    "GD0003": _large,
    "GD0004": _not_text,
    "GD0006": _unreadable,
    "GD0126": _long_chain,
    "GD0130": _no_compiled_game,
    "GD0131": _of_another_game,
    "GD0711": _no_player,
    "GD0717": _not_read,
    **{code: _imported(code) for code in codes.codes() if code.startswith("GD08")},
}


def build(code: str, folder: Path) -> str:
    """Make the input of a code in a fresh current folder; returns the path to compile."""
    os.chdir(folder)
    return SPECIAL[code](folder)


def problems_of(path: Path | str) -> list[Diagnostic]:
    """What the compiler says of a file, or the importer of one that is not ours."""
    if Path(path).suffix not in SUFFIXES:
        result = compile_file(path)
        further = [] if result.ir is None else _of_training(Game(result.ir, ()))
        return [*result.diagnostics, *further]
    problems = Problems()
    import_file(path, problems)
    return problems.sorted()


def _of_training(game: Game) -> list[Diagnostic]:
    """What is said when a game is to be trained, and not before."""
    problems = Problems()
    recipe = resolve(game.ir, (), problems)
    hire(game, recipe, game.ir.settings, problems)
    if recipe.model == "tiny" and recipe.in_words(game.ir):
        check_context(game, recipe, writer(open_policy(game, recipe, print)), problems)
    return problems.sorted()
