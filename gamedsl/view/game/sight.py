"""The visibility of a game: for each step and each role, the values that the role sees.

The walk that proves information flow (`gamedsl.analysis.infoflow`) runs again, and its findings at
each choice, draw and showing are recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from gamedsl.analysis.infoflow.expressions import Visibilities, has_length
from gamedsl.analysis.infoflow.flows import Context
from gamedsl.analysis.infoflow.visibility import (
    Readers,
    Seats,
    SeatTable,
    Visibility,
    seat_numbers,
)
from gamedsl.analysis.infoflow.walk import Walk, visibilities_of
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Binding, Choose, Draw, Show, Step, walk_steps
from gamedsl.ir.statements import Place
from gamedsl.ir.types import Record, Type, plain
from gamedsl.tables.model import Cell, Column, Entry, Table, TextRun, series
from gamedsl.tables.text import Line, table_lines
from gamedsl.view.game.flow import place_of

Sees = Literal["all", "some", "happens", "nothing"]

SIGNS = {"all": "●", "some": "◐", "happens": "○", "nothing": "·"}
KEY = (
    "▸ is asked   ● sees the value   ◐ sees part of it",
    "○ sees only that it happens   · sees nothing",
)


@dataclass(frozen=True)
class Glance:
    """One role's view of a step. `asked` says whether it may have to act there; `note` names the
    part that it sees if it sees some."""

    asked: bool
    sees: Sees
    note: str = ""


@dataclass(frozen=True)
class SightRow:
    """A step that binds a variable, or a state variable, with each seat's view of it. `where` is
    its line."""

    name: str
    what: Literal["choice", "chance", "shown", "known", "state"]
    where: str
    glances: tuple[Glance, ...]
    public_length: bool = False


def visibility_rows(ir: GameIR) -> tuple[SightRow, ...]:
    """A row for each step that binds something, in order, then one for each state variable."""
    noting = _Noting(ir, visibilities_of(ir))
    noting.walk.run()
    rows: list[SightRow] = []
    for step in walk_steps(ir.turns):
        noted = noting.noted.get(step.id)
        if noted is None or not isinstance(step, Binding):
            continue
        kind: Literal["choice", "chance", "shown"] = "chance"
        if not isinstance(step, Draw):
            kind = "choice" if isinstance(step, Choose) else "shown"
        glances = tuple(
            _glance(ir, step, noted, seat, noting.table) for seat in range(len(ir.everyone))
        )
        rows.append(SightRow(step.variable, kind, place_of(ir, step.span), glances))
        if isinstance(step, Choose):
            rows += _visibility_rows(ir, step)
    for state in ir.states:
        glances = tuple(
            _value_glance(noting.walk.flows.learned[state.name], seat, ir, state.type, noting.table)
            for seat in range(len(ir.everyone))
        )
        length = (
            state.size is None
            and has_length(state.type)
            and any(glance.sees != "all" for glance in glances)
        )
        rows.append(SightRow(state.name, "state", place_of(ir, state.span), glances, length))
    return tuple(rows)


def _visibility_rows(ir: GameIR, step: Choose) -> Iterator[SightRow]:
    """A row for each entry of the knowledge that a step declares: its actors are told that, in
    place of all that they saw."""
    for entry in step.knows or ():
        glances = tuple(
            Glance(False, "all" if seat in step.actors else "nothing") for seat in ir.everyone
        )
        yield SightRow(entry.name, "known", place_of(ir, step.span), glances)


def sight_lines(ir: GameIR) -> Iterator[Line]:
    """The rows as a table in a terminal, a column for each seat."""
    rows = visibility_rows(ir)
    yield [TextRun(ir.name, "strong"), TextRun(" · who sees what, when, with line numbers", "soft")]
    if not rows:
        return
    seats = (
        Column(seat, style=series(number), head_style="strong")
        for number, seat in enumerate(ir.everyone)
    )
    columns = (Column("", "right", "soft"), Column(), *seats)
    entries: list[Sequence[Entry]] = []
    for row in rows:
        if row.what == "state" and "state" not in [above.what for above in rows[: len(entries)]]:
            entries.append(("", Cell("state", "soft"), *[""] * len(ir.everyone)))
        entries.append((row.where, title_of(row), *map(_sign, row.glances)))
    yield from table_lines(Table(columns, entries), indent=1)
    yield from ([TextRun(line, "soft")] for line in KEY)


def title_of(row: SightRow) -> str:
    """The name of a row, with the kind of its step."""
    if row.what == "state":
        return f"  {row.name}" + " (length public)" * row.public_length
    verbs = {"choice": "choice of", "chance": "chance draws", "shown": "shown:"}
    verb = {**verbs, "known": "  and is told"}[row.what]
    return f"{verb} {row.name}"


def _sign(glance: Glance) -> str:
    sign = ("▸" if glance.asked else " ") + SIGNS[glance.sees]
    return f"{sign} {glance.note}" if glance.note else sign


@dataclass
class _Note:
    """The findings at a step: the seats that may act, the readers of each owner's value, and the
    seats that know that the step happens."""

    known: Readers
    asked: Seats = 0
    sights: dict[int | None, Visibility] = field(default_factory=dict)


class _Noting:
    """The walk, and what it finds at each choice, draw and showing."""

    def __init__(self, ir: GameIR, visibilities: Visibilities) -> None:
        self.walk = Walk(ir, visibilities, None, self._observe)
        self.table = visibilities.table
        self.noted: dict[str, _Note] = {}

    def _note(self, step: Step, owner: int | None, sight: Visibility, here: Context) -> _Note:
        everyone = self.walk.flows.everyone
        note = self.noted.setdefault(step.id, _Note(everyone))
        before = note.sights.get(owner, sight)
        note.sights[owner] = before.restricted(sight.readers) if before.readers else before
        note.known &= here.readers(everyone)
        return note

    def _observe(self, step: Step, here: Context) -> None:
        flows, scope = self.walk.flows, here.scope
        match step:
            case Choose():
                for seat, inner in flows.actor_contexts(step, here):
                    sight = flows.visibility(step.readers, inner.scope, step.type, seat)
                    self._note(step, seat, sight, inner).asked |= 1 << seat
            case Draw(by_seat=True):
                for seat in seat_numbers(flows.visibilities.table.of(step.per[0])):
                    own = scope.acting_as(seat)
                    self._note(step, seat, flows.outcome_visibility(step, own, seat), here)
            case Draw(place=Place() as place):
                for own, owner in flows.owners(place, scope):
                    self._note(step, owner, flows.outcome_visibility(step, own, owner), here)
            case Draw():
                self._note(step, scope.me, flows.outcome_visibility(step, scope, scope.me), here)
            case Show(by_seat=True):
                for seat in seat_numbers(flows.visibilities.table.of(flows.ir.seats)):
                    sight = flows.visibility(step.readers, scope, step.type, seat)
                    self._note(step, seat, sight, here)
            case Show():
                sight = flows.visibility(step.readers, scope, step.value.type, scope.me)
                self._note(step, scope.me, sight, here)
            case _:
                pass


def _glance(ir: GameIR, step: Binding, note: _Note, seat: int, table: SeatTable) -> Glance:
    """A seat's view of a step, all its owners together."""
    asked = bool(note.asked >> seat & 1)
    own = asked and not (isinstance(step, Choose) and step.knows is not None)
    type = step.type
    parts = {
        owner: _value_glance(sight, seat, ir, type, table)
        for owner, sight in note.sights.items()
        if not (own and owner == seat and len(note.sights) > 1)
    }
    if own and len(note.sights) == 1:
        return Glance(True, "all")
    kinds = {one.sees for one in parts.values()}
    happens: Sees = "happens" if table.always(note.known) >> seat & 1 else "nothing"
    if kinds == {"all"}:
        return Glance(asked, "all")
    if kinds <= {"nothing"}:
        return Glance(True, "some", "its own") if own else Glance(asked, happens)
    notes = {one.note for one in parts.values() if one.note}
    if len(kinds) == 1 and len(notes) == 1:
        return Glance(asked, "some", notes.pop())
    return Glance(asked, "some", _owner_names(ir, parts, seat))


