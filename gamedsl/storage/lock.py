"""A lock on a folder that one process may change at a time.

It is the system's lock on a file (`flock`), so it ends with the process, however that ends, and
what a killed one left behind blocks nobody. The file tells who has it: that is for messages alone.

On a network file system the lock holds between machines where the server keeps locks, as NFS does
(version 4, and version 3 with its lock daemon). Where the file system or the platform keeps none,
`acquire` returns False, and nothing stops a second process.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import stat
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from gamedsl.storage.reader import FileRefused, read_bytes
from gamedsl.storage.strict_json import JsonRefused, parse
from gamedsl.storage.system import flags
from gamedsl.storage.writer import write_straight

NAME = ".lock"
_NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL})
_LONGEST = 4096


class FolderLocked(Exception):
    """Another process has the lock. `holder` says which: its number, machine and start."""

    def __init__(self, folder: Path, holder: str) -> None:
        super().__init__(f"`{folder}` is in use by {holder}")
        self.folder, self.holder = folder, holder


class FolderLock:
    """The lock of one folder. A second one of the same process is refused as another process is."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._handle: int | None = None

    @property
    def acquired(self) -> bool:
        """Whether this is the one that has the lock."""
        return self._handle is not None

    def acquire(self) -> bool:
        """Takes the lock until it is released, or the process ends; returns False where the file
        system keeps no locks. Raises FolderLocked, and OSError where no lock file can be made."""
        file = self._folder / NAME
        ways = os.O_RDWR | os.O_CREAT | flags("O_NOFOLLOW", "O_NONBLOCK")
        handle = os.open(file, ways, 0o644)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise FileRefused(file, "it is not a regular file", "special")
            if not _lock(handle):
                return False
        except BlockingIOError:
            raise FolderLocked(self._folder, _holder(file)) from None
        else:
            self._handle, handle = handle, -1
        finally:
            if handle >= 0:
                os.close(handle)
        entry = {"pid": os.getpid(), "host": socket.gethostname(), "since": _now()}
        try:
            with suppress(OSError):  # a courtesy to others: on a full disk the lock holds anyway
                write_straight(file, json.dumps(entry) + "\n")
        except BaseException:
            self.release()
            raise
        return True

    def release(self) -> None:
        """Gives the lock back, if this has it. The file stays: a new one would be another lock."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def _lock(handle: int) -> bool:
    """Locks an open file, or returns False where that is not to be had. Raises BlockingIOError."""
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return False
        raise
    return True


def _holder(file: Path) -> str:
    """Returns who has the lock, as its file tells it."""
    try:
        entry = parse(read_bytes(file, limit=_LONGEST))
        return f"process {int(entry['pid'])} on {entry['host']}, since {entry['since']}"
    except (FileRefused, JsonRefused, KeyError, TypeError, ValueError):
        return "another process"


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
