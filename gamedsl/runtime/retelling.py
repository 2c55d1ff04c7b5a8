"""Transcripts of games in words for people: what was said stands in lines of its own.

What a model wrote may hold anything: no character of it reaches a terminal that is not printed.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gamedsl.prompting.events import SILENCE, Event, known
from gamedsl.prompting.forms import split_thought
from gamedsl.prompting.replies import REASONS, ParseFailure

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
    found = _invalid(mistakes, decision)
    return [failed(decision.seat, str(one.get("reason")), one["text"])
            for one in found[: len(found) - but_last]]  # fmt: skip


class Thoughts:
    """What was thought before closed decisions, of a header's `replies`: what models wrote, as it
    came and in order. Any values are taken."""

    def __init__(self, head: Mapping[str, Any]) -> None:
        self._mistakes = head.get("mistakes")
        self._texts: dict[tuple[str, str], deque[str]] = defaultdict(deque)
        replies = head.get("replies")
        for one in replies if isinstance(replies, list) else ():
            if not isinstance(one, dict):
                continue
            seat, step, text = (one.get(key) for key in ("seat", "step", "text"))
            if isinstance(seat, str) and isinstance(step, str) and isinstance(text, str):
                self._texts[seat, step].append(text)

    def before(self, decision: Decision) -> list[str]:
        """How the thought reads that came before what was chosen; each reply is told once."""
        texts = self._texts[decision.seat, decision.step]
        if decision.said is not None or len(decision.legal) == 1:
            return []
        tries = len(_invalid(self._mistakes, decision))
        for _ in range(min(tries, len(texts))):
            texts.popleft()
        costs = decision.env.ir.costs
        if not texts or tries > costs[decision.seat].retry:
            return []
        split = split_thought(texts.popleft())
        if isinstance(split, ParseFailure) or not split[0]:
            return []
        return [f"{decision.seat} thinks:\n{quoted(split[0])}"]


def _invalid(mistakes: Any, decision: Decision) -> list[dict[str, Any]]:
    """The invalid replies to a decision."""
    place = (decision.seat, decision.step, decision.occurrence)
    return [
        one for one in (mistakes if isinstance(mistakes, list) else ())
        if isinstance(one, dict) and isinstance(one.get("text"), str)
        and (one.get("seat"), one.get("step"), one.get("occurrence")) == place
    ]  # fmt: skip


def chosen(step: str, choices: Mapping[str, str]) -> list[str]:
    """How closed choices of a step read."""
    made = {seat: name for seat, name in choices.items() if name != SILENCE}
    lines = [f"{seat} chooses nothing as {step}" for seat in choices if seat not in made]
    if made:
        lines.append(", ".join(f"{seat} chooses {step} = {name}" for seat, name in made.items()))
    return lines


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
