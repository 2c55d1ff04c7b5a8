"""Thoughts in texts: the tags around one, and the fields of messages that give one apart.

A server with a reasoning parser, and a data set of chats, give a message's thought in a field of
its own. Games and the trainer read it in the reply, before the answer.

Games, transcripts and players know one pair of tags. A model may have learned to think between
others: `Tags` translates where texts become its tokens, and where its tokens become texts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

OPEN, CLOSE = "<think>", "</think>"
"""The tags of the thoughts that games ask for."""


@dataclass(frozen=True)
class Tags:
    """The tags between which a model thinks. No tag contains or overlaps another, so each text has
    exactly one translation. Every method returns the text as it is for a model that thinks between
    `OPEN` and `CLOSE`."""

    opening: str = OPEN
    closing: str = CLOSE

    def in_prompt(self, text: str) -> str:
        """Returns a text of a game as the model reads it: the game's tags become the model's, and
        the model's own stay, such as those that the author of a game wrote for this model."""
        return text.replace(OPEN, self.opening).replace(CLOSE, self.closing)

    def in_reply(self, text: str) -> str:
        """Returns a reply of the model as games have it, or a reply that games have as the model
        writes it. Both pairs change places, so that this is its own inverse, and `OPEN` in the
        model's own words opens no thought."""
        if self.opening == OPEN:
            return text
        return self._either.sub(lambda found: self._other[found[0]], text)

    def in_games(self, text: str) -> str:
        """Returns a text that somebody wrote for this model, in which both pairs may enclose
        thoughts, as games have it."""
        return text.replace(self.opening, OPEN).replace(self.closing, CLOSE)

    @cached_property
    def _other(self) -> dict[str, str]:
        there = {OPEN: self.opening, CLOSE: self.closing}
        return there | {own: tag for tag, own in there.items()}

    @cached_property
    def _either(self) -> re.Pattern[str]:
        return re.compile("|".join(map(re.escape, self._other)))


FIELDS = ("reasoning_content", "reasoning")
"""The fields of a message that have its thought: vLLM, SGLang and DeepSeek write the first, newer
vLLM and OpenRouter the second."""


def thought_in(message: Mapping[str, Any]) -> str:
    """Returns the thought that a message gives apart; empty where none of its fields has a text."""
    found = (message.get(name) for name in FIELDS)
    return next((text for text in found if isinstance(text, str) and text.strip()), "")


def with_thought(thought: str, reply: str) -> str:
    """Returns a reply with a thought before it. A reply that begins with a thought stays as it is.
    Before an empty reply the thought is left open: the author may not have ended it."""
    thought = thought.strip()
    if not thought or reply.lstrip().startswith(OPEN):
        return reply
    if not reply.strip():
        return f"{OPEN}\n{thought}"
    return "\n".join((OPEN, thought, CLOSE, reply.lstrip("\n")))
