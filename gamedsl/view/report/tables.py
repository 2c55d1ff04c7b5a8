"""The game's own part of the report: payoff table, outcomes, equilibria.

All values are rewards, which training optimises; where a reward file makes them differ
from payoffs, the page says which it shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from gamedsl.train.summary import names_of, policy_of
from gamedsl.view.report.gather import Run
from gamedsl.view.report.svg import number

MANY_PROFILES = 64
MANY_CELLS = 12


def matrix(run: Run, last: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The payoff table of a one-shot game of two; else None."""
    from gamedsl.solve import one_shot

    table = one_shot(run.tree) if run.tree else None
    if table is None or len(table.seats) != 2 or max(map(len, table.actions)) > MANY_CELLS:
        return None
    policy = policy_of(last) if last else {}
    played = all(key in policy for key in table.keys)
    rows, columns = table.actions
    return {
        "seats": table.seats,
        "what": "rewards" if table.rewards != table.payoffs else "payoffs",
        "apart": table.rewards != table.payoffs,
        "played": played,
        "columns": columns,
        "rows": [
            (a, [_cell(table, (a, b), policy if played else None) for b in columns]) for a in rows
        ],
    }


def _cell(table: Any, profile: tuple[str, str], policy: Mapping[str, Any] | None) -> dict[str, Any]:
    best = [table.best(profile, seat) for seat in range(2)]
    share = None
    if policy is not None:
        p = 1.0
        for key, name in zip(table.keys, profile, strict=True):
            p *= policy[key].get(name, 0)
        share = f"{p:.1%}" if p >= 0.0005 else "0%"
    return {
        "amounts": [(_exact(v), b) for v, b in zip(table.rewards[profile], best, strict=True)],
        "equilibrium": all(best),
        "played": share,
    }


def profiles(run: Run) -> dict[str, Any] | None:
    """Every outcome of a one-shot game of three or more, where they are few; else None."""
    from gamedsl.solve import one_shot

    table = one_shot(run.tree) if run.tree else None
    if table is None or len(table.seats) < 3 or len(table.rewards) > MANY_PROFILES:
        return None
    rows = []
    for profile in product(*table.actions):
        best = [table.best(profile, seat) for seat in range(len(table.seats))]
        cells = [(_exact(v), b) for v, b in zip(table.rewards[profile], best, strict=True)]
        rows.append((", ".join(profile), all(best), cells))
    what = "rewards" if table.rewards != table.payoffs else "payoffs"
    return {"seats": table.seats, "rows": rows, "what": what}


def equilibria(run: Run) -> list[str]:
    """The equilibria in words, those alike in one line."""
    if run.tree is None:
        return []
    from gamedsl.solve import mixed_equilibria, pure_equilibria

    every = pure_equilibria(run.tree)
    if every.found is None:
        return [f"Pure equilibria: not listed, as {every.note}."]
    alike: dict[tuple[str, str], list[str]] = {}
    for one in every.found:
        worth = ", ".join(f"{seat} {_exact(v)}" for seat, v in one.values.items())
        texts = alike.setdefault((names_of(one, every), worth), [])
        if one.text not in texts:
            texts.append(one.text)
    lines = []
    for (names, worth), texts in list(alike.items())[:12]:
        more = f" and {len(texts) - 12} more" if len(texts) > 12 else ""
        each = "each " if len(texts) > 1 else ""
        lines.append(f"{', '.join(texts[:12])}{more}: {each}{names}; {worth}.")
    if not every.found:
        lines.append("There is no pure equilibrium.")
    for mixed in (mixed_equilibria(run.tree) or ())[:4]:
        parts = [
            f"{key} " + ", ".join(f"{name} {p}" for name, p in row.items() if p)
            for key, row in mixed.items()
        ]
        lines.append(f"Mixed equilibrium: {'; '.join(parts)}.")
    return lines


def marks(run: Run) -> list[tuple[float, str]]:
    """The rewards of symmetric pure equilibria, as reference lines, where they are few."""
    if run.tree is None:
        return []
    from gamedsl.solve import pure_equilibria

    same: dict[float, list[str]] = {}
    for one in pure_equilibria(run.tree).found or ():
        if len(set(one.values.values())) == 1:
            same.setdefault(float(next(iter(one.values.values()))), []).append(one.text)
    if len(same) > 3:
        return []
    return [
        (worth, texts[0] if len(texts) == 1 and len(texts[0]) <= 20 else "equilibrium")
        for worth, texts in same.items()
    ]


def _exact(value: Any) -> str:
    return str(value).replace("-", "−") if value.denominator < 100 else number(float(value))
