"""`gamedsl studio`: what it is given is checked before anything is served."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from gamedsl.cli import USAGE, main


@pytest.mark.parametrize(
    ("folder", "fact"), [("missing", "is no folder"), ("/", "is the root of the file system")]
)
def test_folders_are_checked(
    folder: str, fact: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["studio", str(tmp_path / folder), "--port", "0"]) == USAGE
    err = capsys.readouterr().err
    assert fact in err
    assert "fix: " in err


def test_port_in_use_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert main(["studio", str(tmp_path), "--port", port]) == USAGE
    assert "cannot be listened at" in capsys.readouterr().err
