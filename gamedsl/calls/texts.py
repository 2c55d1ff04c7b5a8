"""Functions that judge texts: `exact`, `names`, `matches`."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from importlib.util import find_spec
from itertools import groupby
from typing import Any

from gamedsl.calls.registry import CallError, function
from gamedsl.extras import missing

MAX_TEXT = 20_000
"""Characters beyond which a text says nothing: what bounds the time of these functions."""

MAX_PATTERN = 1_000


MAX_MARKS = 30
"""Marks on one letter, beyond which a text is not text: the limit of Unicode's stream-safe format
(UAX 15), without which putting them in order takes quadratic time."""


def readable(text: str) -> bool:
    """Whether a text is within the bounds."""
    if len(text) > MAX_TEXT:
        return False
    if text.isascii():
        return True
    runs = groupby(text, key=lambda letter: unicodedata.combining(letter) > 0)
    return not any(marks and len(list(run)) > MAX_MARKS for marks, run in runs)


def folded(text: str) -> str:
    """The text for caseless comparison: equal where two texts are a canonical caseless match in the
    sense of Unicode (definition D145), which ½ and 1/2, or x² and x2, are not."""
    decomposed = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFD", decomposed.casefold())


def text_of(value: Any) -> str:
    """A value as prompts show it."""
    match value:
        case None:
            return "none"
        case bool():
            return str(value).lower()
        case str() | int() | Fraction():
            return str(value)
        case Mapping():
            return ", ".join(f"{key}: {text_of(item)}" for key, item in value.items())
        case set() | frozenset():
            return ", ".join(sorted(map(text_of, value)))
        case _:  # a list or tuple
            return ", ".join(map(text_of, value))


@function(
    arguments={"text": "text", "value": "any"},
    result="bool",
    pure=True,
    version=1,
    time_limit=1,
    on_timeout=False,
)
def exact(text: str, value: Any) -> bool:
    """Whether a text is a value's text and nothing else, but for case, blanks around it, and how
    Unicode composes its letters."""
    wanted = text_of(value).strip()
    given = text.strip()
    if given == wanted:
        return True
    return readable(given) and readable(wanted) and folded(given) == folded(wanted)


def words(text: str) -> list[str]:
    """The words of a text, folded: the longest runs of letters, digits and their accents."""
    runs = groupby(folded(text), key=lambda c: c.isalnum() or unicodedata.category(c)[0] == "M")
    return ["".join(run) for is_word, run in runs if is_word]


def plurals(word: str) -> set[str]:
    """A word and its regular plurals."""
    forms = {word, word + "s"}
    if word.endswith(("s", "x", "z", "ch", "sh", "o")):
        forms.add(word + "es")
    if word.endswith("y") and word[-2:-1] not in tuple("aeiou"):
        forms.add(word[:-1] + "ies")
    return forms


@function(
    arguments={"text": "text", "name": "text"},
    result="bool",
    pure=True,
    version=1,
    time_limit=1,
    on_timeout=False,
)
def names(text: str, name: str) -> bool:
    """Whether a text names a thing: the words of the name stand in it, whole and side by side, in
    any case; the last may be in its regular plural (cat, cats; box, boxes; berry, berries)."""
    if not (readable(text) and readable(name)):
        return False
    said, (*first, last) = words(text), words(name) or [""]
    forms, length = plurals(last), len(first) + 1
    return bool(last) and any(
        said[at + length - 1] in forms and said[at : at + length - 1] == first
        for at in range(len(said) - length + 1)
    )


def re2_missing() -> str | None:
    """Returns the message for a missing RE2, or None if it is installed."""
    return None if find_spec("re2") else str(missing("google-re2", "calls"))


@lru_cache(256)
def _compiled(pattern: str) -> Any:
    """A pattern of RE2, whose search takes time linear in the text whatever the pattern is; the
    standard library's `re` backtracks, and a clock around it would make results depend on load.
    Raises `CallError`."""
    if said := re2_missing():
        raise CallError("matches", said)
    import re2

    if len(pattern) > MAX_PATTERN:
        raise CallError("matches", f"a pattern of more than {MAX_PATTERN} characters")
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except (re2.error, UnicodeError) as error:
        why = error.args[0] if isinstance(error, re2.error) else "half a character"
        why = why.decode() if isinstance(why, bytes) else why
        raise CallError("matches", f"`{pattern:.60}` is no regular expression: {why}") from None


def pattern_fault(known: Mapping[str, Any]) -> str | None:
    """Returns the fault in a pattern that a game writes out, if the library is installed to find
    it."""
    if "pattern" not in known or re2_missing():
        return None
    try:
        _compiled(known["pattern"])
    except CallError as error:
        return error.reason
    return None


@function(
    arguments={"text": "text", "pattern": "text"},
    result="bool",
    pure=True,
    version=1,
    time_limit=1,
    on_timeout=False,
    fault=pattern_fault,
    missing=re2_missing,
)
def matches(text: str, pattern: str) -> bool:
    """Whether a regular expression matches somewhere in a text; `^` and `$` are its ends, `(?i)`
    ignores case. The syntax is RE2's: without references back and looks around."""
    found = _compiled(pattern)
    try:
        return len(text) <= MAX_TEXT and found.search(text) is not None
    except UnicodeError:
        return False
