"""Policy-gradient dynamics on a tree, for many starting points at once.

The state is one logit per (information set, action), a "slot". Under the flow
    dθ_i/dt = Σ_j K_ij ∇θ_j E[r_seat(j)],
where j runs over information sets and K says which of them move together, every information set
climbs its own seat's expected reward. That is the mean of GRPO's update with mean-only advantages:
subtracting a baseline that does not depend on the action leaves the expected gradient unchanged.
Time is rescaled along the way (the orbits stay the same), so that slow corners cost no more steps.

Array shapes: B starting points, L slots, N nodes, E edges of one depth, S seats, I sets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gamedsl.solve.tree import CHANCE, Tree

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray

STEP = 0.2
"""The largest change of a logit in one Runge-Kutta step."""
STEPS = 900
PURE = 0.999
REACHED = 0.01


class Landing(NamedTuple):
    """The end of the flow. `kind_B`: 0 still moving, 1 settled on pure actions, 2 at rest on a
    mixture. `path` holds the probabilities after every step, if requested."""

    probs_BL: Array
    reach_BI: Array
    kind_B: Array
    path: list[Array]


class _Level(NamedTuple):
    """The nodes of one depth, in the order of the edges to them, and the edges that leave them, in
    the order of the nodes. Nodes are known by their places here.

    `rewards_NS` are zero but at ends. `parent_E` is where each edge starts; it leads to the node of
    its place at the next depth. `edges` are those of this depth among all. `first_P` are the first
    edges of the nodes `inner_P` that have any.
    """

    rewards_NS: Array
    parent_E: Array
    edges: slice
    first_P: Array
    inner_P: Array


class GradientFlow:
    """The flow of one tree under one coupling. `coupling_II` is K, in the order of the tree's
    information sets; actions of two sets move together where their names agree."""

    def __init__(self, tree: Tree, coupling_II: Array) -> None:
        import numpy as np

        self.tree = tree
        sizes = [len(info.actions) for info in tree.info_sets]
        self.offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(int)
        self.set_of_slot = np.repeat(np.arange(len(sizes)), sizes)
        rewards_NS = np.zeros((len(tree), len(tree.seats)))
        for node in tree.terminals:
            rewards_NS[node] = [float(x) for x in tree.rewards[node]]
        got = rewards_NS[list(tree.terminals)]
        self.range = float((got.max(axis=0) - got.min(axis=0)).max()) or 1.0
        names = np.array([a for info in tree.info_sets for a in info.actions])
        same_LL = names[:, None] == names[None, :]
        self.coupling_LL = np.asarray(coupling_II)[self.set_of_slot][:, self.set_of_slot] * same_LL
        self.pull = float(np.abs(self.coupling_LL).sum(axis=1).max()) or 1.0
        self._levels, self._slot_E, self._odds_E, order = self._by_depth(rewards_NS)
        self._movers = self._gains(order)

    def probabilities(self, logits_BL: Array) -> Array:
        import numpy as np

        top = np.maximum.reduceat(logits_BL, self.offsets, axis=1).take(self.set_of_slot, axis=1)
        raised = np.exp(logits_BL - top)
        total = np.add.reduceat(raised, self.offsets, axis=1).take(self.set_of_slot, axis=1)
        return np.asarray(raised / total)

    def velocity(self, logits_BL: Array) -> tuple[Array, Array, Array]:
        """dθ/dt (B, L), the probabilities (B, L) and how often each set is reached (B, I)."""
        import numpy as np

        probs_BL, count = self.probabilities(logits_BL), len(logits_BL)
        weight_BE = probs_BL.take(self._slot_E, axis=1)
        weight_BE = np.where(self._slot_E >= 0, weight_BE, self._odds_E)
        reach_BN = np.ones((count, 1))
        reached = [reach_BN]
        for level in self._levels[:-1]:
            reach_BN = reach_BN.take(level.parent_E, axis=1) * weight_BE[:, level.edges]
            reached.append(reach_BN)
        value_BNS = np.broadcast_to(
            self._levels[-1].rewards_NS, (count, *self._levels[-1].rewards_NS.shape)
        )
        worth = [value_BNS]
        for level in self._levels[-2::-1]:
            flowing = weight_BE[:, level.edges, None] * value_BNS
            value_BPS = np.add.reduceat(flowing, level.first_P, axis=1)
            if len(level.inner_P) == len(level.rewards_NS):
                value_BNS = value_BPS
            else:
                value_BNS = np.empty((count, *level.rewards_NS.shape))
                value_BNS[:] = level.rewards_NS
                value_BNS[:, level.inner_P] = value_BPS
            worth.append(value_BNS)
        values = np.concatenate(worth[::-1], axis=1).reshape(count, -1)
        place, after, before, slots, starts, heads = self._movers
        gain = values.take(after, axis=1) - values.take(before, axis=1)
        here = np.concatenate(reached, axis=1).take(place, axis=1)
        gradient_BL = np.add.reduceat(here * gain, starts, axis=1) * probs_BL[:, slots]
        reach_BI = np.add.reduceat(here, starts, axis=1)[:, heads]
        return gradient_BL @ self.coupling_LL.T, probs_BL, reach_BI

    def run(self, start_BL: Array, *, keep: bool = False) -> Landing:
        """Follow the flow from each start (probabilities) until it settles or `STEPS` are done."""
        import numpy as np

        logits = np.log(np.clip(start_BL, 1e-9, None))
        kind = np.zeros(len(logits), dtype=int)
        final, reached = self.probabilities(logits), np.ones((len(logits), len(self.offsets)))
        live, path = np.arange(len(logits)), []
        for _ in range(STEPS):
            speed, probs, reach = self.velocity(logits[live])
            final[live], reached[live] = probs, reach
            if keep:
                path.append(final.copy())
            still = np.abs(speed).max(axis=1) < 1e-7 * self.range
            pure = self._settled(speed, probs, reach)
            kind[live] = np.where(pure, 1, np.where(still, 2, 0))
            moving = kind[live] == 0
            live, speed = live[moving], speed[moving]
            if not len(live):
                break
            rate = self._rate(speed, probs[moving], reach[moving])
            logits[live] = self._step(logits[live], speed, rate)
        return Landing(final, reached, kind, path)

    def _step(self, logits: Array, first: Array, rate: Array) -> Array:
        """One classical Runge-Kutta step of length `rate` (B, 1) in time."""
        second, *_ = self.velocity(logits + rate / 2 * first)
        third, *_ = self.velocity(logits + rate / 2 * second)
        fourth, *_ = self.velocity(logits + rate * third)
        moved: Array = logits + rate / 6 * (first + 2 * second + 2 * third + fourth)
        return moved

    def _rate(self, speed: Array, probs: Array, reach: Array) -> Array:
        """The time step: no logit moves by more than `STEP`, and none overshoots a rest point,
        near which velocities change at a rate of at most range x pull x reach x p(1 - p)."""
        import numpy as np

        fastest = np.abs(speed).max(axis=1, keepdims=True)
        stiff = (reach[:, self.set_of_slot] * probs * (1 - probs)).max(axis=1, keepdims=True)
        limit = 1 / (self.range * self.pull * np.maximum(stiff, 1e-12))
        return np.asarray(np.minimum(STEP / np.maximum(fastest, 1e-300), limit))

    def _settled(self, speed: Array, probs: Array, reach: Array) -> Array:
        """Whether every set that play reaches is pure, and still moving towards that action."""
        import numpy as np

        best = np.maximum.reduceat(probs, self.offsets, axis=1)
        leading = probs == best[:, self.set_of_slot]
        ahead = np.maximum.reduceat(np.where(leading, speed, -np.inf), self.offsets, axis=1)
        behind = np.maximum.reduceat(np.where(leading, -np.inf, speed), self.offsets, axis=1)
        return np.asarray(((best > PURE) & (ahead >= behind) | (reach < REACHED)).all(axis=1))

    def _by_depth(self, rewards_NS: Array) -> tuple[list[_Level], Array, Array, list[int]]:
        """Returns the levels of the tree, of each edge the slot (-1: chance) and the odds, and all
        nodes in the order of the levels."""
        import numpy as np

        tree, order, nodes, first = self.tree, [], [0], 0
        slots: list[int] = []
        odds: list[float] = []
        levels = []
        while nodes:
            parents: list[int] = []
            below: list[int] = []
            for place, node in enumerate(nodes):
                children, info = tree.children[node], tree.info[node]
                parents += [place] * len(children)
                below += children
                if info == CHANCE:
                    slots += [-1] * len(children)
                    odds += [float(share) for share in tree.odds[node]]
                elif children:
                    slots += [int(self.offsets[info]) + option for option in range(len(children))]
                    odds += [0.0] * len(children)
            inner, starts = np.unique(np.array(parents, dtype=int), return_index=True)
            levels.append(
                _Level(
                    rewards_NS[nodes], np.array(parents, dtype=int),
                    slice(first, first + len(below)), starts, inner,
                )
            )  # fmt: skip
            order += nodes
            nodes, first = below, first + len(below)
        return levels, np.array(slots, dtype=int), np.array(odds), order

    def _gains(self, order: list[int]) -> tuple[Array, ...]:
        """The edges of decisions in the order of their slots: the place of the node, those of the
        mover's value after and before among all values; the slots themselves and where each
        begins; each information set's first slot. `order` lists the nodes by their places."""
        import numpy as np

        tree, rows, count = self.tree, [], len(self.tree.seats)
        places = {node: place for place, node in enumerate(order)}
        for info, nodes in enumerate(tree.members):
            for option in range(len(tree.info_sets[info].actions)):
                slot, seat = int(self.offsets[info]) + option, tree.owner[info]
                for node in nodes:
                    place, below = places[node], places[tree.children[node][option]]
                    rows.append((slot, place, below * count + seat, place * count + seat))
        columns = [np.array(column) for column in zip(*rows, strict=True)]
        slots, starts = np.unique(columns[0], return_index=True)
        return *columns[1:], slots, starts, self.offsets
