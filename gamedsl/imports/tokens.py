"""The tokens of Gambit's files, with their places; both formats consist of the same few.

A text is in double quotes, and may hold a quote after a backslash. A number is whole, decimal or a
fraction, and is read exactly. Commas are blanks. The first syntax error ends the reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple, NoReturn

from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.spans import Source, Span

MAX_DIGITS = 100
"""Digits of a number, and the greatest power of ten: what the language has too."""

_TOKEN = re.compile(
    r"""[\s,]* (?: (?P<text>"(?:[^"\\]|\\.)*")
                 | (?P<open>") | (?P<brace>[{}]) | (?P<end>\Z)
                 | (?P<word>[^\s,{}"]+) )""",
    re.VERBOSE | re.DOTALL,
)
_NUMBER = re.compile(
    r"(?P<sign>[+-]?)(?:(?P<top>\d+)/(?P<bottom>\d+)"
    r"|(?P<decimal>\d+\.?\d*|\.\d+)(?:[eE](?P<power>[+-]?\d+))?)",
    re.ASCII,
)


class WrongFile(Exception):
    """The file cannot be read on; why is among the problems."""


class Token(NamedTuple):
    """A token. `kind` is text, word, brace or end; `text` is its value, without quotes."""

    kind: str
    text: str
    span: Span


class TokenReader:
    """Reads the tokens of a file one by one, and reports those that are not expected."""

    def __init__(self, source: Source, problems: Problems) -> None:
        self.source = source
        self.problems = problems
        self._tokens = self._cut()
        self.next = next(self._tokens)

    def _cut(self) -> Iterator[Token]:
        at = 0
        while True:
            found = _TOKEN.match(self.source.text, at)
            assert found is not None  # a blank text ends the file
            kind, at = str(found.lastgroup), found.end()
            span = Span(self.source, *found.span(kind))
            if kind == "open":
                self.fail("GD0802", "a text is never closed", span, "it begins here", 'add a `"`')
            text = span.text
            if kind == "text":
                text = text[1:-1].replace('\\"', '"')
            yield Token(kind, text, span)
            if kind == "end":
                return

    def format(self) -> str:
        """Reads the head of a file: EFG or NFG, the version and the kind of numbers."""
        name = self.next
        versions = {"EFG": "2", "NFG": "1"}
        if name.kind != "word" or name.text not in versions:
            self.fail(
                "GD0801", "this is no extensive or strategic game of Gambit's", name.span,
                "a game begins with `EFG 2 R` or `NFG 1 R`",
                "save it in Gambit as .efg or .nfg",
            )  # fmt: skip
        self.take()
        version = self.next
        if version.text != versions[name.text]:
            self.fail(
                "GD0801", f"version {version.text} of this format is not known", version.span,
                "the version stands here", f"only `{name.text} {versions[name.text]}` is read",
            )  # fmt: skip
        self.take()
        if self.next.text not in ("R", "D") or self.next.kind != "word":
            self.expected("`R`")
        self.take()
        return name.text

    def take(self) -> Token:
        """The next word, which is then behind us."""
        taken = self.next
        if taken.kind != "end":
            self.next = next(self._tokens)
        return taken

    def text(self, what: str) -> Token:
        """A text in quotes; `what` it is is said where there is none."""
        return self.take() if self.next.kind == "text" else self.expected(what)

    def opens(self) -> bool:
        """Whether a brace opens here, which is then behind us."""
        if (self.next.kind, self.next.text) != ("brace", "{"):
            return False
        self.take()
        return True

    def closes(self) -> bool:
        """Whether a brace closes here, which is then behind us."""
        if (self.next.kind, self.next.text) != ("brace", "}"):
            return False
        self.take()
        return True

    def open(self, what: str) -> None:
        if not self.opens():
            self.expected(f"`{{` and {what}")

    def close(self, what: str) -> None:
        if not self.closes():
            self.expected(f"{what} or `}}`")

    def is_number(self) -> bool:
        return self.next.kind == "word" and bool(_NUMBER.fullmatch(self.next.text))

    def number(self, what: str) -> Fraction:
        """A number, exactly."""
        token = self.next
        found = _NUMBER.fullmatch(token.text) if token.kind == "word" else None
        if found is None:
            self.expected(what)
        power = found["power"] or "0"
        if len(token.text) > MAX_DIGITS or len(power) > 4 or abs(int(power)) > MAX_DIGITS:
            self.fail(
                "GD0803", "this number is too long", token.span, f"at most {MAX_DIGITS} digits"
            )
        if found["bottom"] is not None and int(found["bottom"]) == 0:
            self.fail(
                "GD0803", "a fraction has a denominator of 0", token.span, "divided by 0 here"
            )
        self.take()
        return Fraction(token.text)

    def count(self, what: str) -> int:
        """A whole number from 0."""
        span = self.next.span
        value = self.number(what)
        if value.denominator != 1 or value < 0:
            self.fail("GD0803", f"{what} is a whole number from 0", span, f"this is {value}")
        return int(value)

    def texts(self, what: str) -> tuple[Token, ...]:
        """Texts in braces."""
        self.open(what)
        found = []
        while not self.closes():
            found.append(self.text(f"{what} or `}}`"))
        return tuple(found)

    def payoffs(self, players: int, of: str, span: Span, why: str) -> tuple[Fraction, ...]:
        """Reads an outcome's payoff for each player, as far as the `}`."""
        paid = []
        while not self.closes():
            paid.append(self.number("a payoff or `}`"))
        if len(paid) != players:
            message = f"{of} pays {len(paid)} players, and there are {players}"
            self.fail("GD0806", message, span, why)
        return tuple(paid)

    def done(self, what: str) -> None:
        """Checks that nothing follows the last word of a game."""
        if self.next.kind != "end":
            self.fail("GD0802", f"something stands behind {what}", self.next.span, "from here on")

    def fail(
        self, code: str, message: str, span: Span, why: str, help: str = "",
        notes: tuple[Note, ...] = (),
    ) -> NoReturn:  # fmt: skip
        self.problems.add(code, message, span, why=why, help=help, notes=notes)
        raise WrongFile

    def expected(self, what: str) -> NoReturn:
        token = self.next
        if token.kind == "end":
            last = max(len(self.source.text.rstrip()) - 1, 0)
            span = Span(self.source, last, last + 1)
            self.fail("GD0802", f"the file ends where {what} should be", span, "the end")
        shown = f'"{token.text}"' if token.kind == "text" else f"`{token.text}`"
        shown = shown if len(shown) <= 40 else f"{shown[:36]} …"
        self.fail("GD0802", f"expected {what}, found {shown}", token.span, "not this")
