"""Decisions: the question to one seat, its legal actions, and the parsing of its reply."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from gamedsl.call_syntax import CallSyntax
from gamedsl.engine.kernel import Ask, OpenState, State
from gamedsl.ir.game import Wording
from gamedsl.ir.json_types import reply_schema
from gamedsl.ir.program import Said
from gamedsl.ir.replies import Form
from gamedsl.ir.types import Type
from gamedsl.prompting.events import SILENCE, Seen, Turn, information_set
from gamedsl.prompting.labels import LabelBook
from gamedsl.prompting.prompts import NOTHING, Part, Prompter
from gamedsl.prompting.replies import ParseFailure, open_reply_value, read_choice, read_open_reply
from gamedsl.prompting.reply_instructions import again
from gamedsl.prompting.tokenizers import WordCounter, tokenizer_of

if TYPE_CHECKING:
    from gamedsl.runtime.env import Env


Message = tuple[str, str]


def key_of(state: State, ask: Ask) -> str:
    """Returns the information set in which a seat is asked, as `Decision.information_set` has
    it."""
    if ask.key is not None:
        return ask.key
    return information_set(ask.seat, ask.step, state.known(ask.seat))


@dataclass(frozen=True, slots=True)
class Action:
    """A move, by its canonical name."""

    name: str


@dataclass(frozen=True)
class Decision:
    """A decision of one seat.

    `information_set` names all that the seat knows here in canonical names, and never in labels, so
    that policies, metrics and solvers agree on it. `occurrence` counts the seat's earlier choices
    at this step. `legal` are canonical names, in the order of the step's options; `labels` are
    parallel to them; the prompt shows them in an order of its own. An open decision has none, and
    `said` describes the expected text.
    """

    seat: str
    role: str
    step: str
    occurrence: int
    information_set: str
    legal: tuple[str, ...]
    labels: tuple[str, ...]
    seen: Seen = field(repr=False)
    before: tuple[Turn, ...] = field(repr=False, compare=False)
    """The seat's earlier decisions, where its prompt continues a chat."""
    _env: Env = field(repr=False, compare=False)
    _book: LabelBook = field(repr=False, compare=False)
    _state: State = field(repr=False, compare=False)
    failed: tuple[ParseFailure, ...] = ()
    """The invalid replies after which it is asked again."""
    _wording: Wording | None = field(default=None, repr=False, compare=False)
    """The default texts of its prompt; None: those of the environment."""
    _syntax: CallSyntax | None = field(default=None, repr=False, compare=False)
    """The tool calls of a model whose chat template lists tools; None: as instructions say."""

    @property
    def view(self) -> dict[str, Any]:
        """The seat's events and options as plain data with canonical names; a declared view
        restricts `messages` alone."""
        return {
            "seat": self.seat,
            "role": self.role,
            "step": self.step,
            "legal": list(self.legal),
            "seen": [event._asdict() for event in self.seen],
        }

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """The prompt, as (chat role, content) pairs. Raises EvaluationError where an expression of
        the seat's declared view has no value here."""
        env = self._env
        asked = env.prompter_of(self._wording, self._syntax).messages(*self._arguments(self._book))
        return (*asked, *(part for failure in self.failed for part in again(failure)))

    def parts(self, prompter: Prompter, book: LabelBook) -> tuple[Part, ...]:
        """Returns the parts of the prompt as another prompter of the game makes them, under other
        labels; of a chat those of its last message. Raises as `messages`, and RenderError where a
        template fails."""
        return prompter.parts(*self._arguments(book))

    def _arguments(self, book: LabelBook) -> tuple[Any, ...]:
        """Returns the arguments of `Prompter.messages`."""
        env = self._env
        restricted = env.ir.entries_at(self.seat, self.step) is not None
        restricted = restricted or self.step in env.ir.asked_counts
        variables = self._state.variables if restricted else NOTHING
        step = env.step_of(self.step)
        return self.seat, step, self.legal, book, self.seen, variables, self.before

    def under(self, book: LabelBook, wording: Wording | None = None) -> Decision:
        """Returns the same decision under other labels, and in other default texts if they are
        given."""
        labels = tuple(map(book.label, self.legal))
        return replace(self, labels=labels, _book=book, _wording=wording or self._wording)

    def calling(self, syntax: CallSyntax | None) -> Decision:
        """Returns the same decision with the tool calls of a chat template, or of none."""
        return self if syntax == self._syntax else replace(self, _syntax=syntax)

    def write(self, name: str) -> str:
        """Returns the reply of a canonical name, as its prompt asks for it, without a thought."""
        prompter = self._env.prompter_of(self._wording, self._syntax)
        return prompter.reply(self._env.step_of(self.step), self.seat, name, self._book)

    @property
    def said(self) -> Said | None:
        """The request of an open decision; None for a closed one, which has `legal` options."""
        return self._env.step_of(self.step).said

    def admits(self, name: str) -> bool:
        """Returns whether the `valid` of an open decision admits this canonical name. Raises
        EvaluationError where it has no value."""
        return cast(OpenState, self._state).objection(self.seat, name) is None

    @property
    def type(self) -> Type:
        """The type of the choice or reply."""
        step = self._env.step_of(self.step)
        return step.type if step.said is None else step.reply_type(self.seat)

    @property
    def env(self) -> Env:
        """The environment of the decision."""
        return self._env

    @property
    def may_be_silent(self) -> bool:
        """Whether the game goes on where there is no valid reply."""
        return self._env.ir.costs[self.seat].then in ("skip", "play")

    @property
    def form(self) -> Form:
        """The form in which a closed decision is answered."""
        return self._env.ir.respond

    @cached_property
    def schema(self) -> dict[str, Any] | None:
        """The JSON Schema of what is read from a reply; None where that need not be JSON."""
        said = self.said
        return None if said is None else reply_schema(said, self.type, self._env.ir.seats)


