"""Payoff tables, as nested lists or as text: every cell exactly once, one payoff per role in each.

A table is indexed by what each seat chose, so every seat must act in exactly one step.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.fixes import respell
from gamedsl.diagnostics.spans import Span
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.frontend.source.nodes import Node, Scalar, Sequence
from gamedsl.frontend.syntax.parser import parse_expression
from gamedsl.frontend.syntax.tables import Piece, TextRow, TextTable, read_table
from gamedsl.ir import expr as ir
from gamedsl.ir.program import Choose
from gamedsl.ir.types import NUMBER, SEAT, Never, PerSeat
from gamedsl.sema.roles import unknown_role
from gamedsl.sema.typer import Typer
from gamedsl.sema.values import NOTHING, syntax

Cells = dict[tuple[Any, ...], tuple[ir.Expr, ...]]
"""The payoffs of each cell in seat order, under the values that the seats chose."""


@dataclass(frozen=True)
class TableKey:
    """One seat's index into a table: the step it acts in, and its options there."""

    seat: str
    step: Choose

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(choice.name for choice in self.step.options_of(self.seat))

    @property
    def values(self) -> tuple[Any, ...]:
        return tuple(choice.value for choice in self.step.options_of(self.seat))

    def read(self, span: Span) -> ir.Expr:
        """Returns the expression that reads what the seat chose."""
        step = self.step
        if not step.joint:
            if len(step.actors) == 1:
                return ir.Read(step.type, span, step.variable)
            read: ir.Expr = ir.LastBy(PerSeat(step.type, True), span, step.variable)
        else:
            read = ir.Read(PerSeat(step.type), span, step.variable)
        return ir.Get(step.type, span, read, ir.Const(SEAT, span, self.seat))


def read_payoff_table(
    node: Sequence | Scalar, typer: Typer, steps: list[Choose]
) -> tuple[tuple[str, ir.Expr], ...]:
    """Returns a table of all seats' payoffs as one table per seat."""
    seats = typer.names.seats
    keys = _keys(steps, node.span, typer)
    if keys is None:
        return tuple((seat, NOTHING) for seat in seats)
    layout = TableLayout(typer, keys)
    if isinstance(node, Sequence):
        cells: Cells = {}
        _read_nested(layout, cells, node, ())
    else:
        cells = TextTableReader(layout, node).read()
    read = tuple(key.read(node.span) for key in keys)
    return tuple(
        (seat, ir.Table(NUMBER, node.span, read, {k: c[i] for k, c in cells.items()}))
        for i, seat in enumerate(seats)
    )


