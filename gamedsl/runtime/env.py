"""`Env`: a compiled game ready to be played, and what all its episodes share.

Same rules, run seed, tokenizer and seed: same episode, byte for byte (`gamedsl.runtime.episode`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from typing import Any, Literal

from gamedsl.call_syntax import CallSyntax
from gamedsl.engine.function_calls import Caller, call_registered
from gamedsl.engine.interpreter import Interpreter
from gamedsl.engine.kernel import Outcome, State
from gamedsl.ir.game import GameIR, Wording
from gamedsl.ir.program import Choose
from gamedsl.prompting.labels import LabelBook, draw_labels
from gamedsl.prompting.prompts import Prompter
from gamedsl.prompting.tokenizers import TokenCounter, call_syntax_of
from gamedsl.runtime.decision import Decision, key_of
from gamedsl.runtime.episode import Episode
from gamedsl.runtime.history import Position, PositionTree
from gamedsl.runtime.kernels import kernel_of, view_code_for
from gamedsl.runtime.memory import Memory, initial_values, key_of_memory
from gamedsl.runtime.min_payoff import Amount, min_payoffs
from gamedsl.runtime.views import Viewer

MEMORIES = 64
"""Memories whose histories are kept."""


class Env:
    """A game ready to be played. Episodes of one environment share its labels and its histories."""

    def __init__(
        self,
        ir: GameIR,
        *,
        run_seed: int = 0,
        tokenizer: TokenCounter | None = None,
        backend: str | None = None,
        caller: Caller = call_registered,
    ) -> None:
        """`caller` works out calls. Raises as `kernel_of`."""
        self.ir = ir
        self.run_seed = run_seed
        self.tokenizer = tokenizer
        self.kernel = kernel_of(ir, backend, caller)
        self.prompter = Prompter(ir, partial(view_code_for, self.kernel))
        self._other_prompters: dict[tuple[Wording, CallSyntax | None], Prompter] = {}
        self._syntaxes = {
            seat: call_syntax_of(tokenizer, role) for seat, role in ir.role_of.items()
        } if ir.respond.kind == "tool" else {}  # fmt: skip
        self._steps = {step.id: step for step in ir.steps}
        self._root: Position | None = None
        self._begun: dict[str, Position] = {}
        self.outcomes = lru_cache(maxsize=16)(_outcomes)
        """The possible outcomes in a position; the last ones are kept, for some are long lists."""

    def calling(self, caller: Caller) -> Env:
        """Returns an environment of the same game, run and tokenizer, whose calls another works
        out."""
        return Env(self.ir, run_seed=self.run_seed, tokenizer=self.tokenizer, caller=caller)

    def __repr__(self) -> str:
        return f"<Env {self.ir.name}: seats {', '.join(self.seats)}; run seed {self.run_seed}>"

    def prompter_of(self, wording: Wording | None, syntax: CallSyntax | None = None) -> Prompter:
        """Returns the prompter of the game in a wording; None: in that of the environment. `syntax`
        is that of a model whose chat template lists tools."""
        key = (wording or self.ir.wording, syntax)
        if key == (self.ir.wording, None):
            return self.prompter
        if key not in self._other_prompters:
            code, ir = partial(view_code_for, self.kernel), replace(self.ir, wording=key[0])
            self._other_prompters[key] = Prompter(ir, code, syntax=syntax)
        return self._other_prompters[key]

    def reset(
        self,
        seed: int = 0,
        *,
        chance: Literal["drawn", "asked"] = "drawn",
        forced: Literal["taken", "asked"] = "taken",
        memory: Memory | None = None,
        given: Mapping[str, int] | None = None,
    ) -> Episode:
        """Starts an episode. The seed fixes everything that chance decides in it.

        `memory` is what the episode before it left of the state that `lasts: run`
        (`Episode.memory`); without one, or where nothing is left, it begins as declared. ValueError
        for a memory that is not of this game.

        `given` says what chance brings at a step, by its id, whatever the seed: the number of an
        outcome, of those in `Episode.chance`. IndexError for one that there is not.

        `chance="asked"` stops at chance nodes instead, for `Episode.draw`. `forced="asked"` asks
        for decisions with one legal action too, and stops at chance nodes with one outcome.
        """
        book = self._labels if self.ir.labels.per != "episode" else self._labels_of(seed)
        return Episode(self, seed, book, chance == "asked", forced == "asked", memory, given)

    @cached_property
    def _labels(self) -> LabelBook:
        """The labels of every episode, where episodes have none of their own."""
        return self._labels_of(0)

    def _labels_of(self, seed: int) -> LabelBook:
        return draw_labels(self.ir, run_seed=self.run_seed, seed=seed, tokenizer=self.tokenizer)

    @property
    def seats(self) -> tuple[str, ...]:
        return self.ir.seats

    def step_of(self, id: str) -> Choose:
        return self._steps[id]

    def action_names(self, seat: str) -> tuple[str, ...]:
        """Returns every action that a seat can ever have, by canonical name, in the order of the
        steps."""
        return tuple(
            dict.fromkeys(
                option.name
                for step in self.ir.steps
                if seat in step.actors
                for option in step.options_of(seat)
            )
        )

    def vector_names(self, seat: str) -> tuple[str, ...]:
        """Returns the names of the floats of `View.vector`, in order; see
        `gamedsl.runtime.vectors`."""
        return tuple(component.name for component in self.viewer.layout(seat).components)

    @cached_property
    def params(self) -> dict[str, Any]:
        """Its params as JSON-able data that `gamedsl.load` takes."""
        from gamedsl.runtime.transcripts import params_as_data

        return params_as_data({param.name: param.value for param in self.ir.params})

    @cached_property
    def viewer(self) -> Viewer:
        """Makes the views of seats."""
        return Viewer(self.ir)

    def _tree(self, start: State) -> PositionTree:
        talks = self.prompter.is_chat
        return PositionTree(start, talks=talks, counts=self.ir.asked_counts)

    @property
    def root(self) -> Position:
        """The history in which nothing has happened; another each time where a function is called
        before anything does that need not give the same again."""
        if self._root is None or self._root.given:
            self._root = self._tree(self.kernel.start()).root
        return self._root

    def begin(self, memory: Memory | None) -> Position:
        """Returns the history in which nothing has happened since an episode that left this
        memory."""
        lasting = initial_values(self.ir, memory)
        if not lasting:
            return self.root
        key = key_of_memory(memory or {})
        if key not in self._begun or self._begun[key].given:
            assert isinstance(self.kernel, Interpreter), "what lasts is said"
            if len(self._begun) >= MEMORIES:
                self._begun.clear()
            start = self.kernel.start(lasting)
            self._begun[key] = self._tree(start).root
        return self._begun[key]

    def decisions(
        self, book: LabelBook, position: Position, forced: bool = False
    ) -> tuple[Decision, ...]:
        """Returns the decisions in a position; with `forced`, also those with one legal action."""
        key = (book, forced)
        if position.cache is None or position.cache[0] != key:
            position.cache = key, tuple(self._decide(book, position, forced))
        found: tuple[Decision, ...] = position.cache[1]
        return found

    def _decide(self, book: LabelBook, position: Position, forced: bool) -> list[Decision]:
        decisions, state = [], position.state
        for ask in state.asks:
            seat, step, occurrence, legal, declared, _ = ask
            if forced or len(legal) != 1:
                seen = state.seen(seat) if declared is None else ()
                labels = tuple(map(book.label, legal))
                key, role = key_of(state, ask), self.ir.role_of[seat]
                step = self.ir.asked_as.get(step, step)
                talk = position.talk.get(seat, ())
                decisions.append(Decision(
                    seat, role, step, occurrence, key, legal, labels, seen, talk, self, book, state,
                    _syntax=self._syntaxes.get(seat),
                ))  # fmt: skip
        return decisions

    def cost_of(self, seat: str) -> Amount:
        """Returns the cost of a seat's invalid reply: what the game says, else its least payoff;
        None for a referee without a payoff, and where no bound is known."""
        pay = self.ir.costs[seat].pay
        return self.least.get(seat) if pay is None else pay

    @cached_property
    def least(self) -> dict[str, Amount]:
        """Each seat's lowest payoff, the cost of a forfeit; None where no bound is seen."""
        return min_payoffs(self.ir, self.kernel)


def _outcomes(position: Position) -> tuple[Outcome, ...]:
    return position.state.outcomes
