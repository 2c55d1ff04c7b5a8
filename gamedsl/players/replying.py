"""How a model replies to decisions: the one way in training, in evaluation and at a seat.

A closed decision is answered by scoring: each option is a text, the label in the form that the game
asks for, and the policy is the softmax over the texts' log-probabilities, those of all their tokens
added up. One pass gives it exactly, and every answer is valid. (Decoding that is held to the
options token by token draws from another distribution, where labels part more than once.)

A thought before the answer is written token by token, after a tag that opens it; the options are
then scored given the thought. One that is not closed follows the game's `at_limit`. Open decisions
are written. With `free` everything is written and read, thoughts and answers too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, NamedTuple, cast

from gamedsl.backends.forms import CLOSE, LABEL, OPEN, label_in, written
from gamedsl.backends.replies import ParseFailure
from gamedsl.policies.base import Message, Query
from gamedsl.policies.generation import Generated, Request, Writing

if TYPE_CHECKING:
    from gamedsl.backends.labels import LabelBook
    from gamedsl.runtime import Action, Decision

AROUND = 32
"""Tokens that a free reply may have beside its thought and its answer."""

_OPENED = f"{OPEN}\n"


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
    """What is replied: `answer` as `Episode.step` takes it, and how it came about.

    `written` are the tokens that were drawn: of all of the reply, or of its thought, and then its
    text has the tags that stand around these tokens. `choice` is the option that was scored.
    """

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
    """A closed decision as a policy sees it: its options are replies of the form asked for, without
    a thought. With a `book` it is told under other labels."""
    labels, form = decision.labels, decision.form
    messages = decision.messages
    if book is not None:
        labels, messages = tuple(map(book.label, decision.legal)), decision.told(book)
    if form != LABEL:
        labels = tuple(written(label, form) for label in labels)
    return Query(cast("tuple[Message, ...]", messages), labels, adapter)


def replies(
    policy: Writing, asked: Sequence[Asked], temperature: float,
    *, constrain: bool = False, free: bool = False,
) -> list[Reply]:  # fmt: skip
    """A reply to each decision, drawn at a temperature; 0 takes what is likeliest.

    A written reply that reaches its limit of tokens is a failure, whatever can be read of it.
    `constrain` holds open decisions that are read as JSON to their schema. Equal decisions, seeds
    and weights give equal replies, but for the last bits of the probabilities. Raises KeyError for
    an unknown adapter, and ModelError where a prompt or a schema cannot be used.
    """
    requests: dict[int, Request] = {}
    queries: dict[int, Query] = {}
    for i, one in enumerate(asked):
        if one.decision.said is not None:
            requests[i] = _said(one, temperature, constrain=constrain)
        elif free:
            requests[i] = _free(policy, one, temperature)
        elif one.decision.form.think is not None:
            requests[i] = _thought(policy, one, temperature)
        else:
            queries[i] = query_of(one.decision, one.adapter)
    found: dict[int, Reply] = {}
    thoughts: dict[int, Generated] = {}
    drawn = policy.generate(list(requests.values())) if requests else []
    for i, out in zip(requests, drawn, strict=True):
        if asked[i].decision.said is not None or free:
            cut = out.finish == "length"
            found[i] = Reply(ParseFailure("truncated", out.text) if cut else out.text, out, None)
            continue
        thoughts[i], query = _think(policy, asked[i], out)
        if isinstance(query, ParseFailure):
            found[i] = Reply(query, thoughts[i], None)
        else:
            queries[i] = query
    seeds = {i: asked[i].seed for i in queries}
    for i, choice in _chosen(policy, queries, seeds, temperature).items():
        found[i] = Reply(_action(asked[i].decision, choice), thoughts.get(i), choice)
    return [found[i] for i in range(len(asked))]


def _said(one: Asked, temperature: float, *, constrain: bool) -> Request:
    """An open decision, as an engine is asked for it."""
    decision = one.decision
    assert decision.said is not None
    return Request(
        _messages(decision), one.adapter, decision.said.max_tokens, temperature,
        schema=decision.schema if constrain else None, seed=one.seed,
    )  # fmt: skip


def _free(policy: Writing, one: Asked, temperature: float) -> Request:
    """A closed decision whose answer is written, thought and all."""
    options = query_of(one.decision, one.adapter).labels
    room = max(map(policy.tokenizer.count, options)) + (one.decision.form.think or 0) + AROUND
    return Request(_messages(one.decision), one.adapter, room, temperature, seed=one.seed)


def _thought(policy: Writing, one: Asked, temperature: float) -> Request:
    """The thought before an answer: what comes after its tag, up to the tag that closes it."""
    room = one.decision.form.think
    assert room is not None
    return Request(
        _messages(one.decision), one.adapter, room, temperature, (CLOSE,), seed=one.seed,
        prefix=policy.tokenizer.ids(_OPENED),
    )  # fmt: skip


def _think(policy: Writing, one: Asked, out: Generated) -> tuple[Generated, Query | ParseFailure]:
    """A thought with its tags, and the options after it, or why there is no valid reply.

    What was drawn is kept as it was drawn; a tag that was not is none of its tokens. Of a thought
    that ended with the turn the end token does not stand before the options.
    """
    decision, form = one.decision, one.decision.form
    ids, closing = out.reply_ids, ""
    if CLOSE in out.text:
        closing = "\n" if out.text.endswith(CLOSE) else ""
    elif form.at_limit == "close":
        ids = ids[:-1] if out.finish == "stop" else ids
        closing = f"\n{CLOSE}\n"
    text = _OPENED + out.text + closing
    thought = replace(out, text=text)
    if CLOSE not in text:
        reason = "truncated" if out.finish == "length" else "unclosed"
        return thought, ParseFailure(reason, text)
    query = query_of(decision, one.adapter)
    read = label_in(text + query.labels[0], form)
    if isinstance(read, ParseFailure):
        return thought, replace(read, text=text)
    if read != decision.labels[0]:
        return thought, ParseFailure("unknown", text)
    tokenizer = policy.tokenizer
    prefix = tokenizer.ids(_OPENED) + ids + (tokenizer.ids(closing) if closing else ())
    return thought, replace(query, prefix=prefix)


def _messages(decision: Decision) -> tuple[Message, ...]:
    return cast("tuple[Message, ...]", decision.messages)


def _chosen(
    policy: Writing, queries: Mapping[int, Query], seeds: Mapping[int, int], temperature: float
) -> dict[int, Choice]:
    """An option of each query; equal queries are scored once. It is drawn apart from the thought,
    whose random numbers are those of the bare seed."""
    distinct = list(dict.fromkeys(queries.values()))
    scores = policy.log_probs(distinct) if distinct else []
    odds = {
        query: (log_pi.double() / temperature).softmax(0).tolist() if temperature
        else [float(at == int(log_pi.argmax())) for at in range(len(log_pi))]
        for query, log_pi in zip(distinct, scores, strict=True)
    }  # fmt: skip
    found = {}
    for i, query in queries.items():
        dice = Random(f"{seeds[i]} option")
        found[i] = Choice(query, dice.choices(range(len(query.labels)), odds[query])[0])
    return found


def _action(decision: Decision, choice: Choice) -> Action:
    from gamedsl.runtime import Action

    return Action(decision.legal[choice.action])
