"""What a run tells, on its page: ranges, alarms, mappings, rounds, contributions, cross-play.

The wording is that of the screen (`gamedsl.train.telling.words`); drawn here are heat maps and the
table of decisions against the equilibria.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from gamedsl.train.telling import words
from gamedsl.train.telling.after import FIRST
from gamedsl.train.telling.extinction import said
from gamedsl.train.telling.words import decisions, interval, likeliest, ranges_for
from gamedsl.view.report.gather import Run
from gamedsl.view.report.svg import heat_map, number

Record = Mapping[str, Any]
Figure = tuple[str, str, Markup]
"""A title, a note and a picture."""

MANY_CELLS = 64
MANY_ALARMS = 12


def bands(run: Run, key: str, name: str) -> tuple[tuple[float, float], ...]:
    """The equilibrium range of an action, for its chart."""
    ranges = ranges_for(run.start, _last(run) or {})
    parts = ranges["of"].get(key, {}).get(name, ()) if ranges else ()
    return tuple((low, high) for low, high in parts)


def crosses(run: Run, key: str, name: str) -> tuple[int, ...]:
    """The steps at which an action died out."""
    return tuple(step for step, a in _alarms(run) if a["event"] == "extinct"
                 and (a["information_set"], a["action"]) == (key, name))  # fmt: skip


def alarms(run: Run) -> list[str]:
    """Every alarm as a line, up to a number."""
    found = [f"Step {step}: {said(alarm)}." for step, alarm in _alarms(run)]
    rest = len(found) - MANY_ALARMS
    return found if rest < 1 else [*found[:MANY_ALARMS], f"And {rest} more, in metrics.jsonl."]


def _alarms(run: Run) -> list[tuple[int, Record]]:
    return [(r["step"], alarm) for r in run.measured for alarm in r.get("alarms") or ()]


def ranges(run: Run) -> dict[str, Any] | None:
    """The last policy against the ranges of equilibria, a row a decision; None without ranges."""
    found = ranges_for(run.start, _last(run) or {})
    if not found:
        return None
    rows = []
    for row in decisions(found, run.measured[-1].get("policy") or {}):
        if row.mark:
            actions = [
                (name, number(p, percent=True), interval(found["of"][row.name][name]))
                for name, p in row.probs.items()
            ]
            rows.append((row.name, row.mark == "✓", actions))
    return {"concept": found["concept"], "method": found["method"], "rows": rows}


def mappings(run: Run) -> list[Figure]:
    """The last mapping of every signal: types against words."""
    labels = _labels(run)
    figures = []
    for signal, told in ((_last(run) or {}).get("mapping") or {}).items():
        types = told["types"]
        words = sorted({word for row in types.values() for word in row["probs"]}, key=_natural)
        best = {kind: likeliest(row["probs"]) for kind, row in types.items()}
        rows = sorted(types, key=lambda kind: (words.index(best[kind]), kind))
        if max(len(rows), len(words)) > MANY_CELLS:
            continue
        many = [*best.values()]
        clash = [(i, words.index(best[k])) for i, k in enumerate(rows) if many.count(best[k]) > 1]
        note = f"{told['information']:.2f} of {told['entropy']:.2f} bits"
        note += f"; {told['collisions']} types collide, framed" if clash else "; no two collide"
        values = [[types[kind]["probs"].get(word, 0.0) for word in words] for kind in rows]
        shown = [labels.get(word, word) for word in words]
        figures.append((signal, note, Markup(heat_map(
            f"What {signal} means", rows, shown, values, marked=clash))))  # fmt: skip
    return figures


def rounds(run: Run) -> list[Figure]:
    """The last action rates of a repeated game, by how the round before ended."""
    figures = []
    for where, told in ((_last(run) or {}).get("after") or {}).items():
        names = list(next(iter(told.values()))["probs"])
        rows = [FIRST if last == FIRST else f"({last})" for last in told]
        if max(len(rows), len(names)) > MANY_CELLS:
            continue
        values = [[row["probs"].get(name, 0.0) for name in names] for row in told.values()]
        note = "after a round, its own choice first"
        figures.append((where, note, Markup(heat_map(
            f"What {where} plays after a round", rows, names, values))))  # fmt: skip
    return figures


def contributions(run: Run) -> list[tuple[str, str]]:
    """What each role adds to what all earn, where the run measured it."""
    found = words.contributions(run.end, run.steps)
    return [(role, number(value)) for role, value in found.items()]


class CrossPlay(NamedTuple):
    """What members of a pool earn against each other: a row for each as one side, with its weight
    in the mixture and its reward against each member as the other side."""

    side: str
    members: list[int]
    rows: list[tuple[int, str, list[str]]]


def pool(run: Run) -> list[CrossPlay]:
    """Cross-play of the pool that a run kept, for each of its sides."""
    found = (run.end or {}).get("population")
    if not found or len(found["members"]) > MANY_CELLS:
        return []
    members = found["members"]
    tables = []
    for side, payoff in found["payoff"].items():
        named = zip(members, found["weights"][side], payoff, found["half"][side], strict=True)
        rows = [
            (member, number(weight, percent=True), list(map(_within, row, half)))
            for member, weight, row, half in named
        ]
        tables.append(CrossPlay(side, members, rows))
    return tables


def _within(value: float, half: float | None) -> str:
    """A mean with half its interval; exact where that is 0."""
    shown = number(round(value, 2) + 0.0)
    return f"{shown} ± {number(round(half, 2))}" if half else shown


def _last(run: Run) -> Record | None:
    return run.measured[-1] if run.measured else None


def _labels(run: Run) -> dict[str, str]:
    """What each word was shown as, where that lasted."""
    lasting = run.game is not None and run.game.ir.labels_last
    return dict(run.labels.get("labels") or {}) if lasting else {}


def _natural(name: str) -> tuple[str, Sequence[int], str]:
    """`word_2` before `word_10`."""
    head, _, tail = name.rpartition("_")
    return (head, [int(tail)], "") if tail.isdigit() else (name, [0], name)
