"""The evaluator against Python's own exact arithmetic, and inputs of any kind against crashes."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamedsl.compiler import Result, compile_file
from gamedsl.diagnostics import Problems
from gamedsl.diagnostics.render import render
from gamedsl.diagnostics.spans import Source, Span
from gamedsl.frontend.source.nodes import Scalar
from gamedsl.frontend.syntax.parser import parse_expression
from gamedsl.ir.evaluate import EvaluationError, Scope, evaluate
from gamedsl.ir.types import Never
from gamedsl.sema.scope import Namespace
from gamedsl.sema.typer import Typer

SEATS = ("ann", "bob", "cyd")


@dataclass(frozen=True)
class Sample:
    """The same expression in gamedsl and as Python over `Fraction`s."""

    text: str
    value: Callable[[], object]


def scalar(text: str) -> Scalar:
    return Scalar(text, text, Span(Source("text", text), 0, len(text)))


def compute(text: str) -> object:
    """The value of an expression over three roles. `EvaluationError` where it has none."""
    problems = Problems()
    tree = parse_expression(scalar(text), problems)
    assert tree is not None, render(problems.found)
    typed = Typer(Namespace(SEATS), problems).expression(tree)
    assert not problems.found, render(problems.found)
    return evaluate(typed, Scope(SEATS))


def tried(text: str) -> object:
    """The value of an expression, or what was wrong with it."""
    try:
        return compute(text)
    except (EvaluationError, AssertionError) as error:
        return error


def literal(value: Fraction) -> Sample:
    text = str(value) if value >= 0 else f"(-{-value})"
    if value.denominator != 1:
        text = f"({text})"
    return Sample(text, lambda: value)


def power(a: Sample, b: int) -> Sample:
    return Sample(f"({a.text} ** {b})", lambda: a.value() ** b)


def binary(op: str, a: Sample, b: Sample, brackets: bool) -> Sample:
    run = {
        "+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y,
        "/": lambda x, y: x / y, "//": lambda x, y: Fraction(x // y), "%": lambda x, y: x % y,
        "min": min, "max": max,
    }[op]  # fmt: skip
    if op in ("min", "max"):
        return Sample(f"{op}({a.text}, {b.text})", lambda: run(a.value(), b.value()))
    text = f"({a.text} {op} {b.text})" if brackets else f"({a.text}) {op} ({b.text})"
    return Sample(text if brackets else f"({text})", lambda: run(a.value(), b.value()))


def choice(op: str, a: Sample, b: Sample, c: Sample, d: Sample) -> Sample:
    test = {"<": "__lt__", "<=": "__le__", "==": "__eq__", "!=": "__ne__", ">": "__gt__"}[op]
    return Sample(
        f"({c.text} if {a.text} {op} {b.text} else {d.text})",
        lambda: (c if getattr(a.value(), test)(b.value()) else d).value(),
    )


numbers = st.recursive(
    st.fractions(min_value=-20, max_value=20, max_denominator=8).map(literal),
    lambda inner: st.one_of(
        st.builds(
            binary,
            st.sampled_from(["+", "-", "*", "/", "//", "%", "min", "max"]),
            inner, inner, st.booleans(),
        ),
        st.builds(power, inner, st.integers(-3, 4)),
        st.builds(choice, st.sampled_from(["<", "<=", "==", "!=", ">"]), *[inner] * 4),
    ),
    max_leaves=12,
)  # fmt: skip


@given(numbers)
def test_arithmetic_is_pythons(sample: Sample) -> None:
    try:
        expected = sample.value()
    except ZeroDivisionError:
        problems = Problems()
        tree = parse_expression(scalar(sample.text), problems)
        typed = Typer(Namespace(SEATS), problems).expression(tree)
        if any(d.code == "GD0401" for d in problems.found):
            return
        with pytest.raises(EvaluationError, match="division by zero"):
            evaluate(typed, Scope(SEATS))
        return
    found = tried(sample.text)
    if isinstance(found, EvaluationError):
        assert "digits" in found.message
        size = max(abs(expected.numerator), expected.denominator)
        assert size.bit_length() > 100
        return
    if isinstance(found, AssertionError):
        assert "division by zero" in str(found)
        return
    assert found == expected
    assert isinstance(found, int) == (Fraction(expected).denominator == 1)


@st.composite
def loops(draw: st.DrawFn) -> str:
    """A comprehension of one to three `for`, whose later parts may read the earlier targets."""
    known: list[str] = []
    text = ""
    for name in "xyz"[: draw(st.integers(1, 3))]:
        atoms = st.sampled_from([*known, "0", "1", "2"])
        text += f" for {name} in [{draw(atoms)}, {draw(atoms)} + 1, {draw(atoms)} * 2]"
        known.append(name)
        if draw(st.booleans()):
            sign = draw(st.sampled_from(["<", "<=", "==", "!="]))
            text += f" if {draw(st.sampled_from(known))} {sign} {draw(st.integers(0, 3))}"
    item = " + ".join(f"{10**place} * {name}" for place, name in enumerate(known))
    return f"[{item}{text}]"


@given(loops(), st.sampled_from(["", "sum", "len", "set"]))
def test_comprehensions_are_pythons(text: str, word: str) -> None:
    expected = eval(f"{word}({text})")
    found = tried(f"{word}({text})")
    assert found == (tuple(expected) if isinstance(expected, list) else expected)


flat = st.lists(
    st.tuples(st.sampled_from(["+", "-", "*", "//", "%", "**"]), st.integers(1, 5)), max_size=6
)


@given(st.integers(1, 9), flat)
def test_precedence_is_pythons(first: int, rest: list[tuple[str, int]]) -> None:
    """Without any brackets; `**` is kept small, since it binds to the right."""
    text = str(first)
    powers = 0
    for op, number in rest:
        powers += op == "**"
        text += f" {op} {number if powers == 0 else min(number, 2) if powers < 4 else 1}"
    try:
        expected = eval(text)
    except ZeroDivisionError:
        return
    if isinstance(expected, float) or abs(expected) > 10**300:
        return
    assert compute(text) == expected


truths = st.recursive(
    st.sampled_from(["true", "false"]),
    lambda inner: st.one_of(
        st.builds(lambda a: f"not {a}", inner),
        st.builds(lambda a, op, b: f"{a} {op} {b}", inner, st.sampled_from(["and", "or"]), inner),
        st.builds(lambda a: f"({a})", inner),
    ),
    max_leaves=40,
)


@given(truths)
def test_logic_is_pythons(text: str) -> None:
    assert compute(text) == eval(text.replace("true", "True").replace("false", "False"))


@given(st.lists(st.integers(-5, 5)), st.integers(-5, 5))
def test_collections(items: list[int], wanted: int) -> None:
    text = f"[{', '.join(map(str, items))}]"
    assert compute(f"sum({text})") == sum(items)
    assert compute(f"len({text})") == len(items)
    if items:
        assert compute(f"count({text}, {wanted})") == items.count(wanted)
        assert compute(f"max({text}) - min({text})") == max(items) - min(items)
        assert compute(f"mean({text})") == Fraction(sum(items), len(items))
        assert compute(f"{wanted} in {text}") == (wanted in items)
        assert compute(f"sum(x * i for i, x in {text} if x > 0)") == sum(
            x * i for i, x in enumerate(items) if x > 0
        )


WORDS = (
    "1 2/3 0.5 me other others roles none true false move move.me move[r] x stag if else for in "
    "not and or + - * / // % ** == < > .. ( ) [ ] , . sum( count( max( argmax( r for( 'a' = & é "
    "me.me roles[0] index(me) 9 99999 score score.me f(1) f f(f) 1..3"
)
words = st.sampled_from(WORDS.split())
soup = st.one_of(st.lists(words, max_size=14).map(" ".join), st.text(max_size=30))


@given(soup, soup)
def test_no_expression_crashes_the_compiler(payoff: str, let: str) -> None:
    result = compiled(payoff, let)
    assert result.ok == (result.ir is not None)
    assert result.ok or render(result.diagnostics)
    if result.ir is not None:
        assert not any(isinstance(p.type, Never) for _, p in result.ir.payoffs)


def compiled(payoff: str, let: str) -> Result:
    text = (
        "game: soup\nroles: [row, column]\nactions: [stag, hare]\nprotocol: simultaneous\n"
        f"let:\n  score: 1 if move.me == stag else 0\n  f(n): n\n  x: {json.dumps(let)}\n"
        f"payoffs: {json.dumps(payoff)}\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "soup.yaml"
        path.write_text(text, encoding="utf-8")
        return compile_file(path)
