"""`Env` and `Episode`: the one interface through which a compiled game is played.

Same rules, run seed, tokenizer and seed: same episode, byte for byte. An episode asks one seat, or
several at once and each blind to the others; it takes an `Action`, a label's text, or a
`ParseFailure` from each, and nothing else moves it. Nothing is guessed: text that is not a legal
label is a failure, and a failure forfeits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from gamedsl.backends.events import Event, Seen
from gamedsl.backends.labels import LabelBook, TokenCounter, draw_labels
from gamedsl.backends.prompts import Prompter
from gamedsl.backends.replies import ParseFailure, parse_reply
from gamedsl.ir.game import GameIR
from gamedsl.ir.outcome import (
    Amounts,
    History,
    count_outcomes,
    evaluate_outcome,
    histories,
    payoffs_of,
)
from gamedsl.ir.program import Choose

Message = tuple[str, str]
Amount = int | Fraction | None

CACHE_LIMIT = 200_000
"""Histories whose decisions or payoffs an `Env` remembers before it starts over."""

LEAST_LIMIT = 1_000_000
"""Outcomes that are gone through to find the least payoff of a role."""


@dataclass(frozen=True, slots=True)
class Action:
    """A move, by its canonical name."""

    name: str


@dataclass(frozen=True)
class Decision:
    """What one seat is asked.

    `information_set` names all that the seat knows here in canonical names, and never in labels, so
    that policies, metrics and solvers agree on it. `labels` are parallel to `legal`; the prompt
    shows them in an order of its own.
    """

    seat: str
    role: str
    step: str
    occurrence: int
    information_set: str
    legal: tuple[str, ...]
    labels: tuple[str, ...]
    seen: Seen = field(repr=False)
    _env: Env = field(repr=False, compare=False)
    _book: LabelBook = field(repr=False, compare=False)

    @property
    def view(self) -> dict[str, Any]:
        """What the seat sees, as plain data with canonical names."""
        return {
            "seat": self.seat,
            "role": self.role,
            "step": self.step,
            "legal": list(self.legal),
            "seen": [event._asdict() for event in self.seen],
        }

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """The prompt, as (chat role, content) pairs."""
        step = self._env.step_of(self.step)
        return self._env.prompter.messages(self.seat, step, self.legal, self._book, self.seen)


class Env:
    """A game ready to be played. Episodes of one environment share its labels and its caches."""

    def __init__(
        self, ir: GameIR, *, run_seed: int = 0, tokenizer: TokenCounter | None = None
    ) -> None:
        self.ir = ir
        self.run_seed = run_seed
        self.tokenizer = tokenizer
        self.prompter = Prompter(ir)
        self._steps = {step.id: step for step in ir.steps}
        self._decisions: dict[tuple[LabelBook, History], tuple[Decision, ...]] = {}
        self._outcomes: dict[History, tuple[Amounts, Amounts]] = {}

    def reset(self, seed: int = 0) -> Episode:
        """Start an episode. The seed fixes everything that chance decides in it."""
        book = draw_labels(self.ir, run_seed=self.run_seed, seed=seed, tokenizer=self.tokenizer)
        return Episode(self, seed, book)

    def step_of(self, id: str) -> Choose:
        return self._steps[id]

    def decisions(self, book: LabelBook, history: History) -> tuple[Decision, ...]:
        """Who must act after a history; empty when the game is over."""
        if len(history) == len(self.ir.steps):
            return ()
        key = (book, history)
        found = self._decisions.get(key)
        if found is None:
            if len(self._decisions) >= CACHE_LIMIT:
                self._decisions.clear()
            found = self._decisions[key] = self._decide(book, history)
        return found

    def _decide(self, book: LabelBook, history: History) -> tuple[Decision, ...]:
        step = self.ir.steps[len(history)]
        seen = self.seen(history)
        known = ", ".join(f"{event.seat}.{event.step}={event.name}" for event in seen)
        decisions = []
        for seat in step.actors:
            if step.forced(seat) is not None:
                continue
            legal = tuple(choice.name for choice in step.options_of(seat))
            labels = tuple(map(book.label, legal))
            name = f"{seat}:{step.id}" + (f" [{known}]" if known else "")
            role = self.ir.role_of[seat]
            decisions.append(
                Decision(seat, role, step.id, 0, name, legal, labels, seen, self, book)
            )
        return tuple(decisions)

    def seen(self, history: History) -> Seen:
        """The events of a history; all are public once their step is over."""
        return tuple(
            Event(step.id, 0, seat, name)
            for step, names in zip(self.ir.steps, history, strict=False)
            for seat, name in zip(step.actors, names, strict=True)
        )

    def outcome(self, history: History) -> tuple[Amounts, Amounts]:
        """Payoffs and rewards of every seat at the end of a history, exact.

        Raises `gamedsl.EvaluationError`, which points into the file, where an expression has no
        value (a division by zero).
        """
        found = self._outcomes.get(history)
        if found is None:
            if len(self._outcomes) >= CACHE_LIMIT:
                self._outcomes.clear()
            found = self._outcomes[history] = evaluate_outcome(self.ir, history)
        return found

    @cached_property
    def least(self) -> dict[str, Amount]:
        """Each seat's lowest payoff, the cost of a forfeit; None if outcomes are too many."""
        if count_outcomes(self.ir) > LEAST_LIMIT:
            return dict.fromkeys(self.ir.seats)
        least: dict[str, Amount] = {}
        for history in histories(self.ir):
            for seat, payoff in payoffs_of(self.ir, history).items():
                known = least.get(seat)
                least[seat] = payoff if known is None else min(known, payoff)
        return least


