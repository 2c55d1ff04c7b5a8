"""A folder in which an editor edits a game, as docs/editors.md configures it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "editors.md"
BASE = "game: base\nroles: [ann, bob]\nparams: {price: 3}\nturns:\n" + (
    "  - {role: all, choose: move, from: [stag, hare]}\npayoffs: price\n"
)
GAME = "game: mine\nextends: base\nparams: {extra: 1}\npayoffs: max(pric,extra)\n"
"""A game with one misspelt name and a missing space."""

MENDED = "game: mine\nextends: base\nparams: {bonus: 1}\npayoffs: max(price, bonus)\n"
"""The same with the quick fix, `extra` renamed to `bonus`, and the layout of `gamedsl fmt`."""


def editor(name: str, least: tuple[int, int]) -> str:
    """Returns the path of an editor; skips where there is none, or an older one."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed")
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"(\d+)\.(\d+)", said)
    assert found, said
    if (int(found[1]), int(found[2])) < least:
        pytest.skip(f"{name} {found[0]} is older than {least[0]}.{least[1]}")
    return path


def block(language: str) -> str:
    """Returns the page's configuration in a language."""
    found = re.search(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert found
    return found[1]


def write_games(folder: Path) -> dict[str, str]:
    """Writes the two games and a command `gamedsl`; returns the environment of an editor, whose
    own settings lie in `folder/config`."""
    (folder / "base.yaml").write_text(BASE, encoding="utf-8")
    (folder / "mine.yaml").write_text(GAME, encoding="utf-8")
    command = folder / "bin" / "gamedsl"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gamedsl "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return os.environ | {
        "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}", "TERM": "xterm-256color",
        "PYTHONPATH": str(PAGE.parents[1]),
        **{f"XDG_{name.upper()}_HOME": str(folder / name) for name in ("config", "data", "state",
                                                                        "cache")},
    }  # fmt: skip
