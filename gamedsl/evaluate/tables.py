"""The tables of an evaluation and of a leaderboard, for the terminal or a Markdown file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import ceil
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from gamedsl.evaluate.intervals import Estimate
from gamedsl.evaluate.results import Evaluation, Exploitability
from gamedsl.evaluate.seating import Pairing
from gamedsl.evaluate.standings import Standing, Standings
from gamedsl.policies.endpoint_protocol import REFUSALS
from gamedsl.tables.markdown import markdown
from gamedsl.tables.model import Table, number_columns, text_columns
from gamedsl.tables.text import plural, rendered, titled_lines

NAME = 24
"""Letters of a name in a row; the list of contestants has the whole."""
ROWS = 30
"""Rows of a table that are printed."""
EPISODES = 5
"""Episodes of a lineage that have rows, beside the last."""
FEW_ROLES = 3
"""Roles that have columns; more have rows."""


def tables_of(found: Evaluation, width: int) -> list[Table]:
    """The tables of an evaluation, for a terminal of `width` columns."""
    tables = [_overview(found), *_matrix(found, width), _by_role(found)]
    others = (_by_episode(found), _results(found), _decisions(found))
    tables += [table for table in others if table.rows]
    return tables + reply_tables(found)


_ROWS = {
    "held_out": "rows of data: those held out of training",
    "training": "rows of data: those trained on",
}


def head_of(found: Evaluation) -> list[str]:
    """The lines above the tables: game, method and certainty."""
    game, options = found.game, found.options
    params = ", ".join(f"{name}={value}" for name, value in game.params.items())
    lines = [
        f"{game.name}{f' ({params})' if params else ''}: {plural(len(found.seats), 'seat')}; "
        f"numbers are mean {options.utility} of the contestant in a game"
    ]
    if referees := {seat: one.name for seat, one in found.plan.referees.items()}:
        lines.append("referees: " + ", ".join(f"{s} is {name}" for s, name in referees.items()))
    if paid := found.referee_payoffs:
        lines.append("paid: " + ", ".join(f"{who} {amount(mean)}" for who, mean in paid.items()))
    if game.ir.rows != "all":
        lines.append(_ROWS[game.ir.rows])
    if found.exact:
        lines.append("exact: the game is written out and nothing is sampled")
    else:
        lines.append(
            f"{options.games:,} games a pairing, shared by its seatings, on common seeds "
            f"(--seed {options.seed}); ± is half the 95% t interval over seeds"
        )
        if options.carry > 1:
            lines.append(
                f"each of {options.carry} episodes in a row begins with the memory that the one "
                "before left; ± is over lineages"
            )
        lines.append(f"sampled: {found.why_sampled}")
    if any(games.exact for games in found.games.values()) and not found.exact:
        lines.append("numbers without ± are exact")
    if found.stopped is not None:
        lines.append(f"stopped early: {found.stopped.fact}; only what was finished counts")
    return lines + endpoint_lines(found)


def _overview(found: Evaluation) -> Table:
    """Lists the contestants. Exploitability is omitted for text games if it is unknown."""
    known = {measured.kind for measured in found.exploitability.values()} - {"unknown"}
    shown = bool(known) or not found.in_words
    rows = []
    for key, one in zip(_letters(found), found.plan.everybody, strict=True):
        measured = found.exploitability.get(one.name)
        cells = [key, one.name if one.name == one.spec else f"{one.name} = {one.spec}"]
        if shown:
            cells.append("" if measured is None else _measured_exploitability(measured))
        rows.append((*cells, percent(found.invalid(one.name))))
    whys = {m.why for m in found.exploitability.values() if m.kind == "unknown"}
    below = f"exploitability is NashConv / {len(found.seats)}"
    if "least" in known:
        tried = max(measured.tried for measured in found.exploitability.values())
        below += (
            f"; ≥ a lower bound, by the best of {tried} replies tried for each seat, and what they "
            "gained; not found: none of them gains for sure, so that nothing is known"
        )
    if "sampled" in known:
        thoughts = max(measured.thoughts for measured in found.exploitability.values())
        below += (
            f"; ≈ from the mean choice over {thoughts} thoughts at each decision, which is too high"
            " rather than too low, with its 95% bootstrap interval"
        )
    if whys:
        below += f"; – {' or '.join(sorted(whys))}"
    numbers = [*(["exploitability"] if shown else []), "invalid replies"]
    columns = (*text_columns("", "contestant"), *number_columns(*numbers))
    return Table(columns, rows, "Contestants", [below] if shown else [])


def _by_role(found: Evaluation) -> Table:
    """Tabulates each contestant's payoff in each role against each other, one row a pairing, or
    a role if there are many roles."""
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
            rows.append((*who, *(amount(earned.get(role)) for role in roles), amount(mean)))
        else:
            rows += [(*who, role, amount(mean)) for role, mean in earned.items()]
    if wide:
        numbers = number_columns(*(f"as {role}" for role in roles), "mean")
    else:
        numbers = (*text_columns("as"), *number_columns("earns"))
    columns = (*text_columns("contestant", "against"), *numbers)
    return Table(columns, rows, f"Mean {found.options.utility} by role")


def _by_episode(found: Evaluation) -> Table:
    """Tabulates each contestant's payoff by the episode of its lineages, the first and the last of
    many; no rows where nothing is carried over."""
    carry = found.options.carry
    shown = [n for n in range(carry) if n < EPISODES or n == carry - 1]
    rows = []
    for pairing in found.pairings:
        means = found.by_episode(pairing) if found.played(pairing) else []
        if means:
            who = short(pairing.focal), _against(found, pairing)
            rows += [(*who, str(number + 1), amount(means[number])) for number in shown]
    columns = *text_columns("contestant", "against"), *number_columns("episode", "mean")
    return Table(columns, rows, f"Mean {found.options.utility} by episode of a lineage")


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
    columns = (
        *text_columns("contestant", "against"),
        *number_columns("games", "won", "drawn", "lost"),
    )
    note = "brackets hold 95% Wilson intervals; whoever forfeits has lost"
    return Table(columns, rows, "Games won, drawn and lost", [] if found.exact else [note])


def _decisions(found: Evaluation) -> Table:
    """Tabulates the probability of each action, and the range of equilibria; for two actions,
    the second."""
    if not found.options.decisions or not found.policies:
        return Table((), ())
    # torch comes with these, for seconds; without decisions nobody waits for it, not at Ctrl-C
    from gamedsl.training.monitors.extinction import inside, parts_of
    from gamedsl.training.monitors.text import interval

    letter = dict(zip([c.name for c in found.plan.everybody], _letters(found), strict=True))
    policies, rows = found.policies, []
    marked = {
        name: inside(found.ranges, _policy_record(p))
        for name, p in policies.items()
        if found.ranges
    }
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
    thinking = [
        f"{letter[name]}, a mean over {measured.thoughts} thoughts"
        for name, measured in found.exploitability.items()
        if measured.thoughts and name in policies
    ]
    below += "; ".join(["", *thinking])
    numbers = number_columns(*(letter[name] for name in policies), "equilibria")
    columns = (*text_columns("decision", "action"), *numbers)
    return Table(columns, rows, "Decisions: how often the action is taken", [below])


def _policy_record(policy: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    return {key: {"probs": row} for key, row in policy.items()}


def _matrix(found: Evaluation, width: int) -> list[Table]:
    """Cross-play: the row's mean payoff against the column; none for fewer than three cells."""
    cells = {(p.focal, p.background): p for p in found.pairings if found.played(p)}
    columns = list(dict.fromkeys(p.background for p in found.pairings if p.background is not None))
    rows = [one.name for one in found.plan.contestants]
    if len(rows) < 2 or len(columns) < 2:
        return []
    letter = dict(zip([c.name for c in found.plan.everybody], _letters(found), strict=True))
    text = {pair: amount(found.earned(pairing)) for pair, pairing in cells.items()}
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
        heads = (*text_columns(""), *number_columns(*(letter[name] for name in part)))
        last = block == blocks - 1 and len(found.seats) > 2
        notes = ["the row holds one seat, each in turn, and the column all others"] if last else []
        tables.append(Table(heads, body, title, notes))
    return tables


