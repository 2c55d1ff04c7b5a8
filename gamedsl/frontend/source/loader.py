"""From a path to a tree of places: the only door through which text enters the compiler.

Whatever the file holds, the outcome is a tree or problems: no input raises. A file is refused by
its size before it is read, and by its depth before it is composed.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from gamedsl.diagnostics.model import Problems
from gamedsl.diagnostics.spans import Source, Span
from gamedsl.frontend.source.nodes import Mapping

MAX_BYTES = 1 << 20
_REFUSED = (
    "[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)


def display_name(path: Path | str) -> str:
    """Returns a file's name in messages: relative to the current folder if it lies below it."""
    path = Path(path)
    try:
        return str(path.relative_to(Path.cwd()) if path.is_absolute() else path)
    except (ValueError, OSError):
        return str(path)


def from_text(name: str, text: str) -> Source:
    """A source from text in memory; line ends become newlines and a byte order mark is dropped."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return Source(name, text.removeprefix("\ufeff"))


def read(path: Path | str, problems: Problems) -> Source | None:
    """The text of a file, or None with a problem."""
    name = display_name(path)
    place = Span(Source(name, ""), 0, 0)
    try:
        info = Path(path).stat()
        if stat.S_ISDIR(info.st_mode):
            problems.add("GD0002", f"`{name}` is a folder, not a file", place, help=_inside(path))
            return None
        if not stat.S_ISREG(info.st_mode):
            problems.add("GD0002", f"`{name}` is not a regular file", place)
            return None
        data = b""
        if info.st_size <= MAX_BYTES:
            with Path(path).open("rb") as stream:
                data = stream.read(MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        problems.add("GD0001", f"there is no file `{name}`", place, help=_similar(path))
        return None
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        problems.add("GD0006", f"`{name}` cannot be read: {reason}", place)
        return None
    size = max(info.st_size, len(data))
    if size > MAX_BYTES:
        problems.add(
            "GD0003",
            f"`{name}` has {size} bytes; a file may have at most {MAX_BYTES}",
            place,
            help="keep long texts and tables in data files of their own",
        )
        return None
    source = _decode(name, data, problems)
    if source is not None:
        source.folder = Path(path).parent
    return source


def _decode(name: str, data: bytes, problems: Problems) -> Source | None:
    place = Span(Source(name, ""), 0, 0)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        problems.add("GD0004", f"`{name}` is UTF-16", place, help="save the file as UTF-8")
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"`{name}` is not UTF-8: byte 0x{data[error.start]:02x} on line {line}"
        problems.add("GD0004", message, place, help="save the file as UTF-8")
        return None
    if "\0" in text:
        problems.add("GD0004", f"`{name}` is a binary file, not YAML text", place)
        return None
    source = from_text(name, text)
    if not source.text.strip():
        problems.add("GD0005", f"`{name}` is empty", place, help="begin with `game: <name>`")
        return None
    return source


def _similar(path: Path | str) -> str:
    from gamedsl.diagnostics.suggest import did_you_mean

    try:
        folder = Path(path).parent
        names = [entry.name for entry in os.scandir(folder) if entry.name.endswith(".yaml")]
    except (OSError, ValueError):
        return ""
    near = did_you_mean(Path(path).name, names)
    return f"did you mean `{display_name(folder / near)}`?" if near else ""


def _inside(path: Path | str) -> str:
    try:
        names = sorted(entry.name for entry in os.scandir(path) if entry.name.endswith(".yaml"))
    except OSError:
        return ""
    return f"name a file in it, such as `{display_name(Path(path) / names[0])}`" if names else ""


def parse(source: Source, problems: Problems) -> Mapping | None:
    """The tree of a source, or None with problems."""
    at = _refused_character(source.text)
    if at is not None:
        char = ord(source.text[at])
        problems.add(
            "GD0007",
            f"the character U+{char:04X} may not stand in a file",
            Span(source, at, at + 1),
            why="invisible here",
            help=f'delete it, or write it in double quotes as "\\u{char:04x}"',
        )
        return None
    from gamedsl.frontend.source.compose import compose

    mine = Problems()
    root = compose(source, mine)
    problems.extend(mine.found)
    if mine.errors or root is None:
        return None
    if not isinstance(root, Mapping):
        problems.add(
            "GD0027",
            "a file is a map of sections, and this one is not",
            root.span,
            why="not a map",
            help="begin with `game: <name>`, and write each section as `name: value`",
        )
        return None
    return root


def _refused_character(text: str) -> int | None:
    """Returns the offset of the first character that no file may contain, such as a control
    character."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return None
    found = re.search(_REFUSED, text)
    return found.start() if found else None
