"""Every broken game is caught, with the right code and place, and its witness holds."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from gamedsl.diagnostics import codes
from tests.faults.case import Case
from tests.faults.corpus import HERE, Fault, checked, faults, misses
from tests.faults.replay import CHECKS
from tests.faults.score import wrong_with

FAULTS = tuple(faults())


def _marks(fault: Fault) -> list[pytest.MarkDecorator]:
    """Returns the marks of a fault: two of each code are tried by default, and all by `pytest -m
    slow`."""
    quick = [other for other in FAULTS if other.code == fault.code and not other.slow]
    return [] if fault in quick[:2] else [pytest.mark.slow]


@pytest.mark.parametrize("fault", [pytest.param(f, id=f.id, marks=_marks(f)) for f in FAULTS])
def test_fault(fault: Fault, tmp_path: Path) -> None:
    wrong = wrong_with(fault, tmp_path)
    if fault.xfail:
        assert wrong, "it is caught now: take its `xfail` out"
        pytest.xfail(fault.xfail)
    assert not wrong, "\n".join(wrong)


def test_a_wrong_code_or_place_is_a_miss(tmp_path: Path) -> None:
    fault = FAULTS[0]
    found = checked(fault, fault.broken(), tmp_path).diagnostics
    assert not misses(fault, found)
    assert misses(fault, [])
    assert misses(replace(fault, code="GD0437"), found)
    assert misses(replace(fault, at="«payoffs»:"), found)
    assert misses(replace(fault, also=("GD0474",)), found)


@pytest.mark.slow
@pytest.mark.parametrize("code", sorted(CHECKS))
def test_second_checks_can_fail(code: str, tmp_path: Path) -> None:
    """Of the good game, the witness of the broken one shows nothing."""
    fault = next(f for f in FAULTS if f.code == code and not f.xfail)
    said = checked(fault, fault.broken(), tmp_path / "broken")
    case = Case(replace(fault, change={}), said, tmp_path)
    try:
        assert CHECKS[code](case)
    except (ValueError, KeyError):
        return  # what is to be played, or put out, is not there


def test_the_corpus_is_large_and_even() -> None:
    """Two faults a code at least, each with a name of its own; every game is used."""
    count = Counter(fault.code for fault in FAULTS)
    assert len(FAULTS) >= 100
    assert min(count.values()) >= 2
    assert count.keys() <= set(codes.codes())
    assert len({fault.id for fault in FAULTS}) == len(FAULTS)
    own = {path.stem for path in (HERE / "games").glob("*.yaml")}
    assert own <= {fault.game for fault in FAULTS}


def test_published_bugs_are_among_them() -> None:
    """TextArena's Kuhn, whose chips make no zero sum; Pgx's, which merges information sets."""
    caught = {(fault.code, part) for fault in FAULTS for part in fault.name.split("_")}
    assert {("GD0470", "textarena"), ("GD0530", "pgx"), ("GD0531", "pgx")} <= caught
