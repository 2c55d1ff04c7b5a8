"""The schemas are valid, describe every key for editors, and agree with the checks."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from gamedsl.diagnostics.model import Problems
from gamedsl.schema import check, quick
from gamedsl.source import loader

FOLDER = Path(check.__file__).parent
KINDS = ("game", "protocol", "reward")
OURS = {"says", "head"}


def keys(part: Any, place: str = "") -> list[tuple[str, dict[str, Any]]]:
    """Every key that a file may have, with its subschema."""
    found = []
    if isinstance(part, dict):
        properties = part.get("properties")
        for name, sub in (properties if isinstance(properties, dict) else {}).items():
            found.append((f"{place}/{name}", sub))
        for name, sub in part.items():
            found += keys(sub, f"{place}/{name}")
    elif isinstance(part, list):
        for index, sub in enumerate(part):
            found += keys(sub, f"{place}/{index}")
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_valid(kind: str) -> None:
    Draft202012Validator.check_schema(check.schema(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_is_described_for_editors(kind: str) -> None:
    schema = check.schema(kind)
    for place, part in keys(schema):
        told = dict(part)
        if "$ref" in part:
            told = {**schema["$defs"][part["$ref"].rpartition("/")[2]], **part}
        assert told.get("title"), place
        assert told.get("description"), place


@pytest.mark.parametrize("kind", KINDS)
def test_examples_are_valid(kind: str) -> None:
    schema = check.schema(kind)
    checked = 0
    for place, part in keys(schema):
        for example in part.get("examples", ()):
            sub = Draft202012Validator({**part, "$defs": schema["$defs"]})
            assert sub.is_valid(example), (place, example)
            checked += 1
    assert checked


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_key_is_required(kind: str) -> None:
    assert check.schema(kind)["required"][0] == kind


def test_references_resolve_beside_the_file() -> None:
    shared = json.loads((FOLDER / "common.schema.json").read_text(encoding="utf-8"))
    for kind in KINDS:
        text = (FOLDER / f"{kind}.schema.json").read_text(encoding="utf-8")
        own = json.loads(text).get("$defs", {})
        for reference in _references(json.loads(text)):
            file, _, name = reference.partition("#/$defs/")
            assert name in (shared["$defs"] if file == "common.schema.json" else own), reference
    for reference in _references(shared):
        assert reference.removeprefix("#/$defs/") in shared["$defs"]


def _references(part: Any) -> list[str]:
    if isinstance(part, dict):
        inner = [found for sub in part.values() for found in _references(sub)]
        return [part["$ref"], *inner] if isinstance(part.get("$ref"), str) else inner
    return [found for sub in part for found in _references(sub)] if isinstance(part, list) else []


def test_unions_have_words() -> None:
    """A message about a union calls it by `says`; without it the message would be empty."""
    for kind in KINDS:
        for place, part in _unions(check.schema(kind)):
            assert part.get("says"), place


def _unions(part: Any, place: str = "") -> list[tuple[str, dict[str, Any]]]:
    found = []
    if isinstance(part, dict):
        found = [(place, part)] if "anyOf" in part else []
        for name, sub in part.items():
            found += _unions(sub, f"{place}/{name}")
    elif isinstance(part, list):
        for index, sub in enumerate(part):
            found += _unions(sub, f"{place}/{index}")
    return found


def problems_of(text: str, kind: str = "game") -> list[str]:
    problems = Problems()
    root = loader.parse(loader.from_text("x.yaml", text), problems)
    assert root is not None
    check.check_shape(kind, root, problems)
    return [d.code for d in problems.found]


def test_many_problems_are_cut_off() -> None:
    text = "game: x\nlet:\n" + "".join(f"  a{i}: [1]\n" for i in range(5000))
    assert len(problems_of(text)) == check.MOST_ERRORS


def test_long_lists_are_checked_for_repeats_in_time() -> None:
    items = ", ".join(f"a{i}, {i}.5" for i in range(8000))
    assert problems_of(f"game: x\nactions: [{items}]\n") == []
    assert problems_of(f"game: x\nactions: [{items}, a7]\n") == ["GD0118"]


def test_numbers_stay_exact() -> None:
    big = "123456789" * 10
    assert problems_of(f"game: x\nactions: [{big}.25, {big}.75]\n") == []
    assert problems_of(f"game: x\npayoffs: [{big}e200, 1e-300]\nroles: {{a: 2.0}}\n") == []
    assert problems_of("game: x\nroles: {a: 2.5}\n") == ["GD0103"]


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, Any]:
    """Plain data that nearly fits: keys and values of all schemas, well and badly mixed."""
    kind = draw(st.sampled_from(KINDS))
    names = sorted({place.rpartition("/")[2] for place, _ in keys(check.schema(kind))})
    word = st.sampled_from([*names, "all", "masked", "plain", "Up", "a b", "", "run", "number"])
    leaf = word | st.sampled_from([True, False, None, 0, 1, -1, 2, Fraction(1, 2), Fraction(1, 3)])
    tree = st.recursive(
        leaf,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(word, inner, max_size=3),
        max_leaves=8,
    )
    examples = [e for _, part in keys(check.schema(kind)) for e in part.get("examples", ())]
    value = tree | st.sampled_from(examples)
    sections = st.sampled_from(names)
    return kind, {kind: "x", **draw(st.dictionaries(sections, value, max_size=4))}


@settings(max_examples=2000, deadline=None)
@given(documents())
def test_the_quick_answer_is_that_of_jsonschema(document: tuple[str, Any]) -> None:
    kind, data = document
    schema = check.schema(kind)
    assert quick.fits(schema, data) == Draft202012Validator(schema).is_valid(data)
    if kind != "game":
        merged = {**data, "turns": [{"use": "x"}], "split": "1"}
        merged.pop("turns" if kind == "reward" else "split")
        assert quick.fits(schema, merged) == Draft202012Validator(schema).is_valid(merged)


def test_the_quick_check_knows_every_keyword() -> None:
    for kind in KINDS:
        schema = check.schema(kind)
        for part in _schemas(schema):
            assert part.keys() <= {*quick._RULES, *quick._IGNORED}


def _schemas(schema: Any) -> list[dict[str, Any]]:
    if not isinstance(schema, dict):
        return []
    inner = [schema.get(key) for key in ("items", "not", "additionalProperties", "propertyNames")]
    inner += schema.get("anyOf", [])
    for key in ("properties", "$defs"):
        inner += schema.get(key, {}).values()
    return [schema, *(found for sub in inner for found in _schemas(sub))]