def _keys(steps: list[Choose], span: Span, typer: Typer) -> tuple[TableKey, ...] | None:
    """Returns a table's keys by seat; None (and a problem) if choices do not tell cells apart."""
    keys, problems = [], typer.problems
    for seat in typer.names.seats:
        acting = [step for step in steps if seat in step.actors]
        if len(acting) != 1:
            _report_no_table(
                "a payoff table needs every role to act exactly once",
                span,
                f"`{seat}` acts in {len(acting)} steps",
                tuple(Note(step.span, "acts here") for step in acting),
                problems,
            )
            return None
        keys.append(TableKey(seat, acting[0]))
    bound: dict[str, Choose] = {}
    for key in keys:
        step = bound.setdefault(key.step.variable, key.step)
        if step is not key.step and not step.joint:
            _report_no_table(
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
            _report_no_table(
                f"a payoff table cannot tell `{same[0]}` from `{same[1]}`",
                span,
                "both have one value",
                (Note(key.step.span, "chosen here"),),
                problems,
                "give them different values, or no values",
            )
            return None
    return tuple(keys)


def _report_no_table(
    message: str,
    span: Span,
    why: str,
    notes: tuple[Note, ...],
    problems: Problems,
    help: str = "give the payoffs as expressions",
) -> None:
    problems.add("GD0409", message, span, why=why, notes=notes, help=help)


@dataclass(frozen=True)
class TableLayout:
    """The layout that both spellings of a table share: the keys of its cells, and the typing of
    a payoff."""

    typer: Typer
    keys: tuple[TableKey, ...]

    @property
    def seats(self) -> tuple[str, ...]:
        return self.typer.names.seats

    @property
    def problems(self) -> Problems:
        return self.typer.problems

    def report_wrong_count(self, given: int, span: Span, help: str) -> tuple[ir.Expr, ...]:
        """Reports a cell without one payoff per role, and returns one that stands for it."""
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


def _one_of(names: tuple[str, ...], text: str) -> str:
    """Returns the help for a text that is no action, and near none."""
    shown = ", ".join(f"`{name}`" for name in names[:6])
    return f"write one of {shown}" + (f", or declare `{text}` as an action" if text else "")


def _read_nested(layout: TableLayout, cells: Cells, node: Node, at: tuple[Any, ...]) -> None:
    """Reads `[[[3, 3], [0, 5]], [[5, 0], [1, 1]]]`, nested in role order, from the cells under the
    choices `at` on."""
    depth = len(at)
    if depth == len(layout.keys):
        cells[at] = _nested_cell(layout, node)
        return
    key = layout.keys[depth]
    if not isinstance(node, Sequence) or len(node) != len(key.names):
        count = len(key.names)
        given = f"{len(node)}" if isinstance(node, Sequence) else "a single value"
        one = "a payoff" if depth + 1 == len(layout.keys) else "a list"
        layout.problems.add(
            "GD0410",
            f"`{key.seat}` has {count} action{'s' if count != 1 else ''}, and here "
            f"{'is' if given in ('1', 'a single value') else 'are'} {given}",
            node.span,
            why=f"{one} for each of {', '.join(key.names[:6])}",
            help="lists are nested in role order: " + ", ".join(layout.seats[:8]),
        )
        return
    for value, item in zip(key.values, node, strict=True):
        _read_nested(layout, cells, item, (*at, value))


def _nested_cell(layout: TableLayout, node: Node) -> tuple[ir.Expr, ...]:
    """Returns the payoffs of a cell in seat order; for two roles one number `u` is `[u, -u]`."""
    seats = layout.seats
    if isinstance(node, Scalar) and len(seats) == 2:
        payoff = read_payoff(node, layout.typer)
        if isinstance(payoff.type, Never):
            return (NOTHING, NOTHING)
        if isinstance(payoff, ir.Const):
            return payoff, ir.Const(payoff.type, payoff.span, -payoff.value)
        return payoff, ir.Apply(payoff.type, payoff.span, "neg", (payoff,))
    if isinstance(node, Scalar) and len(seats) == 1:
        return (read_payoff(node, layout.typer),)
    if isinstance(node, Sequence) and len(node) == len(seats):
        return tuple(read_payoff(item, layout.typer) for item in node)
    two = ", or for two roles one number `u`, which means `[u, -u]`" if len(seats) == 2 else ""
    help = f"write `[{', '.join(seats[:8])}]`{two}"
    return layout.report_wrong_count(
        len(node) if isinstance(node, Sequence) else 1, node.span, help
    )


def read_payoff(node: Node, typer: Typer, *, me: bool = False) -> ir.Expr:
    """Types a payoff, which may read `me` if it is not in a table."""
    tree = syntax(node, typer.problems)
    return typer.check(tree, NUMBER, "a payoff", me=me) if tree else NOTHING


class TextTableReader:
    """Reads a table as text: header and rows name actions, in an order of their own."""

    def __init__(self, layout: TableLayout, scalar: Scalar) -> None:
        self.layout = layout
        self.seats, self.keys, self.problems = layout.seats, layout.keys, layout.problems
        self.scalar = scalar
        self.cells: Cells = {}
        self.table = read_table(scalar)
        self.order: tuple[int, ...] = ()
        """The seats of the header, as indices: the last of them is the column role."""

    def read(self) -> Cells:
        before = self.problems.count_errors()
        if self.has_lines(self.table) and self.header(self.table):
            columns = self.columns(self.table)
            seen: dict[tuple[Any, ...], Span] = {}
            for row in self.table.rows:
                self.row(row, columns, seen)
            if self.problems.count_errors() == before:
                self.check_complete(self.table)
        return self.cells

    def has_lines(self, table: TextTable) -> bool:
        """Whether the text has its lines, and none but the bars between cells."""
        first = table.roles[0].span
        if not table.rows and "\n" not in self.scalar.span.text.strip("|>-+ \n"):
            self.report_layout("a payoff table has a line for each row", first, "the only line", "")
        elif not table.rows:
            help = "put `|` after `payoffs:`, and the table below it"
            self.report_layout("this table has lost its lines", first, "joined into one line", help)
        elif not table.roles[0].text and len(table.roles) == 1:
            help = "delete the outer bars, and a line of dashes"
            self.report_layout(
                "a line of a payoff table does not begin with a bar", first, "here", help
            )
        else:
            return True
        return False

    def report_layout(self, message: str, span: Span, why: str, help: str) -> None:
        header = f"{', '.join(self.seats[:4])} | {' | '.join(self.keys[-1].names[:4])}"
        help = help or f"begin with the line `{header}`"
        self.problems.add("GD0417", message, span, why=why, help=help)

    def header(self, table: TextTable) -> bool:
        """Whether the header names every role once."""
        seats, order = self.seats, []
        known = True
        for piece in table.roles:
            if piece.text in seats:
                order.append(seats.index(piece.text))
                continue
            known = False
            help = "the header names the roles: " + ", ".join(seats[:8])
            unknown_role(piece.text, piece.span, self.layout.typer.names, self.problems, help=help)
        self.order = tuple(order)
        if known and sorted(order) != list(range(len(seats))):
            twice = next((i for n, i in enumerate(order) if i in order[:n]), None)
            missing = [seat for i, seat in enumerate(seats) if i not in order]
            first, last = table.roles[0].span, table.roles[-1].span
            self.problems.add(
                "GD0413",
                "the header names every role once",
                Span(first.source, first.start, last.end),
                why=f"`{missing[0]}` is missing" if missing else f"`{seats[twice or 0]}` is twice",
                help=f"begin the table with `{', '.join(seats[:8])} | …`",
            )
            return False
        return known

    def columns(self, table: TextTable) -> list[Any]:
        key = self.keys[self.order[-1]]
        columns = [self.action(piece, key) for piece in table.columns]
        for number, value in enumerate(columns):
            if value is not None and value in columns[:number]:
                first = table.columns[columns.index(value)]
                self.report_twice(table.columns[number], first.span, "column")
                columns[number] = None
        return columns

    def report_twice(self, piece: Piece, first: Span, what: str, span: Span | None = None) -> None:
        self.problems.add(
            "GD0412",
            f"the {what} `{piece.text}` stands twice",
            span or piece.span,
            why="the second time",
            notes=(Note(first, "the first time"),),
            help=f"delete one {what}, or name another action",
        )

    def action(self, piece: Piece, key: TableKey) -> Any:
        for choice in key.step.options_of(key.seat):
            if choice.name == piece.text:
                return choice.value
        guess = did_you_mean(piece.text, key.names)
        options = key.step.options_of(key.seat)
        place = next((c.span for c in options if guess in (c.name, None)), None)
        self.problems.add(
            "GD0414",
            f"`{piece.text}` is not an action of `{key.seat}`"
            if piece.text
            else f"an action of `{key.seat}` is missing here",
            piece.span,
            why="it can choose " + ", ".join(key.names[:6]),
            notes=(Note(place, "declared here" if guess else "its actions"),) if place else (),
            help=respell(piece.span, guess, _one_of(key.names, piece.text)),
            cause=f"name {piece.text}" if piece.text else "",
        )
        return None

    def row(self, row: TextRow, columns: list[Any], seen: dict[tuple[Any, ...], Span]) -> None:
        outer = self.row_key(row)
        if len(row.cells) != len(columns):
            self.report_ragged_row(row, columns)
            return
        if outer is None:
            return
        keys = row.keys
        place = keys[0].span._replace(end=keys[-1].span.end)
        if outer in seen:
            whole = Piece(", ".join(k.text for k in keys), keys[0].start, keys[-1].end, place)
            self.report_twice(whole, seen[outer], "row")
            return
        seen[outer] = place
        for column, cell in zip(columns, row.cells, strict=True):
            if column is not None:
                self.cells[self.in_seat_order((*outer, column))] = self.cell(cell)

    def report_ragged_row(self, row: TextRow, columns: list[Any]) -> None:
        given, names = len(row.cells), [piece.text for piece in self.table.columns]
        missing = ", ".join(f"`{name}`" for name in names[given:][:4])
        zeros = " | ".join([", ".join("0" * len(self.seats))] * min(len(names) - given, 4))
        head = self.table.columns
        self.problems.add(
            "GD0410",
            f"this row has {given} cell{'s' if given != 1 else ''}, and the header {len(columns)}",
            row.span,
            why=f"no cell under {missing}" if missing else f"{given - len(columns)} too many",
            notes=(
                Note(head[0].span._replace(end=head[-1].span.end), "one cell for each of these"),
            )
            if head
            else (),
            help=f"add `| {zeros}`" if missing else "delete what is too much",
        )

    def row_key(self, row: TextRow) -> tuple[Any, ...] | None:
        """Returns the actions that a row begins with, in header order."""
        wanted, pieces = self.order[:-1], row.keys
        if not wanted and len(pieces) == 1 and not pieces[0].text:
            return ()
        if len(pieces) != len(wanted):
            self.problems.add(
                "GD0410",
                f"a row begins with {len(wanted)} action{'s' if len(wanted) != 1 else ''}"
                if wanted
                else "with one role, a row begins with the bar",
                pieces[0].span._replace(end=pieces[-1].span.end),
                why=f"{len(pieces)} {'is' if len(pieces) == 1 else 'are'} here",
                help="one for each role but the last, separated by commas"
                if wanted
                else "write `| " + " | ".join("0" * min(len(self.table.columns), 6)) + "`",
            )
            return None
        actions = tuple(self.action(p, self.keys[i]) for p, i in zip(pieces, wanted, strict=True))
        return None if None in actions else actions

    def in_seat_order(self, actions: tuple[Any, ...]) -> tuple[Any, ...]:
        placed: list[Any] = [None] * len(self.order)
        for action, seat in zip(actions, self.order, strict=True):
            placed[seat] = action
        return tuple(placed)

    def cell(self, pieces: tuple[Piece, ...]) -> tuple[ir.Expr, ...]:
        """Returns the payoffs of a cell, in seat order."""
        if len(pieces) != len(self.order) or not any(piece.text for piece in pieces):
            span = pieces[0].span._replace(end=pieces[-1].span.end)
            example = ", ".join("0" * len(self.order))
            given = len(pieces) if any(piece.text for piece in pieces) else 0
            help = f"separate them with commas, in the order of the header: `{example}`"
            return self.layout.report_wrong_count(given, span, help)
        typed: list[ir.Expr] = [NOTHING] * len(self.order)
        for piece, seat in zip(pieces, self.order, strict=True):
            tree = parse_expression(self.scalar, self.problems, piece.start, piece.end)
            if tree is not None:
                typed[seat] = self.layout.typer.check(tree, NUMBER, "a payoff", me=False)
        return tuple(typed)

    def check_complete(self, table: TextTable) -> None:
        """Whether no cell is missing; the first that is, if any, is found in as many steps."""
        total = 1
        for key in self.keys:
            total *= len(key.names)
        if len(self.cells) == total:
            return
        missing = next(
            k for k in product(*(key.values for key in self.keys)) if k not in self.cells
        )
        named = [k.names[k.values.index(v)] for k, v in zip(self.keys, missing, strict=True)]
        count = total - len(self.cells)
        columns = {piece.text for piece in table.columns}
        column = named[self.order[-1]]
        head = [named[i] for i in self.order[:-1]]
        zeros = ", ".join("0" * len(self.seats))
        first, last = table.roles[0].span, (table.columns or table.roles)[-1].span
        if column not in columns:
            help = f"add the column `{column}`"
        else:
            cells = f" | {zeros}" * len(table.columns)
            help = f"add the row `{', '.join(head)}{cells}`"
        self.problems.add(
            "GD0415",
            f"the table has no payoff for ({', '.join(named[:8])})",
            Span(first.source, first.start, last.end),
            why=f"{count if count < 10**6 else 'many'} joint actions are missing"
            if count > 1
            else "one joint action is missing",
            help=help,
        )
