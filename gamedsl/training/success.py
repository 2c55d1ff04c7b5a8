"""Success: where what is paid lies between the least and the most that a game can pay, 0 to 1.

In a game that is won or lost it is the share of wins. The bounds are those of all plays where these
can be listed, else those that the form of the payoffs shows; neither reaches the update.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from gamedsl.bounds.payoff_bounds import payoff_bounds
from gamedsl.recipe.table import Recipe
from gamedsl.runtime.game import Game
from gamedsl.training.errors import TrainError
from gamedsl.training.information_sets import decisions_of

Record = dict[str, Any]
Bounds = dict[str, tuple[float, float]]
Spans = dict[str, tuple[float, float] | None]


def success(record: Record, bounds: Bounds) -> float:
    """Returns where the mean payoffs of a step's record lie between their bounds, 0 to 1, on
    average over the roles that have some."""
    found = [
        (record["payoff"][role] - low) / (high - low)
        for role, (low, high) in bounds.items()
        if record["payoff"].get(role) is not None and high > low
    ]
    return sum(found) / len(found) if found else 0.0


def bounds_of(game: Game, recipe: Recipe) -> Bounds:
    """Returns the least and the most that a seat of each role that learns can be paid. Raises
    TrainError where no bounds are known."""
    found = {}
    for role, ends in spans_of(game, recipe).items():
        if ends is None:
            raise TrainError(
                f"nothing bounds what `{role}` can be paid, so its success has no scale",
                "bound the variables that its payoffs read, or leave `curriculum` out",
            )
        found[role] = ends
    return found


def spans_of(game: Game, recipe: Recipe) -> Spans:
    """Returns the bounds of `bounds_of`, with None for a role without known ones."""
    paid = (*game.ir.seats, *(seat for seat, _ in game.ir.referee_payoffs))
    spans = _listed(game, recipe) or {seat: payoff_bounds(game.ir, seat) for seat in paid}
    found: dict[str, list[Any]] = defaultdict(list)
    for seat, span in spans.items():
        role = game.ir.role_of[seat]
        if role in recipe.learners(game.ir):
            found[role] += [None] if span is None else map(float, span)
    return {role: None if None in ends else (min(ends), max(ends)) for role, ends in found.items()}


def _listed(game: Game, recipe: Recipe) -> dict[str, Any] | None:
    """Returns the least and the most of each seat over all plays; None where they are too many."""
    from gamedsl.solve import ImperfectRecall, TooLarge, tabulate

    env = game.env()
    try:
        tree = tabulate(env) if decisions_of(env, recipe.seed) is not None else None
    except (TooLarge, ImperfectRecall):
        return None
    if tree is None:
        return None
    ends = [tree.payoffs[node] for node in tree.terminals]
    paid = zip(tree.seats, zip(*ends, strict=True), strict=True)
    return {seat: (min(amounts), max(amounts)) for seat, amounts in paid}
