"""The text of a run's records: sentences for its end, and rows for the screen and the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gamedsl.training.monitors.extinction import alarm_line, inside
from gamedsl.training.monitors.round_rates import FIRST

Record = Mapping[str, Any]

SHOWN = 3
MANY_TYPES, MOST_TYPES = 8, 64
"""Beyond so many types the words are listed without their probabilities, or not at all."""

STANDINGS = ("solved", "mixed", "failed", "unseen")
"""The standings of rows of data that are drawn by success: each row has one of these."""


class PolicyRow(NamedTuple):
    """The probabilities of actions at a place. `mark` is `✓` or `✗` for inside or outside the range
    of equilibria, `=` for a word that collides, or empty."""

    name: str
    probs: Mapping[str, float]
    mark: str = ""


def sentences(start: Record | None, steps: Sequence[Record]) -> list[str]:
    """Returns the sentences for the end of a run, from its start record and those of its steps."""
    if not steps:
        return []
    last = steps[-1]
    ranges = ranges_for(start, last)
    found = [_mapped(signal, told) for signal, told in (last.get("mapping") or {}).items()]
    found += [_rounds(where, told) for where, told in (last.get("after") or {}).items()]
    if ranges:
        found.append(_in_range(ranges, last))
    alarms = [(r["step"], a) for r in (start, *steps) if r for a in r.get("alarms") or ()]
    if alarms:
        found.append(_alarms(alarms, last))
    return found


def of_last_level(steps: Sequence[Record]) -> list[Record]:
    """Returns the steps in the game of the last one: a curriculum's levels are different games,
    whose rewards do not compare."""
    return [step for step in steps if step.get("level") == steps[-1].get("level")]


def ranges_for(start: Record | None, record: Record) -> Record | None:
    """Returns the ranges of the start record, where a record is of the same game: of the same
    level."""
    if start is None or start.get("level") != record.get("level"):
        return None
    ranges: Record | None = start.get("ranges")
    return ranges


def decisions(ranges: Record | None, policy: Record) -> list[PolicyRow]:
    """Returns the policy, each decision marked as inside or outside the range of equilibria."""
    fits = inside(ranges, policy) if ranges else {}
    marks = {True: "✓", False: "✗", None: ""}
    return [PolicyRow(key, row["probs"], marks[fits.get(key)]) for key, row in policy.items()]


def meanings(record: Record) -> list[PolicyRow]:
    """Returns the mapping of every signal, a row a type."""
    return [row for told in (record.get("mapping") or {}).values() for row in meanings_of(told)]


def meanings_of(told: Record) -> list[PolicyRow]:
    """Returns the mapping of one signal."""
    best = {kind: likeliest(row["probs"]) for kind, row in told["types"].items()}
    words = list(best.values())
    return [
        PolicyRow(kind, row["probs"], "=" if words.count(best[kind]) > 1 else "")
        for kind, row in told["types"].items()
    ]


def rounds(record: Record) -> list[PolicyRow]:
    """Returns the action rates of a repeated game, a row for each way in which a round may end."""
    return [
        PolicyRow(f"{where} after {last}" if last != FIRST else f"{where} at first", row["probs"])
        for where, told in (record.get("after") or {}).items()
        for last, row in told.items()
    ]


def alarms(record: Record) -> list[str]:
    """Returns the alarms of a record, a line each."""
    lines = [f"step {record['step']}: {alarm_line(alarm)}" for alarm in record.get("alarms") or ()]
    rest = len(lines) - SHOWN
    return lines if rest < 2 else [*lines[:SHOWN], f"step {record['step']}: and {rest} more alarms"]


def likeliest(probs: Mapping[str, float]) -> str:
    return max(probs, key=lambda name: probs[name])


def contributions(end: Record | None, steps: Sequence[Record]) -> Mapping[str, float]:
    """Returns what each role adds, as it was measured last: at the end, or in a step."""
    for record in (*((end,) if end else ()), *reversed(steps)):
        if found := record.get("contributions"):
            return dict(found)
    return {}


def contributed(found: Mapping[str, float]) -> str:
    """Returns the sentence on what each role adds to the joint earnings, the most first."""
    ranked = sorted(found.items(), key=lambda one: -one[1])
    shown = ", ".join(f"{role} {value:+.2f}" for role, value in ranked[:MANY_TYPES])
    more = f" and {len(ranked) - MANY_TYPES} more" if len(ranked) > MANY_TYPES else ""
    return f"What each role adds to what all earn, over random play: {shown}{more}."


def population(found: Record) -> str:
    """Returns the sentence on a pool, from `population` in the end record."""
    members = found["members"]
    who = "equilibrium" if found["mixture"] == "equilibrium" else "even mixture"
    of = f"{len(members)} policies of the past (steps {members[0]} to {members[-1]})"
    told = f"The pool holds {of}; its {who} is played by "
    shares = [
        f"{side}: " + ", ".join(f"{w:.0%} step {m}" for w, m in likeliest)
        for side, weights in found["weights"].items()
        if (likeliest := _likeliest(weights, members))
    ]
    told += "; ".join(shares) + "."
    far = found.get("exploitability")
    if far is None:
        return told
    if "mixture" not in far:
        return f"{told} The last policy's exploitability is {far['last']:.3f}."
    return (
        f"{told} Its exploitability is {far['mixture']:.3f}, the last policy's {far['last']:.3f}."
    )


def _likeliest(weights: Sequence[float], members: Sequence[int]) -> list[tuple[float, int]]:
    played = [(w, m) for w, m in zip(weights, members, strict=True) if w >= 0.005]
    return sorted(played, reverse=True)[:SHOWN]


def _mapped(signal: str, told: Record) -> str:
    line = f"{signal} tells {told['information']:.2f} of {told['entropy']:.2f} bits"
    types = told["types"]
    if told["collisions"]:
        line += f"; {told['collisions']} of {len(types)} types share their word with another"
    best = {kind: likeliest(row["probs"]) for kind, row in types.items()}
    if len(types) <= MANY_TYPES:
        parts = [f"{kind} is {w} {types[kind]['probs'][w]:.0%}" for kind, w in best.items()]
        line += f": {', '.join(parts)}"
    elif len(types) <= MOST_TYPES:
        line += f": {', '.join(f'{kind} {w}' for kind, w in best.items())}"
    return f"{line}."


def _rounds(where: str, told: Record) -> str:
    name = next(iter(next(iter(told.values()))["probs"]))
    parts = [
        f"{row['probs'].get(name, 0):.0%} {'at first' if last == FIRST else f'after ({last})'}"
        for last, row in told.items()
    ]
    more = f" and {len(parts) - 5} more" if len(parts) > 5 else ""
    return f"{where} plays {name} {', '.join(parts[:5])}{more}."


def _in_range(ranges: Record, last: Record) -> str:
    policy = last.get("policy") or {}
    fits = inside(ranges, policy)
    out = [key for key, fit in fits.items() if not fit]
    line = f"{sum(fits.values())} of {len(fits)} decisions are in the range of "
    line += f"{ranges['concept']}"
    if out:
        shown = [_outside(ranges, key, policy[key]["probs"]) for key in out[:SHOWN]]
        more = f" and {len(out) - SHOWN} more" if len(out) > SHOWN else ""
        line += f"; outside are {', '.join(shown)}{more}"
    return f"{line}."


def _outside(ranges: Record, key: str, probs: Mapping[str, float]) -> str:
    """The action that is farthest from its intervals."""

    def off(name: str) -> float:
        p = probs[name]
        beside = [float(max(a - p, p - b, 0.0)) for a, b in ranges["of"][key][name]]
        return round(min(beside), 6)  # of two actions as far off, the first

    name = max(probs, key=off)
    return f"{key} ({name} {probs[name]:.0%}, not {interval(ranges['of'][key][name])})"


def interval(parts: Sequence[Sequence[float]]) -> str:
    """Returns intervals as text: `33%`, `0% to 33%`, `0% or 67% or 100%`."""
    return " or ".join(f"{a:.0%}" if b - a < 0.005 else f"{a:.0%} to {b:.0%}" for a, b in parts)


def _alarms(found: Sequence[tuple[int, Record]], last: Record) -> str:
    gone = [(step, a) for step, a in found if a["event"] == "extinct"]
    places = dict.fromkeys((a["information_set"], a["action"]) for _, a in gone)
    shown = ", ".join(f"{name} at {key}" for key, name in list(places)[:SHOWN])
    more = f" and {len(places) - SHOWN} more" if len(places) > SHOWN else ""
    many = f"{len(places)} action{'' if len(places) == 1 else 's'} died out"
    return f"{many} on the way ({shown}{more}), {last.get('extinct', 0)} of them to the end."
