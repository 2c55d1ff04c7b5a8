"""Replies of models to decisions: the one way in training, in evaluation and at a seat.

A closed decision is answered by scoring: each option is a text, the label in the form that the game
asks for, and the policy is the softmax over the texts' log-probabilities, summed over their tokens.
One pass gives it exactly, and every answer is valid. (Decoding constrained to the options token by
token samples from another distribution, if labels branch more than once.)

A thought before the answer is generated token by token, after a tag that opens it; the options are
then scored given the thought. An unclosed thought follows the game's `at_limit`. Open decisions are
generated. With `free` everything is generated and parsed, thoughts and answers too; a thought that
the chat template opens is gone on with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING, NamedTuple, cast

from gamedsl.ir.replies import LABEL, Form
from gamedsl.policies.base import Message, Query
from gamedsl.policies.generation import Finish, Generated, Request, Writing
from gamedsl.prompting.replies import ParseFailure, label_in
from gamedsl.thought_syntax import CLOSE, OPEN

if TYPE_CHECKING:
    import torch

    from gamedsl.runtime import Action, Decision

AROUND = 32
"""Tokens that a free reply may have beside its thought and its answer."""

OPENED = f"{OPEN}\n"
"""What stands before a thought that is written apart from its answer."""

TOGETHER = 1 / 2
"""Options are scored, and what comes later is waited for, when so many wait for each reply that is
being written. A pass over few costs nearly what one over many does, and who waits for the slow turn
of others leaves a smaller batch to decode."""


class Asked(NamedTuple):
    """A decision, the adapter that answers it, and the seed of all that is drawn for it. `number`
    is for whoever asks."""

    decision: Decision
    adapter: str
    seed: int
    number: int = 0


class Choice(NamedTuple):
    """An option that was scored and drawn: the decision as the policy saw it, and the place of the
    option in its labels."""

    query: Query
    action: int


class Reply(NamedTuple):
    """A reply: `answer` as `Episode.step` takes it, and its origin.

    `written` are the sampled tokens: of the whole reply, or of its thought, and then its text has
    the tags that stand around these tokens. `choice` is the option that was scored.
    """

    answer: Action | str | ParseFailure
    written: Generated | None
    choice: Choice | None

    @property
    def text(self) -> str:
        """The reply as it would be written."""
        return text_of(self.written, self.choice)


Later = Callable[[], "Next"]
"""What gives what is asked next, where that takes long or waits for others."""

Next = Sequence[Asked | Later]

Then = Callable[[Asked, Reply], Next]
"""What follows a reply."""


def text_of(written: Generated | None, choice: Choice | None) -> str:
    """Returns the generated text followed by the chosen option."""
    said = "" if written is None else written.text
    return said if choice is None else said + choice.query.labels[choice.action]


def query_of(decision: Decision, adapter: str) -> Query:
    """A closed decision as a policy sees it: its options are replies of the form asked for, without
    a thought."""
    labels, form = decision.labels, decision.form
    if form != LABEL:
        labels = tuple(map(decision.write, decision.legal))
    return Query(cast("tuple[Message, ...]", decision.messages), labels, adapter)


def replies(
    policy: Writing, asked: Sequence[Asked], temperature: float,
    *, constrain: bool = False, free: bool = False,
) -> list[Reply]:  # fmt: skip
    """A reply to each decision, as `serve` gives them."""
    found: dict[int, Reply] = {}

    def keep(one: Asked, reply: Reply) -> tuple[Asked, ...]:
        found[one.number] = reply
        return ()

    numbered = [one._replace(number=i) for i, one in enumerate(asked)]
    serve(policy, [numbered], keep, temperature, constrain=constrain, free=free)
    return [found[i] for i in range(len(asked))]


def serve(
    policy: Writing, first: Iterable[Next], then: Then, temperature: float,
    *, constrain: bool = False, free: bool = False,
) -> None:  # fmt: skip
    """Reply to decisions, and to those that replies lead to; no game waits for the slow turn of
    another. Replies are drawn at a temperature; 0 takes what is likeliest.

    A written reply that reaches its limit of tokens is a failure, whatever can be read of it.
    `constrain` holds open decisions that are read as JSON to their schema. Equal decisions, seeds
    and weights give equal replies, but for the last bits of the probabilities; and no clock has a
    say in the order in which they come. Raises KeyError for an unknown adapter, ModelError where a
    prompt or a schema cannot be used, and what `then` raises.
    """
    _Service(policy, then, temperature, constrain=constrain, free=free).run(first)


@dataclass
class _Service:
    """The decisions that are under way.

    Written replies are with the engine. Options wait until enough of them can be scored in one
    pass, and what is called for later waits until the engine has little else to do; both go by
    counts alone.
    """

    policy: Writing
    then: Then
    temperature: float
    constrain: bool
    free: bool
    sent: list[Asked] = field(default_factory=list)
    """What was asked of the engine, by the number of the request."""
    writing: int = 0
    """How many of these it has not answered."""
    options: list[tuple[Asked, Generated | None, Query]] = field(default_factory=list)
    later: list[Later] = field(default_factory=list)

    def run(self, first: Iterable[Next]) -> None:
        requests = self._go_on([request for part in first for request in self._take(part)])
        if requests:
            self.policy.serve(requests, self._take_reply)

    def _take_reply(self, number: int, out: Generated) -> list[Request]:
        """Returns the requests that follow from a reply of the engine."""
        self.writing -= 1
        one = self.sent[number]
        if one.decision.said is not None or self.free:
            if one.decision.said is None and _goes_on(self.policy, one):
                out = replace(out, text=OPENED + out.text)
            cut = out.finish == "length"
            answer = ParseFailure("truncated", out.text) if cut else out.text
            return self._go_on(self._take(self.then(one, Reply(answer, out, None))))
        thought, query = _think(self.policy, one, out)
        if isinstance(query, ParseFailure):
            return self._go_on(self._take(self.then(one, Reply(query, thought, None))))
        self.options.append((one, thought, query))
        return self._go_on([])

    def _take(self, asked: Next) -> list[Request]:
        """Put decisions where they are answered; those that are written, as requests."""
        requests = []
        for one in asked:
            if not isinstance(one, Asked):
                self.later.append(one)
            elif (request := self._request(one)) is None:
                self.options.append((one, None, query_of(one.decision, one.adapter)))
            else:
                requests.append(request)
                self.sent.append(one)
        return requests

    def _request(self, one: Asked) -> Request | None:
        """Returns the first request; None if the options are scored at once."""
        if one.decision.said is not None:
            return _open_request(self.policy, one, self.temperature, constrain=self.constrain)
        if self.free:
            return _free(self.policy, one, self.temperature)
        if one.decision.form.think is not None:
            return _thought(self.policy, one, self.temperature)
        return None

    def _go_on(self, requests: list[Request]) -> list[Request]:
        """These requests, and those that follow from what has waited long enough."""
        while self.options or self.later:
            busy = self.writing + len(requests)
            if self.options and len(self.options) >= TOGETHER * busy:
                requests += self._score()
            elif self.later and len(self.later) + len(self.options) >= TOGETHER * busy:
                waiting, self.later = self.later, []
                for one in waiting:
                    requests += self._take(one())
            else:
                break
        self.writing += len(requests)
        return requests

    def _score(self) -> list[Request]:
        """Answer by options all that wait for it; equal queries are scored once."""
        waiting, self.options = self.options, []
        distinct = list(dict.fromkeys(query for _, _, query in waiting))
        scores = self.policy.log_probs(distinct)
        odds = {
            query: odds_of(log_pi, self.temperature)
            for query, log_pi in zip(distinct, scores, strict=True)
        }
        requests = []
        for one, thought, query in waiting:
            dice = Random(f"{one.seed} option")  # apart from the thought's, of the bare seed
            choice = Choice(query, dice.choices(range(len(query.labels)), odds[query])[0])
            reply = Reply(_action(one.decision, choice), thought, choice)
            requests += self._take(self.then(one, reply))
        return requests


def odds_after_thoughts(
    policy: Writing, asked: Sequence[Asked], thoughts: int, temperature: float
) -> list[list[list[float]]]:
    """Returns for each decision the odds of its options after each of so many thoughts, which are
    drawn. A thought that leads to no choice, since it is not closed, is left out."""
    many = []
    for one in asked:
        dice = Random(f"{one.seed} thoughts")
        many += [one._replace(seed=dice.getrandbits(31)) for _ in range(thoughts)]
    chosen = [reply.choice for reply in replies(policy, many, temperature)]
    queries = list(dict.fromkeys(choice.query for choice in chosen if choice is not None))
    scores = policy.log_probs(queries) if queries else []
    pairs = zip(queries, scores, strict=True)
    odds = {query: odds_of(log_pi, temperature) for query, log_pi in pairs}
    return [
        [odds[c.query] for c in chosen[first : first + thoughts] if c is not None]
        for first in range(0, len(chosen), thoughts)
    ]


def room_of(policy: Writing, one: Asked, *, free: bool = False) -> int:
    """Returns the most tokens that the written part of a reply may have; 0 where options are
    scored at once."""
    decision = one.decision
    if decision.said is not None:
        return decision.said.max_tokens
    if free:
        options = query_of(decision, one.adapter).labels
        count = policy.tokenizer_of(one.adapter).count
        return max(map(count, options)) + (decision.form.think or 0) + AROUND
    return decision.form.think or 0


def _open_request(policy: Writing, one: Asked, temperature: float, *, constrain: bool) -> Request:
    """An open decision, as an engine is asked for it."""
    decision = one.decision
    return Request(
        _messages(decision), one.adapter, room_of(policy, one), temperature,
        schema=decision.schema if constrain else None, seed=one.seed,
    )  # fmt: skip


def _free(policy: Writing, one: Asked, temperature: float) -> Request:
    """A closed decision whose answer is written, thought and all."""
    room = room_of(policy, one, free=True)
    begun = _goes_on(policy, one)
    prefix = policy.tokenizer_of(one.adapter).ids(OPENED) if begun else ()
    return Request(
        _messages(one.decision), one.adapter, room, temperature, seed=one.seed, prefix=prefix
    )


def _goes_on(policy: Writing, one: Asked) -> bool:
    """Returns whether a reply that is written whole goes on from the tag of a thought: the game
    asks for one, and prompts end in another, whose place it takes."""
    think = one.decision.form.think is not None
    return think and policy.tokenizer_of(one.adapter).ends_in_thought


def _thought(policy: Writing, one: Asked, temperature: float) -> Request:
    """The thought before an answer: what comes after its tag, up to the tag that closes it."""
    room = room_of(policy, one)
    return Request(
        _messages(one.decision), one.adapter, room, temperature, (CLOSE,), seed=one.seed,
        prefix=policy.tokenizer_of(one.adapter).ids(OPENED),
    )  # fmt: skip


def _think(policy: Writing, one: Asked, out: Generated) -> tuple[Generated, Query | ParseFailure]:
    """A thought with its tags, and the options after it, or why there is no valid reply.

    What was drawn is kept as it was drawn; a tag that was not is none of its tokens. Of a thought
    that ended with the turn the end token does not stand before the options.
    """
    decision, form = one.decision, one.decision.form
    closing = closing_of(out.text, out.finish, form)
    if isinstance(closing, ParseFailure):
        return replace(out, text=closing.text), closing
    ids = out.reply_ids
    if CLOSE in closing and out.finish == "stop":
        ids = ids[:-1]
    text = OPENED + out.text + closing
    thought = replace(out, text=text)
    query = query_of(decision, one.adapter)
    read = label_in(text + query.labels[0], form, decision.env.ir.option_calls)
    if isinstance(read, ParseFailure):
        return thought, replace(read, text=text)
    if read != decision.labels[0]:
        return thought, ParseFailure("unknown", text)
    tokenizer = policy.tokenizer_of(one.adapter)
    prefix = tokenizer.ids(OPENED) + ids + (tokenizer.ids(closing) if closing else ())
    return thought, replace(query, prefix=prefix)


def closing_of(thought: str, finish: Finish, form: Form) -> str | ParseFailure:
    """Returns the text between a generated thought and the answer, or the failure of an unclosed
    thought that the game does not close at its limit."""
    if CLOSE in thought:
        return "\n" if thought.endswith(CLOSE) else ""
    if form.at_limit == "close":
        return f"\n{CLOSE}\n"
    return ParseFailure("truncated" if finish == "length" else "unclosed", OPENED + thought)


def _messages(decision: Decision) -> tuple[Message, ...]:
    return cast("tuple[Message, ...]", decision.messages)


def odds_of(log_pi: torch.Tensor, temperature: float) -> list[float]:
    """Returns the probability of each option at a temperature; at 0 the likeliest is certain."""
    if not temperature:
        return [float(at == int(log_pi.argmax())) for at in range(len(log_pi))]
    found: list[float] = (log_pi.double() / temperature).softmax(0).tolist()
    return found


def _action(decision: Decision, choice: Choice) -> Action:
    from gamedsl.runtime import Action

    return Action(decision.legal[choice.action])
