"""Problems say where they come from, if that is another place: the file that extends theirs, what
it changes, or a param that was set."""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Mapping as Map
from dataclasses import replace
from typing import Any

from gamedsl.diagnostics import Diagnostic, Note
from gamedsl.diagnostics.spans import Span
from gamedsl.frontend.source.loader import display_name
from gamedsl.frontend.source.nodes import Entry, Mapping
from gamedsl.sema.library import MERGED, Document
from gamedsl.sema.values import entries_of
from gamedsl.storage.shipped import shipped_folder


def with_origins(
    problem: Diagnostic, document: Document, params: Map[str, Any] | None
) -> Diagnostic:
    """Returns a problem with notes on what its place reads and is set elsewhere: a param that is
    given, or an entry of a file that extends this one; without such, on the lines that extend it.
    """
    known = {span.source.name for span in (problem.span, *(note.span for note in problem.notes))}
    words = set(re.findall(r"[A-Za-z_]\w*", problem.span.text))
    given = [each for name, each in entries_of(params, "--param").items() if name in words]
    notes = [Note(each.value.span, "set here") for each in given]
    names = [display_name(path) for path in document.files[: len(document.extends) + 1]]
    inherited = problem.span.source.name in names[1:] and names[0] not in known
    if inherited:
        own = names[: names.index(problem.span.source.name)]
        changed = (each.key.span for each in _entries(document) if each.key.text in words)
        notes += [Note(span, "changed here") for span in changed if span.source.name in own]
    notes = [note for note in notes if note.span.source.name not in known]
    if inherited and not notes:
        return _extended(problem, document, names[0], document.extends[: len(own)])
    return replace(problem, notes=(*problem.notes, *notes))


def _entries(document: Document) -> Iterator[Entry]:
    """Yields the entries of the sections that are merged with those of the extended file."""
    for section in document.root.entries:
        if section.key.text in MERGED and isinstance(section.value, Mapping):
            yield from section.value.entries


def _extended(
    problem: Diagnostic, document: Document, name: str, lines: tuple[Span, ...]
) -> Diagnostic:
    """Returns a problem in an extended file, with notes on the lines that extend it. A shipped file
    stays as it is: the help says what to write in the file called `name`."""
    notes = tuple(Note(span, "extended here") for span in reversed(lines))
    found = replace(problem, notes=(*problem.notes, *notes))
    section = next((s for s in document.root.entries if s.value.span.encloses(problem.span)), None)
    if section is None or shipped_folder() not in document.files[len(lines)].parents:
        return found
    merged = section.key.text in MERGED and isinstance(section.value, Mapping)
    what = "what differs of" if merged else "the whole section"
    fix = f"write {what} `{section.key.text}` in {name}"
    return replace(found, help=f"{problem.help}; {fix}" if problem.help else fix, edits=())
