"""What number a text states, and what an arithmetic expression comes to."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamedsl.calls.numbers import MAX_BITS, MAX_EXPRESSION, arithmetic, evaluated, stated_number
from gamedsl.calls.registry import lookup

STATED = {
    "12": 12,
    " -12.50 ": Fraction(-25, 2),
    "−3": -3,
    "It is 12.": 12,
    "1,234,567": 1234567,
    "3/4": Fraction(3, 4),
    "-3 / 4": Fraction(-3, 4),
    "$12": 12,
    "x = 12": 12,
    "**12**": 12,
    "(5)": 5,
    "12: that is it": 12,
    "5 + 7 = 12\n#### 12": 12,
    "5 + 7\nanswer: 12": 12,
    "First 3, then 4. The answer is 7.": 7,
    "The answer is: **7**": 7,
    "Answer = -1/2": Fraction(-1, 2),
    "2 and 3.\nFinal answer:\n\n 5": 5,
    "so $\\boxed{ 12 }$ with 3 apples": 12,
    "My answer is \\boxed{12}": 12,
    "#### The answer is 12": 12,
    "answer: 12 apples": 12,
    "answer: 12\n#### 12.0": 12,
    "007": 7,
}
NOT_STATED = [
    "", "twelve", "12 13", "12 or 13", "2+3", "3x", "x3", "1e5", "50%", "50 %", "12:30", "1.2.3",
    "1,23", "12,3456", "5/0", "1.5/2", "3 1/2", "12²", "½", "–12", "x - 12", "x * 12", "12 + x",
    "2*3", "*12", "12_000", "--12", "word-3", "٣", "answer: twelve, that is 12", "answer: not 12",
    "answer: about 12", "answer: 12 or 13", "answer: 12\nanswer: 13", "answer: 12 answer: 13",
    "#### \n", "\\boxed{12", "\\boxed{\\frac{1}{2}}", "\\boxed{}", "answer: 12 = 3 * 4",
    "answer: is it 12?", "1" * 400, "12 " + " " * 30_000,
]  # fmt: skip
VALUES = {
    "1+2*3": 7,
    "(1+2)*3": 9,
    "0.1 + 0.2": Fraction(3, 10),
    "1/3": Fraction(1, 3),
    "8/4/2": 1,
    "10 - 2 - 3": 5,
    "2**3**2": 512,
    "-2**2": -4,
    "(-2)**2": 4,
    "2**-1": Fraction(1, 2),
    "0**0": 1,
    "1**99999999999": 1,
    "(-1)**99999999999": -1,
    "0**99999999999": 0,
    "--3": 3,
    "+-+3": -3,
    " 7\n": 7,
    "007": 7,
    "2**1000": 2**1000,
}
NO_VALUES = [
    "", " ", "x", "1+", "*1", "(1", "1)", "()", "1 2", "1//2", "1 % 2", "2^3", "1,000", "1e5",
    "0x10", "1_000", "1.", ".5", "1/0", "1/(2-2)", "0**-1", "2**0.5", "2**2000", "9**9**9**9",
    "2 ** 1024 * 2", "1.2.3", "1 = 1", "1+1=", "2 × 3", "٣", "abs(1)",
    "__import__('os')", "1;2", "1 * * 2",
    "(" * 60 + "1" + ")" * 60, "-" * 60 + "1", "1" + "+1" * MAX_EXPRESSION, "1" * 400,
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), STATED.items())
def test_a_number_that_a_text_states(text: str, value: Fraction) -> None:
    assert stated_number(text) == value


@pytest.mark.parametrize("text", NOT_STATED)
def test_texts_that_state_no_number_for_sure(text: str) -> None:
    assert stated_number(text) is None


def test_the_same_number_and_none() -> None:
    same = lookup("same_number")
    assert same is not None
    assert same.call(text="answer: 0.5", value=Fraction(1, 2)) is True
    assert same.call(text="answer: 0.5", value=1) is False
    assert same.call(text="nothing", value=None) is False


@pytest.mark.parametrize(("text", "value"), VALUES.items())
def test_expressions(text: str, value: Fraction) -> None:
    assert arithmetic(text) == {"ok": True, "value": value}


@pytest.mark.parametrize("text", NO_VALUES)
def test_what_is_no_expression(text: str) -> None:
    assert arithmetic(text) == {"ok": False, "value": None}


Tree = tuple[str, Fraction | None]


def joined(parts: tuple[Tree, str, Tree]) -> Tree:
    """An expression in parentheses of two, with its value worked out by `fractions`."""
    (left, x), operator, (right, y) = parts
    text = f"({left} {operator} {right})"
    if x is None or y is None:
        return text, None
    match operator:
        case "+":
            value: Fraction | None = x + y
        case "-":
            value = x - y
        case "*":
            value = x * y
        case "/":
            value = x / y if y else None
        case _:
            small = y.denominator == 1 and abs(y) <= 4 and (x or y >= 0)
            value = Fraction(x**y.numerator) if small else None
    if operator == "**" and value is None:
        return f"({left})", x
    return text, value


def signed(tree: Tree) -> Tree:
    text, value = tree
    return f"(-{text})", None if value is None else -value


LEAVES = st.one_of(
    st.integers(0, 99).map(lambda n: (str(n), Fraction(n))),
    st.decimals(0, 9, places=2).map(lambda d: (format(d, "f"), Fraction(d))),
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "**"]), inner).map(joined),
        inner.map(signed),
    ),
    max_leaves=8,
)


def too_large(value: Fraction) -> bool:
    return max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS


@given(TREES)
def test_expressions_come_to_what_fractions_do(tree: Tree) -> None:
    text, value = tree
    found = evaluated(text)
    assert found == value or (found is None and value is not None and "**" in text), text


@given(st.text(alphabet="0123456789.+-*/() ", max_size=60))
def test_no_text_breaks_it_and_python_agrees(text: str) -> None:
    found = evaluated(text)
    if found is not None and "/" not in text and "." not in text and "**" not in text:
        assert found == eval(
            " ".join(p.lstrip("0") or "0" if p.isdigit() else p for p in split(text))
        )


def split(text: str) -> list[str]:
    """Numbers and signs, each on its own: Python takes no leading zeros."""
    import re

    return re.findall(r"[0-9]+|\S", text)


@given(st.text(max_size=80))
def test_no_text_breaks_the_reader_of_numbers(text: str) -> None:
    stated_number(text)
    stated_number("answer: " + text)
