"""Games on disk, as they end: a file a seating, for people and for `gamedsl replay`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gamedsl.evaluate.errors import EvalError
from gamedsl.evaluate.replies import Keep
from gamedsl.evaluate.seating import Holders
from gamedsl.storage.refusals import reason, remedy
from gamedsl.storage.strict_json import write
from gamedsl.storage.writer import append, make_folder

LONGEST = 60
"""Letters of a file's name, without its number."""


def keeper(folder: Path | None) -> Keep | None:
    """Returns a function that writes the games of each seating into a file of its own in a
    folder, which must be empty or absent; None without a folder. Raises EvalError."""
    if folder is None:
        return None
    files: dict[Holders, Path] = {}

    def keep(holders: Holders, records: Sequence[dict[str, Any]]) -> None:
        name = re.sub(r"[^\w.-]+", "_", "-".join(holders))[:LONGEST]
        path = files.setdefault(holders, folder / f"{len(files) + 1}-{name}.jsonl")
        try:
            append(path, "".join(write(one) + "\n" for one in records))
        except OSError as error:
            raise _unwritable(path, error) from error

    try:
        make_folder(folder)
        used = next(folder.iterdir(), None)
    except OSError as error:
        raise _unwritable(folder, error) from error
    if used is not None:
        raise EvalError(f"the folder {folder} is not empty", "name a new one for transcripts")
    return keep


def _unwritable(path: Path, error: OSError) -> EvalError:
    return EvalError(f"{path} cannot be written: {reason(error)}", remedy(error))
