"""Finds the uses of a name in all files that share it, and replaces it by another.

Files share a name along `extends`, and where a game uses a protocol. A rename is tried before it is
offered: it is refused where the files would then have other problems than now.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gamedsl.compiler import check_names
from gamedsl.diagnostics import Diagnostic, Problems
from gamedsl.errors import UserError
from gamedsl.frontend.source import loader
from gamedsl.frontend.source.nodes import Mapping as Tree
from gamedsl.frontend.source.nodes import Node, Scalar, Sequence
from gamedsl.frontend.syntax.parser import KEYWORDS
from gamedsl.ir.builtins import BUILTINS
from gamedsl.lsp.occurrences import Occurrence, occurrences
from gamedsl.sema.library import Kind, locate
from gamedsl.sema.scope import WORDS
from gamedsl.storage.shipped import shipped_folder

MOST_NEIGHBOURS = 300
"""Files of a folder in which a name is looked for."""

_NAME = re.compile(r"[A-Za-z]\w*")
_DECLARES = ("declared", "bound")


class RenameRefused(UserError):
    """A rename that would change what the files mean, or files that are not the user's."""


@dataclass
class Shared:
    """The files that may share names with one: that file, its folder, and what these use."""

    path: Path
    texts: Mapping[Path, str]
    trees: dict[Path, Tree] = field(default_factory=dict)
    words: dict[Path, list[Occurrence]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        beside = sorted(self.path.parent.glob("*.yaml"))[:MOST_NEIGHBOURS]
        waiting = list(dict.fromkeys([self.path, *self.texts, *beside]))
        with loader.replacing(self.texts):
            while waiting:
                path = waiting.pop()
                if path in self.trees:
                    continue
                unseen = Problems()
                source = loader.read(path, unseen)
                tree = loader.parse(source, unseen) if source is not None else None
                if tree is not None:
                    self.trees[path] = tree
                    self.words[path] = occurrences(tree)
                    waiting += [used for _, used in self.used(path)]

    def used(self, path: Path) -> Iterator[tuple[Kind, Path]]:
        """Yields the files that one names, each with its kind."""
        tree = self.trees[path]
        for kind, name in _uses(tree):
            if (found := locate(kind, name, path)) is not None:
                yield kind, found

    def mentions(self, path: Path, name: str) -> bool:
        """Returns whether a file has a name in any place."""
        return any(one.text == name for one in self.words.get(path, ()))

    def declares(self, path: Path, name: str, *, only: str = "") -> bool:
        """Returns whether a file declares a name, in the section `only` if one is given."""
        return any(
            one.text == name and one.use in _DECLARES and (not only or one.section == only)
            for one in self.words.get(path, ())
        )

    def find(self, name: str) -> dict[Path, list[Occurrence]]:
        """Returns the places of a name in the files that share it; none if no file declares it."""
        edges = [(a, kind, b) for a in self.trees for kind, b in self.used(a)]
        found, waiting = set[Path](), [self.path]
        while waiting:
            path = waiting.pop()
            if path in found:
                continue
            found.add(path)
            for user, kind, used in edges:
                if kind == "game" and user == path and self._above(used, name, edges):
                    waiting.append(used)
                elif kind == "game" and used == path:
                    waiting.append(user)
                elif kind == "protocol" and path in (user, used):
                    other = used if user == path else user
                    private = self.declares(used, name, only="params")
                    both = self.declares(user, name) and self.declares(used, name)
                    argument = private and self._gives(user, name)
                    if self.mentions(other, name) and not both and (argument or not private):
                        waiting.append(other)
        if not any(self.declares(path, name) for path in found):
            return {}
        role = any(self.declares(path, name, only="roles") for path in found)
        param = any(
            self.declares(path, name, only="params") and self._is_protocol(path)
            for path in found
        )  # fmt: skip
        places = {
            path: [
                one for one in self.words[path]
                if one.text == name and (one.use != "field" or role)
                and (one.use != "argument" or param)
                and (not param or one.use == "argument" or self._is_protocol(path))
            ]
            for path in found
        }  # fmt: skip
        return {path: ones for path, ones in sorted(places.items()) if ones}

    def _gives(self, path: Path, name: str) -> bool:
        return any(one.text == name and one.use == "argument" for one in self.words[path])

    def _is_protocol(self, path: Path) -> bool:
        return self.trees[path].get("game") is None

    def _above(self, path: Path, name: str, edges: list[tuple[Path, Kind, Path]]) -> bool:
        """Returns whether a name is in a file or in one that it extends."""
        bases = [b for a, kind, b in edges if a == path and kind == "game" and b != path]
        return self.mentions(path, name) or any(self._above(b, name, edges) for b in bases[:1])

    def rename(self, old: str, new: str) -> dict[Path, list[Occurrence]]:
        """Returns the places to replace. Raises RenameRefused where a shipped file would change,
        where the new name is taken, or where the files would have other problems."""
        places = self.find(old)
        if not places:
            fix = "rename what a section declares, or what a step binds"
            raise RenameRefused(f"`{old}` is not declared here", fix)
        if not _NAME.fullmatch(new):
            raise RenameRefused(f"`{new}` is no name", "write letters, digits and `_`")
        if new in KEYWORDS or new in WORDS or new in BUILTINS:
            raise RenameRefused(f"`{new}` has a meaning of its own", "choose another name")
        for path in places:
            if path.resolve().is_relative_to(shipped_folder().resolve()):
                fact = f"`{old}` is also written in the shipped file `{path.stem}`"
                raise RenameRefused(fact, f"copy `{path.name}` beside this file, and rename there")
        for path in places:
            clash = next((one for one in self.words[path] if one.text == new), None)
            if clash is not None:
                fact = f"`{new}` is already written in {path.name}, line {clash.span.line}"
                raise RenameRefused(fact, "choose another name")
        self._try(places, new)
        return places

    def _try(self, places: Mapping[Path, list[Occurrence]], new: str) -> None:
        changed = {path: replaced(ones, new) for path, ones in places.items()}
        users = [a for a in self.trees if any(b in changed for _, b in self.used(a))]
        for path in dict.fromkeys([*changed, *users]):
            before, after = self._problems(path, {}), self._problems(path, changed)
            counts = Counter(one.code for one in before)
            if counts == Counter(one.code for one in after):
                continue
            extra = next((one.message for one in after if not counts[one.code]), "other problems")
            fact = f"the rename would change what {path.name} means: {extra}"
            raise RenameRefused(fact, "rename it by hand, and read the problems")

    def _problems(self, path: Path, changed: Mapping[Path, str]) -> list[Diagnostic]:
        with loader.replacing({**self.texts, **changed}):
            return check_names(path).diagnostics


def replaced(places: list[Occurrence], new: str) -> str:
    """Returns the text of a file with a name in the place of its occurrences."""
    text = places[0].span.source.text
    for one in sorted(places, key=lambda one: -one.span.start):
        text = text[: one.span.start] + new + text[one.span.end :]
    return text


def _uses(tree: Tree) -> Iterator[tuple[Kind, str]]:
    base, protocol = tree.get("extends"), tree.get("protocol")
    if isinstance(base, Scalar):
        yield "game", base.text
    if isinstance(protocol, Scalar) and tree.get("game") is not None:
        yield "protocol", protocol.text
    for section in ("protocol", "turns", "actions"):
        if (node := tree.get(section)) is not None:
            yield from _protocols(node)


def _protocols(node: Node) -> Iterator[tuple[Kind, str]]:
    if isinstance(node, Tree):
        name = node.get("use")
        if isinstance(name, Scalar):
            yield "protocol", name.text
        for entry in node:
            yield from _protocols(entry.value)
    elif isinstance(node, Sequence):
        for item in node:
            if isinstance(item, Scalar):
                yield "protocol", item.text
            else:
                yield from _protocols(item)
