"""What a player does, prompt by prompt: gathered from games that it plays, or from transcripts.

A player whose odds are known gives them as they are; any other is asked a few times at each
distinct prompt, and plays what it answered as often as it did. So games are played in bundles, as
in `rollout`: a million games of a drawing player cost what their distinct histories cost.

A player on its own path never shows what to do off it. With `explore` a share of its moves is
random while it plays, and with `student` somebody else makes them; what is learned there is still
what the player would do (Ross et al. 2011).
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from gamedsl.players.replying import query_of
from gamedsl.policies.base import Policy, Query
from gamedsl.prompting.events import SILENCE
from gamedsl.runtime.replay import replay
from gamedsl.runtime.transcripts import Chosen, Drawn, Transcript, TranscriptError, read
from gamedsl.train.cast import Cast
from gamedsl.train.errors import TrainError
from gamedsl.train.rollout import sample_joint

if TYPE_CHECKING:
    from gamedsl.players.base import Player
    from gamedsl.runtime import Decision, Env, Episode, Game

ASKED = 4
"""How often a player whose odds are not known is asked at a distinct prompt."""

AdapterOf = Callable[[str], str]


@dataclass(frozen=True)
class Fit:
    """How near a policy is to what a player does, in means over prompts."""

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
class Lessons:
    """How often a player takes each action at each distinct prompt, over `games` games."""

    games: int = 0
    counts_A: dict[Query, np.ndarray] = field(default_factory=dict)
    queries: list[Query] = field(init=False)
    """The distinct prompts, in the order in which they were first counted."""

    def __post_init__(self) -> None:
        self.queries = list(self.counts_A)

    def add(self, query: Query, odds_A: Sequence[float] | np.ndarray, games: int) -> None:
        """Count a prompt that so many games came to, and the odds [labels] there."""
        if query not in self.counts_A:
            self.counts_A[query] = np.zeros(len(query.labels))
            self.queries.append(query)
        self.counts_A[query] += games * np.asarray(odds_A)

    def take(self, other: Lessons) -> None:
        """Count the games of others, too."""
        self.games += other.games
        for query, counts_A in other.counts_A.items():
            self.add(query, counts_A, 1)

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def targets(self) -> list[torch.Tensor]:
        """The player's probabilities [labels] at each of `queries`, float32."""
        return [_odds(counts_A) for counts_A in self.counts_A.values()]

    def few(self, most: int) -> Lessons:
        """At most so many of the prompts, by a hash of each: no part of the game is preferred."""
        kept = sorted(self.counts_A, key=lambda query: _hash(query.messages))[:most]
        return Lessons(self.games, {query: self.counts_A[query] for query in kept})

    def learn(self, policy: Policy, chosen: Sequence[int]) -> float:
        """Add the gradient of the mean cross-entropy at some of `queries` to the adapters; returns
        that mean."""
        queries = [self.queries[i] for i in chosen]
        targets = [_odds(self.counts_A[query]) for query in queries]
        weights = [-target / len(chosen) for target in targets]
        log_pi = policy.backward(queries, weights)
        return sum(float((w * lp).sum()) for w, lp in zip(weights, log_pi, strict=True))

    def fit(self, policy: Policy) -> Fit:
        """How near a policy is to what these say."""
        rows = []
        for log_pi, target in zip(policy.log_probs(self.queries), self.targets, strict=True):
            loss = -float((target * log_pi).sum())
            entropy = float(torch.special.entr(target).sum())
            apart = float((target - log_pi.exp()).abs().sum()) / 2
            right = float(target[log_pi.argmax()] >= target.max() / 2)
            rows.append((loss, loss - entropy, 1 - apart, right))
        return Fit(*(sum(column) / len(rows) for column in zip(*rows, strict=True)))


