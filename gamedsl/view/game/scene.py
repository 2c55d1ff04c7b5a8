"""The scene of a seat: what it sees of a play now, drawn as things on a table.

`scene_of` reads the view of one seat and nothing else: grids become boards, sets, lists and bags
of values become hands of cards, what chance dealt becomes cards, and the rest are lines of text. A
declared view restricts the scene as it restricts prompts. `Scene.canvas` draws it as SVG,
`Scene.lines` in a terminal; both say the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from math import cos, pi, sin
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from gamedsl.ir.evaluate import EvaluationError, Scope, evaluate
from gamedsl.ir.program import Draw, walk_steps
from gamedsl.ir.types import (
    SEAT,
    Bag,
    Enum,
    Grid,
    List,
    Number,
    Option,
    PerSeat,
    PerValue,
    Record,
    Set,
    Type,
    plain,
)  # fmt: skip
from gamedsl.ir.values import name_of
from gamedsl.prompting.value_text import HIDDEN, Hidden, as_text, one_line, slant
from gamedsl.tables.model import TextRun, series
from gamedsl.tables.text import Line, plural, text_width
from gamedsl.view.canvas import SIZE, Canvas
from gamedsl.view.text_metrics import Box, filled, width_of

if TYPE_CHECKING:
    from gamedsl.runtime.decision import Decision
    from gamedsl.runtime.episode import Episode

MANY_CARDS = 40
"""Cards of a hand that are drawn; the number of the others is said."""
MANY_BACKS = 12
"""Cards face down that are drawn one by one."""
MANY_LINES = 8
"""Lines of a fact that are drawn."""

_CELL = re.compile(r"\((\d+),(\d+)\)$")


@dataclass(frozen=True)
class BoardCell:
    """A cell of a board. `seat` is the number of the seat whose stone lies there; `option` is the
    legal choice that names the cell, if there is one."""

    text: str = ""
    seat: int | None = None
    option: str = ""


@dataclass(frozen=True)
class Board:
    """A grid of values, row by row. `legend` explains marks that are shorter than names."""

    title: str
    rows: int
    columns: int
    cells: tuple[BoardCell, ...]
    hexagonal: bool = False
    legend: str = ""

    def row(self, number: int) -> tuple[BoardCell, ...]:
        return self.cells[number * self.columns : (number + 1) * self.columns]


@dataclass(frozen=True)
class Card:
    """A card: its face in lines, empty where it lies face down, and what stands below it."""

    face: tuple[str, ...] = ()
    caption: str = ""


@dataclass(frozen=True)
class Hand:
    """Cards beside each other; `more` others are not drawn."""

    title: str
    cards: tuple[Card, ...]
    more: int = 0


@dataclass(frozen=True)
class Fact:
    """Something that is known, in words."""

    title: str
    text: str


Thing = Board | Hand | Fact


@dataclass(frozen=True)
class Scene:
    """A scene is what a seat sees, in the order of its view."""

    seat: str
    things: tuple[Thing, ...]

    @property
    def is_drawn(self) -> bool:
        """Whether there is a board or a hand in it; else words say it as well."""
        return any(not isinstance(thing, Fact) for thing in self.things)

    def lines(self, width: int = 80) -> Iterator[Line]:
        """The scene in a terminal of `width` columns; `tables.text.rendered` makes it a text."""
        for number, thing in enumerate(self.things):
            if number and not isinstance(thing, Fact):
                yield []
            match thing:
                case Board():
                    yield from _board_lines(thing, width)
                case Hand():
                    yield from _hand_lines(thing, width)
                case Fact():
                    yield from _fact_lines(thing, width)

    def canvas(self, width: float = 520) -> Canvas:
        """The scene as a picture. Cells that a legal choice names are groups with that choice as
        their `data-option`."""
        canvas, y = Canvas(), 0.0
        for thing in self.things:
            match thing:
                case Board():
                    y = _draw_board(canvas, thing, y)
                case Hand():
                    y = _draw_hand(canvas, thing, y, width)
                case Fact():
                    y = _draw_fact(canvas, thing, y, width)
        right = max((box.right for _, box in canvas.labels), default=0)
        canvas.width, canvas.height = max(canvas.width, right + MARGIN), y + MARGIN
        return canvas


def scene_of(episode: Episode, seat: str) -> Scene:
    """Returns what a seat sees now, whether or not it is asked. Raises ValueError for no seat of
    the game."""
    env = episode.env
    asked = next((one for one in episode.decisions if one.seat == seat), None)
    view = episode.view(seat)
    entries = env.ir.entries_at(seat, asked.step) if asked else env.ir.views.get(seat)
    things: list[Thing] = []
    if entries is not None:
        variables = episode.state.variables
        scope = Scope(env.ir.seats, variables, env.ir.lets_by_name, {}, seat)
        for entry in entries:
            try:
                value = evaluate(entry.value, scope)
            except EvaluationError:
                continue  # it has a value only where the seat is asked
            things += _things(entry.name, value, entry.value.type, env.seats)
    else:
        for name, value in view.state.items():
            things += _things(name, value, env.viewer.types[name], env.seats)
        things += _bound_things(episode, view.bound)
    return Scene(seat, tuple(_with_options(things, asked)))


# from values to things


def _things(title: str, value: Any, type: Type, seats: Sequence[str]) -> Iterator[Thing]:
    """Yields what a value of declared state, or of an entry, is on the table."""
    inner = type.of if isinstance(type, Option) else type
    if value is HIDDEN:
        return
    if isinstance(value, Hidden):
        yield _backs(title, value.length or 0)
    elif value is not None and isinstance(inner, Grid):
        yield _board(title, value, inner, seats)
    elif value is not None and isinstance(inner, PerSeat | PerValue) and _is_laid(inner.of):
        for key, part in value.items():
            yield from _things(f"{title} of {name_of(key)}", part, inner.of, seats)
    elif value is not None and _is_hand(inner):
        yield _hand(title, value, inner)
    else:
        yield Fact(title, as_text(value, type))


def _is_laid(type: Type) -> bool:
    return isinstance(type, Grid) or _is_hand(type)


def _is_hand(type: Type) -> bool:
    """Whether a value of this type is shown as cards. A list of numbers need not be one: it may be
    a number for each of several things."""
    if isinstance(type, List):
        return isinstance(plain(type.of), Enum | Record) and _is_face(type.of)
    return isinstance(type, Set | Bag) and _is_face(type.of)


def _is_face(type: Type) -> bool:
    """Whether a card can have a value of this type on its face."""
    kind = plain(type)
    if isinstance(kind, Record):
        return all(isinstance(plain(part), Enum | Number) for part in kind.types)
    return isinstance(kind, Enum | Number)


def _board(title: str, cells: Sequence[Any], type: Grid, seats: Sequence[str]) -> Board:
    marks = _marks(seats) if plain(type.of) == SEAT else {}
    found = []
    for value in cells:
        if value is None:
            found.append(BoardCell())
        elif value in marks:
            found.append(BoardCell(marks[value], seats.index(value)))
        else:
            found.append(BoardCell(one_line(value, type.of)))
    there = {name for name in marks if name in cells}
    legend = ", ".join(f"{marks[n]} is {n}" for n in seats if n in there and marks[n] != n)
    return Board(title, type.rows, type.columns, tuple(found), type.neighbors == "hex", legend)


def _marks(seats: Sequence[str]) -> dict[str, str]:
    """Returns the shortest beginnings of at most two letters that tell seats apart, or numbers."""
    for size in (1, 2):
        short = {seat: seat[:size] for seat in seats}
        if len(set(short.values())) == len(seats):
            return short
    return {seat: str(number) for number, seat in enumerate(seats, start=1)}


def _hand(title: str, value: Any, type: Type) -> Hand:
    """Returns a hand in its own order where that matters, else sorted."""
    assert isinstance(type, List | Set | Bag)
    if isinstance(type, List):
        cards = [Card(_face(one, type.of), str(n)) for n, one in enumerate(value)]
    else:
        items = (
            [one for one, count in value.items() for _ in range(count)]
            if isinstance(type, Bag)
            else list(value)
        )
        cards = [Card(_face(one, type.of)) for one in sorted(items, key=_order(type.of))]
    return Hand(title, tuple(cards[:MANY_CARDS]), max(len(cards) - MANY_CARDS, 0))


def _order(type: Type) -> Any:
    kind = plain(type)
    if isinstance(kind, Enum):
        return lambda value: (kind.members.index(value) if value in kind.members else -1, "")
    if isinstance(kind, Number):
        return lambda value: (value, "")
    return lambda value: (0, name_of(value))


def _face(value: Any, type: Type) -> tuple[str, ...]:
    """Returns the lines of a card: a record's fields below each other, `?` for a hidden one."""
    kind = plain(type)
    if isinstance(value, Hidden) or value is None:
        return ()
    if isinstance(kind, Record) and not isinstance(value, str):
        parts = zip(value, kind.types, strict=True)
        return tuple("?" if isinstance(p, Hidden) else one_line(p, of) for p, of in parts)
    return (one_line(value, type),)


