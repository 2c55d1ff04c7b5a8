"""What seats are told, checked on histories: alike where they cannot tell, apart where they can.

The flow of information is proved for all plays elsewhere (`gamedsl.passes.readers`); here it is
looked at in the histories themselves, which gives a leak its witness, and what is proved a check.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from gamedsl.backends.kernel import Ask
from gamedsl.backends.labels import LabelBook, TokenCounter
from gamedsl.backends.prompts import Messages, Prompter, RenderError
from gamedsl.diagnostics import Problems
from gamedsl.ir.evaluate import EvaluationError
from gamedsl.ir.game import GameIR
from gamedsl.passes.atlas import Atlas, Node, replay, story
from gamedsl.passes.prompts import sample_book
from gamedsl.passes.proof import Proof
from gamedsl.runtime.views import Viewer

LEAKS = (*(f"GD04{number}" for number in range(40, 48)), "GD0508")
"""The codes of information that flows where it must not."""

ALIKE = "where a seat has seen the same, it is asked the same, and shown the same"
RECALL = "every seat remembers all that it has chosen and seen"


class Leak(NamedTuple):
    """Two histories in which a seat has seen the same, and what differs for it there."""

    ask: Ask
    one: Node
    other: Node
    what: str
    shown: tuple[str, str]


def seen_alike_is_told_alike(atlas: Atlas, problems: Problems) -> Iterator[Proof]:
    """A seat that has seen the same is asked at the same step, has the same legal actions, the same
    view and the same prompt. GD0440, where nothing else has reported it."""
    leak = next(_leaks(atlas), None)
    shared = sum(len(members) > 1 for members in atlas.sets.values())
    count = f"{shared:,} of {len(atlas.sets):,} information sets hold several histories"
    if leak is None:
        yield Proof("told.alike", ALIKE, atlas.grade, f"{atlas.extent}; {count}")
        return
    witness = (
        f"one history:   {story(leak.one)}",
        f"another:       {story(leak.other)}",
        f"in both `{leak.ask.seat}` has seen: {leak.one.state.known(leak.ask.seat) or 'nothing'}",
        f"but {leak.what}: {leak.shown[0]} / {leak.shown[1]}",
    )
    step = next(step for step in atlas.ir.steps if step.id == leak.ask.step)
    found = [d for d in problems.found if d.code in LEAKS]
    for at, problem in enumerate(problems.found):
        about = len(found) == 1 or any(note.span == step.span for note in problem.notes)
        if problem.code in LEAKS and not problem.witness and about:
            problems.found[at] = replace(problem, witness=witness)
            break
    if not found:
        problems.add(
            "GD0440", f"`{leak.ask.seat}` is told what it has not seen: {leak.what}", step.span,
            why=f"`{leak.ask.seat}` chooses here", witness=witness,
        )  # fmt: skip
    codes = tuple(dict.fromkeys(d.code for d in found)) or ("GD0440",)
    histories = replay(leak.one), replay(leak.other)
    yield Proof("told.alike", ALIKE, "refuted", atlas.extent, codes, witness, histories)


def _leaks(atlas: Atlas) -> Iterator[Leak]:
    viewer = Viewer(atlas.ir) if any(len(m) > 1 for m in atlas.sets.values()) else None
    prompts = atlas.prompts
    steps: dict[tuple[str, str], tuple[Node, Ask]] = {}
    for members in atlas.sets.values():
        (one, ask), *others = members
        known = ask.seat, one.state.known(ask.seat)
        elsewhere, asked = steps.setdefault(known, (one, ask))
        if asked.step != ask.step:
            what = "it is asked something else"
            yield Leak(ask, elsewhere, one, what, (asked.step, ask.step))
        for other, again in others:
            if again.legal != ask.legal:
                legal = ", ".join(ask.legal), ", ".join(again.legal)
                yield Leak(ask, one, other, "it may choose from others", legal)
        if not others or viewer is None:
            continue
        view = viewer.view(ask.seat, one.state, ask.step, ask.legal).data
        prompt = prompts.of(one, ask) if ask.seat in atlas.ir.views else None
        for other, again in others:
            seen = viewer.view(ask.seat, other.state, again.step, again.legal).data
            if seen != view:
                yield Leak(ask, one, other, "its view differs", _different(str(view), str(seen)))
            if prompt is not None and prompts.of(other, again) != prompt:
                texts = text_of(prompt), text_of(prompts.of(other, again))
                yield Leak(ask, one, other, "its prompt differs", _different(*texts))


def _different(one: str, other: str) -> tuple[str, str]:
    """The words in which two texts differ, from the first such to the last."""
    a, b = one.split(), other.split()
    start = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), 0)
    while a and b and a[-1] == b[-1] and min(len(a), len(b)) > start + 1:
        a.pop()
        b.pop()
    return " ".join(a[start : start + 12]), " ".join(b[start : start + 12])


class Prompts:
    """The prompts of one game, under one set of labels: those that a tokenizer gets, if given. Each
    is rendered once for a history, which is kept by whoever asks."""

    def __init__(self, ir: GameIR, tokenizer: TokenCounter | None = None) -> None:
        self._prompter, self._steps = Prompter(ir), {step.id: step for step in ir.steps}
        self._views = ir.views
        self._known: dict[tuple[int, str], Messages] = {}
        self.failures: list[tuple[Node, Ask, RenderError | EvaluationError]] = []
        """Where a template failed, or a view has no value."""
        self.book: LabelBook | None = sample_book(ir, tokenizer)

    def of(self, node: Node, ask: Ask) -> Messages:
        """The prompt of a seat in a history; nothing where it fails, which is noted."""
        place = id(node), ask.seat
        if place not in self._known:
            self._known[place] = self._rendered(node, ask)
        return self._known[place]

    def _rendered(self, node: Node, ask: Ask) -> Messages:
        if self.book is None:
            return ()
        state = node.state
        variables = state.variables if ask.seat in self._views else {}
        step, seen = self._steps[ask.step], state.seen(ask.seat)
        try:
            return self._prompter.messages(
                ask.seat, step, ask.legal, self.book, seen, variables
            )
        except (RenderError, EvaluationError) as error:
            self.failures.append((node, ask, error))
            return ()


def text_of(messages: Messages) -> str:
    """A prompt in one text."""
    return "\n".join(text for _, text in messages)


def seats_remember(atlas: Atlas, problems: Problems) -> Iterator[Proof]:
    """Perfect recall: what a seat has seen holds its own choices, in order, and only grows. So it
    is by construction; it is checked in the histories met."""
    done: dict[int, dict[str, int]] = {}
    known: dict[tuple[int, str, str], int] = {}
    behind: dict[str, tuple[int, Node]] = {}
    for node in atlas.nodes:
        past = {} if node.before is None else dict(done[id(node.before)])
        if node.before is not None:
            for ask, number in zip(node.before.state.asks, node.move, strict=False):
                did = past.get(ask.seat, 0), _key(node.before, ask), ask.legal[number]
                past[ask.seat] = known.setdefault(did, len(known) + 1)
        done[id(node)] = past
        for ask in node.state.asks:
            key, own = _key(node, ask), past.get(ask.seat, 0)
            first, other = behind.setdefault(key, (own, node))
            if first != own:
                witness = (f"`{ask.seat}` forgets:", story(other), story(node))
                pair = replay(other), replay(node)
                yield Proof("recall", RECALL, "refuted", atlas.extent, (), witness, pair)
                return
    how = f"by what an information set is; checked in {atlas.extent}"
    yield Proof("recall", RECALL, "proved", how)


def _key(node: Node, ask: Ask) -> str:
    return f"{ask.seat}:{ask.step} {node.state.known(ask.seat)}"
