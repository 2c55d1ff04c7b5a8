"""Faults of templates are told in words of templates, and propose what their readers are told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gamedsl.compiler import compile_file
from gamedsl.diagnostics import Diagnostic

FAULTS = [
    ("options | first | join(', ')", "`join` is for lists, and this is a text"),
    ("size | length", "`length` is for lists and texts and maps, and this is a number"),
    ("names | round", "`round` is for numbers, and this is a list"),
    ("names | abs", "`abs` is for numbers, and this is a list"),
    ("size | max", "`max` is for lists and texts and maps, and this is a number"),
    ("pick < 3", "`<` compares two numbers or two texts, and these are a text and a number"),
    ("size in pick", "`in` before a text is for texts, and this is a number"),
    ("3 in size", "what stands behind `in` is for lists and maps and texts, and this is a number"),
    ("-pick", "a sign is for numbers, and this is a text"),
    ("[1, 'a'] | max", "`max` is for a list of numbers, or one of texts"),
    ("pick | trim(3)", "`trim` cannot work with what it is given here"),
    ("names[7]", "there is no `7` in it"),
    ("options | max(attribute='x')", "there is no `x` in it"),
]

GAME = """
game: case
roles: [ann, bob]
params: {size: 3, names: [x, y]}
turns:
  - {role: ann, choose: pick, from: [left, right]}
  - {role: bob, choose: next, from: [left, right]}
payoffs: 0
prompts:
  ask:
    next: |-
      {{ TEMPLATE }} {{ options | join(', ') }}
"""


def problems(template: str, folder: Path, game: str = GAME) -> list[Diagnostic]:
    path = folder / "case.yaml"
    text = game.replace("TEMPLATE", template)
    path.write_text(text.lstrip(), encoding="utf-8")
    return [one for one in compile_file(path).diagnostics if one.severity == "error"]


@pytest.mark.parametrize(("template", "why"), FAULTS)
def test_a_fault_is_told_in_words_of_templates(template: str, why: str, tmp_path: Path) -> None:
    (found,) = problems(template, tmp_path)
    assert (found.code, found.why) == ("GD0518", why)
    assert not re.search(r"__|object|'str'|'int'|tuple|argument", found.why)


HIDDEN = """
game: case
roles: [ann, bob]
types: {Card: {rank: 1..3, suit: [red, black]}}
turns:
  - {draw: secret, from: 1..3, seen_by: ann}
  - {draw: sight, from: 1..3, seen_by: bob}
  - {draw: worth, per: role, from: 1..3, seen_by: owner}
  - {draw: card, from: Card, seen_by: {rank: bob}}
  - {role: bob, say: hint, max_tokens: 20}
  - {role: ann, choose: pick, from: [left, right]}
payoffs: 0
prompts: {ask: {hint: "{{ TEMPLATE }}"}}
"""


def test_only_what_the_reader_is_told_is_offered(tmp_path: Path) -> None:
    (found,) = problems("secrt", tmp_path, HIDDEN)
    offered = found.why.removeprefix("`ask` can name ").split(", ")
    assert {"sight", "worth", "card", "seen", "me"} <= {*offered}
    assert not {"secret", "hint", "pick"} & {*offered}
    assert "secret" not in found.help
