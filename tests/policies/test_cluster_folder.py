"""Processes of a cluster work in the folder in which the command was given."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from gamedsl.policies.cluster import InFolder


def _read(name: str) -> str:
    return Path(name).read_text(encoding="utf-8")


def test_relative_paths_mean_what_they_mean_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "players.py").write_text("named by its path", encoding="utf-8")
    monkeypatch.chdir(tmp_path / "here")
    sent = pickle.dumps(InFolder.this(_read))
    monkeypatch.chdir(tmp_path)
    assert pickle.loads(sent)("players.py") == "named by its path"


def test_machine_without_the_folder_stays_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.txt").write_text("own", encoding="utf-8")
    assert InFolder(_read, str(tmp_path / "absent"))("own.txt") == "own"