class Mistake(NamedTuple):
    """An invalid reply: its decision, the reason, whether it was the last try, and its reward in
    training (None: no bound is known)."""

    decision: Decision
    failure: ParseFailure
    last: bool
    pay: int | Fraction | None

    def as_dict(self) -> dict[str, Any]:
        """Returns the mistake as JSON-able data, for transcripts."""
        decision, failure = self.decision, self.failure
        return {
            "seat": decision.seat, "step": decision.step, "occurrence": decision.occurrence,
            "try": len(decision.failed) + 1, "reason": failure.reason, "text": failure.text,
        }  # fmt: skip


def parse_reply(
    decision: Decision, reply: Action | str | ParseFailure, state: State, book: LabelBook
) -> str | ParseFailure:
    """Returns the canonical name of a reply in a state, or why it is invalid.

    ValueError: an `Action` is not legal, or is no canonical name of what may be said.
    """
    if isinstance(reply, ParseFailure):
        return reply
    if isinstance(reply, str):
        if decision.said is not None:
            return _parse_open(decision, reply, "", state)
        calls = decision.env.ir.option_calls
        return read_choice(reply, decision.form, decision.legal, book, calls)
    if reply.name == SILENCE and decision.may_be_silent:
        return SILENCE
    if decision.said is not None:
        return _parse_open(decision, reply.name, reply.name, state)
    if reply.name not in decision.legal:
        raise ValueError(
            f"`{reply.name}` is not legal for {decision.seat}: {', '.join(decision.legal)}"
        )
    return reply.name


def _parse_open(decision: Decision, text: str, name: str, state: State) -> str | ParseFailure:
    """Returns the canonical name of an open reply, if it is valid; `name` where it was made in that
    form."""
    said, seats = decision.said, decision.env.ir.seats
    assert said is not None
    read = name or read_open_reply(text, said, decision.type, seats)
    if isinstance(read, ParseFailure):
        return read
    open_reply_value(read, said, decision.type, seats)
    size = _tokens(decision, text)
    if name and size > said.max_tokens:  # a canonical name is no reply, and may be the longer one
        size = min(size, _tokens(decision, decision.write(name)))
    if size > said.max_tokens:
        return ParseFailure("tokens", text, f"{size:,}, and at most {said.max_tokens:,} may be")
    if said.valid is None:
        return read
    objection = cast(OpenState, state).objection(decision.seat, read)
    return read if objection is None else ParseFailure("invalid", text, objection)


def _tokens(decision: Decision, text: str) -> int:
    """Returns the number of tokens of a text for the model that wrote it; without a tokenizer, the
    number of words."""
    known = decision.env.tokenizer
    counter = WordCounter() if known is None else tokenizer_of(known, decision.role)
    return counter.count(text)
