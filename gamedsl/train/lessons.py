"""What a player does, prompt by prompt: gathered from games that it plays, or from transcripts.

A player whose odds are known gives them as they are; any other is asked a few times at each
distinct prompt, and plays what it answered as often as it did. So games are played in bundles, as
in `rollout`: a million games of a drawing player cost what their distinct histories cost.

A player on its own path never shows what to do off it. With `explore` a share of its moves is
random while it plays; what is learned there is still what the player would do (Ross et al. 2011).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from gamedsl.policies.base import Query
from gamedsl.runtime.replay import replay
from gamedsl.runtime.transcripts import Chosen, Drawn, Transcript, TranscriptError, read
from gamedsl.train.cast import Cast
from gamedsl.train.errors import TrainError
from gamedsl.train.rollout import query_of, sample_joint

if TYPE_CHECKING:
    from gamedsl.players.base import Player
    from gamedsl.runtime import Decision, Env, Episode, Game

ASKED = 4
"""How often a player whose odds are not known is asked at a distinct prompt."""

AdapterOf = Callable[[str], str]


@dataclass
class Lessons:
    """How often a player takes each action at each distinct prompt, over `games` games."""

    games: int = 0
    counts_A: dict[Query, np.ndarray] = field(default_factory=dict)

    def add(self, query: Query, odds_A: Sequence[float] | np.ndarray, games: int) -> None:
        """Count a prompt that so many games came to, and the odds [labels] there."""
        counts_A = self.counts_A.setdefault(query, np.zeros(len(query.labels)))
        counts_A += games * np.asarray(odds_A)

    def __len__(self) -> int:
        return len(self.counts_A)

    @property
    def queries(self) -> list[Query]:
        return list(self.counts_A)

    @property
    def targets(self) -> list[torch.Tensor]:
        """The player's probabilities [labels] at each of `queries`, float32."""
        return [torch.from_numpy(c / c.sum()).float() for c in self.counts_A.values()]

    def few(self, most: int) -> Lessons:
        """At most so many of the prompts, by a hash of each: no part of the game is preferred."""
        kept = sorted(self.counts_A, key=lambda query: _hash(query.messages))[:most]
        return Lessons(self.games, {query: self.counts_A[query] for query in kept})


class Odds:
    """The odds of players at decisions, each asked for once per distinct prompt where they are not
    known."""

    def __init__(self) -> None:
        self._answers: dict[tuple[int, Query], np.ndarray] = {}

    def of(self, player: Player, decision: Decision, query: Query, episode: Episode) -> np.ndarray:
        """Probabilities [labels]. Raises TrainError for a reply that is no legal label."""
        from gamedsl.players.base import DrawingPlayer

        if isinstance(player, DrawingPlayer):
            return np.array(player.odds(decision, episode), dtype=float)
        key = (id(player), query)
        if key not in self._answers:
            counts = np.zeros(len(decision.legal))
            for _ in range(ASKED):
                counts[_answer(player, decision, episode)] += 1
            self._answers[key] = counts / ASKED
        return self._answers[key]


def gather(
    env: Env,
    holders: Sequence[Mapping[str, Player]],
    taught: Sequence[frozenset[str]],
    adapter: AdapterOf,
    rng: np.random.Generator,
    *,
    games: int,
    explore: float = 0.0,
) -> Lessons:
    """Play games and note what the taught seats' players do.

    holders: who holds the seats, once or more; the games are shared evenly by them. taught: of each
    of these, the seats whose moves are lessons. Their players move at random a share `explore` of
    the time.
    """
    lessons, odds = Lessons(games), Odds()
    for number, (players, seats) in enumerate(zip(holders, taught, strict=True)):
        share = games // len(holders) + (number < games % len(holders))
        frontier = list(_first(env, rng, share))
        while frontier:
            episode, count = frontier.pop()
            if episode.done:
                continue
            if episode.chance:
                frontier += _split(episode, count, rng)
                continue
            behaviour = []
            for decision in episode.decisions:
                query = query_of(decision, adapter(decision.role))
                pi_A = odds.of(players[decision.seat], decision, query, episode)
                if decision.seat in seats:
                    lessons.add(query, pi_A, count)
                    pi_A = (1 - explore) * pi_A + explore / len(pi_A)
                behaviour.append(pi_A)
            frontier += _moved(episode, count, behaviour, rng)
    return lessons


