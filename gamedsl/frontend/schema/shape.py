"""The shape of a file, checked against the JSON Schema that editors load too.

One description of each shape: the schema. jsonschema finds what does not fit, `schema_errors` says
it. What no schema can say (one of two keys, nothing to delete) is checked here as well.
"""

from __future__ import annotations

import json
from collections.abc import Container
from fractions import Fraction
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from gamedsl.diagnostics.fixes import Fix
from gamedsl.diagnostics.model import Note, Problems
from gamedsl.frontend.schema.key_rules import check_actions, check_params, check_steps
from gamedsl.frontend.schema.schema_errors import missing, translate
from gamedsl.frontend.schema.tagged_unions import head_of
from gamedsl.frontend.schema.validator import fits, repeats
from gamedsl.frontend.source.edits import add_entry
from gamedsl.frontend.source.nodes import Mapping, Node, Scalar, Sequence

MOST_ERRORS = 100
_FOLDER = Path(__file__).parent


@cache
def schema(kind: str) -> dict[str, Any]:
    """The schema of a kind of file, with the shared definitions inside it.

    Of `train:` it knows only that it is a map: what is in it is checked where recipes are resolved.
    """
    text = (_FOLDER / f"{kind}.schema.json").read_text(encoding="utf-8")
    whole: dict[str, Any] = json.loads(text.replace('"common.schema.json#/', '"#/'))
    whole["properties"].get("train", {}).pop("$ref", None)
    shared = json.loads((_FOLDER / "common.schema.json").read_text(encoding="utf-8"))
    whole["$defs"] = {**shared["$defs"], **whole.get("$defs", {})}
    _write_out_branches(whole, whole["$defs"])
    return whole


def _write_out_branches(part: Any, defs: dict[str, Any]) -> None:
    """Replace the references of branches with a `head` by what they refer to: what is said about
    one branch needs the keys of all."""
    for inner in part.values() if isinstance(part, dict) else part:
        if isinstance(inner, dict) and "head" in inner and "$ref" in inner:
            inner.update(defs[inner.pop("$ref").removeprefix("#/$defs/")])
        if isinstance(inner, dict | list):
            _write_out_branches(inner, defs)


def plain(node: Node) -> Any:
    """A tree as plain data; numbers stay exact, and whole ones become `int`."""
    if isinstance(node, Mapping):
        return {entry.key.text: plain(entry.value) for entry in node.entries}
    if isinstance(node, Sequence):
        return [plain(item) for item in node.items]
    value = node.value
    return int(value) if isinstance(value, Fraction) and value.denominator == 1 else value


def check_shape(kind: str, root: Mapping, problems: Problems) -> None:
    """Report what in one file, before any merging, does not have the shape of its kind."""
    data, wanted = plain(root), schema(kind)
    if not fits(wanted, data):
        errors = _validator_class()(wanted).iter_errors(data)
        for error in islice(errors, MOST_ERRORS):
            translate(error, root, problems)
    check_params(root, problems)
    check_steps(kind, root, problems)
    check_actions(root, problems)
    if root.get("extends") is None:
        _check_nulls(root, problems)


def check_part(name: str, node: Mapping, problems: Problems) -> bool:
    """Returns whether a part of a file that stands in a text has the shape of one definition of the
    schemas; reported if not."""
    data, wanted = plain(node), {"$ref": f"#/$defs/{name}", "$defs": schema("game")["$defs"]}
    if fits(wanted, data):
        return True
    for error in islice(_validator_class()(wanted).iter_errors(data), MOST_ERRORS):
        translate(error, node, problems)
    return False


@cache
def _validator_class() -> Any:
    """Draft 2020-12, with a `uniqueItems` that stays fast on long lists."""
    from jsonschema import validators
    from jsonschema.exceptions import ValidationError

    def unique(_: Any, wanted: bool, items: Any, schema: Any) -> Any:
        if wanted and isinstance(items, list) and repeats(items):
            yield ValidationError("repeated")

    extend: Any = validators.extend
    return extend(validators.Draft202012Validator, {"uniqueItems": unique})


REQUIRED = ("roles", "payoffs")
"""Sections that a game has, or that the protocols and games that it uses bring."""


def check_complete(
    kind: str, root: Mapping, problems: Problems, brought: Container[str] = ()
) -> None:
    """Report what a game lacks, or has twice, once `extends` is merged. `brought` are the required
    sections that files which it uses stand in for."""
    if kind != "game":
        return
    check_actions(root, problems)
    properties = schema(kind)["properties"]
    for name in REQUIRED:
        if root.get(name) is None and name not in brought:
            missing(name, properties[name], root, "a game", problems)
    protocol, turns = root.entry("protocol"), root.entry("turns")
    if protocol is not None and turns is not None:
        own = root.span.source
        first, second = sorted(
            (protocol, turns), key=lambda e: (e.key.span.source is own, e.key.span.start)
        )
        problems.add(
            "GD0107",
            "a game has `protocol` or `turns`, not both",
            second.key.span,
            why=f"besides `{first.key.text}`",
            notes=(Note(first.key.span, f"`{first.key.text}` is given here"),),
            help=f"delete one; to replace what is extended, write `{first.key.text}: null`",
        )
    elif protocol is None and turns is None:
        problems.add(
            "GD0108",
            "this game says neither `protocol` nor `turns`: nobody would ever move",
            head_of(root),
            why="without either",
            help=Fix(
                "add `protocol: simultaneous`", add_entry(head_of(root), "protocol: simultaneous")
            ),
        )


def _check_nulls(root: Mapping, problems: Problems) -> None:
    for entry in root.entries:
        inner = entry.value.entries if isinstance(entry.value, Mapping) else ()
        for each in (entry, *(() if entry.key.text == "train" else inner)):
            if isinstance(each.value, Scalar) and each.value.value is None:
                problems.add(
                    "GD0117",
                    f"`{each.key.text}: {each.value.text}` deletes, and this file extends nothing",
                    each.value.span,
                    why="deletes an entry of an extended file",
                    help="delete the line, or give a value; `none` is the language's own word",
                )
