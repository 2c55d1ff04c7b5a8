"""Plays games between contestants, many side by side, so that endpoints answer concurrently.

Game n has the same seed in every seating: the same chance, and the same random numbers for the
draws of each seat. A contestant whose distribution is known is asked for it once in each
information set; its moves are drawn here, afresh where a seat comes to the same set again. Others
move themselves, and are opened anew with the evaluation's seed for each seating, so that no match
depends on what else was played.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice
from random import Random
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from gamedsl.evaluate.games import Games, row_means
from gamedsl.evaluate.replies import Counts, Keep, Talk, in_clusters
from gamedsl.evaluate.seating import Holders
from gamedsl.players.base import Answered, DrawingPlayer, Player, Posed, Speaker
from gamedsl.players.endpoint import EndpointPlayer
from gamedsl.policies.daemon_threads import DaemonExecutor, result_of
from gamedsl.policies.endpoint import EndpointError, Interrupted

if TYPE_CHECKING:
    from gamedsl.runtime import Action, Decision, Env, Episode
    from gamedsl.runtime.memory import Memory
    from gamedsl.runtime.min_payoff import Amount

SIDE_BY_SIDE = 256
"""Games under way at a time."""
FEW = 32
"""The same where replies are written: they take room, and where an endpoint writes them what is
unfinished when its budget ends was paid for."""
KEPT = 100_000
"""Distributions of a player that are kept."""

Progress = Callable[[int], None]
"""Receives the number of games that have ended since the last call."""


class Asked(NamedTuple):
    """A decision that a game waits for."""

    talk: Talk
    decision: Decision

    @property
    def stream(self) -> Random:
        """The random numbers of the decision: by its game, seat, information set, attempt, and
        earlier visits to the set in this game."""
        decision = self.decision
        again = f" {len(decision.failed)}" if decision.failed else ""
        visits = self.talk.earlier_visits(decision)
        back = f" after {visits}" if visits else ""
        seed = self.talk.episode.seed
        return Random(f"{seed} {decision.seat} {decision.information_set}{again}{back}")


class Answerer(Protocol):
    """A contestant as games see it."""

    def answers(self, asked: Sequence[Asked]) -> Sequence[Answered]:
        """Returns one answer to each decision."""
        ...


class Drawer:
    """Draws for a player whose distribution is known, by the seed of the game and the seat."""

    def __init__(self, player: DrawingPlayer, lasting: bool) -> None:
        """`lasting`: labels do not change from game to game, so neither do distributions."""
        self._player, self._lasting = player, lasting
        self._odds: dict[tuple[str, int], Sequence[float]] = {}
        """By information set, and the seed of the game unless labels last."""

    def answers(self, asked: Sequence[Asked]) -> list[Answered]:
        closed = [one for one in asked if one.decision.said is None]
        below = iter(self._cumulated(closed))
        return [
            Answered(self._sampled_action(one, next(below) if one.decision.said is None else None))
            for one in asked
        ]

    def _sampled_action(self, one: Asked, below: Sequence[float] | None) -> Action:
        from gamedsl.runtime import Action

        stream, decision = one.stream, one.decision
        if below is None:
            return Action(self._player.say(decision, stream))
        return Action(stream.choices(decision.legal, cum_weights=below)[0])

    def _cumulated(self, asked: Sequence[Asked]) -> list[Sequence[float]]:
        """Each decision's odds, summed up from the left; those not known yet are asked together."""
        keys = [self._key(one) for one in asked]
        new = {key: one for key, one in zip(keys, asked, strict=True) if key not in self._odds}
        rows = self._player.all_odds([(one.decision, one.talk.episode) for one in new.values()])
        found = {key: list(accumulate(row)) for key, row in zip(new, rows, strict=True)}
        below = [self._odds.get(key) or found[key] for key in keys]
        if self._lasting and len(self._odds) < KEPT:
            self._odds |= found
        return below

    def _key(self, one: Asked) -> tuple[str, int]:
        return one.decision.information_set, 0 if self._lasting else one.talk.episode.seed


class Mover:
    """A player that moves by itself."""

    def __init__(self, player: Player) -> None:
        self._player = player

    def answers(self, asked: Sequence[Asked]) -> list[Answered]:
        return [Answered(self._player.act(one.decision, one.talk.episode)) for one in asked]


