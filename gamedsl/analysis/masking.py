"""Proves that a masked game stays masked: no prompt says a name that the labels hide."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gamedsl.analysis.history_prompts import sample_book, text_of
from gamedsl.analysis.history_sample import HistorySample
from gamedsl.analysis.nodes import history_text
from gamedsl.analysis.prompts import sample_parts
from gamedsl.analysis.proof import Proof
from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.fixes import Edit, Fix, Help
from gamedsl.diagnostics.spans import Span
from gamedsl.engine.random_plays import pasts
from gamedsl.ir.evaluate import EvaluationError
from gamedsl.ir.game import GameIR, Template
from gamedsl.prompting.labels import as_words, hidden_words, option_names, secret_words
from gamedsl.prompting.prompts import Part, Prompter, RenderError
from gamedsl.prompting.template_evaluation import RenderingBudget
from gamedsl.prompting.template_syntax import Broken, locate, parse

CLAIM = "no prompt says a name that labels mask"


def check_masking(sample: HistorySample, problems: Problems) -> Iterator[Proof]:
    """Runs `check_names_masked`, then checks every history of the sample."""
    before, words = problems.count_errors(), hidden_words(sample.ir)
    check_names_masked(sample.ir, problems)
    if problems.count_errors() == before and words is not None:
        for node, ask in sample.asked:
            text = text_of(sample.prompts.of(node, ask))
            found = words.search(text)
            if found is not None:
                name = _name(sample.ir, found[0])
                _report(
                    sample.ir, sample.ir.span, name, found[0], problems,
                    notes=_declared(sample.ir, name),
                    witness=(
                        history_text(node), f"{ask.seat} is told: {_line(text, found.start())}"
                    ),
                )  # fmt: skip
                break
    new = [d for d in problems.found if d.code == "GD0520"]
    if new:
        yield Proof("masked", CLAIM, "refuted", "", ("GD0520",), new[0].witness)
    else:
        yield Proof("masked", CLAIM, sample.grade, sample.extent)


def check_names_masked(ir: GameIR, problems: Problems) -> None:
    """In a masked game no rendered prompt holds the name of an action, a role, a seat or the game
    as a word, in any case, `_` read as a space. A template's own words are checked where they
    stand, rendered or not; what is rendered is checked after sampled histories. Numbers are no
    names, and a role called `player` is shown as one, as every role of a masked game is."""
    if ir.labels.kind not in ("masked", "partly"):
        return
    words = hidden_words(ir)
    if words is None:
        return
    told = _prompt_parts(ir)
    for template in ir.templates:
        _written(ir, template, words, told, problems)
    for seat, part in told:
        found = words.search(part.text)
        if found is None:
            continue
        name = _name(ir, found[0])
        if part.template is None:
            _default(ir, seat, part, found[0], name, problems)
        elif not _in_text(part.template, words):
            _report(
                ir, part.template.span, name, found[0], problems, notes=_declared(ir, name),
                witness=(f"{seat} is told: {_line(part.text, found.start())}",),
            )  # fmt: skip


def _prompt_parts(ir: GameIR) -> list[tuple[str, Part]]:
    """Returns every distinct part of the sampled prompts, with a seat that reads it."""
    book, prompter = sample_book(ir), Prompter(ir, budget=RenderingBudget())
    found: dict[Part, str] = {}
    if book is None:
        return []
    for step in ir.steps:
        told = pasts(ir, step)
        for past in told if ir.templates or ir.view or not ir.plain else told[: len(step.actors)]:
            try:
                for part in sample_parts(prompter, step, book, past):
                    found.setdefault(part, past.seat)
            except (RenderError, EvaluationError):
                continue
    return [(seat, part) for part, seat in found.items()]


def _written(
    ir: GameIR,
    template: Template,
    words: re.Pattern[str],
    told: list[tuple[str, Part]],
    problems: Problems,
) -> None:
    """Reports names in a template's own words, whether or not a sampled history renders them."""
    parsed = parse(template.text)
    if isinstance(parsed, Broken):
        return
    for start, text in parsed.texts:
        for found in words.finditer(text):
            name = _name(ir, found[0])
            hit = next(
                ((s, p) for s, p in told if p.template is template and found[0] in p.text), None
            )
            if hit is None:
                witness = f"in a branch that no sampled history takes: {_line(text, found.start())}"
            else:
                seat, part = hit
                witness = f"{seat} is told: {_line(part.text, part.text.index(found[0]))}"
            _report(
                ir, locate(template, start + found.start(), start + found.end()), name, found[0],
                problems, notes=_declared(ir, name),
                witness=(witness,),
            )  # fmt: skip


def _default(ir: GameIR, seat: str, part: Part, word: str, name: str, problems: Problems) -> None:
    declared = _declared(ir, name)
    place = declared[0].span if declared else ir.span
    if part.slot == "view":
        titles = (e.span for e in ir.views.get(seat, ()) if word.casefold() in e.title.casefold())
        place = next(titles, place)
    problems.add(
        "GD0520", f"the default prompt says `{word}`, a name that masked labels hide", place,
        why=f"the text of `{part.slot}` has this word",
        help="rename it" if part.slot == "form" else f"rename it, or write `{part.slot}` yourself",
        witness=(f"{seat} is told: {_line(part.text, part.text.index(word))}",),
    )  # fmt: skip


def _report(
    ir: GameIR,
    span: Span,
    name: str,
    word: str,
    problems: Problems,
    *,
    notes: tuple[Note, ...],
    witness: tuple[str, ...],
) -> None:
    problems.add(
        "GD0520", f"the prompt says `{word}`, a name that masked labels hide", span,
        why="a model that reads it knows the game", notes=notes,
        help=_instead(ir, name, span), witness=witness,
    )  # fmt: skip


def _instead(ir: GameIR, name: str, span: Span) -> Help:
    """Returns the fix that writes what a template may use in place of a name."""
    shown = f"labels.{name}" if name in option_names(ir) else ""
    if shown := name if name in ir.seats else shown:
        text = f"write `{{{{ {shown} }}}}`, or use other words"
        word = span.text.casefold().replace(" ", "_") == name.casefold()
        return Fix(text, (Edit(span, f"{{{{ {shown} }}}}"),) if word else ())
    return "use other words"


def _in_text(template: Template, words: re.Pattern[str]) -> bool:
    parsed = parse(template.text)
    return isinstance(parsed, Broken) or any(words.search(text) for _, text in parsed.texts)


def _name(ir: GameIR, word: str) -> str:
    """Returns the canonical name of a matched word."""
    return next(n for n in secret_words(ir) if re.fullmatch(as_words(n), word, re.IGNORECASE))


def _declared(ir: GameIR, name: str) -> tuple[Note, ...]:
    """Returns the origin of a name: a role, a choice, or the game."""
    for role in ir.roles:
        if name in (role.name, *role.seats):
            return (Note(role.span, f"the role `{role.name}`"),)
    for step in ir.steps:
        for choice in (choice for options in step.options for choice in options):
            if choice.name == name:
                return (Note(choice.span or step.span, f"an option of `{step.variable}`"),)
    return (Note(ir.span, "the game"),)


def _line(text: str, at: int) -> str:
    """Returns the line of a text around an offset, cut to a readable length."""
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    line = text[start : end if end >= 0 else len(text)]
    return line if len(line) <= 120 else f"…{line[max(at - start - 50, 0) : at - start + 60]}…"
