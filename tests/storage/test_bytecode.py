"""Bytecode is kept in the user's cache where Python keeps none, and nowhere else."""

from __future__ import annotations

import marshal
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from gamedsl.storage import bytecode

ROOT = Path(__file__).parents[2]


def _tree(folder: Path) -> Path:
    """A copy of the package, in source alone, by links."""
    for name in ("gamedsl", "games", "rewards", "protocols"):
        for path in (ROOT / name).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                to = folder / path.relative_to(ROOT)
                to.parent.mkdir(parents=True, exist_ok=True)
                to.symlink_to(path)
    return folder


def _start(tree: Path, cache: Path, *flags: str, **env: str) -> str:
    """Returns what Python says of each import of a command in that tree."""
    known = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    given = {**known, "GAMEDSL_CACHE": str(cache), "PYTHONPATH": str(tree), **env}
    done = subprocess.run(
        [sys.executable, "-v", *flags, "-m", "gamedsl", "validate", "games/stag_hunt.yaml"],
        cwd=tree, env=given, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stderr


def _compiled(said: str) -> set[str]:
    """Modules of ours whose bytecode was read."""
    lines = [line for line in said.splitlines() if line.startswith("# ") and "matches" in line]
    return {line.split("matches ")[1] for line in lines if "/gamedsl/" in line}


@pytest.mark.parametrize("way", ["flag", "variable"])
def test_second_start_compiles_nothing(tmp_path: Path, way: str) -> None:
    tree, cache = _tree(tmp_path / "tree"), tmp_path / "cache"
    flags = ["-B"] if way == "flag" else []
    env = {"PYTHONDONTWRITEBYTECODE": "1"} if way == "variable" else {}
    assert not _compiled(_start(tree, cache, *flags, **env))
    read = _compiled(_start(tree, cache, *flags, **env))
    assert {str(tree / "gamedsl/compiler.py"), str(tree / "gamedsl/sema/game.py")} <= read
    assert not list(tree.rglob("*.pyc"))
    assert list((cache / "bytecode").rglob("compiler*.pyc"))
    assert (cache / "bytecode").stat().st_mode & 0o777 == 0o700


def test_changed_source_is_compiled_again(tmp_path: Path) -> None:
    tree, cache = _tree(tmp_path / "tree"), tmp_path / "cache"
    _start(tree, cache, "-B")
    changed = tree / "gamedsl" / "compiler.py"
    text = changed.read_text(encoding="utf-8")
    changed.unlink()
    changed.write_text(text + "print('a new line')\n", encoding="utf-8")
    assert str(changed) not in _compiled(_start(tree, cache, "-B"))


def test_python_that_keeps_bytecode_stays_as_it_is(tmp_path: Path) -> None:
    tree, cache = _tree(tmp_path / "tree"), tmp_path / "cache"
    _start(tree, cache)
    assert not (cache / "bytecode").exists()
    assert list((tree / "gamedsl").rglob("compiler*.pyc"))


def test_a_place_the_user_chose_stays(tmp_path: Path) -> None:
    tree, cache = _tree(tmp_path / "tree"), tmp_path / "cache"
    _start(tree, cache, PYTHONPYCACHEPREFIX=str(tmp_path / "own"), PYTHONDONTWRITEBYTECODE="1")
    assert not (cache / "bytecode").exists()
    assert not (tmp_path / "own").exists()


def test_a_cache_others_write_keeps_no_bytecode(tmp_path: Path) -> None:
    tree, cache = _tree(tmp_path / "tree"), tmp_path / "cache"
    cache.mkdir()
    cache.chmod(0o777)
    _start(tree, cache, "-B")
    assert not list(cache.rglob("*.pyc"))


@pytest.mark.skipif(sys.platform != "linux", reason="the sandbox and its limits are Linux's")
def test_limited_files_leave_no_broken_bytecode(tmp_path: Path) -> None:
    """A limit of size cuts bytecode that Python writes, also in the interpreter of the sandbox."""
    tree = _tree(tmp_path / "tree")
    code = (
        "import resource, sys; from gamedsl import cli; "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); sys.argv[1:] = ['calls']; "
        "cli.main(); from gamedsl.calls.registry import lookup; "
        "print(lookup('run_python').call(code='x = 1', tests='assert x == 1'))"
    )
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(tree), "GAMEDSL_CACHE": str(tmp_path)}
    run = partial(
        subprocess.run, [sys.executable, "-c", code], cwd=tree, env=env, capture_output=True
    )  # fmt: skip
    first, second = run(text=True), run(text=True)
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    found = list(tree.rglob("*.pyc"))
    assert found  # of what was imported before there was a limit
    for path in found:
        marshal.loads(path.read_bytes()[16:])
    assert not list(tree.rglob("child*.pyc"))


def test_a_folder_that_cannot_be_written_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lone_package").mkdir()
    (tmp_path / "lone_package" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("GAMEDSL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(bytecode, "PACKAGES", ("lone_package", "no_such_package"))
    monkeypatch.setattr(sys, "pycache_prefix", None)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    assert not bytecode.keep_bytecode()
    monkeypatch.setattr(os, "access", lambda *_: False)  # as root may write anywhere
    assert bytecode.keep_bytecode()
    assert sys.pycache_prefix == str(tmp_path / "cache" / "bytecode")
