"""Proves by rendering that prompts come out: each seat's, at each step, after sampled histories."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gamedsl.analysis.history_prompts import sample_book
from gamedsl.analysis.history_sample import HistorySample
from gamedsl.analysis.proof import Proof
from gamedsl.diagnostics import Problems
from gamedsl.diagnostics.fixes import Fix
from gamedsl.engine.random_plays import Past, pasts
from gamedsl.frontend.source.edits import append_words
from gamedsl.ir.evaluate import EvaluationError
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Choose
from gamedsl.prompting.labels import LabelBook
from gamedsl.prompting.prompts import Part, Prompter, RenderError
from gamedsl.prompting.template_evaluation import RenderingBudget
from gamedsl.prompting.templates import template_for
from gamedsl.sema.values import why_undefined

CLAIM = "every prompt can be rendered, and shows every answer"
OPTIONS = "{{ options | join(', ') }}"
"""What a template says to tell all options."""

CODES = ("GD0509", "GD0518", "GD0519", "GD0401")


def prompts_render(ir: GameIR, problems: Problems, budget: RenderingBudget | None = None) -> None:
    """No template fails on a value, no expression of a view is without one, and every label that is
    an answer stands in the prompt."""
    book = sample_book(ir)
    if not (ir.templates or ir.view) or problems.errors or book is None:
        return
    prompter = Prompter(ir, budget=RenderingBudget() if budget is None else budget)
    for step in ir.steps:
        for past in pasts(ir, step):
            try:
                parts = sample_parts(prompter, step, book, past)
            except RenderError as error:
                report_fault(past.seat, step, error, problems)
            except EvaluationError as error:
                _undefined(past.seat, step, error, problems)
            else:
                _check_options_listed(ir, past, step, book, parts, problems)


def check_prompts_render(sample: HistorySample, problems: Problems) -> Iterator[Proof]:
    """Runs `prompts_render`, then renders the prompts of every history of the sample."""
    if problems.errors:
        yield Proof("prompts", CLAIM, "undecided", "there are errors that come before it")
        return
    prompts_render(sample.ir, problems, sample.rendering)
    if not problems.errors:
        for node, ask in sample.asked:
            sample.prompts.of(node, ask)
        steps = {step.id: step for step in sample.ir.steps}
        for _, ask, error in sample.prompts.failures[:1]:
            if isinstance(error, RenderError):
                report_fault(ask.seat, steps[ask.step], error, problems)
            else:
                _undefined(ask.seat, steps[ask.step], error, problems)
    new = [d for d in problems.found if d.code in CODES and d.severity == "error"]
    if new:
        yield Proof("prompts", CLAIM, "refuted", "", (new[0].code,), new[0].witness)
    else:
        yield Proof("prompts", CLAIM, sample.grade, sample.extent)


def sample_parts(prompter: Prompter, step: Choose, book: LabelBook, past: Past) -> tuple[Part, ...]:
    """The prompt of a step after one of the sampled histories. RenderError passes through, and
    EvaluationError of a view."""
    return prompter.parts(past.seat, step, past.legal, book, past.seen, past.variables, past.before)


def report_fault(seat: str, step: Choose, error: RenderError, problems: Problems) -> None:
    """Reports a template that fails on a value, or takes too much work. One that was refused has
    been reported where it was read."""
    if error.fault.refused:
        return
    code, message = "GD0518", "the template cannot be rendered"
    if error.fault.bound:
        code, message = "GD0509", "the template takes too much work"
    problems.add(
        code, message, error.span, why=error.reason, help=error.fault.help,
        witness=(f"when `{seat}` is asked for `{step.variable}`",),
    )  # fmt: skip


def _undefined(seat: str, step: Choose, error: EvaluationError, problems: Problems) -> None:
    problems.add(
        "GD0401", error.message, error.span, why=why_undefined(error),
        witness=(f"in the view of `{seat}`, when it is asked for `{step.variable}`",),
    )  # fmt: skip


def _contains_word(text: str, label: str) -> bool:
    """Whether a label stands in a text, and not as a part of a longer word."""
    return re.search(rf"(?<!\w){re.escape(label)}(?!\w)", text) is not None


def _check_options_listed(
    ir: GameIR,
    past: Past,
    step: Choose,
    book: LabelBook,
    parts: tuple[Part, ...],
    problems: Problems,
) -> None:
    template = template_for(ir, "ask", step.id, step.variable)
    if template is None or step.said is not None:
        return
    told = (p for p in parts if p.template is not None or p.slot not in ("rules", "form", "who"))
    text = "\n".join(part.text for part in told)
    hidden = [name for name in past.legal if not _contains_word(text, book.label(name))]
    said = any(one.code == "GD0519" and one.span == template.span for one in problems.found)
    if hidden and not said:
        problems.add(
            "GD0519", f"the prompt does not say how to answer `{hidden[0]}`", template.span,
            why=f"the label of {', '.join(f'`{name}`' for name in hidden[:4])} is not shown",
            help=Fix(f"add `{OPTIONS}`", append_words(template.span, OPTIONS)), severity="warning",
            witness=(f"{past.seat} is asked: {parts[-1].text}",),
        )  # fmt: skip
