"""A disk that fails, or a process that dies, at the n-th of its operations."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from gamedsl.storage.writer import Disk

Fault = Literal["ENOSPC", "EIO", "dies before", "dies halfway", "dies after"]
FAULTS: tuple[Fault, ...] = ("ENOSPC", "EIO", "dies before", "dies halfway", "dies after")


class Died(BaseException):
    """The process is gone: nothing that it would still have done reaches the disk."""


class FaultyDisk(Disk):
    """Counts its operations. The n-th (from 1) has a fault, and 0 none.

    An operation that fails leaves what a full disk leaves, half of what was written. After the
    process died, no operation does anything, and each raises `Died` again: `finally` and `except`
    still run here, and would not there.
    """

    def __init__(self, n: int = 0, fault: Fault = "EIO") -> None:
        self.n, self.fault = n, fault
        self.names: list[str] = []
        self.dead = False

    @property
    def count(self) -> int:
        return len(self.names)

    def make_folder(self, path: Path) -> None:
        self._do("make_folder", path, lambda: super(FaultyDisk, self).make_folder(path))

    def claim_folder(self, path: Path) -> None:
        self._do("claim_folder", path, lambda: super(FaultyDisk, self).claim_folder(path))

    def make_partial(self, parent: Path) -> Path:
        made: list[Path] = []
        self._do(
            "make_partial", parent,
            lambda: made.append(super(FaultyDisk, self).make_partial(parent)),
        )  # fmt: skip
        return made[0]

    def fill(self, path: Path, write: Callable[[Path], None]) -> None:
        self._do("fill", path, lambda: super(FaultyDisk, self).fill(path, write), tear(path))

    def append(self, path: Path, content: bytes) -> None:
        half = content[: len(content) // 2]
        self._do(
            "append", path, lambda: super(FaultyDisk, self).append(path, content),
            lambda: super(FaultyDisk, self).append(path, half), undone=True,
        )  # fmt: skip

    def cut(self, path: Path, size: int) -> None:
        self._do("cut", path, lambda: super(FaultyDisk, self).cut(path, size))

    def sync(self, path: Path) -> None:
        self._do("sync", path, lambda: super(FaultyDisk, self).sync(path))

    def rename(self, old: Path, new: Path) -> None:
        self._do("rename", new, lambda: super(FaultyDisk, self).rename(old, new))

    def unlink(self, path: Path) -> None:
        self._do("unlink", path, lambda: super(FaultyDisk, self).unlink(path))

    def remove(self, folder: Path) -> None:
        self._do("remove", folder, lambda: super(FaultyDisk, self).remove(folder))

    def _do(
        self, name: str, path: Path, act: Callable[[], object],
        half: Callable[[], object] = lambda: None, *, undone: bool = False,
    ) -> None:  # fmt: skip
        """Does an operation, or what its fault leaves. `half` does half of it after `act`, or in
        its place where `undone`."""
        if self.dead:
            raise Died
        self.names.append(f"{name} {path.name}")
        if self.count != self.n:
            act()
            return
        torn = self.fault in ("ENOSPC", "dies halfway")
        if torn and not undone and name == "fill":
            act()
        if torn:
            half()
        if self.fault == "dies after":
            act()
        if self.fault.startswith("dies"):
            self.dead = True
            raise Died
        number = getattr(errno, self.fault)
        raise OSError(number, os.strerror(number))


def tear(path: Path) -> Callable[[], None]:
    """Cuts the file, or one of the files of a folder, to half of its bytes."""

    def cut() -> None:
        files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        if files and files[-1].is_file():
            os.truncate(files[-1], files[-1].stat().st_size // 2)

    return cut
