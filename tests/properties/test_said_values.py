"""Replies in JSON against their schemas and independent samples; code and text read back."""

from __future__ import annotations

import json
from copy import deepcopy
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from gamedsl.ir import types as t
from gamedsl.ir.json_types import readable, schema_of
from gamedsl.prompting.random_replies import PHRASES, PLAIN_PHRASES, PROGRAMS, random_reply
from gamedsl.prompting.replies import (
    ParseFailure,
    open_reply_name,
    open_reply_value,
    read_open_reply,
    write_open_reply,
)  # fmt: skip
from tests.properties.said import (
    CODE,
    EITHER,
    EXACT,
    JSON,
    SEATS,
    TEXT,
    Kind,
    either,
    objects,
    records,
)


def read(text: str, type: t.Type) -> str | ParseFailure:
    return read_open_reply(text, JSON, type, SEATS)


@given(st.data(), objects)
def test_what_models_write_is_read_and_named(data: st.DataObject, kind: Kind) -> None:
    sample = data.draw(kind.samples)
    assert readable(kind.type, SEATS) is None
    text = json.dumps(sample.data, ensure_ascii=data.draw(st.booleans()))
    name = read(text, kind.type)
    assert name == json.dumps(sample.named, ensure_ascii=False, separators=(",", ":"))
    value = open_reply_value(str(name), JSON, kind.type, SEATS)
    assert value == sample.value
    assert open_reply_name(value, JSON, kind.type, SEATS) == name
    assert read(write_open_reply(str(name), JSON, kind.type, SEATS), kind.type) == name


@given(st.data(), either, st.sampled_from(["", " ", "So: ", "\n"]))
def test_text_or_object_is_told_apart(data: st.DataObject, kind: Kind, before: str) -> None:
    sample = data.draw(kind.samples)
    is_text = isinstance(sample.value, str)
    text = before + (sample.value if is_text else json.dumps(sample.data))
    read = read_open_reply(text, EITHER, kind.type, SEATS)
    braces = "{" in text or "}" in text
    if is_text and (braces or not text.strip()):
        assert isinstance(read, ParseFailure)
    elif not is_text and before.strip():
        assert isinstance(read, ParseFailure)
        assert read.reason == "several"
    else:
        assert isinstance(read, str)
        value = open_reply_value(read, EITHER, kind.type, SEATS)
        assert value == (text.strip() if is_text else sample.value)
        assert open_reply_name(value, EITHER, kind.type, SEATS) == read
        written = write_open_reply(read, EITHER, kind.type, SEATS)
        assert read_open_reply(written, EITHER, kind.type, SEATS) == read


@given(either, st.integers(0, 99))
def test_random_replies_are_texts_and_objects(kind: Kind, seed: int) -> None:
    for number in range(4):
        name = random_reply(EITHER, kind.type, SEATS, Random(seed), number)
        value = open_reply_value(name, EITHER, kind.type, SEATS)
        assert isinstance(value, str) == (number % 2 == 0)
        written = write_open_reply(name, EITHER, kind.type, SEATS)
        assert read_open_reply(written, EITHER, kind.type, SEATS) == name


scalars = (
    st.none() | st.booleans() | st.integers(-3, 5) | st.text(max_size=9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["book", "ann", "", EXACT + 1, -EXACT - 1])
)  # fmt: skip
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


def spoilt(data: Any, draw: st.DataObject) -> Any:
    """Data with one part replaced, left out, repeated or added, at any depth."""
    if isinstance(data, dict | list) and data and draw.draw(st.booleans()):
        place = draw.draw(
            st.sampled_from(list(data) if isinstance(data, dict) else [*range(len(data))])
        )
        data[place] = spoilt(data[place], draw)
        return data
    if isinstance(data, dict) and draw.draw(st.booleans()):
        if data and draw.draw(st.booleans()):
            del data[draw.draw(st.sampled_from(list(data)))]
        else:
            data[draw.draw(st.text(max_size=3))] = draw.draw(anything)
        return data
    if isinstance(data, list) and draw.draw(st.booleans()):
        more = draw.draw(st.sampled_from(data) | anything if data else anything)
        return [*data, deepcopy(more)] if draw.draw(st.booleans()) else data[:-1]
    return draw.draw(anything)


