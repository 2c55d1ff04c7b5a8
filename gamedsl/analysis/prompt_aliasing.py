"""Prompt aliasing: information sets of a seat that have one prompt are one to its policy.

Without a declared view or a window on the history nothing is merged: a prompt tells all that its
reader has seen, and a template that omits relevant facts is an error. Views and windows are
declared to forget; whether the forgotten facts matter is computed in games that are enumerated
completely (`gamedsl.solve.bisimulation`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from itertools import zip_longest
from typing import NamedTuple

from gamedsl.analysis.history_prompts import Prompts
from gamedsl.analysis.history_sample import HistorySample
from gamedsl.analysis.nodes import Node, history_text, replay
from gamedsl.analysis.proof import Proof
from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.fixes import Edit, Fix
from gamedsl.diagnostics.spans import Span
from gamedsl.engine.kernel import Ask
from gamedsl.ir.game import GameIR, Template
from gamedsl.ir.program import Binding, walk_steps
from gamedsl.prompting.events import Event, known
from gamedsl.prompting.template_evaluation import RenderingBudget
from gamedsl.prompting.templates import event_template, template_for
from gamedsl.runtime.decision import key_of

APART = "where a seat has seen something else, it is told something else"
HARMLESS = "what prompts leave out makes no difference to what may follow"
ROLES = "no two seats that share an adapter are asked with one prompt"


class Pair(NamedTuple):
    """Two histories that a seat can tell apart, and its decisions there, whose prompts are
    equal."""

    seat: str
    nodes: tuple[Node, Node]
    asks: tuple[Ask, Ask]

    @property
    def steps(self) -> tuple[str, str]:
        """The ids of the steps at which it is asked."""
        one, other = self.asks
        return one.step, other.step


SHOWN = 12
"""Lines of a prompt that a witness shows."""


def _witness(sample: HistorySample, pair: Pair) -> tuple[str, ...]:
    """Returns both histories, what the seat has seen in one of them alone, and the lines of its
    prompt that should tell the two apart."""
    (one, other), seat = pair.nodes, pair.seat
    seen, again = one.state.seen(seat), other.state.seen(seat)
    alone = [event for event in seen if event not in again]
    missing = [event for event in again if event not in seen]
    differing = [
        f"`{seat}` has seen {'in one' if index == 0 else 'in the other'} alone: {known(events)}"
        for index, events in enumerate((tuple(alone), tuple(missing))) if events
    ]  # fmt: skip
    first, second = pair.steps
    if first != second:
        differing.append(f"`{seat}` is asked in one for `{first}`, in the other for `{second}`")
    return (
        f"one history:   {history_text(one)}", f"another:       {history_text(other)}", *differing,
        f"`{seat}` is told in both:", *_lines(sample.prompts, one, pair.asks[0], frozenset(alone)),
    )  # fmt: skip


def _lines(
    prompts: Prompts, node: Node, ask: Ask, events: frozenset[Event], *, who: bool = False
) -> tuple[str, ...]:
    """Returns the lines of a prompt that say what was seen, and what is asked: of the events that
    it tells `events` alone, where it tells some of them; with `who` also who is asked."""
    parts = prompts.parts(node, ask)
    assert prompts.book is not None
    told = [part for part in parts if part.slot in ("seen", "view")]
    told = [part for part in told if part.event in events] or told
    if who:
        told += [part for part in parts if part.slot == "who"]
    lines = [line for part in told for line in part.text.splitlines()]
    answers = set(map(prompts.book.label, ask.legal)) if not ask.open else set()
    asked = [
        line for part in parts if part.slot == "ask" for line in part.text.splitlines()
        if line not in answers and not (part.template is None and line.startswith("Options"))
    ]  # fmt: skip
    lines = [line for line in (*lines, *asked) if line]
    if len(lines) > SHOWN:
        left_out = len(lines) - SHOWN
        lines[SHOWN - 4 : -4] = [f"… and {left_out} more lines"]
    return tuple(f"  {line}" for line in lines)


def check_aliasing(sample: HistorySample, problems: Problems) -> Iterator[Proof]:
    """GD0530: a prompt without a view or a window does not tell apart what its reader has seen (a
    warning where no template is at fault). GD0531, a note: a view or a window forgets what may
    matter. GD0532, a note: two seats have one prompt and one adapter."""
    if problems.errors:
        yield Proof("told.apart", APART, "undecided", "there are errors that come before it")
        return
    if len(sample.ir.seats) > 1:
        yield _check_distinct_prompts(sample, problems)
    pairs = list(_merged(sample))
    if not pairs:
        yield Proof("told.apart", APART, sample.grade, sample.extent)
        return
    forgets = [pair for pair in pairs if pair.seat in sample.ir.limited_seats]
    if forgets:
        pair = forgets[0]
        what = _prompt_source(sample.ir, pair.seat)
        claim = f"the {what} of `{pair.seat}` forgets something that it has seen"
        histories = replay(pair.nodes[0]), replay(pair.nodes[1])
        how = "by the two histories of the witness"
        witness = _witness(sample, pair)
        yield Proof("view.forgets", claim, "proved", how, (), witness, histories)
    if not sample.whole:
        why = f"only whole games are compared, and this one has {sample.size}"
        witness = () if forgets else _witness(sample, pairs[0])
        yield Proof("told.harmless", HARMLESS, "undecided", why, (), witness)
        return
    yield from _compared(sample, problems)


def _check_distinct_prompts(sample: HistorySample, problems: Problems) -> Proof:
    """Checks that seats with one adapter have prompts of their own, among the sampled prompts.

    The drawn order of options tells no seat who it is: options are compared as declared.
    """
    first: dict[object, tuple[Node, Ask]] = {}
    prompts, book = sample.prompts, sample.prompts.book
    if book is not None and book.key:
        prompts = Prompts(sample.ir, budget=RenderingBudget(*sample.rendering.limits))
        prompts.book = replace(book, key="")
    for node, ask in sample.asked:
        plays = ask.seat in sample.ir.seats and (len(ask.legal) > 1 or ask.open)
        messages = prompts.of(node, ask) if plays else ()
        other, asked = first.setdefault((_adapter(sample.ir, ask.seat), messages), (node, ask))
        if messages and asked.seat != ask.seat:
            lines = _lines(prompts, node, ask, frozenset(), who=True)
            return _one_prompt(sample, (asked.seat, ask.seat), (other, node), lines, problems)
    return Proof("told.roles", ROLES, sample.grade, sample.extent)


def _adapter(ir: GameIR, seat: str) -> str:
    """Returns the adapter that the file's recipe gives a seat."""
    role, settings = ir.role_of[seat], {setting.key: setting.value for setting in ir.settings}
    own = role if settings.get("adapters") == "per_role" else ""
    return str(settings.get(f"roles.{role}.adapter", own))


