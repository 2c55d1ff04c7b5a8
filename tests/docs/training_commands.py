"""The `gamedsl train` commands of pages, and what a command means, without a model."""

from __future__ import annotations

import argparse
import re
import shlex

import gamedsl
from gamedsl.cli import read_params
from gamedsl.commands import train
from gamedsl.diagnostics import Problems
from gamedsl.recipe.resolve import override, parse_overrides, resolve
from gamedsl.recipe.table import Recipe


def training_commands(page: str) -> list[str]:
    """Returns each command of a page that begins a run, without what pages put in its place."""
    whole = page.replace("\\\n", " ")
    found = re.findall(r"(?:^|`|&& )gamedsl (train [^#`\n]+)", whole, re.MULTILINE)
    return sorted({command.strip() for command in found if "--resume" not in command})


def understood(command: str) -> Recipe:
    """Returns the recipe of a command. An unknown option, game or setting fails."""
    parser = argparse.ArgumentParser()
    train.configure(parser)
    args = parser.parse_args(shlex.split(command)[1:])
    game = gamedsl.load(
        args.file.removeprefix("games/").removesuffix(".yaml"), read_params(args.param)
    )
    given = {"steps": args.steps, "seed": args.seed, "model": args.model}
    settings = [override(key, value) for key, value in given.items() if value is not None]
    problems = Problems()
    recipe = resolve(game.ir, [*parse_overrides(args.settings), *settings], problems)
    assert [one.message for one in problems.sorted() if one.severity != "note"] == []
    return recipe
