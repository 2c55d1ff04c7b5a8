"""Proves that no payoff flows into a prompt of a masked game, by taint and not by value.

Sources are the numbers that payoffs and rewards are computed from: constants in their expressions
(table cells too) and params, directly or through `let`s and other params. A template that mentions
such a name, in an expression, a filter, a condition or a `set`, is told something about payoffs,
and so is the reader of a view with one. A digit in a template's own words is not: it comes from
nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass

from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.spans import Span
from gamedsl.ir.expr import Const, Expr, LetCall, LetMap, children, walk
from gamedsl.ir.game import GameIR, Let
from gamedsl.ir.types import Number, walk_types
from gamedsl.prompting.template_syntax import Broken, locate, parse

PAYOFF_WORDS = ("payoff", "payoffs", "reward", "rewards", "scores")
"""Names that would be payoffs themselves, if templates could read them."""


@dataclass(frozen=True, slots=True)
class TaintPath:
    """The path of a name to a payoff: the names on the way, with the place at which each reads
    the one before."""

    hops: tuple[str, ...]
    notes: tuple[Note, ...]


def check_taint(ir: GameIR, problems: Problems) -> None:
    """GD0521: a template or a view of a masked game reads a name that a payoff is computed from."""
    if ir.labels.kind != "masked" or not (ir.templates or ir.view):
        return
    flows = payoff_flows(ir)
    entries = {entry.span: (seat, entry) for seat, shown in ir.view for entry in shown}
    for seat, entry in entries.values():
        for part in walk(entry.value):
            name = part.origin if isinstance(part, Const) else getattr(part, "name", "")
            named = isinstance(part, Const | LetCall | LetMap)
            if named and (flow := flows.get(name or "")) is not None:
                _flows(name or "", part.span, flow, f"view.{seat}", problems)
    for template in ir.templates:
        parsed = parse(template.text)
        if isinstance(parsed, Broken):
            continue
        slot = f"{template.slot}.{template.key}" if template.key else template.slot
        for mention in parsed.mentions:
            flow = flows.get(mention.name)
            if flow is not None:
                span = locate(template, mention.start, mention.start + len(mention.name))
                _flows(mention.name, span, flow, slot, problems)


def _flows(name: str, span: Span, flow: TaintPath, into: str, problems: Problems) -> None:
    problems.add(
        "GD0521", f"a payoff flows into the prompt through `{name}`", span,
        why="players of a masked game learn payoffs from rewards only",
        notes=flow.notes, help="leave it out, or use `labels: plain`",
        witness=(" → ".join((into, *flow.hops)),),
    )  # fmt: skip


def payoff_flows(ir: GameIR) -> dict[str, TaintPath]:
    """Returns every name that a template of a masked game must not mention, with its path to a
    payoff."""
    flows = {word: TaintPath((word,), ()) for word in PAYOFF_WORDS}
    reached = _Reached(ir.lets_by_name)
    for seat, payoff in (*ir.payoffs, *ir.referee_payoffs):
        reached.follow(payoff, f"the payoff of `{seat}`", (), ())
    params = _connected(ir, {**_reward_flows(ir), **reached.params})
    flows |= params
    for let in ir.lets:
        if let.name in reached.lets and _has_number(ir, let, set()):
            flows[let.name] = _declared(let.name, let.span, reached.lets[let.name])
        else:
            source = next(
                (name for name in _params_of(ir, let.body, set()) if name in params), None
            )
            if source is not None:
                inner = params[source]
                note = Note(let.span, f"`{let.name}` is computed from `{source}`")
                flows[let.name] = TaintPath((let.name, *inner.hops), (note, *inner.notes))
    return flows


class _Reached:
    """The params and lets that payoffs read, each with the first path found."""

    def __init__(self, lets: dict[str, Let]) -> None:
        self.known = lets
        self.params: dict[str, TaintPath] = {}
        self.lets: dict[str, TaintPath] = {}

    def follow(self, expr: Expr, goal: str, hops: tuple[str, ...], notes: tuple[Note, ...]) -> None:
        """Walks an expression whose value flows along `hops` (the nearest first) into `goal`."""
        if isinstance(expr, Const) and expr.origin is not None:
            reads = f"`{hops[0]}` reads it" if hops else f"{goal} reads it"
            flow = TaintPath((expr.origin, *hops, goal), (Note(expr.span, reads), *notes))
            self.params.setdefault(expr.origin, flow)
        if isinstance(expr, LetCall | LetMap) and expr.name in self.known:
            let = self.known[expr.name]
            if expr.name not in self.lets:
                reads = f"`{hops[0]}` reads `{let.name}`" if hops else f"{goal} reads `{let.name}`"
                way = (Note(expr.span, reads), *notes)
                self.lets[let.name] = TaintPath((let.name, *hops, goal), way)
                self.follow(let.body, goal, (let.name, *hops), way)
        for child in children(expr):
            self.follow(child, goal, hops, notes)


def _reward_flows(ir: GameIR) -> dict[str, TaintPath]:
    """Returns the game's params that the reward file is given, through its own params."""
    reached = _Reached({let.name: let for let in ir.reward.lets})
    reached.follow(ir.reward.split, "the reward", (), ())
    return {
        read: TaintPath((read, *flow.hops), flow.notes)
        for param in ir.reward.params
        if (flow := reached.params.get(param.name)) is not None
        for read in param.reads
    }


def _connected(ir: GameIR, read: dict[str, TaintPath]) -> dict[str, TaintPath]:
    """Returns the params that payoffs read, with all params computed from them or for them."""
    spans = {param.name: param.span for param in ir.params}
    flows = {
        name: _declared(name, spans[name], flow) for name, flow in read.items() if name in spans
    }
    upstream = {param.name: set(param.reads) for param in ir.params}
    queue = list(flows)
    while queue:
        name = queue.pop(0)
        linked = upstream[name] | {other for other, reads in upstream.items() if name in reads}
        for other in sorted(linked - set(flows)):
            if other in spans:
                flow = flows[name]
                note = Note(spans[other], f"`{other}` and `{name}` are computed one from the other")
                flows[other] = TaintPath((other, *flow.hops), (note, *flow.notes))
                queue.append(other)
    return flows


def _declared(name: str, span: Span, flow: TaintPath) -> TaintPath:
    return TaintPath(flow.hops, (Note(span, f"`{name}` is declared here"), *flow.notes))


def _has_number(ir: GameIR, let: Let, seen: set[str]) -> bool:
    """Returns whether a let's value may hold a number written in it or in a let that it reads."""
    seen.add(let.name)
    queue: list[Expr] = [let.body]
    while queue:
        expr = queue.pop()
        if isinstance(expr, Const) and any(isinstance(t, Number) for t in walk_types(expr.type)):
            return True
        if isinstance(expr, LetCall | LetMap) and expr.name not in seen:
            inner = ir.lets_by_name.get(expr.name)
            if inner is not None and _has_number(ir, inner, seen):
                return True
        queue += children(expr)
    return False


def _params_of(ir: GameIR, expr: Expr, seen: set[str]) -> list[str]:
    """Returns the params that an expression reads, through lets too."""
    found = [expr.origin] if isinstance(expr, Const) and expr.origin is not None else []
    parts = list(children(expr))
    if (
        isinstance(expr, LetCall | LetMap)
        and expr.name not in seen
        and expr.name in ir.lets_by_name
    ):
        seen.add(expr.name)
        parts.append(ir.lets_by_name[expr.name].body)
    return found + [name for part in parts for name in _params_of(ir, part, seen)]
