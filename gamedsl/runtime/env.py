"""`Env` and `Episode`: the one interface through which a compiled game is played.

Same rules, run seed, tokenizer and seed: same episode, byte for byte. An episode asks one seat, or
several at once and each blind to the others; it takes an `Action`, the text of a reply, or a
`ParseFailure` from each. Chance is drawn from the seed, or asked for as well; nothing else moves an
episode. Nothing is guessed: a text that is no valid reply is a failure. A failure costs what the
game says (`on_invalid`): its author is asked again, or the episode ends, or it goes on without.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Literal

from gamedsl.backends.calling import Caller, registered
from gamedsl.backends.events import SILENCE, Seen, information
from gamedsl.backends.interpreter import Interpreter
from gamedsl.backends.kernel import Outcome, State
from gamedsl.backends.labels import LabelBook, TokenCounter, draw_labels
from gamedsl.backends.prompts import Prompter
from gamedsl.backends.replies import ParseFailure
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Choose
from gamedsl.runtime.decision import Action, Decision, Mistake, key_of
from gamedsl.runtime.hearing import read_reply
from gamedsl.runtime.history import Position, Tree, entries
from gamedsl.runtime.kernels import kernel_of
from gamedsl.runtime.least import Amount, least_payoffs
from gamedsl.runtime.memory import Memory, begun, key_of_memory, left_by
from gamedsl.runtime.transcripts import params_as_data
from gamedsl.runtime.views import View, Viewer

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
        caller: Caller = registered,
    ) -> None:
        """`caller` works out calls. Raises as `kernel_of`."""
        self.ir = ir
        self.run_seed = run_seed
        self.tokenizer = tokenizer
        self.kernel = kernel_of(ir, backend, caller)
        self.prompter = Prompter(ir)
        self._steps = {step.id: step for step in ir.steps}
        self._begun: dict[str, Position] = {}
        self.outcomes = lru_cache(maxsize=16)(_outcomes)
        """What chance may bring in a position; the last ones are kept, for some are long lists."""

    def reset(
        self,
        seed: int = 0,
        *,
        chance: Literal["drawn", "asked"] = "drawn",
        forced: Literal["taken", "asked"] = "taken",
        memory: Memory | None = None,
    ) -> Episode:
        """Start an episode. The seed fixes everything that chance decides in it.

        `memory` is what the episode before it left of the state that `lasts: run`
        (`Episode.memory`); without one, or where nothing is left, it begins as declared. ValueError
        for a memory that is not of this game.

        `chance="asked"` stops at chance nodes instead, for `Episode.draw`. `forced="asked"` asks
        for decisions with one legal action too, and stops at chance nodes with one outcome.
        """
        book = self._labels if self.ir.labels.per != "episode" else self._labels_of(seed)
        return Episode(self, seed, book, chance == "asked", forced == "asked", memory)

    @cached_property
    def _labels(self) -> LabelBook:
        """Those of every episode, where they are not its own."""
        return self._labels_of(0)

    def _labels_of(self, seed: int) -> LabelBook:
        return draw_labels(self.ir, run_seed=self.run_seed, seed=seed, tokenizer=self.tokenizer)

    @property
    def seats(self) -> tuple[str, ...]:
        return self.ir.seats

    def step_of(self, id: str) -> Choose:
        return self._steps[id]

    def action_names(self, seat: str) -> tuple[str, ...]:
        """Every action that a seat can ever have, by canonical name, in the order of the steps."""
        return tuple(
            dict.fromkeys(
                option.name
                for step in self.ir.steps
                if seat in step.actors
                for option in step.options_of(seat)
            )
        )

    def vector_names(self, seat: str) -> tuple[str, ...]:
        """The names of the floats of `View.vector`, in order; see `gamedsl.runtime.vectors`."""
        return tuple(component.name for component in self.viewer.layout(seat).components)

    @cached_property
    def params(self) -> dict[str, Any]:
        """Its params as JSON-able data that `gamedsl.load` takes."""
        return params_as_data({param.name: param.value for param in self.ir.params})

    @cached_property
    def viewer(self) -> Viewer:
        """What makes the views of seats."""
        return Viewer(self.ir)

    @cached_property
    def root(self) -> Position:
        """The history in which nothing has happened."""
        return Tree(self.kernel.start(), talks=self.prompter.is_chat).root

    def begin(self, memory: Memory | None) -> Position:
        """The history in which nothing has happened since an episode that left this memory."""
        lasting = begun(self.ir, memory)
        if not lasting:
            return self.root
        key = key_of_memory(memory or {})
        if key not in self._begun:
            assert isinstance(self.kernel, Interpreter), "what lasts is said"
            if len(self._begun) >= MEMORIES:
                self._begun.clear()
            start = self.kernel.start(lasting)
            self._begun[key] = Tree(start, talks=self.prompter.is_chat).root
        return self._begun[key]

    def decisions(
        self, book: LabelBook, position: Position, forced: bool = False
    ) -> tuple[Decision, ...]:
        """Who must act in a position; with `forced`, also who has no other choice."""
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
                ))  # fmt: skip
        return decisions

    def cost_of(self, seat: str) -> Amount:
        """What an invalid reply earns a seat: what the game says, else its least payoff; None of a
        referee, and where no bound is seen."""
        pay = self.ir.costs[seat].pay
        return self.least.get(seat) if pay is None else pay

    @cached_property
    def least(self) -> dict[str, Amount]:
        """Each seat's lowest payoff, the cost of a forfeit; None where no bound is seen."""
        return least_payoffs(self.ir, self.kernel)


