"""Declared views in prompts: their values in labels, not in canonical names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import Any, assert_never

from gamedsl.ir.builtins import BUILTINS
from gamedsl.ir.evaluate import Scope, evaluate
from gamedsl.ir.expr import (
    Apply,
    Build,
    Cell,
    Collect,
    Const,
    Consult,
    Expr,
    Field,
    Get,
    If,
    LastBy,
    LetCall,
    LetMap,
    Local,
    Logic,
    Me,
    Past,
    Read,
    Stream,
    Table,
)  # fmt: skip
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Choose, Entry
from gamedsl.ir.values import name_of
from gamedsl.prompting.labels import LabelBook
from gamedsl.prompting.value_text import Words, as_text

EntryValues = Callable[[Mapping[str, Any], str], tuple[Any, ...]]
"""Returns the values of some entries, from the variables (`gamedsl.engine.kernel.State.variables`)
and for a seat."""

ViewCode = Mapping[tuple[str, str], EntryValues]
"""Functions that work out entries, by seat and step."""


class DeclaredViews:
    """Works out the views of one game. `shown_role` is how prompts call each seat.

    The functions that `code` returns, by seat and step, are faster than the reference; they are
    asked for when there is a view to show.
    """

    def __init__(
        self, ir: GameIR, shown_role: Mapping[str, str], code: Callable[[], ViewCode] = dict
    ) -> None:
        self._ir = ir
        self._make_code = code
        self._shown_role = shown_role
        masked = ir.labels.kind == "masked"
        self._on_board = (
            {role: role.removeprefix("player ") for role in shown_role.values()} if masked else {}
        )
        self._instances: dict[Any, str] = {}
        """The names of actions with arguments, by their values."""
        self._options: dict[str, dict[Any, str]] = {}
        """The names of the values of other choices, by variable."""
        for step in ir.steps if ir.view or ir.asked_as else ():
            named = self._instances if step.moves else self._options.setdefault(step.variable, {})
            named.update((option.value, option.name) for row in step.options for option in row)

    def texts(
        self, seat: str, step: Choose, variables: Mapping[str, Any], book: LabelBook
    ) -> tuple[str, ...] | None:
        """Returns the text of each entry of a seat's view at a step (`GameIR.entries_at`); None
        where the seat is shown all events instead.

        Raises EvaluationError if an expression has no value.
        """
        entries = self._ir.entries_at(seat, step.id)
        if entries is None:
            return None
        values = self._values(seat, step, entries, variables)
        return tuple(
            self._text(entry.value, value, book)
            for entry, value in zip(entries, values, strict=True)
        )

    def _values(
        self, seat: str, step: Choose, entries: Sequence[Entry], variables: Mapping[str, Any]
    ) -> Sequence[Any]:
        """Returns the values of entries: by generated code, where there is some; else, and where
        that raises, by the reference."""
        shown = self._code.get((seat, step.id))
        if shown is not None:
            with suppress(Exception):
                return shown(variables, seat)
        scope = Scope(self._ir.seats, variables, self._ir.lets_by_name, {}, seat)
        return [evaluate(entry.value, scope) for entry in entries]

    @cached_property
    def _code(self) -> ViewCode:
        return self._make_code()

    def chosen(self, expr: Expr) -> Mapping[Any, str]:
        """Returns the names of the options whose values an expression shows as they are; none where
        it shows something else."""
        return self._options.get(_variable(expr) or "", {})

    @property
    def marks(self) -> Mapping[str, str]:
        """The shorter names of roles on boards."""
        return self._on_board

    @property
    def instances(self) -> Mapping[Any, str]:
        """The names of actions with arguments, by their values."""
        return self._instances

    def _text(self, expr: Expr, value: Any, book: LabelBook) -> str:
        chosen = self.chosen(expr)
        words = Words(partial(self._name, chosen, book), self._on_board)
        if isinstance(value, tuple) and book.has(name_of(value)):
            return words.name(value)
        return as_text(value, expr.type, words)

    def _name(self, chosen: Mapping[Any, str], book: LabelBook, value: Any) -> str:
        """Returns the name of a value without parts in prompts: as it was chosen, or by its own
        name."""
        if value is None:
            return "nothing"
        if isinstance(value, tuple):
            chosen = chosen or self._instances
        try:
            known = None if isinstance(value, bool) else chosen.get(value)
        except TypeError:  # a map among its parts: nothing that can be chosen
            known = None
        return book.relabelled(known or name_of(value), self._shown_role)


def _variable(expr: Expr) -> str | None:
    """Returns the variable whose values an expression shows as they are, or None."""
    match expr:
        case Read(name=name) | LastBy(name=name) | Past(name=name):
            return name
        case Get(of=of):
            return _variable(of)
        case Apply(function=function, arguments=(of, *_)):
            flow = BUILTINS[function].flow
            picks = flow.looks_at == "places" and flow.elements == "first"
            return _variable(of) if picks else None
        case Apply() | Const() | Local() | Me() | Stream() | Logic() | If() | Field() | Cell():
            return None
        case LetCall() | LetMap() | Table() | Build() | Collect() | Consult():
            return None
    assert_never(expr)
