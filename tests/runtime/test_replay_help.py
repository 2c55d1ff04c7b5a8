"""What `gamedsl replay` says to do about a transcript that does not agree."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import gamedsl
from gamedsl.cli import main


def recorded(folder: Path, **changes: object) -> Path:
    episode = gamedsl.load("ultimatum").env().reset(0)
    while not episode.done:
        episode.step({d.seat: d.labels[0] for d in episode.decisions})
    path = folder / "t.jsonl"
    path.write_text(json.dumps({**episode.transcript, **changes}) + "\n")
    return path


@pytest.mark.parametrize(
    ("game", "changes", "help"),
    [
        ("stag_hunt", {}, "replay it with the file of `ultimatum`"),
        ("ultimatum", {"hash": "0" * 64}, "replay it with the file as it was then"),
        ("ultimatum --param pie=9", {}, "--param pie=10"),
        ("ultimatum", {"labels": {"a": "b"}}, "delete `labels` from the header"),
    ],
)
def test_the_remedy_stands_below(
    game: str, changes: dict[str, object], help: str, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    assert main(["replay", *game.split(), str(recorded(tmp_path, **changes))]) == 1
    error, remedy = capsys.readouterr().err.splitlines()
    assert error.startswith(f"{tmp_path / 't.jsonl'}:1: error: ")
    assert remedy.startswith(f"  = help: {help}")


def test_what_agrees_needs_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", "ultimatum", str(recorded(tmp_path)), "--quiet"]) == 0
    assert capsys.readouterr().err == ""
