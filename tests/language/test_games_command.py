"""`gamedsl games`: the list of games, by tags; the help and the version of the command line."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from gamedsl import cli
from gamedsl.cli import CLEAN, COMMANDS, EXAMPLES, USAGE, main
from gamedsl.commands.games import THEMES
from tests.shipped import CLOSED, OPEN

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def listed(capsys: pytest.CaptureFixture[str], *given: str) -> dict[str, dict[str, str]]:
    assert main(["games", "--format", "json", *given]) == CLEAN
    return {game["file"]: game for game in json.loads(capsys.readouterr().out)}


def test_every_shipped_game_has_one_theme() -> None:
    names = [name for theme in THEMES.values() for name in theme.games]
    assert sorted(names) == sorted((*CLOSED, *OPEN))


def test_tags_are_read_off_the_games(capsys: pytest.CaptureFixture[str]) -> None:
    found = listed(capsys)
    assert set(found) == {*CLOSED, *OPEN}
    assert found["kuhn_poker"]["tags"] == ["bluffing", "2-seats", "chance", "hidden", "zero-sum"]
    assert found["tic_tac_toe"]["tags"] == ["boards", "2-seats", "loop", "board", "zero-sum"]
    assert {"words", "judge", "simultaneous"} <= set(found["writing_contest"]["tags"])
    assert {"masked", "simultaneous"} <= set(found["stag_hunt"]["tags"])
    for name, game in found.items():
        assert ("words" in game["tags"]) == (name in OPEN), name
        assert game["problem"] == ""


def test_several_tags_are_all_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    found = listed(capsys, "--tag", "zero-sum", "--tag", "board")
    assert "tic_tac_toe" in found
    assert "kuhn_poker" not in found


def test_own_games_are_listed_with_their_problems(capsys: pytest.CaptureFixture[str]) -> None:
    Path("games").mkdir()
    main(["new", "mine", "--template", "board"])
    Path("games/wrong.yaml").write_text("game: wrong\nroles: [a]\npayoffs: nosuch\n")
    Path("other.yaml").write_text("settings: 1\n", encoding="utf-8")
    capsys.readouterr()
    found = listed(capsys, "--tag", "own")
    assert set(found) == {"mine.yaml", "games/wrong.yaml"}
    assert "board" in found["mine.yaml"]["tags"]
    assert found["games/wrong.yaml"]["problem"]


@pytest.mark.parametrize(
    ("given", "help"),
    [
        ("games/stag_hunt.yaml", "did you mean the shipped `stag_hunt`?"),
        ("kuhn_pokr", "did you mean the shipped `kuhn_poker`? `gamedsl games` lists all"),
        ("picnik.yaml", "did you mean `picnic.yaml`?"),
        ("picnik", "did you mean `picnic.yaml`?"),
        ("picnic", "did you mean `picnic.yaml`?"),
        ("picnik.yml", "did you mean `picnic.yaml`?"),
        ("nothing_like_it_anywhere", ""),
    ],
)
def test_missing_files_are_found_by_likeness(
    given: str, help: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("picnic.yaml").write_text("game: picnic\n", encoding="utf-8")
    assert main(["validate", given]) != CLEAN
    shown = capsys.readouterr().out
    assert "GD0001" in shown
    assert ("help" in shown) == bool(help)
    assert help in shown


@pytest.mark.parametrize("command", ["play", "show", "solve", "compile", "prompts"])
def test_every_command_finds_a_missing_game_by_likeness(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("picnic.yaml").write_text("game: picnic\n", encoding="utf-8")
    assert main([command, "picnik"]) != CLEAN
    shown = capsys.readouterr()
    assert "did you mean `picnic.yaml`?" in shown.out + shown.err


def test_unknown_tags_and_folders_have_a_fix(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["games", "--tag", "bluffin"]) == USAGE
    assert "did you mean `bluffing`?" in capsys.readouterr().err
    assert main(["games", "nosuch"]) == USAGE
    assert "nosuch is no folder" in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example_that_is_read(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    example, page = EXAMPLES[command]
    assert main([command, "--help"]) == CLEAN
    assert f"gamedsl {example}" in capsys.readouterr().out
    assert (DOCS / page).is_file()
    name, *rest = shlex.split(example)
    assert name == command
    module = cli.import_module(f"gamedsl.commands.{name}{'_' if name == 'import' else ''}")
    monkeypatch.setattr(module, "run", lambda given: 77)
    assert main([name, *rest]) == 77


def test_version_names_what_is_installed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == CLEAN
    shown = capsys.readouterr().out.split("\n")
    assert shown[0].startswith("gamedsl ")
    assert shown[1].startswith("Python 3.")


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_list_stays_within_the_terminal(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main(["games", "--tag", "bluffing"]) == CLEAN
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("kuhn_poker") for line in lines)
    assert max(map(len, lines)) <= columns
