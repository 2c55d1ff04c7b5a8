"""Games of other programs as files of ours: Gambit's extensive (.efg) and strategic (.nfg) form.

`openspiel` makes files of the games of OpenSpiel, and needs that library.

`import_file` reads a file of either format and gives the text of a gamedsl game: same players,
information sets, chances and payoffs, none approximated. What is wrong with a file is a diagnostic
with a place in it. Names that cannot be names of ours are changed; a comment says how.

Written after the public description of the formats:
https://gambitproject.readthedocs.io/en/latest/formats.html
"""

from __future__ import annotations

from pathlib import Path

from gamedsl.diagnostics import Problems
from gamedsl.diagnostics.spans import Source
from gamedsl.frontend.source import loader

SUFFIXES = (".efg", ".nfg")
"""The file names that are imported."""


def import_file(path: Path | str, problems: Problems, name: str | None = None) -> str | None:
    """The text of a game file for a Gambit file; None with problems. Never raises for what a file
    says. The game is called as the file is, unless it is given a name."""
    source = loader.read(path, problems)
    return None if source is None else import_source(source, name or Path(path).stem, problems)


def import_text(text: str, name: str, problems: Problems) -> str | None:
    """The same for a text in memory; the game gets the name."""
    return import_source(loader.from_text(f"{name}.efg", text), name, problems)


def import_source(source: Source, name: str, problems: Problems) -> str | None:
    """The text of a game file. What a file is, its first word says."""
    from gamedsl.imports.efg import read_efg
    from gamedsl.imports.matrix import matrix_file
    from gamedsl.imports.nfg import read_nfg
    from gamedsl.imports.tokens import TokenReader, WrongFile
    from gamedsl.imports.tree import tree_file

    try:
        reader = TokenReader(source, problems)
        if reader.format() == "NFG":
            table = read_nfg(reader)
            return None if problems.errors else matrix_file(table, name)
        form = read_efg(reader)
        return None if problems.errors else tree_file(form, name, problems)
    except WrongFile:
        return None
