"""What a player says, chat by chat: the lessons of a warm-up in games in which something is said.

Each of the player's replies is learned as the tokens that a model would have to write there, the
end of its turn included, and no other token: what others said and what the prompt says is read,
never learned. A closed decision whose options are scored is learned as one choice among them. The
loss is the mean over all tokens and choices, so that a long reply counts for its length.

A reply that was not valid teaches nothing. Nor does a choice that is made after a thought, for a
player does not tell what it thought.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import torch

from gamedsl.players.base import Player, PlayerError
from gamedsl.players.random import RandomPlayer
from gamedsl.players.replying import query_of
from gamedsl.policies.base import Policy, Query
from gamedsl.policies.generation import Generated, TokenRow, Writing, join_turns
from gamedsl.prompting.events import SILENCE
from gamedsl.prompting.replies import ParseFailure, write_open_reply
from gamedsl.recipe.table import Recipe
from gamedsl.train.cast import Cast
from gamedsl.train.errors import TrainError
from gamedsl.train.imitation import FILE, holders_of
from gamedsl.train.lessons import choices, nothing_in, read_games, share_of
from gamedsl.train.rollout import generator

if TYPE_CHECKING:
    from gamedsl.runtime import Action, Decision, Env, Episode
    from gamedsl.runtime.game import Game


@dataclass
class Chat:
    """What a seat said in one game: rows of tokens, and labels that it chose, by number."""

    rows: list[TokenRow] = field(default_factory=list)
    taken: list[tuple[Query, int]] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Tokens and choices that are learned."""
        return sum(len(row.positions) for row in self.rows) + len(self.taken)


@dataclass(frozen=True)
class Fit:
    """How near a policy is to what was said."""

    loss: float
    """Cross-entropy of a token, or of a choice, in nats."""


@dataclass
class Chats:
    """What a player said over `games` games; see the module docstring."""

    policy: Writing
    free: bool
    """Whether closed decisions are written too."""
    games: int = 0
    chats: list[Chat] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.chats)

    def few(self, most: int) -> Chats:
        """The first of them: games are drawn one like another."""
        return Chats(self.policy, self.free, self.games, self.chats[:most])

    def learn(self, policy: Policy, chosen: Sequence[int]) -> float:
        """Add the gradient of the mean loss on the tokens and choices of some chats to the
        adapters; returns that mean."""
        return self._loss([self.chats[number] for number in chosen], backward=True)

    def fit(self, policy: Policy) -> Fit:
        return Fit(self._loss(self.chats, backward=False))

    def _loss(self, chats: Sequence[Chat], *, backward: bool) -> float:
        """The mean loss; `backward` adds its gradient to the adapters."""
        size = sum(chat.size for chat in chats)
        rows = [row for chat in chats for row in chat.rows]
        taken: dict[Query, torch.Tensor] = {}
        for query, action in (pair for chat in chats for pair in chat.taken):
            taken.setdefault(query, torch.zeros(len(query.labels)))[action] -= 1 / size
        tokens = [torch.full((len(row.positions),), -1 / size) for row in rows]
        queries, labels = list(taken), list(taken.values())
        if backward:
            log_p = self.policy.token_backward(rows, tokens) if rows else []
            log_pi = self.policy.backward(queries, labels) if queries else []
        else:
            log_p = self.policy.token_log_probs(rows) if rows else []
            log_pi = self.policy.log_probs(queries) if queries else []
        pairs = zip([*tokens, *labels], [*log_p, *log_pi], strict=True)
        return sum(float((weight * value).sum()) for weight, value in pairs)


