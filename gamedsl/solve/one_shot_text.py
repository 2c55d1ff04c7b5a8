"""The solution of a one-shot game, as text."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from textwrap import wrap

from gamedsl.solve.dominance import Elimination
from gamedsl.solve.formats import mixture, number, percent, profile, table_text
from gamedsl.solve.imperfect_recall import BEFORE
from gamedsl.solve.matrix import AllEquilibria, Mixture
from gamedsl.solve.oneshot import OneShot, TableEquilibrium
from gamedsl.solve.outcomes import Correlated, Welfare
from gamedsl.solve.tree import Utility
from gamedsl.tables.text import plural

WIDTH = 96
LABEL = 14
SHOWN = 12
CELL = 34


def one_shot_lines(game: OneShot, utility: Utility) -> list[str]:
    lines = _equilibria(game)
    lines += ["", *_entry("Dominance", _dominance(game.strict, game.weak))]
    got = game.table.worth(utility)
    sums = {sum(worth, Fraction(0)) for worth in got.values()}
    if len(sums) == 1:
        lines += _entry("Welfare", f"{sums.pop()} in every profile: each is in the Pareto set")
    else:
        pareto = [f"{profile(p)} {_worth(got[p])}" for p in game.pareto]
        lines += _entry("Pareto set", _first_few(pareto, "; ", 6))
        if game.welfare is not None:
            lines += _entry("Welfare", _welfare(game.welfare))
    if game.security is not None:
        parts = [f"{s.seat} {number(s.value, True)} by {mixture(s.mixture)}" for s in game.security]
        lines += _entry("Security", "; ".join(parts))
    if game.correlated is not None and sums:
        lines += _entry("Correlated", _correlated(game.correlated))
    if game.basins is not None:
        for name, shares in (("Replicator", game.basins.replicator),
                             ("GRPO", game.basins.gradient)):  # fmt: skip
            lines += _entry(name, _basins(shares, game.basins.starts))
    if game.missing:
        lines += ["", f"not worked out for want of a package: {game.missing}"]
    return lines


def _equilibria(game: OneShot) -> list[str]:
    found = game.found
    finite = game.every is None or game.every.finite
    if not found:
        return wrap("No pure equilibrium" + (f": {game.note}" if game.note else ""), WIDTH)
    regret = max(float(one.solution.nash_conv) for one in found)
    checked = "exact, regrets 0" if regret == 0 and all(o.solution.exact for o in found) else (
        f"regrets at most {regret:.2g}"
    )  # fmt: skip
    if game.complete and finite:
        rest = "and no other" if len(found) == 1 else "all there are"
        head = f"{plural(len(found), 'Nash equilibrium')}, {rest} ({checked})"
    elif game.complete:
        head = (
            f"infinitely many Nash equilibria, in {plural(len(game.every.components), 'component')}"
            f" with {plural(len(found), 'extreme point')} ({checked})"
        ) if game.every else ""  # fmt: skip
    else:
        head = f"{plural(len(found), 'Nash equilibrium')} ({checked})"
    lines = [_fixed(head), *_equilibrium_rows(game, found, finite)]
    if len(found) > SHOWN:
        lines.append(f"  … and {len(found) - SHOWN:,} more (--format json lists them)")
    if not finite and game.every is not None:
        lines += _components(game, game.every)
    if game.note and not game.complete:
        lines += wrap(f"listed: {game.note}", WIDTH)
    kept = not game.table.keys[0].endswith(BEFORE)
    if len(found) > 1 and game.pick is not None and kept:
        lines.append(
            f"  number {game.pick + 1} is what --save keeps: of the largest welfare, pure first "
            "(--pick takes another)"
        )
    return lines


def _fixed(head: str) -> str:
    return head.replace("equilibriums", "equilibria")


def _equilibrium_rows(game: OneShot, found: Sequence[TableEquilibrium], finite: bool) -> list[str]:
    rows = []
    seats = game.table.seats
    for place, one in enumerate(found[:SHOWN], 1):
        mixtures = [mixture(one.solution.policy[key], 4) for key in game.table.keys]
        names = list(one.names)
        if not finite:
            names.append(f"component {one.component}")
        values = ", ".join(number(v, True) for v in one.solution.values.values())
        played = mixtures if len(seats) <= 3 else [profile(mixtures)]
        rows.append((str(place), *played, values, ", ".join(names)))
    head = ("#", *(seats if len(seats) <= 3 else ("profile",)), "payoffs", "")
    lines = table_text(head, rows)
    if max(map(len, lines)) <= WIDTH:
        return lines
    lines = []
    for place, one in enumerate(found[:SHOWN], 1):
        values = ", ".join(number(v, True) for v in one.solution.values.values())
        lines.append(f"  {place}  {', '.join(one.names)}; payoffs {values}")
        for seat, key in zip(seats, game.table.keys, strict=True):
            text = f"{seat}: {mixture(one.solution.policy[key], 30)}"
            lines += wrap(text, WIDTH, initial_indent="     ", subsequent_indent="       ")
    return lines


def _components(game: OneShot, every: AllEquilibria) -> list[str]:
    lines = []
    for place, parts in enumerate(every.components, 1):
        if len(parts) == 1 and len(parts[0].first) == len(parts[0].second) == 1:
            continue
        for part in parts:
            sides = [
                f"{seat} {_hull(game, number, [mixtures[m] for m in chosen])}"
                for number, (seat, mixtures, chosen) in enumerate(
                    zip(game.table.seats, (every.first, every.second), (part.first, part.second),
                        strict=True)
                )
            ]  # fmt: skip
            text = f"component {place}: {' with '.join(sides)}"
            lines += wrap(text, WIDTH, initial_indent="  ", subsequent_indent="      ")
        if len(lines) > 2 * SHOWN:
            return [*lines, "  …"]
    return lines


def _hull(game: OneShot, seat: int, mixtures: Sequence[Mixture]) -> str:
    names = game.table.actions[seat]
    said = [mixture(dict(zip(names, m, strict=True)), 4) for m in mixtures]
    if len(said) == 1:
        return said[0]
    return f"any mixture of {{{' | '.join(said)}}}"


def _dominance(strict: Elimination, weak: Elimination) -> str:
    if not weak.removed and not strict.removed:
        beaten = "" if strict.mixtures else " by a pure one (mixtures were not tried)"
        return f"no action is dominated{beaten}, not even weakly"
    said = []
    for elimination in (strict, weak):
        kind = elimination.strength
        if not elimination.removed:
            said.append(f"none {kind}")
            continue
        if elimination is weak and [r.action for r in weak.removed] == [
            r.action for r in strict.removed
        ]:
            continue
        gone = []
        for turn in sorted({r.round for r in elimination.removed}):
            here = [r for r in elimination.removed if r.round == turn]
            one = [f"{r.seat} {r.action} (by {mixture(r.by, 3)})" for r in here]
            gone.append(f"round {turn}: {_first_few(one, ', ', 6)}")
        left = ""
        if elimination.solved:
            left = f"; leaves {profile([names[0] for names in elimination.left.values()])}"
        said.append(f"{kind}, {'; '.join(gone)}{left}")
    return "; ".join(said)


def _welfare(found: Welfare) -> str:
    where = _first_few([profile(p) for p in found.best_profiles], ", ", 3)
    worst, best = found.worst_equilibrium, found.best_equilibrium
    spread = str(best) if worst == best else f"{worst} to {best}"
    text = f"{found.best} at best, in {where}; {spread} in the equilibria above"
    anarchy, stability = found.price_of_anarchy, found.price_of_stability
    if anarchy is not None and stability is not None:
        text += (
            f"; price of anarchy {number(anarchy, True)}, of stability {number(stability, True)}"
        )
    return text


def _correlated(found: Correlated) -> str:
    total = sum(found.values.values(), Fraction(0))
    recommended = sorted(found.distribution.items(), key=lambda pair: -pair[1])
    parts = [f"{number(p, True)} {profile(names)}" for names, p in recommended]
    if len(parts) == 1:
        parts = [profile(recommended[0][0])]
    spread = ", ".join(
        f"{seat} {number(low, True)}" + ("" if low == high else f" to {number(high, True)}")
        for seat, (low, high) in found.ranges.items()
    )
    exact = "" if found.exact else f", in floats, regret at most {float(found.regret):.2g}"
    names = _first_few(parts, ", ", 6)
    return f"welfare up to {number(total, True)} by {names}; payoffs: {spread}{exact}"


def _basins(shares: dict[tuple[str, str], float], starts: int) -> str:
    parts = [f"{percent(p)} to {profile(names)}" for names, p in shares.items()]
    rest = 1 - sum(shares.values())
    if rest > 0.0005:
        parts.append(f"{percent(rest)} to no pure profile")
    return f"of {starts:,} starting points {', '.join(parts)}"


def _worth(values: Sequence[Fraction]) -> str:
    return ", ".join(number(v, True) for v in values)


def _first_few(parts: Sequence[str], joint: str, most: int = 8) -> str:
    more = f"{joint}… {len(parts) - most} more" if len(parts) > most else ""
    return joint.join(parts[:most]) + more


def _entry(label: str, text: str) -> list[str]:
    return wrap(text, WIDTH, initial_indent=label.ljust(LABEL), subsequent_indent=" " * LABEL)