class Teller:
    """A player that answers many decisions at once: a model, or an endpoint."""

    def __init__(self, player: Speaker) -> None:
        self._player = player
        self.calls = isinstance(player, EndpointPlayer)
        """Whether it waits for somebody else, so that others can answer meanwhile."""

    def answers(self, asked: Sequence[Asked]) -> list[Answered]:
        return self._player.answers(
            [Posed(one.decision, one.talk.episode, one.stream.getrandbits(31)) for one in asked]
        )

    def stop(self) -> None:
        """Gives up what is asked of an endpoint; another thread may call it."""
        if isinstance(self._player, EndpointPlayer):
            self._player.endpoint.stop()


def answerer(player: Player, lasting: bool) -> Answerer:
    """Returns the function that answers for a player."""
    if isinstance(player, Speaker):
        return Teller(player)
    return Drawer(player, lasting) if isinstance(player, DrawingPlayer) else Mover(player)


def seeds_of(seed: int, games: int) -> list[int]:
    """The seeds of the games of an evaluation; fewer games have the first of them."""
    stream = Random(f"games {seed}")
    return [stream.getrandbits(31) for _ in range(games)]


@dataclass(frozen=True)
class Seated:
    """One seating with its answerers by seat, referees included."""

    holders: Holders
    who: Mapping[str, str]
    """Their names."""
    answerers: Mapping[str, Answerer]


@dataclass
class _Rows:
    """The results of one seating's games so far."""

    payoffs: list[list[float]] = field(default_factory=list)
    rewards: list[list[float]] = field(default_factory=list)
    judged: list[dict[str, float]] = field(default_factory=list)
    failed: list[list[bool]] = field(default_factory=list)
    asked: list[list[int]] = field(default_factory=list)
    invalid: list[list[int]] = field(default_factory=list)
    own_ends: list[bool] = field(default_factory=list)
    said: list[Counts] = field(default_factory=list)

    def add(self, seats: Sequence[str], talks: Sequence[Talk]) -> None:
        """Games that have ended."""
        for talk in talks:
            episode = talk.episode
            self.payoffs.append([_number(episode.payoffs[seat]) for seat in seats])
            self.rewards.append([_number(episode.rewards[seat]) for seat in seats])
            judged = episode.referee_payoffs.items()
            self.judged.append({seat: _number(amount) for seat, amount in judged})
            self.failed.append([seat in episode.failures for seat in seats])
            self.asked.append([talk.asked[seat] for seat in seats])
            invalid = Counter(mistake.decision.seat for mistake in episode.mistakes)
            self.invalid.append([invalid[seat] for seat in seats])
            self.own_ends.append(not episode.failures)
            self.said.append(talk.counts)


