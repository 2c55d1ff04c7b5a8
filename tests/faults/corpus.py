"""Broken games, each one change away from a good one, and what the compiler must say of them.

`faults.yaml` lists them under the code that is due. A fault names a whole good game: a shipped one
(with `params` that make it small), or one of `games/`; `claims` takes the place of what it claims,
`add` is written below it, and `beside` puts further files next to it. `change` is the fault: each
old text stands just once in the files, and the new one breaks the game. The game without the change
is its twin. `at` is a piece of the broken files that stands there once, with what must be
underlined between « and ».

The faults are written from what the compiler claims to prove, not from how it does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from gamedsl.compiler import Result, compile_file
from gamedsl.diagnostics import Diagnostic, Problems
from gamedsl.ir import GameIR
from gamedsl.sema.game import build_game
from gamedsl.sema.library import load_document

HERE = Path(__file__).parent
SHIPPED = HERE.parent.parent / "games"
PROTOCOLS = HERE.parent.parent / "protocols"
CLAIMS = re.compile("^claims:.*\n", re.MULTILINE)
MARKED = re.compile("«(.*?)»", re.DOTALL)


@dataclass(frozen=True)
class Fault:
    """One entry of `faults.yaml`; see the head of this module and that of the file."""

    code: str
    name: str
    game: str
    change: Mapping[str, str]
    at: str
    params: Mapping[str, Any] = field(default_factory=dict)
    claims: str | None = None
    """What the game claims, where that is not what its file says."""
    add: str = ""
    beside: Mapping[str, str] = field(default_factory=dict)
    where: str = ""
    """The shipped protocol in which it stands, where it is none of the files."""
    also: tuple[str, ...] = ()
    """Warnings and notes that follow from the fault: what only the old text read, for instance."""
    replay: Mapping[str, Any] = field(default_factory=dict)
    """What the second check is told, where it must be told something; see `replay`."""
    slow: bool = False
    """It takes more than a second: others of its code are tried by default."""
    xfail: str = ""
    """Why it is not caught yet, which the score counts as a miss."""

    @property
    def id(self) -> str:
        return f"{self.code}-{self.name}"

    def files(self, *changes: Mapping[str, str]) -> dict[str, str]:
        """Returns the texts by file name, the game's first, each change made in the one that has
        its old text. ValueError where an old text does not stand in them just once."""
        own = HERE / "games" / f"{self.game}.yaml"
        path = own if own.is_file() else SHIPPED / f"{self.game}.yaml"
        text = path.read_text(encoding="utf-8")
        if self.claims is not None:
            text = CLAIMS.sub("", text) + (f"claims: {self.claims}\n" if self.claims else "")
        texts = {path.name: text + self.add, **self.beside}
        for old, new in (pair for change in changes for pair in change.items()):
            places = [name for name, text in texts.items() for _ in range(text.count(old))]
            if len(places) != 1:
                raise ValueError(f"{self.id}: {old!r} stands {len(places)} times")
            texts[places[0]] = texts[places[0]].replace(old, new)
        return texts

    @property
    def good(self) -> str:
        """Returns a name for the twin, which no other twin has."""
        return repr((self.twin(), self.params))

    def twin(self) -> dict[str, str]:
        return self.files()

    def broken(self) -> dict[str, str]:
        return self.files(self.change)

    def place(self) -> tuple[str, int, int]:
        """Returns file name, start and end of what must be underlined in the broken files.

        ValueError where the piece is not there just once, or nothing in it is marked.
        """
        mark = MARKED.search(self.at)
        if mark is None:
            raise ValueError(f"{self.id}: nothing is marked in {self.at!r}")
        piece = self.at[: mark.start()] + mark[1] + self.at[mark.end() :]
        texts = self.broken()
        if self.where:
            texts = {self.where: (PROTOCOLS / self.where).read_text(encoding="utf-8")}
        found = [
            (name, hit.start() + mark.start(), hit.start() + mark.start() + len(mark[1]))
            for name, text in texts.items()
            for hit in re.finditer(re.escape(piece), text)
        ]
        if len(found) != 1:
            raise ValueError(f"{self.id}: {piece!r} stands {len(found)} times")
        return found[0]


def faults() -> Iterator[Fault]:
    """Returns all faults, by code, in the order of the file."""
    table = yaml.safe_load((HERE / "faults.yaml").read_text(encoding="utf-8"))
    for code, entries in table.items():
        for entry in entries:
            entry["also"] = tuple(entry.get("also", ()))
            yield Fault(code, **entry)


def write(texts: Mapping[str, str], folder: Path) -> Path:
    """Writes the texts, and returns the path of the first; the others lie beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder / next(iter(texts))


def checked(fault: Fault, texts: Mapping[str, str], folder: Path) -> Result:
    """Returns what the compiler says of the game with these texts."""
    return compile_file(write(texts, folder), fault.params)


def unchecked(fault: Fault, texts: Mapping[str, str], folder: Path) -> GameIR | None:
    """Returns the game as it is written, with nothing proved of it; None where it cannot be
    read."""
    problems = Problems()
    document = load_document(write(texts, folder), problems)
    return None if document is None else build_game(document, fault.params, problems)


def misses(fault: Fault, found: list[Diagnostic]) -> list[str]:
    """Returns how the compiler's report of the broken game is wrong; empty where it is caught."""
    wrong = [
        f"{d.severity}[{d.code}] is said too: {d.message}"
        for d in found
        if d.code != fault.code and (d.code not in fault.also or d.severity == "error")
    ]
    said = {d.code for d in found}
    wrong += [f"{code} is not said" for code in (fault.code, *fault.also) if code not in said]
    own = [d for d in found if d.code == fault.code]
    if not own:
        return wrong
    name, start, end = fault.place()
    there = [
        d
        for d in own
        if (Path(d.span.source.name).name, d.span.start, d.span.end) == (name, start, end)
    ]
    if not there:
        wrong += [f"{_where(d)} is underlined, not {fault.at}" for d in own]
    return wrong


def _where(found: Diagnostic) -> str:
    text = found.span.source.text[found.span.start : found.span.end]
    return f"{Path(found.span.source.name).name}:{found.span.line}: {text!r}"
