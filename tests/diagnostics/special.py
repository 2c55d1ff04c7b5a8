"""Problems that no YAML case can show: each builds a bad input below a folder, and names it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path


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


def _not_text(folder: Path) -> str:
    (folder / "latin.yaml").write_bytes(b"game: x\nabout: caf\xe9\n")
    return "latin.yaml"


def _unreadable(folder: Path) -> str:
    return "x" * 300 + ".yaml"


SPECIAL: dict[str, Callable[[Path], str]] = {
    "GD0001": _missing,
    "GD0002": _folder,
    "GD0003": _large,
    "GD0004": _not_text,
    "GD0006": _unreadable,
}


def build(code: str, folder: Path) -> str:
    """Make the input of a code in a fresh current folder; returns the path to compile."""
    os.chdir(folder)
    return SPECIAL[code](folder)
