"""Plays the games of a training step in which something is written.

Every game goes at its own pace: in each round all decisions that any game waits for are answered
together, replies that must be written in one batch of the engine, plain labels by one scoring pass.
What a reply's tokens are is kept as it was drawn, so that what is trained is what was said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from gamedsl.backends.replies import ParseFailure
from gamedsl.ir.game import GameIR
from gamedsl.ir.recipe import Recipe
from gamedsl.policies.base import Policy, Query
from gamedsl.policies.generation import Generated, Generator, Request
from gamedsl.train.cast import Cast, Lineup
from gamedsl.train.engine import REFEREES
from gamedsl.train.rollout import Batch, History, generator, query_of

if TYPE_CHECKING:
    from gamedsl.runtime import Action, Decision, Env, Episode

ANSWER_TOKENS = 48
"""Room for a label in its form, after a thought."""


class Writing(Policy, Generator, Protocol):
    """A policy that scores labels and writes replies."""


class Choice(NamedTuple):
    """A label that was scored and drawn: the decision as the policy saw it, and which it took."""

    query: Query
    action: int


class Utterance(NamedTuple):
    """One reply of one seat: `written` with its tokens, or a `choice` of a label. `invalid` says
    why it was no valid reply, which is then all that it earns."""

    seat: str
    role: str
    step: str
    occurrence: int
    attempt: int
    adapter: str
    written: Generated | None
    choice: Choice | None
    invalid: ParseFailure | None = None


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


def is_written(decision: Decision) -> bool:
    """Whether a reply is written token by token; else a label is scored."""
    return decision.said is not None or decision.form.kind != "label" or (
        decision.form.think is not None
    )  # fmt: skip


def play(env: Env, policy: Writing, recipe: Recipe, step: int, cast: Cast) -> list[Trial]:
    """Play `recipe.games` games with the policy as it is; `step` keys the random numbers. The
    games of a group share what chance brings."""
    cast.enter(generator(recipe.seed, step, "players"))
    trials = list(_trials(env, recipe, step, cast))
    rng = generator(recipe.seed, step, "words")
    waiting = trials
    while waiting:
        asked = [(trial, d) for trial in waiting for d in trial.episode.decisions]
        replies = _replies(env, policy, recipe, cast, asked, rng)
        at = 0
        for trial in waiting:
            own = replies[at : at + len(trial.episode.decisions)]
            at += len(own)
            _move(trial, own)
        waiting = [trial for trial in waiting if not trial.episode.done]
    return trials


Reply = tuple["Decision", "Action | str | ParseFailure", Utterance | None]


def _trials(env: Env, recipe: Recipe, step: int, cast: Cast) -> Iterable[Trial]:
    groups = recipe.games // recipe.group_size
    seeds = generator(recipe.seed, step, "groups").integers(2**31, size=groups)
    rng = generator(recipe.seed, step, "opponents")
    for group, seed in enumerate(seeds):
        lineup = cast.lineup(rng, (step - 1) * groups + group)
        for _ in range(recipe.group_size):
            yield Trial(group, env.reset(seed=int(seed)), lineup)


def _replies(
    env: Env, policy: Writing, recipe: Recipe, cast: Cast,
    asked: Sequence[tuple[Trial, Decision]], rng: np.random.Generator,
) -> list[Reply]:  # fmt: skip
    """What is replied to each decision."""
    from gamedsl.runtime import Action

    seeds = rng.integers(2**31, size=len(asked))
    requests: dict[int, Request] = {}
    queries: dict[int, Query] = {}
    found: dict[int, Reply] = {}
    for i, (trial, decision) in enumerate(asked):
        player = cast.holder(decision, trial.lineup)
        if player is not None:
            found[i] = decision, player.act(decision, trial.episode), None
            continue
        adapter = adapter_of(env.ir, cast, decision.role)
        if is_written(decision):
            requests[i] = request_of(decision, adapter, recipe.temperature, int(seeds[i]))
        else:
            queries[i] = query_of(decision, adapter)
    for i, reply in zip(requests, policy.generate(list(requests.values())), strict=True):
        trial, decision = asked[i]
        said = Utterance(
            decision.seat, decision.role, decision.step, decision.occurrence,
            len(decision.failed), requests[i].adapter, reply, None,
        )  # fmt: skip
        cut = reply.finish == "length"
        text = ParseFailure("truncated", reply.text) if cut else reply.text
        found[i] = decision, text, said
    distinct = list(dict.fromkeys(queries.values()))
    scores = policy.log_probs(distinct) if distinct else []
    odds = {
        query: (log_pi.double() / recipe.temperature).softmax(0).numpy()
        for query, log_pi in zip(distinct, scores, strict=True)
    }
    for i, query in queries.items():
        decision = asked[i][1]
        action = int(np.random.default_rng(int(seeds[i])).choice(len(odds[query]), p=odds[query]))
        said = Utterance(
            decision.seat, decision.role, decision.step, decision.occurrence,
            len(decision.failed), query.adapter, None, Choice(query, action),
        )  # fmt: skip
        found[i] = decision, Action(decision.legal[action]), said
    return [found[i] for i in range(len(asked))]


def request_of(decision: Decision, adapter: str, temperature: float, seed: int) -> Request:
    """A decision that is answered in words, as an engine is asked for it."""
    said, form = decision.said, decision.form
    room = ANSWER_TOKENS + (form.think or 0) if said is None else said.max_tokens
    messages = query_of(decision, adapter).messages
    return Request(messages, adapter, room, temperature, seed=seed)


def _move(trial: Trial, replies: Sequence[Reply]) -> None:
    """Answer all decisions of a game, and note what each reply of the policy came to."""
    episode = trial.episode
    known = len(episode.mistakes)
    episode.step({decision.seat: reply for decision, reply, _ in replies})
    failed = {m.decision.seat: m.failure for m in episode.mistakes[known:]}
    trial.utterances += [
        said._replace(invalid=failed.get(decision.seat))
        for decision, _, said in replies
        if said is not None
    ]
