"""Whether data fits a schema: yes or no, at once, without loading jsonschema.

Most files are right, and jsonschema takes longer to import than the rest of a check. So it is asked
only about files that this module turns down; it alone says what is wrong. The part of JSON Schema
that our schemas use is understood, any other keyword raises; a test holds the two to one answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from numbers import Real
from typing import Any

Schema = dict[str, Any]

_OURS = frozenset({"says", "head", "family"})
_IGNORED = frozenset({"$schema", "$defs", "title", "description", "examples"}) | _OURS
_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda data: isinstance(data, dict),
    "array": lambda data: isinstance(data, list),
    "string": lambda data: isinstance(data, str),
    "boolean": lambda data: isinstance(data, bool),
    "null": lambda data: data is None,
    "number": lambda data: isinstance(data, Real) and not isinstance(data, bool),
    "integer": lambda data: isinstance(data, int) and not isinstance(data, bool),
}
_NUMBER = _TYPES["number"]


def fits(schema: Schema, data: Any) -> bool:
    """Whether jsonschema would find nothing wrong with `data`."""
    return _fits(schema, data, schema["$defs"])


def _fits(schema: Schema, data: Any, defs: Schema) -> bool:
    return all(
        _RULES[keyword](wanted, data, schema, defs)
        for keyword, wanted in schema.items()
        if keyword not in _IGNORED
    )


def _type(wanted: str | list[str], data: Any, *_: Any) -> bool:
    return any(_TYPES[name](data) for name in ([wanted] if isinstance(wanted, str) else wanted))


def _reference(wanted: str, data: Any, _: Schema, defs: Schema) -> bool:
    return _fits(defs[wanted.removeprefix("#/$defs/")], data, defs)


def _any_of(wanted: list[Schema], data: Any, _: Schema, defs: Schema) -> bool:
    return any(_fits(branch, data, defs) for branch in wanted)


def _properties(wanted: Schema, data: Any, _: Schema, defs: Schema) -> bool:
    if not isinstance(data, dict):
        return True
    return all(_fits(wanted[key], value, defs) for key, value in data.items() if key in wanted)


def _additional(wanted: Schema | bool, data: Any, schema: Schema, defs: Schema) -> bool:
    if not isinstance(data, dict):
        return True
    known = schema.get("properties", {})
    others = [value for key, value in data.items() if key not in known]
    if isinstance(wanted, bool):
        return wanted or not others
    return all(_fits(wanted, each, defs) for each in others)


def _names(wanted: Schema, data: Any, _: Schema, defs: Schema) -> bool:
    return not isinstance(data, dict) or all(_fits(wanted, key, defs) for key in data)


def _items(wanted: Schema, data: Any, _: Schema, defs: Schema) -> bool:
    return not isinstance(data, list) or all(_fits(wanted, item, defs) for item in data)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


_RULES: dict[str, Callable[[Any, Any, Schema, Schema], bool]] = {
    "type": _type,
    "$ref": _reference,
    "anyOf": _any_of,
    "not": lambda wanted, data, _, defs: not _fits(wanted, data, defs),
    "properties": _properties,
    "additionalProperties": _additional,
    "propertyNames": _names,
    "items": _items,
    "required": lambda wanted, data, *_: not isinstance(data, dict) or data.keys() >= {*wanted},
    "enum": lambda wanted, data, *_: isinstance(data, str) and data in wanted,
    "pattern": lambda wanted, data, *_: (
        not isinstance(data, str) or _compiled(wanted).search(data) is not None
    ),
    "minimum": lambda wanted, data, *_: not _NUMBER(data) or data >= wanted,
    "minLength": lambda wanted, data, *_: not isinstance(data, str) or len(data) >= wanted,
    "minItems": lambda wanted, data, *_: not isinstance(data, list) or len(data) >= wanted,
    "minProperties": lambda wanted, data, *_: not isinstance(data, dict) or len(data) >= wanted,
    "uniqueItems": lambda _, data, *__: not isinstance(data, list) or not repeats(data),
}


def repeats(items: list[Any]) -> bool:
    """Whether an item stands twice in a list; fast on long lists."""
    return len(set(map(repr, items))) < len(items)
