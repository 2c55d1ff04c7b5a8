"""Files found by name, and `extends` chains merged into one tree.

A name means the file `<name>.yaml` beside the file that uses it, else a shipped one. A link that
leads out of that folder is no file beside it. A file never finds itself, so that a local
`tic_tac_toe.yaml` may extend the shipped one. Every node of a merged tree keeps the place in the
file that wrote it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Literal, NamedTuple

from gamedsl.diagnostics.fixes import Edit, Fix, respell
from gamedsl.diagnostics.model import Diagnostic, Note, Problems
from gamedsl.diagnostics.spans import Source, Span
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.frontend.source import loader
from gamedsl.frontend.source.edits import delete_entry
from gamedsl.frontend.source.nodes import Entry, Mapping, Node, Scalar
from gamedsl.storage.reader import FileRefused, read_head, resolve
from gamedsl.storage.shipped import shipped_folder

Kind = Literal["game", "protocol", "reward"]

FOLDERS: dict[Kind, str] = {"game": "games", "protocol": "protocols", "reward": "rewards"}
USES: dict[Kind, str] = {"game": "extends", "protocol": "protocol", "reward": "rewards"}
KIND_OF = {key: kind for kind, key in USES.items()}
"""What kind of file a key names."""
MERGED = frozenset(
    {"params", "roles", "types", "state", "data", "let", "actions"}
    | {"payoffs", "scores", "labels", "view", "history", "prompts", "train"}
)
"""Sections that `extends` merges entry by entry when both files write them as maps."""

ONE_VALUE: dict[str, tuple[str, ...]] = {"labels": ("masked",), "history": ("last", "since")}
"""The keys by which a map is one value of such a section, and no map of entries."""

LANGUAGE = 1
"""The newest version of the language, and so far the only one."""

VERSION_KEY = "gamedsl"

MOST_BASES = 20
"""Files of one `extends` chain."""

_NAME = re.compile(r"[a-z][a-z0-9_]{0,199}")  # a name of a file, which may have 255 bytes
_KIND_LINE = re.compile(rf"^({'|'.join(FOLDERS)})[ \t]*:", re.MULTILINE)


@dataclass(frozen=True)
class Document:
    """A file whose shape is right. `root` is the tree after `extends`.

    `files` begins with it, and goes on with those that it extends; once the game is compiled, also
    with the protocols, games and reward files beside it that it uses. `extends` are the places
    where each file of the chain, but the last, names the next."""

    kind: Kind
    name: str
    root: Mapping
    files: tuple[Path, ...]
    extends: tuple[Span, ...] = ()


class _Chain(NamedTuple):
    """The files of one `extends` chain, from the one asked for to its furthest base."""

    kind: Kind
    name: str
    roots: list[Mapping]
    paths: list[Path]


def shipped(kind: Kind) -> list[str]:
    """Returns the names of the shipped files of a kind."""
    folder = shipped_folder() / FOLDERS[kind]
    return sorted(path.stem for path in folder.glob("*.yaml") if _NAME.fullmatch(path.stem))


def _all_shipped() -> list[str]:
    return [name for kind in FOLDERS for name in shipped(kind)]


def abouts_of_games() -> dict[str, str]:
    """Returns the shipped games by name, each with its `about`; empty where it has none of its
    own."""
    found = {}
    for name in shipped("game"):
        problems = Problems()
        source = loader.read(shipped_folder() / FOLDERS["game"] / f"{name}.yaml", problems)
        root = loader.parse(source, problems) if source is not None else None
        about = root.get("about") if root is not None else None
        found[name] = " ".join(about.text.split()) if isinstance(about, Scalar) else ""
    return found


def resolve_argument(argument: str) -> Path:
    """Returns the path meant on a command line: a file, else a shipped name, else what was
    written."""
    path = Path(argument)
    if not _NAME.fullmatch(argument) or path.exists():
        return path
    for kind in FOLDERS:
        found = _shipped_path(kind, argument)
        if found is not None:
            return found
    return path


def locate(kind: Kind, name: str, near: Path) -> Path | None:
    """Returns the file that a name means to the file `near`; None where there is none of that
    kind."""
    if not _NAME.fullmatch(name):
        return None
    local = _local_file(name, near)
    if not _is_same_file(local, near) and kind_of_file(local) == kind:
        return local
    return _shipped_path(kind, name)


def _shipped_path(kind: Kind, name: str) -> Path | None:
    path = shipped_folder() / FOLDERS[kind] / f"{name}.yaml"
    return path if path.is_file() else None


def _is_same_file(a: Path, b: Path) -> bool:
    return os.path.realpath(a) == os.path.realpath(b)


def find_named_files(files: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """Yields the files of words and rows that game files name, each with its path from the folder
    of the game file. What may not be read for a game is left out."""
    for file in files:
        problems = Problems()
        source = loader.read(file, problems)
        root = loader.parse(source, problems) if source is not None else None
        for name in map(os.path.normpath, dict.fromkeys(_named_in(root))):
            below = loader.bounds_of(file.parent)
            if Path(name).is_absolute() or ".." in Path(name).parts:
                continue
            try:
                path = file.parent / name if below is None else resolve(file.parent / name, below)
                if path.is_file():
                    yield path, name
            except (OSError, ValueError):
                continue


def with_used_files(document: Document, read: Iterable[Path]) -> Document:
    """Returns a document whose `files` go on with those that it uses. `read` are the files that
    were read for it: of these, the YAML files beside it that are no part of the shipped library."""
    folder = document.files[0].parent
    if Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(shipped_folder())):
        return document
    used = (
        path for path in read
        if path.suffix == ".yaml" and path.parent == folder and path not in document.files
    )  # fmt: skip
    return replace(document, files=(*document.files, *dict.fromkeys(used)))


def _named_in(node: Node | None) -> Iterator[str]:
    """Yields the values of the keys `file` below a node."""
    for entry in node if isinstance(node, Mapping) else ():
        if entry.key.text == "file" and isinstance(entry.value, Scalar):
            yield entry.value.text
        yield from _named_in(entry.value)


def _local_file(name: str, near: Path) -> Path:
    """Returns the path of the file that a name would mean beside the file `near`."""
    return Path(near).parent / f"{name}.yaml"


def kind_of_file(path: Path) -> Kind | None:
    """Returns the kind that a file claims, from a glance at its beginning; None where it has none,
    or may not be read for a file beside it."""
    try:
        head = read_head(path, limit=1 << 14, below=loader.bounds_of(path.parent))
    except FileRefused:
        return None
    found = _KIND_LINE.search(head.decode("utf-8", errors="replace"))
    return next((kind for kind in FOLDERS if found and kind == found[1]), None)


def _report_unread(path: Path, problems: Problems, span: Span) -> bool:
    """Whether a file is there and not read for the one beside it: a link out of the folder, or a
    file in the root of the file system. Reported if so."""
    below = loader.bounds_of(path.parent)
    try:
        if below is not None and (path.is_symlink() or path.exists()):
            resolve(path, below)
        return False
    except FileRefused as error:
        message = f"`{loader.display_name(path)}` cannot be read"
        fix = "put a copy of the file in the place of the link"
        if error.kind == "root":
            fix = "move the files into a folder of their own"
        problems.add("GD0424", message, span, why=error.reason, help=fix)
        return True


Loaded = dict[Path, tuple[Document | None, list[Diagnostic]]]
"""Documents by their paths, and the problems in them, so that each file is read once."""


def find(
    kind: Kind, name: str, near: Path, problems: Problems, span: Span, loaded: Loaded | None = None
) -> Document | None:
    """Returns the document that a name at `span` in the file `near` means, or None with a
    problem. `loaded` are those that were read before; this one is added."""
    path = _find_path(kind, name, near, problems, span)
    if path is None:
        return None
    loaded = {} if loaded is None else loaded
    if path not in loaded:
        own = Problems()
        loaded[path] = load_document(path, own), own.found
    document, found = loaded[path]
    problems.extend(found)
    return document


def find_used(
    kind: Kind, node: Node, near: Path, problems: Problems, loaded: Loaded | None = None
) -> Document | None:
    """Returns the document that a name, or a map with `use:`, refers to; None with a problem."""
    name = node.get("use") if isinstance(node, Mapping) else node
    if not isinstance(name, Scalar):
        return None
    return find(kind, name.text, near, problems, name.span, loaded)


def given_params(node: Node, *own: str) -> dict[str, Entry]:
    """Returns the params that a `use:` map sets; `own` are its other keys."""
    if not isinstance(node, Mapping):
        return {}
    return {e.key.text: e for e in node if e.key.text not in ("use", *own)}


def _find_path(kind: Kind, name: str, near: Path, problems: Problems, span: Span) -> Path | None:
    path = locate(kind, name, near)
    if path is None:
        _report_unknown(kind, name, near, problems, span)
        return None
    other = _shipped_path(kind, name)
    if other is not None and not _is_same_file(path, other) and not _is_copy(path, other):
        problems.add(
            "GD0115",
            f"`{name}` means the file `{loader.display_name(path)}`, not the shipped {kind}",
            span,
            why="found beside this file",
            help="rename the local file to use the shipped one",
            severity="note",
        )
    return path


def _is_copy(path: Path, shipped: Path) -> bool:
    """Tells whether a file is a copy of a shipped one, as those of a run folder are."""
    try:
        alike = path.stat().st_size == shipped.stat().st_size
        return alike and path.read_bytes() == shipped.read_bytes()
    except OSError:
        return False


def _report_unknown(kind: Kind, name: str, near: Path, problems: Problems, span: Span) -> None:
    local = _local_file(name, near)
    if _NAME.fullmatch(name) and _report_unread(local, problems, span):
        return
    other = (
        kind_of_file(local) if _NAME.fullmatch(name) and not _is_same_file(local, near) else None
    )
    if other is None:
        other = next((k for k in FOLDERS if k != kind and name in shipped(k)), None)
    if other is not None:
        message = f"`{name}` is a {other}, and a {kind} is wanted here"
        fix = f"a {other} is used by `{USES[other]}: {name}`"
        problems.add("GD0112", message, span, why=f"wants a {kind}", help=fix)
        return
    known = [*_local_names(kind, near), *shipped(kind)]
    if kind == "protocol":  # a game is used in the same way, as a stage
        known += [*_local_names("game", near), *shipped("game")]
    near_name = did_you_mean(name, known)
    help = respell(span, near_name, _names(kind, near))
    message = f"there is no {kind} `{name}`"
    why = "neither beside this file nor shipped"
    problems.add("GD0110", message, span, why=why, help=help)


def _local_names(kind: Kind, near: Path) -> Iterator[str]:
    paths = sorted(Path(near).parent.glob("*.yaml"))[:200]
    for path in paths:
        if (
            _NAME.fullmatch(path.stem)
            and not _is_same_file(path, near)
            and kind_of_file(path) == kind
        ):
            yield path.stem


def _names(kind: Kind, near: Path) -> str:
    names = sorted({*_local_names(kind, near), *shipped(kind)})
    return f"known: {', '.join(names[:12])}" if names else ""


def load_document(path: Path | str, problems: Problems) -> Document | None:
    """Reads, checks and merges a file and what it extends; None with problems where that fails."""
    path = Path(path)
    before = problems.count_errors()
    chain = _load_chain(path, problems)
    if chain is None or problems.count_errors() > before:
        return None
    root = chain.roots[-1]
    for child in reversed(chain.roots[:-1]):
        root = _merge(root, child, problems)
    root = _without_section(_without_section(root, "extends"), VERSION_KEY)
    from gamedsl.frontend.schema.shape import REQUIRED, check_complete

    lacking = chain.kind == "game" and any(root.get(name) is None for name in REQUIRED)
    check_complete(
        chain.kind, root, problems, _sections_from_uses(root, path, problems) if lacking else ()
    )
    if problems.count_errors() > before:
        return None
    named = (each.get("extends") for each in chain.roots[:-1])
    extends = tuple(node.span for node in named if node is not None)
    return Document(chain.kind, chain.name, root, tuple(chain.paths), extends)


def _sections_from_uses(root: Mapping, near: Path, problems: Problems) -> set[str]:
    """Returns the sections that a file need not have, for what it uses: `roles` that a protocol
    names, the `payoffs` of inner games, or of streams that a reward file splits."""
    protocol = root.get("protocol")
    named = protocol.get("use") if isinstance(protocol, Mapping) else protocol
    brought, used = _sections_from_steps(root, named)
    pending, met = [(near, name, True) for name in used], set[Path]()
    while pending:
        by, name, written_here = pending.pop(0)
        path = locate("protocol", name.text, by)
        if path is None:
            brought.add("payoffs")  # an inner game, by its name or by that of a param
            itself = name.text == by.stem  # reported with the steps, as a game inside itself
            if written_here and not itself and locate("game", name.text, by) is None:
                _report_unknown("protocol", name.text, by, problems, name.span)
                brought.add("roles")
        elif path not in met:
            met.add(path)
            document = load_document(path, problems)
            if document is not None:
                more, names = _sections_from_steps(document.root, None)
                brought |= more | ({"roles"} if document.root.get("roles") is not None else set())
                pending += [(path, other, False) for other in names]
    return brought


def _sections_from_steps(root: Mapping, named: Node | None) -> tuple[set[str], list[Scalar]]:
    """Returns the sections that a file's own steps stand for, and the names of the files that it
    uses, the protocol `named` first."""
    from gamedsl.frontend.schema.key_rules import walk_steps

    brought, steps = set[str](), list(walk_steps(root.get("turns")))
    for step in steps:
        stream = step.get("pay")
        if isinstance(stream, Scalar) and (stream.text == "payoffs" or root.get("rewards")):
            brought.add("payoffs")
    if root.get("scores") is not None and root.get("rewards") is not None:
        brought.add("payoffs")
    names = (named, *(step.get("use") for step in steps))
    return brought, [name for name in names if isinstance(name, Scalar)]


def _load_chain(path: Path, problems: Problems) -> _Chain | None:
    chain: _Chain | None = None
    met = {os.path.realpath(path)}
    while True:
        loaded = _load_one(path, problems)
        if loaded is None:
            return None
        kind, name, root = loaded
        if chain is None:
            chain = _Chain(kind, name, [], [])
        chain.roots.append(root)
        chain.paths.append(path)
        node = root.get("extends")
        if not isinstance(node, Scalar):
            return chain
        itself = _local_file(node.text, path)
        if _is_same_file(itself, path) and locate("game", node.text, path) is None:
            _report_cycle(chain, path, problems)
            return None
        base = _find_path("game", node.text, path, problems, node.span)
        if base is None:
            return None
        real = os.path.realpath(base)
        if real in met:
            _report_cycle(chain, base, problems)
            return None
        met.add(real)
        if len(met) > MOST_BASES:
            problems.add(
                "GD0126",
                f"a game extends at most {MOST_BASES - 1} others, one after the other",
                node.span,
                why="one more",
                help="write the sections of some of these files into one",
            )
            return None
        path = base


def _report_cycle(chain: _Chain, base: Path, problems: Problems) -> None:
    first = next(i for i, known in enumerate(chain.paths) if _is_same_file(base, known))
    nodes = [root.get("extends") for root in chain.roots]
    names = [loader.display_name(path) for path in chain.paths[first:]]
    notes = tuple(Note(node.span, "extends this") for node in nodes[:-1] if node is not None)
    last = nodes[-1]
    assert last is not None
    problems.add(
        "GD0111",
        "a game cannot extend itself: " + " -> ".join([*names, names[0]]),
        last.span,
        why="closes the circle",
        notes=notes,
        help="delete one of these `extends` lines",
    )


def _load_one(path: Path, problems: Problems) -> tuple[Kind, str, Mapping] | None:
    """Returns one file, parsed and of the right shape, before any merging."""
    source = loader.read(path, problems, _all_shipped)
    root = loader.parse(source, problems) if source is not None else None
    if root is None or source is None:
        return None
    kind = kind_of_root(root, source, problems)
    if kind is None:
        return None
    from gamedsl.frontend.schema.shape import check_shape

    before = problems.count_errors()
    if _is_of_later_version(root, problems):
        return None
    check_shape(kind, root, problems)
    if problems.count_errors() > before:
        return None
    head = root.get(kind)
    assert isinstance(head, Scalar)
    return kind, head.text, root


def _first_section(root: Mapping, section: str) -> tuple[Edit, ...]:
    """Returns the edit that begins a file with a section."""
    if not root.entries:
        return (Edit(root.span, section),)
    start = root.entries[0].key.span.start
    return (Edit(Span(root.span.source, start, start), f"{section}\n"),)


def _moved_to_the_top(first: Span, entry: Entry) -> Fix:
    """Returns the fix that moves a section of one line before the first."""
    key, value = entry.key, entry.value
    edits = delete_entry(key.span) if isinstance(value, Scalar) else ()
    line = f"{key.text}: {value.span.text}\n"
    top = (Edit(Span(first.source, first.start, first.start), line),) if edits else ()
    return Fix(f"move `{key.text}:` to the top of the file", (*top, *edits))


def _is_of_later_version(root: Mapping, problems: Problems) -> bool:
    """Returns whether a file is written in a version of the language that is not read here.
    Reported if so."""
    node = root.get(VERSION_KEY)
    version = node.value if isinstance(node, Scalar) else None
    if node is None or not isinstance(version, int | Fraction) or version <= LANGUAGE:
        return False
    problems.add(
        "GD0132",
        f"this file is written in version {version} of the language",
        node.span,
        why=f"the newest that is read here is {LANGUAGE}",
        help="install a newer gamedsl",
    )
    return True


def kind_of_root(root: Mapping, source: Source, problems: Problems) -> Kind | None:
    """Returns the kind of file that the first key of a tree claims; None, with a problem, for some
    other file."""
    entries = [entry for entry in root.entries if entry.key.text != VERSION_KEY]
    if not entries:
        place, first = root.span, ""
    else:
        place, first = entries[0].key.span, entries[0].key.text
    for kind in FOLDERS:
        if first == kind:
            return kind
    later = [entry for entry in root.entries if entry.key.text in FOLDERS]
    near = did_you_mean(first, FOLDERS)
    stem = Path(source.name).stem
    name = stem if _NAME.fullmatch(stem) else "name"
    begin = Fix(f"begin with `game: {name}`", _first_section(root, f"game: {name}"))
    fix = respell(place, near, begin)
    if later:
        fix = _moved_to_the_top(place, later[0])
    problems.add(
        "GD0105",
        "the first key says what a file is: `game`, `protocol` or `reward`",
        place,
        why="none of these",
        notes=tuple(Note(entry.key.span, "must come first") for entry in later[:1]),
        help=fix,
    )
    return None


def _is_deletion(node: Node) -> bool:
    return isinstance(node, Scalar) and node.value is None


def _without_section(root: Mapping, name: str) -> Mapping:
    return Mapping(tuple(e for e in root.entries if e.key.text != name), root.span)


def _merge(base: Mapping, child: Mapping, problems: Problems) -> Mapping:
    """Returns `base` with the sections of `child` in their places, and its new ones at the end."""

    def section(old: Entry, new: Entry) -> Entry:
        before, after = old.value, new.value
        if not isinstance(before, Mapping) or not isinstance(after, Mapping):
            return new
        if new.key.text not in MERGED:
            return new
        if _is_one_value(new.key.text, before, after):
            return _replaced(before, new, problems)
        combine = _set_param if new.key.text == "params" else _replace
        return Entry(new.key, Mapping(_overlay(before, after, combine, problems), after.span))

    return Mapping(_overlay(base, child, section, problems), child.span)


def _replaced(before: Mapping, new: Entry, problems: Problems) -> Entry:
    """Returns a section that takes the place of another; what it deletes must be in that one."""
    after = new.value
    assert isinstance(after, Mapping)
    own = {entry.key.text for entry in after.entries}
    merged = _overlay(before, after, _replace, problems)
    return Entry(new.key, Mapping(tuple(e for e in merged if e.key.text in own), after.span))


def _replace(_: Entry, new: Entry) -> Entry:
    return new


def _set_param(old: Entry, new: Entry) -> Entry:
    """Returns a param with a new default, where a value is given for `{default: 3, in: 2..12}`."""
    declaration = old.value
    if not _declares(declaration) or _declares(new.value):
        return new
    assert isinstance(declaration, Mapping)
    rest = (e for e in declaration.entries if e.key.text != "default")
    key = Scalar("default", "default", new.key.span, ())
    return Entry(new.key, Mapping((Entry(key, new.value), *rest), new.value.span))


def _declares(node: Node) -> bool:
    """Whether this declares a param; any other map is a value."""
    from gamedsl.frontend.schema.key_rules import PARAM_KEYS

    return isinstance(node, Mapping) and any(node.get(key) is not None for key in PARAM_KEYS)


def _is_one_value(section: str, *values: Mapping) -> bool:
    """Whether a map such as `{masked: alien, per: run}` is one value, not a map of labels, or
    `{last: 3}` that of all roles."""
    whole = ONE_VALUE.get(section, ())
    return any(value.get(key) is not None for value in values for key in whole)


def _overlay(
    base: Mapping, child: Mapping, combine: Callable[[Entry, Entry], Entry], problems: Problems
) -> tuple[Entry, ...]:
    """Returns the entries of `base`, changed and deleted as `child` says, then the new ones of
    `child`."""
    changes = {entry.key.text: entry for entry in child.entries}
    known = {entry.key.text for entry in base.entries}
    result = []
    for entry in base.entries:
        new = changes.get(entry.key.text)
        if new is None:
            result.append(entry)
        elif not _is_deletion(new.value):
            result.append(combine(entry, new))
    for entry in child.entries:
        if entry.key.text in known:
            continue
        if not _is_deletion(entry.value):
            result.append(entry)
            continue
        near = did_you_mean(entry.key.text, known)
        problems.add(
            "GD0114",
            f"there is no `{entry.key.text}` to delete",
            entry.key.span,
            why="not in the file that this one extends",
            help=respell(
                entry.key.span, near, Fix("delete this line", delete_entry(entry.key.span))
            ),
        )
    return tuple(result)
