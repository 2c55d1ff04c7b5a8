"""The place of the files that gamedsl ships: games, protocols and rewards."""

from __future__ import annotations

from pathlib import Path

SHIPPED = ("games", "protocols", "rewards")
"""The folders of shipped files."""


def shipped_folder() -> Path:
    """Returns the folder of the shipped libraries: in the package of a wheel, else beside it."""
    package = Path(__file__).parents[1]
    packaged = package / "_library"
    return packaged if packaged.is_dir() else package.parent


def shipped_place(path: Path) -> str | None:
    """Returns the place of a shipped file among the shipped ones, such as `games/nim.yaml`; None
    for another file."""
    below = shipped_folder()
    if not path.is_absolute() or not path.is_relative_to(below):
        return None
    place = path.relative_to(below)
    return place.as_posix() if place.parts[0] in SHIPPED else None
