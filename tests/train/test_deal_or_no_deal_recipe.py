"""The recipe of `deal_or_no_deal`, with the embedded model: after its warm-up replies are valid."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gamedsl.cli import main


def valid_shares(folder: Path, *more: str) -> list[dict[str, float]]:
    """The share of valid replies by role, step by step of a run."""
    assert main(["train", "deal_or_no_deal", "--out", str(folder), *more]) == 0
    lines = (folder / "metrics.jsonl").read_text("utf-8").splitlines()
    return [r["valid"] for r in map(json.loads, lines) if r["event"] == "step"]


def test_the_recipe_trains_on_texts_and_objects(tmp_path: Path) -> None:
    small = ("warm_up.games=3", "warm_up.epochs=1", "games=2", "group_size=2", "temperature=1")
    settings = [part for each in small for part in ("--set", each)]
    shares = valid_shares(tmp_path / "run", "--model", "tiny", "--steps", "1", *settings)
    assert [set(share) <= {"ann", "bob"} for share in shares] == [True]


@pytest.mark.slow
def test_replies_are_valid_after_the_warm_up(tmp_path: Path) -> None:
    (share,) = valid_shares(tmp_path / "run", "--steps", "1")
    assert min(share.values()) >= 0.9