def reply_tables(found: Evaluation) -> list[Table]:
    """The tables of replies; none for a game without written replies."""
    if not found.in_words:
        return []
    return [_replies(found), *_forfeits(found)]


def endpoint_lines(found: Evaluation) -> list[str]:
    """The calls and tokens spent at each endpoint, and its refused answers, a line each."""
    return [
        f"{name}: {plural(spent.calls, 'call')}"
        + (f", {spent.tokens:,} tokens" if spent.tokens else "; it does not count tokens")
        + _refused(found.refused[name])
        for name, spent in found.spent.items()
    ]


def _refused(reasons: Mapping[str, int]) -> str:
    """The answers of an endpoint that were refused, by reason."""
    if not reasons:
        return ""
    every = sorted(reasons.items(), key=lambda one: -one[1])
    told = ", ".join(f"{REFUSALS[why]} ({number:,})" for why, number in every)
    return f"; {plural(sum(reasons.values()), 'answer')} refused: {told}"


def _replies(found: Evaluation) -> Table:
    rows = tuple(
        (
            short(place.who), place.role, place.step, _reasons(count.invalid),
            f"{count.replies:,}", percent(count.valid),
            "–" if count.length is None else f"{count.length:.1f}",
        )
        for place, count in found.reply_counts.items()
    )  # fmt: skip
    ends = percent(found.own_ends)
    columns = (
        *text_columns("contestant", "role", "step", "why invalid"),
        *number_columns("replies", "valid", "tokens"),
    )
    note = f"games that no invalid reply ended: {ends}; brackets hold 95% Wilson intervals"
    return Table(columns, rows, "Replies", [note])


