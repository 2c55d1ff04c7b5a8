"""What tests of peers share: skips with the reason, and packages whose commands are run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import venv
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import gamedsl
from gamedsl.cli import main
from gamedsl.export.table import PEERS

ROOT = Path(__file__).parents[2]
FENCED = re.compile(r"^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@contextmanager
def needed(name: str) -> Iterator[None]:
    """Guards a module's imports: skips it where a peer is not installed, or of another version,
    with the reason. Warnings of the imports are the peer's."""
    problem = PEERS[name].needs.problem()
    if problem is not None:
        pytest.skip(problem, allow_module_level=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def exported(game: str, peer: str, folder: Path, *options: str) -> Path:
    """The folder of a package that the command writes."""
    assert main(["export", game, "--to", peer, "-o", str(folder), *options]) == 0
    return folder


def readme_commands(folder: Path) -> list[list[str]]:
    """The commands of a package's README as words; the first installs it."""
    text = (folder / "README.md").read_text(encoding="utf-8")
    lines = [line for block in FENCED.findall(text) for line in block.splitlines()]
    return [shlex.split(line, comments=True) for line in lines]


def run(
    words: list[str], folder: Path, *, given: str = "", seconds: float = 240, **more: str
) -> str:
    """What a command prints that is run in a folder with the package on the path, as it is after
    the installation; `more` are variables of the environment."""
    path = [str(folder), str(Path(gamedsl.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [_program(words[0]), *words[1:]], cwd=folder, input=given, capture_output=True, text=True,
        timeout=seconds, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path), "OMP_NUM_THREADS": "1", **more},
    )  # fmt: skip
    assert done.returncode == 0, f"{words}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def _program(name: str) -> str:
    """A program of this environment: Python itself, or a script beside it."""
    beside = Path(sys.executable).parent / name
    return sys.executable if name == "python" else str(beside if beside.exists() else name)


def build(folder: Path, to: Path) -> None:
    """Runs the README's first command, `pip install -e .`, in an environment without anything else:
    it builds the package, and its dependencies are those that are here."""
    (words,) = [words for words in readme_commands(folder) if words[0] == "pip"]
    assert words == ["pip", "install", "-e", "."]
    venv.create(to, with_pip=False)
    python = to / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    run(["python", "-m", "pip", "--python", str(python), *words[1:], "--no-deps"], folder)
