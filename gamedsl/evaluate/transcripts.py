"""Games in words on disk, as they end: a file a seating, for people and for `gamedsl replay`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gamedsl.evaluate.errors import EvalError
from gamedsl.evaluate.replies import Keep
from gamedsl.evaluate.seating import Holders

LONGEST = 60
"""Letters of a file's name, without its number."""


def keeper(folder: Path | None) -> Keep:
    """Returns a function that writes the games of each seating into a file of its own in a
    folder, which must be empty or absent; without a folder it writes nothing. Raises EvalError."""
    if folder is None:
        return lambda holders, records: None
    files: dict[Holders, Path] = {}

    def keep(holders: Holders, records: Sequence[dict[str, Any]]) -> None:
        name = re.sub(r"[^\w.-]+", "_", "-".join(holders))[:LONGEST]
        path = files.setdefault(holders, folder / f"{len(files) + 1}-{name}.jsonl")
        try:
            with path.open("a", encoding="utf-8") as stream:
                stream.writelines(json.dumps(one, ensure_ascii=False) + "\n" for one in records)
        except OSError as error:
            raise _unwritable(path, error) from error

    try:
        folder.mkdir(parents=True, exist_ok=True)
        used = next(folder.iterdir(), None)
    except OSError as error:
        raise _unwritable(folder, error) from error
    if used is not None:
        raise EvalError(f"the folder {folder} is not empty", "name a new one for transcripts")
    return keep


def _unwritable(path: Path, error: OSError) -> EvalError:
    return EvalError(f"{path} cannot be written: {error.strerror}", "name another")
