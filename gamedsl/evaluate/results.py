"""Requests and results of evaluations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from gamedsl.evaluate.exact import Policy
from gamedsl.evaluate.games import (
    Contest,
    Games,
    Utility,
    WinRecord,
    mean_over_seatings,
    record,
    share_by_seed,
)
from gamedsl.evaluate.intervals import Estimate, mean_of_clusters
from gamedsl.evaluate.plan import Plan
from gamedsl.evaluate.replies import Keep, ReplyCount, ReplySite, summed
from gamedsl.evaluate.seating import Holders, Pairing
from gamedsl.policies.endpoint import EndpointError, EndpointSettings

if TYPE_CHECKING:
    from gamedsl.policies.cluster import StartWorkers
    from gamedsl.runtime import Game

Tell = Callable[[str, int, int], None]
"""Receives the name of a task, the amount done, and the total (0 if unknown)."""

Method = Literal["auto", "exact", "sampled"]


def silent(what: str, done: int, total: int) -> None:
    """The `Tell` that says nothing."""


@dataclass(frozen=True)
class Options:
    """Options of an evaluation. `search` is the number of games simulated for each seat's
    response if the game is too large for exact exploitability; 0 leaves it out."""

    games: int = 1000
    seed: int = 0
    utility: Utility = "payoffs"
    method: Method = "auto"
    search: int = 500
    decisions: bool = False
    """Whether to work out what equilibria do at each decision."""
    endpoints: EndpointSettings = field(default_factory=EndpointSettings)
    tell: Tell = silent
    keep: Keep | None = None
    """Receives the transcripts of the games that are played."""
    vllm: Mapping[str, Any] | None = None
    """Settings of vLLM, if that writes the models' replies; see `VllmSettings`."""
    report_interrupted: bool = False
    """Whether Ctrl-C ends the evaluation with what was finished. Else it raises
    KeyboardInterrupt."""
    workers: StartWorkers | None = None
    """Starts the workers that play the games; None plays them here."""
    thoughts: int = 32
    """Thoughts drawn at each decision, of models that think, where `decisions` are asked for."""
    carry: int = 1
    """Episodes of a lineage: each but the first begins with the memory that the one before left, of
    state that `lasts: run`. `games` are rounded up to whole lineages."""


@dataclass(frozen=True)
class Exploitability:
    """NashConv / seats of a contestant that holds all seats: `exact`, or what it is at `least`, by
    replies that were tried: `tried` for each seat, other contestants among them; or `sampled`, from
    so many `thoughts` at each decision. `estimate` is None
    where it is not known, and `why` says why. The lower end of a bound's interval is below 0 where
    no reply gains for sure: then nothing is known."""

    kind: Literal["exact", "least", "sampled", "unknown"]
    estimate: Estimate | None = None
    why: str = ""
    tried: int = 0
    thoughts: int = 0


class Spent(NamedTuple):
    """Calls to an endpoint, and the tokens that it counted."""

    calls: int
    tokens: int


