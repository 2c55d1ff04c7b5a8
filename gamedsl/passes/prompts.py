"""Proves by rendering that prompts come out: each seat's, at each step, after sampled histories."""

from __future__ import annotations

from gamedsl.backends.histories import Past, pasts
from gamedsl.backends.labels import LabelBook, draw_labels
from gamedsl.backends.prompts import Part, Prompter, RenderError
from gamedsl.backends.templating import template_for
from gamedsl.diagnostics import Problems
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Choose


def prompts_render(ir: GameIR, problems: Problems) -> None:
    """No template fails on a value, and every label that is an answer stands in the prompt."""
    book = sample_book(ir)
    if not ir.templates or problems.errors or book is None:
        return
    prompter = Prompter(ir)
    for step in ir.steps:
        for past in pasts(ir, step):
            try:
                parts = sample_parts(prompter, step, book, past)
            except RenderError as error:
                _failed(past.seat, step, error, problems)
            else:
                _options_shown(ir, past, step, book, parts, problems)


def sample_book(ir: GameIR) -> LabelBook | None:
    """Labels to render with; None where labels are at fault themselves, as another pass reports."""
    try:
        return draw_labels(ir, run_seed=0, seed=0)
    except (ValueError, KeyError):
        return None


def sample_parts(prompter: Prompter, step: Choose, book: LabelBook, past: Past) -> tuple[Part, ...]:
    """The prompt of a step after one of the sampled histories. RenderError passes through."""
    return prompter.parts(past.seat, step, past.legal, book, past.seen)


def _failed(seat: str, step: Choose, error: RenderError, problems: Problems) -> None:
    problems.add(
        "GD0518", "the template cannot be rendered", error.template.span, why=error.reason,
        witness=(f"when `{seat}` is asked for `{step.variable}`",),
    )  # fmt: skip


def _options_shown(
    ir: GameIR,
    past: Past,
    step: Choose,
    book: LabelBook,
    parts: tuple[Part, ...],
    problems: Problems,
) -> None:
    template = template_for(ir, "ask", step.id, step.variable)
    if template is None:
        return
    text = "\n".join(part.text for part in parts)
    hidden = [name for name in past.legal if book.label(name) not in text]
    if hidden:
        problems.add(
            "GD0519", f"the prompt does not say how to answer `{hidden[0]}`", template.span,
            why=f"the label of {', '.join(f'`{name}`' for name in hidden[:4])} is not shown",
            help="add `{{ options | join(', ') }}`", severity="warning",
            witness=(f"{past.seat} is asked: {parts[-1].text}",),
        )  # fmt: skip