class Episode:
    """One play of a game, driven by `step` (and `draw`) until `done`."""

    __slots__ = (
        "_began", "_book", "_chance", "_failed", "_forced", "_held", "_position", "env", "failures",
        "mistakes", "payoffs", "rewards", "seed",
    )  # fmt: skip

    def __init__(
        self, env: Env, seed: int, book: LabelBook, chance: bool = False, forced: bool = False,
        memory: Memory | None = None,
    ) -> None:  # fmt: skip
        self.env = env
        self.seed = seed
        self.payoffs: dict[str, Amount] = {}
        """Utility of each seat, exact, once done; None is void: somebody else forfeited."""
        self.rewards: dict[str, Amount] = {}
        """What each seat is trained on, exact, once done; None is void."""
        self.failures: dict[str, ParseFailure] = {}
        """Those that ended the episode."""
        self.mistakes: list[Mistake] = []
        """All invalid replies, in order."""
        self._held: dict[str, str] = {}
        """What those have replied that wait for others, who are asked again."""
        self._failed: dict[str, tuple[ParseFailure, ...]] = {}
        """The failures of those who are asked again."""
        self._book = book
        self._chance = chance
        self._forced = forced
        self._began: Memory = memory or {}
        self._go_on(env.begin(memory))

    @property
    def done(self) -> bool:
        return bool(self.payoffs)

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """The seats that must act now; empty at a chance node and when done."""
        if self.payoffs:
            return ()
        found = self.env.decisions(self._book, self._position, self._forced)
        if not self._failed:
            return found
        return tuple(
            replace(decision, failed=self._failed[decision.seat])
            for decision in found
            if decision.seat in self._failed
        )

    @property
    def asking(self) -> str | None:
        """The step at which seats must act now, as transcripts have it; None where nobody must. A
        decision has the first of the steps that its seat cannot tell apart."""
        return self._position.state.asks[0].step if self.decisions else None

    @property
    def chance(self) -> tuple[Outcome, ...]:
        """What chance may bring now, for `draw`, with exact probabilities; empty where it is not
        its turn, and where it is drawn from the seed."""
        return () if self.payoffs else self.env.outcomes(self._position)

    @property
    def outcome_count(self) -> int:
        """As many as `chance`, without listing them."""
        return 0 if self.payoffs else self._position.state.outcome_count

    @property
    def drawing(self) -> tuple[str, tuple[str, ...]]:
        """The step at which chance draws now, and the index it draws for. ValueError where it is
        not chance's turn."""
        if self.done or self._position.state.kind != "chance":
            raise ValueError("it is not chance's turn")
        return self._position.state.draws

    @property
    def state(self) -> State:
        """The history as the rules have it, for searches: to be copied, never moved."""
        return self._position.state

    @property
    def paid(self) -> Mapping[str, Mapping[str, int | Fraction]]:
        """What was paid so far to each stream, by seat; once done, with the scores and `payoff`."""
        return self._position.state.streams

    def step(self, replies: Mapping[str, Action | str | ParseFailure]) -> None:
        """Answer every decision. A text is read as a reply; one that is invalid costs what the game
        says, and where its author has a further try, the others' replies are kept until then.

        ValueError if a seat that must act is missing, another is there, the episode is done, chance
        must draw first, or an `Action` is not legal. `gamedsl.EvaluationError`, which points into
        the file, where the rules or payoffs have no value; the episode then stays where it is.
        """
        asked = self.decisions
        if not asked:
            raise ValueError("the episode is done" if self.done else "chance must draw first")
        if replies.keys() != {decision.seat for decision in asked}:
            raise ValueError(
                f"replies are needed from {[d.seat for d in asked]}, not {sorted(replies)}"
            )
        read = {d.seat: self.hear(d, replies[d.seat]) for d in asked}
        failures = {seat: name for seat, name in read.items() if isinstance(name, ParseFailure)}
        self._failed = {}
        if failures:
            read = self._failing(asked, read, failures)
        if self._failed or self.payoffs:
            return
        named = {**self._held, **read}
        names = [
            str(named[ask.seat] if ask.seat in named else ask.legal[0])
            for ask in self._position.state.asks
        ]
        position = self._position.after(tuple(names))
        self._held = {}
        self._go_on(position)

    def _failing(
        self, asked: tuple[Decision, ...], read: Mapping[str, str | ParseFailure],
        failures: dict[str, ParseFailure],
    ) -> dict[str, str | ParseFailure]:  # fmt: skip
        """What was replied, once it is known what becomes of those who failed: they are asked
        again, or the episode is over, or it goes on with what stands for their replies."""
        costs, held = self.env.ir.costs, dict(read)
        again: dict[str, tuple[ParseFailure, ...]] = {}
        for decision in asked:
            seat = decision.seat
            if seat in failures:
                tries, rule = (*decision.failed, failures[seat]), costs[seat]
                last = len(tries) > rule.retry
                pay = self.env.cost_of(seat)
                self.mistakes.append(Mistake(decision, failures[seat], last, pay))
                if not last:
                    again[seat] = tries
                elif rule.then == "play" and rule.play in decision.legal:
                    held[seat] = rule.play
                elif rule.then in ("play", "skip"):
                    held[seat] = SILENCE
        ended = {s: f for s, f in failures.items() if s not in again and held[s] is f}
        if ended:
            self.forfeit(ended)
            return {}
        self._held |= {s: str(held[s]) for s in held if s not in again}
        self._failed = again
        return {}

    def hear(self, decision: Decision, reply: Action | str | ParseFailure) -> str | ParseFailure:
        """The canonical name of what a reply to one of `decisions` chooses or says, or why it is
        invalid; nothing moves. ValueError: an `Action` is not legal, or can be said by nobody."""
        return read_reply(decision, reply, self._position.state, self._book)

    def draw(self, outcome: int) -> None:
        """Let chance bring the outcome of this number, of those in `chance`.

        ValueError where it is not chance's turn; IndexError for a number that there is not.
        """
        count = self.outcome_count
        if not count:
            raise ValueError("it is not chance's turn")
        if not 0 <= outcome < count:
            raise IndexError(f"no outcome {outcome} of {count}, counted from 0")
        self._go_on(self._position.after(outcome))

    def seen(self, seat: str) -> Seen:
        """The events that a seat has seen so far, in order, in canonical names."""
        return self._position.state.seen(seat)

    def information(self, seat: str) -> str:
        """The same as one text: all that a seat knows, whether or not it acts now."""
        return information(seat, self.seen(seat))

    def view(self, seat: str) -> View:
        """What a seat sees now, whether or not it acts: as data, as text and as a vector.

        ValueError where there is no such seat.
        """
        for decision in self.decisions:
            if decision.seat == seat:
                return self.env.viewer.view(
                    seat, self._position.state, decision.step, decision.legal
                )
        return self.env.viewer.view(seat, self._position.state, None, ())

    @property
    def memory(self) -> Memory:
        """What the next episode of a run begins with, by `Env.reset`: what this one has left so far
        of the state that lasts. One that was forfeited or is void leaves what it began with."""
        return self._began if self.failures else left_by(self.env.ir, self.state.variables)

    @property
    def table(self) -> str:
        """Everything there is, as text, as the referee sees it. Not for players."""
        from gamedsl.runtime.view_text import everything

        return everything(self.env.viewer, self._position.state)

    def fork(self) -> Episode:
        """An independent copy at the same point."""
        copy = Episode.__new__(Episode)
        copy.env, copy.seed, copy._book = self.env, self.seed, self._book
        copy._began = self._began
        copy._chance, copy._forced = self._chance, self._forced
        copy._position = self._position
        copy.payoffs, copy.rewards = dict(self.payoffs), dict(self.rewards)
        copy.failures, copy.mistakes = dict(self.failures), list(self.mistakes)
        copy._held, copy._failed = dict(self._held), dict(self._failed)
        return copy

    @property
    def transcript(self) -> dict[str, Any]:
        """The episode so far as JSON-able data: enough to replay and verify it."""
        tokenizer = self.env.tokenizer
        return {
            "format": 1,
            "game": self.env.ir.name,
            "hash": self.env.ir.hash,
            **({} if self.env.ir.rows == "all" else {"rows": self.env.ir.rows}),
            "params": self.env.params,
            "run_seed": self.env.run_seed,
            "seed": self.seed,
            "tokenizer": tokenizer.fingerprint if tokenizer is not None else None,
            **({"memory": self._began} if self.env.ir.lasting else {}),
            "labels": self._book.as_dict(),
            "steps": entries(self._position.log),
            "mistakes": [mistake.as_dict() for mistake in self.mistakes],
            "failures": {s: {"reason": f.reason, "text": f.text} for s, f in self.failures.items()},
            "payoffs": {seat: _text(amount) for seat, amount in self.payoffs.items()},
            "rewards": {seat: _text(amount) for seat, amount in self.rewards.items()},
        }

    def forfeit(self, failures: dict[str, ParseFailure]) -> None:
        """End now: who failed is paid what that costs, everyone else's payoff is void; or all."""
        self.failures = failures
        ir, self._failed = self.env.ir, {}
        void = any(ir.costs[seat].then == "void" or seat not in ir.seats for seat in failures)
        self.payoffs = {
            s: self.env.cost_of(s) if s in failures and not void else None for s in ir.seats
        }
        self.rewards = dict(self.payoffs)

    def _go_on(self, position: Position) -> None:
        """Play on as far as nobody is asked: what chance draws from the seed, and what is forced.

        One legal action is taken without asking, and one outcome of chance.
        """
        while (state := position.state).kind != "end":
            if state.kind == "chance":
                certain = state.outcome_count == 1
                if self._chance and (self._forced or not certain):
                    break
                position = position.after(0 if certain else state.pick(self.seed))
            else:
                if self._forced or any(count != 1 for count in state.counts):
                    break
                position = position.after(tuple(ask.legal[0] for ask in state.asks))
        self._position = position
        self.payoffs, self.rewards = dict(position.payoffs), dict(position.rewards)


def _outcomes(position: Position) -> tuple[Outcome, ...]:
    return position.state.outcomes


def _text(amount: Amount) -> str | None:
    return None if amount is None else str(amount)
