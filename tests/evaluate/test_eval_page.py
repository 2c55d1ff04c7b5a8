"""The page on evaluating shows what the command prints, and its Python runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gamedsl.cli import main

PAGE = (Path(__file__).parents[2] / "docs" / "eval.md").read_text(encoding="utf-8")


def test_the_output_shown_is_the_commands(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    shown = re.findall(r"```console\n\$ gamedsl (.*)\n((?s:.*?))```", PAGE)
    assert shown
    for argv, wanted in shown:
        assert main(argv.split()) == 0
        out = capsys.readouterr().out
        assert "".join(f"{line.rstrip()}\n" for line in out.splitlines()) == wanted


def test_the_python_shown_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n((?s:.*?))```", PAGE)
    exec(compile(code, "eval.md", "exec"), {})
    assert "equilibrium random 0.111" in capsys.readouterr().out
