"""The standard streams of a process: any encoding, closed, full, and a pipe that ends early."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

GAME = "matching_pennies"
WITHOUT_UTF8 = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
FULL = Path("/dev/full")


def _gamedsl(
    *arguments: str, env: dict[str, str] | None = None, stdout: Any = subprocess.PIPE,
    before: Callable[[], object] | None = None, cwd: Path | None = None,
) -> subprocess.CompletedProcess[bytes]:  # fmt: skip
    command = [sys.executable, "-m", "gamedsl", *arguments]
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, check=False,
        env={**os.environ, **(env or {})}, preexec_fn=before, cwd=cwd,
    )  # fmt: skip


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
@pytest.mark.parametrize("command", ["validate", "prompts", "solve"])
def test_output_fits_any_encoding(command: str, encoding: str) -> None:
    done = _gamedsl(command, GAME, env={**WITHOUT_UTF8, "PYTHONIOENCODING": encoding})
    assert (done.returncode, done.stderr) == (0, b"")
    assert GAME in done.stdout.decode(encoding) or command == "prompts"


def test_signs_without_a_place_become_plain(tmp_path: Path) -> None:
    done = _gamedsl("validate", GAME, env=WITHOUT_UTF8)
    assert b"matching_pennies.yaml: ok - 2 roles" in done.stdout


def test_json_is_exact_in_ascii(tmp_path: Path) -> None:
    game = tmp_path / "greek.yaml"
    game.write_text("game: greek\nextends: stag_hunt\nprompts: {rules: λ → 👍}\n", encoding="utf-8")
    texts = [
        _gamedsl("prompts", str(game), "--format", "json", env=env).stdout
        for env in (WITHOUT_UTF8, {"PYTHONIOENCODING": "utf-8"})
    ]
    assert texts[0].isascii()
    assert not texts[1].isascii()
    assert json.loads(texts[0]) == json.loads(texts[1])


def test_a_document_is_utf8_in_any_locale(tmp_path: Path) -> None:
    printed = [
        _gamedsl("show", "stag_hunt", "-o", "-", env=env).stdout
        for env in (WITHOUT_UTF8, {"PYTHONIOENCODING": "utf-8"})
    ]
    assert printed[0] == printed[1]
    assert b"</svg>" in printed[0]


@pytest.mark.parametrize("arguments", [["--help"], ["validate", GAME], ["export", GAME]])
def test_closed_output_is_a_message(arguments: list[str]) -> None:
    done = _gamedsl(*arguments, before=lambda: os.close(1))
    assert done.returncode == 2
    assert b"standard output cannot be written: it is closed\n  fix: " in done.stderr


def test_a_closed_stream_takes_no_other_file(tmp_path: Path) -> None:
    """What a library prints must not land in a file that got the number of the stream."""
    closed: dict[str, Callable[[], object]] = {
        "in": lambda: os.close(0),
        "err": lambda: os.close(2),
    }
    for name, close in closed.items():
        out = tmp_path / f"{name}.nfg"
        done = _gamedsl("export", GAME, "-o", str(out), before=close)
        assert done.returncode == 0
        assert out.read_text("utf-8").startswith("NFG 1 R")


@pytest.mark.skipif(
    not FULL.exists() or not stat.S_ISCHR(FULL.stat().st_mode), reason="there is no full device"
)
@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["validate", "--help"], ["validate", GAME],
                  ["export", GAME, "--to", "nfg"]],
)  # fmt: skip
def test_full_output_is_a_message(arguments: list[str]) -> None:
    with FULL.open("w") as full:
        done = _gamedsl(*arguments, stdout=full)
    assert done.returncode == 2
    assert b"standard output cannot be written: no space is left on the device" in done.stderr
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr


def test_a_pipe_that_ends_early_is_quiet() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        done = _gamedsl("explain", stdout=pipe)
    assert (done.returncode, done.stderr) == (1, b"")


def test_a_deleted_folder_is_a_message(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    here = str(Path(__file__).parent.parent.parent)

    def leave() -> None:
        os.chdir(gone)
        gone.rmdir()

    done = _gamedsl(
        "train", GAME, "--model", "tabular", "--steps", "1", before=leave, env={"PYTHONPATH": here}
    )
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("argument", "said"), [("a\udcff.yaml", "is no text in this locale"), ("a\0b", "NUL")]
)
def test_arguments_that_are_no_text(
    argument: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from gamedsl.cli import main

    assert main(["validate", argument]) == 2
    assert said in capsys.readouterr().err


def test_a_defect_is_still_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    from gamedsl import cli

    def fail(arguments: list[str]) -> int:
        raise error

    monkeypatch.setattr(cli, "_dispatch", fail)
    ours = str(Path(cli.__file__).parent / "missing.json")
    for error in (OSError("odd"), FileNotFoundError(2, "gone", ours), KeyError("x")):
        with pytest.raises(type(error)):
            cli.main(["validate", GAME])


def test_control_characters_of_files_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run folder, a leaderboard and a policy of others must not drive the terminal."""
    from gamedsl.cli import main

    monkeypatch.chdir(tmp_path)
    evil = "\x1b]0;title\x07\x1b[2J\u202eevil\x9b"
    run = tmp_path / "run"
    run.mkdir()
    info = {"file": evil, "game": evil, "hash": "0" * 64, "params": {}, "threads": 1}
    (run / "run.json").write_text(json.dumps(info))
    (run / "recipe.yaml").write_text("{}")
    board = Path("board.json")
    assert (
        main(["eval", "random", "--game", GAME, "--games", "2", "--leaderboard", str(board)]) == 0
    )
    text = board.read_text("utf-8").replace('"random"', json.dumps(evil))
    board.write_text(text.replace(f'"{GAME}"', json.dumps(evil)), "utf-8")
    policy = Path("policy.json")
    policy.write_text(json.dumps({"format": "gamedsl policy 1", "game": evil, "rules": evil}))
    for arguments in (
        ["eval", str(run)], ["train", "--resume", str(run)], ["report", str(run)],
        ["eval", "--leaderboard", str(board)],
        ["eval", f"policy:{policy}", "--game", GAME], ["validate", evil], [evil],
    ):  # fmt: skip
        main(arguments)
        for printed in capsys.readouterr():
            assert not any(sign in printed for sign in "\x1b\x07\x9b\u202e")


def test_control_characters_stay_in_documents(capsys: pytest.CaptureFixture[str]) -> None:
    from gamedsl.commands import _streams

    with _streams.visible():
        _streams.print_document("a\rb")
        print("c\rd\te\x1b[31mf\x1b[0m")
    assert capsys.readouterr().out == "a\rbc\\rd\te\x1b[31mf\x1b[0m\n"
