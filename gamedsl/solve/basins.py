"""Basins of attraction of a 2x2 game: the share of starting points that reach each equilibrium.

Replicator dynamics (Taylor and Jonker 1978) moves the logits of a mixture with what its actions
earn; the policy gradient, which GRPO follows on average, moves them with that times the action's
probability (see `gamedsl.solve.gradient_flow`), so that rare actions are slow to come back.
Starting points are the middles of a grid of squares.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gamedsl.solve.linear_programs import require
from gamedsl.solve.table import one_shot
from gamedsl.solve.tree import Tree, Utility

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray

SIDES = 32, 33
"""Starting points along the sides of the square: not as many, so that few lie on its diagonal, from
which symmetric games do not leave."""
STEPS = 400
STEP = 0.2
PURE = 0.999
FAR = 12.0
"""Logits at which all that is not pure by then is on its way to be."""


@dataclass(frozen=True)
class Basins:
    """For each way of learning, the share of the starting points that end at each pure profile;
    what is missing to 1 circles, or rests on mixtures."""

    replicator: dict[tuple[str, str], float]
    gradient: dict[tuple[str, str], float]
    starts: int


def basins(tree: Tree, utility: Utility = "payoffs") -> Basins | None:
    """Returns the basins of a 2x2 game, None for any other. Raises ImportError without numpy."""
    table = one_shot(tree)
    if table is None or not table.two_by_two:
        return None
    require("numpy")
    import numpy as np

    axes = [(np.arange(side) + 0.5) / side for side in SIDES]
    x_B, y_B = (grid.ravel() for grid in np.meshgrid(*axes, indexing="ij"))
    got, (rows, columns) = table.worth(utility), table.actions
    payoffs = np.array([[[float(v) for v in got[a, b]] for b in columns] for a in rows])
    replicator, policy_gradient = (
        _shares(rows, columns, *_followed(payoffs, x_B, y_B, gradient))
        for gradient in (False, True)
    )
    return Basins(replicator, policy_gradient, x_B.size)


def _followed(payoffs: Array, x_B: Array, y_B: Array, gradient: bool) -> tuple[Array, Array]:
    """The share of each seat's first action in the end, by Runge and Kutta's method on the logits
    x / (1 - x). Time is rescaled so that no logit moves faster than 1; the orbits are the same."""
    import numpy as np

    row = payoffs[0, :, 0] - payoffs[1, :, 0]
    column = payoffs[:, 0, 1] - payoffs[:, 1, 1]

    def speed(state: Array) -> Array:
        x, y = 1 / (1 + np.exp(-state))
        gain = np.stack([row[0] * y + row[1] * (1 - y), column[0] * x + column[1] * (1 - x)])
        if gradient:
            gain *= np.stack([x * (1 - x), y * (1 - y)])
        return np.asarray(gain / np.maximum(np.abs(gain).max(axis=0), 1e-300))

    state = np.log(np.stack([x_B / (1 - x_B), y_B / (1 - y_B)]))
    for _ in range(STEPS):
        one = speed(state)
        two = speed(state + STEP / 2 * one)
        three = speed(state + STEP / 2 * two)
        four = speed(state + STEP * three)
        state = np.clip(state + STEP / 6 * (one + 2 * two + 2 * three + four), -30, 30)
        if (np.abs(state) > FAR).all():
            break
    inwards = (speed(state) * state < -1e-9).any(axis=0)
    x, y = np.where(inwards, 0.5, 1 / (1 + np.exp(-state)))
    return x, y


def _shares(
    rows: tuple[str, ...], columns: tuple[str, ...], x_B: Array, y_B: Array
) -> dict[tuple[str, str], float]:
    found = {}
    for i, a in enumerate(rows):
        for j, b in enumerate(columns):
            here = (abs(x_B - i) > PURE) & (abs(y_B - j) > PURE)
            if share := float(here.mean()):
                found[a, b] = share
    return found
