"""The report of a solved game: plain text of at most 96 columns, or with the information sets of a
policy on one line each, however long."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from textwrap import wrap

from gamedsl.solve.best_responses import Number, Policy, play
from gamedsl.solve.formats import chance, mixture, number, table_text
from gamedsl.solve.one_shot_text import one_shot_lines
from gamedsl.solve.positions import PositionsSolved
from gamedsl.solve.qre import Path, Response
from gamedsl.solve.sampled_solution import Sampled
from gamedsl.solve.solution import Solution
from gamedsl.solve.solver import Report
from gamedsl.solve.tree import Tree
from gamedsl.tables.text import plural

WIDTH = 96
KEY = 56
"""Columns that what a seat has seen has beside columns of probabilities, at least."""
FEW = 6
"""Actions that get a column each."""


def render(report: Report, rows: int = 24, width: int | None = WIDTH) -> str:
    """The report; `rows` is how many information sets of a policy are shown. What a seat has seen
    is wrapped where its line is longer than `width`, and never cut: sets differ in any part."""
    lines = [_head(report), ""]
    for line in report.did:
        lines += wrap(line, WIDTH - 2, initial_indent="· ", subsequent_indent="  ")
    lines.append("")
    if report.one_shot is not None:
        lines += [*one_shot_lines(report.one_shot, report.utility), ""]
    if report.solution is not None and (report.one_shot is None or not report.one_shot.found):
        lines += _solution(report, report.solution)
        lines += _path(report)
        if report.path is not None:
            lines += ["", *_responses(report.path)]
        lines += ["", *policy_lines(report.tree, report.solution.policy, rows, width)]
    while not lines[-1]:
        lines.pop()
    lines += ["", f"{report.seconds:.2f} s"]
    return "\n".join(lines)


def _head(report: Report) -> str:
    seats = len(report.game.ir.seats)
    parts = [plural(seats, "seat")]
    parts += [f"{count:,} {what}" for what, count in report.size.items()]
    return f"{report.game.name}: {', '.join(parts)}; utilities are {report.utility}"


def _solution(report: Report, solution: Solution) -> list[str]:
    lines = [f"{_first(solution.concept)}, by {solution.method}"]
    if report.sampled is not None:
        return lines + _sampled(report.sampled)
    rows = [
        (seat, number(value), number(max(0, solution.regrets[seat])))
        for seat, value in solution.values.items()
    ]
    lines += table_text(("seat", "value", "regret"), rows)
    if solution.exact:
        lines.append("exact: all numbers are rationals, and the regrets were worked out anew")
    else:
        gap = f"{float(solution.nash_conv):.3g}"
        lines.append(f"in floats: NashConv {gap}, worked out anew by best responses")
    for note in (solution.note, *_notes(report)):
        lines += wrap(note, WIDTH)
    return lines


def _sampled(found: Sampled) -> list[str]:
    """The earnings of a sampled policy, and the gains of the replies that were found."""
    rows = []
    for seat, (mean, error) in found.estimates.items():
        reply = found.bound.replies[seat]
        gain = f"{reply.gain:.4f} ± {reply.error:.4f}"
        if reply.exact:
            gain = "0" if abs(reply.gain) < 5e-5 else f"{reply.gain:.4f}"
        elif not reply.by:
            gain = "none found"
        rows.append((seat, f"{mean:.4f} ± {error:.4f}", gain))
    lines = table_text(("seat", "value", "a reply gains"), rows)
    if found.bound.exact:
        said = "the best replies were worked out: NashConv is their sum, "
        return [*lines, f"{said}{found.bound.gain:.3g}"]
    searched = f"the best of {found.bound.tried} replies tried for each seat"
    least = f"of NashConv nothing is known: {searched} gains nothing for sure"
    if found.bound.found:
        least = f"NashConv is at least {found.bound.at_least:.3g} (97.5% sure), by {searched}"
    said = (
        f"nothing here is exact: values are means over {found.games:,} games, ± their standard "
        f"error; {least}, and others may gain more; {found.sets:,} information sets were met, "
        "elsewhere all actions are equally likely; with more --iterations it learns more"
    )
    ways = (f"{seat} by {r.by}" for seat, r in found.bound.replies.items() if r.by)
    replies = "; ".join(ways)
    return [*lines, *wrap(said, WIDTH), *(wrap(f"replies: {replies}", WIDTH) if replies else ())]


def _notes(report: Report) -> Iterable[str]:
    if report.team is not None:
        if report.team.proved:
            yield "no policy, mixed or pure, earns more"
        else:
            best = number(report.team.bound)
            yield f"the search ended early: the optimum may be more, but not above {best}"
    if report.staged is not None and report.staged.choices:
        yield (
            f"{plural(report.staged.choices, 'stage')} had several equilibria, of which one of the "
            "largest welfare was taken: other choices make other subgame-perfect equilibria"
        )
    if report.public is not None and report.public.choices:
        yield (
            f"{plural(report.public.choices, 'stage')} had several equilibria, of which one of the "
            "largest welfare was taken"
        )
    perfect = report.perfect
    if perfect is not None and not isinstance(perfect, PositionsSolved) and perfect.ties:
        where = plural(perfect.ties, "information set")
        if perfect.outcomes is None:
            yield f"ties at {where}: there are very many other subgame-perfect equilibria"
        elif len(perfect.outcomes) == 1:
            yield f"ties at {where}, which change nobody's payoff"
        else:
            worth = "; ".join(", ".join(map(str, w)) for w in perfect.outcomes[:8])
            yield (
                f"ties at {where}: subgame-perfect equilibria pay one of "
                f"{len(perfect.outcomes)} outcomes: {worth}"
                + ("; …" if len(perfect.outcomes) > 8 else "")
            )
    if report.path is not None and not report.path.arrived:
        yield "the path was left before it came near an equilibrium: this is its last point"


def _path(report: Report) -> list[str]:
    """The play of a subgame-perfect equilibrium, and what first moves are worth."""
    if report.public is not None:
        rows = [(f"{seat} plays first", mixture(row)) for seat, row in report.public.first.items()]
        lines = [""]
        for who, what in rows:
            lines += wrap(f"{who}: {what}", WIDTH, subsequent_indent="      ")
        if not report.public.complete:
            lines += ["", "the policy has too many information sets to be written out"]
        return lines
    perfect = report.perfect
    if perfect is None:
        return []
    lines = []
    if perfect.path:
        said = " → ".join(f"{seat} {action}" for seat, action in perfect.path)
        lines += ["", *wrap(f"play: {said}", WIDTH, subsequent_indent="      ")]
    if isinstance(perfect, PositionsSolved) and perfect.openings:
        groups: dict[Fraction, list[str]] = {}
        for name, value in perfect.openings.items():
            groups.setdefault(value, []).append(name)
        for value, names in sorted(groups.items(), reverse=True):
            text = f"first moves worth {number(value)}: {', '.join(names)}"
            lines += wrap(text, WIDTH, subsequent_indent="      ")
    return lines


def _responses(path: Path) -> list[str]:
    """A table of the path's points: each action's probability, where these are few."""
    sets = path.points[0].policy
    slots = [(key, name) for key, row in sets.items() for name in row]
    if len(slots) <= FEW:
        head = ("λ", *(f"{key.partition(':')[0]} {name}" for key, name in slots), "NashConv")
        table = table_text(head, [_response(point, slots) for point in path.points])
        if max(map(len, table)) <= WIDTH:
            return table
    return table_text(("λ", "NashConv"), [_response(point, []) for point in path.points])


def _response(point: Response, slots: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    played = (f"{point.policy[key][name]:.4f}" for key, name in slots)
    return (f"{point.precision:.4g}", *played, f"{point.nash_conv:.4g}")


def policy_lines(
    tree: Tree | None, policy: Policy, rows: int, width: int | None = WIDTH
) -> list[str]:
    """The policy, one row an information set, the sets of a step under one heading. Where not all
    are shown: those that play comes to most often, or without a tree the first."""
    keys = list(policy)
    if tree is not None:
        keys = _in_order(tree)
        if len(keys) > rows:
            floats = {key: {a: float(p) for a, p in row.items()} for key, row in policy.items()}
            reach = play(tree, floats)
            most = set(sorted(keys, key=lambda key: -float(reach[key]))[:rows])
            keys = [key for key in keys if key in most]
    else:
        keys.sort(key=lambda key: key.count("="))
    keys = keys[:rows]
    steps: dict[str, list[str]] = {}
    for key in keys:
        steps.setdefault(key.partition(" [")[0], []).append(key)
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for step, members in steps.items():
        same = _alike([policy[key] for key in members])
        for key in members:
            groups.setdefault((step, _actions(policy[key]) if same else ()), []).append(key)
    lines = []
    for (step, actions), members in groups.items():
        lines += ["", *_group(step, actions, members, policy, width)]
    if len(keys) < len(policy):
        most_reached = "most reached" if tree is not None else "first"
        lines += [
            "",
            f"the {len(keys)} {most_reached} of {len(policy):,} information sets; "
            "--rows N shows more",
        ]
    return lines[1:]


def _in_order(tree: Tree) -> list[str]:
    """The information sets in the order of a walk through the tree, first children first."""
    sets = (tree.info[node] for node in tree.walk())
    return list(dict.fromkeys(tree.info_sets[info].key for info in sets if info >= 0))


def _alike(rows: Sequence[Mapping[str, Number]]) -> bool:
    """Whether columns of actions serve rows: not where all are pure and their actions differ."""
    pure = all(max(row.values()) == 1 for row in rows)
    return not pure or len({tuple(row) for row in rows}) == 1


def _actions(row: Mapping[str, Number]) -> tuple[str, ...]:
    """The actions that get a column each: none where there are many, or where one is certain."""
    certain = len(row) > 3 and any(p == 1 for p in row.values())
    return () if len(row) > FEW or certain else tuple(row)


def _group(
    step: str, actions: tuple[str, ...], keys: Sequence[str], policy: Policy, width: int | None
) -> list[str]:
    if not actions:
        rows = [(_history_text(key), mixture(policy[key])) for key in keys]
        return table_text((step, "plays"), rows, left=True, width=width)
    numbers = [tuple(chance(policy[key][name]) for name in actions) for key in keys]
    seen = [_history_text(key) for key in keys]
    least = [(text[:KEY], *row) for text, row in zip(seen, numbers, strict=True)]
    if max(map(len, table_text((step, *actions), least))) > WIDTH:
        return _group(step, (), keys, policy, width)
    whole = [(text, *row) for text, row in zip(seen, numbers, strict=True)]
    return table_text((step, *actions), whole, width=width)


def _history_text(key: str) -> str:
    """The events that a seat has seen at an information set."""
    return key.partition(" [")[2].removesuffix("]") or "nothing seen"


def _first(text: str) -> str:
    return text[:1].upper() + text[1:]
