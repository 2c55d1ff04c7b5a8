"""Imitation datasets: what a player does, gathered from games that it plays, or from transcripts.

Closed games teach prompts (`gamedsl.training.imitated_prompts`), games in words teach chats
(`gamedsl.training.imitated_chats`). With `warm_up.reward` only replies of seats that earned so much
are kept, which is rejection sampling (STaR; Zelikman et al. 2022).

A player on its own path never shows what to do off it. With `explore` a share of its moves is
random while it plays, and from the second round on the policy moves in its place; what is learned
there is still what the player would do (DAgger; Ross et al. 2011).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from gamedsl.policies.base import Policy
from gamedsl.recipe.table import Recipe
from gamedsl.training.imitated_chats import chats_of
from gamedsl.training.imitated_prompts import prompts_of
from gamedsl.training.seats import SeatAssignment
from gamedsl.training.sessions import writer

if TYPE_CHECKING:
    from gamedsl.runtime import Env, Game


class Fit(Protocol):
    """The distance of a policy from a player; all fields are recorded."""

    @property
    def loss(self) -> float:
        """Cross-entropy, in nats; the warm-up ends when this no longer falls."""
        ...


class ImitationDataset(Protocol):
    """A player's moves, as they are learned: prompts, or chats, by number."""

    games: int

    def __len__(self) -> int: ...

    def take(self, other: Any) -> None:
        """Adds the games of another dataset of the same kind."""
        ...

    def subset(self, most: int) -> ImitationDataset:
        """Returns at most so many of them, without preference."""
        ...

    def learn(self, policy: Policy, chosen: Sequence[int]) -> float:
        """Adds the gradient of the loss on some of them to the adapters; returns the loss."""
        ...

    def fit(self, policy: Policy) -> Fit:
        """Returns how near a policy is to them."""
        ...


def datasets_of(
    game: Game, env: Env, recipe: Recipe, seating: SeatAssignment, policy: Policy, number: int = 1
) -> tuple[ImitationDataset, ImitationDataset]:
    """Returns what the roles that are trained learn in a round, and what is held out: games of the
    recipe's experts, or those of files; in all rounds but the first the policy plays in the
    experts' place. Raises TrainError."""
    if recipe.in_words(game.ir):
        return chats_of(game, env, recipe, seating, writer(policy), number)
    return prompts_of(game, env, recipe, seating, policy if number > 1 else None, number)
