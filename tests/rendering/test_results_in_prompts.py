"""What `gamedsl prompts` shows of calls: what they give, or that it is made up."""

from __future__ import annotations

from pathlib import Path

import pytest

from gamedsl import cli
from gamedsl.compiler import compile_file
from gamedsl.engine.random_plays import pasts
from gamedsl.prompting.events import SILENCE

GAME = """
game: case
roles: [ann]
turns:
  - {role: ann, say: guess, max_tokens: 9}
  - {call: exact, with: {text: guess, value: 7}, gives: right, seen_by: all}
  - {role: ann, choose: move, from: [stay, go]}
  - {role: ann, choose: praise, from: [yes, no], if: right}
payoffs: 1 if move == stay else 0
on_invalid: {then: forfeit, pay: -1}
"""


def write(folder: Path, text: str = GAME) -> Path:
    path = folder / "game.yaml"
    path.write_text(text.lstrip(), encoding="utf-8")
    return path


def test_results_are_those_of_the_function(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No text that is tried is 7: what is shown first is false, and a step that only a right text
    comes to is shown behind a result that is said to be made up."""
    path = write(tmp_path)
    assert cli.main(["prompts", str(path)]) == 0
    shown = capsys.readouterr().out
    _, move, praise = (part for part in shown.split("━━ ann") if part.startswith(" · "))
    assert "right is false" in move
    assert "made up" not in move
    assert "right is true (made up: `exact` may give something else)" in praise


def test_each_past_says_whether_it_is_real(tmp_path: Path) -> None:
    ir = compile_file(write(tmp_path)).ir
    assert ir is not None
    (step,) = (step for step in ir.steps if step.variable == "move")
    found = pasts(ir, step)
    assert {bool(past.made_up) for past in found} == {True, False}
    for past in found:
        told = {event.step: event.name for event in past.seen}
        real = told["guess"] != SILENCE and told["guess"].strip() == "7"
        assert (told["right"] == "true") == (real or "exact" in past.made_up)
