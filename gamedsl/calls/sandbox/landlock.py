"""Files that a confined program may reach, by Landlock: a list of what is allowed, beneath which
everything not on it is refused, also under another name or through a link."""

from __future__ import annotations

import os
import stat
import struct

from gamedsl.calls.sandbox.kernel import syscall

READ_FILE, READ_FOLDER = 1 << 2, 1 << 3
_FILE_RIGHTS = (1 << 0) | (1 << 1) | READ_FILE | (1 << 14) | (1 << 15)
_DEVICES_AND_SOCKETS = (1 << 6) | (1 << 9) | (1 << 11)
_FS_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""How many rights of files each version of the interface knows; later ones know no fewer."""

_VERSION = 1
_PATH_BENEATH = 1


def version() -> int:
    """The version of the kernel's Landlock; 0 where it has none."""
    try:
        return syscall("landlock_create_ruleset", None, 0, _VERSION)
    except OSError:
        return 0


def restrict(readable: list[str], listed: list[str], writable: list[str]) -> None:
    """Close all files but these to this process, for good: what lies beneath `readable` may be
    read, and folders beneath `listed` be listed. As far as the kernel knows how, TCP, abstract
    sockets and signals to others are closed with them."""
    known = version()
    every = (1 << _FS_RIGHTS[min(known, max(_FS_RIGHTS))]) - 1
    attributes = struct.pack("QQQ", every, 0b11, 0b11)
    size = 8 if known < 4 else 16 if known < 6 else 24
    rules = syscall("landlock_create_ruleset", attributes, size, 0)
    for paths, rights in (
        (readable, READ_FILE | READ_FOLDER),
        (listed, READ_FOLDER),
        (writable, every & ~_DEVICES_AND_SOCKETS),
    ):
        for path in paths:
            _allow(rules, path, rights)
    syscall("landlock_restrict_self", rules, 0)
    os.close(rules)


def _allow(rules: int, path: str, rights: int) -> None:
    """Allow rights beneath a path; of a file, those that files have. A link that leads nowhere, now
    that files are closed, needs none."""
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(os.fstat(handle).st_mode):
        rights &= _FILE_RIGHTS
    syscall("landlock_add_rule", rules, _PATH_BENEATH, struct.pack("=Qi", rights, handle), 0)
    os.close(handle)
