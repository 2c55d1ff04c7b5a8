"""How a model replies to decisions: the one way in training, in evaluation and at a seat.

A closed decision is answered by scoring: each option is a text, the label in the form that the game
asks for (`written`), and the policy is the softmax over the texts' log-probabilities. One pass
gives it exactly, and every answer is valid. Open decisions are written token by token.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING, NamedTuple, cast

from gamedsl.backends.forms import LABEL, written
from gamedsl.backends.replies import ParseFailure
from gamedsl.policies.base import Message, Query
from gamedsl.policies.generation import Generated, Request, Writing

if TYPE_CHECKING:
    from gamedsl.backends.labels import LabelBook
    from gamedsl.runtime import Action, Decision

ANSWER_TOKENS = 48
"""Room for an answer in its form, after a thought."""


class Asked(NamedTuple):
    """A decision, the adapter that answers it, and the seed of all that is drawn for it."""

    decision: Decision
    adapter: str
    seed: int


class Choice(NamedTuple):
    """An option that was scored and drawn: the decision as the policy saw it, and the place of the
    option in its labels."""

    query: Query
    action: int


class Reply(NamedTuple):
    """What is replied: `answer` as `Episode.step` takes it, and how it came about: `written` token
    by token, or the `choice` of an option."""

    answer: Action | str | ParseFailure
    written: Generated | None
    choice: Choice | None

    @property
    def text(self) -> str:
        """The reply as it would be written."""
        return text_of(self.written, self.choice)


def text_of(written: Generated | None, choice: Choice | None) -> str:
    """What was written, then the option that was chosen."""
    said = "" if written is None else written.text
    return said if choice is None else said + choice.query.labels[choice.action]


def query_of(decision: Decision, adapter: str, book: LabelBook | None = None) -> Query:
    """A closed decision as a policy sees it: its options are replies of the form asked for. With a
    `book` it is told under other labels."""
    labels, form = decision.labels, decision.form
    messages = decision.messages
    if book is not None:
        labels, messages = tuple(map(book.label, decision.legal)), decision.told(book)
    if form != LABEL:
        labels = tuple(written(label, form) for label in labels)
    return Query(cast("tuple[Message, ...]", messages), labels, adapter)


def replies(
    policy: Writing, asked: Sequence[Asked], temperature: float, *, constrain: bool = False
) -> list[Reply]:
    """A reply to each decision, drawn at a temperature; 0 takes what is likeliest.

    A written reply that reaches its limit of tokens is a failure, whatever can be read of it.
    `constrain` holds open decisions that are read as JSON to their schema. Equal decisions, seeds
    and weights give equal replies, but for the last bits of the probabilities. Raises KeyError for
    an unknown adapter, and ModelError where a prompt or a schema cannot be used.
    """
    requests: dict[int, Request] = {}
    queries: dict[int, Query] = {}
    for i, one in enumerate(asked):
        if is_written(one.decision):
            requests[i] = _request(one, temperature, constrain=constrain)
        else:
            queries[i] = query_of(one.decision, one.adapter)
    found: dict[int, Reply] = {}
    drawn = policy.generate(list(requests.values())) if requests else []
    for i, said in zip(requests, drawn, strict=True):
        cut = said.finish == "length"
        found[i] = Reply(ParseFailure("truncated", said.text) if cut else said.text, said, None)
    for i, choice in _chosen(policy, queries, [one.seed for one in asked], temperature).items():
        found[i] = Reply(_action(asked[i].decision, choice), None, choice)
    return [found[i] for i in range(len(asked))]


def is_written(decision: Decision) -> bool:
    """Whether something of a reply is written token by token."""
    return decision.said is not None or decision.form.think is not None


def _request(one: Asked, temperature: float, *, constrain: bool) -> Request:
    """A decision that is answered in words, as an engine is asked for it."""
    decision, adapter, seed = one
    said, think = decision.said, decision.form.think or 0
    room = ANSWER_TOKENS + think if said is None else said.max_tokens
    messages = cast("tuple[Message, ...]", decision.messages)
    schema = decision.schema if constrain else None
    return Request(messages, adapter, room, temperature, schema=schema, seed=seed)


def _chosen(
    policy: Writing, queries: dict[int, Query], seeds: Sequence[int], temperature: float
) -> dict[int, Choice]:
    """An option of each query; equal queries are scored once."""
    distinct = list(dict.fromkeys(queries.values()))
    scores = policy.log_probs(distinct) if distinct else []
    odds = {
        query: (log_pi.double() / temperature).softmax(0).tolist() if temperature
        else [float(at == int(log_pi.argmax())) for at in range(len(log_pi))]
        for query, log_pi in zip(distinct, scores, strict=True)
    }  # fmt: skip
    return {
        i: Choice(query, Random(seeds[i]).choices(range(len(query.labels)), odds[query])[0])
        for i, query in queries.items()
    }


def _action(decision: Decision, choice: Choice) -> Action:
    from gamedsl.runtime import Action

    return Action(decision.legal[choice.action])