def _owner_names(ir: GameIR, parts: dict[int | None, Glance], seat: int) -> str:
    """The owners whose values a seat sees."""
    owners = [owner for owner, one in parts.items() if one.sees != "nothing"]
    notes = {one.note for one in parts.values() if one.note}
    fields = f" ({', '.join(sorted(notes))})" if notes else ""
    if owners == [seat]:
        return f"its own{fields}"
    if seat not in owners and len(owners) == len(parts) - 1 and seat in parts:
        return f"the others'{fields}"
    return ", ".join(f"{ir.everyone[one]}'s" for one in owners if one is not None) + fields


def _value_glance(
    sight: Visibility, seat: int, ir: GameIR, type: Type, table: SeatTable
) -> Glance:  # fmt: skip
    """A seat's view of a value."""
    if table.always(sight.all) >> seat & 1:
        return Glance(False, "all")
    if not table.some(sight.any) >> seat & 1:
        return Glance(False, "nothing")
    if table.some(sight.all) >> seat & 1 and not sight.parts:
        return Glance(False, "some", "if its own secret says so")
    if sight.by == "seat":
        parts: dict[int | None, Glance] = {
            i: _value_glance(sight.part(i), seat, ir, type, table) for i in range(len(sight.parts))
        }
        return Glance(False, "some", _owner_names(ir, parts, seat))
    record = plain(type)
    names: Sequence[str] = ()
    if isinstance(record, Record):
        names = [name for name, _ in record.fields]
    visible = [n for i, n in enumerate(names) if table.some(sight.part(i).any) >> seat & 1]
    return Glance(False, "some", ", ".join(visible))
