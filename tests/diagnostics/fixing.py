"""The fixes that the compiler proposes, carried out: what is left must be one problem fewer.

A fix with edits is applied to a copy of its files. What is compiled then must no longer have its
problem, and no error that was not there before.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gamedsl.diagnostics import Diagnostic
from gamedsl.diagnostics.fixes import apply_edits
from gamedsl.diagnostics.render import render
from gamedsl.diagnostics.safety import Kind, new_errors, solves

Compile = Callable[[Path], list[Diagnostic]]


def with_edits(found: Diagnostic) -> dict[Path, str]:
    """Returns the texts of the files that a fix changes, by their paths."""
    texts = {}
    for source in {edit.span.source for edit in found.edits}:
        own = [edit for edit in found.edits if edit.span.source is source]
        texts[Path(source.name)] = apply_edits(source.text, own)
    return texts


def remaining(path: Path, found: Diagnostic, compile: Compile) -> list[Diagnostic]:
    """Returns the problems of a file once a fix is applied; the files are as before after it."""
    texts = with_edits(found)
    before = {each: each.read_bytes() for each in texts}
    try:
        for each, text in texts.items():
            each.write_text(text, encoding="utf-8")
        return compile(path)
    finally:
        for each, data in before.items():
            each.write_bytes(data)


def faults_of_fixes(path: Path, found: list[Diagnostic], compile: Compile) -> list[str]:
    """Returns what is wrong with the fixes of a file's problems: one that leaves its problem, or
    that brings another error of the same stage."""
    wrong = []
    for problem in found:
        if not problem.edits:
            continue
        left = remaining(path, problem, compile)
        kind, new = Kind.of(problem), new_errors(problem, found, left)
        if new or not solves(problem, found, left):
            told = [d for d in left if d in new or Kind.of(d) == kind]
            text = "\n".join(with_edits(problem).values())
            wrong.append(f"{kind.code} {kind.message}\n{problem.help}\n"
                         f"{render(told, 'concise')}\n{text}")  # fmt: skip
    return wrong
