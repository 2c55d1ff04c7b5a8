"""Values that were drawn, shown or worked out, as prompts write them.

An event knows such a value by its canonical name, which is for programs: `{ann:1 bob:2}`. Prompts
write it for reading, as views do, with labels: `ann 1, bob 2`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from gamedsl.ir.builtins import values
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Call, Draw, Show
from gamedsl.ir.types import Grid, List, Record, Set, Text, Type, has_text, plain, walk_types
from gamedsl.ir.value_names import is_text_list, texts_of, value_of
from gamedsl.ir.values import name_of
from gamedsl.prompting.draw_heads import DrawHeads, Key
from gamedsl.prompting.events import Event
from gamedsl.prompting.labels import LabelBook
from gamedsl.prompting.value_text import NOTHING, Words, as_text, one_line

LONGEST = 20_000
"""Characters of a name up to which it is read; a longer one is written as it is."""


class ShownValues:
    """Writes the values of one game. `roles` is how prompts call each seat, `on_board` how boards
    do."""

    def __init__(self, ir: GameIR, roles: Mapping[str, str], on_board: Mapping[str, str]) -> None:
        self._seats, self._roles, self._on_board = ir.everyone, roles, on_board
        self._heads: dict[str, DrawHeads] = {}

    def text(
        self, step: Draw | Show | Call, event: Event, book: LabelBook, *, in_a_line: bool
    ) -> tuple[str, str]:
        """Returns the key for which an outcome was drawn, empty without one, and what the event
        tells: the label of an option, else its value in words; a record of which some fields are
        seen with these. Where it stands in a line, only boards and texts have several."""
        key: Key = ()
        name, type = event.name, step.type if isinstance(step, Draw) else step.entry_type
        if isinstance(step, Draw) and len(step.per) > step.by_seat:
            heads = self._heads.get(step.id)
            if heads is None:
                heads = self._heads[step.id] = DrawHeads(step)
            key, name = heads.key_of(event)
        of = ", ".join(book.relabelled(part, self._roles) for part in key[bool(step.by_seat) :])
        if step.readers.fields and name != "none":
            return of, book.relabelled(name, self._roles)
        return of, self._named(name, type, book, in_a_line)

    def items(
        self, step: Draw | Show | Call, event: Event, book: LabelBook
    ) -> tuple[str, ...] | None:  # fmt: skip
        """Returns the items of a list or set that an event tells, in words; None of any other
        value, and of one that was drawn for a key."""
        kind = plain(step.type if isinstance(step, Draw) else step.entry_type)
        keyed = isinstance(step, Draw) and len(step.per) > step.by_seat
        if is_text_list(kind) and not keyed:
            return tuple(text or NOTHING for text in texts_of(event.name) or ())
        if not isinstance(kind, List | Set) or keyed or has_text(kind):
            return None
        if event.name == "none" or len(event.name) > LONGEST:
            return () if event.name == "none" else None
        try:
            value = value_of(event.name, kind, self._seats)
        except ValueError:
            return None
        words = Words(partial(self._name, book), self._on_board)
        return tuple(one_line(item, kind.of, words) for item in values(value))

    def _named(self, name: str, type: Type, book: LabelBook, in_a_line: bool) -> str:
        if book.has(name):
            return book.label(name)
        words = Words(partial(self._name, book), self._on_board)
        if name == "none" and not isinstance(plain(type), Text):
            return as_text(None, type, words)
        try:
            value = value_of(name, type, self._seats) if len(name) <= LONGEST else name
        except ValueError:
            value = name
        if isinstance(value, str) and has_text(type):
            return value or NOTHING
        boards = any(isinstance(part, Grid) for part in walk_types(type))
        if in_a_line and not boards and not isinstance(plain(type), Record):
            return one_line(value, type, words)
        return as_text(value, type, words)

    def _name(self, book: LabelBook, value: object) -> str:
        return book.relabelled(name_of(value), self._roles)
