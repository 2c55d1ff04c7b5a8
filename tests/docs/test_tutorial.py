"""The tutorial's game and figures are the compiler's."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest

import gamedsl
from gamedsl.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "tutorial" / "first-game.md"
FENCED = re.findall(r"```(\w*)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
(GAME,) = [text for kind, text in FENCED if kind == "yaml"]


def test_the_tutorial_validates_as_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("picnic.yaml").write_text(GAME, encoding="utf-8")
    assert main(["validate", "picnic.yaml"]) == 0
    (shown,) = [text for _, text in FENCED if text.startswith("picnic.yaml: ok")]
    assert capsys.readouterr().out.strip() == shown.strip()


@pytest.mark.parametrize(("alone", "needed"), [(2, Fraction(2, 5)), (4, Fraction(4, 5))])
def test_the_thresholds_make_a_player_indifferent(
    alone: int, needed: Fraction, tmp_path: Path
) -> None:
    """At the probability the page names, the park pays what the cafe does."""
    path = tmp_path / "picnic.yaml"
    path.write_text(re.sub(r"\b2\b", str(alone), GAME), encoding="utf-8")
    game = gamedsl.load(path)

    def pays(ann: str, bob: str) -> Fraction:
        episode = game.env().reset(seed=0)
        episode.step({"ann": gamedsl.Action(ann), "bob": gamedsl.Action(bob)})
        return Fraction(episode.payoffs["ann"])

    park = needed * pays("park", "park") + (1 - needed) * pays("park", "cafe")
    cafe = needed * pays("cafe", "park") + (1 - needed) * pays("cafe", "cafe")
    assert park == cafe == alone
