"""The user's cache: things that are made once and read many times, all of which can be made again.

Some of them are run: the Python of games, and the parser's pickled table. So a cache is used only
where no other user can write: the folder and those above it belong to the user or to root, and
nobody else may write there (but in a sticky folder such as `/tmp`, where others cannot replace
what is the user's). On Windows, whose files have access lists, it must lie in the user's home
folder. Anywhere else nothing is read or kept. An entry begins with the hash of the
rest, so that a file that was cut or changed by accident is no entry.
"""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from pathlib import Path

from gamedsl.storage.system import flags, has_owners
from gamedsl.storage.writer import write_bytes

LARGEST = 64 << 20
"""Bytes of an entry at most."""

_HEAD = len("# ") + 64 + len("\n")
"""A line before the content, which is a comment in Python, as entries that are code are."""


class CacheRefused(OSError):
    """A cache that is not there, not the user's alone, or not to be written; `reason` says why."""

    def __init__(self, folder: Path | str, reason: str) -> None:
        super().__init__(f"the cache {folder} is not used: {reason}")
        self.folder, self.reason = folder, reason


def cache_root() -> Path:
    """`$GAMEDSL_CACHE`, else `$XDG_CACHE_HOME/gamedsl`, else `~/.cache/gamedsl`. Raises
    CacheRefused where there is no home."""
    try:
        if own := os.environ.get("GAMEDSL_CACHE"):
            return Path(own).expanduser()
        if shared := os.environ.get("XDG_CACHE_HOME"):
            return Path(shared).expanduser() / "gamedsl"
        return Path.home() / ".cache" / "gamedsl"
    except RuntimeError as error:
        raise CacheRefused("below ~", "there is no home folder; set GAMEDSL_CACHE") from error


def own_folder(*names: str) -> Path:
    """Returns a folder of the cache, made if need be, in which nobody but the user can write.
    Raises CacheRefused."""
    root = cache_root()
    folder = root.joinpath(*names)
    try:
        if not folder.is_dir():
            if not root.is_dir():
                root.parent.mkdir(parents=True, exist_ok=True)
                root.mkdir(mode=0o700, exist_ok=True)
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_owners(folder)
    except CacheRefused:
        raise
    except (OSError, ValueError) as error:
        raise CacheRefused(root, getattr(error, "strerror", None) or str(error)) from error
    return folder


def read_entry(path: Path) -> bytes | None:
    """Returns the content of an entry in a folder that `own_folder` gave; None where there is
    none, or it is not as it was written."""
    try:
        handle = os.open(path, os.O_RDONLY | flags("O_NONBLOCK", "O_CLOEXEC", "O_NOFOLLOW"))
    except OSError:
        return None
    try:
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode) or not _is_mine(state):
            return None
        with open(handle, "rb", closefd=False) as stream:
            content = stream.read(LARGEST)
    except OSError:
        return None
    finally:
        os.close(handle)
    head, content = content[:_HEAD], content[_HEAD:]
    return content if head == _head_of(content) else None


def write_entry(path: Path, content: bytes) -> None:
    """Keeps an entry, whole or not at all; where it cannot be written, nothing is kept."""
    with suppress(OSError):
        write_bytes(path, _head_of(content) + content, durable=False)


def _head_of(content: bytes) -> bytes:
    return f"# {hashlib.sha256(content).hexdigest()}\n".encode()


def _check_owners(folder: Path) -> None:
    """Raises CacheRefused where another user may write in a folder, or replace it: through a folder
    above it, or above one that a link leads to."""
    named, real = folder.absolute(), Path(os.path.realpath(folder))
    if not has_owners():
        home = Path(os.path.realpath(Path.home()))
        if not real.is_relative_to(home):
            raise CacheRefused(folder, f"it must lie in {home}, which is the user's alone")
        return
    for path in dict.fromkeys((named, *named.parents, real, *real.parents)):
        state = path.stat()
        if not _is_mine(state) and not _is_system(state):
            raise CacheRefused(path, "another user can write there")


def _is_mine(state: os.stat_result) -> bool:
    """Whether only the user, or root, may write to a file or a folder; where files have no owners,
    `own_folder` has seen to it."""
    if not has_owners():
        return True
    return state.st_uid in (os.geteuid(), 0) and not _others_may_write(state)


def _is_system(state: os.stat_result) -> bool:
    """Whether others may write in a folder, but not replace what is the user's."""
    return state.st_uid == 0 and bool(state.st_mode & stat.S_ISVTX)


def _others_may_write(state: os.stat_result) -> bool:
    """Whether the mode lets others write; the group does not count where it is the user's own."""
    if state.st_mode & stat.S_IWOTH:
        return True
    return bool(state.st_mode & stat.S_IWGRP) and not _is_own_group(state.st_gid)


def _is_own_group(group: int) -> bool:
    """Whether a group is of the user alone, as many systems give each user one."""
    import grp
    import pwd

    try:
        user, row = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    alone = not set(row.gr_mem) - {user.pw_name}
    return alone and group == user.pw_gid and row.gr_name == user.pw_name
