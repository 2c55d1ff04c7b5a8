"""Runs of training as workers read them: what a list says, curves, and comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gamedsl.mcp.refusal import Refused
from gamedsl.runs.errors import RunDamaged
from gamedsl.runs.saved import open_saved
from gamedsl.storage.reader import read_text

CURVES = (("reward", "Reward"), ("exploitability", "Exploitability"))
"""The fields of the records of steps that are drawn, with the titles of their charts."""

MOST_PAGE = 1 << 24
"""Bytes of a comparison."""


def rows(folders: Sequence[str]) -> list[dict[str, Any]]:
    """Returns what a list says of each run, or its `fault`. Runs that differ in the seed alone have
    one `recipe`; a run that cannot be read has none."""
    from gamedsl.view.report.comparison import with_lengths

    found = [_row(Path(folder)) for folder in folders]
    alike: dict[str, list[dict[str, Any]]] = {}
    for row in found:
        alike.setdefault(_text_of(row["settings"]), []).append(row)
    for group in alike.values():
        settings = with_lengths(
            [row["settings"] for row in group],
            [row["total"] for row in group],
            [row["state"] == "ended" for row in group],
        )
        for row, one in zip(group, settings, strict=True):
            row["recipe"] = _text_of(one)
    return found


def _text_of(settings: Mapping[str, str]) -> str:
    return "\n".join(f"{name}={value}" for name, value in sorted(settings.items()))


def _row(folder: Path) -> dict[str, Any]:
    from gamedsl.view.report.comparison import recipe_settings

    row: dict[str, Any] = {"game": "", "model": "", "seed": "", "steps": "", "state": ""}
    row |= {"headline": "", "settings": {}, "total": None}
    try:
        saved = open_saved(folder)
        info, records, recipe = saved.info(), saved.records(), saved.settings()
    except RunDamaged as error:
        return row | {"fault": str(error)}
    end = next((record for record in reversed(records) if record["event"] == "end"), None)
    summary = str((end or {}).get("summary") or "")
    return {
        "game": info.get("game", ""),
        "model": info.get("model", ""),
        "seed": info.get("seed", ""),
        "steps": records[-1]["step"] if records else 0,
        "total": recipe.get("steps"),
        "state": "ended" if end else "running, or stopped",
        "settings": recipe_settings(info, recipe),
        "headline": summary.partition(". ")[0],
        "fault": "",
    }


def run(folder: str) -> dict[str, Any]:
    """Returns a run as a page shows it: `charts` are titles with pictures. Raises RunDamaged."""
    from gamedsl.view.charts import Series, line_chart
    from gamedsl.view.report.comparison import odds_charts

    saved = open_saved(Path(folder))
    steps = [record for record in saved.records() if record["event"] == "step"]
    charts = []
    for key, title in CURVES:
        values = [
            one if isinstance(one := record.get(key), dict) else {key: one} for record in steps
        ]
        names = dict.fromkeys(
            name for value in values for name, v in value.items() if v is not None
        )
        lines = [Series(name, [v.get(name) for v in values], at) for at, name in enumerate(names)]
        if lines and len(steps) > 1:
            charts.append([title, line_chart(title, [record["step"] for record in steps], lines)])
    odds = [[one.title, one.svg] for one in odds_charts([steps]) if len(steps) > 1]
    return _row(Path(folder)) | {"charts": [*charts, *odds]}


def seeds(folders: Sequence[str]) -> dict[str, Any]:
    """Returns runs that differ in the seed alone as one: `means` with 95% intervals over the seeds,
    and `charts` of titles, notes and pictures. Raises RunDamaged."""
    from gamedsl.view.report.comparison import seed_charts, seed_means
    from gamedsl.view.report.run_data import read_run

    runs = [read_run(Path(folder), with_game=False) for folder in folders]
    charts = [[one.title, one.note, one.svg] for one in seed_charts(runs)]
    return {"means": seed_means(runs), "charts": charts}


def compare(folders: Sequence[str]) -> str:
    """Returns the page that compares runs, as `gamedsl report` writes it."""
    from gamedsl.view.report.comparison import write_comparison

    with TemporaryDirectory() as work:
        try:
            page = write_comparison([Path(one) for one in folders], Path(work) / "comparison.html")
        except FileNotFoundError as error:
            raise Refused(
                f"{Path(error.filename).parent} is no run", "choose runs of the list"
            ) from error
        return read_text(page, limit=MOST_PAGE)
