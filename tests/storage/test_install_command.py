"""The command that installs an extra fits how this package was installed."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from gamedsl import extras


class _Installed:
    def __init__(self, record: object) -> None:
        self.record = record

    def read_text(self, name: str) -> str | None:
        return None if self.record is None else json.dumps(self.record)


FILE = {"url": "file:///tmp/a%20b/x.whl", "archive_info": {}}
CHECKOUT = {"url": "file:///home/a%20b/gamedsl", "dir_info": {"editable": True}}
COPY = {"url": "file:///home/gamedsl", "dir_info": {}}
VCS = {"url": "https://host/x.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}}


@pytest.mark.parametrize(("record", "made_by", "arguments"), [
    (None, "", ["pip", "install", "gamedsl[train]"]),
    ([], "", ["pip", "install", "gamedsl[train]"]),
    (FILE, "", ["pip", "install", "gamedsl[train] @ file:///tmp/a%20b/x.whl"]),
    (CHECKOUT, "", ["pip", "install", "-e", "/home/a b/gamedsl[train]"]),
    (COPY, "", ["pip", "install", "/home/gamedsl[train]"]),
    (VCS, "", ["pip", "install", "gamedsl[train] @ git+https://host/x.git@abc"]),
    (None, "uv-receipt.toml", ["uv", "tool", "install", "--force", "gamedsl[train]"]),
    (None, "pipx_metadata.json", ["pipx", "install", "--force", "gamedsl[train]"]),
    (None, "archive-v0", ["uvx", "--from", "gamedsl[train]", "gamedsl"]),
    (None, "pyvenv.cfg", ["uv", "pip", "install", "--python", sys.executable, "gamedsl[train]"]),
])  # fmt: skip
def test_command_fits_the_installation(
    record: object,
    made_by: str,
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(extras, "distribution", lambda name: _Installed(record))
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    if made_by == "archive-v0":
        monkeypatch.setattr(sys, "prefix", str(tmp_path / made_by / "x"))
    elif made_by:
        (tmp_path / made_by).write_text("home = /usr\nuv = 0.9\n", encoding="utf-8")
    assert shlex.split(extras.install_command("train")) == arguments
