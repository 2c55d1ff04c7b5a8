"""The sections of a run's page on its policy: its course, equilibria, signals, rounds.

The wording of alarms and ranges is that of the screen (`gamedsl.training.monitors`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gamedsl.tables.model import Cell, Column, Entry, Table, number_columns, text_columns
from gamedsl.tables.numbers import number
from gamedsl.training.monitors.extinction import alarm_line
from gamedsl.training.monitors.round_rates import FIRST
from gamedsl.training.monitors.text import decisions, interval, likeliest, ranges_for
from gamedsl.view.charts import Series, heat_map, line_chart
from gamedsl.view.report.parts import (
    Figure,
    Section,
    bullets,
    figures,
    heading,
    paragraph,
    wide_table,
)
from gamedsl.view.report.run_data import RunData

Record = Mapping[str, Any]

MANY_CHARTS = 16
MANY_LINES = 6
MANY_CELLS = 64
MANY_ALARMS = 12


def policy_section(run: RunData) -> Section | None:
    """A chart for each decision: the probability of every action over the steps."""
    keys = decision_keys(run)
    if not keys:
        return None
    about = "Probability of each action"
    about += ", with the label it was shown under." if run.changed_labels else "."
    if len(keys) > MANY_CHARTS:
        about += f" {len(keys) - MANY_CHARTS} more decisions are in metrics.jsonl."
    ranges = _last_ranges(run)
    if ranges:
        about += f" Shaded: the range of {ranges['concept']}."
    if _alarms(run):
        about += " Crosses: where an action died out."
    charts = [_policy_chart(run, key) for key in keys[:MANY_CHARTS]]
    return Section("Policy at each decision", [paragraph(about), figures(charts)])


def decision_keys(run: RunData) -> list[str]:
    """The decisions that the records know, in the order in which play comes to them; those that the
    tree does not have, or all where there is none, in the order of the records."""
    keys = dict.fromkeys(key for r in run.policy_records for key in r.get("policy") or {})
    if run.tree is None:
        return list(keys)
    from gamedsl.solve.table import sequence

    ordered = [info.key for info in sequence(run.tree) if info.key in keys]
    return list(dict.fromkeys((*ordered, *keys)))


def _policy_chart(run: RunData, key: str) -> Figure:
    records, labels = run.policy_records, run.changed_labels
    rows = [(r["step"], (r.get("policy") or {}).get(key)) for r in records]
    final = {k: row["probs"] for r in records for k, row in (r.get("policy") or {}).items()}
    names = list(final[key])
    named = _named_actions(names, final)
    series = [
        Series(
            f"{name} “{labels[name]}”" if name in labels else name,
            [row["probs"].get(name) if row else None for _, row in rows],
            named.index(name) if name in named else 0,
            quiet=name not in named,
            bands=_bands(run, key, name) if name in named else (),
            crosses=_crosses(run, key, name),
        )
        for name in names
    ]
    rest = len(names) - len(named)
    note = f"{len(named)} likeliest named, {rest} more in grey" if rest else ""
    steps = [step for step, _ in rows]
    svg = line_chart(f"Policy at {key}", steps, series, low=0.0, high=1.0, percent=True)
    return Figure(key, note, svg)


def _named_actions(names: list[str], final: Mapping[str, Mapping[str, float]]) -> list[str]:
    """The actions that get a named line: all if they are few. Otherwise those that are likeliest at
    the end, over all decisions with the same actions, so that their charts look alike."""
    if len(names) <= MANY_LINES:
        return names
    alike = [probs for probs in final.values() if list(probs) == names]
    weight = {name: sum(probs[name] for probs in alike) for name in names}
    return sorted(names, key=lambda name: -weight[name])[:MANY_LINES]


def _bands(run: RunData, key: str, name: str) -> tuple[tuple[float, float], ...]:
    """The equilibrium range of an action."""
    ranges = _last_ranges(run)
    parts = ranges["of"].get(key, {}).get(name, ()) if ranges else ()
    return tuple((low, high) for low, high in parts)


def _crosses(run: RunData, key: str, name: str) -> tuple[int, ...]:
    """The steps at which an action died out."""
    return tuple(
        step
        for step, alarm in _alarms(run)
        if alarm["event"] == "extinct"
        and (alarm["information_set"], alarm["action"]) == (key, name)
    )


def equilibrium_section(run: RunData) -> Section | None:
    """The last policy against the ranges of equilibria, and the alarms."""
    parts = []
    ranges = _last_ranges(run)
    if ranges:
        about = (
            f"The last policy and the range of {ranges['concept']} ({ranges['method']}). Each "
            "decision is looked at by itself; 5 points beside a range still count as in it."
        )
        parts.append(wide_table(_range_table(run, ranges), about, id="ranges"))
    lines = alarm_lines(run)
    if lines:
        parts += [heading("Alarms"), bullets(lines)]
    return Section("Against equilibrium", parts) if parts else None


def _range_table(run: RunData, ranges: Record) -> Table:
    rows: list[Sequence[Entry]] = []
    last = run.policy_records[-1].get("policy") or {}
    policy = {key: last[key] for key in decision_keys(run) if key in last}
    for row in decisions(ranges, policy):
        if not row.mark:
            continue
        fits, height = row.mark == "✓", len(row.probs)
        name: Entry = Cell(row.name, rows=height)
        verdict: Entry = Cell("✓ in range", "in", height)
        if not fits:
            verdict = Cell("✗ outside", "out", height)
        for action, p in row.probs.items():
            wanted = interval(ranges["of"][row.name][action])
            rows.append((name, action, number(p, percent=True), wanted, verdict))
            name = verdict = None
    columns = (
        *text_columns("decision", "action"),
        *number_columns("played"),
        Column("equilibria"),
        Column(),
    )
    return Table(columns, rows, row_heads=1)


def alarm_lines(run: RunData) -> list[str]:
    """Every alarm as a line, up to a number."""
    lines = [f"Step {step}: {alarm_line(alarm)}." for step, alarm in _alarms(run)]
    rest = len(lines) - MANY_ALARMS
    return lines if rest < 1 else [*lines[:MANY_ALARMS], f"And {rest} more, in metrics.jsonl."]


def _alarms(run: RunData) -> list[tuple[int, Record]]:
    return [(r["step"], alarm) for r in run.policy_records for alarm in r.get("alarms") or ()]


def signal_section(run: RunData) -> Section | None:
    """Heat maps of signals: how likely each word is for each type of its sender."""
    maps = list(_signal_maps(run))
    if not maps:
        return None
    about = paragraph("How likely each word is for what its sender alone knows.")
    return Section("What the words mean", [about, figures(maps, "charts maps")])


def _signal_maps(run: RunData) -> Iterator[Figure]:
    for signal, mapping in ((_last(run) or {}).get("mapping") or {}).items():
        types = mapping["types"]
        words = sorted({word for row in types.values() for word in row["probs"]}, key=_natural)
        best = {kind: likeliest(row["probs"]) for kind, row in types.items()}
        rows = sorted(types, key=lambda kind: (words.index(best[kind]), kind))
        if max(len(rows), len(words)) > MANY_CELLS:
            continue
        many = [*best.values()]
        clash = [(i, words.index(best[k])) for i, k in enumerate(rows) if many.count(best[k]) > 1]
        note = f"{mapping['information']:.2f} of {mapping['entropy']:.2f} bits"
        note += f"; {mapping['collisions']} types collide, framed" if clash else "; no two collide"
        values = [[types[kind]["probs"].get(word, 0.0) for word in words] for kind in rows]
        labels = [run.lasting_labels.get(word, word) for word in words]
        svg = heat_map(f"What {signal} means", rows, labels, values, marked=clash)
        yield Figure(signal, note, svg)


def round_section(run: RunData) -> Section | None:
    """Heat maps of a repeated game: the last action rates, by how the round before ended."""
    maps = list(_round_maps(run))
    return Section("After each round", [figures(maps, "charts maps")]) if maps else None


def _round_maps(run: RunData) -> Iterator[Figure]:
    for where, rates in ((_last(run) or {}).get("after") or {}).items():
        names = list(next(iter(rates.values()))["probs"])
        rows = [FIRST if last == FIRST else f"({last})" for last in rates]
        if max(len(rows), len(names)) > MANY_CELLS:
            continue
        values = [[row["probs"].get(name, 0.0) for name in names] for row in rates.values()]
        svg = heat_map(f"What {where} plays after a round", rows, names, values)
        yield Figure(where, "after a round, its own choice first", svg)


def _last_ranges(run: RunData) -> Record | None:
    """The ranges of equilibria of the game that the last step played."""
    return ranges_for(run.start, _last(run) or {})


def _last(run: RunData) -> Record | None:
    return run.policy_records[-1] if run.policy_records else None


def _natural(name: str) -> tuple[str, Sequence[int], str]:
    """A sort key that puts `word_2` before `word_10`."""
    head, _, tail = name.rpartition("_")
    return (head, [int(tail)], "") if tail.isdigit() else (name, [0], name)
