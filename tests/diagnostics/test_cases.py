"""Every bad file yields exactly the problems written in it, and every code renders as recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from gamedsl.compiler import compile_file
from gamedsl.diagnostics import codes
from gamedsl.diagnostics.render import render
from tests.diagnostics.expectations import CASES, case_files, differences, expectations
from tests.diagnostics.special import SPECIAL, build, problems_of

ROOT = Path(__file__).parent.parent.parent
SNAPSHOTS = Path(__file__).parent / "snapshots"
HOMES = {"00": "yaml", "01": "shape", "02": "syntax", "03": "names", "04": "game"}
HOMES |= {"05": "prompts", "06": "rewards", "07": "recipes"}
FILES = case_files()


def _recorded(code: str) -> str:
    """The snapshot of a code, whose lines of places name its case; empty without one."""
    snapshot = SNAPSHOTS / f"{code}.txt"
    return snapshot.read_text("utf-8") if snapshot.is_file() else ""


def _shown_cases() -> dict[str, Path]:
    """For each code the case that its snapshot shows: a new case beside it does not displace it.

    A code without a snapshot gets its first case, if possible in the folder of its band.
    """
    first: dict[str, Path] = {}
    strangers: dict[str, Path] = {}
    recorded: dict[str, Path] = {}
    for path in FILES:
        for expected in expectations(path):
            at_home = HOMES.get(expected.code[2:4]) == path.relative_to(CASES).parts[0]
            (first if at_home else strangers).setdefault(expected.code, path)
            if f" {path.relative_to(ROOT)}:" in _recorded(expected.code):
                recorded.setdefault(expected.code, path)
    return {**strangers, **first, **recorded}


SHOWN = _shown_cases()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(CASES)))
def test_case(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    expected = expectations(path)
    assert expected, "a case that expects no problem proves nothing"
    found = compile_file(path.relative_to(ROOT)).diagnostics
    wrong = differences(expected, found)
    assert not wrong, "\n".join([*wrong, "", render(found)])


@pytest.mark.parametrize("code", sorted(SPECIAL))
def test_special(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = problems_of(build(code, tmp_path))
    assert [d.code for d in found] == [code]


@pytest.mark.parametrize("code", sorted({*SHOWN, *SPECIAL}))
def test_snapshot(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, update_golden: bool
) -> None:
    monkeypatch.chdir(ROOT)
    if code in SHOWN:
        found = compile_file(SHOWN[code].relative_to(ROOT)).diagnostics
    else:
        found = problems_of(build(code, tmp_path))
    text = render([d for d in found if d.code == code]) + "\n"
    golden = SNAPSHOTS / f"{code}.txt"
    if update_golden:
        golden.write_text(text, encoding="utf-8")
    assert golden.is_file(), "no snapshot yet: run with --update-golden and review the diff"
    assert text == golden.read_text(encoding="utf-8")


def test_no_snapshot_of_a_code_that_is_gone() -> None:
    recorded = {path.stem for path in SNAPSHOTS.glob("*.txt")}
    assert recorded <= {*SHOWN, *SPECIAL}
    assert recorded <= set(codes.codes())


def test_two_spellings_of_one_option_are_named() -> None:
    (found,) = compile_file(CASES / "names" / "bound_misspelt.yaml").diagnostics
    assert found.help is not None
    assert "`flod` there is `fold` here" in found.help
    (found,) = compile_file(CASES / "names" / "bound_differently.yaml").diagnostics
    assert found.help == "choose another name"
