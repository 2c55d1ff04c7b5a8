"""A reply may be invalid and the game go on without it: rules that do not say what holds then are
found when the game is checked, not when it is played."""

from __future__ import annotations

from pathlib import Path

import pytest

from gamedsl.compiler import Result, compile_file
from gamedsl.runtime import Game

TABLE = """
game: pick
roles: [a, b]
actions: [x, y]
protocol: simultaneous
payoffs: |
  a, b | x | y
  x | 1, 1 | 0, 0
  y | 0, 0 | 1, 1
on_invalid: {rule}
"""
TURNS = """
game: pick
roles: [a, b]
state: {{ left: {{of: 0..9, start: 9}} }}
turns:
  - {{role: a, choose: n, from: 1..3}}
  - do: left = left - {taken}
  - {{role: b, choose: m, from: [stop, go]}}
payoffs: {{a: left, b: 1}}
on_invalid: {{a: {{then: skip}}}}
"""


def _checked(folder: Path, text: str) -> Result:
    path = folder / "pick.yaml"
    path.write_text(text, encoding="utf-8")
    return compile_file(path)


def _silences(folder: Path, text: str) -> tuple[str, list[tuple[str, str, tuple[str, ...]]]]:
    """Returns the grade of the claim, and the code, the text and the witness of each error."""
    found = _checked(folder, text)
    (proof,) = [one for one in found.proofs if one.name == "silences"]
    errors = [
        (one.code, one.span.text, one.witness)
        for one in found.diagnostics if one.severity == "error"
    ]  # fmt: skip
    return proof.grade, errors


def test_a_table_says_nothing_of_silence(tmp_path: Path) -> None:
    grade, ((code, text, witness),) = _silences(tmp_path, TABLE.replace("{rule}", "{then: skip}"))
    assert (grade, code) == ("refuted", "GD0402")
    assert text.startswith("|")
    assert witness == ("a gives no valid reply at move", "b gives no valid reply at move")


@pytest.mark.parametrize("rule", ["{then: forfeit}", "{then: void}"])
def test_plays_that_end_need_no_such_check(rule: str, tmp_path: Path) -> None:
    found = _checked(tmp_path, TABLE.replace("{rule}", rule))
    assert found.ir is not None
    assert "silences" not in {one.name for one in found.proofs}


def test_a_legal_substitute_is_no_silence(tmp_path: Path) -> None:
    assert _silences(tmp_path, TABLE.replace("{rule}", "{then: play, play: x}")) == ("sampled", [])


def test_rules_fail_at_the_first_use(tmp_path: Path) -> None:
    grade, ((code, text, witness),) = _silences(tmp_path, TURNS.format(taken="n"))
    assert (grade, code, text) == ("refuted", "GD0402", "n")
    assert witness == ("a gives no valid reply at n",)


def test_rules_that_speak_of_silence_play_on(tmp_path: Path) -> None:
    text = TURNS.format(taken="(n if n != none else 1)")
    assert _silences(tmp_path, text) == ("sampled", [])
    ir = _checked(tmp_path, text).ir
    assert ir is not None
    episode = Game(ir, ()).env().reset(seed=0)
    for _ in range(2):
        episode.step({one.seat: "?" if one.seat == "a" else "go" for one in episode.decisions})
    assert episode.payoffs["a"] == 8
