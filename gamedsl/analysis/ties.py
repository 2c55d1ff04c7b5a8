"""Looks for plays in which an `argmax` or `most` of the payoffs ties and nobody is paid.

Both are none on a tie, and no role equals none: `1 if me == argmax(bid) else 0` pays nobody then.
That may be the rule, or a case that was forgotten, so it is noted with a play that shows it. Where
the file compares the value with none, it says what a tie pays, and nothing is noted.
"""

from __future__ import annotations

from collections.abc import Iterator

from gamedsl.analysis.claims import amounts_of
from gamedsl.analysis.history_sample import HistorySample
from gamedsl.analysis.nodes import Node, history_lines, replay
from gamedsl.analysis.proof import Proof
from gamedsl.diagnostics import Problems
from gamedsl.ir.evaluate import EvaluationError, Scope, evaluate
from gamedsl.ir.expr import (
    Apply,
    Collect,
    Const,
    Expr,
    LetCall,
    LetMap,
    Local,
    children,
    walk,
)
from gamedsl.ir.game import GameIR

NAME = "ties"
CLAIM = "where an `argmax` or `most` of the payoffs ties, somebody is paid"

_ALL = {"argmax": "best", "most": "modes"}
"""The built-ins that are none on a tie, and those that give all that tie."""


def untested_ties(ir: GameIR) -> list[Apply]:
    """Returns the `argmax` and `most` that payoffs read, directly or through lets, and compare with
    none nowhere. Those that depend on a local around them are left out."""
    found: dict[int, Apply] = {}
    tested: set[int] = set()
    for _, payoff in ir.payoffs:
        for part in _reached(payoff, ir):
            if not isinstance(part, Apply):
                continue
            if part.function in _ALL and not _free_locals(part):
                found.setdefault(id(part), part)
            if part.function in ("==", "!=") and any(map(_is_none, part.arguments)):
                tested |= {id(p) for side in part.arguments for p in _reached(side, ir)}
    return [part for key, part in found.items() if key not in tested]


def check_ties(sample: HistorySample, problems: Problems) -> Iterator[Proof]:
    """GD0490, a note: a tie in a payoff after which nobody is paid."""
    unpaid = [end for end in sample.ends if end.payoffs and max(end.payoffs.values()) <= 0]
    refuted = False
    for part in untested_ties(sample.ir):
        ends = [end for end in unpaid if _ties(part, end, sample.ir)]
        if ends:
            refuted = True
            yield _refuted(sample, part, ends, problems)
    if refuted:
        return
    if sample.failure is not None or not sample.ends:
        yield Proof(NAME, CLAIM, "undecided", "no play comes to its end, or one fails")
    else:
        yield Proof(NAME, CLAIM, sample.grade, sample.extent)


def _refuted(sample: HistorySample, part: Apply, ends: list[Node], problems: Problems) -> Proof:
    text, end = part.span.text, ends[0]
    whole = f"`{text}`" if text.isprintable() and len(text) < 60 else f"`{part.function}`"
    inner = part.arguments[0].span.text
    witness = (*history_lines(end), f"payoffs: {amounts_of(end.payoffs)}")
    every = _ALL[part.function]
    problems.add(
        "GD0490", f"{whole} may tie, and then nobody is paid", part.span, severity="note",
        why=f"none on a tie: in {len(ends):,} of the {len(sample.ends):,} plays looked at",
        help=f"say what a tie pays: compare it with none, or pay those in `{every}({inner})`",
        witness=witness,
    )  # fmt: skip
    return Proof(NAME, CLAIM, "refuted", sample.extent, ("GD0490",), witness, (replay(end),))


def _ties(part: Apply, end: Node, ir: GameIR) -> bool:
    """Whether a built-in of the payoffs is none where a play ends."""
    state = end.state
    for seat in ir.seats:
        scope = Scope(ir.seats, state.variables, ir.lets_by_name, state.streams, seat)
        try:
            if evaluate(part, scope) is None:
                return True
        except EvaluationError:
            continue  # it has no value here, and the payoffs do not read it
    return False


def _reached(expr: Expr, ir: GameIR) -> Iterator[Expr]:
    """Yields the parts of an expression, and those of the lets that it reads, each let once."""
    queue, known = [expr], set[str]()
    while queue:
        for part in walk(queue.pop()):
            yield part
            if isinstance(part, LetCall | LetMap) and part.name not in known:
                known.add(part.name)
                queue.append(ir.lets_by_name[part.name].body)


def _free_locals(expr: Expr) -> set[str]:
    """Returns the locals that an expression reads and does not bind itself."""
    free: set[str] = set()
    for child in children(expr):
        free |= _free_locals(child)
    if isinstance(expr, Local):
        free.add(expr.name)
    if isinstance(expr, Collect):
        free = free - {*expr.targets} | _free_locals(expr.source)
    return free


def _is_none(expr: Expr) -> bool:
    return isinstance(expr, Const) and expr.value is None
