"""The plays of a pushed run, as `datasets` of Hugging Face loads them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gamedsl.solve import tabulate
from tests.peers.plays import loaded

datasets = pytest.importorskip("datasets")
pytest.importorskip("torch")


@pytest.mark.parametrize("name", ["stag_hunt", "kuhn_poker"])
def test_plays_are_loaded_as_rows(name: str, tmp_path: Path) -> None:
    from gamedsl.api.model_card import write_card
    from tests.report.runs import write_run

    tree = tabulate(loaded(name).env())
    final = {one.key: one.actions[0] for one in tree.info_sets}
    write_card(write_run(tmp_path / "run", name, final), tmp_path / "card")
    found = datasets.load_dataset(str(tmp_path / "card" / "plays"), cache_dir=str(tmp_path / "hf"))
    rows = list(found["train"])
    assert sorted(row["games"] for row in rows) == [38, 90]
    for row in rows:
        record = json.loads(row["transcript"])
        assert {one["seat"]: one["amount"] for one in row["rewards"]} == record["rewards"]
        moves = [move for entry in record["steps"] for move in entry.get("choices", {}).values()]
        assert [one["choice"] for one in row["choices"]] == moves