@dataclass(frozen=True)
class Evaluation:
    """The results of an evaluation."""

    game: Game
    plan: Plan
    options: Options
    pairings: tuple[Pairing, ...]
    games: Mapping[Holders, Games]
    exploitability: Mapping[str, Exploitability]
    contest: Contest | None
    """The range of payoffs, for two seats that are paid the same in sum in every game."""
    why_sampled: str
    """Why something was sampled; empty where nothing was."""
    policies: Mapping[str, Policy]
    """The policies of contestants, by name, if the game is written out and they hold all seats."""
    ranges: Mapping[str, Any] | None
    """The ranges of `gamedsl.solve.probability_ranges.Ranges.as_dict`; None where they were not
    asked for, or are not known."""
    stopped: EndpointError | None = None
    """What ended the evaluation early: an endpoint, or Interrupted."""
    spent: Mapping[str, Spent] = field(default_factory=dict)
    """The calls to each endpoint, by the contestant's name."""
    refused: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """The answers of each endpoint that were no replies, by the contestant's name and the key of
    `endpoint_protocol.REFUSALS`."""

    @property
    def seats(self) -> tuple[str, ...]:
        return tuple(self.game.ir.seats)

    @property
    def exact(self) -> bool:
        return all(games.exact for games in self.games.values())

    def played(self, pairing: Pairing) -> bool:
        """Whether the pairing was come to before all ended."""
        return all(seating.holders in self.games for seating in pairing.seatings)

    def earned(self, pairing: Pairing, utility: Utility | None = None) -> Estimate | None:
        """Returns the focal contestant's mean payoff, all its seats counting alike."""
        parts = [(self.games[s.holders], s.focal) for s in pairing.seatings]
        return mean_over_seatings(parts, utility or self.options.utility)

    def by_role(self, pairing: Pairing, utility: Utility | None = None) -> dict[str, Estimate]:
        """Returns its mean payoff in each role that it takes."""
        role_of = self.game.ir.role_of
        found = {}
        for role in dict.fromkeys(role_of[seat] for seat in self.seats):
            parts = []
            for seating in pairing.seatings:
                own = [n for n in seating.focal if role_of[self.seats[n]] == role]
                if own:
                    parts.append((self.games[seating.holders], own))
            estimate = mean_over_seatings(parts, utility or self.options.utility) if parts else None
            if estimate is not None:
                found[role] = estimate
        return found

    @property
    def referee_payoffs(self) -> dict[str, Estimate]:
        """The mean payoff of each referee that has one, over all games. Games of one number share a
        seed, so they are one observation; some seatings have more games than others."""
        columns: dict[str, list[np.ndarray]] = {}
        for games in self.games.values():
            for role, paid_G in games.referee_payoffs.items():
                columns.setdefault(role, []).append(games.by_lineage(paid_G))
        found = {}
        for role, parts in columns.items():
            longest = max(map(len, parts))
            columns_CK = np.full((longest, len(parts)), np.nan)
            for number, part in enumerate(parts):
                columns_CK[: len(part), number] = part
            estimate = mean_of_clusters(columns_CK)
            if estimate is not None:
                found[role] = estimate
        return found

    def by_episode(self, pairing: Pairing) -> list[Estimate | None]:
        """Returns the focal contestant's mean payoff in the first episode of its lineages, in the
        second, and so on; empty where nothing is carried over."""
        parts = [(self.games[s.holders], s.focal) for s in pairing.seatings]
        if any(games.carry == 1 for games, _ in parts):
            return []
        return [
            mean_over_seatings(
                [(games.of_episode(number), seats) for games, seats in parts], self.options.utility
            )
            for number in range(self.options.carry)
        ]

    def record(self, pairing: Pairing) -> WinRecord | None:
        """Shares won, drawn and lost; None but for two seats of constant sum, one of them the focal
        contestant's."""
        if self.contest is None or pairing.mirror:
            return None
        return record([(self.games[s.holders], s.focal[0]) for s in pairing.seatings])

    def invalid(self, name: str) -> Estimate | None:
        """The share of a contestant's replies that were invalid; None where it was asked none."""
        parts = []
        for games in self.games.values():
            own_S = np.array([holder == name for holder in games.holders])
            parts.append((games, games.invalid_GS @ own_S, games.asked_GS @ own_S))
        return share_by_seed(parts)

    @property
    def in_words(self) -> bool:
        """Whether there is something to say of replies."""
        return self.game.ir.in_form and not self.exact

    @cached_property
    def reply_counts(self) -> dict[ReplySite, ReplyCount]:
        """Returns the counts of replies in all games, by contestant, role and step."""
        return summed(games.reply_counts for games in self.games.values())

    @property
    def own_ends(self) -> Estimate | None:
        """The share of games that no invalid reply ended."""
        return share_by_seed(
            (games, games.own_ends_G, np.ones(len(games.own_ends_G)))
            for games in self.games.values()
        )