def play_seatings(
    env: Env, tables: Sequence[Seated], seeds: Sequence[int],
    progress: Progress = lambda done: None, keep: Keep | None = None, *,
    report_interrupted: bool = False, carry: int = 1,
) -> tuple[list[Games], EndpointError | None]:  # fmt: skip
    """Play all seeds in all seatings. The error is an endpoint's that stopped answering, or whose
    budget was spent, before all was played; with `report_interrupted` also Interrupted, for Ctrl-C.
    `keep` is given the transcripts. Of `carry` seeds in a row each game but the
    first begins with the memory that the one before it left.

    What is unfinished then is dropped with the whole chunk of seeds that it is in: were games kept
    as they end, short ones would count for more. Raises as players do otherwise, and EndpointError
    where no chunk was finished.
    """
    rows = [_Rows() for _ in tables]
    few = any(isinstance(one, Teller) for table in tables for one in table.answerers.values())
    at_once = max(1, (FEW if few else SIDE_BY_SIDE) // len(tables)) * carry
    stopped: EndpointError | None = None
    for chunk in _chunks(seeds, at_once):
        try:
            played = _play_lineages(env, tables, chunk, carry)
        except EndpointError as error:
            if not rows[0].payoffs:
                raise
            stopped = error
            break
        except KeyboardInterrupt:
            if not report_interrupted:
                raise
            stopped = Interrupted()
            if not rows[0].payoffs:
                raise stopped from None
            break
        for table, row, talks in zip(tables, rows, played, strict=True):
            row.add(env.seats, talks)
            if keep is not None:
                keep(table.holders, [talk.record for talk in talks])
        progress(len(chunk) * len(tables))
    return [_games(env, t.holders, r, carry) for t, r in zip(tables, rows, strict=True)], stopped


def play_side_by_side(env: Env, table: Seated, seeds: Sequence[int]) -> Iterator[Episode]:
    """Yields the episodes of all seeds in one seating, in order. Raises as players do."""
    few = any(isinstance(one, Teller) for one in table.answerers.values())
    for chunk in _chunks(seeds, FEW if few else SIDE_BY_SIDE):
        (talks,) = _play_lineages(env, [table], chunk, 1)
        yield from (talk.episode for talk in talks)


def _chunks(seeds: Sequence[int], size: int) -> Iterator[list[int]]:
    rest = iter(seeds)
    while chunk := list(islice(rest, size)):
        yield chunk


def _play_lineages(
    env: Env, tables: Sequence[Seated], seeds: Sequence[int], carry: int
) -> list[list[Talk]]:
    """The games of some seeds in all seatings, in order. All lineages play an episode, then all the
    next one."""
    count = len(seeds) // carry
    memories: list[list[Memory | None]] = [[None] * count for _ in tables]
    rounds = []
    for number in range(carry):
        rounds.append(_play(env, tables, seeds[number::carry], memories))
        memories = [[talk.episode.memory for talk in talks] for talks in rounds[-1]]
    return [
        [talk for lineage in zip(*played, strict=True) for talk in lineage]
        for played in zip(*rounds, strict=True)
    ]


def _play(
    env: Env, tables: Sequence[Seated], seeds: Sequence[int],
    memories: Sequence[Sequence[Memory | None]],
) -> list[list[Talk]]:  # fmt: skip
    """The games of some seeds in all seatings, all a round further at a time, each from a memory
    of its own."""
    games = [
        [
            Talk(env.reset(seed=seed, memory=memory), table.who)
            for seed, memory in zip(seeds, left, strict=True)
        ]
        for table, left in zip(tables, memories, strict=True)
    ]
    waiting = [(talk, table) for table, talks in zip(tables, games, strict=True) for talk in talks]
    while waiting := [(talk, table) for talk, table in waiting if not talk.episode.done]:
        asked: dict[Answerer, list[Asked]] = {}
        for talk, table in waiting:
            for decision in talk.episode.decisions:
                asked.setdefault(table.answerers[decision.seat], []).append(Asked(talk, decision))
        replies: dict[int, list[tuple[Decision, Answered]]] = {id(t): [] for t, _ in waiting}
        for one, answer in _answered(asked):
            replies[id(one.talk)].append((one.decision, answer))
        for talk, _ in waiting:
            talk.step(replies[id(talk)])
    return games


def _answered(
    asked: Mapping[Answerer, Sequence[Asked]],
) -> Iterator[tuple[Asked, Answered]]:
    """Yields everybody's answers; endpoints are asked while the others think."""
    calling = [one for one in asked if isinstance(one, Teller) and one.calls]
    with DaemonExecutor(len(calling)) as pool:
        called = {one: pool.submit(one.answers, asked[one]) for one in calling}
        try:
            for one, here in asked.items():
                if one not in called:
                    yield from zip(here, one.answers(here), strict=True)
            for one, answers in called.items():
                found = result_of(answers)
                yield from zip(asked[one], found, strict=True)
        except BaseException:
            for one in calling:
                one.stop()
            raise


def _number(amount: Amount) -> float:
    return float("nan") if amount is None else float(amount)


def _games(env: Env, holders: Holders, rows: _Rows, carry: int) -> Games:
    seats = env.seats
    count, shape = len(rows.payoffs), (len(rows.payoffs), len(seats))
    return Games(
        holders, False, np.full(count, 1 / max(count, 1)),
        np.array(rows.payoffs, dtype=float).reshape(shape),
        np.array(rows.rewards, dtype=float).reshape(shape),
        np.array(rows.failed, dtype=bool).reshape(shape),
        np.array(rows.asked, dtype=int).reshape(shape),
        np.array(rows.invalid, dtype=int).reshape(shape),
        np.array(rows.own_ends, dtype=bool), in_clusters(rows.said, carry), carry,
        _referee_payoffs(env, rows),
    )  # fmt: skip


def _referee_payoffs(env: Env, rows: _Rows) -> dict[str, np.ndarray]:
    """Returns what each referee that has a payoff was paid in each game, on average over its
    seats."""
    seats_of: dict[str, list[str]] = {}
    for seat, _ in env.ir.referee_payoffs:
        seats_of.setdefault(env.ir.role_of[seat], []).append(seat)
    return {
        role: row_means(np.array([[one[s] for s in seats] for one in rows.judged], dtype=float)
                        .reshape(len(rows.judged), len(seats)))
        for role, seats in seats_of.items()
    }  # fmt: skip
