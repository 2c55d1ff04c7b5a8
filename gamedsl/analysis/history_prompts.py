"""The prompts of a game's histories, each rendered once, for all passes that read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from gamedsl.analysis.nodes import Node
from gamedsl.engine.kernel import Ask
from gamedsl.ir.evaluate import EvaluationError
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Choose
from gamedsl.prompting.events import Seen, Turn, counts_of
from gamedsl.prompting.labels import LabelBook, draw_labels
from gamedsl.prompting.prompts import Messages, Part, Prompter, RenderError
from gamedsl.prompting.template_evaluation import RenderingBudget
from gamedsl.prompting.tokenizers import TokenCounter

_Arguments = tuple[
    str, Choose, tuple[str, ...], LabelBook, Seen, Mapping[str, Any], tuple[Turn, ...]
]
"""The arguments of `Prompter.messages` and `Prompter.parts`."""


class Tokenizer(TokenCounter, Protocol):
    """A model's tokenizer: `render` gives the text that its chat template makes of a prompt."""

    def render(self, messages: Messages) -> str: ...


class Prompts:
    """The prompts of one game, under one set of labels: those that a tokenizer gets, if given. Each
    is rendered once for a history, which is kept by whoever asks."""

    def __init__(
        self, ir: GameIR, tokenizer: TokenCounter | None = None,
        budget: RenderingBudget | None = None,
    ) -> None:  # fmt: skip
        self._prompter = Prompter(ir, budget=budget)
        self._steps = {step.id: step for step in ir.steps}
        self._ir = ir
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

    def parts(self, node: Node, ask: Ask) -> tuple[Part, ...]:
        """Returns the same prompt in its parts, of a chat those of its last message. Raises
        RenderError and EvaluationError where it fails."""
        return self._prompter.parts(*self._arguments(node, ask))

    def _rendered(self, node: Node, ask: Ask) -> Messages:
        if self.book is None:
            return ()
        try:
            return self._prompter.messages(*self._arguments(node, ask))
        except (RenderError, EvaluationError) as error:
            self.failures.append((node, ask, error))
            return ()

    def _arguments(self, node: Node, ask: Ask) -> _Arguments:
        assert self.book is not None
        state = node.state
        named = ask.step in self._ir.asked_counts
        restricted = self._ir.entries_at(ask.seat, ask.step) is not None
        variables = state.variables if restricted or named else {}
        step, seen = self._steps[ask.step], state.seen(ask.seat)
        before: tuple[Turn, ...] = ()
        if self._prompter.is_chat:
            before = turns_before(node, ask.seat, self._ir.asked_counts)
        return ask.seat, step, ask.legal, self.book, seen, variables, before


def turns_before(node: Node, seat: str, asked: Mapping[str, tuple[str, ...]]) -> tuple[Turn, ...]:
    """Returns a seat's decisions before a history, with its replies; forced ones are not asked.
    `asked` as of `GameIR.asked_counts`."""
    found: list[Turn] = []
    while node.before is not None:
        at, moved = node.before, node.move
        for ask, number in zip(at.state.asks, moved, strict=False):
            if ask.seat == seat and (len(ask.legal) > 1 or ask.open):
                told = len(at.state.seen(seat))
                counts = counts_of(asked.get(ask.step, ()), at.state.variables)
                found.append(Turn(ask.step, ask.legal, told, ask.legal[number], counts))
        node = at
    return tuple(reversed(found))


def text_of(messages: Messages) -> str:
    """A prompt in one text."""
    return "\n".join(text for _, text in messages)


def sample_book(ir: GameIR, tokenizer: TokenCounter | None = None) -> LabelBook | None:
    """Labels to render with; None where labels are at fault themselves, as another pass reports."""
    try:
        return draw_labels(ir, run_seed=0, seed=0, tokenizer=tokenizer)
    except (ValueError, KeyError):
        return None
