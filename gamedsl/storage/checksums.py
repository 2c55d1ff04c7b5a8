"""The checksums of a folder's files, in a file of their own: what each was when it was written.

A file that is replaced may be what it was or what it is to become: its new checksum is noted first,
beside the old one, so that a kill between the two writes leaves nothing that does not fit. Of a
file that only grows its beginning is noted: so many bytes, and their checksum. A file that is not
noted is not checked.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from gamedsl.storage.reader import FileRefused, read_bytes
from gamedsl.storage.strict_json import JsonRefused, parse
from gamedsl.storage.writer import write_text

NAME = "checksums.json"
_FORMAT = 1
_LONGEST = 1 << 24


class ChecksumsDamaged(ValueError):
    """The file of checksums cannot be read, with the reason."""


@dataclass(frozen=True)
class Beginning:
    """The first `size` bytes of a file."""

    size: int
    sha256: str


@dataclass
class Checksums:
    """The checksums of the files in a folder, by their paths in it."""

    folder: Path
    files: dict[str, list[str]] = field(default_factory=dict)
    """What each may be: one checksum, or two while it is replaced."""
    beginnings: dict[str, Beginning] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> Checksums | None:
        """Returns the checksums of a folder; None where it has none. Raises ChecksumsDamaged."""
        if not (folder / NAME).exists() and not (folder / NAME).is_symlink():
            return None
        try:
            found = parse(read_bytes(folder / NAME, limit=_LONGEST, below=folder))
            if found["format"] != _FORMAT:
                raise ChecksumsDamaged(f"its format is not {_FORMAT}")
            return cls(
                folder,
                {
                    _name(name): [_digest(one) for one in each]
                    for name, each in found["files"].items()
                },
                {
                    _name(name): Beginning(_size(one["bytes"]), _digest(one["sha256"]))
                    for name, one in found["beginnings"].items()
                },
            )
        except ChecksumsDamaged:
            raise
        except FileRefused as error:
            raise ChecksumsDamaged(error.reason) from error
        except JsonRefused as error:
            raise ChecksumsDamaged(str(error)) from error
        except KeyError as error:
            raise ChecksumsDamaged(f"it has no {error}") from error
        except (TypeError, AttributeError, ValueError, OverflowError) as error:
            raise ChecksumsDamaged("it is not by file and checksum") from error

    def write(self) -> None:
        """Writes the file. Raises OSError."""
        entries = {
            "format": _FORMAT,
            "files": dict(sorted(self.files.items())),
            "beginnings": {
                name: {"bytes": one.size, "sha256": one.sha256}
                for name, one in sorted(self.beginnings.items())
            },
        }
        write_text(self.folder / NAME, json.dumps(entries, indent=1) + "\n")

    def announce(self, name: str, content: bytes) -> None:
        """Notes what a file is about to be, beside what it is. The caller writes the checksums, and
        then the file."""
        now = file_digest(self.folder / name)
        new = hashlib.sha256(content).hexdigest()
        self.files[name] = list(dict.fromkeys(one for one in (now, new) if one is not None))

    def note(self, *names: str) -> None:
        """Notes files as they are; one that is not there is forgotten."""
        for name in names:
            now = file_digest(self.folder / name)
            if now is None:
                self.files.pop(name, None)
            else:
                self.files[name] = [now]

    def forget(self, which: Callable[[str], bool]) -> None:
        """Forgets the files whose path is chosen."""
        self.files = {name: each for name, each in self.files.items() if not which(name)}

    def misfits(self, chosen: Callable[[str], bool] = lambda name: True) -> dict[str, str]:
        """Returns the files that are not what they were, each with what is wrong."""
        found = dict(self._misfits(chosen))
        if found and (again := Checksums.read(self.folder)) is not None and again != self:
            return dict(again._misfits(chosen))  # it was written meanwhile, by who trains there
        return found

    def _misfits(self, chosen: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
        for name, allowed in self.files.items():
            if chosen(name):
                now = file_digest(self.folder / name)
                if now is None:
                    yield name, "is missing, or is no file"
                elif now not in allowed:
                    yield name, "is not as the run wrote it"
        for name, begun in self.beginnings.items():
            if chosen(name):
                yield from _beginning_misfits(self.folder / name, name, begun)


def _beginning_misfits(path: Path, name: str, begun: Beginning) -> Iterator[tuple[str, str]]:
    try:
        size = path.stat().st_size
        if size < begun.size:
            yield name, f"has {size:,} bytes; the run wrote at least {begun.size:,}"
        elif beginning(path, begun.size) != begun:
            yield name, f"is not as the run wrote it, somewhere in its first {begun.size:,} bytes"
    except FileNotFoundError:
        if begun.size:  # else it was noted, and the run ended before it was made
            yield name, "is missing, or is no file"
    except OSError:
        yield name, "is missing, or is no file"


def file_digest(path: Path) -> str | None:
    """Returns the SHA-256 of a file, in hex; None where there is no regular file."""
    if path.is_symlink() or not path.is_file():
        return None
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return None


def beginning(path: Path, size: int) -> Beginning:
    """Returns the first bytes of a file. Raises OSError."""
    if path.is_symlink() or not path.is_file():
        raise FileRefused(path, "it is not a regular file", "special")
    digest, left = hashlib.sha256(), size
    with path.open("rb") as stream:
        while left and (part := stream.read(min(left, 1 << 20))):
            digest.update(part)
            left -= len(part)
    return Beginning(size - left, digest.hexdigest())


def names(folder: Path, pattern: str) -> list[str]:
    """Returns the paths in a folder of the files that a pattern matches."""
    found = (path for path in folder.glob(pattern) if path.is_file() and not path.is_symlink())
    return sorted(path.relative_to(folder).as_posix() for path in found)


class GrowingDigest:
    """The size and checksum of what a file has so far, as more is added to it."""

    def __init__(self) -> None:
        self.size = 0
        self._sha256 = hashlib.sha256()

    @classmethod
    def of(cls, path: Path) -> GrowingDigest:
        """Returns that of a file as it is; of none, that of an empty one. Raises OSError."""
        found = cls()
        if path.exists():
            with path.open("rb") as stream:
                while part := stream.read(1 << 20):
                    found.update(part)
        return found

    def update(self, content: bytes) -> None:
        """Takes what is added."""
        self._sha256.update(content)
        self.size += len(content)

    @property
    def beginning(self) -> Beginning:
        """The size and the checksum of the content so far."""
        return Beginning(self.size, self._sha256.hexdigest())


def _name(name: str) -> str:
    """Returns a path in the folder. Raises ChecksumsDamaged for one that leads out of it."""
    parts = Path(name).parts
    if not parts or Path(name).is_absolute() or ".." in parts or "\0" in name:
        raise ChecksumsDamaged(f"`{name}` is no path in the folder")
    return name


def _size(number: object) -> int:
    if type(number) is not int or number < 0:
        raise ChecksumsDamaged("a size is not a number of bytes")
    return number


def _digest(text: object) -> str:
    if not isinstance(text, str) or len(text) != 64:
        raise ChecksumsDamaged("a checksum is not 64 characters")
    return text
