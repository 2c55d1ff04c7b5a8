"""Runs of games that call functions of a Python file that was allowed."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

from gamedsl.cli import USAGE, main
from tests.calls.test_call_files import TOOLS, forget, restart

__all__ = ["forget"]

GAME = """
game: vowel_count
roles: [poet]
turns:
  - {role: poet, choose: word, from: [a, bee, eerie]}
  - {draw: line, from: lines, seen_by: nobody}
  - {call: vowels, with: {text: line.text}, gives: found}
payoffs: "found if word == bee else 0"
on_invalid: {then: forfeit, pay: -1}
data: {lines: {file: lines.jsonl, fields: {text: text(9)}}}
"""


def test_run_names_its_file_of_functions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tools.py").write_text(TOOLS, encoding="utf-8")
    Path("game.yaml").write_text(GAME.lstrip(), encoding="utf-8")
    Path("lines.jsonl").write_text('{"text": "aeon"}\n', encoding="utf-8")
    train = ["train", "game.yaml", "--model", "tiny", "--steps", "2", "--format", "concise"]
    train += ["--set", "games=2", "--set", "group_size=2", "--set", "threads=1"]
    assert main([*train, "--allow-calls", "tools.py", "--out", "run"]) == 0
    info = json.loads(Path("run/run.json").read_text(encoding="utf-8"))
    digest = sha256(TOOLS.encode()).hexdigest()
    assert info["calls"] == [{"file": str(tmp_path / "tools.py"), "sha256": digest}]
    more = ["train", "--resume", "run", "--steps", "3", "--format", "concise"]
    restart()
    capsys.readouterr()
    assert main(more) == USAGE
    assert f"--allow-calls {tmp_path / 'tools.py'}" in capsys.readouterr().err
    Path("tools.py").write_text(TOOLS + "# more\n", encoding="utf-8")
    assert main([*more, "--allow-calls", "tools.py"]) == USAGE
    assert "have changed since the run began" in capsys.readouterr().err
    restart()
    Path("tools.py").write_text(TOOLS, encoding="utf-8")
    assert main([*more, "--allow-calls", "tools.py"]) == 0