def _one_prompt(
    sample: HistorySample,
    seats: tuple[str, str],
    nodes: tuple[Node, Node],
    lines: tuple[str, ...],
    problems: Problems,
) -> Proof:
    ir = sample.ir
    one, other = seats
    template = template_for(ir, "who", other, ir.role_of[other])
    alone = ir.role_of[one] == ir.role_of[other]
    witness = (
        f"`{one}`: {history_text(nodes[0])}", f"`{other}`: {history_text(nodes[1])}",
        "both are told:", *lines,
    )  # fmt: skip
    problems.add(
        "GD0532", f"`{one}` and `{other}` are asked with one prompt",
        ir.span if template is None else template.span, severity="note",
        why="this does not say who is asked" if template is not None else "no prompt says who",
        help="say it: `You are {{ me }}.`" if alone
        else "say it: `You are {{ me }}.`, or give each an adapter: `train: {adapters: per_role}`",
        witness=witness,
    )  # fmt: skip
    histories = replay(nodes[0]), replay(nodes[1])
    how = "by the two histories of the witness"
    return Proof("told.roles", ROLES, "refuted", how, ("GD0532",), witness, histories)


def _merged(sample: HistorySample) -> Iterator[Pair]:
    """Yields each information set whose prompt an earlier one has, with that one."""
    first: dict[object, tuple[Hashable, Node, Ask]] = {}
    for node, ask in sample.asked:
        key = sample.key(node, ask)
        if len(ask.legal) > 1 and (messages := sample.prompts.of(node, ask)):
            before, other, asked = first.setdefault((ask.seat, messages), (key, node, ask))
            if before != key:
                yield Pair(ask.seat, (other, node), (asked, ask))


