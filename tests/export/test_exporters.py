"""The table of exporters: a row more is a format more of `gamedsl export`."""

from __future__ import annotations

from pathlib import Path

import pytest

from gamedsl.cli import main
from gamedsl.export.table import EXPORTERS, Exporter
from gamedsl.runtime.game import Game


def seat_list(game: Game, limit: int) -> str:
    """A format that cannot hold games of more seats than `limit`."""
    if len(game.ir.seats) > limit:
        raise ValueError("it has too many seats")
    return "\n".join(game.ir.seats) + "\n"


@pytest.fixture(autouse=True)
def _added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXPORTERS, "seats", Exporter("seats", "a list of the seats", seat_list))


def test_one_row_adds_a_format(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "stag_hunt", "--to", "seats"]) == 0
    assert capsys.readouterr().out == "hunter_1\nhunter_2\n"


def test_file_suffix_chooses_an_added_format(tmp_path: Path) -> None:
    assert main(["export", "stag_hunt", "-o", str(tmp_path / "game.seats")]) == 0
    assert (tmp_path / "game.seats").read_text() == "hunter_1\nhunter_2\n"


def test_refusal_of_an_added_format_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "stag_hunt", "--to", "seats", "--limit", "1"]) == 1
    assert "stag_hunt: it has too many seats" in capsys.readouterr().err
