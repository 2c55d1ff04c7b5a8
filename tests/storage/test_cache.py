"""The cache is used only where nobody else can write, and what is in it only as it was written."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import gamedsl
from gamedsl.engine import generated
from gamedsl.storage.cache import CacheRefused, own_folder, read_entry, write_entry


def _export(cache: Path | None, **env: str) -> subprocess.CompletedProcess[str]:
    """Expressions and a generated game need every part of the cache that is run."""
    known = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    given = {**known, **env, **({} if cache is None else {"GAMEDSL_CACHE": str(cache)})}
    return subprocess.run(
        [sys.executable, "-m", "gamedsl", "export", "kuhn_poker", "--to", "efg"],
        capture_output=True, text=True, check=False, env=given,
    )  # fmt: skip


class _Mark:
    """Makes a file where it is unpickled."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str]]:
        return os.mkdir, (str(self.place),)


def _planted(cache: Path, mark: Path) -> None:
    """Has every file of a cache make a folder where it is run."""
    text = pickle.dumps(_Mark(mark)) * 2
    for path in [*cache.glob("*.lark"), cache / "expr-311.lark"]:
        path.write_bytes(text)
    for path in cache.glob("games/*.py"):
        path.write_text(f"import os\nos.makedirs({str(mark)!r}, exist_ok=True)\nState = object\n")


def test_the_cache_is_the_users_alone(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert _export(cache).returncode == 0
    assert [path.name for path in cache.glob("games/*.py")]
    assert cache.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("place", ["the folder", "above it"])
def test_a_cache_others_write_is_not_run(tmp_path: Path, place: str) -> None:
    cache, mark = tmp_path / "above" / "cache", tmp_path / "mark"
    assert _export(cache).returncode == 0
    _planted(cache, mark)
    (cache if place == "the folder" else cache.parent).chmod(0o777)
    done = _export(cache)
    assert (done.returncode, done.stderr) == (0, "")
    assert not mark.exists()


def test_files_that_were_changed_are_not_run(tmp_path: Path) -> None:
    cache, mark = tmp_path / "cache", tmp_path / "mark"
    assert _export(cache).returncode == 0
    _planted(cache, mark)
    done = _export(cache)
    assert (done.returncode, done.stderr) == (0, "")
    assert not mark.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_cache_of_another_user_is_not_run(tmp_path: Path) -> None:
    cache, mark = tmp_path / "cache", tmp_path / "mark"
    assert _export(cache).returncode == 0
    _planted(cache, mark)
    os.chown(cache, 12345, 12345)
    assert _export(cache).returncode == 0
    assert not mark.exists()


@pytest.mark.parametrize("content", [b"", b"garbage", b"\x80\x04.", b"0" * 70, b"\n" * 5000])
def test_garbage_in_the_cache_is_quiet(tmp_path: Path, content: bytes) -> None:
    cache = tmp_path / "cache"
    assert _export(cache).returncode == 0
    for path in [*cache.glob("*.lark"), *cache.glob("games/*.py"), cache / "expr-311.lark"]:
        path.write_bytes(content)
    done = _export(cache)
    assert (done.returncode, done.stderr) == (0, "")


def test_folders_in_place_of_files_are_quiet(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert _export(cache).returncode == 0
    for path in [*cache.glob("*.lark"), *cache.glob("games/*.py")]:
        path.unlink()
        path.mkdir()
    (cache / "expr-311.lark").mkdir(exist_ok=True)
    done = _export(cache)
    assert (done.returncode, done.stderr) == (0, "")


def test_no_cache_is_no_problem(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for done in (
        _export(file), _export(file / "below"), _export(Path("/proc/nope")),
        _export(Path("~nobody_of_this_name/x")), _export(Path("n" * 300)),
        _export(None, HOME=str(file)),
    ):  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")


def test_a_cut_module_is_written_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file cut between two functions is still a module, and plays another game."""
    monkeypatch.setenv("GAMEDSL_CACHE", str(tmp_path))
    ir = gamedsl.load("kuhn_poker").ir
    monkeypatch.setattr(generated, "_MODULES", {})
    assert generated.module_of(ir) is not None
    (path,) = tmp_path.glob("games/*.py")
    whole = path.read_text("utf-8")
    path.write_text(whole + "\nState = None\n", "utf-8")
    monkeypatch.setattr(generated, "_MODULES", {})
    module = generated.module_of(ir)
    assert module is not None
    assert module.State is not None
    assert path.read_text("utf-8") == whole


def test_entries_are_regular_files_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GAMEDSL_CACHE", str(tmp_path / "cache"))
    folder = own_folder("things")
    write_entry(folder / "one", b"content")
    assert read_entry(folder / "one") == b"content"
    (folder / "link").symlink_to(folder / "one")
    os.mkfifo(folder / "pipe")
    assert read_entry(folder / "link") is None
    assert read_entry(folder / "pipe") is None
    (folder / "one").chmod(0o666)
    assert read_entry(folder / "one") is None


def test_a_link_to_others_folders_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "open" / "cache").mkdir(parents=True)
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "link").symlink_to(tmp_path / "open" / "cache")
    monkeypatch.setenv("GAMEDSL_CACHE", str(tmp_path / "link"))
    with pytest.raises(CacheRefused, match="another user can write there"):
        own_folder()
