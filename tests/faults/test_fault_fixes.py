"""What the compiler proposes for a broken game can be applied: one error fewer, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from gamedsl.compiler import compile_file
from gamedsl.diagnostics import Diagnostic
from tests.diagnostics.fixing import faults_of_fixes
from tests.faults.corpus import Fault, checked, faults, write

FAULTS = tuple(fault for fault in faults() if not fault.xfail)

SEVERAL = {
    "GD0485-hints_a_forfeit_has_no_price": "plays that are paid may then lack the guess",
}
"""Faults whose fix uncovers what the game has besides."""

ADVICE = frozenset({
    "GD0433", "GD0437", "GD0441", "GD0453", "GD0484", "GD0508",
    "GD0513", "GD0514", "GD0515", "GD0516", "GD0520", "GD0521", "GD0602", "GD0610",
})  # fmt: skip
"""Codes whose help may leave a choice to the author: who should see it, when it ends, what the
words should say. All others have edits."""


def _marks(fault: Fault) -> list[pytest.MarkDecorator]:
    """Returns the marks of a fault: two of each code are tried by default, and all by `pytest -m
    slow`."""
    quick = [other for other in FAULTS if other.code == fault.code and not other.slow]
    return [] if fault in quick[:2] else [pytest.mark.slow]


@pytest.mark.parametrize("fault", [pytest.param(f, id=f.id, marks=_marks(f)) for f in FAULTS])
def test_a_fix_leaves_one_error_fewer(fault: Fault, tmp_path: Path) -> None:
    def compile(path: Path) -> list[Diagnostic]:
        return compile_file(path, fault.params).diagnostics

    wrong = faults_of_fixes(write(fault.broken(), tmp_path), compile)
    assert not wrong or fault.id in SEVERAL, "\n\n".join(wrong)


@pytest.mark.parametrize("fault", [pytest.param(f, id=f.id, marks=_marks(f)) for f in FAULTS])
def test_only_choices_are_left_in_words(fault: Fault, tmp_path: Path) -> None:
    found = checked(fault, fault.broken(), tmp_path).diagnostics
    told = [d for d in found if d.severity == "error" and d.help and not d.edits]
    assert {d.code for d in told} <= ADVICE
