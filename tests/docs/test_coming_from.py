"""The games side by side are one game."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import gamedsl
from gamedsl.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "coming-from" / "gambit.md"


def payoffs(path: Path) -> dict[tuple[str, str], dict[str, object]]:
    """The payoffs of each pair of choices."""
    game = gamedsl.load(path)
    paid = {}
    for ann, bob in product(["stag", "hare"], repeat=2):
        episode = game.env().reset(seed=0)
        episode.step({"ann": gamedsl.Action(ann), "bob": gamedsl.Action(bob)})
        paid[ann, bob] = dict(episode.payoffs)
    return paid


def test_gambits_game_is_ours(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    blocks = dict(re.findall(r"```(nfg|yaml)\n(.*?)```", text, re.DOTALL))
    (tmp_path / "stag.nfg").write_text(blocks["nfg"], encoding="utf-8")
    (tmp_path / "stag.yaml").write_text(blocks["yaml"], encoding="utf-8")
    out = tmp_path / "imported.yaml"
    assert main(["import", str(tmp_path / "stag.nfg"), "-o", str(out)]) == 0
    assert payoffs(out) == payoffs(tmp_path / "stag.yaml")
    assert payoffs(out)["hare", "stag"] == {"ann": 3, "bob": 0}
