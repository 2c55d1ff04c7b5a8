"""Exact results: games small enough to write out, between players whose distributions are known.

Nothing is played. A contestant is asked once in each information set, and its table is laid over
the tree of the game: what it earns, and how exploitable it is, are then sums, not estimates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gamedsl.evaluate.games import Contest, Games, Utility
from gamedsl.evaluate.seating import Holders
from gamedsl.players.base import DrawingPlayer
from gamedsl.players.policy_file import PolicyError
from gamedsl.solve import ImperfectRecall, TooLarge, Tree, exploitability, tabulate
from gamedsl.solve.best_responses import Sweep
from gamedsl.training.information_sets import information_sets

if TYPE_CHECKING:
    from gamedsl.runtime import Decision, Env, Episode

NODES = 20_000
"""Nodes up to which a game is written out,"""
DECISIONS = 2_000
"""and information sets."""

Policy = Mapping[str, Mapping[str, float]]
"""Information set -> action -> probability."""


@dataclass(frozen=True)
class ExactGame:
    """A game written out: its tree, and a decision for each information set. `recall`: no seat
    forgets, so that best replies can be worked out."""

    tree: Tree
    asked: Mapping[str, tuple[Decision, Episode]]
    recall: bool

    @property
    def contest(self) -> Contest | None:
        """The contest over the payoff; None unless all ends pay two seats the same in sum."""
        if len({sum(self.tree.payoffs[node]) for node in self.tree.terminals}) > 1:
            return None
        low, high = self.tree.span(self.tree.seats[0], "payoffs")
        return Contest(float(low), float(high)) if len(self.tree.seats) == 2 else None

    def table(self, player: DrawingPlayer, seat: str) -> Policy:
        """The policy of a player at a seat. A policy in a file may lack decisions that its own play
        never reaches; these get equal odds. Raises PolicyError if its play does reach one."""
        asked = {key: pair for key, pair in self.asked.items() if pair[0].seat == seat}
        missing: dict[str, PolicyError] = {}
        try:
            rows = player.all_odds(list(asked.values()))
        except PolicyError:
            rows = []
            for key, (decision, episode) in asked.items():
                try:
                    rows.append(player.odds(decision, episode))
                except PolicyError as error:
                    missing[key] = error
                    rows.append([1 / len(decision.legal)] * len(decision.legal))
        table = {
            key: dict(zip(decision.legal, map(float, row), strict=True))
            for (key, (decision, _)), row in zip(asked.items(), rows, strict=True)
        }
        if missing:
            reach = _own_reach(self.tree, table, self.tree.seats.index(seat))
            for info, nodes in zip(self.tree.info_sets, self.tree.members, strict=True):
                if info.key in missing and max(reach[node] for node in nodes) > 0:
                    raise missing[info.key]
        return table

    def games(self, holders: Holders, tables: Iterable[Policy]) -> Games:
        """All ends of the game and their probabilities; the tables are those of the seats."""
        tree = self.tree
        policy = {key: row for table in tables for key, row in table.items()}
        reach = np.array(Sweep(tree, policy, "payoffs").reach(None), dtype=float)
        ends = [node for node in tree.terminals if reach[node] > 0]
        weights = reach[ends] / reach[ends].sum()
        shape = (len(ends), len(tree.seats))
        return Games(
            holders, True, weights,
            np.array([[float(x) for x in tree.payoffs[n]] for n in ends]).reshape(shape),
            np.array([[float(x) for x in tree.rewards[n]] for n in ends]).reshape(shape),
            np.zeros(shape, dtype=bool), np.zeros(shape, dtype=int), np.zeros(shape, dtype=int),
            np.ones(len(ends), dtype=bool),
        )  # fmt: skip

    def exploitability(self, tables: Iterable[Policy], utility: Utility) -> float | None:
        """NashConv / seats of a contestant that holds every seat; None where a seat forgets."""
        if not self.recall:
            return None
        policy = {key: row for table in tables for key, row in table.items()}
        return float(exploitability(self.tree, policy, utility).per_player)


def write_out(env: Env) -> ExactGame | None:
    """Returns the written-out game; None if it is too large, or if its labels are drawn for each
    game, since a model's policy may depend on them."""
    if not env.ir.labels_last:
        return None
    recall = True
    try:
        try:
            tree = tabulate(env, NODES)
        except ImperfectRecall:
            tree, recall = tabulate(env, NODES, forgetful=True), False
    except TooLarge:
        return None
    asked = information_sets(env, env.run_seed, DECISIONS, NODES)
    return None if asked is None else ExactGame(tree, asked, recall)


def _own_reach(tree: Tree, table: Policy, seat: int) -> list[float]:
    """Returns the probability that a seat's own choices lead to each node, whatever the others
    and chance do."""
    reach = [0.0] * len(tree)
    reach[0] = 1.0
    for node, info in enumerate(tree.info):
        own = info >= 0 and tree.owner[info] == seat
        row = table[tree.info_sets[info].key] if own else {}
        actions = tree.info_sets[info].actions if own else ()
        for place, child in enumerate(tree.children[node]):
            reach[child] = reach[node] * (row[actions[place]] if own else 1.0)
    return reach
