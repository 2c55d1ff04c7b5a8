"""What a seat has seen, in order: the raw material of views, prompts and information sets."""

from __future__ import annotations

from typing import NamedTuple


class Event(NamedTuple):
    """A choice that has become visible.

    `step` is the step's id, `occurrence` how many times it had run before (from 0), `seat` who
    chose, `name` the canonical name of the option chosen.
    """

    step: str
    occurrence: int
    seat: str
    name: str


Seen = tuple[Event, ...]
