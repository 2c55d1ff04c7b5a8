"""An evaluation and a leaderboard as text: tables that fit the terminal, or Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from gamedsl.evaluate.errors import EvalError
from gamedsl.evaluate.found import Evaluation, Exploitability
from gamedsl.evaluate.intervals import Estimate
from gamedsl.evaluate.seating import Pairing
from gamedsl.evaluate.shown import Table, markdown, percent, short
from gamedsl.evaluate.standings import Standing, Standings
from gamedsl.evaluate.words_text import in_words, told_of_endpoints
from gamedsl.solve.words import plural
from gamedsl.train.telling.extinction import inside, parts_of
from gamedsl.train.telling.words import interval

FEW_ROLES = 3
"""Roles that have columns; more have rows."""


def tables_of(found: Evaluation, width: int) -> list[Table]:
    """What there is to show of an evaluation, in a terminal of so many columns."""
    tables = [_overview(found), *_matrix(found, width), _by_role(found)]
    tables += [table for table in (_results(found), _decisions(found)) if table.rows]
    return tables + in_words(found)


_ROWS = {
    "held_out": "rows of data: those held out of training",
    "training": "rows of data: those trained on",
}


def head_of(found: Evaluation) -> list[str]:
    """What was evaluated, how, and how sure it is."""
    game, options = found.game, found.options
    params = ", ".join(f"{name}={value}" for name, value in game.params.items())
    lines = [
        f"{game.name}{f' ({params})' if params else ''}: {plural(len(found.seats), 'seat')}; "
        f"numbers are mean {options.utility} of the contestant in a game"
    ]
    if referees := {seat: one.name for seat, one in found.plan.referees.items()}:
        lines.append("referees: " + ", ".join(f"{s} is {name}" for s, name in referees.items()))
    if game.ir.rows != "all":
        lines.append(_ROWS[game.ir.rows])
    if found.exact:
        lines.append("exact: the game is written out and nothing is sampled")
    else:
        lines.append(
            f"{options.games:,} games a pairing, shared by its seatings, on common seeds "
            f"(--seed {options.seed}); ± is half the 95% t interval over seeds"
        )
        lines.append(f"sampled: {found.why_sampled}")
    if any(games.exact for games in found.games.values()) and not found.exact:
        lines.append("numbers without ± are exact")
    if found.stopped is not None:
        lines.append(f"stopped early: {found.stopped.fact}; only what was finished counts")
    return lines + told_of_endpoints(found)


def _overview(found: Evaluation) -> Table:
    """Who there is; of a game in words no exploitability, where none is known."""
    known = {measured.kind for measured in found.exploitability.values()} - {"unknown"}
    shown = bool(known) or not found.in_words
    rows = []
    for key, one in zip(_letters(found), found.plan.everybody, strict=True):
        measured = found.exploitability.get(one.name)
        cells = [key, one.name if one.name == one.spec else f"{one.name} = {one.spec}"]
        if shown:
            cells.append("" if measured is None else _exploitable(measured))
        rows.append((*cells, percent(found.invalid(one.name))))
    whys = {m.why for m in found.exploitability.values() if m.kind == "unknown"}
    below = f"exploitability is NashConv / {len(found.seats)}"
    if "least" in known:
        below += "; ≥ by a search for replies: a lower bound, and what they gained"
    if whys:
        below += f"; – {' or '.join(sorted(whys))}"
    head = ("", "contestant", *(["exploitability"] if shown else []), "invalid replies")
    return Table("Contestants", head, tuple(rows), 2, below if shown else "")


def _by_role(found: Evaluation) -> Table:
    """What each earns in each role against each, one row a pairing or, of many roles, a role."""
    role_of = found.game.ir.role_of
    roles = tuple(dict.fromkeys(role_of[seat] for seat in found.seats))
    wide, rows = len(roles) <= FEW_ROLES, []
    for pairing in found.pairings:
        if not found.played(pairing):
            continue
        earned = found.by_role(pairing)
        who = short(pairing.focal), _against(found, pairing)
        if wide:
            mean = found.earned(pairing)
            rows.append((*who, *(_amount(earned.get(role)) for role in roles), _amount(mean)))
        else:
            rows += [(*who, role, _amount(amount)) for role, amount in earned.items()]
    columns = (*(f"as {role}" for role in roles), "mean") if wide else ("as", "earns")
    head = ("contestant", "against", *columns)
    return Table(f"Mean {found.options.utility} by role", head, tuple(rows), 2 if wide else 3)


def _results(found: Evaluation) -> Table:
    rows, shown = [], set()
    for pairing in found.pairings:
        if (pairing.background, pairing.focal) in shown or not found.played(pairing):
            continue
        shown.add((pairing.focal, pairing.background))
        if (record := found.record(pairing)) is None:
            continue
        games = "exact" if found.games[pairing.seatings[0].holders].exact else f"{record.games:,}"
        shares = (percent(part) for part in (record.won, record.drawn, record.lost))
        rows.append((short(pairing.focal), _against(found, pairing), games, *shares))
    head = ("contestant", "against", "games", "won", "drawn", "lost")
    below = "" if found.exact else "brackets hold 95% Wilson intervals; whoever forfeits has lost"
    return Table("Games won, drawn and lost", head, tuple(rows), 2, below)


def _decisions(found: Evaluation) -> Table:
    """How often each action is taken, and the range of equilibria; of two actions, the second."""
    if not found.options.decisions or not found.policies:
        return Table("", (), ())
    letter = dict(zip([c.name for c in found.plan.everybody], _letters(found), strict=True))
    policies, rows = found.policies, []
    marked = {name: inside(found.ranges, _shown(p)) for name, p in policies.items() if found.ranges}
    for key, row in next(iter(policies.values())).items():
        for action in list(row)[len(row) == 2 :]:
            out = {name for name, fits in marked.items() if fits.get(key) is False}
            played = (
                f"{p[key][action]:.1%} {'✗' if n in out else ' '}" for n, p in policies.items()
            )
            parts = parts_of(found.ranges, key, action)
            rows.append((key, action, *played, "–" if parts is None else interval(parts)))
    concept = found.ranges["concept"] if found.ranges else "equilibria"
    below = f"✗: outside the range of {concept}; –: any, as none comes there, or not known"
    head = ("decision", "action", *(letter[name] for name in policies), "equilibria")
    return Table("Decisions: how often the action is taken", head, tuple(rows), 2, below)


def _shown(policy: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    return {key: {"probs": row} for key, row in policy.items()}


def _matrix(found: Evaluation, width: int) -> list[Table]:
    """Cross-play: the row's mean payoff against the column; none for fewer than three cells."""
    cells = {(p.focal, p.background): p for p in found.pairings if found.played(p)}
    columns = list(dict.fromkeys(p.background for p in found.pairings if p.background is not None))
    rows = [one.name for one in found.plan.contestants]
    if len(rows) < 2 or len(columns) < 2:
        return []
    letter = dict(zip([c.name for c in found.plan.everybody], _letters(found), strict=True))
    text = {pair: _amount(found.earned(pairing)) for pair, pairing in cells.items()}
    names = [f"{letter[name]} {short(name)}" for name in rows]
    cell = max(len(t) for t in text.values()) + 2
    fit = max(1, (width - max(map(len, names)) - 3) // cell)
    blocks = ceil(len(columns) / fit)
    tables = []
    for block in range(blocks):
        part = columns[block * fit : (block + 1) * fit]
        body = [
            (shown, *(text.get((name, other), "") for other in part))
            for name, shown in zip(rows, names, strict=True)
        ]
        more = "" if blocks == 1 else f" ({block + 1} of {blocks})"
        title = f"Cross-play: mean {found.options.utility} of the row against the column{more}"
        tables.append(Table(title, ("", *(letter[name] for name in part)), tuple(body)))
    if len(found.seats) > 2:
        said = "the row holds one seat, each in turn, and the column all others"
        tables[-1] = Table(tables[-1].title, tables[-1].head, tables[-1].rows, 1, said)
    return tables


def standings_table(found: Standings) -> Table:
    """A leaderboard of one game."""
    params = ", ".join(f"{name}={value}" for name, value in found.params.items())
    title = f"Leaderboard of {found.game}{f' ({params})' if params else ''} [{found.hash[:8]}]"
    if found.referees:
        title += ", " + ", ".join(f"{seat} {name}" for seat, name in found.referees.items())
    failing = any(row.invalid and row.invalid.value for row in found.rows)
    digits = 0 if found.system == "elo" else 1
    columns: dict[str, list[str]] = {
        "#": [str(place) for place, _ in enumerate(found.rows, 1)],
        "contestant": [short(row.name) for row in found.rows],
    }
    if found.rated:
        shown = "Elo" if found.system == "elo" else "TrueSkill"
        columns[shown] = [_amount(row.rating, digits) for row in found.rows]
    columns["games"] = [f"{r.games:,}" if r.games else "exact" for r in found.rows]
    if found.rated:
        columns["W/D/L %"] = [_score(row) for row in found.rows]
    columns["mean payoff"] = [_amount(row.mean) for row in found.rows]
    if not found.rated:
        columns["with itself"] = [_amount(row.own) for row in found.rows]
    columns["exploitable"] = [_measured(row) for row in found.rows]
    if failing:
        columns["invalid"] = [percent(row.invalid, False) for row in found.rows]
    rows = tuple(zip(*columns.values(), strict=True))
    return Table(title, tuple(columns), rows, 2, _about(found))


def _about(found: Standings) -> str:
    said = "mean payoff is against others, each seat and opponent alike; ± is half a 95% interval"
    if not found.rated:
        return f"{said}; the game is not of constant sum for two, so pay ranks, not games won"
    if found.system == "trueskill":
        return f"{said}; TrueSkill is its mean, and counts who won, not how much"
    where = f"{found.anchor} stands at 1000" if found.anchor else "their mean is 1000"
    return f"{said}; Elo is of all matches, by the points that their pay is worth, {where}"


def _letters(found: Evaluation) -> list[str]:
    """A, B, …, Z, A1, B1, … for everybody."""
    return [
        ascii_uppercase[n % 26] + (str(n // 26) if n >= 26 else "")
        for n in range(len(found.plan.everybody))
    ]


def _against(found: Evaluation, pairing: Pairing) -> str:
    if pairing.mirror:
        return "itself"
    if pairing.background is not None:
        return short(pairing.background)
    return ", ".join(dict.fromkeys(short(one.name) for one in found.plan.fixed.values()))


def _amount(amount: Estimate | None, digits: int | None = None) -> str:
    """`0.500`, `0.486 ±0.031`; `–` where there is none."""
    if amount is None:
        return "–"
    if digits is None:
        digits = 3 if abs(amount.value) < 1000 else 1
    value = f"{amount.value:.{digits}f}"
    if float(value) == 0:
        value = value.lstrip("-")
    return value if amount.kind in ("exact", "none") else f"{value} ±{amount.half:.{digits}f}"


def _exploitable(found: Exploitability) -> str:
    if found.estimate is None:
        return "–"
    if found.kind == "exact":
        return _amount(found.estimate)
    return f"≥ {max(0.0, found.estimate.low):.3f} ({_amount(found.estimate)})"


def _measured(row: Standing) -> str:
    if row.exploitability is None:
        return "–"
    return ("" if row.exploitability["kind"] == "exact" else "≥ ") + (
        f"{row.exploitability['value']:.3f}"
    )


def _score(row: Standing) -> str:
    if not row.score.games:
        return "–"
    return "/".join(f"{100 * part / row.score.games:.0f}" for part in row.score[:3])


def write_markdown(path: Path, every: Sequence[Standings]) -> None:
    """Leaderboards as a Markdown file. Raises EvalError where it cannot be written."""
    from gamedsl.train.files import write_text

    try:
        write_text(path, "\n".join(markdown(standings_table(one)) for one in every))
    except OSError as error:
        raise EvalError(f"{path} cannot be written: {error.strerror}", "name another") from error
