"""`report.html`: a run on one page, for reading, printing and an appendix.

The page is one file that asks no network for anything; its content security policy says so, and
allows one script, by its hash, which reads the charts out under the pointer. Without it the page is
whole. Data that a run lacks (a tree, an end, transcripts) is left out.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from markupsafe import Markup

from gamedsl.storage.writer import write_text
from gamedsl.tables.numbers import duration, number
from gamedsl.training.monitors.text import of_last_level, sentences
from gamedsl.training.summary import summarise
from gamedsl.view.canvas import palette
from gamedsl.view.charts import chart_rules
from gamedsl.view.conversation import conversation_rules
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
        headline=headline(run),
        summary=summary_of(run),
        notices=[*_interruption(run), *run.notes],
        sections=[section for section in found if section is not None],
    )
    write_text(path, text)
    return path


def headline(run: RunData) -> str:
    """Returns the number that matters, with its scale: exploitability beside that of uniform play,
    valid replies beside those of the first step, else the mean reward beside what can be had."""
    if not run.steps:
        return ""
    steps = of_last_level(run.steps)
    last, first = steps[-1], steps[0]
    if last.get("exploitability") is not None:
        low, high = last.get("exploitability_interval") or (None, None)
        sure = (
            "" if low is None else f" ({low:.3f} to {high:.3f}, from {last['thoughts']} thoughts)"
        )
        scale = _scale_of_exploitability(run)
        return f"exploitability {last['exploitability']:.3f}{sure}{scale}"
    if last.get("valid"):
        rates = ", ".join(_rate(role, last, first) for role in last["valid"])
        return f"valid replies {rates}"
    reward = {role: mean for role, mean in (last.get("reward") or {}).items() if mean is not None}
    means = ", ".join(f"{role} {number(mean)}" for role, mean in reward.items())
    return f"reward {means}" if means else ""


def _scale_of_exploitability(run: RunData) -> str:
    if "level" in run.steps[-1]:
        return ""  # a curriculum's game was another at first, and is another by default
    if run.tree is not None:
        from gamedsl.solve import exploitability, uniform

        worst = float(exploitability(run.tree, uniform(run.tree)).per_player)
        return f"; uniform play {worst:.3f}"
    began = (run.start or {}).get("exploitability")
    return "" if began is None else f"; at the start {began:.3f}"


def _rate(role: str, last: Mapping[str, Any], first: Mapping[str, Any]) -> str:
    before = (first.get("valid") or {}).get(role)
    scale = "" if before is None or first is last else f" (in step {first['step']} {before:.0%})"
    many = f"{role} " if len(last["valid"]) > 1 else ""
    return f"{many}{last['valid'][role]:.0%}{scale}"


def rendered_page(**content: Any) -> str:
    """The text of a page: `page.html.jinja` with its style sheet, filled with `content`."""
    import jinja2

    here = files("gamedsl.view.report")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    template = environment.from_string(here.joinpath("page.html.jinja").read_text("utf-8"))
    sheets = (palette(), chart_rules(), conversation_rules(), here.joinpath("page.css").read_text())
    script = here.joinpath("page.js").read_text("utf-8")
    digest = b64encode(sha256(script.encode()).digest()).decode()
    return template.render(
        style=Markup("".join(sheets)), script=Markup(script), digest=digest,
        **{"headline": "", **content},
    )  # fmt: skip


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
    steps = of_last_level(run.steps)
    first, last = (steps[0], steps[-1]) if steps else (None, None)
    text = (run.end or {}).get("summary") or " ".join(
        [summarise(run.start, last, run.tree, first=first), *sentences(run.start, steps)]
    )
    head, dot, rest = text.partition(". ")
    return [head + (dot and "."), rest] if rest else [text]


def _interruption(run: RunData) -> list[str]:
    if run.end is not None:
        return []
    return [
        f"This run was interrupted after step {_steps(run)}; the page shows the data up to there."
    ]
