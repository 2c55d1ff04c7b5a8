"""Every place in the compiler that reports a problem is reached by a case file, or by a test of the
bounds, whose files are long."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType

import pytest

import gamedsl
from gamedsl.compiler import compile_file
from gamedsl.diagnostics.model import Problems
from gamedsl.recipe.resolve import override, resolve
from tests.diagnostics.expectations import case_files
from tests.language import test_bounded_types as types
from tests.language import test_bounds as bounds

ROOT = Path(__file__).parent.parent.parent
PACKAGE = Path(gamedsl.__file__).parent
OTHERS = {"library.py", "resolve.py", "start.py"}
"""Modules of `sema` and `recipe` whose cases are elsewhere."""
LOOKED_AT = "claims", "prompt_aliasing", "payoffs", "plays", "reachability", "rewards"
"""Passes all of whose reports are reached; the others have tests of their own."""
MODULES = [
    *(PACKAGE / "frontend" / "syntax").glob("*.py"),
    *(path for path in (PACKAGE / "sema").glob("*.py") if path.name not in OTHERS),
    *(path for path in (PACKAGE / "recipe").glob("*.py") if path.name not in OTHERS),
    *(PACKAGE / "analysis" / f"{name}.py" for name in LOOKED_AT),
]


def reports(path: Path) -> Iterator[tuple[str, int]]:
    """The file and line of every `problems.add(...)`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of = node.func.value
            name = of.id if isinstance(of, ast.Name) else getattr(of, "attr", "")
            if node.func.attr == "add" and name == "problems":
                yield str(path), node.lineno


@pytest.mark.slow
def test_every_report_is_reached(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT)
    wanted = {place for path in MODULES for place in reports(path)}
    assert len(wanted) > 50
    reached: set[tuple[str, int]] = set()
    add = Problems.add

    def noted(self: Problems, *args: object, **more: object) -> None:
        frame: FrameType = sys._getframe(1)
        code: CodeType = frame.f_code
        for place in wanted:
            if place[0] == code.co_filename and place[1] == frame.f_lineno:
                reached.add(place)
        add(self, *args, **more)

    monkeypatch.setattr(Problems, "add", noted)
    for path in case_files():
        compile_file(path.relative_to(ROOT))
    for name in types.TYPES:
        types.test_types_are_bounded(name, tmp_path)
    bounds.test_records_of_records_are_bounded(tmp_path)
    bounds.test_stages_of_stages_are_bounded(tmp_path)
    given = [override("preset", "ppo")]  # what is given beside a file has no case of its own
    resolve(gamedsl.load("guess_in_words").ir, given, Problems())
    missing = sorted(f"{Path(file).name}:{line}" for file, line in wanted - reached)
    assert not missing, " ".join(missing)
