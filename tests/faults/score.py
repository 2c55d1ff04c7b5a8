"""The score of each fault: its twin is clean, it is caught, and the report of it is true."""

from __future__ import annotations

from pathlib import Path

from gamedsl.diagnostics import Diagnostic
from tests.faults.case import Case
from tests.faults.corpus import Fault, checked, misses
from tests.faults.replay import CHECKS

_twins: dict[str, list[Diagnostic]] = {}


def wrong_with(fault: Fault, folder: Path) -> list[str]:
    """Returns everything that is wrong with the compiler's report of a fault and of its twin, and
    with the witness; empty where it is caught. A crash of the compiler is a miss."""
    try:
        return _wrong_with(fault, folder)
    except Exception as error:  # whatever it is, no file may bring it about
        return [f"{type(error).__name__}: {error}"]


def _wrong_with(fault: Fault, folder: Path) -> list[str]:
    if fault.good not in _twins:
        _twins[fault.good] = checked(fault, fault.twin(), folder / "twin").diagnostics
    wrong = [f"of the twin: {d.severity}[{d.code}] {d.message}" for d in _twins[fault.good]]
    broken = checked(fault, fault.broken(), folder / "broken")
    wrong += misses(fault, broken.diagnostics)
    check = CHECKS.get(fault.code)
    if check is not None and any(d.code == fault.code for d in broken.diagnostics):
        wrong += [f"second check: {line}" for line in check(Case(fault, broken, folder))]
    return wrong