def _odds(counts_A: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(counts_A / counts_A.sum()).float()


Student = Callable[[Sequence[Query]], Sequence[np.ndarray]]
"""The probabilities [labels] of a policy's moves at some prompts."""

Asked = tuple["Decision", Query, "Episode"]
"""A decision, the prompt that the policy is given there, and where it is asked."""


class Odds:
    """The odds of players at decisions. Where they are not known, a player is asked a few times at
    each distinct prompt, and they are how often it gave each answer."""

    def __init__(self) -> None:
        self._answers: dict[tuple[int, Query], np.ndarray] = {}

    def of(self, player: Player, asked: Sequence[Asked]) -> list[np.ndarray]:
        """Probabilities [labels] of each. Raises TrainError for a reply that is no legal answer."""
        from gamedsl.players.base import DrawingPlayer

        if isinstance(player, DrawingPlayer):
            distinct = {(d.information_set, d.labels): (d, e) for d, _, e in asked}
            found = dict(zip(distinct, player.all_odds(list(distinct.values())), strict=True))
            return [np.array(found[d.information_set, d.labels], dtype=float) for d, _, _ in asked]
        for decision, query, episode in asked:
            if (id(player), query) not in self._answers:
                counts = np.zeros(len(decision.legal))
                for _ in range(ASKED):
                    counts[_answer(player, decision, episode)] += 1
                self._answers[id(player), query] = counts / ASKED
        return [self._answers[id(player), query] for _, query, _ in asked]


def gather(
    env: Env,
    holders: Sequence[Mapping[str, Player]],
    taught: Sequence[frozenset[str]],
    adapter: AdapterOf,
    rng: np.random.Generator,
    *,
    games: int,
    explore: float = 0.0,
    student: Student | None = None,
) -> Lessons:
    """Play games and note what the taught seats' players do.

    holders: who holds the seats, once or more; the games are shared evenly by them. taught: of each
    of these, the seats whose moves are lessons. There a `student`, if there is one, moves in the
    player's place; a share `explore` of the moves is random.
    """
    lessons, odds = Lessons(games), Odds()
    for number, (players, seats) in enumerate(zip(holders, taught, strict=True)):
        share = games // len(holders) + (number < games % len(holders))
        here = list(_first(env, rng, share))
        while here := [part for episode, count in here for part in _settled(episode, count, rng)]:
            rows = _odds_of_all(odds, players, adapter, [episode for episode, _ in here])
            ahead: list[tuple[Episode, int]] = []
            taken = [query for asked in rows for seat, query, _ in asked if seat in seats]
            played = iter(student(taken) if student is not None else ())
            for (episode, count), asked in zip(here, rows, strict=True):
                behaviour = []
                for seat, query, pi_A in asked:
                    if seat in seats:
                        lessons.add(query, pi_A, count)
                        pi_A = pi_A if student is None else next(played)
                        pi_A = (1 - explore) * pi_A + explore / len(pi_A)
                    behaviour.append(pi_A)
                ahead += _moved(episode, count, behaviour, rng)
            here = ahead
    return lessons


def _odds_of_all(
    odds: Odds, players: Mapping[str, Player], adapter: AdapterOf, episodes: Sequence[Episode]
) -> list[list[tuple[str, Query, np.ndarray]]]:
    """Of each episode, the seats that are asked, their prompts, and the odds of their players, all
    decisions of a player together."""
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
        [(d.seat, *found[number][d.seat]) for d in episode.decisions]
        for number, episode in enumerate(episodes)
    ]


def read_lessons(
    file: Path, game: Game, env: Env, cast: Cast, held_out: float
) -> tuple[Lessons, Lessons]:
    """What the seats of roles that are trained did in a file of transcripts, as `gamedsl` and run
    folders write them; and the same of a share of its games, chosen by their hashes.

    Raises TrainError for a file that cannot be read, or is not of this very game.
    """
    learnt, kept = Lessons(), Lessons()
    for transcript in read_games(file, game, env):
        games = int(transcript.head.get("games", 1))
        into = kept if share_of(transcript) < held_out else learnt
        into.games += games
        for decision, name in choices(env, transcript):
            if decision.role in cast.learners:
                row = [float(legal == name) for legal in decision.legal]
                into.add(query_of(decision, cast.adapter(decision.role)), row, games)
    if not learnt.games:
        raise nothing_in(file)
    return learnt, kept


