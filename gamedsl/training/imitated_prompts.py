"""A player's odds at the prompts of closed decisions, as they are learned.

A player whose odds are known gives them as they are; any other is asked a few times at each
distinct prompt, and plays what it answered as often as it did. So games are played in bundles
(`gamedsl.training.bundles`): a million games of a drawing player cost what their distinct histories
cost.

With `warm_up.reward` what is learned is not what a player would do, but what paid: the moves that
it made in games in which its seat earned so much, as often as it made them.

Shape letters: A labels of a query.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from gamedsl.players.base import (
    DrawingPlayer,
    Player,
)
from gamedsl.players.model_replies import query_of
from gamedsl.policies.base import Policy, Query
from gamedsl.recipe.table import Recipe
from gamedsl.training.bundles import Bundle, Chance
from gamedsl.training.errors import TrainError
from gamedsl.training.imitated_files import check_file
from gamedsl.training.imitated_games import (
    digest_of,
    earned_enough,
    files_of,
    nothing_earned,
    players_of,
    split_file,
)
from gamedsl.training.rollout import generator
from gamedsl.training.scoring import tempered, untempered
from gamedsl.training.seats import Answers, SeatAssignment

if TYPE_CHECKING:
    from gamedsl.runtime import Decision, Env, Episode, Game


ASKED = 4
"""How often a player whose odds are not known is asked at a distinct prompt."""

AdapterOf = Callable[[str], str]


@dataclass(frozen=True)
class PromptFit:
    """The distance of a policy from a player, in means over prompts."""

    loss: float
    """Cross-entropy, in nats."""
    kl: float
    """KL(player || policy), in nats."""
    agreement: float
    """The share of moves that are the same: 1 less the total variation distance."""
    accuracy: float
    """Share of prompts at which the policy's likeliest action is one the player takes: at least
    half as often as its own likeliest."""


@dataclass
class PromptDataset:
    """The counts of a player's actions at each distinct prompt, over `games` games. The policy
    learns to play by its odds at a `temperature`."""

    games: int = 0
    counts_A: dict[Query, np.ndarray] = field(default_factory=dict)
    temperature: float = 1.0
    queries: list[Query] = field(init=False)
    """The distinct prompts, in the order in which they were first counted."""

    def __post_init__(self) -> None:
        self.queries = list(self.counts_A)

    def add(self, query: Query, odds_A: Sequence[float] | np.ndarray, games: int) -> None:
        """Counts a prompt that so many games came to, and the odds [labels] there."""
        if query not in self.counts_A:
            self.counts_A[query] = np.zeros(len(query.labels))
            self.queries.append(query)
        self.counts_A[query] += games * np.asarray(odds_A)

    def take(self, other: PromptDataset) -> None:
        """Adds the games of another dataset."""
        self.games += other.games
        for query, counts_A in other.counts_A.items():
            self.add(query, counts_A, 1)

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def targets(self) -> list[torch.Tensor]:
        """The player's probabilities [labels] at each of `queries`, float32."""
        return [_odds(counts_A) for counts_A in self.counts_A.values()]

    def subset(self, most: int) -> PromptDataset:
        """Returns at most so many of the prompts, by a hash of each: no part of the game is
        preferred."""
        kept = sorted(self.counts_A, key=lambda query: digest_of(query.messages))[:most]
        counts = {query: self.counts_A[query] for query in kept}
        return PromptDataset(self.games, counts, self.temperature)

    def learn(self, policy: Policy, chosen: Sequence[int]) -> float:
        """Adds the gradient of the mean cross-entropy at some of `queries` to the adapters; returns
        that mean."""
        queries = [self.queries[i] for i in chosen]
        targets = [_odds(self.counts_A[query]) for query in queries]
        weights = [-untempered(one, self.temperature) / len(chosen) for one in targets]
        log_pi = [tempered(one, self.temperature) for one in policy.backward(queries, weights)]
        total = sum(float((one * lp).sum()) for one, lp in zip(targets, log_pi, strict=True))
        return -total / len(chosen)

    def fit(self, policy: Policy) -> PromptFit:
        """Returns how near a policy is to the player."""
        rows = []
        for found, target in zip(policy.log_probs(self.queries), self.targets, strict=True):
            log_pi = tempered(found, self.temperature)
            loss = -float((target * log_pi).sum())
            entropy = float(torch.special.entr(target).sum())
            distance = float((target - log_pi.exp()).abs().sum()) / 2
            right = float(target[log_pi.argmax()] >= target.max() / 2)
            rows.append((loss, loss - entropy, 1 - distance, right))
        return PromptFit(*(sum(column) / len(rows) for column in zip(*rows, strict=True)))


