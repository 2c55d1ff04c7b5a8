"""Position swaps: a referee reads two seats in each other's places."""

from __future__ import annotations

from collections.abc import Sequence

from gamedsl.prompting.events import Event


def exchanged_events(events: Sequence[Event], pair: tuple[str, str]) -> tuple[Event, ...]:
    """Returns the events of one message with those of two seats exchanged: at the same step, of the
    same occurrence; of the rest, the first and the first, and so on. An event without a counterpart
    stays in its place."""
    found = list(events)
    ones, others = (
        {(event.step, event.occurrence): i for i, event in enumerate(events) if event.seat == seat}
        for seat in pair
    )
    alike = [place for place in ones if place in others]
    counterparts = [(ones.pop(place), others.pop(place)) for place in alike]
    for one, other in (*counterparts, *zip(ones.values(), others.values(), strict=False)):
        found[one], found[other] = events[other], events[one]
    return tuple(found)


def exchanged_names(names: tuple[str, ...], pair: tuple[str, str]) -> tuple[str, ...]:
    """Returns options, with two that are named as seats in each other's places."""
    if not set(pair) <= set(names):
        return names
    other = {pair[0]: pair[1], pair[1]: pair[0]}
    return tuple(other.get(name, name) for name in names)
