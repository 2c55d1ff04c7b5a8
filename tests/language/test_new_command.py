"""`gamedsl new`: what it writes is valid, and trains."""

from __future__ import annotations

from pathlib import Path

import pytest

import gamedsl
from gamedsl.cli import CLEAN, USAGE, main
from gamedsl.commands.new import templates

KINDS = ("matrix", "sequential", "auction", "board", "hidden-role", "judge", "code-team")
IN_WORDS = ("judge", "code-team")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_all_kinds_have_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert set(templates()) == set(KINDS)
    assert main(["new"]) == CLEAN
    shown = capsys.readouterr().out
    assert all(f"  {kind} " in shown for kind in KINDS)
    assert all(about.endswith(".") for about in templates().values())


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_game_is_valid_and_has_rules(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "my_game", "--template", kind]) == CLEAN
    assert "gamedsl train my_game.yaml" in capsys.readouterr().out
    assert main(["validate", "--strict", "my_game.yaml"]) == CLEAN
    game = gamedsl.load("my_game.yaml")
    assert game.name == "my_game"
    for messages in game.prompts().values():
        assert len(messages[0][1].split()) > (10 if kind == "matrix" else 30)  # masked: little


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_new_game_trains(kind: str) -> None:
    main(["new", "my_game", "--template", kind])
    given = ["train", "my_game.yaml", "--steps", "1", "--out", "run", "--format", "concise"]
    model = ["--model", "tiny"] if kind != "board" else []
    model += ["--set", "games=8"] if kind in IN_WORDS else []
    assert main([*given, *model]) == CLEAN
    assert Path("run/report.html").stat().st_size


def test_wrong_requests_have_a_fix(capsys: pytest.CaptureFixture[str]) -> None:
    Path("taken.yaml").write_text("mine\n", encoding="utf-8")
    for given, fix in (
        (["My Game.yaml"], "gamedsl new my_game"),
        (["7up"], "a letter first"),
        (["../else"], "gamedsl new else"),
        (["taken"], "take another name"),
        (["fine", "--template", "auktion"], "did you mean `--template auction`?"),
        (["fine", "--template", "zzz"], "there are auction"),
    ):
        assert main(["new", *given]) == USAGE
        assert fix in capsys.readouterr().err
    assert Path("taken.yaml").read_text(encoding="utf-8") == "mine\n"
    assert not Path("fine.yaml").exists()
