"""Reasons for which the system refuses a file, and remedies, in words for people."""

from __future__ import annotations

import errno

_OTHER_DEVICE = "make room there, or name a place on another device"
_OTHER_PLACE = "change the permissions, or name another place"

_KNOWN: dict[int, tuple[str, str]] = {
    errno.ENOSPC: ("no space is left on the device", _OTHER_DEVICE),
    errno.EDQUOT: ("the disk quota is used up", _OTHER_DEVICE),
    errno.EFBIG: (
        "the file would be larger than files may be",
        "raise the limit (`ulimit -f`), or name a place on another device",
    ),
    errno.EIO: ("the device has failed", "check the device, or name a place on another"),
    errno.EROFS: ("the file system is read-only", "name a place that can be written to"),
    errno.EACCES: ("permission is denied", _OTHER_PLACE),
    errno.EPERM: ("the operation is not permitted", _OTHER_PLACE),
    errno.ENOENT: ("there is no such file or folder", "check the path"),
    errno.ENOTDIR: ("a part of the path is not a folder", "name another path"),
    errno.EISDIR: ("it is a folder", "name a file"),
    errno.EEXIST: ("something else is there", "name another path"),
    errno.ENOTEMPTY: ("the folder is not empty", "name another"),
    errno.ENAMETOOLONG: ("the name is too long", "name a shorter one"),
    errno.ELOOP: ("its links lead in a circle", "name another path"),
    errno.EBUSY: ("it is in use", "wait until it is free, or name another path"),
    errno.ETXTBSY: ("it is a program that runs", "name another path"),
    errno.EBADF: ("it is closed", "open it, or send the output to a file"),
    errno.EMFILE: ("too many files are open", "raise the limit (`ulimit -n`)"),
    errno.ENFILE: ("too many files are open", "close other programs"),
    errno.EINVAL: ("no file can have this name", "name another"),
    errno.EILSEQ: ("no file can have this name", "name another"),
    errno.ENXIO: ("nothing is at its other end", "name a file"),
    errno.ENODEV: ("there is no such device", "name a file"),
}

OF_STREAMS = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF, errno.EAGAIN, errno.ENXIO}
)
"""Errors that a stream gives without naming its file."""


class WriteRefused(OSError):
    """A file that cannot be written: `filename` is the one that was asked for, not a temporary
    one beside it."""


def reason(error: OSError) -> str:
    """Returns the reason for a refusal, as a part of a sentence."""
    known = _KNOWN.get(error.errno or 0)
    return known[0] if known else (error.strerror or str(error) or type(error).__name__).lower()


def remedy(error: OSError) -> str:
    """Returns the next step after a refusal."""
    known = _KNOWN.get(error.errno or 0)
    return known[1] if known else "check the path, or name another"
