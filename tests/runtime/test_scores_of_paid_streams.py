"""Scores read the sums of what was paid during play."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

import gamedsl
from gamedsl.compiler import compile_file

GAME = """
game: thrift
roles: [ann, bob]
turns:
  - repeat: 2
    turns:
      - {role: all, choose: go, from: [save, spend]}
      - {pay: coins, value: 1 if go.me == save else 0}
payoffs: 1 if go.me == spend else 0
scores:
  coins: coins.me / 2
  ahead: coins.me - coins.other
rewards: {use: weighted, weights: {coins: 1, ahead: 10}}
"""


@pytest.fixture(name="written")
def _written(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "thrift.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize("backend", ["interpreter", "generated", "tabulated"])
def test_scores_are_of_what_was_paid(written: Callable[[str], Path], backend: str) -> None:
    """Also that of the same name: each reads what was paid, whatever stands before it."""
    episode = gamedsl.load(written(GAME)).env(backend=backend).reset(0)
    for ann, bob in (("save", "spend"), ("save", "save")):
        episode.step({"ann": ann, "bob": bob})
    assert episode.payoffs == {"ann": 0, "bob": 0}
    assert episode.paid["coins"] == {"ann": 1, "bob": Fraction(1, 2)}
    assert episode.paid["ahead"] == {"ann": 1, "bob": -1}
    assert episode.rewards == {"ann": 11, "bob": Fraction(-19, 2)}


def test_streams_are_named_only_in_scores(written: Callable[[str], Path]) -> None:
    inside = GAME.replace("payoffs: 1 if go.me == spend else 0", "payoffs: coins.me")
    found = compile_file(written(inside)).diagnostics
    assert [d.code for d in found] == ["GD0301"]
    assert found[0].span.text == "coins"


def test_variable_shadows_stream_of_same_name(
    written: Callable[[str], Path],
) -> None:
    text = GAME.replace("turns:", "state: {coins: {per: role, start: 7}}\nturns:", 1)
    episode = gamedsl.load(written(text)).env().reset(0)
    for _ in range(2):
        episode.step({"ann": "save", "bob": "save"})
    assert episode.paid["coins"]["ann"] == Fraction(7, 2)
