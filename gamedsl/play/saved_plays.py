"""Saved plays: a file of transcripts each, in the folder `plays`."""

from __future__ import annotations

from itertools import count
from pathlib import Path

from gamedsl.storage.writer import write_output

PLAYS = "plays"
"""The folder's name."""


def free_path(folder: Path, game: str, seed: int) -> Path:
    """Returns the first path that no file has below `plays` in a folder: `GAME-SEED`,
    `GAME-SEED-2`, and so on."""
    for number in count(1):
        stem = f"{game}-{seed}{f'-{number}' if number > 1 else ''}"
        path = folder / PLAYS / f"{stem}.jsonl"
        if not path.exists():
            return path
    raise AssertionError("numbers do not end")


def save_play(record: str, path: Path, *, parents: bool) -> None:
    """Writes the text of a transcript; `parents`: makes the folders above the file. Raises
    WriteRefused."""
    write_output(path, record, parents=parents)
