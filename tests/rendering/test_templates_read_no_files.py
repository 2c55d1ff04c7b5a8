"""Templates of a game read no files: there is no loader, and nothing that could open one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gamedsl.compiler import compile_file
from gamedsl.diagnostics.render import render

TEMPLATES = (
    "{% include 'secret.txt' %}",
    "{% include ['none.txt', 'secret.txt'] ignore missing %}",
    "{% import 'secret.txt' as found %}{{ found }}",
    "{% from 'secret.txt' import found %}{{ found }}",
    "{% extends 'secret.txt' %}",
    "{{ cycler.__init__.__globals__.os.popen('cat secret.txt').read() }}",
    "{{ lipsum.__globals__['__builtins__'].open('secret.txt').read() }}",
    "{{ me.__class__.__mro__[1].__subclasses__() }}",
    "{{ me | attr('__class__') }}",
    "{{ 'secret.txt' | include }}",
    "{{ self._TemplateReference__context.environment }}",
)
GAME = """
game: reader
roles: [ann, bob]
actions: [up, down]
protocol: simultaneous
payoffs: 1 if move.ann == move.bob else 0
prompts:
  rules: "TEMPLATE"
"""

opened: set[str] | None = None
"""The paths that were opened, while a test wants to know them."""


def _audit(event: str, args: tuple[object, ...]) -> None:
    if opened is not None and event in ("open", "os.open"):
        opened.add(str(args[0]))


sys.addaudithook(_audit)


@pytest.fixture
def watched() -> Iterator[set[str]]:
    global opened
    opened = set()
    yield opened
    opened = None


@pytest.mark.parametrize("template", TEMPLATES)
def test_templates_read_no_files(
    template: str, watched: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.txt").write_text("swordfish", encoding="utf-8")
    (tmp_path / "reader.yaml").write_text(GAME.replace("TEMPLATE", template), encoding="utf-8")
    watched.clear()
    result = compile_file("reader.yaml")
    assert any(name.endswith("reader.yaml") for name in watched)
    assert not any("secret" in name or "none.txt" in name for name in watched)
    assert not result.ok
    assert {problem.span.line for problem in result.diagnostics} == {8}
    assert "swordfish" not in render(result.diagnostics)
