"""Expressions that YAML cuts at a comma inside `{ }` or `[ ]` without a word.

`{payoffs: 0 if not line(board, 3) else 1}` is, to YAML, a map with the two keys `payoffs` and
`3) else 1`. The shape gives it away: a bracket that is opened in one part and closed in a later
one, or a key without a value.
"""

from __future__ import annotations

import re

from gamedsl.diagnostics.fixes import Edit, Fix, Help, substitute
from gamedsl.diagnostics.model import Problems
from gamedsl.diagnostics.spans import Span
from gamedsl.frontend.source.nodes import Mapping, Node, Scalar, Sequence

_REACH = 40  # parts of one expression; more are not looked at
_MOST_TRIES = 100  # openings of one collection that are followed; a bound on hostile files
LISTED_WORDS = re.compile(r"[\w.+-]+(?:\s*,\s*[\w.+-]+)+")
"""Words and numbers with commas between them: a list without its brackets."""

_KEY = re.compile(r"[a-z_]+:\w")
"""The beginning of an entry whose colon has no space behind it."""

_QUOTED = re.compile(r'"[^"]*"|\'[^\']*\'')


def check_mapping(node: Mapping, problems: Problems) -> bool:
    """Report the cut expressions of a `{ }` map; True where there was any."""
    entries = node.entries
    found = False
    at = tries = 0
    while at < len(entries):
        entry = entries[at]
        closed = 0
        if _balance(_plain(entry.value)) > 0 and tries < _MOST_TRIES:
            tries += 1
            parts = [_plain(entry.value)]
            for later in entries[at + 1 : at + 1 + _REACH]:
                parts += [_plain(later.key), _plain(later.value)]
            closed = (_closing(parts) + 1) // 2
        if not closed and at + 1 < len(entries):
            closed = _valueless(node, at)
        if closed:
            last = entries[at + closed]
            end = last.key.span.end if _missing(last.value) else last.value.span.end
            _cut(entry.key, Span(node.span.source, entry.value.span.start, end), problems)
            found = True
        at += closed + 1
    return _only_keys(node, problems) if not found else True


def check_sequence(node: Sequence, problems: Problems) -> None:
    """Report the cut expressions of a `[ ]` list."""
    at = tries = 0
    while at < len(node.items) and tries < _MOST_TRIES:
        closed = 0
        if _balance(_plain(node.items[at])) > 0:
            tries += 1
            closed = _closing([_plain(item) for item in node.items[at : at + 1 + _REACH]])
        if closed:
            start, end = node.items[at].span.start, node.items[at + closed].span.end
            _cut(None, Span(node.span.source, start, end), problems)
        at += closed + 1


def check_comment(node: Scalar, problems: Problems) -> None:
    """Report an unquoted text whose open bracket is closed only in what became a comment."""
    source, end = node.span.source, node.span.end
    newline = source.text.find("\n", end)
    rest = source.text[end : newline if newline >= 0 else len(source.text)]
    if not rest.lstrip().startswith("#") or _balance(node.text) <= 0 or ")" not in rest:
        return
    hash_at = end + rest.index("#")
    problems.add(
        "GD0026",
        "YAML cuts this text at ` #` and takes the rest for a comment",
        Span(source, hash_at, hash_at + 1),
        why="begins a comment",
        help=substitute(
            Span(source, node.span.start, end + len(rest.rstrip())),
            quoted(node.text + rest.rstrip()),
            f"write quotes around it: {quoted(node.text + rest.rstrip())}",
        ),
    )


def _plain(node: Node) -> str:
    """Returns the unquoted text of a node; empty for anything else."""
    if not isinstance(node, Scalar) or node.span.text[:1] in ("'", '"'):
        return ""
    return node.text


def _balance(text: str) -> int:
    if "(" not in text and ")" not in text:
        return 0
    text = _QUOTED.sub("", text)
    return text.count("(") - text.count(")")


def _closing(parts: list[str]) -> int:
    """Index of the part that closes what the first one leaves open; 0 where there is none."""
    open_brackets = _balance(parts[0])
    for index, part in enumerate(parts[1:], 1):
        open_brackets += _balance(part)
        if open_brackets <= 0:
            return index
    return 0


def _valueless(node: Mapping, at: int) -> int:
    """Counts the keys without a colon that follow an entry whose value is unquoted text."""
    value = node.entries[at].value
    if not isinstance(value, Scalar) or not _plain(value):
        return 0
    count = 0
    for entry in node.entries[at + 1 :]:
        if not _missing(entry.value) or _has_colon(entry.key) or _KEY.match(entry.key.text):
            break
        count += 1
    return count


def _missing(value: Node) -> bool:
    return isinstance(value, Scalar) and value.value is None and not value.text


def _has_colon(key: Scalar) -> bool:
    return key.span.source.text[key.span.end :].lstrip()[:1] == ":"


def _only_keys(node: Mapping, problems: Problems) -> bool:
    """`{a, b}` and `{a:1}`: keys of a `{ }` map that have no colon and no value."""
    bare = [e.key for e in node.entries if _missing(e.value) and not _has_colon(e.key)]
    for key in bare:
        name, colon, value = key.text.partition(":")
        if colon and value:
            message, new = "a colon needs a space after it", f"{name}: {value}"
            fix = substitute(key.span, new, f"write `{new}`")
        elif len(bare) == len(node.entries):
            listed = ", ".join(key.text for key in bare)
            message = f"`{key.text}` has no value"
            fix = substitute(node.span, f"[{listed}]", f"for a list, write `[{listed}]`")
        else:
            message, fix = f"`{key.text}` has no value", Fix(f"write `{key.text}: <value>`")
        problems.add("GD0014", message, key.span, why="a key of this map", help=fix)
        if colon or len(bare) == len(node.entries):
            break
    return bool(bare)


def _cut(key: Scalar | None, whole: Span, problems: Problems) -> None:
    text = " ".join(whole.text.split())
    before = f"{key.text}: " if key else ""
    fix = substitute(whole, quoted(text), f"write quotes around it: {before}{quoted(text)}")
    if key and LISTED_WORDS.fullmatch(text):
        said = f"for a list, write {before}[{text}]; for a text, {before}{quoted(text)}"
        fix = substitute(whole, f"[{text}]", said)
    problems.add(
        "GD0016",
        "YAML cuts this text at its comma" + (" into several keys" if key else ""),
        whole,
        why="between `{` and `}`" if key else "between `[` and `]`",
        help=fix,
    )


def space_fix(behind: Span) -> Fix:
    """Returns the fix of a key without a space; `behind` is the empty place behind its colon."""
    text = behind.source.text
    key = re.search(r"\w*:$", text[: behind.start])
    rest = re.split(r"\s#|\n", text[behind.start :], maxsplit=1)[0].rstrip()
    shown = f"{key.group() if key else ''} {rest if len(rest) < 40 else '…'}"
    return Fix(f"put a space after the colon: `{shown.strip()}`", (Edit(behind, " "),))


def tag_fix(tag: str, place: Span) -> Help:
    """Returns the remedy for a value that begins with `!`."""
    word = tag[1:]
    if word.isidentifier():
        text = f'for negation write `not {word}`; for text write quotes: "{tag}"'
        return substitute(place, f"not {word}", text)
    return "put the value in quotes, or delete the tag"


def quoted(text: str) -> str:
    """A text as a YAML scalar in quotes."""
    if '"' not in text and "\\" not in text:
        return f'"{text}"'
    return "'" + text.replace("'", "''") + "'"