def beyond_schemas(data: Any) -> bool:
    """Whether data has what JSON Schema has no words for: `1.0`, and control characters."""
    if isinstance(data, dict):
        return any(map(beyond_schemas, [*data, *data.values()]))
    if isinstance(data, list):
        return any(map(beyond_schemas, data))
    if isinstance(data, str):
        controls = {*range(0x20), *range(0x7F, 0xA0), *range(0xD800, 0xE000)} - {9, 10}
        return not controls.isdisjoint(map(ord, data))
    return isinstance(data, float) and data.is_integer()


@given(st.data(), records)
def test_the_schema_takes_what_the_reader_takes(data: st.DataObject, kind: Kind) -> None:
    schema = schema_of(kind.type, SEATS)
    if data.draw(st.integers(0, 9)) == 0:
        Draft202012Validator.check_schema(schema)
    written = deepcopy(data.draw(kind.samples).data)
    assert Draft202012Validator(schema).is_valid(written)
    other = spoilt(written, data)
    if isinstance(other, dict) and not beyond_schemas(other):
        name = read(json.dumps(other), kind.type)
        assert isinstance(name, str) == Draft202012Validator(schema).is_valid(other)


@given(st.text(st.sampled_from("ab`~ \n\t"), max_size=20) | st.text(max_size=20))
@example("````\n~~~")
def test_code_and_text_that_are_written_are_read(text: str) -> None:
    for said in (CODE, TEXT):
        try:
            name = open_reply_name(text, said, t.TEXT, SEATS)
        except ValueError:
            assert not text.strip() or beyond_schemas(text) or text != text.strip()
        else:
            assert (
                read_open_reply(write_open_reply(name, said, t.TEXT, SEATS), said, t.TEXT, SEATS)
                == name
            )


@given(records, st.integers(0, 99))
def test_what_is_babbled_can_be_said(kind: Kind, seed: int) -> None:
    schema = Draft202012Validator(schema_of(kind.type, SEATS))
    random, again = Random(seed), Random(seed)
    for _ in range(5):
        name = random_reply(JSON, kind.type, SEATS, random)
        assert random_reply(JSON, kind.type, SEATS, again) == name
        text = write_open_reply(name, JSON, kind.type, SEATS)
        assert read(text, kind.type) == name
        assert schema.is_valid(json.loads(text))


@pytest.mark.parametrize("limit", [None, 1, 7, 30])
def test_babble_keeps_to_its_limit(limit: int | None) -> None:
    type = t.Text(limit)
    for said, phrases in ((TEXT, PHRASES), (CODE, PROGRAMS)):
        names = {random_reply(said, type, SEATS, Random(seed)) for seed in range(99)}
        assert names == {p for p in phrases if limit is None or len(p) <= limit}
        for name in names:
            assert (
                read_open_reply(write_open_reply(name, said, type, SEATS), said, type, SEATS)
                == name
            )
    with pytest.raises(ValueError, match="empty"):
        random_reply(TEXT, t.Text(0), SEATS, Random(0))


@pytest.mark.parametrize("said", [TEXT, JSON], ids=["text", "record"])
def test_plain_words_are_no_odd_texts(said: Any) -> None:
    """A warm-up learns from no markup, no braces and no empty texts."""
    fields = (("body", t.Text(40)), ("tags", t.List(t.Text(8), at_most=3)))
    of = t.Text(40) if said is TEXT else t.Record("note", fields)
    random = Random(0)
    names = [random_reply(said, of, SEATS, random, plain_words=True) for _ in range(300)]
    assert "Why not?" in "".join(names)
    for name in names:
        texts = [name] if said is TEXT else [json.loads(name)["body"], *json.loads(name)["tags"]]
        assert all(text in PLAIN_PHRASES for text in texts)


def test_plain_words_are_sentences() -> None:
    for phrase in PLAIN_PHRASES:
        assert phrase.isascii()
        assert phrase[0].isupper()
        assert phrase.endswith((".", "?"))


@pytest.mark.parametrize(
    ("said", "limit", "names"),
    [(TEXT, 4, {"Yes.", "No."}), (TEXT, 3, {"No."}), (TEXT, 2, {"no"}), (TEXT, 1, {"a"}),
     (CODE, 4, {"x", "pass"})],
)  # fmt: skip
def test_plain_words_fit_short_texts(said: Any, limit: int, names: set[str]) -> None:
    random = Random(0)
    found = {random_reply(said, t.Text(limit), SEATS, random, plain_words=True) for _ in range(99)}
    assert found == names
