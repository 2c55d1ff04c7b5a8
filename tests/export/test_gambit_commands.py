"""`gamedsl export` and `gamedsl import`."""

from __future__ import annotations

from pathlib import Path

import pytest

import gamedsl
from gamedsl import cli
from gamedsl.export.gambit import to_efg, to_nfg
from tests.export.test_gambit_import import POKER, POKER_FILE


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = cli.main(argv)
    return (code, *capsys.readouterr())


def test_export_prints(capsys: pytest.CaptureFixture[str]) -> None:
    game = gamedsl.load("stag_hunt")
    assert run(capsys, "export", "stag_hunt", "--to", "efg") == (0, to_efg(game), "")
    assert run(capsys, "export", "stag_hunt", "--to", "nfg") == (0, to_nfg(game), "")


def test_export_writes_what_the_name_says(tmp_path: Path, capsys) -> None:
    path = tmp_path / "centipede.efg"
    code, out, err = run(capsys, "export", "centipede", "-o", str(path), "--param", "rounds=3")
    assert (code, out, err) == (0, "", "")
    assert path.read_text() == to_efg(gamedsl.load("centipede", params={"rounds": 3}))


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (["kuhn_poker"], 2, "say which format"),
        (["kuhn_poker", "--to", "efg", "--limit", "50"], 1, "more than 50 nodes"),
        (["kuhn_poker_n", "--to", "nfg"], 1, "player_1 has 6,561 strategies"),
        (["alternate", "--to", "efg"], 2, "is a protocol file"),
        (["kuhn_poker", "--to", "efg", "--param", "x"], 2, "not of the form name=value"),
        (["kuhn_poker", "--to", "efg", "-o", "no/such/folder.efg"], 2, "cannot be written"),
        (["no_such_game", "--to", "efg"], 1, "GD0001"),
    ],
)
def test_export_says_why_not(argv: list[str], code: int, said: str, capsys) -> None:
    found, out, err = run(capsys, "export", *argv)
    assert (found, out) == (code, "")
    assert said in err


def test_import(tmp_path: Path, capsys) -> None:
    source, target = tmp_path / "poker.efg", tmp_path / "poker.yaml"
    source.write_text(POKER)
    assert run(capsys, "import", str(source)) == (0, POKER_FILE, "")
    assert run(capsys, "import", str(source), "-o", str(target)) == (0, "", "")
    assert target.read_text() == POKER_FILE
    assert run(capsys, "validate", str(target))[0] == 0


def test_import_of_a_wrong_file(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.efg").write_text("XFG 2 R")
    code, out, err = run(capsys, "import", "x.efg", "-o", "x.yaml", "--format", "concise")
    assert (code, out) == (1, "")
    assert err.startswith("x.efg:1:1: error[GD0801]")
    assert not Path("x.yaml").exists()
    assert "GD0001" in run(capsys, "import", "y.efg")[2]
