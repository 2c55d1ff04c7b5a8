"""The spaces inside of an expression or a statement: one around an operator, one after a comma.

Spaces part tokens and mean nothing, so that the tokens are all that is read; a text with a sign
that no expression has is left as it is.
"""

from __future__ import annotations

import re

from gamedsl.frontend.syntax.parser import KEYWORDS

_TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<word>[A-Za-z_][A-Za-z0-9_]*)|(?P<number>[0-9]+(?:\.[0-9]+)?)"
    r"|(?P<operator>\.\.|\*\*|//|[=!<>+-]=|[-+*/%<>=])|(?P<sign>[()\[\].,;])"
)
_CONTEXTUAL = frozenset({"add", "drop", "to", "from"})
"""Words that are keywords in some places of a statement, and names elsewhere."""

_WORDS = frozenset({*KEYWORDS, "is"}) - {"true", "false", "none"}
"""The keywords that stand between expressions, as operators do."""


def tokens_of(text: str) -> list[str] | None:
    """Returns the tokens of an expression or a statement, without spaces; None where it has a sign
    that neither has."""
    found = _lexed(text)
    return None if found is None else [token for _, token in found]


def spaced(text: str) -> str:
    """Returns an expression, or statements, with the usual spaces. Breaks of lines stay."""
    found = _lexed(text)
    if found is None:
        return text
    parts: list[str] = []
    previous, unary = "", False
    for at, (space, token) in enumerate(found):
        gap = space if "\n" in space else _gap(previous, token, bool(space), unary)
        if _in_fraction(found, at) or _in_fraction(found, at - 1):
            gap = ""
        parts += [gap if parts else "", token]
        unary = token in ("-", "+") and _before_operand(previous)
        previous = token
    return _without_spaces(text, "".join(parts))


def _without_spaces(text: str, new: str) -> str:
    """Returns a text with the outer spaces of the old one, where these hold a break of lines."""
    before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    return (before if "\n" in before else "") + new + (after if "\n" in after else "")


def _lexed(text: str) -> list[tuple[str, str]] | None:
    """Returns each token behind the spaces before it; None where there is some other sign."""
    found: list[tuple[str, str]] = []
    at, space = 0, ""
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            return None
        if token.lastgroup == "space":
            space = token[0]
        else:
            found.append((space, token[0]))
            space = ""
        at = token.end()
    return found


def _gap(before: str, after: str, spaced: bool, unary: bool) -> str:
    """Returns what parts two tokens; `unary`: the first is a sign before its operand."""
    if not before or before in ("(", "[", ".", "..") or after in (")", "]", ",", ";", ".", ".."):
        return ""
    if unary and before in ("-", "+"):
        return ""
    if before in (",", ";"):
        return " "
    if after in ("(", "["):
        if before in _CONTEXTUAL:
            return " " if spaced else ""
        ends = before in (")", "]") or (_is_word(before) and before not in _WORDS)
        return "" if ends else " "
    return " "


def _in_fraction(found: list[tuple[str, str]], at: int) -> bool:
    """Whether a token is the bar of a fraction: between two numbers, and written without spaces."""
    if not 0 < at < len(found) - 1 or found[at] != ("", "/") or found[at + 1][0]:
        return False
    return found[at - 1][1][0].isdigit() and found[at + 1][1][0].isdigit()


def _before_operand(token: str) -> bool:
    """Whether an operand must follow a token, so that `-` is its sign."""
    if not token or token in _WORDS:
        return True
    return not (_is_word(token) or token[0].isdigit() or token in (")", "]"))


def _is_word(token: str) -> bool:
    return token[0].isalpha() or token[0] == "_"
