"""A file as an editor shows it: its problems, and the names of its last readable text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from gamedsl.compiler import check_names
from gamedsl.diagnostics import Diagnostic, Note, Problems
from gamedsl.diagnostics.spans import Source, Span
from gamedsl.formatter import Formatted, format_file
from gamedsl.frontend.source import loader
from gamedsl.frontend.source.nodes import Entry
from gamedsl.frontend.source.nodes import Mapping as Tree
from gamedsl.frontend.syntax.parser import KEYWORDS
from gamedsl.ir.builtins import BUILTINS, functions
from gamedsl.lsp.occurrences import SCHEMAS, occurrences
from gamedsl.sema.library import FOLDERS, KIND_OF, locate, shipped
from gamedsl.sema.scope import WORDS

KINDS = re.compile(r"^(game|protocol|reward)[ \t]*:", re.MULTILINE)
"""The line by which a YAML file is known for one of ours; others are passed over."""

TOKENS = (
    "class", "parameter", "type", "variable", "property", "method", "function", "keyword",
    "number", "operator",
)  # fmt: skip
"""The kinds of token that are told apart, by the names of the protocol."""

_SECTION_TOKENS = {
    "roles": "class", "params": "parameter", "types": "type", "state": "variable",
    "data": "variable", "let": "variable", "actions": "method", "steps": "variable",
}  # fmt: skip

_WORD = re.compile(r"[A-Za-z_][\w-]*")
_USE = re.compile(rf"\s*({'|'.join(KIND_OF)})\s*:\s*(\w*)")


@dataclass(frozen=True)
class DeclaredName:
    """A declared name: the section that declares it, and where."""

    text: str
    section: str
    span: Span


@dataclass
class Checked:
    """A checked file: the problems of its text, and the last tree that was readable."""

    problems: list[Diagnostic]
    tree: Tree | None
    names: dict[str, DeclaredName]

    def after(self, last: Checked | None) -> Checked:
        """Returns this with what was known of an earlier text where this one cannot be read."""
        if last is None:
            return self
        return Checked(self.problems, self.tree or last.tree, self.names or last.names)


def check(path: Path, texts: Mapping[Path, str]) -> Checked:
    """Checks a file up to its types, with open documents in the place of files."""
    with loader.replacing(texts):
        result = check_names(path)
        unseen = Problems()
        source = loader.read(path, unseen)
        tree = loader.parse(source, unseen) if source is not None else None
    names = {} if tree is None else {name.text: name for name in _declared(tree)}
    extended = tree is not None and tree.get("extends") is not None
    if extended and result.document is not None:
        names = {name.text: name for name in _declared(result.document.root)} | names
    return Checked(result.diagnostics, tree, names)


def placed_in(path: Path, found: Diagnostic) -> Diagnostic:
    """Returns a problem as the file at `path` shows it: one of another file, such as an extended
    game, stands where this file refers to it, or where nothing does at the first character."""
    if is_of(path, found.span):
        return found
    here = next((note.span for note in found.notes if is_of(path, note.span)), None)
    if here is None:
        here = Span(Source(path.name, "", path.parent), 0, 0)
    others = tuple(note for note in found.notes if note.span != here)
    there = Note(found.span, found.why or "the problem is here")
    return replace(found, span=here, notes=(there, *others), edits=())


def is_of(path: Path, span: Span) -> bool:
    """Tells whether a place is in the file at `path`."""
    return Path(span.source.name).name == path.name and span.source.folder == path.parent


def lay_out(path: Path, texts: Mapping[Path, str]) -> Formatted:
    """Lays a file out as `gamedsl fmt` does, with open documents in the place of files."""
    with loader.replacing(texts):
        return format_file(path)


def changed_lines(before: str, after: str) -> tuple[int, int, str]:
    """Returns the first line (from 0) that differs, the line behind the last, and what is to stand
    there: the rest of two texts is the same."""
    old, new = (re.findall(r"[^\n]*\n|[^\n]+", text) for text in (before, after))
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    last = 0
    while last < min(len(old), len(new)) - first and old[-1 - last] == new[-1 - last]:
        last += 1
    return first, len(old) - last, "".join(new[first : len(new) - last])


def _declared(root: Tree) -> Iterator[DeclaredName]:
    for one in occurrences(root):
        if one.use in ("declared", "bound"):
            section = one.section if one.use == "declared" else "steps"
            yield DeclaredName(one.text, section, one.span)


def word_at(line: str, column: int) -> str:
    """Returns the word that a column (from 0) of a line is in or behind; empty outside of words."""
    for found in _WORD.finditer(line):
        if found.start() <= column <= found.end():
            return found[0]
    return ""


def describe(line: str, column: int, checked: Checked | None) -> str:
    """Returns Markdown about the word at a column: a section, a declared name, or a built-in."""
    word = word_at(line, column)
    if (key := key_doc(line, word)) is not None:
        return f"`{word}`: {key}" if key else ""
    if checked is not None and (name := checked.names.get(word)) is not None:
        written = name.span.source.line(name.span.line).strip()
        return f"`{word}` is declared in `{name.section}`:\n```yaml\n{written}\n```"
    row = BUILTINS.get(word)
    if row is None or row.kind != "function":
        return ""
    expression, value = row.example
    return f"`{row.usage}`\n\n{row.about}\n\n`{expression}` is `{value}`."


def key_doc(line: str, word: str) -> str | None:
    """Returns what the schemas say of a section that begins a line; None where none does."""
    if not word or not re.match(rf"{re.escape(word)}\s*:", line):
        return None
    return sections().get(word)


@cache
def sections() -> dict[str, str]:
    """Returns the sections of all kinds of file, with their descriptions."""
    found: dict[str, str] = {}
    for kind in reversed(FOLDERS):
        schema: dict[str, Any] = json.loads(
            (SCHEMAS / f"{kind}.schema.json").read_text(encoding="utf-8")
        )
        found |= {key: part.get("description", "") for key, part in schema["properties"].items()}
    return found


def complete(line: str, column: int, checked: Checked | None) -> list[tuple[str, str]]:
    """Returns what may be written at a column, each with what it is."""
    before = line[:column]
    if (use := _USE.fullmatch(before)) is not None:
        kind = KIND_OF[use[1]]
        return [(name, f"shipped {kind}") for name in shipped(kind)]
    if _WORD.fullmatch(before) or not before:
        return [(f"{key}: ", doc or "section") for key, doc in sections().items()]
    names = {} if checked is None else checked.names
    known = [(name.text, name.section) for name in names.values()]
    return known + [(name, BUILTINS[name].usage) for name in functions()]


def definition(path: Path, line: str, column: int, checked: Checked | None) -> Span | Path | None:
    """Returns where the word at a column is declared: a place, or a file that is used."""
    word = word_at(line, column)
    if (use := _USE.match(line)) is not None and use[2] == word:
        return locate(KIND_OF[use[1]], word, path)
    found = None if checked is None else checked.names.get(word)
    return None if found is None else found.span


def outline(tree: Tree | None) -> list[tuple[Entry, list[Entry]]]:
    """Returns the sections of a file, each with its entries."""
    if tree is None:
        return []
    return [(e, list(e.value) if isinstance(e.value, Tree) else []) for e in tree]


def tokens(tree: Tree, names: Mapping[str, DeclaredName]) -> Iterator[tuple[Span, str]]:
    """Yields the coloured words of expressions, each with one of `TOKENS`."""
    for one in occurrences(tree):
        if one.use in ("number", "operator"):
            yield one.span, one.use
        elif one.use == "argument":
            yield one.span, "parameter"
        elif one.use == "field" and one.text not in names:
            yield one.span, "property"
        elif (name := names.get(one.text)) is not None:
            yield one.span, _SECTION_TOKENS[name.section]
        elif one.use == "word" and one.text in (*WORDS, *KEYWORDS):
            yield one.span, "keyword"
        elif one.use == "word" and one.text in BUILTINS:
            yield one.span, "function"
