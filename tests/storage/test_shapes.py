"""Shapes say which values fit, where one does not, and how they are written."""

from __future__ import annotations

from typing import Any

import pytest

from gamedsl.storage.shapes import (
    ANY,
    FLAG,
    NULL,
    NUMBER,
    SHARE,
    TEXT,
    WHOLE,
    ArrayOf,
    Fields,
    MapOf,
    Restricted,
    Shape,
    misfit_of,
    optional,
    word,
)

ROW = Fields({"seat": TEXT}, {"probs": MapOf("action", SHARE, least=1)})
PAIR = ArrayOf(NUMBER, 2, 2)


@pytest.mark.parametrize(
    ("shape", "text", "good", "bad"),
    [
        (NUMBER, "number", [0, -1.5, 1e100], [True, "1", None, 1e160, 10**200, [1]]),
        (SHARE, "share", [0, 0.5, 1, 1.0000001], [-1, 2, True]),
        (WHOLE, "whole number", [-3, 2**53], [1.0, True, 2**60]),
        (TEXT, "text", ["", "a"], [1, None]),
        (FLAG, "flag", [True], [1]),
        (NULL, "null", [None], [0, False]),
        (ANY, "any", [None, {}, [1]], []),
        (word("a", "b"), "`a` or `b`", ["a"], ["c", 1, None]),
        (optional(NUMBER), "number or null", [None, 1], ["", []]),
        (PAIR, "[number, number]", [[1, 2]], [[1], [1, 2, 3], [1, "2"], {}, "ab"]),
        (ArrayOf(TEXT, least=1), "[text, …]", [["a"]], [[], "a"]),
        (MapOf("role", NUMBER), "{role: number}", [{}, {"a": 1}], [{"a": None}, [1]]),
        (ROW, '{"seat": text, "probs"?: {action: share, …}}',
         [{"seat": "a"}, {"seat": "a", "probs": {"x": 1}, "more": []}],
         [{}, [], {"seat": 1}, {"seat": "a", "probs": {}}]),
        (Restricted(PAIR, lambda pair: pair[0] < pair[1], "does not rise"), "[number, number]",
         [[1, 2]], [[2, 1], [1]]),
    ],
)  # fmt: skip
def test_values_fit_or_not(shape: Shape, text: str, good: list[Any], bad: list[Any]) -> None:
    assert str(shape) == text
    for value in good:
        assert shape.fits(value)
        assert shape.misfit(value) is None
    for value in bad:
        assert not shape.fits(value)
        assert shape.misfit(value) is not None


@pytest.mark.parametrize(
    ("shape", "value", "told"),
    [
        (NUMBER, [], "it is not number"),
        (ROW, {}, "it has no `seat`"),
        (MapOf("key", ROW), {"a": {"seat": "b", "probs": {"x": "1"}}},
         "its `a.probs.x` is not share"),
        (optional(MapOf("key", ArrayOf(PAIR))), {"odd\x1b[2J": [[0, 1], [0]]},
         "its `'odd\\x1b[2J'.1` has 1 entries, which is not [number, number]"),
        (optional(NUMBER), "", "it is not number or null"),
    ],
)  # fmt: skip
def test_a_misfit_has_its_place(shape: Shape, value: Any, told: str) -> None:
    assert str(misfit_of(value, shape)) == told
