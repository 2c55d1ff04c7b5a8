"""What the compiler proposes for a broken game can be done: one error fewer, and no other.

The edits of a help are applied as they are. A help without edits offers a choice, or needs what
its author alone knows; `remedies.yaml` has the changes of a reader who follows it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from gamedsl.compiler import compile_file
from gamedsl.diagnostics import Diagnostic
from gamedsl.diagnostics.render import render
from tests.diagnostics.fixing import faults_of_fixes, new_errors, solves
from tests.faults.corpus import HERE, Fault, checked, faults, write

FAULTS = tuple(fault for fault in faults() if not fault.xfail)
REMEDIES: dict[str, dict[str, dict[str, str]]] = yaml.safe_load(
    (HERE / "remedies.yaml").read_text(encoding="utf-8")
)
"""The changes that follow the helps of a fault, by the words of the help that they follow."""

LEAVES_ALL = ("accept it", "keep it, if this is meant", "`--param`")
"""Alternatives of a help that change no file."""


@pytest.mark.parametrize(
    "fault", [pytest.param(f, id=f.id, marks=[pytest.mark.slow] * f.slow) for f in FAULTS]
)
def test_every_help_leaves_one_error_fewer(fault: Fault, tmp_path: Path) -> None:
    def compile(path: Path) -> list[Diagnostic]:
        return compile_file(path, fault.params).diagnostics

    path = write(fault.broken(), tmp_path / "broken")
    found = compile(path)
    wrong = faults_of_fixes(path, found, compile)
    unedited = [d for d in found if d.help and not d.edits]
    solved: list[Diagnostic] = []
    for words, change in REMEDIES.get(fault.id, {}).items():
        texts = fault.files(fault.change, change)
        left = checked(fault, texts, tmp_path / "changed").diagnostics
        own = [d for d in unedited if words in d.help and solves(d, found, left)]
        new = [each for d in own for each in new_errors(d, found, left)]
        if new or not own:
            wrong.append(f"`{words}` {'brings' if new else 'solves nothing'}\n{render(new)}")
        solved += own
    wrong += [f"nobody follows `{d.help}`" for d in unedited if d not in solved]
    wrong += [f"nobody follows `{other}`" for d in unedited for other in _untried(fault, d.help)]
    assert not wrong, "\n\n".join(wrong)


def _untried(fault: Fault, help: str) -> list[str]:
    """Returns the alternatives of a help that no remedy follows."""
    known = REMEDIES.get(fault.id, {})
    return [
        part
        for part in help.split(", or ")
        if not part.startswith(LEAVES_ALL) and not any(words in part for words in known)
    ]


def test_remedies_are_of_faults() -> None:
    assert REMEDIES.keys() <= {fault.id for fault in FAULTS}


def test_a_remedy_that_does_nothing_is_seen(tmp_path: Path) -> None:
    fault = next(fault for fault in FAULTS if fault.id in REMEDIES)
    found = checked(fault, fault.broken(), tmp_path).diagnostics
    assert not solves(found[0], found, found)
    assert new_errors(found[0], [], found) == [d for d in found if d.severity == "error"]
