"""`report.html`: a run on one page, for reading, printing and an appendix.

The page is one file without scripts, and asks no network for anything; its content security policy
says so. Data that a run lacks (a tree, an end, transcripts) is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from markupsafe import Markup

from gamedsl.storage.writer import write_text
from gamedsl.tables.numbers import duration
from gamedsl.train.monitors.text import sentences
from gamedsl.train.summary import summarise
from gamedsl.view.canvas import palette
from gamedsl.view.charts import chart_rules
from gamedsl.view.report.run_data import RunData, read_run
from gamedsl.view.report.sections import SECTIONS


def write_report(run_folder: Path | str) -> Path:
    """Writes `report.html` into a run's folder, and returns its path.

    Works on runs that were interrupted. Raises FileNotFoundError if the folder holds no run.
    """
    folder = Path(run_folder)
    run = read_run(folder)
    found = (section(run) for section in SECTIONS)
    path = folder / "report.html"
    text = rendered_page(
        title=f"{run.info['game']} · {run.info.get('model', '')} · seed {run.info.get('seed', '')}",
        kind="gamedsl training report",
        heading=run.info["game"],
        about=run.game.ir.about if run.game else "",
        facts=_facts(run),
        summary=summary_of(run),
        notices=[*_interruption(run), *run.notes],
        sections=[section for section in found if section is not None],
    )
    write_text(path, text)
    return path


def rendered_page(**content: Any) -> str:
    """The text of a page: `page.html.jinja` with its style sheet, filled with `content`."""
    import jinja2

    here = files("gamedsl.view.report")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    template = environment.from_string(here.joinpath("page.html.jinja").read_text("utf-8"))
    style = Markup(palette() + chart_rules() + here.joinpath("page.css").read_text("utf-8"))
    return template.render(style=style, **content)


def _facts(run: RunData) -> list[tuple[str, str]]:
    facts = [
        ("Model", _model(run.info)),
        ("Seed", str(run.info.get("seed", ""))),
        ("Started", run.when.strftime("%Y-%m-%d %H:%M %Z").strip()),
        ("Steps", _steps(run)),
    ]
    games = sum(record.get("games") or 0 for record in run.steps)
    seconds = sum(record.get("seconds") or 0 for record in run.steps)
    if games:
        facts.append(("Games played", f"{games:,}"))
    if seconds:
        facts.append(("Training time", duration(seconds)))
    if run.info.get("params"):
        facts.append(("Params", ", ".join(f"{k} = {v}" for k, v in run.info["params"].items())))
    return facts


def _model(info: Mapping[str, Any]) -> str:
    """The model; if there are several, each with its own adapters."""
    adapters: dict[str, list[str]] = {}
    for adapter, model in info.get("models", {}).items():
        adapters.setdefault(model, []).append(adapter)
    several = [f"{model} ({', '.join(names)})" for model, names in adapters.items()]
    return ", ".join(several) or str(info.get("model", ""))


def _steps(run: RunData) -> str:
    done = run.steps[-1]["step"] if run.steps else 0
    return f"{done} of {run.total}" if run.total else str(done)


def summary_of(run: RunData) -> list[str]:
    """Returns the summary of the run: its first sentence, as the lead, and the rest."""
    first, last = (run.steps[0], run.steps[-1]) if run.steps else (None, None)
    text = (run.end or {}).get("summary") or " ".join(
        [summarise(run.start, last, run.tree, first=first), *sentences(run.start, run.steps)]
    )
    head, dot, rest = text.partition(". ")
    return [head + (dot and "."), rest] if rest else [text]


def _interruption(run: RunData) -> list[str]:
    if run.end is not None:
        return []
    return [
        f"This run was interrupted after step {_steps(run)}; the page shows the data up to there."
    ]