def _compared(sample: HistorySample, problems: Problems) -> Iterator[Proof]:
    from gamedsl.runtime import Env
    from gamedsl.solve.bisimulation import merging

    found = merging(Env(sample.ir), len(sample.nodes) + 1)
    if found.lossless:
        yield Proof("told.harmless", HARMLESS, "enumerated", sample.extent)
        return
    named = {key_of(node.state, ask): (node, ask) for (node, ask), *_ in sample.sets.values()}
    told: set[str] = set()
    for difference in found.differences:
        seat, keys = difference.seat, difference.information_sets
        code = "GD0531" if seat in sample.ir.limited_seats else "GD0530"
        if code in told:
            continue
        told.add(code)
        (node, ask), (after, asked) = (named[key] for key in keys)
        pair = Pair(seat, (node, after), (ask, asked))
        witness = _witness(sample, pair)
        report = _forgets if seat in sample.ir.limited_seats else _same_prompt
        report(sample.ir, pair, (*witness, difference.reason), problems)
        yield Proof(
            "told.harmless", HARMLESS, "refuted", f"{sample.extent}; {difference.reason}", (code,),
            witness, (replay(node), replay(after)),
        )  # fmt: skip


def _completed(template: Span) -> Fix:
    """Returns the fix that says the choice at the end of a template."""
    text = template.text
    end = template.end - (text[-1:] in ("'", '"') and text[:1] == text[-1:])
    bare = text[:1] not in ("'", '"', "|", ">")
    edits = () if bare and "\n" in text else (
        (Edit(template, f'"{text} {{{{ choice }}}}"'),) if bare and '"' not in text
        else (Edit(Span(template.source, end, end), " {{ choice }}"),)
    )  # fmt: skip
    return Fix("say it: `{{ choice }}`", edits)


def _same_prompt(ir: GameIR, pair: Pair, witness: tuple[str, ...], problems: Problems) -> None:
    template = _silent(ir, pair)
    problems.add(
        "GD0530", f"`{pair.seat}` is told the same after two histories that it can tell apart",
        ir.span if template is None else template.span,
        why="no prompt says which" if template is None else "this does not say what was seen",
        help="write a `seen` template that does" if template is None else _completed(template.span),
        severity="warning" if template is None else "error",
        witness=witness,
    )  # fmt: skip


def _silent(ir: GameIR, pair: Pair) -> Template | None:
    """Returns the template that leaves out the first event in which a seat's histories differ."""
    one, other = (node.state.seen(pair.seat) for node in pair.nodes)
    steps = {step.id: step for step in walk_steps(ir.turns)}
    for events in zip_longest(one, other):
        for event in events if events[0] != events[1] else ():
            step = steps[event.step] if event is not None else None
            if isinstance(step, Binding):
                found = event_template(ir, step, pair.seat)
                if found is not None:
                    return found
    return None


def _prompt_source(ir: GameIR, seat: str) -> str:
    return "view" if seat in ir.views else "history"


def _forgets(ir: GameIR, pair: Pair, witness: tuple[str, ...], problems: Problems) -> None:
    if _asked_by_template(ir, pair, witness, problems):
        return
    entries, window = ir.views.get(pair.seat, ()), ir.windows.get(pair.seat)
    span = entries[0].span if entries else window.span if window is not None else ir.span
    events = "the last events" if window is not None else "no events"
    notes = [Note(entry.span, "and this") for entry in entries[1:4]]
    if entries and window is not None:
        notes.append(Note(window.span, "so many of the last events"))
    problems.add(
        "GD0531", f"the {_prompt_source(ir, pair.seat)} of `{pair.seat}` forgets what may matter",
        span,
        severity="note",
        why=f"this is told, and {events}" if entries else "what came before is not told",
        notes=tuple(notes),
        help="show what differs too, or accept it: policies that only see this are compared alone"
        if entries
        else "tell more of it, or accept it: policies that only see this are compared alone",
        witness=witness,
    )  # fmt: skip


def _asked_by_template(
    ir: GameIR, pair: Pair, witness: tuple[str, ...], problems: Problems
) -> bool:
    """Reports the file's own question that does not say which of two steps asks. Returns whether it
    is at fault; the default question names the step."""
    one, other = (next(step for step in ir.steps if step.id == id) for id in pair.steps)
    templates = [template_for(ir, "ask", step.id, step.variable) for step in (one, other)]
    template = templates[1] or templates[0]
    if one is other or template is None:
        return False
    same = templates[0] is templates[1]
    problems.add(
        "GD0531", f"`{pair.seat}` is asked the same for `{one.id}` and for `{other.id}`",
        template.span, severity="note", why="this does not say which of the two is asked for",
        help=f"give each a text of its own: `ask: {{{one.id}: …, {other.id}: …}}`" if same
        else "say it",
        witness=witness,
    )  # fmt: skip
    return True
