"""The folders that the studio may read: games, plays and runs in them, and nothing else.

A file is named by a shipped game's name, or by its path. A path counts after its links are
resolved; it must then lie below one of the folders, and no part of it may be hidden.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gamedsl.mcp.refusal import Refused
from gamedsl.sema.library import shipped
from gamedsl.storage.reader import FileRefused, read_head, resolve
from gamedsl.storage.shipped import shipped_folder

MOST_FILES = 20_000
"""Files and folders that are looked at in each folder, as a list of its content is made."""

DEEPEST = 4
"""Levels of folders below each that are looked at."""

_HEAD = 1 << 14


@dataclass(frozen=True)
class Folders:
    """The folders that were given, as real paths; the first one takes what is saved."""

    roots: tuple[Path, ...]

    def inside(self, path: str | Path) -> Path:
        """Returns the real path of a file or folder below one of the folders. Raises Refused."""
        reason = ""
        for root in self.roots:
            try:
                return resolve(root / path, root)
            except FileRefused as error:
                reason = error.reason
        fix = "start `gamedsl studio` with the folder that it is in"
        raise Refused(f"`{path}` is not read: {reason}", fix)

    def game(self, file: str) -> str:
        """Returns how a game is named to a worker: a shipped name, or a path below the folders.
        Raises Refused."""
        own = shipped_folder() / "games"
        name = Path(file).stem if Path(file).parent == own else file
        if name in shipped("game"):
            return str(own / f"{name}.yaml")
        path = self.inside(file)
        if path.suffix not in (".yaml", ".yml"):
            raise Refused(f"`{file}` is no game", "name a YAML file")
        return str(path)

    def shown(self, path: str | Path) -> str:
        """Returns a path as pages show it: from the folder that it is in."""
        for root in self.roots:
            with suppress(ValueError):
                return Path(path).relative_to(root).as_posix()
        return Path(path).stem if Path(path).suffix == ".yaml" else str(path)

    def games(self) -> list[Path]:
        """Returns the files of the folders that begin a game."""
        found = []
        for root in self.roots:
            for path in self._files(root):
                if path.suffix == ".yaml" and _is_game(path, root):
                    found.append(path)
        return list(dict.fromkeys(found))

    def runs(self) -> list[Path]:
        """Returns the folders of training runs, the newest first."""
        found = {
            path.parent: path.stat().st_mtime
            for root in self.roots
            for path in self._files(root)
            if path.name == "run.json"
        }
        return sorted(found, key=lambda path: -found[path])

    def transcripts(self) -> list[Path]:
        """Returns the files of transcripts that lie in no run, the newest first."""
        runs = set(self.runs())
        found = {
            path: path.stat().st_mtime
            for root in self.roots
            for path in self._files(root)
            if path.suffix == ".jsonl" and path.name != "metrics.jsonl"
            and not runs.intersection(path.parents) and _is_transcript(path, root)
        }  # fmt: skip
        return sorted(found, key=lambda path: -found[path])

    def run_of(self, path: Path) -> Path | None:
        """Returns the folder of the run that a file belongs to; None where it belongs to none."""
        above = (folder for folder in path.parents if (folder / "run.json").is_file())
        return next((folder for folder in above if self._holds(folder)), None)

    def _holds(self, path: Path) -> bool:
        return any(path.is_relative_to(root) for root in self.roots)

    def _files(self, root: Path) -> Iterator[Path]:
        """Yields the regular files below a folder, the first ones, none of them hidden or behind a
        link."""
        left = MOST_FILES
        for folder, names, files in os.walk(root):
            depth = len(Path(folder).relative_to(root).parts)
            names[:] = sorted(n for n in names if n[0] != "." and n != "node_modules")
            if depth >= DEEPEST:
                names.clear()
            for name in sorted(files):
                left -= 1
                if left < 0:
                    return
                path = Path(folder) / name
                if name[0] != "." and path.is_file() and not path.is_symlink():
                    yield path


def real_folders(given: Sequence[Path]) -> Folders:
    """Returns the folders of a command line. Raises Refused for one that is none, or that is the
    root of the file system."""
    found = []
    for folder in given:
        real = folder.expanduser().resolve()
        if not real.is_dir():
            raise Refused(f"{folder} is no folder", "name folders with games, plays or runs")
        if real == real.parent:
            raise Refused(f"{folder} is the root of the file system", "name a folder below it")
        found.append(real)
    return Folders(tuple(dict.fromkeys(found)))


def _is_game(path: Path, root: Path) -> bool:
    head = _head(path, root)
    return any(line.startswith((b"game:", b"game :")) for line in head.splitlines())


def _is_transcript(path: Path, root: Path) -> bool:
    first = _head(path, root).partition(b"\n")[0]
    return first.startswith(b"{") and b'"run_seed"' in first and b'"format"' in first


def _head(path: Path, root: Path) -> bytes:
    try:
        return read_head(path, limit=_HEAD, below=root)
    except FileRefused:
        return b""
