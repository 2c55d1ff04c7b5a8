"""A player's replies in games in words, as they are learned, chat by chat.

Each of the player's replies is learned as the tokens that a model would have to write there, the
end of its turn included, and no other token: what others said and what the prompt says is read,
never learned. A closed decision whose options are scored is learned as one choice among them. The
loss is the mean over all tokens and choices, so that a long reply counts for its length. A reply
that was not valid teaches nothing.

Before a choice that comes after a thought the thought is learned too, where it is known: of
transcripts with replies, and of players that write. Where a player only chooses, the policy thinks,
and what is learned is the choice after that thought. A choice of a file whose thought nobody knows
teaches nothing. Chat data sets (`gamedsl.training.chat_data`) are learned as they are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import torch
from jinja2 import TemplateError

from gamedsl.players.base import (
    Answered,
    Player,
    PlayerError,
    Posed,
    Speaker,
)
from gamedsl.players.model_replies import OPENED, Asked, Reply, query_of, replies
from gamedsl.players.random import RandomPlayer
from gamedsl.policies.base import Message, Policy, Query
from gamedsl.policies.generation import Generated, TokenRow, Writing, join_turns
from gamedsl.prompting.events import SILENCE
from gamedsl.prompting.replies import ParseFailure, split_thought
from gamedsl.prompting.tool_calls import is_bare_call
from gamedsl.recipe.table import Recipe, WarmUp
from gamedsl.thought_syntax import CLOSE, OPEN
from gamedsl.training.chat_data import is_chats, read_chats
from gamedsl.training.errors import TrainError
from gamedsl.training.imitated_files import check_file, unsaid
from gamedsl.training.imitated_games import (
    ValidReply,
    digest_of,
    earned_enough,
    files_of,
    nothing_earned,
    nothing_left,
    players_of,
    split_file,
)
from gamedsl.training.rollout import generator
from gamedsl.training.seats import SeatAssignment

if TYPE_CHECKING:
    from gamedsl.runtime import Action, Decision, Env, Episode, Game


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
    """Choices that come after a thought which nobody knows, and which are not learned."""
    unclosed: int = 0
    """Those after a thought of the policy that leads to no choice, since it is not closed."""

    def __len__(self) -> int:
        return len(self.chats)

    def take(self, other: ChatDataset) -> None:
        """Adds the games of another dataset."""
        self.games += other.games
        self.chats += other.chats
        self.unsaid += other.unsaid
        self.unclosed += other.unclosed

    def subset(self, most: int) -> ChatDataset:
        """Returns at most so many of them, from all of its rounds and files alike."""
        many = min(most, len(self.chats))
        chats = [self.chats[at * len(self.chats) // many] for at in range(many)]
        return ChatDataset(self.policy, self.free, self.games, chats)

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
                turns[decision.seat].append(_turn(self.policy, query, text, begins=False))
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
        draw them after its opening tag, and the choice given these. Of a thought that the policy
        wrote itself no token is learned."""
        if isinstance(said.after, ParseFailure):
            self.unclosed += 1
            return
        if said.after is not None:
            chat.taken.append((said.after, said.decision.legal.index(said.name)))
            return
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
        tokenizer = self.policy.tokenizer_of(adapter)
        messages = [(role, tokenizer.tags.in_games(text)) for role, text in messages]
        size = sum(tokenizer.count(text) for _, text in messages)
        if size > longest:
            raise TooLong(size, longest)
        self.games += 1
        said = [at for at, (role, text) in enumerate(messages) if role == "assistant" and text]
        turns = []
        for at in said:
            text = messages[at][1]
            query = Query(tuple(messages[:at]), (text,), adapter)
            turns.append(_turn(self.policy, query, text))
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
    game: Game, env: Env, recipe: Recipe, seating: SeatAssignment, policy: Writing, number: int = 1
) -> tuple[ChatDataset, ChatDataset]:
    """Returns the chats of a round that are learned and those that are held out; see
    `datasets_of`."""
    plan, free = recipe.warm_up, recipe.replies == "free"
    learned, kept = ChatDataset(policy, free), ChatDataset(policy, free)
    for file, roles in files_of(recipe, seating).items() if number == 1 else ():
        check_file(file, recipe, game)
        if is_chats(file):
            _add_chats(file, {seating.adapter(role) for role in roles}, plan, learned, kept)
        else:
            for held_out, _, moves in split_file(file, roles, recipe, game, env):
                (kept if held_out else learned).add(seating, moves)
    held = round(plan.games * plan.held_out)
    parts = ((learned, plan.games - held, "learned"), (kept, held, "held out"))
    for part, (into, games, purpose) in enumerate(parts):  # else some texts would be in both
        seed = recipe.seed + 2 * part + 4 * (number - 1)  # nor those of a round in another
        holders, taught = players_of(game, recipe, seating, seed)
        if taught:
            rng = generator(recipe.seed, number - 1, f"warm-up, {purpose}")
            student = Student(policy, recipe, seating, rng.spawn(1)[0], leads=number > 1)
            for said in _played(env, recipe, holders, taught, games, rng, student):
                into.add(seating, said)
    if number == 1:
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
        held_out = int(digest_of(chat.messages(None))[:8], 16) / 16**8 < plan.held_out
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
        raise nothing_left(f"{path} holds no chat", counts[True], _CHATS)


_CHATS = "give a file of JSON lines, or a folder that `Dataset.save_to_disk` wrote"


