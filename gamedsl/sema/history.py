"""The `history` of a game: how much of it the prompts of each role tell."""

from __future__ import annotations

from collections.abc import Iterable

from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.spans import Span
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.frontend.source.nodes import Mapping, Node, Scalar
from gamedsl.ir.game import Window
from gamedsl.ir.program import Choose
from gamedsl.sema.roles import unknown_role
from gamedsl.sema.types import Types

MOST_TURNS = 256
"""Turns that a window may hold."""

KEYS = ("last", "since")


def read_history(
    node: Node | None, steps: Iterable[Choose], viewers: Iterable[str], types: Types,
    problems: Problems,
) -> tuple[tuple[str, Window], ...]:  # fmt: skip
    """The window of each seat that has one, in seat order. `viewers` are told a view instead. A
    window for all is that of those whom it suits: who are told a history, and say what stands for
    it."""
    if not isinstance(node, Mapping):
        return ()
    names, shown = types.names, frozenset(viewers)
    said = {
        seat: [step for step in steps if step.said is not None and seat in step.actors]
        for seat in names.everyone
    }
    found: dict[str, Window] = {}
    if any(entry.key.text in KEYS for entry in node):
        window = _window(node, types, problems)
        if window is None:
            return ()
        told = [seat for seat in names.everyone if seat not in shown]
        meant = [seat for seat in told if _said(window, said[seat])]
        if not meant:
            seat = told[0] if told else names.everyone[0]
            _fits(seat, node.entries[0].key.span, window, said[seat], shown, problems)
        return tuple((seat, window) for seat in meant)
    for entry in node:
        seats = names.seats_of(entry.key.text)
        if not seats:
            unknown_role(entry.key.text, entry.key.span, names, problems)
        twice = next((seat for seat in seats if seat in found), None)
        if twice is not None:
            problems.add(
                "GD0319", f"the history of `{twice}` is given twice", entry.key.span,
                why="the second time",
                help=f"give it under `{entry.key.text}`, or for each seat of it, not both",
            )  # fmt: skip
        if isinstance(entry.value, Mapping):
            window = _window(entry.value, types, problems)
            if window is not None and all(
                _fits(seat, entry.key.span, window, said[seat], shown, problems) for seat in seats
            ):
                found |= dict.fromkeys(seats, window)
    return tuple((seat, found[seat]) for seat in names.everyone if seat in found)


def _window(node: Mapping, types: Types, problems: Problems) -> Window | None:
    last, since = node.entry("last"), node.entry("since")
    if last is not None and since is not None:
        first, second = sorted((last, since), key=lambda entry: entry.key.span.start)
        problems.add(
            "GD0125", "a history begins in one place: `last` or `since`, not both", second.key.span,
            why=f"besides `{first.key.text}`",
            notes=(Note(first.key.span, f"`{first.key.text}` is given here"),),
            help="delete one of the two",
        )  # fmt: skip
        return None
    if since is not None:
        assert isinstance(since.value, Scalar)
        return Window(None, since.value.text, since.value.span)
    assert last is not None
    count = types.number(last.value, 1, MOST_TURNS)
    return None if count is None else Window(count, None, last.value.span)


def _said(window: Window, said: list[Choose]) -> bool:
    return window.since is None or any(step.variable == window.since for step in said)


def _fits(
    seat: str, place: Span, window: Window, said: list[Choose], viewers: frozenset[str],
    problems: Problems,
) -> bool:  # fmt: skip
    """Whether a seat can have a window; reported where it cannot. `said` are the steps in which it
    says something."""
    if seat in viewers:
        problems.add(
            "GD0533", f"`{seat}` is told a view, and no history", place,
            why="there is none to leave something out of",
            help=f"leave `{seat}` out of `view`, or of `history`",
        )  # fmt: skip
        return False
    if _said(window, said):
        return True
    spoken = list(dict.fromkeys(step.variable for step in said))
    guess = did_you_mean(window.since or "", spoken)
    problems.add(
        "GD0534", f"`{seat}` never says `{window.since}`", window.span,
        why="what it said last by this name stands for what came before",
        notes=tuple(Note(step.span, "this it says") for step in said if step.variable == guess)[:1],
        help=f"did you mean `{guess}`?" if guess
        else "it says " + ", ".join(f"`{one}`" for one in spoken) if spoken
        else f"add a step: `{{role: {seat}, say: {window.since}, max_tokens: 100}}`",
    )  # fmt: skip
    return False
