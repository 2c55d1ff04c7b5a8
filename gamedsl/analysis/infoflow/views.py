"""Checks that a declared view shows a seat nothing that it may not know."""

from __future__ import annotations

from gamedsl.analysis.infoflow.expressions import Visibilities
from gamedsl.analysis.infoflow.leaks import Leaks
from gamedsl.analysis.infoflow.scope import outermost
from gamedsl.analysis.infoflow.visibility import seat_numbers
from gamedsl.engine.random_plays import pasts
from gamedsl.ir.evaluate import EvaluationError
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Entry
from gamedsl.prompting.default_texts import default_title
from gamedsl.prompting.labels import draw_labels
from gamedsl.prompting.prompts import Prompter
from gamedsl.prompting.value_text import titled


def check_views(ir: GameIR, visibilities: Visibilities, leaks: Leaks) -> None:
    """Reports expressions of a view that its seat cannot read (GD0508)."""
    for seat, entries in ir.view:
        number = ir.everyone.index(seat)
        scope = outermost().acting_as(number)
        for place, entry in enumerate(entries):
            value = visibilities.visibility(entry.value, scope)
            mine = visibilities.table.own(number)
            if missing := mine & ~value.all:
                reader = next(seat_numbers(missing))
                cause = visibilities.cause(entry.value, reader, scope)
                own = value.by == "seat" and not mine & ~value.part(number).all
                leaks.report_view(
                    number, cause, entry, _view_lines(ir, seat, place, entry), own=own
                )


def _view_lines(ir: GameIR, seat: str, place: int, entry: Entry) -> tuple[str, ...]:
    """Returns the lines of a seat's view in the first of the sampled histories in which it is
    asked."""
    try:
        book, viewing = draw_labels(ir, run_seed=0, seed=0), Prompter(ir).viewing
    except (ValueError, KeyError):  # labels at fault, as another pass says
        return ()
    for step in ir.steps:
        for past in pasts(ir, step):
            if past.seat != seat:
                continue
            try:
                texts = viewing.texts(seat, step, past.variables, book)
            except EvaluationError:
                continue
            assert texts is not None
            text = titled(default_title(ir, entry), texts[place])
            return (
                f"when `{seat}` is asked for `{step.variable}`, it would be told",
                *text.split("\n"),
            )
    return ()
