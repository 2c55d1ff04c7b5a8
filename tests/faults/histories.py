"""Histories of a game, walked from outside: by `Episode.draw` and `Episode.step` alone.

Nothing here knows how the compiler proves anything: it is what a patient person would find by
playing every play of a small game.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import gamedsl
from gamedsl import Env, Episode, EvaluationError
from gamedsl.ir import GameIR

MOST = 6_000
"""Histories that may be gone through: the games of the corpus are small."""

Item = tuple[str, str, int, str]
"""A move: its step, its seat or index, how often these were there before, and its name."""


@dataclass(frozen=True)
class Point:
    """A history: the names of its moves, as a proof's witness has them, and how it came about.

    `failed` is what the rules have no value for when the last move is made.
    """

    episode: Episode
    moves: tuple[str, ...]
    items: tuple[Item, ...]
    chance: Fraction
    before: Point | None
    choices: Mapping[str, str]
    failed: EvaluationError | None = None

    def path(self) -> list[Point]:
        """Returns the histories from the start of the game to here."""
        return [*(self.before.path() if self.before else ()), self]


def environment(ir: GameIR) -> Env:
    """Returns the reference interpreter: of a broken game nothing else can be relied on."""
    return Env(ir, backend="interpreter")


def points(env: Env) -> Iterator[Point]:
    """Returns every history, each after the one it extends. Raises ValueError where there are more
    than MOST."""
    start = env.reset(chance="asked", forced="asked")
    waiting = [Point(start, (), (), Fraction(1), None, {})]
    for _ in range(MOST):
        if not waiting:
            return
        point = waiting.pop()
        yield point
        if point.failed is None and not point.episode.done:
            waiting += reversed(list(after(point)))
    raise ValueError(f"{env.ir.name}: more than {MOST} histories")


def plays(env: Env) -> list[Point]:
    """Returns the complete histories."""
    return [point for point in points(env) if point.failed or point.episode.done]


def played(env: Env, moves: tuple[str, ...]) -> Point:
    """Returns the history of these moves. Raises ValueError where one of them cannot be made."""
    point = Point(env.reset(chance="asked", forced="asked"), (), (), Fraction(1), None, {})
    while len(point.moves) < len(moves):
        if point.failed or point.episode.done:
            raise ValueError(f"{moves} goes on after {point.moves}")
        ahead = [p for p in after(point) if p.moves == moves[: len(p.moves)]]
        if len(ahead) != 1:
            raise ValueError(f"{moves} cannot be played on from {point.moves}")
        point = ahead[0]
    return point


def after(point: Point) -> Iterator[Point]:
    """Returns the histories that are one move longer; of a joint decision, one for all its
    choices."""
    if not point.episode.decisions:
        step, index = point.episode.drawing
        for number, outcome in enumerate(point.episode.chance):
            item = _item(point, step, ",".join(index), outcome.name)
            copy, failed = _moved(point.episode, number)
            chance = point.chance * outcome.probability
            yield Point(
                copy, (*point.moves, outcome.name), (*point.items, item), chance, point, {}, failed
            )
        return
    asked = point.episode.decisions
    for names in product(*(d.legal for d in asked)):
        chosen = {d.seat: name for d, name in zip(asked, names, strict=True)}
        items = tuple(_item(point, d.step, d.seat, chosen[d.seat]) for d in asked)
        copy, failed = _moved(point.episode, chosen)
        yield Point(
            copy, (*point.moves, *names), point.items + items, point.chance, point, chosen, failed
        )


def _item(point: Point, step: str, whose: str, name: str) -> Item:
    before = sum(item[:2] == (step, whose) for item in point.items)
    return step, whose, before, name


def _moved(episode: Episode, move: int | dict[str, str]) -> tuple[Episode, EvaluationError | None]:
    copy = episode.fork()
    try:
        if isinstance(move, int):
            copy.draw(move)
        else:
            copy.step({seat: gamedsl.Action(name) for seat, name in move.items()})
    except EvaluationError as error:
        return copy, error
    return copy, None


def shape(env: Env) -> dict[tuple[str, ...], Any]:
    """Returns all there is to a game, by history: who may choose what, how likely, what is paid."""
    return {
        point.moves: (
            point.chance,
            tuple((d.seat, d.step, d.legal) for d in point.episode.decisions),
            dict(point.episode.payoffs),
            dict(point.episode.rewards),
        )
        for point in points(env)
    }


class Play(NamedTuple):
    """The outcome of a play: how likely it is, what it pays, and which of its moves each seat has
    seen (what it was shown follows from moves)."""

    chance: Fraction
    payoffs: Mapping[str, Any]
    seen: Mapping[str, frozenset[Item]]

    def exchanged(self, one: str, two: str) -> Play:
        """Returns the same with two seats exchanged."""
        names = {one: two, two: one}
        payoffs = {names.get(seat, seat): amount for seat, amount in self.payoffs.items()}
        seen = {names.get(s, s): exchanged(items, one, two) for s, items in self.seen.items()}
        return Play(self.chance, payoffs, seen)


def results(env: Env) -> dict[frozenset[Item], Play]:
    """Returns the outcome of every play, by its moves in no order."""
    return {frozenset(play.items): _result(play) for play in plays(env)}


def _result(play: Point) -> Play:
    episode, steps = play.episode, {item[0] for item in play.items}
    seen = {
        seat: frozenset(
            (e.step, e.seat, e.occurrence, e.name) for e in episode.seen(seat) if e.step in steps
        )
        for seat in episode.env.seats
    }
    return Play(play.chance, dict(episode.payoffs), seen)


def exchanged(items: frozenset[Item], one: str, two: str) -> frozenset[Item]:
    """Returns the moves of a play with two seats exchanged: who moves, for whom, and who is
    named."""
    names = {one: two, two: one}
    return frozenset(
        (
            step,
            ",".join(names.get(part, part) for part in whose.split(",")),
            times,
            names.get(name, name),
        )
        for step, whose, times, name in items
    )
