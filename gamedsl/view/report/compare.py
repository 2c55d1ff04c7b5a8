"""Several runs on one page: what they were set to, where they ended, and their curves.

Runs of one game that differ in nothing but the seed are one line, their mean, with all that lies
between the lowest and the highest seed shaded. What sets the lines apart names them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import starmap
from pathlib import Path
from statistics import fmean
from string import ascii_uppercase
from typing import Any

from markupsafe import Markup

from gamedsl.view.report.gather import Run, gather
from gamedsl.view.report.svg import Series, line_chart, number

Record = Mapping[str, Any]
Measure = Callable[[Record], float | None]

UNTOLD = frozenset({
    "seed", "steps", "checkpoint_every", "keep_checkpoints", "transcripts_every", "pass_tokens",
    "recompute", "threads",
})  # fmt: skip
"""Settings that do not set lines apart."""

SHORT = 18
"""Characters that the name of a line may have in a chart."""


@dataclass(frozen=True)
class Line:
    """Runs that differ in their seed alone. `tag` is short: the name, or a letter for it."""

    name: str
    tag: str
    runs: tuple[Run, ...]


def compare(folders: Sequence[Path], out: Path) -> Path:
    """Write the page. FileNotFoundError for a folder that holds no run."""
    import jinja2

    runs = [gather(folder, whole=False) for folder in folders]
    here = files("gamedsl.view.report")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    template = environment.from_string(here.joinpath("compare.html.jinja").read_text("utf-8"))
    style = Markup(here.joinpath("page.css").read_text("utf-8"))
    grouped = lines(runs)
    games = list(dict.fromkeys(str(run.info.get("game")) for run in runs))
    out.write_text(
        template.render(
            style=style, title=" · ".join(games), games=len(games), charts=_charts(grouped),
            lines=[(_heading(one), _rows(one)) for one in grouped], count=len(runs),
        ),
        encoding="utf-8",
    )  # fmt: skip
    return out


def _heading(line: Line) -> str:
    return line.name if line.tag == line.name else f"{line.tag}: {line.name}"


def lines(runs: Sequence[Run]) -> list[Line]:
    """The runs in groups, in order of first appearance, each named by what sets it apart."""
    groups: dict[tuple[Any, ...], list[Run]] = {}
    flat = [_told(run) for run in runs]
    for run, settings in zip(runs, flat, strict=True):
        groups.setdefault(tuple(sorted(settings.items())), []).append(run)
    named = [dict(key) for key in groups]
    keys = dict.fromkeys(name for settings in flat for name in settings)
    apart = [key for key in keys if len({settings.get(key) for settings in named}) > 1]
    names = [", ".join(_shown(key, s) for key in apart if key in s) for s in named]
    short = all(len(name) <= SHORT for name in names)
    tags = names if short else [_letter(i) for i in range(len(names))]
    return list(starmap(Line, zip(names, tags, map(tuple, groups.values()), strict=True)))


def _letter(i: int) -> str:
    """A, B, ..., Z, A2, B2, ..."""
    return ascii_uppercase[i % 26] + (str(i // 26 + 1) if i >= 26 else "")


def _told(run: Run) -> dict[str, str]:
    """What sets a run apart from others, but for its seed: flat names and their values."""
    found = {"game": str(run.info.get("game")), "hash": str(run.info.get("hash"))[:8]}
    found |= {f"param {k}": str(v) for k, v in (run.info.get("params") or {}).items()}
    return found | {
        name: value for name, value in _flat(run.recipe) if name.partition(".")[0] not in UNTOLD
    }


def _flat(settings: Record, head: str = "") -> Iterable[tuple[str, str]]:
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{head}{key}.")
        else:
            yield f"{head}{key}", str(value)


def _shown(key: str, settings: Mapping[str, str]) -> str:
    return settings[key] if key in ("game", "model", "method") else f"{key} {settings[key]}"


def _charts(grouped: Sequence[Line]) -> list[tuple[str, str, Markup]]:
    every = [record for line in grouped for run in line.runs for record in run.measured]
    roles = dict.fromkeys(role for record in every for role in record.get("reward") or {})
    signals = dict.fromkeys(name for record in every for name in record.get("mapping") or {})
    measures: list[tuple[str, str, Measure, dict[str, Any]]] = [
        ("Exploitability", "NashConv / seats, logarithmic", _exploitability,
         {"logarithmic": True}),
        ("In range", "share of decisions in the range of equilibria", _in_range,
         {"low": 0.0, "high": 1.0, "percent": True}),
    ]  # fmt: skip
    measures += [(f"Reward of {role}", "mean per game", _of("reward", role), {}) for role in roles]
    measures += [
        (f"Bits of {signal}", "what words tell of types", _bits(signal), {"low": 0.0})
        for signal in signals
    ]
    found = []
    for title, note, measure, given in measures:
        steps = sorted({record["step"] for record in every if measure(record) is not None})
        series = [_series(line, i, steps, measure) for i, line in enumerate(grouped)]
        svg = line_chart(title, steps, series, width=520, height=260, **given)
        if svg:
            found.append((title, note, Markup(svg)))
    return found


def _series(line: Line, colour: int, steps: Sequence[int], measure: Measure) -> Series:
    """The mean of a line's runs at each step that all of them have, and their range."""
    rows = [{record["step"]: measure(record) for record in run.measured} for run in line.runs]
    values: list[float | None] = []
    around: list[tuple[float, float] | None] = []
    for step in steps:
        here = [value for row in rows if (value := row.get(step)) is not None]
        whole = len(here) == len(rows)
        values.append(fmean(here) if whole else None)
        around.append((min(here), max(here)) if whole and len(rows) > 1 else None)
    return Series(line.tag, values, colour, around=around)


def _exploitability(record: Record) -> float | None:
    return record.get("exploitability")


def _in_range(record: Record) -> float | None:
    found = record.get("in_range")
    return found["inside"] / found["of"] if found and found["of"] else None


def _of(field: str, name: str) -> Measure:
    return lambda record: (record.get(field) or {}).get(name)


def _bits(signal: str) -> Measure:
    return lambda record: ((record.get("mapping") or {}).get(signal) or {}).get("information")


def _rows(line: Line) -> list[dict[str, str]]:
    """A run a row: where it ended, and its mean over the last fifth of its steps."""
    rows = []
    for run in line.runs:
        last = run.steps[-1] if run.steps else {}
        fifth = run.steps[-max(len(run.steps) // 5, 1) :]
        over = [r["exploitability"] for r in fifth if r.get("exploitability") is not None]
        fits = last.get("in_range")
        reward = {r: x for r, x in (last.get("reward") or {}).items() if x is not None}
        rows.append({
            "folder": run.folder.name,
            "seed": str(run.info.get("seed", "")),
            "steps": f"{last.get('step', 0)}" + ("" if run.end else " (interrupted)"),
            "exploitability": number(over[-1]) if over else "",
            "fifth": number(fmean(over)) if over else "",
            "in_range": f"{fits['inside']} of {fits['of']}" if fits else "",
            "extinct": str(last.get("extinct", "")),
            "reward": ", ".join(f"{role} {number(x)}" for role, x in reward.items()),
        })  # fmt: skip
    return rows
