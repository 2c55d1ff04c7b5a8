"""From a path to a tree of places: the only door through which text enters the compiler.

Whatever the file holds, the outcome is a tree or problems: no input raises. A file is refused by
its size before it is read, and by its depth before it is composed. What a file names is read below
the folder of that file alone, since whoever wrote it may be a stranger to whoever compiles it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Mapping as MapOf
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from itertools import islice
from pathlib import Path
from types import MappingProxyType

from gamedsl.diagnostics.fixes import Help, respell
from gamedsl.diagnostics.model import Diagnostic, Problems
from gamedsl.diagnostics.spans import Source, Span
from gamedsl.frontend.source.nodes import Mapping, Node, Scalar
from gamedsl.storage.reader import FileRefused, read_bytes, read_text, resolve

MAX_BYTES = 1 << 20
"""Bytes of a YAML file."""

PACKAGED = Path(__file__).parents[2] / "_library"
"""The folder of the shipped files in an installed package, where an installer may have put links to
a folder of its own."""

_MOST_NEIGHBOURS = 1000
"""Files of a folder among which a misspelt one is looked for."""

_MOST_KEPT = 1 << 15
"""Characters of a text whose tree is kept."""

_recorded: ContextVar[dict[Path, str] | None] = ContextVar("recorded", default=None)
_replaced: ContextVar[MapOf[Path, str]] = ContextVar("replaced", default=MappingProxyType({}))


@contextmanager
def recording() -> Iterator[dict[Path, str]]:
    """Yields a map that receives each file that is read meanwhile, with its text. What is recorded
    inside of another recording is recorded there too."""
    files: dict[Path, str] = {}
    token = _recorded.set(files)
    try:
        yield files
    finally:
        _recorded.reset(token)
        if (outer := _recorded.get()) is not None:
            outer.update(files)


@contextmanager
def replacing(texts: MapOf[Path, str]) -> Iterator[None]:
    """Has the compiler read these texts for the YAML files at their paths, inside of the block:
    what an editor shows and has not saved, or a change that is tried."""
    token = _replaced.set({**_replaced.get(), **texts})
    try:
        yield
    finally:
        _replaced.reset(token)


def _record(path: Path, source: Source) -> None:
    files = _recorded.get()
    if files is not None:
        files[path] = source.text


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


def as_written(path: Path, text: str) -> str:
    """Returns a new text of a file with the line ends and the byte order mark that the file has.
    Raises FileRefused."""
    old = read_bytes(path, limit=MAX_BYTES)
    mark = "\ufeff" if old.startswith(b"\xef\xbb\xbf") else ""
    return mark + (text.replace("\n", "\r\n") if b"\r\n" in old else text)


def read(
    path: Path | str, problems: Problems, shipped: Callable[[], Sequence[str]] = tuple
) -> Source | None:
    """The text of a file, or None with a problem. `shipped` gives the names of shipped files, which
    are proposed where there is no such file."""
    name = display_name(path)
    replaced = _replaced.get().get(Path(path))
    if replaced is not None:
        data = replaced.encode("utf-8", errors="surrogatepass")
        if len(data) > MAX_BYTES:
            refused = FileRefused(path, "it is too large", "large", len(data))
            report_refused(path, refused, problems)
            return None
    else:
        try:
            data = read_bytes(path, limit=MAX_BYTES)
        except FileRefused as error:
            report_refused(path, error, problems, shipped)
            return None
    source = _decode(name, data, problems)
    if source is not None:
        source.folder = Path(path).parent
        _record(Path(path), source)
    return source


def read_named(file: Scalar, limit: int, problems: Problems) -> Source | None:
    """Returns the text of a file that a game names, of at most `limit` bytes; None with a problem.

    Its path starts at the folder of the file that the scalar is written in, and leads to a regular
    file below it: see `gamedsl.storage.reader.resolve`.
    """
    folder = file.span.source.folder
    path = folder / file.text
    try:
        text = read_text(path, limit=limit, below=bounds_of(folder))
    except FileRefused as error:
        problems.add(
            "GD0424", f"`{file.text}` cannot be read", file.span,
            why=error.reason, help=_named_fix(file, error),
        )  # fmt: skip
        return None
    source = from_text(display_name(path), text)
    source.folder = path.parent
    _record(path, source)
    return source


def bounds_of(folder: Path) -> Path | None:
    """Returns the folder below which the files must lie that a file in `folder` names: that one;
    None where it is part of the installed package."""
    return None if folder.is_relative_to(PACKAGED) else folder


def _named_fix(file: Scalar, error: FileRefused) -> Help:
    match error.kind:
        case "outside" | "hidden":
            name = Path(file.text).name.lstrip(".")
            return f"copy it into the folder of this file, and write `file: {name}`"
        case "root":
            return "move the game and its files into a folder of their own"
        case "text":
            return "save the file as UTF-8"
        case "large":
            return "leave out what the game does not need"
        case "missing":
            near = _neighbour(Path(file.text), file.span.source.folder)
            return respell(file.span, str(near) if near else None, _RELATIVE)
        case _:
            return _RELATIVE


_RELATIVE = "a path is relative to the file that names it"


def _neighbour(path: Path, folder: Path) -> Path | None:
    """Returns the path, from a folder, of the file that a missing one resembles."""
    from gamedsl.diagnostics.suggest import did_you_mean

    there, below = (folder / path).parent, bounds_of(folder)
    try:
        if below is not None and there != below:
            resolve(there, below)
        with os.scandir(there) as entries:
            names = [entry.name for entry in islice(entries, _MOST_NEIGHBOURS)]
    except (OSError, ValueError):
        return None
    near = did_you_mean(path.name, sorted(name for name in names if name[0] != "."))
    return path.with_name(near) if near else None


def report_refused(
    path: Path | str, error: FileRefused, problems: Problems,
    shipped: Callable[[], Sequence[str]] = tuple,
) -> None:  # fmt: skip
    """Reports a file that was named to a command and cannot be read. `shipped` as in `read`."""
    name = display_name(path)
    place = Span(Source(name, ""), 0, 0)
    match error.kind:
        case "missing" | "path":
            problems.add(
                "GD0001", f"there is no file `{name}`", place, help=_similar(path, shipped)
            )
        case "folder":
            problems.add("GD0002", f"`{name}` is a folder, not a file", place, help=_inside(path))
        case "special":
            problems.add("GD0002", f"`{name}` is not a regular file", place)
        case "large":
            problems.add(
                "GD0003", f"`{name}` has {error.size} bytes; a file may have at most {MAX_BYTES}",
                place, help="keep long texts and tables in data files of their own",
            )  # fmt: skip
        case _:
            problems.add("GD0006", f"`{name}` cannot be read: {error.reason}", place)


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


def _similar(path: Path | str, shipped: Callable[[], Sequence[str]]) -> str:
    """Returns the question after the file beside it, or the shipped one, that a path resembles."""
    from gamedsl.diagnostics.suggest import did_you_mean

    folder, names = Path(path).parent, shipped()
    try:
        files = [entry.name for entry in os.scandir(folder) if entry.name.endswith(".yaml")]
    except (OSError, ValueError):
        files = []
    stem = Path(path).name.removesuffix(".yaml").removesuffix(".yml")
    if stem in names:
        return f"did you mean the shipped `{stem}`?"
    stems = {file.removesuffix(".yaml"): file for file in sorted(files)}
    near = stem if stem in stems else did_you_mean(stem, stems)
    if near:
        return f"did you mean `{display_name(folder / stems[near])}`?"
    near = did_you_mean(stem, names)
    return f"did you mean the shipped `{near}`? `gamedsl games` lists all" if near else ""


def _inside(path: Path | str) -> str:
    try:
        names = sorted(entry.name for entry in os.scandir(path) if entry.name.endswith(".yaml"))
    except OSError:
        return ""
    return f"name a file in it, such as `{display_name(Path(path) / names[0])}`" if names else ""


@lru_cache(maxsize=16)
def _composed(name: str, text: str, folder: Path) -> tuple[Node | None, tuple[Diagnostic, ...]]:
    """Returns the tree of a text and the problems in it. Most files are read again and again: while
    an editor checks each keystroke, only the text that it changes is another."""
    from gamedsl.frontend.source.compose import compose

    found = Problems()
    return compose(Source(name, text, folder), found), tuple(found.found)


def parse(source: Source, problems: Problems) -> Mapping | None:
    """The tree of a source, or None with problems."""
    kept = _composed if len(source.text) <= _MOST_KEPT else _composed.__wrapped__
    root, found = kept(source.name, source.text, source.folder)
    problems.extend(found)
    if root is None or any(one.severity == "error" for one in found):
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
