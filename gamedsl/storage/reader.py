"""Reading of files: regular ones, of bounded size, and on demand below one folder alone.

Always: nothing else is opened. A FIFO would block, a device has no end, and a file in another
folder may hold what its owner shows to nobody.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Literal

from gamedsl.storage.system import flags

Kind = Literal[
    "path", "missing", "folder", "special", "outside", "hidden", "root", "large", "text", "system"
]
"""The sorts of reasons: not a path, no such file, a folder, no regular file, not below the folder,
hidden below it, below the root, too large, not UTF-8, refused by the system."""

_FLAGS = os.O_RDONLY | flags("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY")


class FileRefused(OSError):
    """A file is not read. `reason` is the part of a sentence that says why: "it is not a regular
    file"; `kind` sorts the reasons, and `strerror` has the system's words where it is the one that
    refuses. `size` is that of a file that is too large."""

    def __init__(
        self, path: Path | str, reason: str, kind: Kind, size: int = 0, system: str | None = None
    ) -> None:
        super().__init__(reason)
        self.path = path
        self.strerror = system
        self.reason = reason
        self.kind: Kind = kind
        self.size = size

    def __str__(self) -> str:
        return f"`{self.path}` cannot be read: {self.reason}"


def expanded(path: str | Path) -> Path:
    """Returns a path with the home folder in place of a `~`; as it is where no such user is."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def read_bytes(path: Path | str, *, limit: int, below: Path | str | None = None) -> bytes:
    """Returns the content of a regular file of at most `limit` bytes.

    With `below`, it must lie below that folder: see `resolve`. Raises FileRefused.
    """
    data, size = _read(path, limit, below)
    if size > limit:
        reason = f"it has {size:,} bytes, and at most {limit:,} are read"
        raise FileRefused(path, reason, "large", size)
    return data[:limit]


def read_head(path: Path | str, *, limit: int, below: Path | str | None = None) -> bytes:
    """Returns the first `limit` bytes of a regular file, as `read_bytes` reads a smaller one."""
    return _read(path, limit, below)[0][:limit]


def read_text(path: Path | str, *, limit: int, below: Path | str | None = None) -> str:
    """Returns the text of a file, as `read_bytes` reads it. Raises FileRefused, also for a file
    that is not UTF-8."""
    data = read_bytes(path, limit=limit, below=below)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        reason = f"it is not UTF-8: byte 0x{data[error.start]:02x} on line {line}"
        raise FileRefused(path, reason, "text") from error


def resolve(path: Path | str, below: Path | str) -> Path:
    """Returns a path without links, of a file that lies below a folder. Raises FileRefused.

    A hidden name on the way from the folder is refused, such as `.env` and `.ssh`, which hold
    secrets and neither words nor rows. So is every file where the folder is the root of the file
    system, below which everything lies.
    """
    try:
        folder, real = Path(os.path.realpath(below)), Path(os.path.realpath(path))
    except (OSError, ValueError) as error:
        raise _refusal(path, error) from error
    if folder == folder.parent:
        reason = "its folder is the root of the file system, from which nothing is read"
        raise FileRefused(path, reason, "root")
    if not real.is_relative_to(folder):
        raise FileRefused(path, "it lies outside the folder that it must be in", "outside")
    if any(part.startswith(".") for part in real.relative_to(folder).parts):
        raise FileRefused(path, "it is hidden: a name in its path begins with a dot", "hidden")
    return real


def _read(path: Path | str, limit: int, below: Path | str | None) -> tuple[bytes, int]:
    """Returns the beginning of a file, one byte more than `limit` if there are, and its size."""
    real = Path(path) if below is None else resolve(path, below)
    try:
        # checked before it is opened, since the other end of a FIFO would notice that, and after
        _check(path, real.stat())
        handle = os.open(real, _FLAGS)
        with os.fdopen(handle, "rb") as stream:
            status = os.fstat(handle)
            _check(path, status)
            data = b"".join(_parts(stream, limit + 1))
    except FileRefused:
        raise
    except (OSError, ValueError) as error:
        raise _refusal(path, error) from error
    return data, max(len(data), status.st_size)


def _parts(stream: BinaryIO, most: int) -> Iterator[bytes]:
    """Yields what a stream has, up to `most` bytes, for which no memory is taken before."""
    while most > 0 and (part := stream.read(min(most, 1 << 20))):
        most -= len(part)
        yield part


def _check(path: Path | str, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise FileRefused(path, "it is a folder", "folder")
    if not stat.S_ISREG(status.st_mode):
        raise FileRefused(path, "it is not a regular file", "special")


def _refusal(path: Path | str, error: OSError | ValueError) -> FileRefused:
    """Returns the refusal for what the system raised: `ValueError` for a path that it cannot even
    be asked for, with a NUL or half a character in it."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return FileRefused(path, "there is no such file", "missing", system=error.strerror)
    if isinstance(error, ValueError):
        return FileRefused(path, "this is not a path", "path")
    reason = (error.strerror or "unknown reason").lower()
    return FileRefused(path, reason, "system", system=error.strerror)
