"""Imitation datasets: what a player does, gathered from games that it plays, or from transcripts.

Of closed decisions (`PromptDataset`) a player's odds are learned, prompt by prompt. One whose odds
are known gives them as they are; any other is asked a few times at each distinct prompt, and plays
what it answered as often as it did. So games are played in bundles (`gamedsl.training.bundles`): a
million games of a drawing player cost what their distinct histories cost.

In games in words (`ChatDataset`) each of the player's replies is learned as the tokens that a model
would have to write there, the end of its turn included, and no other token: what others said and
what the prompt says is read, never learned. A closed decision whose options are scored is learned
as one choice among them. The loss is the mean over all tokens and choices, so that a long reply
counts for its length. A reply that was not valid teaches nothing. Before a choice that comes after
a thought the thought is learned too, where it is known: of transcripts with replies, and of players
that write. A choice whose thought nobody knows teaches nothing. Chat data sets
(`gamedsl.training.chat_data`) are learned as they are. With `warm_up.reward` only replies of seats
that earned so much are kept, which is rejection sampling (STaR; Zelikman et al. 2022).

A player on its own path never shows what to do off it. With `explore` a share of its moves is
random while it plays, and with `student` somebody else makes them; what is learned there is still
what the player would do (Ross et al. 2011).

Shape letters: A labels of a query.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import torch
from jinja2 import TemplateError

from gamedsl.ir.evaluate import EvaluationError
from gamedsl.ir.rows import holds_out
from gamedsl.players.base import (
    Answered,
    DrawingPlayer,
    Player,
    PlayerError,
    Posed,
    Speaker,
)
from gamedsl.players.endpoint import EndpointPlayer
from gamedsl.players.model_replies import OPENED, query_of
from gamedsl.players.random import RandomPlayer
from gamedsl.policies.base import Message, Policy, Query
from gamedsl.policies.generation import Generated, TokenRow, Writing, join_turns
from gamedsl.prompting.events import SILENCE
from gamedsl.prompting.replies import ParseFailure, split_thought
from gamedsl.prompting.tool_calls import is_bare_call
from gamedsl.recipe.table import Recipe, WarmUp, file_of
from gamedsl.runtime.replay import Replay, replay
from gamedsl.runtime.transcripts import (
    Chosen,
    RecordedReplies,
    Transcript,
)
from gamedsl.thought_syntax import CLOSE, OPEN
from gamedsl.training.bundles import Bundle, Chance
from gamedsl.training.chat_data import is_chats, read_chats
from gamedsl.training.errors import TrainError
from gamedsl.training.imitated_files import check_file, read_transcripts, unsaid
from gamedsl.training.rollout import generator
from gamedsl.training.scoring import tempered, untempered
from gamedsl.training.seats import Answers, SeatAssignment
from gamedsl.training.sessions import writer

if TYPE_CHECKING:
    from gamedsl.runtime import Action, Decision, Env, Episode, Game

ASKED = 4
"""How often a player whose odds are not known is asked at a distinct prompt."""

AdapterOf = Callable[[str], str]


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
        return chats_of(game, env, recipe, seating, writer(policy))
    return prompts_of(game, env, recipe, seating, policy if number > 1 else None, number)


def _files_of(recipe: Recipe, seating: SeatAssignment) -> dict[Path, frozenset[str]]:
    """Returns the files that are imitated, each with the roles that learn from it."""
    found: dict[Path, frozenset[str]] = {}
    for role in sorted(seating.learners):
        expert = recipe.expert_of(role)
        if expert is not None and (path := file_of(expert)) is not None:
            found[path] = found.get(path, frozenset()) | {role}
    return found


def players_of(
    game: Game, recipe: Recipe, seating: SeatAssignment, seed: int
) -> tuple[list[dict[str, Player]], list[frozenset[str]]]:
    """Returns the players of all seats, once or more, and each time the seats that are learned
    from. Without opponents experts hold the seats of all roles that imitate them, at once; with
    opponents, one seat after another. A seat that has neither an expert nor a player of its own is
    held by the opponents; without these by the run's expert, or at random. Players draw with
    `seed`, opponents with the next. Raises TrainError."""
    plan, ir = recipe.warm_up, game.ir
    names = {
        role: name for role in seating.learners
        if (name := recipe.expert_of(role)) is not None and file_of(name) is None
    }  # fmt: skip
    taught = [seat for seat in ir.everyone if ir.role_of[seat] in names]
    if not taught:
        return [], []
    usual = "random" if plan.expert is None or file_of(plan.expert) else plan.expert
    opened = {
        name: _open_expert(name, game, seed, seating)
        for name in sorted({*names.values(), *([usual] if plan.opponents is None else [])})
    }
    experts = {seat: opened[names[ir.role_of[seat]]] for seat in taught}
    if plan.opponents is None:
        return [_seated(game, seating, opened[usual]) | experts], [frozenset(taught)]
    rest = _seated(game, seating, _open(plan.opponents, game, seed + 1, seating))
    holders = [rest | {seat: expert} for seat, expert in experts.items()]
    return holders, [frozenset({seat}) for seat in taught]


def _seated(game: Game, seating: SeatAssignment, player: Player) -> dict[str, Player]:
    """Returns a player in all seats that have none of their own, those of referees too."""
    role_of = game.ir.role_of
    return {seat: seating.players.get(role_of[seat], player) for seat in game.ir.everyone}


def _open_expert(name: str, game: Game, seed: int, seating: SeatAssignment) -> Player:
    """Opens a player that is imitated."""
    expert = _open(name, game, seed, seating)
    if isinstance(expert, EndpointPlayer):
        expert.endpoint.keep_on_disk()  # a warm-up that was stopped begins anew
    if isinstance(expert, RandomPlayer):
        expert = RandomPlayer(seed=seed, plain_words=True)
    return expert


def _open(name: str, game: Game, seed: int, seating: SeatAssignment) -> Player:
    from gamedsl.players.table import open_player

    try:
        return open_player(name, game, seed=seed, budget=seating.budget, from_file=True)
    except PlayerError as error:
        raise TrainError(error.message, error.help) from error


def _split_file(
    file: Path, roles: frozenset[str], recipe: Recipe, game: Game, env: Env
) -> Iterator[tuple[bool, int, list[ValidReply]]]:
    """Yields the games of a file: whether it is held out (by its hash), the number of games that it
    stands for, and each decision of some roles with its choice. Raises TrainError where none is
    left to learn from."""
    plan, counts = recipe.warm_up, {True: 0, False: 0}
    for played in _read_games(file, game, env):
        transcript = played.transcript
        held_out = share_of(transcript) < plan.held_out
        games = transcript.head.get("games", 1)
        counts[held_out] += games
        paid = {} if transcript.result is None else transcript.result.earnings
        yield held_out, games, [
            one for one in choices(played)
            if one.decision.role in roles and _earned(recipe, paid.get(one.decision.seat))
        ]  # fmt: skip
    if not counts[False]:
        raise _nothing_left(f"{file} holds no game", counts[True], "give a file with games")


def _nothing_left(empty: str, held_out: int, fix: str) -> TrainError:
    """Returns the error of a file from which nothing is left to learn: it is `empty`, or all of it
    is held out."""
    if not held_out:
        return TrainError(empty, fix)
    return TrainError(
        f"{empty} to learn from: all {held_out:,} are held out", "lower `warm_up.held_out`"
    )


def _read_games(file: Path, game: Game, env: Env) -> Iterator[Replay]:
    """Yields the games of a file of transcripts, each played again and found to agree with the
    game. Raises TrainError for a file that cannot be read, or is not of this very game."""
    for transcript in read_transcripts(file):
        found = replay(game, transcript, env)
        if found.faults:
            first = found.faults[0]
            fix = first.help or "leave this game out"
            if holds_out(game.ir) and transcript.head.get("rows", "all") != "training":
                fix = "imitate games of the rows that are trained on: `--rows training` of eval"
            raise TrainError(f"{file}, line {first.line}: {first}", fix)
        yield found


def _earned(recipe: Recipe, reward: Any) -> bool:
    """Whether a seat's reward is as much as replies that are learned must earn."""
    least = recipe.warm_up.reward
    return least is None or (reward is not None and Fraction(reward) >= Fraction(least))


