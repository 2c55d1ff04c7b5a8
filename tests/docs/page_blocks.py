"""The blocks of code of a page, and what a reader does with them: save files, type commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parents[2] / "docs"
FENCED = re.compile(r"(?:`([\w/]+\.\w+)`:\n\n)?^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

ADDRESS = "http://localhost:8000/v1"
"""The endpoint that pages name."""

SMALL = ["--model", "tiny", "--steps", "1", "--set", "games=8"]
"""What tests add to a training command that names no model: the same path, in seconds."""


class Block(NamedTuple):
    """A fenced block. `path` is the file that the line above it names, as in "`rows.jsonl`:"."""

    path: str
    kind: str
    text: str


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    return [Block(*found) for found in FENCED.findall(page.read_text(encoding="utf-8"))]


def write_files(page: Path, folder: Path) -> list[Path]:
    """Saves the files of a page: those that a line names, and games under their own names."""
    written = []
    for path, kind, text in blocks(page):
        game = re.search(r"^game: (\w+)", text, re.MULTILINE) if kind == "yaml" else None
        name = path or (f"{game[1]}.yaml" if game else "")
        if name:
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
            written.append(target)
    return written


def commands(page: Path) -> Iterator[tuple[list[str], str | None]]:
    """The `gamedsl` commands of a page as words, and what each is shown to print, if it is."""
    for _, kind, text in blocks(page):
        if kind == "console":
            command, _, printed = text.partition("\n")
            yield shlex.split(command.removeprefix("$ "), comments=False)[1:], printed
        elif kind == "":
            for line in text.splitlines():
                if line.startswith("gamedsl "):
                    yield shlex.split(re.sub(r"  +#.*", "", line))[1:], None


def needs_a_run(words: list[str]) -> bool:
    """Whether a command reads a run folder, or makes one."""
    return any(word.startswith(("runs/", "run:")) for word in words)


def small(words: list[str]) -> list[str]:
    """The command with a model and a number of steps that tests can afford."""
    if words[0] != "train" or "--resume" in words:
        return words
    if any(word.startswith("warm_up.") for word in words):
        words = [*words, "--set", "warm_up.games=8"]
    if "--model" not in words:
        return [*words, *SMALL]
    return words if "--steps" in words else [*words, *SMALL[2:]]
