"""The steps of `docs/extending.md`, performed on a copy of the package."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE))
BLOCK = re.compile(r"`([\w/.]+)`:\n\n|^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)

SHOWN = {
    "A built-in: one row": "divisors.yaml",
    "A player: one file and one row": "first:1",
    "A training method: one file and one row": "hunter_1",
    "A pass: one file and one row": "one seat's payoffs differ by at most 4",
    "An exporter: one file and one row": "",
}
"""A text that the commands of each section print."""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package, with the shipped files beside it."""
    shutil.copytree(
        ROOT / "gamedsl", tmp_path / "gamedsl", ignore=shutil.ignore_patterns("__pycache__")
    )
    for name in ("games", "protocols", "rewards", "docs"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


def apply(diff: str, file: Path) -> None:
    """Adds the lines of a diff after its context, and replaces those that it removes."""
    text, lines = file.read_text(encoding="utf-8"), diff.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if line[0] in " -")
    after = "".join(line[1:] for line in lines if line[0] in " +")
    assert text.count(before) == 1, f"{file.name} holds these lines {text.count(before)} times"
    file.write_text(text.replace(before, after), encoding="utf-8")


def perform(section: str, folder: Path) -> str:
    """Performs the steps of a section in order. Returns what its commands print."""
    printed, file = "", ""
    for name, kind, body in BLOCK.findall(section):
        if name:
            file = name
        elif kind == "diff":
            apply(body, folder / file)
        elif kind in ("python", "yaml"):
            (folder / file).write_text(body, encoding="utf-8")
        else:
            for command in body.splitlines():
                printed += run(folder, *shlex.split(command)[1:])
    return printed


def run(folder: Path, *arguments: str) -> str:
    """Runs a command of the copy. Returns its output; an exit code that is not 0 is a failure."""
    environment = os.environ | {
        "PYTHONPATH": str(folder), "GAMEDSL_CACHE": str(folder / "cache"), "COLUMNS": "200",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "gamedsl", *arguments],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_steps_of_the_page_work(copy: Path) -> None:
    assert list(SECTIONS) == list(SHOWN)
    for title, section in SECTIONS.items():
        assert SHOWN[title] in perform(section, copy)
    plays = (copy / "kuhn.csv").read_text(encoding="utf-8").splitlines()
    assert (plays[0], len(plays)) == ("first,second", 1 + 30)

    made = subprocess.run(
        [sys.executable, "-c", "import generate; print('\\n'.join(generate.reference()))"],
        cwd=copy, env=os.environ | {"PYTHONPATH": f"{copy}{os.pathsep}{copy / 'docs'}"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    for text in ("gcd(whole number", "`first:PLACE`", "`reinforce.explore`", "`stakes`"):
        assert text in made.stdout, text
