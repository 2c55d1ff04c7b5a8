"""Several runs on one page: what they were set to, where they ended, and their curves.

Runs of one game that differ in nothing but the seed are one line, their mean, with all that lies
between the lowest and the highest seed shaded. What sets the lines apart names them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise, starmap
from pathlib import Path
from statistics import fmean
from string import ascii_uppercase
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from gamedsl.storage.writer import write_output
from gamedsl.tables.model import Table, number_columns, text_columns
from gamedsl.tables.numbers import number
from gamedsl.view.charts import Series, line_chart
from gamedsl.view.report.page import rendered_page
from gamedsl.view.report.parts import Figure, Section, figures, heading, paragraph, wide_table
from gamedsl.view.report.run_data import RunData, read_run, settings_as_text

Record = Mapping[str, Any]
Measure = Callable[[Record], float | None]

IGNORED = frozenset({
    "seed", "steps", "checkpoint_every", "keep_checkpoints", "transcripts_every", "pass_tokens",
    "recompute", "threads",
})  # fmt: skip
"""Settings that do not put runs into different groups; of `steps` see `with_lengths`."""

MANY_DECISIONS, MANY_ACTIONS = 12, 6
"""Decisions of a group whose odds are drawn, and actions at each."""

SHORT = 18
"""Characters that the name of a line may have in a chart."""


@dataclass(frozen=True)
class RunGroup:
    """Runs that differ only in their seed. `tag` is the name, or a letter if that is long."""

    name: str
    tag: str
    runs: tuple[RunData, ...]


def write_comparison(folders: Sequence[Path], out: Path) -> Path:
    """Writes the page. Raises FileNotFoundError for a folder that holds no run."""
    runs = [read_run(folder, with_game=False) for folder in folders]
    groups = run_groups(runs)
    games = " · ".join(dict.fromkeys(str(run.info.get("game")) for run in runs))
    mixed = "These are runs of different games: their numbers say little about each other."
    sections = [
        _difference_section(runs),
        _course_section(groups),
        _policy_section(groups),
        _result_section(groups, out.resolve().parent),
    ]
    write_output(
        out,
        rendered_page(
            title=f"{games} · {len(runs)} runs",
            kind=f"gamedsl, {len(runs)} runs",
            heading=games,
            about="",
            facts=[],
            summary=[],
            notices=[mixed] if " · " in games else [],
            sections=[section for section in sections if section is not None],
        ),
    )
    return out


def run_groups(runs: Sequence[RunData]) -> list[RunGroup]:
    """The runs in groups, in order of first appearance, each named by the settings that differ, the
    number of steps among them (`with_lengths`)."""
    groups: dict[tuple[Any, ...], list[RunData]] = {}
    flat = with_lengths(
        [recipe_settings(run.info, run.recipe) for run in runs],
        [run.total for run in runs],
        [run.end is not None for run in runs],
    )
    for run, settings in zip(runs, flat, strict=True):
        groups.setdefault(tuple(sorted(settings.items())), []).append(run)
    named = [dict(key) for key in groups]
    keys = dict.fromkeys(name for settings in flat for name in settings)
    apart = [key for key in keys if len({settings.get(key) for settings in named}) > 1]
    names = [", ".join(_setting_text(key, s) for key in apart if key in s) for s in named]
    short = all(len(name) <= SHORT for name in names)
    tags = names if short else [_letter(i) for i in range(len(names))]
    return list(starmap(RunGroup, zip(names, tags, map(tuple, groups.values()), strict=True)))


def with_lengths(
    settings: Sequence[dict[str, str]], totals: Sequence[int | None], ended: Sequence[bool]
) -> list[dict[str, str]]:
    """Returns the settings of runs, with the number of steps that each was asked for where runs
    that ended were asked for different ones: a run that has not ended may just be behind."""
    if len({total for total, end in zip(totals, ended, strict=True) if end}) < 2:
        return list(settings)
    return [one | {"steps": str(total)} for one, total in zip(settings, totals, strict=True)]


def _letter(i: int) -> str:
    """A, B, ..., Z, A2, B2, ..."""
    return ascii_uppercase[i % 26] + (str(i // 26 + 1) if i >= 26 else "")


def recipe_settings(info: Mapping[str, Any], recipe: Mapping[str, Any]) -> dict[str, str]:
    """Returns the settings of a run that matter for its group, by flat names: all but its seed."""
    found = {"game": str(info.get("game")), "hash": str(info.get("hash"))[:8]}
    found |= {f"param {k}": str(v) for k, v in (info.get("params") or {}).items()}
    flat = settings_as_text(recipe)
    return found | {k: value for k, value in flat if k.partition(".")[0] not in IGNORED}


def _setting_text(key: str, settings: Mapping[str, str]) -> str:
    return settings[key] if key in ("game", "model", "method") else f"{key} {settings[key]}"


def _difference_section(runs: Sequence[RunData]) -> Section:
    """Lists how the runs differ: a row for each setting that does, with what each run has."""
    flat = [_every_setting(run) for run in runs]
    keys = dict.fromkeys(name for settings in flat for name in settings)
    apart = [key for key in keys if len({settings.get(key) for settings in flat}) > 1]
    if not apart:
        return Section("What differs", [paragraph("Nothing: all settings and seeds are the same.")])
    columns = text_columns("setting", *(run.folder.name for run in runs))
    rows = [(key, *(settings.get(key, "not set") for settings in flat)) for key in apart]
    about = "All other settings are the same."
    table = Table(columns, rows, row_heads=1)
    return Section("What differs", [wide_table(table, about, id="differences")])


def _every_setting(run: RunData) -> dict[str, str]:
    """The settings of a run, its seed too, by flat names."""
    own = {"seed": str(run.info.get("seed", "")), **recipe_settings(run.info, run.recipe)}
    return own | dict(settings_as_text(run.recipe))


def _course_section(groups: Sequence[RunGroup]) -> Section | None:
    drawn = list(_charts(groups))
    about = (
        "Runs that differ in the seed alone are one line: their mean, and shaded all between the "
        "lowest and the highest. A dotted line marks the step after which the mean has fewer "
        "seeds, and its name says how many are left."
    )
    return Section("Course of training", [paragraph(about), figures(drawn)]) if drawn else None


def _charts(groups: Sequence[RunGroup]) -> Iterator[Figure]:
    every = [record for group in groups for run in group.runs for record in run.policy_records]
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
    for title, note, measure, options in measures:
        steps = sorted({record["step"] for record in every if measure(record) is not None})
        series = [mean_series(group, i, steps, measure) for i, group in enumerate(groups)]
        svg = line_chart(title, steps, series, width=520, height=260, **options)
        if svg:
            yield Figure(title, note, svg)


def mean_series(group: RunGroup, colour: int, steps: Sequence[int], measure: Measure) -> Series:
    """The line of a group."""
    return mean_line(_records(group), group.tag, colour, steps, measure)


def mean_line(
    runs: Sequence[Sequence[Record]], name: str, colour: int, steps: Sequence[int], measure: Measure
) -> Series:
    """The mean of some runs at each step, of those that have it, and their range. `cuts` are the
    last steps with more runs than the next has."""
    rows = [{record["step"]: measure(record) for record in run} for run in runs]
    values: list[float | None] = []
    around: list[tuple[float, float] | None] = []
    counts: list[int] = []
    for step in steps:
        here = [value for row in rows if (value := row.get(step)) is not None]
        values.append(fmean(here) if here else None)
        around.append((min(here), max(here)) if len(here) > 1 else None)
        counts.append(len(here))
    known = [place for place, count in enumerate(counts) if count]
    cuts = tuple(steps[i] for i, j in pairwise(known) if counts[j] < counts[i])
    left = counts[known[-1]] if known else len(rows)
    fewer = f" ({left} of {len(rows)} seeds)" if cuts else ""
    return Series(name + fewer, values, colour, around=around, cuts=cuts)


def _policy_section(groups: Sequence[RunGroup]) -> Section | None:
    """The odds at each decision over the steps: the mean over the seeds, with its range."""
    parts = []
    for group in groups:
        drawn = odds_charts(_records(group))
        if drawn:
            parts += [heading(group.name)] if group.name else []
            parts.append(figures(drawn))
    about = (
        "Probability of each action: the mean over the seeds, and shaded all between the lowest "
        "and the highest. More decisions than these are in metrics.jsonl."
    )
    return Section("Policy at each decision", [paragraph(about), *parts]) if parts else None


def _records(group: RunGroup) -> list[Sequence[Record]]:
    return [run.policy_records for run in group.runs]


def odds_charts(runs: Sequence[Sequence[Record]]) -> list[Figure]:
    """Returns a chart of the odds at each of the first decisions. `runs` are the records of runs
    that differ in the seed alone."""
    policies = [record["policy"] for run in runs for record in run if record.get("policy")]
    keys = list(dict.fromkeys(key for policy in policies for key in policy))
    return [_odds_chart(runs, key) for key in keys[:MANY_DECISIONS]]


def _odds_chart(runs: Sequence[Sequence[Record]], key: str) -> Figure:
    """The odds at a decision; of many actions those that are likeliest at the end."""
    weights, steps = Counter[str](), set[int]()
    for run in runs:
        known = [record for record in run if key in (record.get("policy") or {})]
        steps.update(record["step"] for record in known)
        if known:
            weights.update(known[-1]["policy"][key]["probs"])
    likeliest = [name for name, _ in weights.most_common(MANY_ACTIONS)]
    names, order = [name for name in weights if name in likeliest], sorted(steps)
    series = [
        mean_line(runs, name, place, order, partial(_odds, key, name))
        for place, name in enumerate(names)
    ]
    more = len(weights) - len(names)
    note = f"{more} less likely actions left out" if more else ""
    svg = line_chart(f"Policy at {key}", order, series, low=0.0, high=1.0, percent=True)
    return Figure(key, note, svg)


def _odds(key: str, name: str, record: Record) -> float | None:
    row: Mapping[str, Any] = (record.get("policy") or {}).get(key) or {}
    found: float | None = row.get("probs", {}).get(name)
    return found


def seed_charts(runs: Sequence[RunData]) -> list[Figure]:
    """Returns the charts of runs that differ in the seed alone, as a comparison draws them."""
    group = RunGroup("", "", tuple(runs))
    return [*_charts([group]), *odds_charts(_records(group))]


def _exploitability(record: Record) -> float | None:
    return record.get("exploitability")


def _in_range(record: Record) -> float | None:
    found = record.get("in_range")
    return found["inside"] / found["of"] if found and found["of"] else None


def _of(field: str, name: str) -> Measure:
    return lambda record: (record.get(field) or {}).get(name)


def _bits(signal: str) -> Measure:
    return lambda record: ((record.get("mapping") or {}).get(signal) or {}).get("information")


def _result_section(groups: Sequence[RunGroup], below: Path) -> Section:
    """A table for each group, a row for each run, which links to the run's page where there is one
    below the folder of this page or beside it."""
    columns = (
        *text_columns("run"),
        *number_columns("seed", "steps", "exploitability", "last fifth, mean"),
        *text_columns("in range"),
        *number_columns("died out"),
        *text_columns("reward"),
    )
    parts = []
    for group in groups:
        name = group.name if group.tag == group.name else f"{group.tag}: {group.name}"
        table = Table(columns, [_result_row(run) for run in group.runs], row_heads=1)
        if len(group.runs) > 1:
            table = replace(table, rows=[*table.rows, _seed_row(group)])
        links = Markup(" · ").join(_link(run, below) for run in group.runs)
        parts.append((heading(name) if name else Markup()) + wide_table(table) + paragraph(links))
    return Section("Where they ended", parts)


def _seed_row(group: RunGroup) -> tuple[str, ...]:
    """The means of a group at the last steps of its runs."""
    found = dict(seed_means(group.runs))
    names = ("exploitability", "last fifth, mean", "in range")
    rewards = ", ".join(f"{name} {text}" for name, text in found.items() if name not in names)
    name = f"mean of {len(group.runs)} seeds ± half its 95% interval"
    return (name, "", "", *(found.get(one, "") for one in names), "", rewards)


def seed_means(runs: Sequence[RunData]) -> list[tuple[str, str]]:
    """Returns the means over runs that differ in the seed alone, at their last steps, with half
    their 95% intervals (t, over seeds): of exploitability, of the decisions in range, and of what
    each role is paid."""
    last = [run.steps[-1] if run.steps else {} for run in runs]
    roles = dict.fromkeys(role for record in last for role in record.get("reward") or {})
    measures: list[tuple[str, list[float | None], bool]] = [
        ("exploitability", [_exploitability(record) for record in last], False),
        ("last fifth, mean", [_last_fifth(run) for run in runs], False),
        ("in range", [_in_range(record) for record in last], True),
        *((role, [_of("reward", role)(record) for record in last], False) for role in roles),
    ]
    return [
        (name, text) for name, values, percent in measures if (text := _mean(values, percent))
    ]  # fmt: skip


def _mean(values: Sequence[float | None], percent: bool) -> str:
    """A mean with half its interval; empty where there is no value."""
    import numpy as np

    from gamedsl.evaluate.intervals import mean

    found = mean(np.array([np.nan if value is None else value for value in values]))
    if found is None:
        return ""
    text = number(found.value, percent)
    return f"{text} ± {number(found.half, percent)}" if found.kind == "t" else text


def _last_fifth(run: RunData) -> float | None:
    """The mean exploitability over the last fifth of a run's steps."""
    fifth = run.steps[-max(len(run.steps) // 5, 1) :]
    over = [r["exploitability"] for r in fifth if r.get("exploitability") is not None]
    return fmean(over) if over else None


def _link(run: RunData, below: Path) -> Markup:
    """A link to the page of a run, relative to the folder of this page; its folder's name alone
    where it has no page."""
    page = run.folder.resolve() / "report.html"
    if not page.exists():
        return Markup("{} has no page").format(run.folder.name)
    path = quote(Path(os.path.relpath(page, below)).as_posix())
    return Markup('<a href="{}">the page of {}</a>').format(path, run.folder.name)


def _result_row(run: RunData) -> tuple[str, ...]:
    """The results of a run at its end, and its mean over the last fifth of its steps."""
    last = run.steps[-1] if run.steps else {}
    exploitability, mean = last.get("exploitability"), _last_fifth(run)
    fits = last.get("in_range")
    reward = {r: x for r, x in (last.get("reward") or {}).items() if x is not None}
    return (
        run.folder.name,
        str(run.info.get("seed", "")),
        f"{last.get('step', 0)}" + ("" if run.end else " (interrupted)"),
        "" if exploitability is None else number(exploitability),
        "" if mean is None else number(mean),
        f"{fits['inside']} of {fits['of']}" if fits else "",
        str(last.get("extinct", "")),
        ", ".join(f"{role} {number(x)}" for role, x in reward.items()),
    )
