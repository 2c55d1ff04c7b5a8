"""Payoffs: an expression, one per role, nested lists, or a text table; typed, one expression a seat.

A table is indexed by what each seat chose. It must have every cell exactly once, and it needs every
seat to act in exactly one step.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.ir import expr as ir
from gamedsl.ir.game import Choose
from gamedsl.ir.types import NUMBER, SEAT, PerSeat
from gamedsl.sema.infer import Typer
from gamedsl.sema.scope import Names
from gamedsl.sema.values import NOTHING, syntax
from gamedsl.source.nodes import Mapping, Node, Scalar, Sequence
from gamedsl.source.spans import Span
from gamedsl.syntax.parser import parse_expression
from gamedsl.syntax.tables import Piece, TextTable, is_table, read_table

Payoffs = tuple[tuple[str, ir.Expr], ...]


def read_payoffs(node: Node, typer: Typer, steps: list[Choose], problems: Problems) -> Payoffs:
    """The utility of each seat, in seat order."""
    seats = typer.names.seats
    if isinstance(node, Mapping):
        return _per_role(node, typer, problems)
    if isinstance(node, Sequence) or (isinstance(node, Scalar) and is_table(node)):
        reader = _TableReader(typer, problems)
        keys = reader.keys(steps, node.span)
        if keys is None:
            return tuple((seat, NOTHING) for seat in seats)
        if isinstance(node, Sequence):
            cells = reader.nested(node, keys)
        else:
            assert isinstance(node, Scalar)
            cells = reader.text(read_table(node), node, keys)
        return reader.columns(cells, keys, node.span)
    tree = syntax(node, problems)
    typed = typer.check(tree, NUMBER, "a payoff", me=True) if tree else NOTHING
    return tuple((seat, typed) for seat in seats)


def _per_role(node: Mapping, typer: Typer, problems: Problems) -> Payoffs:
    names = typer.names
    found: dict[str, ir.Expr] = {}
    for entry in node:
        name = entry.key.text
        seats = names.roles.get(name) or ((name,) if name in names.seats else ())
        if not seats:
            guess = did_you_mean(name, [*names.roles, *names.seats])
            place = names.role_spans.get(guess) if guess else None
            problems.add(
                "GD0320",
                f"unknown role `{name}`",
                entry.key.span,
                why="not a role of this game",
                help=f"did you mean `{guess}`?"
                if guess
                else "the roles: " + ", ".join(names.seats),
                notes=(Note(place, "declared here"),) if place else (),
            )
            continue
        tree = syntax(entry.value, problems)
        typed = typer.check(tree, NUMBER, "a payoff", me=True) if tree else NOTHING
        found.update(dict.fromkeys(seats, typed))
    missing = [seat for seat in names.seats if seat not in found]
    if missing and not problems.errors:
        problems.add(
            "GD0408",
            f"`{missing[0]}` has no payoff",
            node.span,
            why="every role needs one",
            notes=tuple(Note(names.role_spans[m], "declared here") for m in missing[:1]),
            help=f"add `{missing[0]}: …`",
        )
    return tuple((seat, found.get(seat, NOTHING)) for seat in names.seats)


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
            return ir.Read(step.type, span, step.variable)
        read = ir.Read(PerSeat(step.type), span, step.variable)
        return ir.Get(step.type, span, read, ir.Const(SEAT, span, self.seat))


Cells = dict[tuple[Any, ...], tuple[ir.Expr, ...]]


class _TableReader:
    def __init__(self, typer: Typer, problems: Problems) -> None:
        self.typer = typer
        self.problems = problems

    @property
    def names(self) -> Names:
        return self.typer.names

    def keys(self, steps: list[Choose], span: Span) -> tuple[Key, ...] | None:
        keys = []
        for seat in self.names.seats:
            acting = [step for step in steps if seat in step.actors]
            if len(acting) != 1:
                if not self.problems.errors:
                    self.problems.add(
                        "GD0409",
                        "a payoff table needs every role to act exactly once",
                        span,
                        why=f"`{seat}` acts in {len(acting)} steps",
                        help="give the payoffs as expressions",
                    )
                return None
            keys.append(Key(seat, acting[0]))
        return tuple(keys)

    def columns(self, cells: Cells, keys: tuple[Key, ...], span: Span) -> Payoffs:
        """Cut a table of all seats' payoffs into one per seat."""
        read = tuple(key.read(span) for key in keys)
        return tuple(
            (seat, ir.Table(NUMBER, span, read, {k: c[i] for k, c in cells.items()}))
            for i, seat in enumerate(self.names.seats)
        )

    # nested lists

    def nested(self, node: Sequence, keys: tuple[Key, ...]) -> Cells:
        cells: Cells = {}
        self._descend(node, keys, 0, (), cells)
        return cells

    def _descend(
        self, node: Node, keys: tuple[Key, ...], depth: int, at: tuple[Any, ...], cells: Cells
    ) -> None:
        seats = self.names.seats
        if depth == len(keys):
            cells[at] = self._leaf(node)
            return
        key = keys[depth]
        if not isinstance(node, Sequence) or len(node) != len(key.names):
            given = f"{len(node)} entries" if isinstance(node, Sequence) else "no list"
            self.problems.add(
                "GD0410",
                f"`{key.seat}` has {len(key.names)} actions, and here are {given}",
                node.span,
                why=f"one entry for each of {', '.join(key.names[:6])}",
                help=f"lists are nested in role order: {', '.join(seats)}",
            )
            return
        for value, item in zip(key.values, node, strict=True):
            self._descend(item, keys, depth + 1, (*at, value), cells)

    def _leaf(self, node: Node) -> tuple[ir.Expr, ...]:
        seats = self.names.seats
        if isinstance(node, Scalar) and len(seats) == 2:
            payoff = self._number(node)
            minus = ir.Apply(payoff.type, payoff.span, "neg", (payoff,))
            return payoff, minus
        if isinstance(node, Sequence) and len(node) == len(seats):
            return tuple(map(self._number, node))
        two = ", or for two roles one number u, meaning (u, -u)" if len(seats) == 2 else ""
        self.problems.add(
            "GD0411",
            f"a cell has one payoff for each of the {len(seats)} roles",
            node.span,
            why=f"{len(node)} are here" if isinstance(node, Sequence) else "this is not a list",
            help=f"write [{', '.join(seats)}]{two}",
        )
        return (NOTHING,) * len(seats)

    def _number(self, node: Node) -> ir.Expr:
        tree = syntax(node, self.problems)
        return self.typer.check(tree, NUMBER, "a payoff", me=False) if tree else NOTHING

    # text

    def text(self, table: TextTable, scalar: Scalar, keys: tuple[Key, ...]) -> Cells:
        cells: Cells = {}
        order = self._header(table, keys)
        if order is None:
            return cells
        columns = self._columns(table, keys[order[-1]])
        seen: dict[tuple[Any, ...], Span] = {}
        for row in table.rows:
            outer = self._row_key(row.keys, keys, order)
            if len(row.cells) != len(columns):
                self.problems.add(
                    "GD0410",
                    f"this row has {len(row.cells)} cells, and the header {len(columns)}",
                    row.span,
                    why="one cell for each action of the last role",
                )
                continue
            for column, cell in zip(columns, row.cells, strict=True):
                if outer is None or column is None:
                    continue
                key = self._in_seat_order((*outer, column), order)
                if key in seen:
                    self.problems.add(
                        "GD0412",
                        "this joint action has a payoff already",
                        row.span,
                        notes=(Note(seen[key], "here"),),
                    )
                seen[key] = row.span
                cells[key] = self._cell(cell, scalar, order)
        self._complete(cells, keys, table)
        return cells

    def _header(self, table: TextTable, keys: tuple[Key, ...]) -> tuple[int, ...] | None:
        """The seats of the header, as indices: the last of them is the column role."""
        seats = self.names.seats
        order = []
        for piece in table.roles:
            if piece.text not in seats:
                guess = did_you_mean(piece.text, seats)
                self.problems.add(
                    "GD0320",
                    f"unknown role `{piece.text}`",
                    piece.span,
                    why="not a role of this game",
                    help=f"did you mean `{guess}`?"
                    if guess
                    else "the header names the roles: " + ", ".join(seats),
                )
                return None
            order.append(seats.index(piece.text))
        if sorted(order) != list(range(len(seats))):
            self.problems.add(
                "GD0413",
                "the header names every role once",
                table.roles[0].span,
                why=f"{len(order)} named, {len(seats)} in the game",
                help=f"begin the table with `{', '.join(seats)} | …`",
            )
            return None
        return tuple(order)

    def _columns(self, table: TextTable, key: Key) -> list[Any]:
        return [self._action(piece, key) for piece in table.columns]

    def _action(self, piece: Piece, key: Key) -> Any:
        for choice in key.step.options_of(key.seat):
            if choice.name == piece.text:
                return choice.value
        guess = did_you_mean(piece.text, key.names)
        self.problems.add(
            "GD0414",
            f"`{piece.text or ' '}` is not an action of `{key.seat}`",
            piece.span,
            why="it can choose " + ", ".join(key.names[:6]),
            help=f"did you mean `{guess}`?" if guess else "",
        )
        return None

    def _row_key(
        self, pieces: tuple[Piece, ...], keys: tuple[Key, ...], order: tuple[int, ...]
    ) -> Any:
        if len(pieces) != len(order) - 1:
            self.problems.add(
                "GD0410",
                f"a row begins with {len(order) - 1} actions",
                pieces[0].span,
                why=f"{len(pieces)} are here",
                help="one for each role but the last, separated by commas",
            )
            return None
        actions = tuple(self._action(p, keys[i]) for p, i in zip(pieces, order[:-1], strict=True))
        return None if None in actions else actions

    @staticmethod
    def _in_seat_order(actions: tuple[Any, ...], order: tuple[int, ...]) -> tuple[Any, ...]:
        placed: list[Any] = [None] * len(order)
        for action, seat in zip(actions, order, strict=True):
            placed[seat] = action
        return tuple(placed)

    def _cell(
        self, pieces: tuple[Piece, ...], scalar: Scalar, order: tuple[int, ...]
    ) -> tuple[ir.Expr, ...]:
        """The payoffs of a cell, in seat order."""
        if len(pieces) != len(order):
            first, last = pieces[0].span, pieces[-1].span
            self.problems.add(
                "GD0411",
                f"a cell has one payoff for each of the {len(order)} roles",
                Span(first.source, first.start, last.end),
                why=f"{len(pieces)} are here",
                help="separate them with commas, in the order of the header",
            )
            return (NOTHING,) * len(order)
        typed: list[ir.Expr] = [NOTHING] * len(order)
        for piece, seat in zip(pieces, order, strict=True):
            tree = parse_expression(scalar, self.problems, piece.start, piece.end)
            if tree is not None:
                typed[seat] = self.typer.check(tree, NUMBER, "a payoff", me=False)
        return tuple(typed)

    def _complete(self, cells: Cells, keys: tuple[Key, ...], table: TextTable) -> None:
        missing = [k for k in product(*(key.values for key in keys)) if k not in cells]
        if missing and not self.problems.errors:
            shown = ", ".join(
                key.names[key.values.index(v)] for key, v in zip(keys, missing[0], strict=True)
            )
            self.problems.add(
                "GD0415",
                f"the table has no payoff for ({shown})",
                table.roles[0].span,
                why=f"{len(missing)} joint actions are missing"
                if len(missing) > 1
                else "one joint action is missing",
                help=f"add the row or column for ({shown})",
            )
