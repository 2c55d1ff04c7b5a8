"""The sight of a seat at a decision, in pieces that a page draws: boards, hands, texts.

All of it comes from the view of the seat, as `SeatText.situation` does. A board has the options
that name its cells, so that people play by looking.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gamedsl.ir.evaluate import Scope, evaluate
from gamedsl.ir.program import Draw, walk_steps
from gamedsl.ir.types import SEAT, Enum, Grid, List, Option, PerSeat, Record, plain
from gamedsl.prompting.value_text import HIDDEN, Hidden, as_text, one_line

if TYPE_CHECKING:
    from gamedsl.ir.types import Type
    from gamedsl.players.seat_text import SeatText
    from gamedsl.runtime import Decision, Episode

MOST_CARDS = 40
"""Cards that are drawn one by one; more are a number."""

MOST_CELLS = 400
"""Cells of a board that is drawn; a larger one is text."""

_CELL = re.compile(r"(?:\w+\()?(\d+),(\d+)\)?")


@dataclass(frozen=True)
class Board:
    """A grid. `cells` are its rows. `hexagonal` boards shift each row by half a cell."""

    title: str
    cells: Sequence[Sequence[Cell]]
    hexagonal: bool = False


@dataclass(frozen=True)
class Cell:
    """A cell: its text, the number of the seat whose name it is, and that of the option that names
    it."""

    text: str
    seat: int | None = None
    option: int | None = None


@dataclass(frozen=True)
class Cards:
    """Cards in a row: those that the seat sees, and the number of those that it does not."""

    title: str
    faces: Sequence[str]
    backs: int = 0


@dataclass(frozen=True)
class Lines:
    """A text below a title, or beside it."""

    title: str
    text: str


Piece = Board | Cards | Lines


def sight(decision: Decision, episode: Episode, text: SeatText) -> tuple[Piece, ...]:
    """Returns what the seat of a decision sees. Raises as `SeatText.situation`."""
    entries = text.entries(decision, episode)
    cells = cells_of(decision.legal)
    pieces: list[Piece] = []
    if entries is not None:
        env = decision.env
        scope = Scope(env.seats, episode.state.variables, env.ir.lets_by_name, {}, decision.seat)
        for entry, said in entries:
            grid = isinstance(plain(entry.value.type), Grid)
            value = evaluate(entry.value, scope) if grid else None
            pieces += (
                _pieces(entry.name, value, entry.value.type, env.seats)
                if value is not None
                else [Lines(entry.name, said)]
            )
        return _with_options(pieces, cells)
    view, viewer = episode.view(decision.seat), decision.env.viewer
    for name, value in view.state.items():
        if value is not HIDDEN:
            pieces += _pieces(name, value, viewer.types[name], viewer.ir.seats)
    if not viewer.ir.open:
        drawn = {s.variable for s in walk_steps(viewer.ir.turns) if isinstance(s, Draw)}
        bound: dict[str, list[tuple[tuple[str, ...], Any, Type]]] = {}
        for (name, key), value in view.bound.items():
            bound.setdefault(name, []).append((key, value, viewer.slots[name, key].type))
        for name, values in bound.items():
            pieces += _bound(name, values, name in drawn)
    return _with_options(pieces, cells)


def cells_of(legal: Sequence[str]) -> dict[tuple[int, int], int]:
    """Returns the numbers of the options that name a cell, by its row and column; none where a cell
    is named by several."""
    found = {}
    for number, name in enumerate(legal):
        named = _CELL.fullmatch(name)
        if named is not None:
            found[int(named[1]), int(named[2])] = number
    named_once = len(found) == sum(_CELL.fullmatch(name) is not None for name in legal)
    return found if named_once else {}


def _bound(
    title: str, values: Sequence[tuple[tuple[str, ...], Any, Type]], drawn: bool
) -> Iterator[Piece]:
    """Yields the last values of a step."""
    if not drawn:
        parts = (" ".join((*key, one_line(value, type))) for key, value, type in values)
        yield Lines(title, ", ".join(parts))
        return
    for key, value, type in values:
        yield Cards(" · ".join((title, *key)), (one_line(value, type),))


def _pieces(title: str, value: Any, type: Type, seats: Sequence[str]) -> Iterator[Piece]:
    """Yields the pieces of a value."""
    inner = type.of if isinstance(type, Option) and value is not None else type
    match inner:
        case Grid() if isinstance(value, tuple) and len(value) <= MOST_CELLS:
            yield _board(title, value, inner, seats)
        case PerSeat(of=Grid() | List() as of) if isinstance(value, Mapping):
            for seat, part in value.items():
                if part is not HIDDEN:
                    yield from _pieces(f"{title} · {seat}", part, of, seats)
        case List(of=of) if _is_card(of):
            if isinstance(value, Hidden):
                yield Cards(title, (), value.length or 0)
            else:
                yield Cards(title, tuple(one_line(part, of) for part in value[:MOST_CARDS]))
        case _:
            yield Lines(title, as_text(value, type))


def _is_card(type: Type) -> bool:
    """Whether the items of a list are drawn as cards: records and named values."""
    kind = plain(type)
    return isinstance(kind, Record | Enum)


def _board(title: str, value: Sequence[Any], type: Grid, seats: Sequence[str]) -> Board:
    marks = marks_of(seats)
    places = {seat: number for number, seat in enumerate(seats)}
    of_seats = plain(type.of) == SEAT
    cells = [
        Cell(marks[part], places[part]) if of_seats and part in places
        else Cell("" if part is None else "?" if part is HIDDEN else one_line(part, type.of))
        for part in value
    ]  # fmt: skip
    rows = [cells[at : at + type.columns] for at in range(0, len(cells), type.columns)]
    return Board(title, rows, type.neighbors == "hex")


def marks_of(seats: Sequence[str]) -> dict[str, str]:
    """Returns a short mark for each seat: its first letter, where that tells it from others."""
    firsts = Counter(seat[0] for seat in seats)
    return {seat: seat[0].upper() if firsts[seat[0]] == 1 else seat for seat in seats}


def _with_options(
    pieces: Sequence[Piece], cells: Mapping[tuple[int, int], int]
) -> tuple[Piece, ...]:
    """Returns the pieces, of which the only board has the options that name its cells."""
    boards = [piece for piece in pieces if isinstance(piece, Board)]
    if len(boards) != 1 or not cells:
        return tuple(pieces)
    rows = boards[0].cells
    if any(row >= len(rows) or column >= len(rows[row]) for row, column in cells):
        return tuple(pieces)
    taken = [
        [Cell(c.text, c.seat, cells.get((row, column))) for column, c in enumerate(line)]
        for row, line in enumerate(rows)
    ]
    board = Board(boards[0].title, taken, boards[0].hexagonal)
    return tuple(board if piece is boards[0] else piece for piece in pieces)
