"""Puts the policy where the recipe's `start` and `prior` say, before training begins.

An untrained model prefers some meaningless labels to others, for their spelling and their place
in the list. Such a start is an accident, and where the factor is a thousand it hides an action
from sampling for good. With `prior: uniform` training starts from uniform play instead, and with
`start` from wherever the user wants it, on either side of a basin's boundary for instance.

The adapters are fitted to the wanted distributions by a few Adam steps on KL(target || pi),
summed over the decisions of the game. Decisions of which nothing is wanted are held where they
were, since adapters share their weights between decisions. The optimiser used here is thrown
away: training starts with a fresh one.

Where a thought comes before each choice, the choices are fitted after thoughts that the policy
writes itself, a few at each decision; no token of a thought is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from gamedsl.players.model_replies import Asked, replies
from gamedsl.policies.base import Policy, Query
from gamedsl.recipe.table import Recipe, Start
from gamedsl.training.errors import TrainError
from gamedsl.training.information_sets import information_sets
from gamedsl.training.rollout import generator
from gamedsl.training.scoring import tempered, untempered
from gamedsl.training.seats import SeatAssignment
from gamedsl.training.trajectories import Place, place_of

if TYPE_CHECKING:
    from gamedsl.policies.generation import Writing
    from gamedsl.runtime import Env

TOLERANCE = 0.01
"""How near every wanted probability must come."""
MOST_STEPS = 200
_THOUGHTS = 4
"""How many thoughts are drawn at a decision, after each of which its choice is fitted."""
_LR = 3e-4
_BETAS = (0.5, 0.9)
"""Short memories, and a rate that is halved whenever the fit gets worse: Adam's first steps are as
long as the rate says, whatever the gradient, and overshoot."""
_FLOOR = 1e-4
"""A target of zero is out of a softmax's reach; this is inside the tolerance and has a
gradient."""


@dataclass(frozen=True)
class Fitted:
    """The end of a warm start: the steps it took and the largest distance left, in probability."""

    steps: int
    distance: float


def after_thoughts(
    policy: Writing, env: Env, recipe: Recipe, seating: SeatAssignment
) -> tuple[list[Query], list[Place]]:
    """Returns the choices of a game after thoughts that are drawn at each of its decisions; none
    where these are too many to be listed. A thought that leads to no choice, since it is not
    closed, is left out. Raises TrainError where all are at a decision of which something is
    wanted."""
    found = information_sets(env, recipe.seed) or {}
    asked = [one for one, _ in found.values() if one.role not in seating.players]
    rng = generator(recipe.seed, 0, "warm start")
    drawn = [
        Asked(one, seating.adapter(one.role), int(rng.integers(2**31)))
        for one in asked for _ in range(_THOUGHTS)
    ]  # fmt: skip
    given = zip(drawn, replies(policy, drawn, recipe.temperature), strict=True)
    pairs = [
        (reply.choice.query, place_of(one.decision))
        for one, reply in given if reply.choice is not None
    ]  # fmt: skip
    led, uniform = {place.information_set for _, place in pairs}, recipe.prior == "uniform"
    for place in map(place_of, asked):
        fitted = place.information_set in led
        if not fitted and _target(recipe.start, place, uniform) is not None:
            raise TrainError(
                f"a warm start fits choices after thoughts, and at {place.information_set} the"
                f" policy closed none of {_THOUGHTS}",
                "write `at_limit: close` in `respond`, or give thoughts more tokens; or leave"
                " `start` and `prior` out",
            )
    return [query for query, _ in pairs], [place for _, place in pairs]


def warm_start(
    policy: Policy, recipe: Recipe, queries: Sequence[Query], places: Sequence[Place]
) -> Fitted:
    """Fits the policy to what the recipe wants at `queries`, which are those of all decisions of
    the game.

    Raises TrainError where it does not come within `TOLERANCE` in `MOST_STEPS` steps.
    """
    before = [log_pi.exp() for log_pi in policy.log_probs(queries)]
    uniform = recipe.prior == "uniform"
    wanted = [_target(recipe.start, place, uniform) for place in places]
    named = [(index, target) for index, target in enumerate(wanted) if target is not None]
    targets = [
        old if new is None else untempered(new, recipe.temperature)
        for old, new in zip(before, wanted, strict=True)
    ]
    optimizer = torch.optim.Adam(policy.parameters(), lr=_LR, betas=_BETAS)
    distance = divergence = float("inf")
    for step in range(MOST_STEPS + 1):
        optimizer.zero_grad()
        # The gradient of KL(target || pi) is that of -sum(target * log pi).
        log_pi = policy.backward(queries, [-target for target in targets])
        distances = {
            i: float((tempered(log_pi[i], recipe.temperature).exp() - target).abs().max())
            for i, target in named
        }
        distance = max(distances.values(), default=0.0)
        if distance <= TOLERANCE:
            optimizer.zero_grad()
            return Fitted(step, distance)
        before_step, divergence = divergence, _divergence(targets, log_pi)
        if divergence > before_step:
            for group in optimizer.param_groups:
                group["lr"] *= 0.5
        optimizer.step()
    worst = max(distances, key=distances.__getitem__)
    raise TrainError(
        f"the warm start did not reach its target: after {MOST_STEPS} steps"
        f" {places[worst].information_set} is {distances[worst]:.2f} away",
        "ask for a less extreme `start`, write `adapters: per_role`, or `prior: model`",
    )


def _divergence(targets: Sequence[torch.Tensor], log_pi: Sequence[torch.Tensor]) -> float:
    """Returns the sum of KL(target || pi) over the decisions, less the targets' negative
    entropy."""
    return -sum(float((t * lp).sum()) for t, lp in zip(targets, log_pi, strict=True))


def _target(starts: Sequence[Start], place: Place, uniform: bool) -> torch.Tensor | None:
    """Returns the wanted distribution at a place; a start for its step wins over one for all steps,
    and that over the prior. None: as it is."""
    fitting = [s for s in starts if s.role == place.role and s.step in (None, place.step)]
    for start in sorted(fitting, key=lambda s: s.step is None):
        probs = start.target(place.legal)
        if probs is not None:
            target = torch.tensor(probs).clamp(min=_FLOOR)
            return target / target.sum()
    return torch.full((len(place.legal),), 1 / len(place.legal)) if uniform else None
