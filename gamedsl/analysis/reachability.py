"""Reachability of all that is written: steps, actions, branches, cells of tables, ends.

What has been met in some history can happen, however few histories were gone through. Of what has
not, it is said that it never happens only where all were. Where random plays stand for all, the
steps that none of them came to are noted, and the actions and ends that none of them met; rare
branches and options are left to the report. Only what stands in the game's own file is looked at: a
library is written for many games. Nor is what the params switch off: the file is written for other
values of them too.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple, assert_never

from gamedsl.analysis.history_sample import HistorySample
from gamedsl.analysis.live_code import LiveCode
from gamedsl.analysis.proof import Proof
from gamedsl.diagnostics import Problems, Severity
from gamedsl.diagnostics.spans import Span
from gamedsl.ir.expr import (
    Apply,
    Const,
    Expr,
    If,
    LastBy,
    LetCall,
    LetMap,
    Local,
    Me,
    Past,
    Read,
    Table,
    expressions_in,
    walk,
)  # fmt: skip
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Block, Call, Choose, Do, Draw, Loop, Pay, Show, Stage, walk_steps

CLAIM = "every step, action, branch and end that the file writes can happen"

_OPEN = Read, LastBy, Past, Local, Me, LetCall, LetMap


class Site(NamedTuple):
    """Something written at `span` that may happen: what it is, and the code of it never doing so.
    `key` is how a history tells that it did: a step that was come to, an option that was legal, a
    place that was run or entered (see `gamedsl.analysis.history_sample.Watch`). `end` is where its
    parts end, if that is behind `span`."""

    span: Span
    what: str
    code: str
    key: tuple[object, ...]
    end: int = 0


def check_reachability(sample: HistorySample, problems: Problems) -> Iterator[Proof]:
    """GD0473: a step, action or option; GD0474: a branch, or a cell of a table; GD0475: `end` or an
    `until`: none of which happens in any history, or in any random play."""
    sites = list(sites_of(sample.ir))
    met = _visited_keys(sample)
    missing = [site for site in sites if site.key not in met]
    whole = sample.whole
    if missing and whole:
        whole = sample.cover({site.key for site in missing if site.key[0] in ("run", "entered")})
        met = _visited_keys(sample)
        missing = [site for site in missing if site.key not in met]
    wide = [site for site in missing if site.key[0] != "option"]
    missing = _outermost(missing, wide)
    if not missing:
        yield Proof("reachable", CLAIM, "proved", f"each is met: {sample.extent}")
        return
    names = tuple(f"not met: {site.what}, line {site.span.line}" for site in missing)
    if not whole:
        noted = [] if problems.errors or not sample.plays else _noted(sample, missing)
        plays = f"in none of {sample.plays} random play{'s' * (sample.plays != 1)}"
        for site in noted:
            _report(site, "was never met", f"{plays}, which are not all plays", "note", problems)
        extent = f"{len(missing)} of {len(sites)} were not met in {sample.extent}"
        short = f"{len(missing)} of {len(sites)} steps, branches and ends not met"
        yield Proof("reachable", CLAIM, "sampled", extent, _codes(noted), names, short=short)
        return
    for site in missing:
        why = f"in none of {len(sample.nodes):,} histories"
        _report(site, "never happens", why, "warning", problems)
    yield Proof("reachable", CLAIM, "refuted", sample.extent, _codes(missing), names)


def _report(site: Site, never: str, why: str, severity: Severity, problems: Problems) -> None:
    """Reports what is not met: as never happening, or as not met in random plays."""
    help = "delete it, or correct what leads here"
    if site.code == "GD0475":
        help = "correct the condition, or delete it"
    problems.add(
        site.code, f"{site.what} {never}", site.span, severity=severity, why=why, help=help
    )


def _codes(sites: list[Site]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(site.code for site in sites))


def _noted(sample: HistorySample, missing: list[Site]) -> list[Site]:
    """Returns the sites that are noted where random plays do not meet them. A step whose own
    condition was read, and did not hold, may be rare."""
    read = [span for _, span in sample.watch.places]

    def is_rare(site: Site) -> bool:
        return any(map(site.span.encloses, read))

    steps = [site for site in missing if site.code != "GD0474" and site.key[0] != "option"]
    return [site for site in steps if site.key[0] != "run" or not is_rare(site)]


def sites_of(ir: GameIR) -> Iterator[Site]:
    """Yields all that may happen, in the game's own file."""
    found: dict[object, Site] = {}
    live = LiveCode(ir)
    for site in (*_steps(live), *_branches(ir, live), *_conditions(ir, live)):
        if site.span.source is ir.span.source:
            found.setdefault((site.span, site.key), site)
    yield from found.values()


