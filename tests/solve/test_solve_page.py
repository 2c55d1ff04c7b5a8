"""docs/solve.md shows what the command prints, and its Python runs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from gamedsl.cli import main

PAGE = (Path(__file__).parents[2] / "docs" / "solve.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"```console\n\$ gamedsl (.*?)\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize(("command", "text"), SHOWN, ids=[command for command, _ in SHOWN])
def test_what_is_shown_is_what_is_printed(command, text, capsys):
    assert main(shlex.split(command)) == 0
    beginning, more, _ = text.partition("…\n")
    assert more
    assert capsys.readouterr().out.startswith(beginning)


def test_the_python_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(code, "solve.md", "exec"), {})
    assert re.search(r"\{'first': -?\d, 'second': -?\d\}\n", capsys.readouterr().out)
    assert list(tmp_path.iterdir()) == []
