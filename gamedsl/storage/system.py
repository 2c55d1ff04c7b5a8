"""The abilities that file systems of one operating system have and another lacks."""

from __future__ import annotations

import os
from pathlib import Path

BINARY = getattr(os, "O_BINARY", 0)
"""Windows changes line ends in files that are opened without this flag."""


def flags(*names: str) -> int:
    """Returns flags of `os.open` together, such as `O_NOFOLLOW`; a system that lacks one does
    without it. Files are always opened as bytes."""
    return BINARY | sum(getattr(os, name, 0) for name in names)


def has_owners() -> bool:
    """Whether files have an owner and a mode, as on Unix. Windows has access lists instead."""
    return hasattr(os, "geteuid")


def syncs_folders() -> bool:
    """Whether a folder can be opened and put on the disk. On Windows it cannot: a file's new name
    may be lost with the power, and the file has the old content then."""
    return os.name == "posix"


def files_have_a_limit() -> bool:
    """Whether the files that this process writes are cut at a size (`ulimit -f`). Before 3.13.1
    Python then leaves part of a module's bytecode, which no later start can read (CPython 126606).
    """
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return False
    return resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY


def is_device(path: Path) -> bool:
    """Whether a path names a device or an open stream of Unix, such as `/dev/stdout`."""
    return os.name == "posix" and path.absolute().parts[1:2] in (("dev",), ("proc",))
