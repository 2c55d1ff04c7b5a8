"""Thoughts in texts: the tags around one, and the fields of messages that give one apart.

A server with a reasoning parser, and a data set of chats, give a message's thought in a field of
its own. Games and the trainer read it in the reply, before the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OPEN, CLOSE = "<think>", "</think>"
"""The tags of the thoughts that games ask for."""

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
