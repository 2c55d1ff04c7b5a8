"""The text that tells a person at a seat what a model there would be told: the same rules, events,
views and questions, with actions by their names, where a model may read masked labels.

All of it comes from the prompts and the view of that seat, so that nobody is told what it may not
know.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from gamedsl.ir.game import Labels
from gamedsl.prompting.labels import draw_labels
from gamedsl.prompting.prompts import Prompter
from gamedsl.prompting.reply_instructions import form_of

if TYPE_CHECKING:
    from gamedsl.ir.program import Entry
    from gamedsl.prompting.events import Event
    from gamedsl.runtime import Decision, Env, Episode


class SeatText:
    """The texts of one game for people. All of them raise EvaluationError and RenderError where
    the prompts of the game do."""

    def __init__(self, env: Env) -> None:
        ir = env.ir
        if ir.labels.kind in ("masked", "partly"):
            ir = replace(ir, labels=Labels("plain"))
        self._prompter = Prompter(ir)
        self._book = draw_labels(ir, run_seed=env.run_seed, seed=0)
        self._steps = {step.id: step for step in ir.steps}
        self._seats = ir.seats

    def option(self, name: str) -> str:
        """Returns the text of an option."""
        return self._book.label(name)

    def rules(self, seat: str) -> str:
        """Returns the rules as the prompts of a seat state them."""
        return self._prompter.rules(seat, self._book)

    def news(
        self, episode: Episode, seat: str, since: int, drawn: Collection[str] = ()
    ) -> tuple[str, ...]:
        """Returns a sentence for each event that a seat has come to know after its first `since`.
        Its own choices, which it remembers, are left out, and so is the last draw of each step of
        `drawn`, whose value is shown otherwise."""
        seen = episode.seen(seat)[since:]
        last = {(event.step, event.seat): number for number, event in enumerate(seen)}
        events = tuple(
            event
            for number, event in enumerate(seen)
            if (event.seat != seat or event.step not in self._steps)
            and not (event.step in drawn and last[event.step, event.seat] == number)
        )
        return self._prompter.event_texts(seat, events, self._book)

    def story(self, episode: Episode, seat: str) -> tuple[tuple[Event, str], ...]:
        """Returns all events that a seat has come to know, its own choices too, each with its
        sentence; those that follow from another one are left out."""
        return self._prompter.told_events(seat, episode.seen(seat), self._book)

    def entries(self, decision: Decision, episode: Episode) -> tuple[tuple[Entry, str], ...] | None:
        """Returns the entries of the view that the game declares for a decision, each with its
        text; None where it declares none."""
        entries = decision.env.ir.entries_at(decision.seat, decision.step)
        if entries is None:
            return None
        step, variables = self._steps[decision.step], episode.state.variables
        texts = self._prompter.viewing.texts(decision.seat, step, variables, self._book)
        return tuple(zip(entries, texts or (), strict=True))

    def situation(self, decision: Decision, episode: Episode) -> str:
        """Returns what the seat sees of the state: its declared view, where the game has one, else
        the state and the last value of each step. Empty for a game without either."""
        if decision.env.ir.entries_at(decision.seat, decision.step) is not None:
            return self._slot(decision, "view")
        return episode.view(decision.seat).situation

    def question(self, decision: Decision) -> str:
        """Returns the question of a decision; of a closed one without its options, where the file
        does not word it."""
        step, text = self._steps[decision.step], self._slot(decision, "ask")
        if decision.said is None:
            return text.partition("\nOptions")[0].removeprefix("Options:")
        return "\n".join(part for part in (text, form_of(step, decision.seat, self._seats)) if part)

    def _slot(self, decision: Decision, slot: str) -> str:
        parts = decision.parts(self._prompter, self._book)
        return "\n".join(part.text for part in parts if part.slot == slot)
