"""What records of two runs may differ in."""

from __future__ import annotations

from typing import Any

import pytest

from tests.train.nearness import near

RECORD = {"lr": 2e-4, "loss": -2e-8, "said": "a word", "games": 8, "rewards": [0.5, 1.0]}


@pytest.mark.parametrize(
    "other",
    [{"lr": 2.0001e-4}, {"loss": 5e-8}, {"rewards": [0.5, 1.0004]}],
    ids=["number", "zero", "list"],
)
def test_rounding_is_near(other: dict[str, Any]) -> None:
    assert near(RECORD, RECORD | other, 1e-3)
    assert near(RECORD | other, RECORD, 1e-3)


@pytest.mark.parametrize(
    "other",
    [
        {"lr": 2.1e-4}, {"loss": 2e-6}, {"said": "another"}, {"games": 9}, {"rewards": [0.5]},
        {"rewards": [0.5, 1.01]}, {"lr": None}, {"lr": {}}, {"more": 1},
    ],
    ids=["rate", "loss", "text", "count", "length", "item", "nothing", "kind", "key"],
)  # fmt: skip
def test_other_values_are_not_near(other: dict[str, Any]) -> None:
    assert not near(RECORD, RECORD | other, 1e-3)
    assert not near(RECORD | other, RECORD, 1e-3)