class Episode:
    """One play of a game, driven by `step` until `done`."""

    __slots__ = ("_book", "_history", "env", "failures", "payoffs", "rewards", "seed")

    def __init__(self, env: Env, seed: int, book: LabelBook) -> None:
        self.env = env
        self.seed = seed
        self.payoffs: dict[str, Amount] = {}
        """Utility of each seat, exact, once done; None is void: somebody else forfeited."""
        self.rewards: dict[str, Amount] = {}
        """What each seat is trained on, exact, once done; None is void."""
        self.failures: dict[str, ParseFailure] = {}
        self._book = book
        self._history: History = ()
        self._go_on(())

    @property
    def done(self) -> bool:
        return bool(self.payoffs)

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """The seats that must act now; empty when done."""
        return () if self.done else self.env.decisions(self._book, self._history)

    def step(self, replies: Mapping[str, Action | str | ParseFailure]) -> None:
        """Answer every decision. A text is read as a label; what is not one forfeits the episode.

        ValueError if a seat that must act is missing, another is there, the episode is done, or an
        `Action` is not legal.
        """
        asked = self.decisions
        if not asked:
            raise ValueError("the episode is done")
        if set(replies) != {d.seat for d in asked}:
            raise ValueError(
                f"replies are needed from {[d.seat for d in asked]}, not {sorted(replies)}"
            )
        read = {d.seat: self._read(d, replies[d.seat]) for d in asked}
        failures = {seat: name for seat, name in read.items() if isinstance(name, ParseFailure)}
        if failures:
            self._forfeit(failures)
            return
        step = self.env.ir.steps[len(self._history)]
        names = (read.get(seat) or step.forced(seat) for seat in step.actors)
        self._go_on((*self._history, tuple(map(str, names))))

    def fork(self) -> Episode:
        """An independent copy at the same point."""
        copy = Episode.__new__(Episode)
        copy.env, copy.seed, copy._book, copy._history = (
            self.env,
            self.seed,
            self._book,
            self._history,
        )
        copy.payoffs, copy.rewards = dict(self.payoffs), dict(self.rewards)
        copy.failures = dict(self.failures)
        return copy

    @property
    def transcript(self) -> dict[str, Any]:
        """The episode so far as JSON-able data: enough to replay and verify it."""
        tokenizer = self.env.tokenizer
        steps = [
            {"step": step.id, "choices": dict(zip(step.actors, names, strict=True))}
            for step, names in zip(self.env.ir.steps, self._history, strict=False)
        ]
        return {
            "format": 1,
            "game": self.env.ir.name,
            "hash": self.env.ir.hash,
            "run_seed": self.env.run_seed,
            "seed": self.seed,
            "tokenizer": tokenizer.fingerprint if tokenizer is not None else None,
            "labels": self._book.as_dict(),
            "steps": steps,
            "failures": {s: {"reason": f.reason, "text": f.text} for s, f in self.failures.items()},
            "payoffs": {seat: _text(amount) for seat, amount in self.payoffs.items()},
            "rewards": {seat: _text(amount) for seat, amount in self.rewards.items()},
        }

    def _read(self, decision: Decision, reply: Action | str | ParseFailure) -> str | ParseFailure:
        if isinstance(reply, Action):
            if reply.name not in decision.legal:
                raise ValueError(
                    f"`{reply.name}` is not legal for {decision.seat}: {', '.join(decision.legal)}"
                )
            return reply.name
        if isinstance(reply, str):
            return parse_reply(reply, decision.legal, self._book)
        return reply

    def _forfeit(self, failures: dict[str, ParseFailure]) -> None:
        """End now: who failed gets the least payoff, everyone else's is void."""
        self.failures = failures
        self.payoffs = {s: self.env.least[s] if s in failures else None for s in self.env.ir.seats}
        self.rewards = dict(self.payoffs)

    def _go_on(self, history: History) -> None:
        """Play what is forced after a history: one legal action is taken without asking."""
        for step in self.env.ir.steps[len(history) :]:
            names = tuple(map(step.forced, step.actors))
            if None in names:
                break
            history = (*history, tuple(map(str, names)))
        if len(history) == len(self.env.ir.steps):
            payoffs, rewards = self.env.outcome(history)
            self.payoffs, self.rewards = dict(payoffs), dict(rewards)
        self._history = history


def _text(amount: Amount) -> str | None:
    return None if amount is None else str(amount)
