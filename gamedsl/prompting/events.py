"""Events: the history of a game as one seat has seen it, from which views, prompts and information
sets are made."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from gamedsl.storage.strict_json import JsonRefused, parse

_MARKS = re.compile(r'[\n"\[\]]|, ')
"""Characters that no name of a closed choice or an outcome has."""


class Event(NamedTuple):
    """A choice, an outcome of chance or a thing shown that a seat has come to know.

    `step` is the step's id; `seat` is who chose or whom the outcome is for, empty where that is
    nobody; `name` is the canonical name of what was chosen, drawn or shown. `occurrence` is how
    many events of this step and seat the reader had seen before (from 0): of what it has not seen,
    it is not told the number either.
    """

    step: str
    occurrence: int
    seat: str
    name: str


Seen = tuple[Event, ...]

SILENCE = ""
"""The name of a missing reply: the seat gave no valid one, and the game goes on without."""


class Turn(NamedTuple):
    """A decision that a seat was asked for, and its reply: `told` is the number of events it had
    seen by then, `name` the canonical name of its choice or reply, `counts` the numbers of passes
    that the question names."""

    step: str
    legal: tuple[str, ...]
    told: int
    name: str
    counts: tuple[tuple[str, int], ...] = ()


def counts_of(names: tuple[str, ...], variables: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    """Returns the numbers of passes that a question names."""
    return tuple((name, variables[name]) for name in names)


def appended(seen: Seen, step: str, seat: str, name: str) -> Seen:
    """Returns the events of a seat with one more at the end."""
    return (*seen, Event(step, occurrences(seen, step, seat), seat, name))


def occurrences(seen: Seen, step: str, seat: str) -> int:
    """Returns the number of events of a step and seat."""
    for event in reversed(seen):
        if event.step == step and event.seat == seat:
            return event.occurrence + 1
    return 0


def known(seen: Seen) -> str:
    """Returns events as text: `first.open=check, board=Q`. A reply stands in quotes where it could
    be read as something else, so that different events have different texts."""
    return ", ".join(
        f"{event.seat}.{event.step}={unambiguous(event.name)}"
        if event.seat
        else f"{event.step}={unambiguous(event.name)}"
        for event in seen
    )


@lru_cache(maxsize=4096)
def unambiguous(name: str) -> str:
    """Returns a name that shows where it ends: as it is, or as JSON. A JSON object shows it by
    itself."""
    if not _MARKS.search(name):
        return name
    try:
        by_itself = isinstance(parse(name), dict)
    except JsonRefused:
        by_itself = False
    return name if by_itself else json.dumps(name, ensure_ascii=False)


def information(seat: str, seen: Seen) -> str:
    """Returns all that a seat has seen: `first [first.card=J, first.open=check]`."""
    return _with(seat, known(seen))


def information_set(seat: str, step: str, known: str) -> str:
    """Returns the key of the information set in which a seat is asked: `first:open [first.card=J]`.

    `known` is what it has seen, as the function of this name says it: the seat's own choices and
    all that was shown to it, so that no seat forgets.
    """
    return _with(f"{seat}:{step}", known)


def known_in(key: str) -> str:
    """Returns the events in the key of an information set."""
    return key.partition(" [")[2].removesuffix("]")


def _with(name: str, known: str) -> str:
    return f"{name} [{known}]" if known else name
