"""Characters that do not print, and those that a text from outside may not have: nobody who reads
it would see them.

Control characters other than a tab and line ends, halves of characters (surrogates), characters
that Unicode leaves without meaning, a byte order mark inside a text, and the marks that turn the
direction of what follows (U+202A to U+202E, U+2066 to U+2069): with these a line is shown in
another order than it is read. Marks of direction that turn nothing, as Arabic and Hebrew texts use
them, are characters like any other.
"""

from __future__ import annotations

import re

_TURNS = "\u202a-\u202e\u2066-\u2069"
_HIDDEN = f"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f{_TURNS}\ud800-\udfff\ufeff\uffff\ufffe"
_IN_TEXTS = re.compile(f"[{_HIDDEN}]")
_IN_FILES = re.compile(f"[{_HIDDEN}\u2028\u2029]")


def find_refused(text: str, separators: bool = False) -> int | None:
    """Returns the offset of the first character that a text may not have; None if there is none.

    Unicode's separators of lines and paragraphs are among them unless `separators` allows them: in
    a file they end a line for some programs and not for others.
    """
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return None
    found = (_IN_TEXTS if separators else _IN_FILES).search(text)
    return found.start() if found else None


def escaped(text: str) -> str:
    """Returns a text in which what does not print is an escape, such as `\\x1b`: nothing moves the
    cursor, or hides."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def blanked(text: str) -> str:
    """Returns a text on one line, in which what does not print is a space."""
    return "".join(c if c.isprintable() else " " for c in text)