def choices(played: Replay) -> Iterator[ValidReply]:
    """Yields each decision of a game that was played again, with the choice or the words, and the
    whole reply where it was recorded; none of those where there was no valid reply. A decision that
    was asked again is the last one, whose prompt has the replies that were refused."""
    recorded, costs = RecordedReplies(played.transcript), played.episode.env.ir.costs
    for move in played.moves:
        if not isinstance(move.happening, Chosen):
            continue
        for decision in move.before.decisions:
            seat, step, name = decision.seat, decision.step, move.happening.choices[decision.seat]
            if decision.said is None and len(decision.legal) == 1:
                continue
            refused = recorded.refused(seat, step, decision.occurrence)
            valid = name != SILENCE and len(refused) <= costs[seat].retry
            text = recorded.take(seat, step, len(refused), valid)
            if not valid:
                continue
            failures = tuple(
                _refusal(move.before, decision, reason, text) for reason, text in refused
            )
            while text and not _says(move.before, decision, text, name):
                text = recorded.take(seat, step, 0, True)  # refused, though nobody noted it
            yield ValidReply(replace(decision, failed=failures), name, text or None)


def _refusal(before: Episode, decision: Decision, reason: str, text: str) -> ParseFailure:
    """Returns a recorded failure, with the detail that the prompt of the next try told."""
    with suppress(EvaluationError, ValueError):
        again = before.parse(decision, text)
        if isinstance(again, ParseFailure) and again.reason == reason:
            return again
    return ParseFailure(reason, text)