def read_lessons(
    file: Path, game: Game, env: Env, cast: Cast, held_out: float
) -> tuple[Lessons, Lessons]:
    """What the seats of roles that are trained did in a file of transcripts, as `gamedsl` and run
    folders write them; and the same of a share of its games, chosen by their hashes.

    Raises TrainError for a file that cannot be read, or is not of this very game.
    """
    try:
        text = file.read_text(encoding="utf-8")
        transcripts = list(read(text))
    except (OSError, UnicodeDecodeError, TranscriptError) as error:
        raise TrainError(
            f"{file} cannot be read as transcripts: {error}",
            "give a file of a run's transcripts/, or one that `transcripts.dump` wrote",
        ) from error
    learnt, kept = Lessons(), Lessons()
    for transcript in transcripts:
        found = replay(game, transcript, env)
        if found.faults:
            first = found.faults[0]
            raise TrainError(
                f"{file}, line {first.line}: {first}", first.help or "leave this game out"
            )
        games = int(transcript.head.get("games", 1))
        into = kept if _share(transcript) < held_out else learnt
        into.games += games
        for decision, name in _choices(env, transcript):
            if decision.role in cast.learners:
                row = [float(legal == name) for legal in decision.legal]
                into.add(query_of(decision, cast.adapter(decision.role)), row, games)
    if not learnt.games:
        raise TrainError(f"{file} holds no game to learn from", "lower `warm_up.held_out`")
    return learnt, kept


def _first(env: Env, rng: np.random.Generator, games: int) -> Iterator[tuple[Episode, int]]:
    """One bundle where labels last; else a game each, whose seeds draw the labels."""
    if env.ir.labels_last:
        yield env.reset(seed=env.run_seed, chance="asked"), games
        return
    for seed in rng.integers(2**31, size=games):
        yield env.reset(seed=int(seed), chance="asked"), 1


def _split(episode: Episode, games: int, rng: np.random.Generator) -> Iterator[tuple[Episode, int]]:
    probabilities = np.array([float(outcome.probability) for outcome in episode.chance])
    for (outcome,), count in zip(*sample_joint(rng, [probabilities], games), strict=True):
        child = episode.fork()
        child.draw(int(outcome))
        yield child, int(count)


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
    from gamedsl.runtime import Action

    reply = player.act(decision, episode)
    if isinstance(reply, Action):
        return decision.legal.index(reply.name)
    if reply.strip() in decision.labels:
        return decision.labels.index(reply.strip())
    raise TrainError(
        f"the player to imitate answered {reply!r} at {decision.information_set},"
        " which is no legal label",
        "imitate a player that gives legal answers",
    )


def _choices(env: Env, transcript: Transcript) -> Iterator[tuple[Decision, str]]:
    """Each decision of a transcript that was found to agree with the game, and what was chosen."""
    from gamedsl.runtime import Action

    episode = env.reset(seed=transcript.head["seed"], chance="asked", forced="asked")
    for happening in transcript.happenings:
        match happening:
            case Drawn():
                names = [outcome.name for outcome in episode.chance]
                episode.draw(names.index(happening.outcome))
            case Chosen():
                for decision in episode.decisions:
                    if len(decision.legal) > 1:
                        yield decision, happening.choices[decision.seat]
                episode.step({seat: Action(name) for seat, name in happening.choices.items()})
            case _:
                return


def _share(transcript: Transcript) -> float:
    """A number from 0 to 1 that a game's course fixes."""
    return int(_hash(transcript.happenings)[:8], 16) / 16**8


def _hash(thing: object) -> str:
    return hashlib.sha256(repr(thing).encode()).hexdigest()
