"""What each reply is worth: rewards to advantages, for games in which something is written.

A valid reply earns what its seat is rewarded with, an invalid one what the game says that it costs
(`on_invalid: {pay: …}`). Of a game that is void for a seat its valid replies are left out, of the
update and of all means: who is innocent of a forfeit learns nothing from it.

`baseline: mean` takes off the mean over the replies of the group to the same question (role, step,
occurrence and attempt); where a reply is alone there, over those of its role in the group;
`leave_one_out` leaves the reply itself out of the mean; `none` takes off nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from gamedsl.ir.recipe import Recipe
from gamedsl.train.words.rollout import Trial, Utterance


@dataclass(frozen=True)
class Worth:
    """A reply that counts, and its advantage."""

    trial: int
    utterance: Utterance
    advantage: float


def advantages(
    trials: Sequence[Trial], recipe: Recipe, learners: frozenset[str]
) -> tuple[list[Worth], int]:
    """The replies of roles that are trained with their advantages, and how many were void."""
    earned: list[tuple[int, Utterance, float]] = []
    void = 0
    for number, trial in enumerate(trials):
        for said in trial.utterances:
            if said.role not in learners:
                continue
            amount = _earned(trial, said)
            if amount is None:
                void += 1
            else:
                earned.append((number, said, float(amount)))
    same: dict[Hashable, list[float]] = defaultdict(list)
    roles: dict[Hashable, list[float]] = defaultdict(list)
    for number, said, value in earned:
        same[_question(trials[number], said)].append(value)
        roles[trials[number].group, said.role].append(value)
    worth = [
        Worth(number, said, _against(value, same[_question(trials[number], said)],
                                     roles[trials[number].group, said.role], recipe.baseline))
        for number, said, value in earned
    ]  # fmt: skip
    return _scaled(worth, recipe.scale), void


def _earned(trial: Trial, said: Utterance) -> Fraction | int | None:
    """What a reply earns; None where that is void."""
    episode = trial.episode
    if said.invalid is not None:
        return episode.env.cost_of(said.seat)
    return episode.rewards[said.seat]


def _question(trial: Trial, said: Utterance) -> Hashable:
    return trial.group, said.role, said.step, said.occurrence, said.attempt


def _against(value: float, alike: list[float], of_role: list[float], baseline: str) -> float:
    """A value against those of the same question, or of the role where it stands alone."""
    if baseline == "none":
        return value
    others = alike if len(alike) > 1 else of_role
    if baseline == "leave_one_out":
        return value - (sum(others) - value) / (len(others) - 1) if len(others) > 1 else 0.0
    return value - sum(others) / len(others)


def _scaled(worth: list[Worth], scale: str) -> list[Worth]:
    """The same divided by one deviation over all, where the recipe wants that."""
    if scale != "batch" or not worth:
        return worth
    deviation = (sum(one.advantage**2 for one in worth) / len(worth)) ** 0.5
    if deviation == 0:
        return worth
    return [Worth(one.trial, one.utterance, one.advantage / deviation) for one in worth]
