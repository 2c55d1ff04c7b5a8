"""Plays the games of a training step in which something is written.

Every game goes at its own pace: in each round all decisions that any game waits for are answered
together (`gamedsl.players.replying`), each from random numbers of its game alone. A reply's tokens
are kept as they were drawn, so that what is trained is what was said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from gamedsl.backends.replies import ParseFailure
from gamedsl.ir.game import GameIR
from gamedsl.ir.recipe import Recipe
from gamedsl.players.base import Player, Posed, answer
from gamedsl.players.replying import Asked, Choice, replies
from gamedsl.policies.generation import Generated, Writing
from gamedsl.policies.names import REFEREES
from gamedsl.train.cast import Cast, Lineup
from gamedsl.train.rollout import Batch, History, generator
from gamedsl.train.words.lineages import Lineages

if TYPE_CHECKING:
    from gamedsl.runtime import Action, Decision, Env, Episode


class Utterance(NamedTuple):
    """One reply of one seat: `written` with its tokens, or the `choice` of an option. `invalid`
    says why it was no valid reply, which is then all that it earns."""

    seat: str
    role: str
    step: str
    occurrence: int
    attempt: int
    adapter: str
    written: Generated | None
    choice: Choice | None
    invalid: ParseFailure | None = None


_Said = tuple["Decision", "Action | str | ParseFailure", Utterance | None]
"""What was replied to a decision; who is no part of the policy has no utterance."""


@dataclass
class Trial:
    """One game of a group, and what the policy said in it, in order."""

    group: int
    episode: Episode
    lineup: Lineup
    utterances: list[Utterance] = field(default_factory=list)


def batch_of(trials: Sequence[Trial]) -> Batch:
    """The games as those of any step, for what is measured of both; in the order of `trials`."""
    lineups = {trial.group: trial.lineup for trial in trials}
    histories = [History(trial.group, 1, (), trial.episode) for trial in trials]
    return Batch(histories=histories, lineups=[lineups[group] for group in sorted(lineups)])


def adapter_of(ir: GameIR, cast: Cast, role: str) -> str:
    """The adapter that answers for a role, or for a referee."""
    if any(referee.name == role for referee in ir.referees):
        return REFEREES
    return cast.adapter(role)


def play(
    env: Env, policy: Writing, recipe: Recipe, step: int, cast: Cast,
    lineages: Lineages | None = None,
) -> list[Trial]:  # fmt: skip
    """Play `recipe.games` games with the policy as it is; `step` keys the random numbers. The
    games of a group share what chance brings, and the memory that they begin with: what earlier
    steps left to `lineages`."""
    cast.enter(generator(recipe.seed, step, "players"))
    trials = list(_trials(env, recipe, step, cast, lineages or Lineages()))
    rng_of = dict(zip(map(id, trials), generator(recipe.seed, step, "words").spawn(len(trials))))
    waiting = trials
    while waiting:
        asked = [
            (trial, decision, int(rng_of[id(trial)].integers(2**31)))
            for trial in waiting for decision in trial.episode.decisions
        ]  # fmt: skip
        said = _replies(env, policy, recipe, cast, asked)
        at = 0
        for trial in waiting:
            own = said[at : at + len(trial.episode.decisions)]
            at += len(own)
            _move(trial, own)
        waiting = [trial for trial in waiting if not trial.episode.done]
    return trials


def _trials(env: Env, recipe: Recipe, step: int, cast: Cast, lineages: Lineages) -> Iterable[Trial]:
    groups = recipe.games // recipe.group_size
    seeds = generator(recipe.seed, step, "groups").integers(2**31, size=groups)
    rng = generator(recipe.seed, step, "opponents")
    for group, seed in enumerate(seeds):
        lineup = cast.lineup(rng, (step - 1) * groups + group)
        for _ in range(recipe.group_size):
            yield Trial(group, env.reset(seed=int(seed), memory=lineages.of(group)), lineup)


def _replies(
    env: Env, policy: Writing, recipe: Recipe, cast: Cast,
    asked: Sequence[tuple[Trial, Decision, int]],
) -> list[_Said]:  # fmt: skip
    """What is replied to each decision, from a seed, by the policy or by who holds the seat."""
    own: dict[int, Asked] = {}
    others: dict[int, tuple[Player, list[int]]] = {}
    found: dict[int, _Said] = {}
    for i, (trial, decision, seed) in enumerate(asked):
        player = cast.holder(decision, trial.lineup)
        if player is not None:
            others.setdefault(id(player), (player, []))[1].append(i)
        else:
            own[i] = Asked(decision, adapter_of(env.ir, cast, decision.role), seed)
    for player, theirs in others.values():
        posed = [Posed(asked[i][1], asked[i][0].episode, asked[i][2]) for i in theirs]
        for i, answered in zip(theirs, answer(player, posed), strict=True):
            found[i] = asked[i][1], answered.reply, None
    answers = replies(policy, list(own.values()), recipe.temperature, free=recipe.replies == "free")
    for (i, one), reply in zip(own.items(), answers, strict=True):
        decision = one.decision
        found[i] = decision, reply.answer, Utterance(
            decision.seat, decision.role, decision.step, decision.occurrence,
            len(decision.failed), one.adapter, reply.written, reply.choice,
        )  # fmt: skip
    return [found[i] for i in range(len(asked))]


def _move(trial: Trial, said: Sequence[_Said]) -> None:
    """Answer all decisions of a game, and note what each reply of the policy came to."""
    episode = trial.episode
    known = len(episode.mistakes)
    episode.step({decision.seat: answer for decision, answer, _ in said})
    failed = {m.decision.seat: m.failure for m in episode.mistakes[known:]}
    trial.utterances += [
        one._replace(invalid=failed.get(decision.seat))
        for decision, _, one in said
        if one is not None
    ]
