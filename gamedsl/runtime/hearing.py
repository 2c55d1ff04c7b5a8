"""What a reply to a decision says, or why it is invalid: by its form, its length, and the rules."""

from __future__ import annotations

from typing import cast

from gamedsl.engine.kernel import Listening, State
from gamedsl.prompting.events import SILENCE
from gamedsl.prompting.forms import read_choice
from gamedsl.prompting.labels import LabelBook
from gamedsl.prompting.replies import ParseFailure
from gamedsl.prompting.spoken import read_said, value_said
from gamedsl.prompting.tokenizers import spoken_by
from gamedsl.runtime.decision import Action, Decision


def read_reply(
    decision: Decision, reply: Action | str | ParseFailure, state: State, book: LabelBook
) -> str | ParseFailure:
    """The canonical name of what a reply chooses or says in a state, or why it is invalid.

    ValueError: an `Action` is not legal, or is no canonical name of what may be said.
    """
    if isinstance(reply, ParseFailure):
        return reply
    if isinstance(reply, str):
        if decision.said is not None:
            return _heard(decision, reply, "", state)
        return read_choice(reply, decision.form, decision.legal, book)
    if reply.name == SILENCE and decision.may_be_silent:
        return SILENCE
    if decision.said is not None:
        return _heard(decision, reply.name, reply.name, state)
    if reply.name not in decision.legal:
        raise ValueError(
            f"`{reply.name}` is not legal for {decision.seat}: {', '.join(decision.legal)}"
        )
    return reply.name


def _heard(decision: Decision, text: str, name: str, state: State) -> str | ParseFailure:
    """The canonical name of what is said, if it is valid; `name` where it was made in that form."""
    said, seats = decision.said, decision.env.ir.seats
    assert said is not None
    read = name or read_said(text, said, decision.type, seats)
    if isinstance(read, ParseFailure):
        return read
    value_said(read, said, decision.type, seats)
    if _tokens(decision, text) > said.max_tokens:
        return ParseFailure("large", text)
    if said.valid is not None and not cast(Listening, state).admits(decision.seat, read):
        return ParseFailure("invalid", text)
    return read


def _tokens(decision: Decision, text: str) -> int:
    """How many tokens a text has for the model that says it; without a tokenizer, how many it has
    at least: its words."""
    counter = decision.env.tokenizer
    return len(text.split()) if counter is None else spoken_by(counter, decision.role).count(text)