def _says(before: Episode, decision: Decision, text: str, name: str) -> bool:
    """Whether a recorded reply is what was chosen."""
    try:
        return before.parse(decision, text) == name
    except EvaluationError:
        return False


def share_of(transcript: Transcript) -> float:
    """Returns a number from 0 to 1 that a game's course fixes."""
    return int(_hash(transcript.happenings)[:8], 16) / 16**8


def _hash(thing: object) -> str:
    return hashlib.sha256(repr(thing).encode()).hexdigest()


# Closed decisions, prompt by prompt.


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
        kept = sorted(self.counts_A, key=lambda query: _hash(query.messages))[:most]
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
    for file, roles in _files_of(recipe, seating).items() if number == 1 else ():
        check_file(file, recipe, game.ir)
        for held_out, games, moves in _split_file(file, roles, recipe, game, env):
            into = kept if held_out else learned
            into.games += games
            for decision, name, _ in moves:
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
            ))  # fmt: skip
    return learned, kept


def _policy_odds(policy: Policy, temperature: float, queries: Sequence[Query]) -> list[np.ndarray]:
    """Returns the probabilities [labels] with which a policy's moves are drawn, float64."""
    scores = policy.log_probs(queries)
    return [(log_pi.double() / temperature).softmax(0).cpu().numpy() for log_pi in scores]


Student = Callable[[Sequence[Query]], Sequence[np.ndarray]]
"""The probabilities [labels] of a policy's moves at some prompts."""

Asked = tuple["Decision", Query, "Episode"]
"""A decision, the prompt that the policy is given there, and its episode."""


class PlayerOdds:
    """The odds of players at decisions. Where they are not known, a player is asked a few times at
    each distinct prompt, and they are how often it gave each answer."""

    def __init__(self) -> None:
        self._answers: dict[tuple[int, Query], np.ndarray] = {}

    def of(self, player: Player, asked: Sequence[Asked]) -> list[np.ndarray]:
        """Returns probabilities [labels] of each. Raises TrainError for a reply that is no legal
        answer."""
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


def _answer(player: Player, decision: Decision, episode: Episode) -> int:
    """Returns the number of a player's move."""
    reply = player.act(decision, episode)
    name = episode.parse(decision, reply)
    if isinstance(name, str) and name in decision.legal:
        return decision.legal.index(name)
    raise TrainError(
        f"the player to imitate answered {reply!r} at {decision.information_set},"
        " which is no legal answer",
        "imitate a player that gives legal answers",
    )


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
) -> PromptDataset:
    """Plays games and notes what the taught seats' players do.

    holders: the players of all seats, once or more; the games are shared evenly by them. taught: of
    each of these, the seats whose moves are learned. There a `student`, if there is one, moves in
    the player's place; a share `explore` of the moves is random.
    """
    dataset, odds = PromptDataset(games), PlayerOdds()
    for number, (players, seats) in enumerate(zip(holders, taught, strict=True)):
        share = games // len(holders) + (number < games % len(holders))
        chance, here = Chance(rng), list(_first(env, rng, share))
        while here := [p for one in here for p in chance.split(one) if not p.episode.done]:
            rows = _odds_of_all(odds, players, adapter, [one.episode for one in here])
            taken = [query for asked in rows for d, query, _ in asked if d.seat in seats]
            played = iter(student(taken) if student is not None else ())
            ahead: list[Bundle] = []
            for bundle, asked in zip(here, rows, strict=True):
                behaviour = []
                for decision, query, pi_A in asked:
                    if decision.seat in seats:
                        dataset.add(query, pi_A, bundle.games)
                        pi_A = pi_A if student is None else next(played)
                        pi_A = (1 - explore) * pi_A + explore / len(pi_A)
                    behaviour.append(Answers.of(decision, pi_A))
                ahead += (part for _, _, part in bundle.moved(behaviour, rng))
            here = ahead
    return dataset


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