def _check_learned(recipe: Recipe, learned: ChatDataset) -> None:
    """Raises TrainError where there is nothing to learn."""
    if learned.chats:
        return
    experts = ", ".join(f"`{name}`" for name in recipe.experts)
    if learned.unsaid:
        raise TrainError(*unsaid(experts, free=learned.free))
    if learned.unclosed:
        raise TrainError(
            f"no thought of the policy led to a choice in {learned.games:,} games of {experts}:"
            " none was closed",
            "write `at_limit: close` in `respond`, give thoughts more tokens, or imitate a player"
            " that writes its thoughts",
        )
    if recipe.warm_up.reward is not None:
        raise nothing_earned(recipe, learned.games)
    raise TrainError(
        f"{experts} says nothing valid in {learned.games:,} games",
        "imitate a player that gives valid replies",
    )


_Reply: TypeAlias = "Action | str | ParseFailure"


@dataclass(frozen=True)
class Student:
    """The policy that learns from a player. Where it `leads`, it makes the moves of the seats that
    are taught; and it thinks where the player only chooses."""

    policy: Writing
    recipe: Recipe
    seating: SeatAssignment
    rng: np.random.Generator
    leads: bool

    @property
    def free(self) -> bool:
        """Whether it writes its choices too."""
        return self.recipe.replies == "free"

    def thinks(self, said: ValidReply) -> bool:
        """Whether the thought before a choice is its own: there is to be one, and the player says
        none."""
        thought = said.decision.said is None and said.decision.form.think is not None
        return thought and not self.free and CLOSE not in (said.text or "")

    def replies(self, decisions: Sequence[Decision]) -> list[Reply]:
        """Returns its reply to each decision."""
        asked = [
            Asked(one, self.seating.adapter(one.role), int(self.rng.integers(2**31)))
            for one in decisions
        ]
        return replies(self.policy, asked, self.recipe.temperature, free=self.free)


Course = Generator["list[Decision]", "list[Reply]", "list[ValidReply]"]
"""A game under way: it yields the decisions that the student is to answer, takes its replies, and
returns what was said in the seats that are taught."""


def _played(
    env: Env, recipe: Recipe, holders: Sequence[Mapping[str, Player]],
    taught: Sequence[frozenset[str]], games: int, rng: np.random.Generator, student: Student,
) -> list[list[ValidReply]]:  # fmt: skip
    """Returns what the players of `holders` said in the seats that are taught, game by game, as
    they were asked. The student answers the decisions of all games that wait for it at once."""
    other = RandomPlayer(seed=int(rng.integers(2**31)))
    found: dict[int, list[ValidReply]] = {}
    waiting: list[tuple[int, Course, list[Decision]]] = []

    def go_on(number: int, course: Course, given: list[Reply] | None) -> None:
        try:
            asked = next(course) if given is None else course.send(given)
            waiting.append((number, course, asked))
        except StopIteration as end:
            found[number] = end.value

    for number, seed in enumerate(rng.integers(2**31, size=games)):
        players, seats = holders[number % len(holders)], taught[number % len(holders)]
        episode = env.reset(seed=int(seed))
        go_on(number, _course(episode, recipe, players, seats, other, rng, student), None)
    while waiting:
        here, waiting = waiting, []
        given = iter(student.replies([one for _, _, asked in here for one in asked]))
        for number, course, asked in here:
            go_on(number, course, list(islice(given, len(asked))))
    return [found[number] for number in sorted(found)]


def _course(
    episode: Episode, recipe: Recipe, players: Mapping[str, Player], seats: Set[str],
    other: Player, rng: np.random.Generator, student: Student,
) -> Course:  # fmt: skip
    """Plays a game to its end."""
    said: list[ValidReply] = []
    while not episode.done:
        given: dict[str, _Reply] = {}
        taught: dict[str, list[ValidReply]] = {}
        explored: set[str] = set()
        for decision in episode.decisions:
            seat = decision.seat
            answered = _answered(players[seat], decision, episode, rng)
            given[seat] = answered.reply
            if seat in seats:
                taught[seat] = list(_valid(episode, decision, answered))
            if seat in seats and rng.random() < recipe.warm_up.explore:
                given[seat] = other.act(decision, episode)
                explored.add(seat)
        asked = [
            one for one in episode.decisions
            if one.seat in seats and (student.leads or any(map(student.thinks, taught[one.seat])))
        ]  # fmt: skip
        for decision, reply in zip(asked, (yield asked) if asked else (), strict=True):
            seat = decision.seat
            if student.leads and seat not in explored:
                given[seat] = reply.answer
            after = reply.answer if reply.choice is None else reply.choice.query
            if isinstance(after, Query | ParseFailure):
                taught[seat] = [
                    one._replace(after=after) if student.thinks(one) else one
                    for one in taught[seat]
                ]
        said += chain.from_iterable(taught.values())
        episode.step(given)
    return [one for one in said if earned_enough(recipe, episode.earnings.get(one.decision.seat))]


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


def _turn(policy: Writing, query: Query, text: str, *, begins: bool = True) -> Generated:
    """Returns a reply as if it had been drawn: the tokens of the prompt, and its own with the
    end. The opening tag of its thought belongs to the prompt where the thought takes the place of
    one that the prompt ends in. It never does without `begins`, as at open decisions, where no
    thought is asked for: one that is written there is part of the reply."""
    tokenizer, own, prefix = policy.tokenizer_of(query.adapter), text, query.prefix
    if begins and text.lstrip().startswith(OPEN):
        opened = tokenizer.ids(OPENED)
        begun = policy.encode(replace(query, prefix=opened)).prompt
        if begun != policy.encode(query).prompt + opened:
            own = text.lstrip().removeprefix(OPEN).removeprefix("\n")
            prefix = opened
    encoded = policy.encode(replace(query, labels=(own,), prefix=prefix))
    return Generated(encoded.prompt, encoded.labels[0] + tokenizer.ends, (), text, "stop")
