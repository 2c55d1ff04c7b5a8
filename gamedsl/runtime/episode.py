"""`Episode`: one play of a game, asked and answered.

An episode asks one seat, or several at once and each blind to the others; it takes an `Action`, the
text of a reply, or a `ParseFailure` from each. Chance is drawn from the seed, or asked for as well;
nothing else moves an episode. Nothing is guessed: a text that is no valid reply is a failure. A
failure costs what the game says (`on_invalid`): its author is asked again, or the episode ends, or
it goes on without.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from gamedsl.engine.kernel import Kind, Outcome, State
from gamedsl.prompting.events import SILENCE, Seen, information
from gamedsl.prompting.labels import LabelBook
from gamedsl.prompting.replies import ParseFailure
from gamedsl.runtime.decision import Action, Decision, Mistake, parse_reply
from gamedsl.runtime.history import Log, Position, entries
from gamedsl.runtime.memory import Memory, memory_after
from gamedsl.runtime.min_payoff import Amount
from gamedsl.runtime.views import View, everything

if TYPE_CHECKING:
    from gamedsl.runtime.env import Env


class Episode:
    """One play of a game, driven by `step` (and `draw`) until `done`."""

    __slots__ = (
        "_began", "_book", "_chance", "_failed", "_forced", "_given", "_held", "_position", "env",
        "failures", "mistakes", "payoffs", "referee_payoffs", "rewards", "seed",
    )  # fmt: skip

    def __init__(
        self, env: Env, seed: int, book: LabelBook, chance: bool = False, forced: bool = False,
        memory: Memory | None = None, given: Mapping[str, int] | None = None,
    ) -> None:  # fmt: skip
        self.env = env
        self.seed = seed
        self.payoffs: dict[str, Amount] = {}
        """Utility of each seat, exact, once done; None is void: somebody else forfeited."""
        self.rewards: dict[str, Amount] = {}
        """The reward of each seat, exact, once done; None is void."""
        self.referee_payoffs: dict[str, Amount] = {}
        """The payoff of each referee's seat that has one, exact, once done; None is void."""
        self.failures: dict[str, ParseFailure] = {}
        """The failures that ended the episode."""
        self.mistakes: list[Mistake] = []
        """All invalid replies, in order."""
        self._held: dict[str, str] = {}
        """The replies of seats that wait for others, who are asked again."""
        self._failed: dict[str, tuple[ParseFailure, ...]] = {}
        """The failures of those who are asked again."""
        self._book = book
        self._chance = chance
        self._forced = forced
        self._began: Memory = memory or {}
        self._given = given or {}
        self._go_on(env.begin(memory))

    def __repr__(self) -> str:
        now = "chance draws"
        if self.done:
            paid = (f"{seat} {_text(amount)}" for seat, amount in self.payoffs.items())
            now = f"done, payoffs {', '.join(paid)}"
        elif asked := self.decisions:
            now = f"asked {', '.join(f'{one.seat}.{one.step}' for one in asked)}"
        return f"<Episode {self.env.ir.name}: seed {self.seed}; {now}>"

    @property
    def done(self) -> bool:
        return bool(self.payoffs)

    @property
    def earnings(self) -> dict[str, Amount]:
        """The amounts that training maximises, once done: the reward of each seat, and the payoff
        of each referee's seat that has one."""
        return self.rewards | self.referee_payoffs

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """The decisions of the seats that must act now; empty at a chance node and when done."""
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
    def asked_step(self) -> str | None:
        """The step at which seats must act now, as transcripts have it; None where nobody must. A
        decision has the first of the steps that its seat cannot tell apart."""
        return self._position.state.asks[0].step if self.decisions else None

    @property
    def chance(self) -> tuple[Outcome, ...]:
        """The possible outcomes, for `draw`, with exact probabilities; empty where it is not
        chance's turn, and where chance is drawn from the seed."""
        return () if self.payoffs else self.env.outcomes(self._position)

    @property
    def outcome_count(self) -> int:
        """The number of `chance` outcomes, without listing them."""
        return 0 if self.payoffs else self._position.state.outcome_count

    def outcome(self, number: int) -> Outcome:
        """Returns one of the outcomes of `chance`, without listing them."""
        return self._position.state.outcome(number)

    def outcome_named(self, name: str) -> int | None:
        """Returns the number of the outcome of `chance` with this name, without listing them; None
        where there is none."""
        return self._position.state.outcome_named(name)

    @property
    def log(self) -> Log | None:
        """The steps so far as transcripts have them, the last one first."""
        return self._position.log

    @property
    def kind(self) -> Kind:
        """The present kind, as in states: seats decide, chance draws, or the game is over."""
        return "end" if self.payoffs else self._position.state.kind

    @property
    def counts(self) -> tuple[int, ...]:
        """The number of legal actions of each of `decisions`."""
        return tuple([len(decision.legal) for decision in self.decisions])

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
        """The payments so far to each stream, by seat; once done, with the scores and `payoff`."""
        return self._position.state.streams

    def step(self, replies: Mapping[str, Action | str | ParseFailure]) -> None:
        """Answers every decision. A text is read as a reply; an invalid one costs what the game
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
        read = {d.seat: self.parse(d, replies[d.seat]) for d in asked}
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
        """Returns the replies with the effects of failures: their authors are asked again, or the
        episode is over, or it goes on with a substitute for their replies."""
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

    def parse(self, decision: Decision, reply: Action | str | ParseFailure) -> str | ParseFailure:
        """Returns the canonical name of a reply to one of `decisions`, or why it is invalid;
        nothing moves. Limits count tokens of the environment's tokenizer, else words. Raises
        ValueError where an `Action` is not legal, or no reply has its name."""
        return parse_reply(decision, reply, self._position.state, self._book)

    def draw(self, outcome: int) -> None:
        """Lets chance bring the outcome of this number, of those in `chance`.

        ValueError where it is not chance's turn; IndexError for a number that there is not.
        """
        if not self.outcome_count:
            raise ValueError("it is not chance's turn")
        self._go_on(self._position.after(_within(outcome, self.outcome_count)))

    def seen(self, seat: str) -> Seen:
        """Returns the events that a seat has seen so far, in order, in canonical names."""
        return self._position.state.seen(seat)

    def information(self, seat: str) -> str:
        """Returns the same as one text: all that a seat knows, whether or not it acts now."""
        return information(seat, self.seen(seat))

    def view(self, seat: str) -> View:
        """Returns the view of a seat now, whether or not it acts: as data, as text and as a vector.

        Raises ValueError if there is no such seat.
        """
        for decision in self.decisions:
            if decision.seat == seat:
                return self.env.viewer.view(
                    seat, self._position.state, decision.step, decision.legal
                )
        return self.env.viewer.view(seat, self._position.state, None, ())

    @property
    def memory(self) -> Memory:
        """The memory with which the next episode of a run begins, by `Env.reset`: the state that
        lasts, as this episode has left it so far. One that was forfeited or is void leaves the
        memory it began with."""
        return self._began if self.failures else memory_after(self.env.ir, self.state.variables)

    @property
    def table(self) -> str:
        """The whole state as text, as the referee sees it. Not for players."""
        return everything(self.env.viewer, self._position.state)

    def apply(self, number: int, *others: int) -> None:
        """Moves by numbers, as states do: each of `decisions` takes the legal action of its number,
        or chance brings the outcome of this one. Raises as `step` and `draw`."""
        if self.outcome_count:
            self.draw(number)
        else:
            taken = zip(self.decisions, (number, *others), strict=True)
            self.step({d.seat: Action(d.legal[option]) for d, option in taken})

    def copy(self) -> Episode:
        """Returns a fork, under the name that states use, so that a walk takes either."""
        return self.fork()

    def fork(self) -> Episode:
        """Returns an independent copy at the same point."""
        copy = Episode.__new__(Episode)
        copy.env, copy.seed, copy._book = self.env, self.seed, self._book
        copy._began, copy._given = self._began, self._given
        copy._chance, copy._forced = self._chance, self._forced
        copy._position = self._position
        copy.payoffs, copy.rewards = dict(self.payoffs), dict(self.rewards)
        copy.referee_payoffs = dict(self.referee_payoffs)
        copy.failures, copy.mistakes = dict(self.failures), list(self.mistakes)
        copy._held, copy._failed = dict(self._held), dict(self._failed)
        return copy

    def resumed(self) -> Episode:
        """Returns a fork in which the seed draws chance and forced moves are taken, whatever this
        episode was asked for: a play that goes on from a replay."""
        copy = self.fork()
        copy._chance = copy._forced = False
        if not copy.payoffs:
            copy._go_on(copy._position)
        return copy

    @property
    def transcript(self) -> dict[str, Any]:
        """The episode so far as JSON-able data: enough to replay and verify it."""
        tokenizer = self.env.tokenizer
        judged = {seat: _text(amount) for seat, amount in self.referee_payoffs.items()}
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
            **({"referees": judged} if judged else {}),
        }

    def forfeit(self, failures: dict[str, ParseFailure]) -> None:
        """Ends the episode now: each seat that failed is paid the cost of its failure, everyone
        else's payoff is void; or all are."""
        self.failures = failures
        ir, self._failed = self.env.ir, {}
        void = any(ir.costs[seat].then == "void" or seat not in ir.seats for seat in failures)
        self.payoffs = {
            s: self.env.cost_of(s) if s in failures and not void else None for s in ir.seats
        }
        self.rewards = dict(self.payoffs)
        self.referee_payoffs = {seat: None for seat, _ in ir.referee_payoffs}

    def _go_on(self, position: Position) -> None:
        """Plays on until somebody is asked: chance is drawn from the seed, and forced moves are
        taken.

        One legal action is taken without asking, and one outcome of chance.
        """
        while (state := position.state).kind != "end":
            if state.kind == "chance":
                certain = state.outcome_count == 1
                if self._chance and (self._forced or not certain):
                    break
                position = position.after(0 if certain else self._outcome(state))
            else:
                if self._forced or any(count != 1 for count in state.counts):
                    break
                position = position.after(tuple(ask.legal[0] for ask in state.asks))
        self._position = position
        self.payoffs, self.rewards = dict(position.payoffs), dict(position.rewards)
        self.referee_payoffs = dict(position.referee_payoffs)

    def _outcome(self, state: State) -> int:
        """Returns the outcome of chance: the given one, else the one that the seed draws."""
        given = self._given.get(state.draws[0]) if self._given else None
        return state.pick(self.seed) if given is None else _within(given, state.outcome_count)


def _within(outcome: int, count: int) -> int:
    if not 0 <= outcome < count:
        raise IndexError(f"no outcome {outcome} of {count}, counted from 0")
    return outcome


def _text(amount: Amount) -> str | None:
    return None if amount is None else str(amount)
