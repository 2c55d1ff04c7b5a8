"""Payoff tables, as nested lists or as text: every cell exactly once, one payoff per role in each.

A table is indexed by what each seat chose, so every seat must act in exactly one step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.spans import Span
from gamedsl.frontend.source.nodes import Node, Scalar, Sequence
from gamedsl.ir import expr as ir
from gamedsl.ir.program import Choose
from gamedsl.ir.types import NUMBER, SEAT, Never, PerSeat
from gamedsl.sema.typer import Typer
from gamedsl.sema.values import NOTHING, syntax

Cells = dict[tuple[Any, ...], tuple[ir.Expr, ...]]


@dataclass(frozen=True)
class Key:
    """What one seat's index into a table is: the step it acts in, and its options there."""

    seat: str
    step: Choose

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(choice.name for choice in self.step.options_of(self.seat))

    @property
    def values(self) -> tuple[Any, ...]:
        return tuple(choice.value for choice in self.step.options_of(self.seat))

    def read(self, span: Span) -> ir.Expr:
        step = self.step
        if not step.joint:
            if len(step.actors) == 1:
                return ir.Read(step.type, span, step.variable)
            read: ir.Expr = ir.LastBy(PerSeat(step.type, True), span, step.variable)
        else:
            read = ir.Read(PerSeat(step.type), span, step.variable)
        return ir.Get(step.type, span, read, ir.Const(SEAT, span, self.seat))


def read_payoff_table(
    node: Sequence | Scalar, typer: Typer, steps: list[Choose], problems: Problems
) -> tuple[tuple[str, ir.Expr], ...]:
    """A table of all seats' payoffs, cut into one table per seat."""
    seats = typer.names.seats
    keys = _keys(steps, node.span, typer, problems)
    if keys is None:
        return tuple((seat, NOTHING) for seat in seats)
    if isinstance(node, Sequence):
        cells = _Nested(typer, problems, keys).read(node)
    else:
        from gamedsl.sema.text_tables import TextReader

        cells = TextReader(typer, problems, keys, node).read()
    read = tuple(key.read(node.span) for key in keys)
    return tuple(
        (seat, ir.Table(NUMBER, node.span, read, {k: c[i] for k, c in cells.items()}))
        for i, seat in enumerate(seats)
    )


def _keys(
    steps: list[Choose], span: Span, typer: Typer, problems: Problems
) -> tuple[Key, ...] | None:
    """What indexes the table, by seat; None (and a problem) if choices do not tell cells apart."""
    keys = []
    for seat in typer.names.seats:
        acting = [step for step in steps if seat in step.actors]
        if len(acting) != 1:
            _no_table(
                "a payoff table needs every role to act exactly once",
                span,
                f"`{seat}` acts in {len(acting)} steps",
                tuple(Note(step.span, "acts here") for step in acting),
                problems,
            )
            return None
        keys.append(Key(seat, acting[0]))
    bound: dict[str, Choose] = {}
    for key in keys:
        step = bound.setdefault(key.step.variable, key.step)
        if step is not key.step and not step.joint:
            _no_table(
                f"a payoff table cannot tell two bindings of `{step.variable}` apart",
                span,
                "reads only the last",
                (Note(step.span, "first bound here"), Note(key.step.span, "and here")),
                problems,
                "give the variables of these steps different names",
            )
            return None
        same = [n for n, v in zip(key.names, key.values, strict=True) if key.values.count(v) > 1]
        if same:
            _no_table(
                f"a payoff table cannot tell `{same[0]}` from `{same[1]}`",
                span,
                "both have one value",
                (Note(key.step.span, "chosen here"),),
                problems,
                "give them different values, or no values",
            )
            return None
    return tuple(keys)


def _no_table(
    message: str,
    span: Span,
    why: str,
    notes: tuple[Note, ...],
    problems: Problems,
    help: str = "give the payoffs as expressions",
) -> None:
    problems.add("GD0409", message, span, why=why, notes=notes, help=help)


class Reader:
    """What both spellings of a table share."""

    def __init__(self, typer: Typer, problems: Problems, keys: tuple[Key, ...]) -> None:
        self.typer = typer
        self.problems = problems
        self.keys = keys
        self.seats = typer.names.seats
        self.cells: Cells = {}

    def wrong_count(self, given: int, span: Span, help: str) -> tuple[ir.Expr, ...]:
        """Report a cell without one payoff per role."""
        count = len(self.seats)
        self.problems.add(
            "GD0411",
            f"a cell has one payoff for each of the {count} roles"
            if count > 1
            else "a cell has one payoff",
            span,
            why=f"{given or 'nothing'} {'are' if given > 1 else 'is'} here",
            help=help,
        )
        return (NOTHING,) * count


class _Nested(Reader):
    """`[[[3, 3], [0, 5]], [[5, 0], [1, 1]]]`: indexed in role order."""

    def read(self, node: Sequence) -> Cells:
        self.descend(node, 0, ())
        return self.cells

    def descend(self, node: Node, depth: int, at: tuple[Any, ...]) -> None:
        if depth == len(self.keys):
            self.cells[at] = self.leaf(node)
            return
        key = self.keys[depth]
        if not isinstance(node, Sequence) or len(node) != len(key.names):
            count = len(key.names)
            given = f"{len(node)}" if isinstance(node, Sequence) else "a single value"
            one = "a payoff" if depth + 1 == len(self.keys) else "a list"
            self.problems.add(
                "GD0410",
                f"`{key.seat}` has {count} action{'s' if count != 1 else ''}, and here "
                f"{'is' if given in ('1', 'a single value') else 'are'} {given}",
                node.span,
                why=f"{one} for each of {', '.join(key.names[:6])}",
                help="lists are nested in role order: " + ", ".join(self.seats[:8]),
            )
            return
        for value, item in zip(key.values, node, strict=True):
            self.descend(item, depth + 1, (*at, value))

    def leaf(self, node: Node) -> tuple[ir.Expr, ...]:
        seats = self.seats
        if isinstance(node, Scalar) and len(seats) == 2:
            payoff = self.number(node)
            if isinstance(payoff.type, Never):
                return (NOTHING, NOTHING)
            if isinstance(payoff, ir.Const):
                return payoff, ir.Const(payoff.type, payoff.span, -payoff.value)
            return payoff, ir.Apply(payoff.type, payoff.span, "neg", (payoff,))
        if isinstance(node, Scalar) and len(seats) == 1:
            return (self.number(node),)
        if isinstance(node, Sequence) and len(node) == len(seats):
            return tuple(map(self.number, node))
        two = ", or for two roles one number `u`, which means `[u, -u]`" if len(seats) == 2 else ""
        help = f"write `[{', '.join(seats[:8])}]`{two}"
        return self.wrong_count(len(node) if isinstance(node, Sequence) else 1, node.span, help)

    def number(self, node: Node) -> ir.Expr:
        tree = syntax(node, self.problems)
        return self.typer.check(tree, NUMBER, "a payoff", me=False) if tree else NOTHING
