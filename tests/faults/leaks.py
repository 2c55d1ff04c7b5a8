"""Leaks, found by playing every play of a small game: what a seat learns that it is not shown.

A seat lives through a play as a row of happenings: it is told of an event, is asked (with options
and a prompt), or the game is over; between them it may look at its view. Of two plays that have
been the same to it so far, what happens next must be of the same kind, and what it is shown must
be the same. Where it is not, the seat learns something from that: it is a leak.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gamedsl import Env, Episode
from tests.faults.histories import Point, points

Happening = tuple[Any, ...]
Lived = tuple[Happening, ...]


class Leak(NamedTuple):
    """Two histories that are one to a seat, and what differs: its `kind` and both values of it."""

    seat: str
    kind: str
    one: Point
    other: Point
    shown: tuple[Any, Any]


def leaks(env: Env) -> list[Leak]:
    """Returns one leak for each seat and each thing that differs; empty where nothing leaks."""
    found: dict[tuple[str, str], Leak] = {}
    history = list(points(env))
    for seat in env.seats:
        known: dict[tuple[str, Lived], tuple[Point, Any]] = {}
        lived_by: dict[int, Lived] = {}
        for point in history:
            lived = lived_by[id(point.before)] if point.before else ()
            for happening, facts in _happenings(seat, point, lived):
                for kind, fact in facts.items():
                    first, expected = known.setdefault((kind, lived), (point, fact))
                    if expected != fact:
                        leak = Leak(seat, kind, first, point, (expected, fact))
                        found.setdefault((seat, kind), leak)
                lived = (*lived, happening)
            lived_by[id(point)] = lived
    return list(found.values())


def parts(seat: str, one: Point, other: Point) -> bool:
    """Whether two histories, the same to a seat so far, part at something that it was not told."""
    lives = [_life(seat, point) for point in (one, other)]
    for (happening, facts), (second, others) in zip(*lives, strict=False):
        if facts != others:
            return True
        if happening != second:
            return False
    return False


def _life(seat: str, point: Point) -> list[tuple[Happening, dict[str, Any]]]:
    lived: list[tuple[Happening, dict[str, Any]]] = []
    for each in point.path():
        lived += _happenings(seat, each, tuple(happening for happening, _ in lived))
    return lived


def _happenings(seat: str, point: Point, lived: Lived) -> list[tuple[Happening, dict[str, Any]]]:
    """Returns what a seat observes where a history arrives, each with what it shows by
    happening."""
    told = sum(happening[0] == "told" for happening in lived)
    found: list[tuple[Happening, dict[str, Any]]] = []
    for event in point.episode.seen(seat)[told:]:
        found.append((("told", *event), {"next": ("told", event.step, event.seat)}))
    for decision in point.episode.decisions:
        if decision.seat == seat:
            asked = "asked", decision.step, decision.legal
            found.append((asked, {"next": asked}))
            found.append(
                (("looks",), {"view": _state(point.episode, seat), "prompt": _prompt(decision)})
            )
    if point.episode.done:
        found.append((("over",), {"next": "over"}))
        found.append((("looks",), {"view": _state(point.episode, seat)}))
    return found


def _state(episode: Episode, seat: str) -> str:
    return repr(episode.view(seat).data.get("state"))


def _prompt(decision: Any) -> Any:
    try:
        return decision.messages
    except Exception as error:  # of a broken template: that it fails is said elsewhere
        return type(error).__name__
