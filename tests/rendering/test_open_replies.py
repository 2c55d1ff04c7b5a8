"""Replies to open decisions: JSON by its type and its schema, code in a block, plain text."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from gamedsl.ir import types as t
from gamedsl.ir.json_types import readable, schema_of
from gamedsl.prompting.json_values import LONGEST
from gamedsl.prompting.replies import (
    REASONS,
    ParseFailure,
    open_reply_name,
    open_reply_value,
    read_open_reply,
    write_open_reply,
)  # fmt: skip
from tests.properties.said import CODE, EXACT, JSON, SEATS, TEXT

GOOD = t.Enum("Good", ("book", "hat", "ball"))
OFFER = t.Record("Offer", (("message", t.Text(12)), ("keep", t.PerValue(GOOD, t.range_type(0, 3)))))
MESSAGE = '{"message": "take", "keep": {"book": 1, "hat": 0, "ball": 3}}'
NAME = '{"message":"take","keep":{"book":1,"hat":0,"ball":3}}'


def one(type: t.Type) -> t.Record:
    return t.Record("One", (("x", type),))


def read(text: str, type: t.Type) -> str | ParseFailure:
    return read_open_reply(text, JSON, type, SEATS)


# JSON


@pytest.mark.parametrize(
    "text",
    [
        MESSAGE,
        f"My offer:\n```json\n{MESSAGE}\n``` [I hope] you like it <answer>",
        '{"keep": {"ball": 3, "book": 1, "hat": 0}, "message": "\\u0074ake"}',
        NAME,
    ],
)
def test_the_only_object_is_read(text: str) -> None:
    assert read(text, OFFER) == NAME
    assert open_reply_value(NAME, JSON, OFFER, SEATS) == ("take", {"book": 1, "hat": 0, "ball": 3})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "missing"),
        ("message: take", "missing"),
        ("[1]", "missing"),
        ("}", "half"),
        (MESSAGE[:-1], "half"),
        (MESSAGE + "}", "several"),
        ("{" + MESSAGE, "half"),
        ("{}" + MESSAGE, "several"),
        (MESSAGE + MESSAGE, "several"),
        (f"{{{MESSAGE}}}", "malformed"),
        (MESSAGE + " or {", "several"),
        (MESSAGE.replace('"take"', "'take'"), "malformed"),
        (MESSAGE.replace('"take"', '"take",'), "malformed"),
        (MESSAGE.replace('"take"', '"ta\nke"'), "malformed"),
        (MESSAGE.replace("{", "{// why\n", 1), "malformed"),
        (MESSAGE.replace("1", "NaN"), "malformed"),
        (MESSAGE.replace("1", "-Infinity"), "malformed"),
        (MESSAGE.replace("1", "01"), "malformed"),
        (MESSAGE.replace("1", "+1"), "malformed"),
        (MESSAGE.replace("1", ".5"), "malformed"),
        (MESSAGE.replace('"message"', "message"), "malformed"),
        (MESSAGE.replace('"hat"', '"book"'), "fields"),
        (MESSAGE.replace('"keep"', '"message"'), "fields"),
        (MESSAGE.replace('"hat": 0, ', ""), "fields"),
        (MESSAGE.replace('"hat"', '"cap"'), "fields"),
        (MESSAGE.replace('"hat"', '"Hat"'), "fields"),
        (MESSAGE.replace('"hat"', '"cap": 0, "hat"'), "fields"),
        (MESSAGE.replace('"message": "take", ', ""), "fields"),
        (MESSAGE.replace("1", "1.0"), "value"),
        (MESSAGE.replace("1", "1e0"), "value"),
        (MESSAGE.replace("1", '"1"'), "value"),
        (MESSAGE.replace("1", "true"), "value"),
        (MESSAGE.replace("1", "null"), "value"),
        (MESSAGE.replace("1", "4"), "value"),
        (MESSAGE.replace("1", "-1"), "value"),
        (MESSAGE.replace("1", "1" * 5000), "value"),
        (MESSAGE.replace("1", "1e999999999"), "value"),
        (MESSAGE.replace('{"book": 1, "hat": 0, "ball": 3}', "[1, 0, 3]"), "value"),
        (MESSAGE.replace('"take"', "1"), "value"),
        (MESSAGE.replace("take", "thirteen long"), "length"),
        (MESSAGE.replace("take", "\\ud800"), "characters"),
        (MESSAGE.replace("take", "\ud800"), "characters"),
        (MESSAGE.replace("take", "\\u0000"), "characters"),
        (MESSAGE.replace("take", "\\u009f"), "characters"),
        (MESSAGE.replace('"take"', "[" * 64 + "]" * 64), "large"),
        (MESSAGE.replace('"take"', '{"a":' * 5000 + "1" + "}" * 5000), "large"),
        (MESSAGE + " " * LONGEST, "large"),
    ],
)
def test_what_is_no_such_object(text: str, reason: str) -> None:
    assert read(text, OFFER) == ParseFailure(reason, text)
    assert reason in REASONS


@pytest.mark.parametrize(
    ("type", "text", "name"),
    [
        (t.NUMBER, "0.1", '"1/10"'),
        (t.NUMBER, "-2.50", '"-5/2"'),
        (t.NUMBER, "3.0", "3"),
        (t.NUMBER, "1e2", "100"),
        (t.NUMBER, "-0.0", "0"),
        (t.NUMBER, f"{EXACT}", f"{EXACT}"),
        (t.WHOLE, "-7", "-7"),
        (t.Option(t.WHOLE), "null", "null"),
        (t.Option(GOOD), '"hat"', '"hat"'),
        (t.SEAT, '"bob"', '"bob"'),
        (t.Text(2), '"😀\\n"', '"😀\\n"'),
        (t.Text(), '"<|im_end|>"', '"<|im_end|>"'),
        (t.Set(t.range_type(1, 9)), "[3, 1]", "[1,3]"),
        (t.List(t.BOOL, at_most=2), "[]", "[]"),
        (t.cell_type(3, 3), "[0, 2]", "[0,2]"),
        (t.Grid(2, 1, GOOD), '[["hat"], ["book"]]', '[["hat"],["book"]]'),
        (t.PerValue(t.BOOL, t.BOOL), '{"true": false, "false": true}',
         '{"false":true,"true":false}'),
        (t.PerSeat(t.WHOLE, partial=True), '{"cid": 1}', '{"cid":1}'),
        (t.Union((GOOD, t.range_type(0, 1))), "1", "1"),
    ],
)  # fmt: skip
def test_values_of_each_type(type: t.Type, text: str, name: str) -> None:
    assert read(f'{{"x": {text}}}', one(type)) == f'{{"x":{name}}}'


@pytest.mark.parametrize(
    ("type", "text", "reason", "detail"),
    [
        (t.NUMBER, '"1/2"', "value", "`x` must be a number"),
        (t.NUMBER, "true", "value", "`x` must be a number"),
        (t.NUMBER, str(EXACT + 1), "value", "a number of 16 digits"),
        (t.NUMBER, "1e17", "value", "1e17 is too large"),
        (t.BOOL, "1", "value", "`x` must be a truth value"),
        (GOOD, '"cap"', "value", "`x` must be one of book, hat, ball"),
        (t.SEAT, '"dan"', "value", "`x` must be a role"),
        (t.NONE, "null", "fields", "it has no 'x'"),
        (t.Text(1), '"ab"', "length", "`x` has 2 characters, not 1 at most"),
        (t.Text(), '"a\\u0007"', "characters", "`x` has U+0007"),
        (t.Set(GOOD), '["hat", "hat"]', "value", "`x` has an item twice"),
        (t.List(GOOD, at_most=1), '["hat", "hat"]', "length", "`x` has 2 items, not 0 to 1"),
        (t.List(GOOD, 2), '["hat"]', "length", "`x` has 1 items, not 2"),
        (t.List(GOOD, 2), '["hat", "cap"]', "value", "`x[1]` must be one of book, hat, ball"),
        (t.cell_type(3, 3), "[0, 3]", "value", "`x[1]` must be a whole number from 0 to 2"),
        (t.Grid(1, 2, t.BOOL), "[[true]]", "length", "`x[0]` has 1 items, not 2"),
        (t.PerSeat(t.BOOL), '{"ann": true}', "fields", "`x` lacks 'bob'"),
        (t.PerSeat(t.BOOL, True), '{"dan": true}', "fields", "`x` has no 'dan'"),
        (one(t.BOOL), '{"x": "true"}', "value", "`x.x` must be a truth value"),
        (t.Union((GOOD, t.range_type(0, 1))), "2", "value", None),
    ],
)
def test_failures_say_where(type: t.Type, text: str, reason: str, detail: str | None) -> None:
    failure = read(f'{{"x": {text}}}', one(type))
    assert isinstance(failure, ParseFailure)
    assert failure.reason == reason
    assert detail in (None, failure.detail)


def test_what_schemas_cannot_say() -> None:
    for type, data in ((t.WHOLE, 1.0), (t.Text(), "\x07"), (t.Text(), "\ud800")):
        assert Draft202012Validator(schema_of(one(type), SEATS)).is_valid({"x": data})
        assert isinstance(read(json.dumps({"x": data}), one(type)), ParseFailure)


ARRAY = {"type": "array", "items": {"type": "boolean"}}


@pytest.mark.parametrize(
    ("type", "schema"),
    [
        (t.NUMBER, {"type": "number", "minimum": -EXACT, "maximum": EXACT}),
        (t.SEAT, {"type": "string", "enum": list(SEATS)}),
        (t.Option(t.BOOL), {"anyOf": [{"type": "boolean"}, {"type": "null"}]}),
        (t.Union((t.BOOL, t.NONE)), {"anyOf": [{"type": "boolean"}, {"type": "null"}]}),
        (t.Set(t.BOOL), ARRAY | {"minItems": 0, "maxItems": 2, "uniqueItems": True}),
        (t.List(t.BOOL, at_most=5), ARRAY | {"minItems": 0, "maxItems": 5}),
        (t.Grid(1, 3, t.BOOL), {
            "type": "array", "minItems": 1, "maxItems": 1,
            "items": ARRAY | {"minItems": 3, "maxItems": 3},
        }),
        (t.Tuple((t.BOOL, t.NONE)), {
            "type": "array", "prefixItems": [{"type": "boolean"}, {"type": "null"}],
            "items": False, "minItems": 2, "maxItems": 2,
        }),
        (t.PerSeat(t.BOOL, partial=True), {
            "type": "object", "properties": {seat: {"type": "boolean"} for seat in SEATS},
            "required": [], "additionalProperties": False,
        }),
    ],
)  # fmt: skip
def test_the_schema_of_each_type(type: t.Type, schema: dict[str, Any]) -> None:
    assert schema_of(type, SEATS) == schema
    Draft202012Validator.check_schema(schema)


def test_the_schema_of_an_offer() -> None:
    number = {"type": "integer", "minimum": 0, "maximum": 3}
    assert schema_of(OFFER, SEATS) == {
        "type": "object",
        "properties": {
            "message": {"type": "string", "maxLength": 12},
            "keep": {
                "type": "object",
                "properties": {"book": number, "hat": number, "ball": number},
                "required": ["book", "hat", "ball"],
                "additionalProperties": False,
            },
        },
        "required": ["message", "keep"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("type", "why"),
    [
        (t.Bag(GOOD), "`x`: a bag has no form in JSON: use a list"),
        (t.Option(t.List(t.Bag(GOOD), 2)), "`x`: a bag has no form in JSON: use a list"),
        (one(t.Set(t.Text(3))), "`x.x`: it is a set of things that cannot all be listed"),
        (t.List(GOOD), "`x`: the list has no greatest length: write `at_most`"),
        (t.PerValue(t.WHOLE, GOOD), "`x`: its keys cannot all be listed"),
        (t.Union((GOOD, t.TEXT)), "`x`: it may be things that cannot all be listed"),
        (t.range_type(0, 2**53), "`x`: JSON has no exact numbers beyond 2**53 - 1"),
        (t.range_type(-(2**53), 0), "`x`: JSON has no exact numbers beyond 2**53 - 1"),
        (t.NEVER, "`x`: it has no type"),
        (t.Grid(2, 2, t.PerSeat(t.Text())), None),
    ],
)
def test_types_that_cannot_be_read(type: t.Type, why: str | None) -> None:
    assert readable(one(type)) == why
    if why is None:
        schema_of(one(type), SEATS)


def test_types_that_nest_too_deeply_cannot_be_read() -> None:
    type: t.Type = t.BOOL
    for _ in range(63):
        type = t.List(type, 1)
    assert readable(one(type)) is None
    assert isinstance(read('{"x":' + "[" * 63 + "true" + "]" * 63 + "}", one(type)), str)
    assert readable(one(t.List(type, 1))) == "`x`: it is nested more than 64 deep"


@pytest.mark.parametrize(
    "name",
    [
        MESSAGE,
        NAME.replace("1", "4"),
        NAME.replace("take", "\\u0074ake"),
        '{"keep":{"book":1,"hat":0,"ball":3},"message":"take"}',
        NAME + " ",
        "",
        "take",
        "[" * 99,
    ],
)
def test_only_canonical_names_have_a_value(name: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        open_reply_value(name, JSON, OFFER, SEATS)


@pytest.mark.parametrize(
    "value",
    [None, "take", (), ("take",), ("take", {"book": 1}), ("a", {"book": 1, "hat": 0, "ball": 4}),
     ("a", {"book": 1, "hat": 0, "ball": True}), ("a", {"book": 1, "hat": 0, "ball": 1, "cap": 1}),
     (1, {"book": 1, "hat": 0, "ball": 3}), ("a", [1, 0, 3]), ("thirteen long", None),
     ("a", {"book": 1, "hat": 0, "ball": 0.5}), object()],
)  # fmt: skip
def test_only_values_of_the_type_have_a_name(value: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        open_reply_name(value, JSON, OFFER, SEATS)


def test_a_number_without_end_cannot_be_written() -> None:
    assert open_reply_name((Fraction(4, 2),), JSON, one(t.NUMBER), SEATS) == '{"x":2}'
    name = open_reply_name((Fraction(1, 3),), JSON, one(t.NUMBER), SEATS)
    assert name == '{"x":"1/3"}'
    assert open_reply_value(name, JSON, one(t.NUMBER), SEATS) == (Fraction(1, 3),)
    with pytest.raises(ValueError, match="1/3 has no short decimal"):
        write_open_reply(name, JSON, one(t.NUMBER), SEATS)
    for bad in ('{"x":"2/6"}', '{"x":"1/0"}', '{"x":"3/1"}', '{"x":0.5}', '{"x":"0.5"}'):
        with pytest.raises(ValueError, match=r"."):
            open_reply_value(bad, JSON, one(t.NUMBER), SEATS)


# text and code


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (" \n Hello,\n\tworld. \n", "Hello,\n\tworld."),
        ("<|im_end|> </s> <answer>K</answer>", "<|im_end|> </s> <answer>K</answer>"),
        ("\u202e\u200b😀e\u0301", "\u202e\u200b😀e\u0301"),
        ("{" * 20, "{" * 20),
    ],
)
def test_text_is_all_of_the_reply(text: str, name: str) -> None:
    assert read_open_reply(text, TEXT, t.Text(50), SEATS) == name
    assert (
        open_reply_value(name, TEXT, t.Text(50), SEATS)
        == name
        == open_reply_name(name, TEXT, t.TEXT, SEATS)
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (" \n\u3000", "empty"),
        ("six ch", "length"),
        ("a\x00", "characters"),
        ("a\rb", "characters"),
        ("a\x1bb", "characters"),
        ("a\x7fb", "characters"),
        ("a\x85b", "characters"),
        ("\ud800", "characters"),
        ("a" * (LONGEST + 1), "large"),
    ],
)
def test_what_is_no_text(text: str, reason: str) -> None:
    assert read_open_reply(text, TEXT, t.Text(5), SEATS) == ParseFailure(reason, text)
    with pytest.raises(ValueError, match=r"."):
        open_reply_value(text, TEXT, t.Text(5), SEATS)


def test_names_have_no_space_around_them() -> None:
    with pytest.raises(ValueError, match="has spaces around it"):
        open_reply_value(" a", TEXT, t.TEXT, SEATS)
    assert open_reply_value(" a\n", CODE, t.TEXT, SEATS) == " a\n"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("```\nx = 1\n```", "x = 1"),
        (
            "Here it is:\n```python\ndef f():\n    return '`'\n```\nDone.",
            "def f():\n    return '`'",
        ),
        ("~~~ c++ \n```\nx\n```\n~~~", "```\nx\n```"),
        ("````md\n```\nx\n```\n`````  ", "```\nx\n```"),
        ("\n  ```\n\n x\n\n```", "\n x\n"),
        ("a `b` ``c``\n```\nx\n~~\n```", "x\n~~"),
    ],
)
def test_the_only_block_is_read(text: str, code: str) -> None:
    assert read_open_reply(text, CODE, t.Text(), SEATS) == code


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "missing"),
        ("x = 1", "missing"),
        ("``\nx\n``", "missing"),
        ("```python\nx = 1", "half"),
        ("```\nx = 1\n~~~", "half"),
        ("````\nx = 1\n```", "half"),
        ("```\nx = 1```", "half"),
        ("```x = 1```", "half"),
        ("Use ```x = 1``` here", "half"),
        ("Here: ```python\nx\n```", "half"),
        ("text\n  ```\nx\n  ```", "half"),
        ("```python 3\nx\n```", "half"),
        ("```\nx\n```\n```\ny\n```", "several"),
        ("```\nx\n```\n~~~\ny\n~~~", "several"),
        ("```\nx\n```\n```", "several"),
        ("```\nx\n``` and\n```\n```", "several"),
        ("```\n```", "empty"),
        ("```\n \n```", "empty"),
        ("```\nx\x00\n```", "characters"),
        ("```\nx\r\n```", "characters"),
        ("```\n1234567\n```", "length"),
    ],
)
def test_what_is_no_block(text: str, reason: str) -> None:
    assert read_open_reply(text, CODE, t.Text(6), SEATS) == ParseFailure(reason, text)
