"""Numbers and durations as people read them."""

from __future__ import annotations

import pytest

from gamedsl.tables.numbers import duration, number

NUMBERS = {
    0: "0", 1: "1", -1 / 3: "−0.3333", 100: "100", 1234.5: "1234", 9999: "9999", 12000: "12,000",
    -12345.6: "−12,346", 1e9: "1,000,000,000", 0.000123456: "0.0001235", 1e-5: "1e−05",
    1e20: "1e+20", float("inf"): "inf",
}  # fmt: skip
DURATIONS = {
    0: "0 ms", 0.05: "50 ms", 4.23: "4.2 s", 9.97: "10 s", 42: "42 s", 59.7: "1 min",
    725: "12 min 5 s", 3599.6: "1 h", 6012: "1 h 40 min", 100_000: "27 h 46 min",
}  # fmt: skip


@pytest.mark.parametrize("value", NUMBERS)
def test_numbers_are_plain_where_they_can_be(value: float) -> None:
    assert number(value) == NUMBERS[value]


@pytest.mark.parametrize("seconds", DURATIONS)
def test_durations_are_finer_the_shorter_they_are(seconds: float) -> None:
    assert duration(seconds) == DURATIONS[seconds]