def _forfeits(found: Evaluation) -> list[Table]:
    rows = tuple(
        (short(place.who), place.role, place.step, _reasons(count.forfeits), f"{games:,}")
        for place, count in found.reply_counts.items() if (games := count.forfeits.total())
    )  # fmt: skip
    if not rows:
        return []
    columns = (*text_columns("contestant", "role", "step", "reasons"), *number_columns("games"))
    return [Table(columns, rows, "Games ended by an invalid reply")]


def _reasons(reasons: Counter[str]) -> str:
    return ", ".join(f"{reason} {n:,}" for reason, n in reasons.most_common()) or "–"


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
        columns[shown] = [amount(row.rating, digits) for row in found.rows]
    columns["games"] = [_games_against_others(row) for row in found.rows]
    if found.rated:
        columns["W/D/L %"] = [_score(row) for row in found.rows]
    columns["mean payoff"] = [amount(row.mean) for row in found.rows]
    if not found.rated:
        columns["with itself"] = [amount(row.own) for row in found.rows]
    columns["exploitable"] = [_exploitability_text(row) for row in found.rows]
    if failing:
        columns["invalid"] = [percent(row.invalid, False) for row in found.rows]
    place, name, *numbers = columns
    rows = list(zip(*columns.values(), strict=True))
    heads = (*text_columns(place, name), *number_columns(*numbers))
    return Table(heads, rows, title, [_about(found)])


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


def _measured_exploitability(found: Exploitability) -> str:
    if found.estimate is None:
        return "–"
    if found.kind == "exact":
        return amount(found.estimate)
    if found.kind == "sampled":
        one = found.estimate
        return f"≈ {one.value:.3f} [{one.low:.3f}, {one.high:.3f}]"
    if found.estimate.low <= 0:
        return f"not found ({amount(found.estimate)})"
    return f"≥ {found.estimate.low:.3f} ({amount(found.estimate)})"


def _exploitability_text(row: Standing) -> str:
    if row.exploitability is None:
        return "–"
    return ("" if row.exploitability["kind"] == "exact" else "≥ ") + (
        f"{row.exploitability['value']:.3f}"
    )


def _games_against_others(row: Standing) -> str:
    if row.exact:
        return "exact"
    return f"{row.games:,}" if row.games else "–"


def _score(row: Standing) -> str:
    if not row.score.games:
        return "–"
    return "/".join(f"{100 * part / row.score.games:.0f}" for part in row.score[:3])


def short(name: str) -> str:
    """The end of a long name: the end of a path tells it from others."""
    return name if len(name) <= NAME else f"…{name[1 - NAME :]}"


def percent(part: Estimate | None, interval: bool = True) -> str:
    """`62.5%`, `62% [58, 66]`; `–` where there is none."""
    if part is None:
        return "–"
    if part.kind == "exact":
        return f"{part.value:.1%}"
    if not interval:
        return f"{part.value:.1%}" if part.value else "0%"
    if part.rows >= 400:
        low, high = f"{100 * part.low:.1f}", f"{100 * part.high:.1f}"
        return f"{part.value:.1%} [{low}, {high}]"
    return f"{part.value:.0%} [{100 * part.low:.0f}, {100 * part.high:.0f}]"


def amount(estimate: Estimate | None, digits: int | None = None) -> str:
    """`0.500`, `0.486 ±0.031`; `–` where there is none."""
    if estimate is None:
        return "–"
    if digits is None:
        digits = 3 if abs(estimate.value) < 1000 else 1
    value = f"{estimate.value:.{digits}f}"
    if float(value) == 0:
        value = value.lstrip("-")
    if estimate.kind in ("exact", "none"):
        return value
    return f"{value} ±{estimate.half:.{digits}f}"


def terminal_text(table: Table, width: int, *, colour: bool, encoding: str) -> str:
    """A table as text for a terminal of `width` columns, with a blank line above."""
    lines = titled_lines(table, width=width, most=ROWS, more=" (--format json has all)")
    return "\n" + rendered(lines, width=width, colour=colour, encoding=encoding)


def write_markdown(path: Path, every: Sequence[Standings]) -> None:
    """Leaderboards as a Markdown file. Raises WriteRefused."""
    from gamedsl.storage.writer import write_output

    text = "\n".join(markdown(standings_table(one)) for one in every)
    write_output(path, text, parents=True)
