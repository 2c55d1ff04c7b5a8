"""Plays games between contestants, many side by side, so that endpoints answer concurrently.

Game n has the same seed in every seating: the same chance, and the same random numbers for the
draws of each seat. A contestant whose distribution is known is asked for it once in each
information set; its moves are drawn here. Others move themselves, and are opened anew with the
evaluation's seed for each seating, so that no match depends on what else was played.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice
from random import Random
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from gamedsl.evaluate.games import Games
from gamedsl.evaluate.seating import Holders
from gamedsl.players.base import DrawingPlayer, Player
from gamedsl.players.endpoint import EndpointPlayer
from gamedsl.policies.endpoint import EndpointError

if TYPE_CHECKING:
    from gamedsl.runtime import Action, Decision, Env, Episode
    from gamedsl.runtime.least import Amount

SIDE_BY_SIDE = 256
"""Games under way at a time."""
FEW_CALLS = 32
"""The same where an endpoint answers: what is unfinished when its budget ends was paid for."""
KEPT = 100_000
"""Distributions of a player that are kept."""

Progress = Callable[[int], None]
"""Told how many games have ended since it was told last."""


class Asked(NamedTuple):
    """A decision that a game waits for."""

    decision: Decision
    episode: Episode
    seed: int


class Answerer(Protocol):
    """A contestant as games see it."""

    def answers(self, asked: Sequence[Asked]) -> Sequence[Action | str]:
        """One answer to each."""
        ...


class Drawer:
    """Draws for a player whose distribution is known, by the seed of the game and the seat."""

    def __init__(self, player: DrawingPlayer, lasting: bool) -> None:
        """`lasting`: labels do not change from game to game, so neither do distributions."""
        self._player, self._lasting = player, lasting
        self._odds: dict[tuple[str, int], Sequence[float]] = {}
        """By information set, and the seed of the game unless labels last."""

    def answers(self, asked: Sequence[Asked]) -> list[Action]:
        from gamedsl.runtime import Action

        closed = [one for one in asked if one.decision.said is None]
        below = iter(self._cumulated(closed))
        return [
            Action(self._draw(one, next(below)) if one.decision.said is None else self._said(one))
            for one in asked
        ]

    def _said(self, one: Asked) -> str:
        decision = one.decision
        stream = Random(f"{one.seed} {decision.seat} {decision.information_set}")
        return self._player.say(decision, stream)

    def _draw(self, one: Asked, below: Sequence[float]) -> str:
        decision = one.decision
        stream = Random(f"{one.seed} {decision.seat} {decision.information_set}")
        return stream.choices(decision.legal, cum_weights=below)[0]

    def _cumulated(self, asked: Sequence[Asked]) -> list[Sequence[float]]:
        """Each decision's odds, summed up from the left; those not known yet are asked together."""
        keys = [self._key(one) for one in asked]
        new = {key: one for key, one in zip(keys, asked, strict=True) if key not in self._odds}
        rows = self._player.all_odds([(one.decision, one.episode) for one in new.values()])
        found = {key: list(accumulate(row)) for key, row in zip(new, rows, strict=True)}
        below = [self._odds.get(key) or found[key] for key in keys]
        if self._lasting and len(self._odds) < KEPT:
            self._odds |= found
        return below

    def _key(self, one: Asked) -> tuple[str, int]:
        return one.decision.information_set, 0 if self._lasting else one.seed


class Mover:
    """A player that moves by itself."""

    def __init__(self, player: Player) -> None:
        self._player = player

    def answers(self, asked: Sequence[Asked]) -> list[Action | str]:
        return [self._player.act(one.decision, one.episode) for one in asked]


class Caller:
    """An endpoint: its calls of a round are made together."""

    def __init__(self, player: EndpointPlayer) -> None:
        self._player = player

    def answers(self, asked: Sequence[Asked]) -> list[str]:
        return self._player.answers([one.decision for one in asked])


def answerer(player: Player, lasting: bool) -> Answerer:
    """What answers for a player."""
    if isinstance(player, EndpointPlayer):
        return Caller(player)
    return Drawer(player, lasting) if isinstance(player, DrawingPlayer) else Mover(player)


