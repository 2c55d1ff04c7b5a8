"""Files that commands cannot write: one message with the file, the reason and the next step."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from gamedsl.cli import main
from gamedsl.storage.writer import write_output

GAME = "matching_pennies"
SOLVE = ("solve", GAME, "--save")
EXPORT = ("export", GAME, "--to", "nfg", "-o")
SHOW = ("show", GAME, "--view", "table", "-o")
EVAL = ("eval", "random", "--game", GAME, "--games", "4", "--out")
BOARD = (*EVAL[:-1], "--leaderboard", "board.json", "--leaderboard-md")
TRAIN = ("train", GAME, "--model", "tabular", "--steps", "1", "--set", "games=8", "--out")
WRITERS = {"solve": SOLVE, "export": EXPORT, "show": SHOW, "eval": EVAL, "board": BOARD,
           "train": TRAIN}  # fmt: skip


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("mine")


def _reach(target: str) -> str:
    return {"long": "n" * 300, "below": "file/x", "proc": "/proc/nope", "loop": "loop"}[target]


@pytest.mark.parametrize("target", ["below", "long", "proc", "loop"])
@pytest.mark.parametrize("command", WRITERS.values(), ids=WRITERS)
def test_a_refused_file_is_one_message(
    command: tuple[str, ...], target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("loop").symlink_to("loop")
    name = _reach(target)
    assert main([*command, name]) == 2
    err = capsys.readouterr().err
    assert f"{name} cannot be " in err
    assert "\n  fix: " in err
    left = {path.name for path in Path().iterdir()} - {"file", "loop", "board.json"}
    assert not {name for name in left if not name.endswith(".lock")}
    assert Path("file").read_text() == "mine"


@pytest.mark.parametrize("name", ["report", "replay", "validate", "prompts", "show", "eval"])
def test_a_name_too_long_is_a_message(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = ("replay", GAME) if name == "replay" else (name,)
    after = ("--game", GAME) if name == "eval" else ()
    assert main([*before, "n" * 300, *after]) in (1, 2)
    assert "n" * 300 in "".join(capsys.readouterr())


@pytest.mark.parametrize("command", [SOLVE, EVAL, EXPORT], ids=["solve", "eval", "export"])
def test_what_is_no_file_is_not_replaced(command: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    assert main([*command, f"/dev/fd/{writing}"]) == 0
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        assert pipe.read()
    os.mkfifo("pipe")
    assert main([*command, "pipe"]) == 2
    assert Path("pipe").is_fifo()


def test_links_stay_and_lead_to_the_output() -> None:
    Path("link").symlink_to("target")
    write_output(Path("link"), "one")
    write_output(Path("link"), "two")
    assert Path("link").is_symlink()
    assert Path("target").read_text() == "two"


@pytest.mark.parametrize("command", [SOLVE, EVAL, EXPORT, SHOW], ids=["solve", "eval", "export",
                                                                     "show"])  # fmt: skip
def test_a_limit_of_size_leaves_the_old_file(command: tuple[str, ...]) -> None:
    """The same write fails in the same way where a disk is full."""
    done = subprocess.run(
        [sys.executable, "-m", "gamedsl", *command, "file"], capture_output=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64)),
    )  # fmt: skip
    assert done.returncode == 2
    assert b"file cannot be written: the file would be larger than files may be" in done.stderr
    assert b"ulimit -f" in done.stderr
    assert Path("file").read_text() == "mine"
    assert not list(Path().glob(".partial*"))