def _backs(title: str, count: int) -> Thing:
    if count > MANY_BACKS:
        return Fact(title, f"{count} hidden")
    return Hand(title, (Card(),) * count)


def _bound_things(episode: Episode, bound: Mapping[tuple[str, Any], Any]) -> Iterator[Thing]:
    """Yields what steps brought: draws as cards, choices as facts."""
    env = episode.env
    dealt = {step.variable for step in walk_steps(env.ir.turns) if isinstance(step, Draw)}
    for name, group in groupby(bound.items(), key=lambda entry: entry[0][0]):
        entries = [(key, value, env.viewer.slots[name, key].type) for (_, key), value in group]
        if name in dealt and all(_is_face(of) or _is_hand(of) for _, _, of in entries):
            yield from _dealt(name, entries)
        elif not env.ir.open:
            texts = (" ".join((*key, one_line(value, of))) for key, value, of in entries)
            yield Fact(name, ", ".join(texts))


def _dealt(name: str, entries: Sequence[tuple[Any, Any, Type]]) -> Iterator[Thing]:
    single = [entry for entry in entries if _is_face(entry[2])]
    if single:
        cards = [Card(_face(value, of), " ".join(key)) for key, value, of in single]
        yield Hand(name, tuple(cards[:MANY_CARDS]), max(len(cards) - MANY_CARDS, 0))
    for key, value, of in entries:
        if _is_hand(of):
            title = " of ".join((name, *([" ".join(key)] if key else [])))
            yield (
                _backs(title, value.length or 0)
                if isinstance(value, Hidden)
                else _hand(title, value, of)
            )


