"""System calls that Python does not offer, by number through libc; all raise `OSError`."""

from __future__ import annotations

import ctypes
import os
import struct

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV = 1, 2, 4
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
MNT_DETACH = 2
READ_ONLY, NO_SUID, NO_DEVICES, NO_EXECUTION = 1, 2, 4, 8
"""Attributes of a mount (`MOUNT_ATTR_*`)."""

_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP = 1, 4, 38, 22
_SECCOMP_MODE_FILTER = 2
_CAPABILITY_VERSION_3 = 0x20080522

_NUMBERS = {
    "x86_64": {"pivot_root": 155, "capset": 126, "mount": 165, "umount2": 166, "unshare": 272},
    "aarch64": {"pivot_root": 41, "capset": 91, "mount": 40, "umount2": 39, "unshare": 97},
}
_EVERYWHERE = {
    "mount_setattr": 442,
    "landlock_create_ruleset": 444,
    "landlock_add_rule": 445,
    "landlock_restrict_self": 446,
}
MACHINE = os.uname().machine
KNOWN = MACHINE in _NUMBERS
"""Whether this processor's numbers are known."""

_libc = ctypes.CDLL(None, use_errno=True)


def syscall(name: str, *arguments: int | bytes | None) -> int:
    """The result of a system call; texts and structures are given as bytes."""
    number = _EVERYWHERE.get(name) or _NUMBERS[MACHINE][name]
    given = [ctypes.c_long(a) if isinstance(a, int) else ctypes.c_char_p(a) for a in arguments]
    return _checked(_libc.syscall(ctypes.c_long(number), *given), name)


def _checked(result: int, name: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    names = [text.encode() or None for text in (source, target, kind)]
    syscall("mount", *names, flags, options.encode() or None)


def set_mount(path: str, attributes: int, *, below: bool = False) -> None:
    """Add attributes to a mount, and to those below it if asked."""
    change = struct.pack("QQQQ", attributes, 0, 0, 0)
    flags = _AT_RECURSIVE if below else 0
    syscall("mount_setattr", _AT_FDCWD, path.encode(), flags, change, len(change))


def drop_capabilities() -> None:
    syscall("capset", struct.pack("Ii", _CAPABILITY_VERSION_3, 0), bytes(24))


def _prctl(option: int, *arguments: int) -> None:
    padded = [ctypes.c_ulong(a) for a in (*arguments, *[0] * (4 - len(arguments)))]
    _checked(_libc.prctl(ctypes.c_int(option), *padded), "prctl")


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent ends. A change of user undoes it."""
    _prctl(_PR_SET_PDEATHSIG, 9)


def hide_memory() -> None:
    """Let no other process of the same user look into this one."""
    _prctl(_PR_SET_DUMPABLE, 0)


def gain_nothing() -> None:
    """Never again gain privileges; filters and Landlock ask for this."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def filter_system_calls(program: bytes) -> None:
    """Put a filter in classic BPF before every later system call (seccomp)."""
    whole = _Program(len(program) // 8, program)
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(whole))