# Games in words, chat by chat.


@dataclass(frozen=True)
class ChatFit:
    """The distance of a policy from the replies of a player."""

    loss: float
    """Cross-entropy of a token, or of a choice, in nats."""


@dataclass
class Chat:
    """The replies of a seat in one game: rows of tokens, and labels that it chose, by number."""

    rows: list[TokenRow] = field(default_factory=list)
    taken: list[tuple[Query, int]] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Tokens and choices that are learned."""
        return sum(len(row.positions) for row in self.rows) + len(self.taken)


class ValidReply(NamedTuple):
    """A valid reply by its canonical name, and as its author wrote it where that is known."""

    decision: Decision
    name: str
    text: str | None = None


class TooLong(Exception):
    """A chat has more tokens than the model reads."""

    def __init__(self, size: int, longest: float) -> None:
        super().__init__(f"it has {size:,} tokens, and the model reads {longest:,.0f}")


@dataclass
class ChatDataset:
    """The replies of a player over `games` games; `free`: closed decisions are written too."""

    policy: Writing
    free: bool
    games: int = 0
    chats: list[Chat] = field(default_factory=list)
    unsaid: int = 0
    """Choices that come after a thought which nobody knows."""

    def __len__(self) -> int:
        return len(self.chats)

    def take(self, other: ChatDataset) -> None:
        """Adds the games of another dataset."""
        self.games += other.games
        self.chats += other.chats
        self.unsaid += other.unsaid

    def subset(self, most: int) -> ChatDataset:
        """Returns the first of them: games are drawn one like another."""
        return ChatDataset(self.policy, self.free, self.games, self.chats[:most])

    def learn(self, policy: Policy, chosen: Sequence[int]) -> float:
        """Adds the gradient of the mean loss on the tokens and choices of some chats to the
        adapters; returns that mean."""
        return self._loss([self.chats[number] for number in chosen], backward=True)

    def fit(self, policy: Policy) -> ChatFit:
        return ChatFit(self._loss(self.chats, backward=False))

    def add(self, seating: SeatAssignment, game: Iterable[ValidReply]) -> None:
        """Counts a game, and what seats said in it, in order."""
        self.games += 1
        turns: dict[str, list[Generated]] = defaultdict(list)
        chats: dict[str, Chat] = defaultdict(Chat)
        adapters: dict[str, str] = {}
        for said in game:
            decision = said.decision
            adapter = adapters[decision.seat] = seating.adapter(decision.role)
            query = query_of(decision, adapter)
            if decision.said is not None:
                text = _spelled(said)
                turns[decision.seat].append(_turn(self.policy, query, text))
            elif decision.form.think is not None:
                self._think(said, query, turns[decision.seat], chats[decision.seat])
            else:
                action = decision.legal.index(said.name)
                if self.free:
                    turn = _turn(self.policy, query, query.labels[action])
                    turns[decision.seat].append(turn)
                else:
                    chats[decision.seat].taken.append((query, action))
        for seat, generated in turns.items():
            chats[seat].rows, _ = join_turns(adapters[seat], generated)
        self.chats += [chat for chat in chats.values() if chat.size]

    def _think(self, said: ValidReply, query: Query, turns: list[Generated], chat: Chat) -> None:
        """Takes a choice with the thought before it: the tokens of the thought as a model would
        draw them after its opening tag, and the choice given these."""
        split = split_thought(said.text or "")
        if isinstance(split, ParseFailure) or split[0] is None:
            self.unsaid += 1
            return
        text = (said.text or "").lstrip()
        if self.free:
            whole = text if text.startswith(OPEN) else OPENED + text
            turns.append(_turn(self.policy, query, whole))
            return
        tokenizer = self.policy.tokenizer_of(query.adapter)
        opened = tokenizer.ids(OPENED)
        prompt = self.policy.encode(replace(query, prefix=opened)).prompt
        text = text.removeprefix(OPEN).removeprefix("\n").partition(CLOSE)[0]
        ids = tokenizer.ids(text + CLOSE)
        turns.append(Generated(prompt, ids, (), text + CLOSE, "stop"))
        after = replace(query, prefix=opened + ids + tokenizer.ids("\n"))
        chat.taken.append((after, said.decision.legal.index(said.name)))

    def add_chat(self, adapter: str, messages: Sequence[Message]) -> None:
        """Counts a chat of a data set: all that the assistant says is learned. Raises TooLong where
        the model does not read all of it, and jinja2.TemplateError where its template refuses
        it."""
        longest = self.policy.longest_of(adapter)
        count = self.policy.tokenizer_of(adapter).count
        size = sum(count(text) for _, text in messages)
        if size > longest:
            raise TooLong(size, longest)
        self.games += 1
        said = [at for at, (role, text) in enumerate(messages) if role == "assistant" and text]
        turns = []
        for at in said:
            text = messages[at][1]
            query = Query(tuple(messages[:at]), (text,), adapter)
            turns.append(_turn(self.policy, query, text, begins=not self.free))
        rows, _ = join_turns(adapter, turns)
        size = max(len(row.ids) for row in rows)
        if size > longest:
            raise TooLong(size, longest)
        self.chats.append(Chat(rows))

    def _loss(self, chats: Sequence[Chat], *, backward: bool) -> float:
        """Returns the mean loss; `backward` adds its gradient to the adapters."""
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
    game: Game, env: Env, recipe: Recipe, seating: SeatAssignment, policy: Writing
) -> tuple[ChatDataset, ChatDataset]:
    """Returns the chats that are learned and those that are held out; see `datasets_of`."""
    plan, free = recipe.warm_up, recipe.replies == "free"
    learned, kept = ChatDataset(policy, free), ChatDataset(policy, free)
    for file, roles in _files_of(recipe, seating).items():
        check_file(file, recipe, game.ir)
        if is_chats(file):
            _add_chats(file, {seating.adapter(role) for role in roles}, plan, learned, kept)
        else:
            for held_out, _, moves in _split_file(file, roles, recipe, game, env):
                (kept if held_out else learned).add(seating, moves)
    held = round(plan.games * plan.held_out)
    parts = ((learned, plan.games - held, "learned"), (kept, held, "held out"))
    for number, (into, games, purpose) in enumerate(parts):  # else some texts would be in both
        holders, taught = players_of(game, recipe, seating, recipe.seed + 2 * number)
        if taught:
            rng = generator(recipe.seed, 0, f"warm-up, {purpose}")
            for said in _played(env, recipe, holders, taught, games, rng):
                into.add(seating, said)
    _check_learned(recipe, learned)
    return learned, kept


def _add_chats(
    path: Path, adapters: Set[str], plan: WarmUp, learned: ChatDataset, kept: ChatDataset
) -> None:
    """Adds the chats of a data set, of which a share by their hashes is held out. Raises
    TrainError for one that names none of the adapters that learn from it, where these are
    several."""
    trained, counts = sorted(adapters), {True: 0, False: 0}
    for chat in read_chats(path):
        place, adapter = chat.place, chat.adapter
        if adapter is None and len(trained) == 1:
            adapter = trained[0]
        if adapter not in trained:
            named = "names no adapter" if adapter is None else f"names the adapter `{adapter}`"
            raise TrainError(
                f"{place} {named}, and those that learn are {', '.join(trained)}",
                'give each line an "adapter", or train with `adapters: shared`',
            )
        syntax = learned.policy.tokenizer_of(adapter).call_syntax
        if chat.tools is not None and syntax is None:
            raise TrainError(
                f"{place} has `tools`, and the model's chat template lists none in a form that is"
                " known",
                "take a model whose template lists tools, such as Qwen3, or drop `tools` and say in"
                " the system's message which there are",
            )
        held_out = int(_hash(chat.messages(None))[:8], 16) / 16**8 < plan.held_out
        counts[held_out] += 1
        try:
            (kept if held_out else learned).add_chat(adapter, chat.messages(syntax))
        except TooLong as error:
            raise TrainError(f"{place}: {error}", "leave it out, or shorten it") from error
        except TemplateError as error:
            raise TrainError(
                f"{place}: the model's chat template refuses it: {error}",
                "give chats of the form that the model was trained on, or take another model",
            ) from error
    if not counts[False]:
        raise _nothing_left(f"{path} holds no chat", counts[True], _CHATS)


_CHATS = "give a file of JSON lines, or a folder that `Dataset.save_to_disk` wrote"


def _check_learned(recipe: Recipe, learned: ChatDataset) -> None:
    """Raises TrainError where there is nothing to learn."""
    if learned.chats:
        return
    least, experts = recipe.warm_up.reward, ", ".join(f"`{name}`" for name in recipe.experts)
    if learned.unsaid:
        raise TrainError(*unsaid(experts))
    if least is not None:
        raise TrainError(
            f"no seat earned {least:g} in {learned.games:,} games of {experts}",
            "lower `warm_up.reward`, or play more games",
        )
    raise TrainError(
        f"{experts} says nothing valid in {learned.games:,} games",
        "imitate a player that gives valid replies",
    )


_Reply: TypeAlias = "Action | str | ParseFailure"


def _played(
    env: Env, recipe: Recipe, holders: Sequence[Mapping[str, Player]],
    taught: Sequence[frozenset[str]], games: int, rng: np.random.Generator,
) -> Iterator[list[ValidReply]]:  # fmt: skip
    """Yields what the players of `holders` said in the seats that are taught, game by game, as they
    were asked."""
    other = RandomPlayer(seed=int(rng.integers(2**31)))
    for number, seed in enumerate(rng.integers(2**31, size=games)):
        players, seats = holders[number % len(holders)], taught[number % len(holders)]
        episode, said = env.reset(seed=int(seed)), list[ValidReply]()
        while not episode.done:
            replies: dict[str, _Reply] = {}
            for decision in episode.decisions:
                seat = decision.seat
                answered = _answered(players[seat], decision, episode, rng)
                replies[seat] = answered.reply
                if seat in seats:
                    said += _valid(episode, decision, answered)
                if seat in seats and rng.random() < recipe.warm_up.explore:
                    replies[seat] = other.act(decision, episode)
            episode.step(replies)
        yield [one for one in said if _earned(recipe, episode.earnings.get(one.decision.seat))]


def _answered(
    player: Player, decision: Decision, episode: Episode, rng: np.random.Generator
) -> Answered:
    """Returns a player's answer, with its text where it writes one."""
    try:
        if isinstance(player, Speaker):
            return player.answers([Posed(decision, episode, int(rng.integers(2**31)))])[0]
        return Answered(player.act(decision, episode))
    except PlayerError as error:
        raise TrainError(error.message, error.help) from error


