"""A run as the MCP server tells it: records spread over its steps, and only of its own folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from runs import write_run

from gamedsl.errors import UserError
from gamedsl.mcp.tasks import Tasks

HARE = {"hunter_1:move": "hare", "hunter_2:move": "hare"}


def told(root: Path, path: str, records: int) -> dict:
    return Tasks(root).carry_out("run", {"path": path, "records": records})


def test_records_are_spread_over_the_steps(tmp_path: Path) -> None:
    write_run(tmp_path / "run", "stag_hunt", HARE, steps=9)
    found = told(tmp_path, "run", 3)
    assert found["steps"] == 9
    assert [r["step"] for r in found["records"] if r["event"] == "step"] == [1, 5, 9]
    assert found["info"]["game"] == "stag_hunt"
    assert found["summary"].startswith("Both hunters learned hare")
    assert found["report"] is None


def test_other_folders_are_refused(tmp_path: Path) -> None:
    write_run(tmp_path / "run", "stag_hunt", HARE, steps=2)
    (tmp_path / "inner").mkdir()
    for path in ("../run", str(tmp_path / "run"), "nosuch"):
        with pytest.raises(UserError, match="fix:"):
            told(tmp_path / "inner", path, 3)


def test_a_run_whose_file_leads_elsewhere_is_refused(tmp_path: Path) -> None:
    write_run(tmp_path / "root" / "run", "stag_hunt", HARE, steps=2)
    metrics = tmp_path / "root" / "run" / "metrics.jsonl"
    metrics.rename(tmp_path / "elsewhere.jsonl")
    metrics.symlink_to(tmp_path / "elsewhere.jsonl")
    with pytest.raises(UserError, match="fix:"):
        told(tmp_path / "root", "run", 3)
