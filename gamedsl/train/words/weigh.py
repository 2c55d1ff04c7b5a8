"""What each reply is worth: rewards to advantages, for games in which something is written.

A valid reply earns what its seat is rewarded with, an invalid one what the game says that it costs
(`on_invalid: {pay: …}`). Of a game that is void for a seat its valid replies are left out, of the
update and of all means: who is innocent of a forfeit learns nothing from it.

`baseline: mean` takes off the mean over the replies of the group to the same question (role, step,
occurrence and attempt); where a reply is alone there, over those of its role in the group;
`leave_one_out` leaves the reply itself out of the mean; `information_set` takes the mean over the
step's replies to the same prompt, of whatever group, else over those of the same question; `none`
takes off nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from gamedsl.recipe.table import Recipe
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
    by_prompt = recipe.baseline == "information_set"
    alike: dict[Hashable, list[float]] = defaultdict(list)
    wider: dict[Hashable, list[float]] = defaultdict(list)
    keys = []
    for number, said, value in earned:
        group = None if by_prompt else trials[number].group
        question = (group, said.role, said.step, said.occurrence, said.attempt)
        keys.append((_prompt(said), question) if by_prompt else (question, (group, said.role)))
        alike[keys[-1][0]].append(value)
        wider[keys[-1][1]].append(value)
    worth = [
        Worth(number, said, _against(value, alike[key], wider[other], recipe.baseline))
        for (number, said, value), (key, other) in zip(earned, keys, strict=True)
    ]
    return _scaled(worth, recipe.scale), void


def _earned(trial: Trial, said: Utterance) -> Fraction | int | None:
    """What a reply earns; None where that is void."""
    episode = trial.episode
    if said.invalid is not None:
        return episode.env.cost_of(said.seat)
    return episode.rewards[said.seat]


def _prompt(said: Utterance) -> Hashable:
    """What was asked, word by word, of whom."""
    if said.written is not None:
        return said.adapter, said.written.prompt_ids
    return None if said.choice is None else said.choice.query


def _against(value: float, alike: list[float], wider: list[float], baseline: str) -> float:
    """A value against those that are alike, or the wider ones where it stands alone."""
    if baseline == "none":
        return value
    others = alike if len(alike) > 1 else wider
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
