"""Files on disk, written so that a reader sees the old one or the new one, never half of either.

All files of the house go through the functions here, and these through the operations of a `Disk`.
A test puts another in its place (`on_disk`), which fails at any one operation, or stops there as a
kill would.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gamedsl.storage.refusals import WriteRefused
from gamedsl.storage.system import flags, is_device, syncs_folders

_PARTIAL = ".partial-"


class Disk:
    """The operations that change a disk. All raise OSError."""

    def make_folder(self, path: Path) -> None:
        """Makes a folder and those above it; one that is there stays."""
        try:
            path.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise NotADirectoryError(errno.ENOTDIR, "not a folder", str(path)) from None

    def claim_folder(self, path: Path) -> None:
        """Makes a folder. Raises FileExistsError where there is one."""
        path.mkdir()

    def make_partial(self, parent: Path) -> Path:
        """Makes an empty folder of a new name, for a file that is not whole yet."""
        return Path(tempfile.mkdtemp(prefix=_PARTIAL, dir=parent))

    def fill(self, path: Path, write: Callable[[Path], None]) -> None:
        """Has `write` make a file, or a folder with its files."""
        write(path)

    def append(self, path: Path, content: bytes) -> None:
        """Adds to the end of a file, which is made where there is none."""
        with path.open("ab") as stream:
            stream.write(content)

    def cut(self, path: Path, size: int) -> None:
        """Takes away what a file has beyond a size in bytes."""
        os.truncate(path, size)

    def sync(self, path: Path) -> None:
        """Has the system put a file, or a folder's entries, on the disk."""
        if path.is_dir() and not syncs_folders():
            return
        # Windows syncs only what may be written to; a folder of Unix only what is read.
        ways = os.O_RDONLY if syncs_folders() else os.O_RDWR
        handle = os.open(path, ways | flags("O_CLOEXEC"))
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def rename(self, old: Path, new: Path) -> None:
        """Moves a file or a folder; a file takes the place of another."""
        old.replace(new)

    def unlink(self, path: Path) -> None:
        """Removes a file, if it is there."""
        path.unlink(missing_ok=True)

    def remove(self, folder: Path) -> None:
        """Removes a folder with all that is in it."""
        shutil.rmtree(folder)


_disk = Disk()


@contextmanager
def on_disk(disk: Disk) -> Iterator[None]:
    """Has everything be written by the operations of `disk`, inside of the block."""
    global _disk
    before, _disk = _disk, disk
    try:
        yield
    finally:
        _disk = before


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Has errors name `path`, which the user knows, and not a temporary file beside it."""
    try:
        yield
    except (BrokenPipeError, WriteRefused):
        raise
    except OSError as error:
        raise WriteRefused(error.errno, error.strerror or str(error), str(path)) from error


def write_atomically(path: Path, write: Callable[[Path], None], *, durable: bool = True) -> None:
    """Puts what `write(temporary)` makes in the place of `path`, safe against a kill at any moment.

    `write` makes a file, or a folder with its files. A folder replaces one of the same name.
    `durable`: it outlasts a loss of power, too. Raises WriteRefused, and whatever else `write`
    raises.
    """
    with _naming(path):
        _replace(path, write, durable=durable)


def _replace(path: Path, write: Callable[[Path], None], *, durable: bool) -> None:
    _disk.make_folder(path.parent)
    work = _disk.make_partial(path.parent)
    try:
        new = work / path.name
        _disk.fill(new, write)
        if durable:
            for part in [*new.rglob("*"), new] if new.is_dir() else [new]:
                _disk.sync(part)
        if path.is_dir():
            _disk.rename(path, work / "old")
        _disk.rename(new, path)
        if durable:
            _disk.sync(path.parent)
    finally:
        _discard(work)


def write_bytes(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Writes a file atomically."""

    def write(new: Path) -> None:
        new.write_bytes(content)

    write_atomically(path, write, durable=durable)


def write_text(path: Path, text: str, *, durable: bool = True) -> None:
    """Writes a text file atomically, as UTF-8."""
    write_bytes(path, text.encode(), durable=durable)


def write_output(path: Path, text: str, *, parents: bool = False) -> None:
    """Writes a file that a user has named, as UTF-8; `parents`: makes the folders above it.

    The file is written atomically, at the end of its links, with the permissions that it had. What
    is no file, such as a pipe or `/dev/stdout`, is written to as it is, and never replaced. Raises
    WriteRefused.
    """
    with _naming(path):
        if is_device(path) or _is_special(path):
            write_straight(path, text)
            return
        target = Path(os.path.realpath(path))
        if target.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if not parents:
            target.parent.stat()

        def write(new: Path) -> None:
            new.write_bytes(text.encode())
            if target.exists():
                shutil.copymode(target, new)

        write_atomically(target, write)


def write_straight(path: Path, text: str) -> None:
    """Writes into a file as it is, as UTF-8: one that must stay the same file, or is none. Raises
    WriteRefused."""
    with _naming(path):
        _disk.fill(path, lambda there: _write_straight(there, text))


def _is_special(path: Path) -> bool:
    """Whether something is there that is no regular file, such as a folder."""
    return path.exists() and not path.is_file()


def _write_straight(path: Path, text: str) -> None:
    # Not waiting: opening a pipe that nobody reads would take for ever.
    ways = os.O_WRONLY | os.O_TRUNC | flags("O_CLOEXEC", "O_NOCTTY", "O_NONBLOCK")
    handle = os.open(path, ways)
    if hasattr(os, "O_NONBLOCK"):
        os.set_blocking(handle, True)
    with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
        stream.write(text)


def append(path: Path, text: str) -> None:
    """Adds whole lines to a text file. What a write that fails has added is taken away again.
    Raises WriteRefused."""
    with _naming(path):
        size = path.stat().st_size if path.exists() else 0
        try:
            _disk.append(path, text.encode())
        except OSError:
            if path.exists():
                _disk.cut(path, size)
            raise


def sync(path: Path) -> None:
    """Has the lines so far on the disk, before anything relies on them. Raises WriteRefused."""
    with _naming(path):
        _disk.sync(path)


def make_folder(path: Path) -> None:
    """Makes a folder and those above it; one that is there stays. Raises WriteRefused."""
    with _naming(path):
        _disk.make_folder(path)


def claim_folder(path: Path) -> None:
    """Makes a folder, for one of several processes. Raises FileExistsError where there is one, and
    WriteRefused."""
    try:
        _disk.claim_folder(path)
    except FileExistsError:
        raise
    except OSError as error:
        raise WriteRefused(error.errno, error.strerror or str(error), str(path)) from error


def unlink(path: Path) -> None:
    """Removes a file, if it is there. Raises WriteRefused."""
    with _naming(path):
        _disk.unlink(path)


def drop(folder: Path) -> None:
    """Removes a folder, if it is there: for readers, all of it at once. Raises WriteRefused."""
    with _naming(folder):
        if folder.exists():
            work = _disk.make_partial(folder.parent)
            _disk.rename(folder, work / folder.name)
            _disk.remove(work)


def is_partial(name: str) -> bool:
    """Whether a folder of this name is what a write left that was killed."""
    return name.startswith(_PARTIAL)


def drop_partial(folder: Path) -> None:
    """Removes what writes that were killed left anywhere below a folder."""
    for left in list(folder.rglob(f"{_PARTIAL}*")):
        _discard(left)


def _discard(work: Path) -> None:
    """Removes a folder that nobody reads; what cannot be removed stays."""
    with suppress(OSError):
        _disk.remove(work)
