"""Compiling a game that a test writes as text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gamedsl.compiler import Result, compile_file
from gamedsl.ir.game import GameIR
from tests.writing import write


@pytest.fixture
def check(tmp_path: Path) -> Callable[[str], Result]:
    """Compile a game's text."""

    def compile_text(text: str) -> Result:
        return compile_file(write(tmp_path, text))

    return compile_text


@pytest.fixture
def ir(check: Callable[[str], Result]) -> Callable[[str], GameIR]:
    """Compile a game's text that must be clean."""

    def compiled(text: str) -> GameIR:
        result = check(text)
        assert result.ir is not None, result.diagnostics
        assert not result.diagnostics
        return result.ir

    return compiled
