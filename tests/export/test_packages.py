"""The packages for other libraries' loops, as they are written without these libraries."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest

import gamedsl
from gamedsl import Action
from gamedsl.cli import main
from gamedsl.export.peer_play import PeerGame
from gamedsl.export.table import PEERS
from gamedsl.extras import Requirement

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize("game", ["kuhn_poker", "debate"])
def test_package_is_whole(name: str, game: str, tmp_path: Path) -> None:
    assert main(["export", game, "--to", name, "-o", str(tmp_path)]) == 0
    module = tmp_path / f"{game}_{name}"
    assert gamedsl.load(module / "game" / f"{game}.yaml").hash == gamedsl.load(game).hash
    for path in tmp_path.rglob("*.py"):
        ast.parse(path.read_text(encoding="utf-8"))
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text(encoding="utf-8"))
    assert f"gamedsl[{PEERS[name].needs.extra}]" in project["project"]["dependencies"]
    for path in (tmp_path / "README.md", *tmp_path.glob("*.toml"), *module.glob("*.py")):
        assert "$" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PEERS)
def test_extras_install_the_versions_that_are_needed(name: str) -> None:
    needs = PEERS[name].needs
    listed = PROJECT["project"]["optional-dependencies"][needs.extra]
    assert f"{needs.library}>={needs.low},<{needs.below}" in listed


@pytest.mark.parametrize(
    ("low", "below", "said"),
    [("1", "2", "is installed, and a version from 1 to before 2"), ("0", "1", None)],
)
def test_other_versions_are_named(low: str, below: str, said: str | None) -> None:
    problem = Requirement("gamedsl", "trl", low, below).problem()
    assert problem is None if said is None else (said in problem and "fix: pip" in problem)


def test_absent_library_is_named() -> None:
    problem = Requirement("no-such-library", "trl", "1", "2").problem()
    assert problem is not None
    assert problem.startswith("no-such-library is not installed; fix: ")


def test_package_needs_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "kuhn_poker", "--to", "trl"]) == 2
    assert "writes a folder; fix: name it with `-o FOLDER`" in capsys.readouterr().err


def test_files_have_all_seats(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "kuhn_poker", "--to", "efg", "--as", "first"]) == 2
    assert "`--to efg` has all seats" in capsys.readouterr().err


def test_players_cannot_hold_all_seats() -> None:
    with pytest.raises(ValueError, match="players hold all seats of kuhn_poker"):
        PeerGame("kuhn_poker", against=["random"])


def test_players_move_by_seed_alone() -> None:
    """Plays under way at once do not change each other."""
    game = PeerGame("tic_tac_toe", ["x"], ["random"])
    alone, one, two = game.begin(3), game.begin(3), game.begin(4)
    for name in ("mark(0,0)", "mark(1,1)", "mark(2,0)"):
        for play in (one, two, alone):
            if play.waiting and name in play.waiting[0].legal:
                play.answer("x", Action(name))
    assert one.episode.transcript == alone.episode.transcript
    assert two.episode.transcript["steps"] != one.episode.transcript["steps"]
