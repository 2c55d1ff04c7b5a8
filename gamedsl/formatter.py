"""Files in the layout of the house, with the meaning and the comments that they had.

The compiler says which texts are expressions, whose spaces mean nothing. A new text is compared
with the old one before anybody gets it: its values, its comments and the hashes of its game.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gamedsl.compiler import check_names
from gamedsl.diagnostics import Diagnostic, Problems
from gamedsl.diagnostics.spans import Source
from gamedsl.frontend.layout.parts import all_comments
from gamedsl.frontend.layout.printer import lay_out
from gamedsl.frontend.layout.spacing import tokens_of
from gamedsl.frontend.layout.tables import rows_of
from gamedsl.frontend.source.compose import compose
from gamedsl.frontend.source.loader import read, replacing
from gamedsl.frontend.source.nodes import Mapping, Node, Scalar, Sequence
from gamedsl.frontend.syntax.parser import recording_expressions
from gamedsl.ir import GameIR
from gamedsl.ir.hashing import canonical
from gamedsl.sema.library import kind_of_root


@dataclass(frozen=True)
class Formatted:
    """A file's text before and after, with newlines at the ends of lines. `after` is None where
    the file cannot be laid out: `problems` says why, or `refused` that its values or comments would
    not be the same."""

    before: str
    after: str | None
    problems: tuple[Diagnostic, ...] = ()
    refused: bool = False

    @property
    def changed(self) -> bool:
        return self.after is not None and self.after != self.before


def format_file(path: Path) -> Formatted:
    """Returns the text of a game, protocol or reward file in the layout of the house.

    The file needs no more than to be YAML of a known kind. Expressions get their spaces where the
    compiler can read them. Nothing is written. Never raises for a file's content.
    """
    problems = Problems()
    source = read(path, problems)
    tree = None if source is None else compose(source, problems)
    if source is None or tree is None or problems.errors:
        return Formatted("" if source is None else source.text, None, tuple(problems.sorted()))
    if not isinstance(tree, Mapping) or kind_of_root(tree, source, problems) is None:
        if not problems.errors:
            problems.add("GD0027", "a file is a map of sections, and this one is not", tree.span)
        return Formatted(source.text, None, tuple(problems.sorted()))
    game, expressions = _read(path, source)
    for chosen in (expressions, frozenset[int]()):
        after = lay_out(source.text, chosen)
        if not _same(source, tree, after, chosen):
            continue
        if game is None:
            return Formatted(source.text, after)
        with replacing({path: after}):
            again = check_names(path).ir
        if again is not None and _meaning(again) == _meaning(game):
            return Formatted(source.text, after)
    return Formatted(source.text, None, refused=True)


def _read(path: Path, source: Source) -> tuple[GameIR | None, frozenset[int]]:
    """Returns the game in a file, if it is one without errors, and where its expressions are."""
    with recording_expressions() as found:
        result = check_names(path)
    if not result.ok:
        return None, frozenset()
    own = (each.span for each in found if each.span.source.text == source.text)
    return result.ir, frozenset(span.start for span in own)


def _meaning(game: GameIR) -> tuple[str, str]:
    return game.hash, canonical([(setting.key, setting.value) for setting in game.settings])


def _same(source: Source, tree: Node, after: str, expressions: frozenset[int]) -> bool:
    """Whether a new text has the comments and the values of the old one."""
    problems = Problems()
    new = compose(Source(source.name, after, source.folder), problems)
    if new is None or problems.errors or all_comments(source.text) != all_comments(after):
        return False
    return _same_nodes(tree, new, expressions)


def _same_nodes(old: Node, new: Node, expressions: frozenset[int]) -> bool:
    match old, new:
        case Scalar(), Scalar():
            return _same_scalars(old, new, expressions)
        case Sequence(items=items), Sequence(items=others):
            pairs = zip(items, others)
            same = len(items) == len(others)
        case Mapping(entries=entries), Mapping(entries=others):
            same = [e.key.value for e in entries] == [e.key.value for e in others]
            pairs = zip((e.value for e in entries), (e.value for e in others))
        case _:
            return False
    return same and all(_same_nodes(a, b, expressions) for a, b in pairs)


def _same_scalars(old: Scalar, new: Scalar, expressions: frozenset[int]) -> bool:
    if old.value == new.value and type(old.value) is type(new.value):
        return True
    if old.span.start not in expressions or not isinstance(new.value, str):
        return False
    table = rows_of(old.text)
    if table is None:
        return (tokens := tokens_of(old.text)) is not None and tokens == tokens_of(new.text)
    rows = rows_of(new.text)
    return rows is not None and _tokens_of_rows(table) == _tokens_of_rows(rows)


def _tokens_of_rows(rows: list[list[tuple[str, ...]]]) -> list[list[list[list[str] | str]]]:
    return [[[tokens_of(p) or p for p in pieces] for pieces in row] for row in rows]
