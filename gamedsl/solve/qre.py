"""Logit quantal response equilibria: the path from uniform play towards an equilibrium.

In a quantal response equilibrium of precision λ each action is played in proportion to e^(λ Q),
where Q is what it earns given what everybody plays (McKelvey and Palfrey 1995); in a tree each
information set responds so for itself (the agent form, McKelvey and Palfrey 1998). From the one at
λ = 0, uniform play, a path leads to a Nash equilibrium as λ grows, for almost all games. It may
turn back in λ, so it is followed by its length: a step along the tangent, then Newton's method back
to the path (Turocy 2005, 2010).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gamedsl.solve.best_responses import exploitability
from gamedsl.solve.gradient_flow import GradientFlow
from gamedsl.solve.linear_programs import require
from gamedsl.solve.solution import Solution, checked
from gamedsl.solve.tree import Tree, Utility

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray

MANY_SLOTS = 150
MANY_NODES = 2_000
STEPS = 600
NUDGE = 1e-6
CLOSE = 1e-3
"""NashConv, in spans of payoff, at which the path has arrived."""
ENOUGH = 1e-6
"""NashConv at which it is followed no further."""


@dataclass(frozen=True)
class Response:
    """A quantal response equilibrium. `precision` is λ, in 1 / units of payoff."""

    precision: float
    policy: dict[str, dict[str, float]]
    nash_conv: float


@dataclass(frozen=True)
class Path:
    """Some of the points of the path, in its order, the first at λ = 0; and its end as a solution.
    `arrived` is whether the end is an equilibrium but for a thousandth of the payoffs' span."""

    points: tuple[Response, ...]
    solution: Solution
    arrived: bool


def fits(tree: Tree) -> bool:
    """Whether a tree is small enough for the path to be followed."""
    slots = sum(len(info.actions) for info in tree.info_sets)
    return 0 < slots <= MANY_SLOTS and len(tree) <= MANY_NODES


def qre_path(tree: Tree, utility: Utility = "payoffs", shown: int = 9) -> Path:
    """Follow the principal branch. Raises ValueError for trees that do not fit, and ImportError."""
    require("numpy")
    if not fits(tree):
        raise ValueError("the tree is too large to follow the path of quantal responses")
    branch = _Branch(tree, utility)
    every, arrived = branch.follow()
    near = (i for i, p in enumerate(every) if p.nash_conv < CLOSE * branch.span)
    last = next(near, len(every) - 1)
    picked = sorted({*(last * i // (shown - 2) for i in range(shown - 1)), len(every) - 1})
    points = tuple(every[i] for i in picked)
    solution = checked(
        tree, every[-1].policy, utility=utility, concept="limit of quantal responses",
        method=f"logit path traced to λ = {every[-1].precision:.3g}",
    )  # fmt: skip
    return Path(points, solution, arrived)


class _Branch:
    """The equations of the path. A point is the logits of all actions but the first of each
    information set, whose own are 0, and λ last."""

    def __init__(self, tree: Tree, utility: Utility) -> None:
        import numpy as np

        self.tree, self.utility = tree, utility
        played = tree if utility == "rewards" else replace(tree, rewards=tree.payoffs)
        self.flow = GradientFlow(played, np.eye(len(tree.info_sets)))
        self.span = self.flow.range
        slots = np.arange(len(self.flow.set_of_slot))
        self.first_L = self.flow.offsets[self.flow.set_of_slot]
        self.open = slots[slots != self.first_L]

    def gaps(self, points_BX: Array) -> Array:
        """Returns the distance of each point from a quantal response, equation by equation."""
        import numpy as np

        logits_BL = np.zeros((len(points_BX), len(self.first_L)))
        logits_BL[:, self.open] = points_BX[:, :-1]
        pull_BL, probs_BL, reach_BI = self.flow.velocity(logits_BL)
        often = np.maximum(probs_BL * reach_BI[:, self.flow.set_of_slot], 1e-300)
        gain_BL = pull_BL / often
        wanted = gain_BL[:, self.open] - gain_BL[:, self.first_L[self.open]]
        precision = points_BX[:, -1:] / self.span
        return np.asarray(points_BX[:, :-1] - precision * wanted)

    def jacobian(self, point_X: Array) -> Array:
        import numpy as np

        nudges = np.eye(len(point_X)) * NUDGE
        ahead, behind = self.gaps(point_X + nudges), self.gaps(point_X - nudges)
        return np.asarray(((ahead - behind) / (2 * NUDGE)).T)

    def follow(self) -> tuple[list[Response], bool]:
        import numpy as np

        point = np.zeros(len(self.open) + 1)
        way = np.zeros_like(point)
        way[-1] = 1.0
        found = [self.response(point)]
        length = 0.05
        for _ in range(STEPS):
            way = self._tangent(point, way)
            after = self._corrected(point + length * way, way)
            if after is None:
                length /= 2
                if length < 1e-7:
                    break
                continue
            moved = np.linalg.norm(after - point)
            point, length = after, min(length * 1.4, 0.1 * (10 + float(np.abs(point).max())))
            found.append(self.response(point))
            if found[-1].nash_conv < ENOUGH * self.span or not moved:
                break
        return found, found[-1].nash_conv < CLOSE * self.span

    def _tangent(self, point: Array, before: Array) -> Array:
        """The direction of the path, onwards."""
        import numpy as np

        _, _, turned = np.linalg.svd(self.jacobian(point))
        way = turned[-1]
        return np.asarray(way if way @ before >= 0 else -way)

    def _corrected(self, guess: Array, way: Array) -> Array | None:
        """The point of the path across from a guess; None where Newton's method does not find it
        near by."""
        import numpy as np

        point = guess.copy()
        for _ in range(6):
            off = self.gaps(point[None])[0]
            if not np.isfinite(off).all():
                return None
            if np.abs(off).max() < 1e-9 * (1 + np.abs(point).max()):
                return point
            system = np.vstack([self.jacobian(point), way])
            try:
                step = np.linalg.solve(system, np.append(off, 0.0))
            except np.linalg.LinAlgError:
                return None
            point = point - step
            if np.abs(point - guess).max() > 0.5 * (1 + np.abs(guess).max()):
                return None
        return None

    def response(self, point: Array) -> Response:
        import numpy as np

        logits = np.zeros((1, len(self.first_L)))
        logits[0, self.open] = point[:-1]
        values = iter(self.flow.probabilities(logits)[0].tolist())
        policy = {s.key: {a: next(values) for a in s.actions} for s in self.tree.info_sets}
        gap = float(exploitability(self.tree, policy, self.utility).nash_conv)
        return Response(float(point[-1]) / self.span, policy, gap)
