"""Payoffs: an expression, one per role, or a table; typed, one expression a seat.

Those of referees stand where these are declared: `referees: {judge: {payoff: EXPRESSION}}`.
"""

from __future__ import annotations

from collections.abc import Iterator

from gamedsl.diagnostics import Note
from gamedsl.frontend.source.nodes import Mapping, Node, Scalar, Sequence
from gamedsl.frontend.syntax.tables import is_table
from gamedsl.ir import expr as ir
from gamedsl.ir.game import Role
from gamedsl.ir.program import Choose
from gamedsl.ir.types import NUMBER, PerSeat
from gamedsl.sema.payoff_tables import read_payoff, read_payoff_table
from gamedsl.sema.roles import entries_by_seat, unknown_role
from gamedsl.sema.scope import Namespace
from gamedsl.sema.step_context import StepContext
from gamedsl.sema.type_errors import choosers, report_no_choice
from gamedsl.sema.typer import Typer
from gamedsl.sema.values import NOTHING

Payoffs = tuple[tuple[str, ir.Expr], ...]


def read_payoffs(node: Node, typer: Typer, steps: list[Choose]) -> Payoffs:
    """Returns the utility of each seat, in seat order."""
    found = _read(node, typer, steps)
    _check_own_choices(list({id(typed): typed for _, typed in found}.values()), typer)
    return found


def read_referee_payoffs(section: Node | None, referees: tuple[Role, ...], typer: Typer) -> Payoffs:
    """Returns what training pays the referees' seats of which the file says it."""
    found: list[tuple[str, ir.Expr]] = []
    for role in referees:
        panel = section.get(role.name) if isinstance(section, Mapping) else None
        node = panel.get("payoff") if isinstance(panel, Mapping) else None
        if node is not None:
            typed = read_payoff(node, typer, me=True)
            _check_entries(typed, role, typer)
            found += [(seat, typed) for seat in role.seats]
    return tuple(found)


def _check_own_choices(payoffs: list[ir.Expr], typer: Typer) -> None:
    """Reports `v.me` where only referees choose `v`: no seat that is paid has a choice there."""
    context = typer.context
    for part in _own_entries(payoffs, typer):
        actors = choosers(context, part.of)
        if actors and not set(actors) & set(context.names.seats):
            report_no_choice(context, part.of, "me", part.span)


def _check_entries(payoff: ir.Expr, role: Role, typer: Typer) -> None:
    """Reports `v.me` in the payoff of a referee that has no entry in `v`."""
    context = typer.context
    for part in _own_entries([payoff], typer):
        actors = choosers(context, part.of)
        if not isinstance(part.of.type, PerSeat) or set(role.seats) <= set(actors):
            continue
        if actors:
            report_no_choice(context, part.of, "me", part.span)
            continue
        context.problems.add(
            "GD0323", f"`{role.name}` has no entry in `{part.of.span.text}`", part.span,
            why="`me` is a referee here, and this map has an entry for each role",
            notes=(Note(role.span, "the referee is declared here"),),
            help="take the entry of a role, or all of them, as in "
            f"`sum({part.of.span.text}[r] for r in roles)`",
        )  # fmt: skip


def _own_entries(pending: list[ir.Expr], typer: Typer) -> Iterator[ir.Get]:
    """Yields what reads the entry of `me` in a map. The bodies of lets count as where they are
    read."""
    lets, met = typer.context.lets, set[str]()
    while pending:
        for part in ir.walk(pending.pop()):
            if isinstance(part, ir.LetCall | ir.LetMap) and part.name not in met:
                met.add(part.name)
                pending += [lets[part.name]] if part.name in lets else []
            if isinstance(part, ir.Get) and isinstance(part.key, ir.Me):
                yield part


def _read(node: Node, typer: Typer, steps: list[Choose]) -> Payoffs:
    seats = typer.names.seats
    if isinstance(node, Mapping):
        return _per_role(node, typer)
    if isinstance(node, Sequence) or (isinstance(node, Scalar) and is_table(node)):
        return read_payoff_table(node, typer, steps)
    typed = read_payoff(node, typer, me=True)
    return tuple((seat, typed) for seat in seats)


def _per_role(node: Mapping, typer: Typer) -> Payoffs:
    names, problems = typer.names, typer.problems
    before = problems.count_errors()
    found: dict[str, ir.Expr] = {}
    for entry, seats in entries_by_seat(node, "the payoff", found, names, problems):
        found |= dict.fromkeys(seats, read_payoff(entry.value, typer, me=True))
    missing = [seat for seat in names.seats if seat not in found]
    if missing and problems.count_errors() == before:
        problems.add(
            "GD0408",
            f"`{missing[0]}` has no payoff",
            node.span,
            why="every role needs one",
            notes=(Note(names.role_spans[missing[0]], "declared here"),),
            help=f"add `{_missing_role(names, missing)}: …`",
        )
    return tuple((seat, found.get(seat, NOTHING)) for seat in names.seats)


def _missing_role(names: Namespace, missing: list[str]) -> str:
    """Returns the role whose seats all lack something, or the first seat that does."""
    roles = names.roles.items()
    alike = (role for role, seats in roles if missing[0] in seats and {*seats} <= {*missing})
    return next(alike, missing[0])


def read_amounts(context: StepContext, value: Node, what: str) -> Payoffs:
    """Returns what each seat is paid during play or scored at the end: one expression for all
    seats, or a map of role to expression; `what` names it in messages."""
    names = context.names
    if not isinstance(value, Mapping):
        typed = context.check(value, NUMBER, what, me=True)
        return tuple((seat, typed) for seat in names.seats) if typed else ()
    found: dict[str, ir.Expr] = {}
    for entry in value:
        seats = names.seats_of(entry.key.text)
        if not seats:
            unknown_role(entry.key.text, entry.key.span, names, context.problems)
        typed = context.check(entry.value, NUMBER, what, me=True)
        if typed is not None:
            found.update(dict.fromkeys(seats, typed))
    return tuple((seat, found[seat]) for seat in names.seats if seat in found)
