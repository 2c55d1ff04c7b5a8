"""A loaded game shows itself, its prompts and its solution, and the import stays light."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import gamedsl


def test_a_view_is_text_picture_and_file(tmp_path: Path) -> None:
    shown = gamedsl.load("stag_hunt").show()
    assert shown.view == "table"
    assert "hunter_1" in str(shown)
    assert shown._repr_svg_().lstrip().startswith("<svg")
    assert shown.save(tmp_path / "hunt.svg").read_text(encoding="utf-8") == shown.svg


def test_a_view_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="known: table, tree, flow, sight"):
        gamedsl.load("stag_hunt").show("trees")
    with pytest.raises(ValueError, match="no payoff table"):
        gamedsl.load("kuhn_poker").show("table")


def test_prompts_after_a_history() -> None:
    game = gamedsl.load("kuhn_poker")
    assert list(game.prompts()) == ["first"]
    after = game.prompts("open=bet")
    assert list(after) == ["second"]
    assert after["second"][-1][1]
    with pytest.raises(ValueError, match="bet"):
        game.prompts("open=bett")


def test_solutions_are_those_of_the_command() -> None:
    from gamedsl.runtime.game import Game
    from gamedsl.solve.solver import solve

    game = gamedsl.load("stag_hunt")
    assert isinstance(game, gamedsl.Game)
    assert repr(game.solve()) == repr(solve(Game(game.ir, game.files)))
    assert isinstance(game.of("all"), gamedsl.Game)
    with pytest.raises(ValueError, match="known: auto"):
        game.solve("magic")


def test_the_import_is_light() -> None:
    code = "import gamedsl, sys; print([m for m in sys.modules if m.startswith('gamedsl.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