def nothing_in(file: Path) -> TrainError:
    """Why nothing can be learned from a file."""
    return TrainError(f"{file} holds no game to learn from", "lower `warm_up.held_out`")


def read_games(file: Path, game: Game, env: Env) -> Iterator[Transcript]:
    """The transcripts of a file, each of which was found to agree with the game. TrainError for a
    file that cannot be read, or is not of this very game."""
    try:
        transcripts = list(read(file.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, TranscriptError) as error:
        raise TrainError(
            f"{file} cannot be read as transcripts: {error}",
            "give a file of a run's transcripts/, or one that `transcripts.dump` wrote",
        ) from error
    for transcript in transcripts:
        found = replay(game, transcript, env)
        if found.faults:
            first = found.faults[0]
            raise TrainError(
                f"{file}, line {first.line}: {first}", first.help or "leave this game out"
            )
        yield transcript


def _first(env: Env, rng: np.random.Generator, games: int) -> Iterator[tuple[Episode, int]]:
    """One bundle where labels last; else a game each, whose seeds draw the labels."""
    if env.ir.labels_last:
        yield env.reset(seed=env.run_seed, chance="asked"), games
        return
    for seed in rng.integers(2**31, size=games):
        yield env.reset(seed=int(seed), chance="asked"), 1


def _settled(
    episode: Episode, games: int, rng: np.random.Generator
) -> Iterator[tuple[Episode, int]]:
    """A bundle after chance, where it is chance's turn: parts of it that wait for decisions."""
    if not episode.chance:
        if not episode.done:
            yield episode, games
        return
    probabilities = np.array([float(outcome.probability) for outcome in episode.chance])
    for (outcome,), count in zip(*sample_joint(rng, [probabilities], games), strict=True):
        child = episode.fork()
        child.draw(int(outcome))
        yield from _settled(child, int(count), rng)


def _moved(
    episode: Episode, games: int, pi: Sequence[np.ndarray], rng: np.random.Generator
) -> Iterator[tuple[Episode, int]]:
    from gamedsl.runtime import Action

    decisions = episode.decisions
    for joint, count in zip(*sample_joint(rng, pi, games), strict=True):
        child = episode.fork()
        child.step({d.seat: Action(d.legal[a]) for d, a in zip(decisions, joint, strict=True)})
        yield child, int(count)


def _answer(player: Player, decision: Decision, episode: Episode) -> int:
    """The number of what a player does."""
    reply = player.act(decision, episode)
    name = episode.parse(decision, reply)
    if isinstance(name, str) and name in decision.legal:
        return decision.legal.index(name)
    raise TrainError(
        f"the player to imitate answered {reply!r} at {decision.information_set},"
        " which is no legal answer",
        "imitate a player that gives legal answers",
    )


def choices(env: Env, transcript: Transcript) -> Iterator[tuple[Decision, str]]:
    """Each decision of a transcript that was found to agree with the game, and what was chosen or
    said; none of those where there was no valid reply."""
    from gamedsl.runtime import Action

    episode = env.reset(seed=transcript.head["seed"], chance="asked", forced="asked")
    for happening in transcript.happenings:
        match happening:
            case Drawn():
                names = [outcome.name for outcome in episode.chance]
                episode.draw(names.index(happening.outcome))
            case Chosen():
                for decision in episode.decisions:
                    name = happening.choices[decision.seat]
                    free = decision.said is not None or len(decision.legal) > 1
                    if free and name != SILENCE:
                        yield decision, name
                episode.step({seat: Action(name) for seat, name in happening.choices.items()})
            case _:
                return


def share_of(transcript: Transcript) -> float:
    """A number from 0 to 1 that a game's course fixes."""
    return int(_hash(transcript.happenings)[:8], 16) / 16**8


def _hash(thing: object) -> str:
    return hashlib.sha256(repr(thing).encode()).hexdigest()
