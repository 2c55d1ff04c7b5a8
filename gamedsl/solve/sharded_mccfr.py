"""Monte Carlo CFR in shards, which whoever is at hand may sample side by side.

In a round each shard begins with the tables of all, runs MCCFR on a copy of its own, and returns
what it added. Regrets then grow by the mean of what the shards added, and the weights of the
average policy by the sum.

Regret matching knows no scale, and the squared length of a mean is at most the mean of the squared
lengths. So the bound on the regret of one process, for the iterations of one shard, holds for the
policies of all shards together, however long a round is; and the noise of sampling is averaged.
Sums of regrets have no such bound: each shard corrects the same mistake in a round, and the sum
corrects it once for each shard.

The result is a function of the game, the seed, the number of shards and the iterations. A shard's
seed follows from its number and its round, and what shards added is put together in their order. So
who samples a shard, how fast, and how often it is lost and sampled again, changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Protocol

from gamedsl.solve.mccfr import (
    REPORTS,
    Nodes,
    Progress,
    RegretNode,
    SampledPolicy,
    Sampling,
    traversal_of,
)
from gamedsl.solve.tree import Utility

if TYPE_CHECKING:
    from gamedsl.runtime import Game

ROUNDS = REPORTS
"""The number of rounds: few, since the tables are sent to all shards in each."""


class Part(NamedTuple):
    """The work of one shard in one round: so many iterations, from a seed."""

    iterations: int
    seed: str


class Sampler:
    """Samples parts, one after another, of a game."""

    def __init__(self, game: Game, sampling: Sampling, utility: Utility) -> None:
        self.sampling = sampling
        self._game, self._utility = game, utility

    def sample(self, nodes: Nodes, part: Part) -> Nodes:
        """Returns what a part adds to the tables. Raises EvaluationError where the rules fail."""
        traversal = traversal_of(self._game, self.sampling, part.seed, self._utility)
        traversal.known = nodes
        for _ in range(part.iterations):
            traversal.iterate()
        return {key: _less(node, nodes.get(key)) for key, node in traversal.nodes.items()}


class Shards(Protocol):
    """A number of shards, `count`, and whoever samples them."""

    @property
    def count(self) -> int: ...

    def sample(self, nodes: Nodes, parts: Sequence[Part]) -> Sequence[Nodes]:
        """Returns what each part adds to the tables, as `Sampler.sample` does, in order."""
        ...


StartShards = Callable[[Sampler], AbstractContextManager[Shards]]
"""Starts those who sample, each with a copy of the sampler; they end with the context."""


def sharded_mccfr(
    sampler: Sampler, iterations: int, seed: int, start: StartShards, progress: Progress
) -> SampledPolicy:
    """The average policy after so many iterations of all shards together; raises as `mccfr`, and as
    those who sample."""
    if iterations < 1:
        raise ValueError(f"{iterations} iterations are none")
    nodes: Nodes = {}
    done = 0
    with start(sampler) as shards:
        count = shards.count
        for parts in _rounds(iterations, count, seed):
            _add(nodes, shards.sample(nodes, parts))
            done += sum(part.iterations for part in parts)
            progress(done, len(nodes))
    return SampledPolicy(
        {key: node.average() for key, node in nodes.items()},
        f"{sampler.sampling}-sampling MCCFR, {iterations:,} iterations in {count} shards",
    )


def _rounds(iterations: int, count: int, seed: int) -> list[list[Part]]:
    """Returns the parts of each round; parts are alike but for one iteration, and none is empty."""
    rounds = min(ROUNDS, -(-iterations // count))
    found = []
    for number in range(rounds):
        bounds = [iterations * (number * count + k) // (rounds * count) for k in range(count + 1)]
        sizes = [stop - start for start, stop in pairwise(bounds)]
        found.append(
            [
                Part(size, f"{seed} round {number} shard {shard}")
                for shard, size in enumerate(sizes) if size
            ]
        )  # fmt: skip
    return found


def _less(node: RegretNode, known: RegretNode | None) -> RegretNode:
    """Returns what was added to a node that was known."""
    if known is None:
        return node
    added = RegretNode(node.legal)
    added.regrets = [x - y for x, y in zip(node.regrets, known.regrets, strict=True)]
    added.totals = [x - y for x, y in zip(node.totals, known.totals, strict=True)]
    return added


def _add(nodes: Nodes, added: Sequence[Nodes]) -> None:
    """Adds what shards of one round found to the tables, in their order."""
    for one in added:
        for key, node in one.items():
            known = nodes.setdefault(key, RegretNode(node.legal))
            known.regrets = [
                x + y / len(added) for x, y in zip(known.regrets, node.regrets, strict=True)
            ]
            known.totals = [x + y for x, y in zip(known.totals, node.totals, strict=True)]
