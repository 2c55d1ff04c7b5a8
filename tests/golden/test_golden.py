"""Every shipped file still means, says and pays what was reviewed."""

from __future__ import annotations

from pathlib import Path

import pytest

from gamedsl.calls.registry import lookup
from gamedsl.sema.library import FOLDERS
from tests.golden.printing import show

ROOT = Path(__file__).parent.parent.parent
HERE = Path(__file__).parent
SHIPPED = [path for folder in FOLDERS.values() for path in sorted((ROOT / folder).glob("*.yaml"))]


def golden_of(path: Path) -> Path:
    return HERE / path.parent.name / f"{path.stem}.txt"


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_golden(path: Path, monkeypatch: pytest.MonkeyPatch, update_golden: bool) -> None:
    monkeypatch.chdir(ROOT)
    runner = lookup("run_python")
    assert runner is not None
    if runner.name in path.read_text(encoding="utf-8") and (why := runner.missing_here()):
        pytest.skip(why)
    text, golden = show(path), golden_of(path)
    if update_golden:
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    assert golden.is_file(), "nothing was reviewed yet: run with --update-golden and read the diff"
    assert text == golden.read_text(encoding="utf-8")


def test_there_is_something_of_each_kind() -> None:
    assert {path.parent.name for path in SHIPPED} == set(FOLDERS.values())


def test_nothing_is_golden_that_is_not_shipped() -> None:
    assert set(HERE.glob("*/*.txt")) <= set(map(golden_of, SHIPPED))