def _steps(live: LiveCode) -> Iterator[Site]:
    for step in live.steps:
        match step:
            case Choose():
                yield Site(step.span, f"the choice `{step.variable}`", "GD0473", ("step", step.id))
                for action in live.actions(step):
                    key = "action", action.span, action.name
                    what, inside = f"the action `{action.name}`", (action.when, action.body)
                    spans = [e.span for e in expressions_in(inside)]
                    spans += [s.span for s in walk_steps(action.body)]
                    end = max((s.end for s in spans if s.source is action.span.source), default=0)
                    yield Site(action.span, what, "GD0473", key, end)
                for option in (o for row in step.options for o in row if not step.moves):
                    if option.span is not None:
                        key = "option", option.span, option.name
                        yield Site(option.span, f"the option `{option.name}`", "GD0473", key)
            case Draw():
                yield Site(step.span, f"the draw `{step.variable}`", "GD0473", ("step", step.id))
            case Show() | Do() | Pay() | Call():
                yield Site(step.span, "this step", "GD0473", ("run", step.span))
            case Block() | Stage() | Loop():
                pass
            case _:
                assert_never(step)


def _branches(ir: GameIR, live: LiveCode) -> Iterator[Site]:
    told = _view_lets(ir)
    for part in live.expressions(without=told):
        if isinstance(part, If) and _depends(part.test) and not _asks_for_none(part.test):
            if live.decided(part.test) is not None:
                continue
            for branch in (b for b in (part.then, part.other) if not _is_none(b)):
                yield Site(branch.span, "this branch", "GD0474", ("entered", branch.span))
        if isinstance(part, Table):
            for cell in part.cells.values():
                yield Site(cell.span, "this payoff", "GD0474", ("entered", cell.span))


def _view_lets(ir: GameIR) -> set[str]:
    """Returns the lets that views read, directly or through others: play does not evaluate them."""
    names: set[str] = set()
    queue = [entry.value for _, entries in ir.view for entry in entries]
    while queue:
        for part in walk(queue.pop()):
            if isinstance(part, LetCall | LetMap) and part.name not in names:
                names.add(part.name)
                queue.append(ir.lets_by_name[part.name].body)
    return names


def _conditions(ir: GameIR, live: LiveCode) -> Iterator[Site]:
    if ir.end is not None and _depends(ir.end) and live.decided(ir.end) is None:
        yield Site(ir.end.span, "`end`", "GD0475", ("entered", ir.end.span))
    for step in live.steps:
        if not isinstance(step, Loop) or step.until is None or live.decided(step.until) is not None:
            continue
        if _depends(step.until):
            yield Site(
                step.until.span, "the end of this loop", "GD0475", ("entered", step.until.span)
            )


def _depends(expr: Expr) -> bool:
    """Returns whether an expression reads anything but params."""
    return any(isinstance(part, _OPEN) for part in walk(expr))


def _asks_for_none(test: Expr) -> bool:
    """Returns whether a test compares a value with none."""
    compared = (p for p in walk(test) if isinstance(p, Apply) and p.function in ("==", "!="))
    return any(_is_none(argument) for part in compared for argument in part.arguments)


def _is_none(expr: Expr) -> bool:
    return isinstance(expr, Const) and expr.value is None


def _visited_keys(sample: HistorySample) -> set[object]:
    """Returns the keys of what has happened in the histories met."""
    places: dict[tuple[str, str], list[object]] = {}
    for step in sample.ir.steps:
        for row in step.options:
            for option in row:
                places.setdefault((step.id, option.name), []).append(
                    ("option", option.span, option.name)
                )
                for action in step.moves:
                    if option.name.partition("(")[0] == action.name:
                        places[step.id, option.name].append(("action", action.span, action.name))
    met: set[object] = {*sample.watch.places}
    asked = {(ask.step, ask.legal) for node in sample.nodes for ask in node.state.asks}
    for step_id, legal in asked:
        met.add(("step", step_id))
        for name in legal:
            met.update(places.get((step_id, name), ()))
    met |= {("step", n.state.draws[0]) for n in sample.nodes if n.state.kind == "chance"}
    return met


def _outermost(sites: list[Site], wide: list[Site]) -> list[Site]:
    """Returns the sites that lie in no other of `wide`: the parts of what never happens never do
    either. One pass over the sorted places, for a table may have thousands of cells."""
    ends: dict[Span, int] = {}
    for site in wide:
        ends[site.span] = max(ends.get(site.span, 0), site.span.end, site.end)
    starts: list[int] = []
    reaching: list[list[tuple[int, Span]]] = []
    """The two places that end last, of those up to each start."""
    top: list[tuple[int, Span]] = []
    for span, end in sorted(ends.items(), key=lambda item: item[0].start):
        top = sorted([*top, (end, span)], key=lambda place: -place[0])[:2]
        starts.append(span.start)
        reaching.append(top)
    found = []
    for site in sites:
        place = bisect_right(starts, site.span.start)
        around = reaching[place - 1] if place else []
        if not any(end >= site.span.end and span != site.span for end, span in around):
            found.append(site)
    return found
