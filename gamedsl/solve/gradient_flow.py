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


class _Edges(NamedTuple):
    """All edges that leave one depth, in the order of their parents."""

    parent: Array
    child: Array
    slot: Array
    odds: Array
    starts: Array
    parents: Array


class GradientFlow:
    """The flow of one tree under one coupling. `coupling_II` is K, in the order of the tree's
    information sets; actions of two sets move together where their names agree."""

    def __init__(self, tree: Tree, coupling_II: Array) -> None:
        import numpy as np

        self.tree = tree
        sizes = [len(info.actions) for info in tree.info_sets]
        self.offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(int)
        self.set_of_slot = np.repeat(np.arange(len(sizes)), sizes)
        self.rewards_NS = np.zeros((len(tree), len(tree.seats)))
        for node in tree.terminals:
            self.rewards_NS[node] = [float(x) for x in tree.rewards[node]]
        got = self.rewards_NS[list(tree.terminals)]
        self.range = float((got.max(axis=0) - got.min(axis=0)).max()) or 1.0
        names = np.array([a for info in tree.info_sets for a in info.actions])
        same_LL = names[:, None] == names[None, :]
        self.coupling_LL = np.asarray(coupling_II)[self.set_of_slot][:, self.set_of_slot] * same_LL
        self.pull = float(np.abs(self.coupling_LL).sum(axis=1).max()) or 1.0
        self.levels = self._levels()
        self.movers = self._movers()

    def probabilities(self, logits_BL: Array) -> Array:
        import numpy as np

        top = np.maximum.reduceat(logits_BL, self.offsets, axis=1)[:, self.set_of_slot]
        raised = np.exp(logits_BL - top)
        total = np.add.reduceat(raised, self.offsets, axis=1)[:, self.set_of_slot]
        return np.asarray(raised / total)

    def velocity(self, logits_BL: Array) -> tuple[Array, Array, Array]:
        """dθ/dt (B, L), the probabilities (B, L) and how often each set is reached (B, I)."""
        import numpy as np

        probs_BL = self.probabilities(logits_BL)
        reach_BN = np.zeros((len(logits_BL), len(self.tree)))
        reach_BN[:, 0] = 1
        weights = []
        for edges in self.levels:
            weight_BE = np.where(edges.slot >= 0, probs_BL[:, edges.slot], edges.odds)
            reach_BN[:, edges.child] = reach_BN[:, edges.parent] * weight_BE
            weights.append(weight_BE)
        value_BNS = np.broadcast_to(
            self.rewards_NS, (len(logits_BL), *self.rewards_NS.shape)
        ).copy()
        for edges, weight_BE in zip(reversed(self.levels), reversed(weights), strict=True):
            flowing = weight_BE[:, :, None] * value_BNS[:, edges.child]
            value_BNS[:, edges.parents] = np.add.reduceat(flowing, edges.starts, axis=1)
        parent, child, seat, slots, starts, heads = self.movers
        gain = value_BNS[:, child, seat] - value_BNS[:, parent, seat]
        here = reach_BN[:, parent]
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

    def _levels(self) -> list[_Edges]:
        import numpy as np

        tree = self.tree
        depth = [0] * len(tree)
        rows: dict[int, list[tuple[int, int, int, float]]] = {}
        for node, info in enumerate(tree.info):
            for place, below in enumerate(tree.children[node]):
                depth[below] = depth[node] + 1
                if info == CHANCE:
                    row = (node, below, -1, float(tree.odds[node][place]))
                else:
                    row = (node, below, int(self.offsets[info]) + place, 0.0)
                rows.setdefault(depth[node], []).append(row)
        levels = []
        for _, edges in sorted(rows.items()):
            parent, child, slot, odds = (np.array(column) for column in zip(*edges, strict=True))
            parents, starts = np.unique(parent, return_index=True)
            levels.append(_Edges(parent, child, slot, odds, starts, parents))
        return levels

    def _movers(self) -> tuple[Array, ...]:
        """The edges of decisions in the order of their slots: parent, child, the mover's seat;
        the slots themselves and where each begins; each information set's first slot."""
        import numpy as np

        tree, rows = self.tree, []
        for info, nodes in enumerate(tree.members):
            for place in range(len(tree.info_sets[info].actions)):
                rows += [
                    (int(self.offsets[info]) + place, n, tree.children[n][place], tree.owner[info])
                    for n in nodes
                ]
        slot, parent, child, seat = (np.array(column) for column in zip(*rows, strict=True))
        slots, starts = np.unique(slot, return_index=True)
        return parent, child, seat, slots, starts, self.offsets
