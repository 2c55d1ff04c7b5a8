"""The JSON Schema of `train:` for editors, made from the table of settings.

The compiler does not check `train:` by it: `gamedsl.recipe.resolve` reports wrong settings with
their codes, at their places.
"""

from __future__ import annotations

from typing import Any

from gamedsl.recipe.methods import table
from gamedsl.recipe.setting import SettingSpec


def train_schema() -> dict[str, Any]:
    """The content of `train.schema.json`. A null deletes a setting of an extended file."""
    properties: dict[str, Any] = {}
    for row in table().values():
        head, _, tail = row.name.rpartition(".")
        if head:
            group = properties.setdefault(head, _group(f"The settings of `{head}`."))
            group["properties"][tail] = _described(row)
        else:
            properties[row.name] = _described(row)
    whole = _group("A recipe's settings for this game.")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": "Written by docs/generate.py from gamedsl/recipe/table.py.",
        "$defs": {"train": {**whole, "properties": properties}},
    }


def _group(description: str) -> dict[str, Any]:
    return {
        "description": description, "type": ["object", "null"], "properties": {},
        "patternProperties": {"[.]": {}}, "additionalProperties": False,
    }  # fmt: skip


def _described(row: SettingSpec) -> dict[str, Any]:
    default = {} if row.default is None else {"default": row.plain(row.converted(row.default))}
    return {"description": f"{row.doc}; {row.accepts()}", **default, "anyOf": _forms(row)}


def _forms(row: SettingSpec) -> list[dict[str, Any]]:
    """Returns the forms of a value: its kind, its words, and null."""
    words: list[str | None] = [*row.choices, None]
    number: dict[str, Any] = {"type": "integer" if row.kind == "whole" else "number"}
    if row.low is not None:
        number["exclusiveMinimum" if row.above else "minimum"] = row.low
    if row.high is not None:
        number["maximum"] = row.high
    array: dict[str, Any] = {"type": "array"}
    match row.kind:
        case "word":
            return [{"enum": words}]
        case "flags":
            return [{**array, "items": {"enum": list(row.choices)}}, {"type": "null"}]
        case "whole" | "number":
            form = number
        case "pair":
            form = {**array, "items": number, "minItems": 2, "maxItems": 2}
        case "names":
            form = {**array, "items": {"type": "string"}, "minItems": 1}
        case "list":
            form = array
        case "truth":
            form = {"type": "boolean"}
        case "name":
            form = {"type": "string", "minLength": 1}
        case "map":
            form = {"type": "object"}
    return [form, {"enum": words}]
