"""The number that a text states, exactly: `same_number` and `arithmetic`. Nothing is ever
evaluated as code, and no number grows beyond `MAX_BITS`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gamedsl.calls.registry import function
from gamedsl.calls.types import OrNone

MAX_TEXT = 20_000
"""Characters of a text that may state a number."""

MAX_EXPRESSION = 500
"""Characters of an arithmetic expression."""

MAX_NESTING = 50
MAX_BITS = 1024
"""Bits of a numerator, of a denominator, and of what a power may come to."""

MAX_DIGITS = 300

DIGITS = r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)"
NUMBER = re.compile(rf"(?<![0-9A-Za-z_)])([-+−]?)({DIGITS}(?:\.[0-9]+)?)(?:\s?[/⁄]\s?({DIGITS}))?")
"""A number as it is written: a sign, digits that may be grouped by commas, decimals, or a quotient
of two whole numbers."""

MARK = re.compile(r"####|\\boxed\s*\{|\banswer\s*(?:is\b|[:=])\s*:?", re.IGNORECASE)
"""What stands before the number that a text ends up stating."""

OPERATORS = frozenset("+-−‐‑‒–—*/×÷·^⁄")
JOINED_AFTER = OPERATORS | frozenset("=%‰")


def only_number(text: str) -> Fraction | None:
    """The number of a text in which one is written and no other digit stands. None also where it
    may be part of something else: 3x, 1e5, 50%, x - 3, 5/0, 12². Emphasis around it is nothing."""
    match = NUMBER.search(text)
    if match is None or len(match[0]) > MAX_DIGITS:
        return None
    before, after = text[: match.start()], text[match.end() :]
    while before[-1:] == after[:1] and after[:1] in ("*", "`", "$"):
        before, after = before[:-1], after[1:]
    near, far = before.rstrip()[-1:], after.lstrip()[:1]
    if near in OPERATORS or far in JOINED_AFTER or after[:1].isalnum() or after[:1] == "_":
        return None
    if any(map(str.isnumeric, before)) or any(map(str.isnumeric, after)):
        return None
    sign, digits, below = match.groups()
    divisor = int((below or "1").replace(",", ""))
    if not divisor or (below and "." in digits):
        return None
    value = Fraction(digits.replace(",", "")) / divisor
    return -value if sign in ("-", "−") else value


def stated_number(text: str) -> Fraction | None:
    """The one number that a text ends up stating, or None.

    Where it marks an answer (`#### 12`, `answer: 12`, `the answer is 12`, `answer = 12`,
    `\\boxed{12}`), what follows each mark, on its line or in its braces, must hold that number
    alone, with no word before it, and all marks the same. Without a mark, the whole text must hold
    one number alone.
    """
    if len(text) > MAX_TEXT:
        return None
    marks = list(MARK.finditer(text))
    if not marks:
        return only_number(text)
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    values = set()
    for mark, end in zip(marks, ends):
        rest = text[mark.end() : end]
        if end < len(text) and not any(letter.isnumeric() or letter == "\n" for letter in rest):
            continue  # it leads up to the next mark: `#### The answer is 12`
        values.add(_leading(_marked(rest, mark[0])))
    return values.pop() if len(values) == 1 else None


def _marked(rest: str, mark: str) -> str:
    """Returns the text that a mark refers to: the inside of its braces, or the next non-empty
    line."""
    if mark.startswith("\\"):
        inside, brace, _ = rest.partition("}")
        return inside if brace else ""
    return rest.lstrip().partition("\n")[0]


def _leading(part: str) -> Fraction | None:
    """The number of a part in which no letter stands before it."""
    match = NUMBER.search(part)
    known = match and not any(map(str.isalpha, part[: match.start()]))
    return only_number(part) if known else None


@function(
    arguments={"text": "text", "value": OrNone("number")},
    result="bool",
    pure=True,
    version=1,
    time_limit=1,
    on_timeout=False,
)
def same_number(text: str, value: Fraction | None) -> bool:
    """Whether the one number that a text ends up stating is this one, exactly; never where it
    states none or several."""
    return value is not None and stated_number(text) == value


class NotArithmetic(Exception):
    """A text that is no expression, or one whose value is not defined or too large."""


TOKEN = re.compile(r"[ \t\r\n]*(?:([0-9]+(?:\.[0-9]+)?)|(\*\*|[-+*/()]))")
LEVEL = {"+": 1, "-": 1, "*": 2, "/": 2}
"""How strongly the operators bind that group from the left."""


@dataclass
class Reader:
    """Reads an expression from left to right, by precedence climbing: unary minus binds less than
    `**`, as in mathematics, and `**` groups from the right."""

    tokens: list[str]
    at: int = 0
    depth: int = 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1]

    def sum(self, level: int = 1) -> Fraction:
        """A chain of operators that bind at least as strongly as the level."""
        left = self.signed()
        while LEVEL.get(self.peek(), 0) >= level:
            operator = self.take()
            left = _apply(operator, left, self.sum(LEVEL[operator] + 1))
        return left

    def signed(self) -> Fraction:
        """Signs, then a power."""
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise NotArithmetic
        if self.peek() in ("+", "-"):
            negative = self.take() == "-"
            value = -self.signed() if negative else self.signed()
        else:
            value = self.atom()
            if self.peek() == "**":
                self.take()
                value = _power(value, self.signed())
        self.depth -= 1
        return value

    def atom(self) -> Fraction:
        token = self.peek()
        if token == "(":
            self.take()
            value = self.sum()
            if self.peek() != ")":
                raise NotArithmetic
            self.take()
            return value
        if not token[:1].isdigit():
            raise NotArithmetic
        return _bounded(Fraction(self.take()))


def _apply(operator: str, left: Fraction, right: Fraction) -> Fraction:
    match operator:
        case "+":
            return _bounded(left + right)
        case "-":
            return _bounded(left - right)
        case "*":
            return _bounded(left * right)
        case _:  # a division
            pass
    if not right:
        raise NotArithmetic
    return _bounded(left / right)


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1 or (not base and exponent < 0):
        raise NotArithmetic
    if base in (0, 1, -1):
        return base ** (exponent.numerator % 2 + 2 if exponent else 0)
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if (bits - 1) * abs(exponent.numerator) > MAX_BITS:
        raise NotArithmetic
    return _bounded(base**exponent.numerator)


def _bounded(value: Fraction) -> Fraction:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise NotArithmetic
    return value


def evaluated(text: str) -> Fraction | None:
    """The exact value of an arithmetic expression, or None."""
    tokens, end = [], 0
    stripped = text.rstrip(" \t\r\n")
    if len(stripped) > MAX_EXPRESSION:
        return None
    while match := TOKEN.match(stripped, end):
        tokens.append(match[1] or match[2])
        end = match.end()
    reader = Reader(tokens)
    try:
        value = reader.sum()
    except NotArithmetic:
        return None
    return value if end == len(stripped) and reader.at == len(tokens) else None


@function(
    arguments={"text": "text"},
    result={"ok": "bool", "value": OrNone("number")},
    pure=True,
    version=1,
    time_limit=1,
    on_timeout={"ok": False, "value": None},
)
def arithmetic(text: str) -> dict[str, Any]:
    """The exact value of a text that is one arithmetic expression and nothing else: whole and
    decimal numbers, `+ - * / **` and parentheses; not ok where it is anything else, divides by
    zero, takes a root, or has more than 1,024 bits."""
    value = evaluated(text)
    return {"ok": value is not None, "value": value}