def _valid(episode: Episode, decision: Decision, answered: Answered) -> Iterator[ValidReply]:
    """Yields the reply, if it is valid."""
    reply = answered.reply
    name = episode.parse(decision, reply)
    if isinstance(name, str) and name != SILENCE:
        yield ValidReply(decision, name, reply if isinstance(reply, str) else answered.text)


def _spelled(said: ValidReply) -> str:
    """Returns an open reply as it was written, else the shortest that says it. A call and nothing
    else is written as the model that learns it writes calls."""
    form = said.decision.said
    is_call = form is not None and form.form == "tool" and is_bare_call(said.text or "")
    return said.decision.write(said.name) if is_call or not said.text else said.text


def _turn(policy: Writing, query: Query, text: str, *, begins: bool = False) -> Generated:
    """Returns a reply as if it had been drawn: the tokens of the prompt, and its own with the
    end. The opening tag of its thought belongs to the prompt where the chat template opens it;
    with `begins` also where the thought takes the place of an empty one, as before a choice."""
    tokenizer, own, prefix = policy.tokenizer_of(query.adapter), text, query.prefix
    if text.lstrip().startswith(OPEN):
        opened = tokenizer.ids(OPENED)
        begun = policy.encode(replace(query, prefix=opened)).prompt
        replaces = begun != policy.encode(query).prompt + opened
        if tokenizer.opens_thoughts or (begins and replaces):
            own = text.lstrip().removeprefix(OPEN).removeprefix("\n")
            prefix = opened
    encoded = policy.encode(replace(query, labels=(own,), prefix=prefix))
    return Generated(encoded.prompt, encoded.labels[0] + tokenizer.ends, (), text, "stop")