def _with_options(things: Sequence[Thing], asked: Decision | None) -> Iterator[Thing]:
    """Yields the things; the cells of a board that is the only one know the choices that name
    them."""
    boards = [thing for thing in things if isinstance(thing, Board)]
    named = {}
    for name in asked.legal if asked and len(boards) == 1 else ():
        if place := _CELL.search(name):
            named[int(place[1]), int(place[2])] = name
    for thing in things:
        if named and isinstance(thing, Board):
            cells = tuple(
                BoardCell(cell.text, cell.seat, named.get(divmod(at, thing.columns), ""))
                for at, cell in enumerate(thing.cells)
            )
            thing = Board(
                thing.title, thing.rows, thing.columns, cells, thing.hexagonal, thing.legend
            )
        yield thing


# in a terminal


def _board_lines(board: Board, width: int) -> Iterator[Line]:
    yield [TextRun(board.title, "strong")]
    wide = max([1, *(text_width(cell.text) for cell in board.cells), len(str(board.columns - 1))])
    side = len(str(board.rows - 1))
    framed = side + 2 + board.columns * (wide + 3)
    if board.hexagonal or framed > width:
        yield from _open_board(board, wide, side, width)
    else:
        yield from _framed_board(board, wide, side)
    if board.legend:
        yield [TextRun(board.legend, "soft")]


def _framed_board(board: Board, wide: int, side: int) -> Iterator[Line]:
    def rule(left: str, middle: str, right: str) -> Line:
        inner = middle.join("─" * (wide + 2) for _ in range(board.columns))
        return [TextRun(" " * (side + 1) + left + inner + right, "soft")]

    numbers = " ".join(f"{column:^{wide + 2}}" for column in range(board.columns))
    yield [TextRun(" " * (side + 2) + numbers, "soft")]
    yield rule("┌", "┬", "┐")
    for row in range(board.rows):
        line = [TextRun(f"{row:>{side}} ", "soft")]
        for cell in board.row(row):
            line += [TextRun("│ ", "soft"), _stone(cell, wide, " "), TextRun(" ")]
        yield [*line, TextRun("│", "soft")]
        yield rule("├", "┼", "┤") if row < board.rows - 1 else rule("└", "┴", "┘")


