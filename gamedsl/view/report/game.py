"""The section of a run's page on its game: payoff table, outcomes, equilibria.

All values are rewards, which training optimises. Where a reward file makes them differ from
payoffs, the page says which it shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import prod

from markupsafe import Markup

from gamedsl.solve.table import PayoffTable
from gamedsl.tables.model import Cell, Column, Entry, Table, TextRun, number_columns, text_columns
from gamedsl.tables.numbers import exact, number
from gamedsl.training.summary import names_of, policy_of
from gamedsl.view.report.parts import Section, bullets, paragraph, wide_table
from gamedsl.view.report.run_data import RunData

MANY_PROFILES = 64
MANY_CELLS = 12


def game_section(run: RunData) -> Section | None:
    """The payoffs of a one-shot game and the equilibria of any game with a tree."""
    from gamedsl.solve import one_shot

    parts = []
    payoffs = one_shot(run.tree) if run.tree else None
    if payoffs is not None and len(payoffs.seats) == 2:
        parts += _matrix_parts(payoffs, policy_of(run.steps[-1]) if run.steps else {})
    elif payoffs is not None and len(payoffs.rewards) <= MANY_PROFILES:
        about = Markup(
            f"Every outcome with its {_unit(payoffs)}. Best replies are <u>underlined</u>, "
            "equilibria marked ◆."
        )
        parts.append(wide_table(outcome_table(payoffs), about, id="profiles"))
    lines = equilibrium_lines(run)
    if lines:
        parts.append(bullets(lines))
    return Section("The game", parts) if parts else None


def _matrix_parts(payoffs: PayoffTable, policy: Mapping[str, Mapping[str, float]]) -> list[Markup]:
    if max(map(len, payoffs.actions)) > MANY_CELLS:
        return []
    played = all(key in policy for key in payoffs.keys)
    rows, columns = payoffs.seats
    about = Markup(
        "{} chooses the row, {} the column; each cell holds {} in that order. Best replies are "
        "<u>underlined</u>, equilibria framed{}."
    ).format(
        rows, columns, _unit(payoffs),
        "; below each, how often the trained policies play the cell" if played else "",
    )  # fmt: skip
    table = payoff_matrix(payoffs, policy if played else None)
    parts = [wide_table(table, about, id="matrix", kind="matrix")]
    if payoffs.rewards != payoffs.payoffs:
        rewards = "Rewards are what training optimises: the payoffs after the reward file’s split."
        parts.append(paragraph(rewards))
    return parts


def payoff_matrix(payoffs: PayoffTable, policy: Mapping[str, Mapping[str, float]] | None) -> Table:
    """The rewards of a one-shot game of two seats. With a policy each cell says how often it is
    played."""
    rows, columns = payoffs.actions
    cells: list[Sequence[Entry]] = [
        (row, *(_profile_cell(payoffs, (row, column), policy) for column in columns))
        for row in rows
    ]
    return Table((Column(), *map(Column, columns)), cells, row_heads=1)


def _profile_cell(
    payoffs: PayoffTable,
    profile: tuple[str, str],
    policy: Mapping[str, Mapping[str, float]] | None,
) -> Cell:
    runs: list[TextRun] = []
    for cell in _reward_cells(payoffs, profile):
        runs += [*([TextRun(", ")] if runs else []), *cell.runs]
    share = ""
    if policy is not None:
        rows = (policy[key] for key in payoffs.keys)
        chance = prod(row.get(name, 0) for row, name in zip(rows, profile, strict=True))
        share = f"{chance:.1%}" if chance >= 0.0005 else "0%"
    return Cell(runs, "equilibrium" if _equilibrium(payoffs, profile) else "", note=share)


def outcome_table(payoffs: PayoffTable) -> Table:
    """Every action profile of a one-shot game with its rewards."""
    rows: list[Sequence[Entry]] = [
        (
            f"{'◆ ' if _equilibrium(payoffs, profile) else ''}{', '.join(profile)}",
            *_reward_cells(payoffs, profile),
        )
        for profile in product(*payoffs.actions)
    ]
    return Table((*text_columns(""), *number_columns(*payoffs.seats)), rows, row_heads=1)


def _reward_cells(payoffs: PayoffTable, profile: tuple[str, ...]) -> list[Cell]:
    """Each seat's reward, marked where its action is a best response."""
    return [
        Cell([TextRun(_exact(value), "marked" if payoffs.best(profile, seat) else "")])
        for seat, value in enumerate(payoffs.rewards[profile])
    ]


def _equilibrium(payoffs: PayoffTable, profile: Sequence[str]) -> bool:
    return all(payoffs.best(tuple(profile), seat) for seat in range(len(payoffs.seats)))


def _unit(payoffs: PayoffTable) -> str:
    return "rewards" if payoffs.rewards != payoffs.payoffs else "payoffs"


def equilibrium_lines(run: RunData) -> list[str]:
    """The equilibria in words; those with the same name and values share a line."""
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


def reference_rewards(run: RunData) -> list[tuple[float, str]]:
    """The rewards of symmetric pure equilibria, as named lines of a chart; empty if there are more
    than three."""
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


def _exact(value: Fraction) -> str:
    return exact(value) if value.denominator < 100 else number(float(value))
