"""Problems that no YAML case can show: each builds a bad input below a folder, and names it.

Of those of imported files the input is the wrong example of the explanation.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from gamedsl.compiler import compile_file
from gamedsl.diagnostics import Diagnostic, Problems, codes
from gamedsl.imports import SUFFIXES, import_file


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
    **{code: _imported(code) for code in codes.codes() if code.startswith("GD08")},
}


def build(code: str, folder: Path) -> str:
    """Make the input of a code in a fresh current folder; returns the path to compile."""
    os.chdir(folder)
    return SPECIAL[code](folder)


def problems_of(path: Path | str) -> list[Diagnostic]:
    """What the compiler says of a file, or the importer of one that is not ours."""
    if Path(path).suffix not in SUFFIXES:
        return compile_file(path).diagnostics
    problems = Problems()
    import_file(path, problems)
    return problems.sorted()
