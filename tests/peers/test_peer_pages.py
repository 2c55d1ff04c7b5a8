"""The pages "gamedsl with …": their exports are written, their other commands are those of the
package's README, which other tests run, and their Python runs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from gamedsl.cli import main
from gamedsl.export.table import PEERS
from tests.peers import running

FOLDER = running.ROOT / "docs" / "with"
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(name: str, kind: str) -> list[str]:
    text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    return [block for found, block in FENCED.findall(text) if found == kind]


def test_each_peer_has_a_page() -> None:
    assert {page.stem for page in FOLDER.glob("*.md")} == set(PEERS)


@pytest.mark.parametrize("name", PEERS)
def test_commands_are_those_of_the_package(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [line for block in blocks(name, "") for line in block.splitlines()]
    lines.remove(f'pip install ".[{PEERS[name].needs.extra}]"')
    export, change, *others = [shlex.split(line) for line in lines]
    assert main(export[1:]) == 0
    assert change[0] == "cd"
    assert others == running.readme_commands(tmp_path / change[1])


@pytest.mark.parametrize("name", PEERS)
def test_python_runs(name: str) -> None:
    problem = PEERS[name].needs.problem()
    if problem is not None:
        pytest.skip(problem)
    for block in blocks(name, "python"):
        exec(compile(block, name, "exec"), {})