def _odds(counts_A: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(counts_A / counts_A.sum()).float()


def prompts_of(
    game: Game,
    env: Env,
    recipe: Recipe,
    seating: SeatAssignment,
    policy: Policy | None,
    number: int,
) -> tuple[PromptDataset, PromptDataset]:
    """Returns the prompts of a round that are learned and those that are held out; see
    `datasets_of`."""
    plan = recipe.warm_up
    learned = PromptDataset(temperature=recipe.temperature)
    kept = PromptDataset(temperature=recipe.temperature)
    for file, roles in files_of(recipe, seating).items() if number == 1 else ():
        check_file(file, recipe, game)
        for held_out, games, moves in split_file(file, roles, recipe, game, env):
            into = kept if held_out else learned
            into.games += games
            for decision, name, *_ in moves:
                row = [float(legal == name) for legal in decision.legal]
                into.add(query_of(decision, seating.adapter(decision.role)), row, games)
    holders, taught = players_of(game, recipe, seating, recipe.seed)
    held = round(plan.games * plan.held_out)
    student = None if policy is None else partial(_policy_odds, policy, recipe.temperature)
    for into, games, purpose in ((learned, plan.games - held, "learned"), (kept, held, "held out")):
        if taught:
            into.take(gather(
                env, holders, taught, seating.adapter,
                generator(recipe.seed, number - 1, f"warm-up, {purpose}"),
                games=games, explore=plan.explore, student=student,
                pays=None if plan.reward is None else partial(earned_enough, recipe),
            ))  # fmt: skip
    if number == 1 and plan.reward is not None and not len(learned):
        raise nothing_earned(recipe, learned.games)
    return learned, kept


def _policy_odds(policy: Policy, temperature: float, queries: Sequence[Query]) -> list[np.ndarray]:
    """Returns the probabilities [labels] with which a policy's moves are drawn, float64."""
    scores = policy.log_probs(queries)
    return [(log_pi.double() / temperature).softmax(0).cpu().numpy() for log_pi in scores]


Leader = Callable[[Sequence[Query]], Sequence[np.ndarray]]
"""The probabilities [labels] of a policy's moves at some prompts."""

Asked = tuple["Decision", Query, "Episode"]
"""A decision, the prompt that the policy is given there, and its episode."""


class PlayerOdds:
    """The odds of players at decisions. Where they are not known, a player is asked a few times at
    each distinct prompt, and they are how often it gave each answer."""

    def __init__(self, *, must_answer: bool = True) -> None:
        """must_answer: an illegal answer is an error. Else it does not count, and a player that
        gave no other has odds of zero."""
        self._must_answer = must_answer
        self._answers: dict[tuple[int, Query], np.ndarray] = {}

    def of(self, player: Player, asked: Sequence[Asked]) -> list[np.ndarray]:
        """Returns probabilities [labels] of each. Raises TrainError for a reply that is no legal
        answer, if there must be one."""
        if isinstance(player, DrawingPlayer):
            distinct = {(d.information_set, d.labels): (d, e) for d, _, e in asked}
            found = dict(zip(distinct, player.all_odds(list(distinct.values())), strict=True))
            return [np.array(found[d.information_set, d.labels], dtype=float) for d, _, _ in asked]
        for decision, query, episode in asked:
            if (id(player), query) not in self._answers:
                counts = np.zeros(len(decision.legal))
                for _ in range(ASKED):
                    number = _answer(player, decision, episode, must=self._must_answer)
                    if number is not None:
                        counts[number] += 1
                self._answers[id(player), query] = counts / max(counts.sum(), 1)
        return [self._answers[id(player), query] for _, query, _ in asked]


def _answer(player: Player, decision: Decision, episode: Episode, *, must: bool) -> int | None:
    """Returns the number of a player's move; None for no legal one, where none `must` be."""
    reply = player.act(decision, episode)
    name = episode.parse(decision, reply)
    if isinstance(name, str) and name in decision.legal:
        return decision.legal.index(name)
    if not must:
        return None
    raise TrainError(
        f"the player to imitate answered {reply!r} at {decision.information_set},"
        " which is no legal answer",
        "imitate a player that gives legal answers",
    )


@dataclass(frozen=True)
class _Course:
    """A bundle under way, with the moves of its taught seats so far: the seat, the prompt, and what
    its player did there, as odds [labels]."""

    bundle: Bundle
    moves: tuple[tuple[str, Query, np.ndarray], ...] = ()


def gather(
    env: Env,
    holders: Sequence[Mapping[str, Player]],
    taught: Sequence[frozenset[str]],
    adapter: AdapterOf,
    rng: np.random.Generator,
    *,
    games: int,
    explore: float = 0.0,
    student: Leader | None = None,
    pays: Callable[[Any], bool] | None = None,
) -> PromptDataset:
    """Plays games and notes what the taught seats' players do.

    holders: the players of all seats, once or more; the games are shared evenly by them. taught: of
    each of these, the seats whose moves are learned. There a `student`, if there is one, moves in
    the player's place; a share `explore` of the moves is random. pays: whether what a seat earned
    in a game is enough for its player's moves there to be learned; without it the player's odds are
    learned wherever it was asked. What a student's moves earned says nothing of the player's.
    """
    dataset, odds = PromptDataset(games), PlayerOdds()
    for number, (players, seats) in enumerate(zip(holders, taught, strict=True)):
        share = games // len(holders) + (number < games % len(holders))
        chance, ahead = Chance(rng), [_Course(one) for one in _first(env, rng, share)]
        while ahead:
            here = list[_Course]()
            for course in ahead:
                for part in chance.split(course.bundle):
                    if not part.episode.done:
                        here.append(replace(course, bundle=part))
                    elif pays is not None:
                        _learn(dataset, course.moves, part, pays)
            rows = _odds_of_all(odds, players, adapter, [one.bundle.episode for one in here])
            taken = [query for asked in rows for d, query, _ in asked if d.seat in seats]
            played = iter(student(taken) if student is not None and taken else ())
            ahead = []
            for course, asked in zip(here, rows, strict=True):
                behaviour = []
                for decision, query, pi_A in asked:
                    if decision.seat in seats:
                        if pays is None:
                            dataset.add(query, pi_A, course.bundle.games)
                        pi_A = pi_A if student is None else next(played)
                        pi_A = (1 - explore) * pi_A + explore / len(pi_A)
                    behaviour.append(Answers.of(decision, pi_A))
                for joint, _, part in course.bundle.moved(behaviour, rng):
                    moves = course.moves
                    if pays is not None:
                        moves += tuple(_made(asked, behaviour, joint, seats, explore))
                    ahead.append(_Course(part, moves))
    return dataset


def _learn(
    dataset: PromptDataset,
    moves: Sequence[tuple[str, Query, np.ndarray]],
    ended: Bundle,
    pays: Callable[[Any], bool],
) -> None:
    """Counts those moves of games that have ended whose seats earned enough."""
    earned = ended.episode.earnings
    for seat, query, odds_A in moves:
        if pays(earned.get(seat)):
            dataset.add(query, odds_A, ended.games)


def _made(
    asked: Sequence[tuple[Decision, Query, np.ndarray]], behaviour: Sequence[Answers],
    joint: np.ndarray, seats: frozenset[str], explore: float,
) -> Iterator[tuple[str, Query, np.ndarray]]:  # fmt: skip
    """Yields what the players of some seats did at their decisions: the move that was made, so far
    as it was theirs. Where it was random they would have moved by their odds."""
    for (decision, query, pi_A), answers, move in zip(asked, behaviour, joint, strict=True):
        if decision.seat in seats and answers.odds_A is not None:
            random = explore / len(pi_A) / answers.odds_A[move]
            odds_A = random * pi_A
            odds_A[move] += 1 - random
            yield decision.seat, query, odds_A


def _first(env: Env, rng: np.random.Generator, games: int) -> Iterator[Bundle]:
    """Yields one bundle where labels last; else one for each game, whose seeds draw the labels."""
    if env.ir.labels_last:
        yield Bundle(env.reset(seed=env.run_seed, chance="asked"), games)
        return
    for seed in rng.integers(2**31, size=games):
        yield Bundle(env.reset(seed=int(seed), chance="asked"), 1)


def _odds_of_all(
    odds: PlayerOdds, players: Mapping[str, Player], adapter: AdapterOf,
    episodes: Sequence[Episode],
) -> list[list[tuple[Decision, Query, np.ndarray]]]:  # fmt: skip
    """Returns for each episode its decisions, their prompts, and the odds of their players. All
    decisions of a player are asked together."""
    asked: dict[int, list[tuple[int, Asked]]] = defaultdict(list)
    holder: dict[int, Player] = {}
    for number, episode in enumerate(episodes):
        for decision in episode.decisions:
            player = players[decision.seat]
            query = query_of(decision, adapter(decision.role))
            holder[id(player)] = player
            asked[id(player)].append((number, (decision, query, episode)))
    found: list[dict[str, tuple[Query, np.ndarray]]] = [{} for _ in episodes]
    for key, some in asked.items():
        rows = odds.of(holder[key], [one for _, one in some])
        for (number, (decision, query, _)), pi_A in zip(some, rows, strict=True):
            found[number][decision.seat] = query, pi_A
    return [
        [(d, *found[number][d.seat]) for d in episode.decisions]
        for number, episode in enumerate(episodes)
    ]
