"""The sides of a contest between environments, and their lines, for the benchmarks of peers."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
GAME = ROOT / "games" / "kuhn_poker.yaml"
PAGES = ROOT / "docs" / "coming-from"

Play = Callable[[int, random.Random], int]
"""Plays a number of games, and returns the number of decisions."""


class Side(NamedTuple):
    """An environment in a library's loop. `lines` are those that a user writes for it."""

    play: Play
    lines: int


class Contest(NamedTuple):
    """A library's own environment of the game, and ours in the same loop.

    `fewer` divides the games of a round, where the loop is slow.
    """

    library: str
    theirs: Side
    ours: Side
    fewer: int = 1


def code_lines(source: str) -> int:
    """Returns the number of lines of Python with code: no blanks, comments or docstrings."""
    tree = ast.parse(source)
    told: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                told |= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return sum(
        1 for number, line in enumerate(source.splitlines(), 1)
        if line.strip() and not line.strip().startswith("#") and number not in told
    )  # fmt: skip


def game_lines() -> int:
    """Returns the number of lines of the game file, without blanks and comments."""
    lines = GAME.read_text(encoding="utf-8").splitlines()
    return sum(1 for line in lines if line.strip() and not line.strip().startswith("#"))


def page_code(name: str) -> str:
    """Returns the first Python block of a page "Coming from …": the game by hand."""
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    (code, *_) = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return str(code)


def file_lines(name: str) -> int:
    """Returns the lines with code of a file beside this one: a game by hand."""
    return code_lines((Path(__file__).parent / name).read_text(encoding="utf-8"))
