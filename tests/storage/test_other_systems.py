"""The commands run where Unix's modules, calls and flags are absent, as on Windows.

A process that takes them away stands in for Windows: what a command reaches for without asking
fails here. Locks, access lists and line ends of a real Windows are tried by the workflows alone.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# Libraries choose their system when they are imported: they come first, and stay what they are.
WITHOUT_UNIX = """
import asyncio, ctypes, os, shutil, signal, subprocess, sys, tempfile
import random, socket, ssl, uuid, webbrowser
from importlib import import_module
for name in sys.argv.pop(1).split():
    import_module(name)
for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
for name in (
    "O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_NOFOLLOW", "geteuid", "getuid", "uname", "fork",
    "set_blocking", "sysconf", "sync", "getpgid", "killpg", "fchmod",
):
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGALRM", "SIGKILL", "SIGHUP"):
    delattr(signal, name)
shutil._use_fd_functions = False  # as is decided at import where the system lacks them
shutil._rmtree_impl = shutil._rmtree_unsafe  # the same from Python 3.14 on
sys.platform = "win32"
from unittest.mock import MagicMock
ctypes.WinDLL = MagicMock()  # kernel32 answers every call, with counters of zero
from gamedsl.cli import main
sys.exit(main(sys.argv[1:]))
"""

HUNT = """\
game: hunt
roles: [left, right]
actions: [stag, hare]
protocol: simultaneous
payoffs: 1 if move.left == move.right else 0
"""


SOLVING = "numpy scipy.optimize scipy.sparse"
TRAINING = f"{SOLVING} torch transformers peft safetensors.torch"


def _without_unix(
    folder: Path, *arguments: str, libraries: str = ""
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_UNIX, libraries, *arguments],
        cwd=folder, capture_output=True, text=True, check=False, encoding="utf-8",
    )  # fmt: skip


@pytest.mark.parametrize("command", [
    ("prompts", "hunt.yaml"),
    ("compile", "hunt.yaml", "-o", "hunt.json"),
])  # fmt: skip
def test_commands_need_nothing_of_unix(command: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "hunt.yaml").write_text(HUNT, encoding="utf-8")
    done = _without_unix(tmp_path, *command)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("command", [
    ("validate", "stag_hunt", "kuhn_poker"),
    ("solve", "kuhn_poker"),
    ("train", "stag_hunt", "--model", "tiny", "--dry-run"),
    ("train", "stag_hunt", "--model", "tabular", "--dry-run"),
    ("export", "kuhn_poker", "-o", "kuhn.efg"),
])  # fmt: skip
def test_more_commands_need_nothing_of_unix(command: tuple[str, ...], tmp_path: Path) -> None:
    libraries = {"train": TRAINING, "solve": SOLVING}.get(command[0], "")
    done = _without_unix(tmp_path, *command, libraries=libraries)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def test_sandbox_says_that_it_needs_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    from gamedsl.calls.run_python import sandbox_missing
    from gamedsl.calls.sandbox.report import sandbox_report

    monkeypatch.setattr(sys, "platform", "win32")
    sandbox_report.cache_clear()
    try:
        assert "this is not Linux" in (sandbox_missing() or "")
    finally:
        sandbox_report.cache_clear()


def test_cache_without_owners_lies_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gamedsl.storage import cache

    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    home.mkdir()
    monkeypatch.setattr(cache, "has_owners", lambda: False)
    monkeypatch.setattr(Path, "home", lambda: home)
    monkeypatch.setenv("GAMEDSL_CACHE", str(home / "cache"))
    entry = cache.own_folder("games") / "entry"
    cache.write_entry(entry, b"kept")
    assert cache.read_entry(entry) == b"kept"
    monkeypatch.setenv("GAMEDSL_CACHE", str(elsewhere))
    with pytest.raises(cache.CacheRefused, match="must lie in"):
        cache.own_folder("games")
