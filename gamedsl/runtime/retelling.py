"""Transcripts of games in words for people: what was said stands in lines of its own.

What a model wrote may hold anything: no character of it reaches a terminal that is not printed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gamedsl.backends.events import SILENCE, Event, known
from gamedsl.backends.replies import REASONS

if TYPE_CHECKING:
    from gamedsl.runtime.decision import Decision

LONG = 60
"""Letters that an outcome of chance may have in its line."""


def said(decision: Decision, step: str, name: str) -> tuple[str, str]:
    """How what a seat says reads, and the event that tells it whole."""
    if name == SILENCE:
        return f"{decision.seat} says nothing valid as {step}", ""
    body = quoted("\n".join(_fields(name)) if _form(decision) == "json" else name)
    return f"{decision.seat} says {step}:\n{body}", known((Event(step, 0, decision.seat, name),))


def drawn(place: str, name: str, probability: Any) -> str:
    """How an outcome of chance reads."""
    if len(name) <= LONG and "\n" not in name:
        return f"chance draws {place} = {name} ({probability})"
    return f"chance draws {place} ({probability}):\n{quoted(name)}"


def invalid(mistakes: Any, decision: Decision, but_last: bool = False) -> list[str]:
    """How the invalid replies to a decision read, in order, of what a header calls `mistakes`; any
    value is taken. `but_last`: the last is told elsewhere."""
    if not isinstance(mistakes, list):
        return []
    place = (decision.seat, decision.step, decision.occurrence)
    found = [
        one for one in mistakes
        if isinstance(one, dict) and isinstance(one.get("text"), str)
        and (one.get("seat"), one.get("step"), one.get("occurrence")) == place
    ]  # fmt: skip
    return [failed(decision.seat, str(one.get("reason")), one["text"])
            for one in found[: len(found) - but_last]]  # fmt: skip


def failed(seat: str, reason: str, text: str) -> str:
    """How an invalid reply reads."""
    why = REASONS.get(reason, reason)
    return f"{seat} gives no valid reply: {why}" + (f":\n{quoted(text)}" if text.strip() else "")


def quoted(text: str) -> str:
    """A text in lines that stand apart."""
    return "\n".join(f"| {_printable(line)}".rstrip() for line in text.split("\n"))


def indented(text: str, width: int) -> Sequence[str]:
    """A text whose lines after the first begin under it, `width` letters to the right; what is
    quoted stands further in."""
    first, *rest = text.split("\n")
    return [first, *(" " * (width + 4 * line.startswith("|")) + line for line in rest)]


def _form(decision: Decision) -> str:
    return "" if decision.said is None else decision.said.form


def _fields(name: str) -> list[str]:
    return [
        f"{field}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for field, value in json.loads(name).items()
    ]


def _printable(line: str) -> str:
    return "".join(c if c.isprintable() else "    " if c == "\t" else ascii(c)[1:-1] for c in line)
