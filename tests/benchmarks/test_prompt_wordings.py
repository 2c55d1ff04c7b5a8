"""The table of prompts before training in docs/results.md is that of the committed results."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

from gamedsl.tables.markdown import markdown_rows

ROOT = Path(__file__).parents[2]


def test_the_page_has_the_committed_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    wordings = importlib.import_module("prompt_wordings")
    path = ROOT / "benchmarks" / "results" / "prompt_wordings.json"
    found = json.loads(path.read_text(encoding="utf-8"))
    assert set(found["games"]) == set(wordings.GAMES)
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert "\n".join(markdown_rows(wordings.table(found))) in page
