"""Fixes: what a diagnostic proposes, as a sentence for people and as edits for programs.

A fix without edits is advice, which only its author can carry out: a name to invent, or one of
several ways to choose from. Where the sentence names one text to paste, the edits paste it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gamedsl.diagnostics.spans import Span


@dataclass(frozen=True, slots=True)
class Edit:
    """Replaces the characters of `span` by `text`; an empty span inserts, an empty text deletes."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """One remedy: its sentence, and the edits that carry it out together."""

    text: str
    edits: tuple[Edit, ...] = ()


Help = str | Fix
"""What a problem is added with: advice in words, or a fix."""


def substitute(span: Span, new: str, text: str) -> Fix:
    """Returns a fix that puts `new` in the place of `span`; `text` is its sentence."""
    return Fix(text, (Edit(span, new),))


def respell(span: Span, guess: str | None, otherwise: Help = "") -> Help:
    """Returns the fix of a misspelt word: the word that was meant, or `otherwise` if none is
    near."""
    return substitute(span, guess, f"did you mean `{guess}`?") if guess else otherwise


def as_fix(help: Help) -> Fix:
    """Returns a help as a fix; words alone have no edits."""
    return help if isinstance(help, Fix) else Fix(help)


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Returns a source's text after the edits, all of which are of that source.

    Edits at one place are applied in their order. Raises ValueError if two of them overlap.
    """
    parts, at = [], 0
    for edit in sorted(edits, key=lambda edit: (edit.span.start, edit.span.end)):
        if edit.span.start < at:
            raise ValueError(f"edits overlap at character {edit.span.start}")
        parts += [text[at : edit.span.start], edit.text]
        at = edit.span.end
    return "".join([*parts, text[at:]])