def seeds_of(seed: int, games: int) -> list[int]:
    """The seeds of the games of an evaluation; fewer games have the first of them."""
    stream = Random(f"games {seed}")
    return [stream.getrandbits(31) for _ in range(games)]


@dataclass
class _Rows:
    """What the games of one seating have come to so far."""

    payoffs: list[list[float]] = field(default_factory=list)
    rewards: list[list[float]] = field(default_factory=list)
    failed: list[list[bool]] = field(default_factory=list)
    asked: Counter[str] = field(default_factory=Counter)

    def add(self, more: _Rows) -> None:
        self.payoffs += more.payoffs
        self.rewards += more.rewards
        self.failed += more.failed
        self.asked += more.asked


def play_seatings(
    env: Env,
    seatings: Sequence[Holders],
    answerers: Mapping[Holders, Mapping[str, Answerer]],
    seeds: Sequence[int],
    progress: Progress = lambda done: None,
) -> tuple[list[Games], EndpointError | None]:
    """Play all seeds in all seatings; `answerers` are by seating and by name. The error is an
    endpoint's that stopped answering, or whose budget was spent, before all was played.

    What is unfinished then is dropped with the whole chunk of seeds that it is in: were games kept
    as they end, short ones would count for more. Raises as players do otherwise, and EndpointError
    where no chunk was finished.
    """
    rows = [_Rows() for _ in seatings]
    calls = any(isinstance(one, Caller) for by in answerers.values() for one in by.values())
    at_once = max(1, (FEW_CALLS if calls else SIDE_BY_SIDE) // len(seatings))
    stopped = None
    for chunk in _chunks(seeds, at_once):
        try:
            played = [_play(env, holders, answerers[holders], chunk) for holders in seatings]
        except EndpointError as error:
            if not rows[0].payoffs:
                raise
            stopped = error
            break
        for row, more in zip(rows, played, strict=True):
            row.add(more)
        progress(len(chunk) * len(seatings))
    return [_games(env, h, r) for h, r in zip(seatings, rows, strict=True)], stopped


def _chunks(seeds: Sequence[int], size: int) -> Iterator[list[int]]:
    rest = iter(seeds)
    while chunk := list(islice(rest, size)):
        yield chunk


def _play(
    env: Env, holders: Holders, answerers: Mapping[str, Answerer], seeds: Sequence[int]
) -> _Rows:
    """Some games of one seating, all a round further at a time."""
    seats, found = env.seats, _Rows()
    holder = dict(zip(seats, holders, strict=True))
    episodes = [env.reset(seed=seed) for seed in seeds]
    open_games = [e for e in episodes if not e.done]
    while open_games:
        asked: dict[str, list[Asked]] = {}
        for episode in open_games:
            for decision in episode.decisions:
                found.asked[decision.seat] += 1
                asked.setdefault(holder[decision.seat], []).append(
                    Asked(decision, episode, episode.seed)
                )
        replies: dict[int, dict[str, Action | str]] = {id(e): {} for e in open_games}
        for name, waiting in asked.items():
            for one, answer in zip(waiting, answerers[name].answers(waiting), strict=True):
                replies[id(one.episode)][one.decision.seat] = answer
        for episode in open_games:
            episode.step(replies[id(episode)])
        open_games = [e for e in open_games if not e.done]
    for episode in episodes:
        found.payoffs.append([_number(episode.payoffs[seat]) for seat in seats])
        found.rewards.append([_number(episode.rewards[seat]) for seat in seats])
        found.failed.append([seat in episode.failures for seat in seats])
    return found


def _number(amount: Amount) -> float:
    return float("nan") if amount is None else float(amount)


def _games(env: Env, holders: Holders, rows: _Rows) -> Games:
    seats = env.seats
    count, shape = len(rows.payoffs), (len(rows.payoffs), len(seats))
    return Games(
        holders, False, np.full(count, 1 / max(count, 1)),
        np.array(rows.payoffs, dtype=float).reshape(shape),
        np.array(rows.rewards, dtype=float).reshape(shape),
        np.array(rows.failed, dtype=bool).reshape(shape),
        np.array([rows.asked[seat] for seat in seats]),
    )  # fmt: skip
