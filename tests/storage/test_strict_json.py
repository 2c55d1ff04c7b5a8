"""JSON from outside is read as it stands, or refused at a place."""

from __future__ import annotations

import json
import math
import sys
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamedsl.storage.strict_json import Bounds, JsonRefused, exact_number, parse, parse_lines, write

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)  # fmt: skip


@given(PLAIN, st.booleans())
def test_what_json_writes_is_read(value: object, ascii: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii)
    assert parse(text) == value
    assert parse(text.encode("utf-8")) == value


@given(st.text(st.sampled_from('{}[]":,\\ud80019eE-. \nNaInfity\ud800\udc00é'), max_size=30))
def test_texts_are_read_or_refused_at_places(text: str) -> None:
    refused = None
    try:
        assert parse(text) == json.loads(text)
    except JsonRefused as error:
        refused = error
    if refused is not None:
        lines = text.split("\n")
        assert 1 <= refused.line <= len(lines)
        assert 1 <= refused.column <= len(lines[refused.line - 1]) + 1
        assert refused.reason


@pytest.mark.parametrize(
    ("text", "kind", "line", "column"),
    [
        ('{"a": 1,\n "b": 2, "a": 3}', "duplicate", 2, 10),
        ('{"a": {"a": 1}, "b": {"a": 1, "\\u0061": 2}}', "duplicate", 1, 31),
        ("[1, NaN]", "syntax", 1, 5),
        ("[1,\n\n -Infinity]", "syntax", 3, 2),
        ("[1e400]", "number", 1, 2),
        ("[1, 1e-99999999]", "number", 1, 5),
        ("[1" + "0" * 309 + "]", "number", 1, 2),
        ("[0." + "1" * 400 + "]", "number", 1, 2),
        ("[" * 5000 + "]" * 5000, "depth", 1, 65),
        ('{"a":' * 65 + "1" + "}" * 65, "depth", 1, 64 * 5 + 1),
        ('["x", "\\ud800"]', "surrogate", 1, 7),
        ('{"\\udfff": 1}', "surrogate", 1, 2),
        ('["\ud800"]', "surrogate", 1, 2),
        (b'{"a":\n "\xff"}', "encoding", 2, 3),
        ("\ufeff{}", "syntax", 1, 1),
        ('{"a": 1,}', "syntax", 1, 9 if sys.version_info < (3, 13) else 8),  # at the comma
        ('["a\nb"]', "syntax", 1, 4),
        ("", "syntax", 1, 1),
    ],
)
def test_what_is_refused_and_where(text: str | bytes, kind: str, line: int, column: int) -> None:
    for exact in (False, True):
        with pytest.raises(JsonRefused) as caught:
            parse(text, exact=exact)
        assert (caught.value.kind, caught.value.line, caught.value.column) == (kind, line, column)


def test_brackets_and_numbers_in_texts_are_text() -> None:
    text = json.dumps(["[" * 100, '{"a": NaN, "a": 1e999}' * 9, "\\ud800", "\U0001f600"])
    assert parse(text) == json.loads(text)


def test_exact_numbers_are_fractions() -> None:
    assert parse("[0.1, 1e2, 3, -1e-400]", exact=True) == [
        Fraction(1, 10), Fraction(100), 3, Fraction(-1, 10**400),
    ]  # fmt: skip
    assert [type(number) for number in parse("[1.0, 1]", exact=True)] == [Fraction, int]
    assert math.isclose(parse("0.1"), 0.1)


def test_bounds_are_the_callers() -> None:
    assert parse("[1]", limit=3, bounds=Bounds(depth=1, digits=1)) == [1]
    for bounds in (Bounds(depth=0), Bounds(digits=0)):
        with pytest.raises(JsonRefused):
            parse("[1]", bounds=bounds)
    with pytest.raises(JsonRefused):
        parse("[1]", limit=2)
    assert parse("[-7, 7.0]", bounds=Bounds(largest=7)) == [-7, 7]
    for number in ("8", "-8", "7.1", "1e1", "7." + "0" * 20 + "1"):
        with pytest.raises(JsonRefused, match="too large"):
            parse(number, bounds=Bounds(largest=7))
    assert parse('["\\ud800"]', bounds=Bounds(surrogates=True)) == ["\ud800"]


def test_lines_say_their_numbers() -> None:
    assert list(parse_lines('{"a": 1}\r\n\n[2.5]\n', exact=True)) == [
        (1, {"a": 1}), (3, [Fraction(5, 2)]),
    ]  # fmt: skip
    with pytest.raises(JsonRefused, match="line 3, column 2: NaN"):
        list(parse_lines("1\n\n[NaN]"))
    with pytest.raises(JsonRefused, match="at most 3"):
        list(parse_lines("1\n2\n", limit=3))


@given(PLAIN | st.text(st.characters(categories=["Cs", "Lu"])))
def test_what_is_written_is_read(value: object) -> None:
    text = write(value)
    assert "\n" not in text
    assert parse(text.encode("utf-8"), bounds=Bounds(surrogates=True)) == json.loads(text)
    assert json.loads(text) == json.loads(json.dumps(value))


@pytest.mark.parametrize(
    ("text", "number"),
    [("-1/18", Fraction(-1, 18)), ("0.25", Fraction(1, 4)), ("1e-3", Fraction(1, 1000)), ("7", 7)],
)
def test_exact_numbers(text: str, number: Fraction) -> None:
    assert exact_number(text) == number


@pytest.mark.parametrize(
    "text", ["", "x", "1/0", "1/00", "1e999999999", "1e-99999999", "nan", "inf", "9" * 4001, "1 "]
)
def test_texts_that_are_no_exact_numbers(text: str) -> None:
    with pytest.raises(ValueError, match="is not a number"):
        exact_number(text)