def _open_board(board: Board, wide: int, side: int, width: int) -> Iterator[Line]:
    """A board without lines; a row of a hex board stands half a cell to the right of the last.
    Where numbers of columns are too wide, their last digits stand there."""
    texts = max([1, *(text_width(cell.text) for cell in board.cells)])
    grid = Grid(board.rows, board.columns, Number(whole=True), "hex" if board.hexagonal else None)
    (wide, shift), narrow = slant(grid, wide), slant(grid, texts)
    if side + board.columns * (wide + 1) + (board.rows - 1) * shift > width:
        wide, shift = narrow
    numbers = " ".join(f"{str(column)[-wide:]:>{wide}}" for column in range(board.columns))
    yield [TextRun(f"{' ' * side} {numbers}", "soft")]
    for row in range(board.rows):
        line = [TextRun(" " * (row * shift) + f"{row:>{side}}", "soft")]
        for cell in board.row(row):
            line += [TextRun(" "), _stone(cell, wide, "·")]
        yield line


def _stone(cell: BoardCell, wide: int, empty: str) -> TextRun:
    text = cell.text or empty
    style = (
        "soft" if not cell.text else f"strong {series(cell.seat)}" if cell.seat is not None else ""
    )
    return TextRun(" " * (wide - text_width(text)) + text, style)