def chats_of(
    game: Game, env: Env, recipe: Recipe, cast: Cast, policy: Writing
) -> tuple[Chats, Chats]:
    """What the roles that are trained learn to say, and what is held out: games of the recipe's
    expert, or those of a file.

    Raises TrainError.
    """
    plan = recipe.warm_up
    assert plan.expert is not None, "there is no warm-up"
    free = recipe.replies == "free"
    learnt, kept = Chats(policy, free), Chats(policy, free)
    if plan.expert.startswith(FILE):
        file = Path(plan.expert.removeprefix(FILE)).expanduser()
        for transcript in read_games(file, game, env):
            into = kept if share_of(transcript) < plan.held_out else learnt
            moves = choices(env, transcript)
            _add(into, cast, [Said(d, name) for d, name in moves if d.role in cast.learners])
        if not learnt.games:
            raise nothing_in(file)
        return learnt, kept
    held = round(plan.games * plan.held_out)
    for into, games, purpose in ((learnt, plan.games - held, "learned"), (kept, held, "held out")):
        for said in _played(game, env, recipe, cast, games, f"warm-up, {purpose}"):
            _add(into, cast, said)
    if not learnt.chats:
        raise TrainError(
            f"`{plan.expert}` says nothing valid in {learnt.games:,} games",
            "imitate a player that gives valid replies",
        )
    return learnt, kept


Answer: TypeAlias = "Action | str | ParseFailure"


class Said(NamedTuple):
    """A valid reply by its canonical name, and as its author wrote it where that is known."""

    decision: Decision
    name: str
    text: str | None = None


def _played(
    game: Game, env: Env, recipe: Recipe, cast: Cast, games: int, purpose: str
) -> Iterator[list[Said]]:
    """By game what the expert said in the seats that are taught, as it was asked."""
    rng = generator(recipe.seed, 0, purpose)
    holders, taught = holders_of(game, recipe, cast)
    other = RandomPlayer(seed=int(rng.integers(2**31)))
    for number, seed in enumerate(rng.integers(2**31, size=games)):
        players, seats = holders[number % len(holders)], taught[number % len(holders)]
        episode, said = env.reset(seed=int(seed)), list[Said]()
        while not episode.done:
            replies: dict[str, Answer] = {}
            for decision in episode.decisions:
                seat = decision.seat
                replies[seat] = _reply(players[seat], decision, episode)
                if seat in seats:
                    said += _valid(episode, decision, replies[seat])
                if seat in seats and rng.random() < recipe.warm_up.explore:
                    replies[seat] = other.act(decision, episode)
            episode.step(replies)
        yield said


def _reply(player: Player, decision: Decision, episode: Episode) -> Answer:
    try:
        return player.act(decision, episode)
    except PlayerError as error:
        raise TrainError(error.message, error.help) from error


def _valid(episode: Episode, decision: Decision, reply: Answer) -> Iterator[Said]:
    """The reply, if it is valid."""
    name = episode.parse(decision, reply)
    if isinstance(name, str) and name != SILENCE:
        yield Said(decision, name, reply if isinstance(reply, str) else None)


def _add(into: Chats, cast: Cast, game: Iterable[Said]) -> None:
    """Count a game, and what seats said in it, in order."""
    into.games += 1
    turns: dict[str, list[Generated]] = defaultdict(list)
    chats: dict[str, Chat] = defaultdict(Chat)
    adapters: dict[str, str] = {}
    for said in game:
        decision = said.decision
        adapter = adapters[decision.seat] = cast.adapter(decision.role)
        query = query_of(decision, adapter)
        if decision.said is not None:
            turns[decision.seat].append(_turn(into.policy, query, said.text or _spelled(said)))
        elif decision.form.think is None:
            action = decision.legal.index(said.name)
            if into.free:
                turns[decision.seat].append(_turn(into.policy, query, query.labels[action]))
            else:
                chats[decision.seat].taken.append((query, action))
    for seat, generated in turns.items():
        chats[seat].rows, _ = join_turns(adapters[seat], generated)
    into.chats += chats.values()


def _spelled(said: Said) -> str:
    """The reply that says what was said, and no more."""
    decision, form = said.decision, said.decision.said
    assert form is not None
    return write_open_reply(said.name, form, decision.type, decision.env.ir.seats)


def _turn(policy: Writing, query: Query, text: str) -> Generated:
    """A reply as if it had been drawn: the tokens of the prompt, and its own with the end."""
    encoded = policy.encode(replace(query, labels=(text,)))
    ends = policy.tokenizer_of(query.adapter).ends
    return Generated(encoded.prompt, encoded.labels[0] + ends, (), text, "stop")