def _hand_lines(hand: Hand, width: int) -> Iterator[Line]:
    yield [TextRun(hand.title, "strong")]
    if not hand.cards:
        yield [TextRun("no cards", "soft")]
    texts = [" ".join(card.face) or "░" for card in hand.cards]
    wide = [
        max(3, text_width(t), text_width(c.caption) - 4)
        for t, c in zip(texts, hand.cards, strict=True)
    ]
    start = 0
    while start < len(texts):
        end, used = start, 0
        while end < len(texts) and (end == start or used + wide[end] + 5 <= width):
            used += wide[end] + 5
            end += 1
        part = range(start, end)
        yield [TextRun(" ".join(f"┌{'─' * (wide[i] + 2)}┐" for i in part), "soft")]
        line: list[TextRun] = []
        for i in part:
            room = wide[i] - text_width(texts[i])
            face = " " * (room // 2) + texts[i] + " " * (room - room // 2)
            style = "strong" if hand.cards[i].face else "soft"
            line += [
                TextRun("│ " if i == start else " │ ", "soft"),
                TextRun(face, style),
                TextRun(" │", "soft"),
            ]
        yield line
        yield [TextRun(" ".join(f"└{'─' * (wide[i] + 2)}┘" for i in part), "soft")]
        if any(hand.cards[i].caption for i in part):
            yield [
                TextRun(" ".join(f"{hand.cards[i].caption:^{wide[i] + 4}}" for i in part), "soft")
            ]
        start = end
    if hand.more:
        yield [TextRun(f"and {plural(hand.more, 'more card')}", "soft")]


def _fact_lines(fact: Fact, width: int) -> Iterator[Line]:
    """A fact, whole: lines that are too long go on below."""
    parts = fact.text.split("\n")
    if len(parts) == 1 and text_width(f"{fact.title}: {fact.text}") <= width:
        yield [TextRun(f"{fact.title}: ", "soft"), TextRun(fact.text)]
        return
    yield [TextRun(f"{fact.title}:", "soft")]
    for part in parts:
        for line in wrap(part, width - 2, subsequent_indent="  ", break_on_hyphens=False):
            yield [TextRun(f"  {line}")]


# as a picture

MARGIN, GAP, CARD, CELL = 12.0, 12.0, 44.0, 30.0


def _title(canvas: Canvas, text: str, y: float) -> float:
    canvas.write(MARGIN, y + MARGIN + 8, text, "soft")
    return y + MARGIN + 16


def _draw_board(canvas: Canvas, board: Board, y: float) -> float:
    y = _title(canvas, board.title, y)
    widest = max(
        (width_of(cell.text, SIZE + 2) for cell in board.cells if cell.seat is None), default=0
    )
    size = max(CELL, min(widest + 10, 110))
    across = size * (1.0 if not board.hexagonal else 1.06)
    down = size if not board.hexagonal else across / 2 * 3**0.5
    left = MARGIN + 22
    for column in range(board.columns):
        canvas.write(left + (column + 0.5) * across, y + 12, str(column), "soft", "middle")
    y += 22 if board.hexagonal else 18
    for row in range(board.rows):
        shift = row * across / 2 if board.hexagonal else 0.0
        middle = y + (row + 0.5) * down
        canvas.write(left + shift - 8, middle + 4, str(row), "soft", "end")
        for column, cell in enumerate(board.row(row)):
            x = left + shift + (column + 0.5) * across
            if cell.option:
                canvas.parts.append(f'<g data-option="{escape(cell.option)}">')
            if board.hexagonal:
                _hexagon(canvas, x, middle, across / 3**0.5)
            else:
                canvas.box(
                    Box(x - size / 2, middle - size / 2, x + size / 2, middle + size / 2), "open"
                )
            _draw_stone(canvas, cell, x, middle, size)
            if cell.option:
                canvas.parts.append("</g>")
    right = left + (board.columns + (board.rows / 2 if board.hexagonal else 0)) * across
    canvas.width = max(canvas.width, right + MARGIN)
    y += board.rows * down + (down / 6 if board.hexagonal else 0)
    if board.legend:
        canvas.write(MARGIN, y + 16, board.legend, "soft")
        y += 18
    return y


def _draw_stone(canvas: Canvas, cell: BoardCell, x: float, y: float, size: float) -> None:
    if cell.seat is not None:
        canvas.circle(x, y, CELL * 0.38, series(cell.seat, "m"))
        canvas.write(x, y + 4.5, cell.text, "over strong", "middle", SIZE + 2)
    elif cell.text:
        lines = filled(cell.text, size - 4, SIZE)
        canvas.write(x, y + 4, lines[0] if len(lines) == 1 else lines[0] + "…", "", "middle")
    elif cell.option:
        canvas.circle(x, y, 2.0, "head")


def _hexagon(canvas: Canvas, x: float, y: float, radius: float) -> None:
    corners = [pi / 6 + k * pi / 3 for k in range(6)]
    points = [(x + radius * cos(a), y + radius * sin(a)) for a in corners]
    canvas.path(points, "open", closed=True)


def _draw_hand(canvas: Canvas, hand: Hand, y: float, width: float) -> float:
    y = _title(canvas, hand.title, y)
    if not hand.cards:
        canvas.write(MARGIN, y + 12, "no cards", "soft")
        return y + 18
    lines = max(len(card.face) for card in hand.cards)
    tall = max(58.0, 18 * lines + 22)
    captioned = any(card.caption for card in hand.cards)
    x, used = MARGIN, y
    for card in hand.cards:
        wide = max(
            [
                CARD,
                *(width_of(text, SIZE + 3) + 14 for text in card.face),
                width_of(card.caption, SIZE),
            ]
        )
        if x + wide > width - MARGIN and x > MARGIN:
            x, used = MARGIN, used + tall + GAP + 14 * captioned
        _draw_card(canvas, card, Box(x, used, x + wide, used + tall))
        canvas.width = max(canvas.width, x + wide + MARGIN)
        x += wide + GAP / 1.5
    y = used + tall + 14 * captioned
    if hand.more:
        canvas.write(MARGIN, y + 14, f"and {plural(hand.more, 'more card')}", "soft")
        y += 16
    return y


def _draw_card(canvas: Canvas, card: Card, box: Box) -> None:
    middle = (box.left + box.right) / 2
    if card.face:
        canvas.box(box, "open", 6)
        first = (box.top + box.bottom) / 2 + 5 - 9 * (len(card.face) - 1)
        for number, text in enumerate(card.face):
            canvas.write(
                middle,
                first + 18 * number,
                text,
                "strong" if not number else "",
                "middle",
                SIZE + 3,
            )
    else:
        canvas.box(box, "tint", 6)
        canvas.box(box, "frame clear dash", 6)
        canvas.write(middle, (box.top + box.bottom) / 2 + 5, "?", "soft", "middle", SIZE + 3)
    if card.caption:
        canvas.write(middle, box.bottom + 13, card.caption, "soft", "middle")


def _draw_fact(canvas: Canvas, fact: Fact, y: float, width: float) -> float:
    room = width - 2 * MARGIN
    lines = [
        part
        for text in f"{fact.title}: {fact.text}".split("\n")
        for part in filled(text, room, SIZE)
    ]
    shown = lines[:MANY_LINES]
    if len(lines) > len(shown):
        shown[-1] = f"and {plural(len(lines) - len(shown) + 1, 'more line')}"
    for line in shown:
        y += 16
        canvas.write(MARGIN, y + 8, line)
    return y + 6
