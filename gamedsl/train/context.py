"""The most tokens that a prompt and its reply can have, before anything is trained.

What prompts hold of replies is bounded by the form of the game: how often its loops run, what its
windows leave, how long replies may be (`gamedsl.prompting.history_bounds`). All else, the rules,
names and options, is what it was in some games of random play, the replies there taken off.
So it is near, not a proof: other plays may tell longer values, or have more turns to tell of, and a
text may be split into other tokens where it stands in a prompt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from gamedsl.bounds.programs import UnboundedError
from gamedsl.diagnostics import Problems
from gamedsl.players.random import RandomPlayer
from gamedsl.players.replying import AROUND, query_of
from gamedsl.policies.base import Message
from gamedsl.policies.generation import Tokenizer, Writing
from gamedsl.prompting.history_bounds import reply_tokens
from gamedsl.recipe.table import Recipe
from gamedsl.train.sessions import check_calls

if TYPE_CHECKING:
    from gamedsl.runtime import Decision, Game

PLAYS = 4


@dataclass(frozen=True)
class Context:
    """Where a prompt with its reply is longest for its model, which reads `limit` and is called
    `model`; counts of tokens. `replies` is what the prompt holds of them, None where the form of
    the game gives no bound: `rest` is then what was met."""

    seat: str
    step: str
    rest: int
    replies: int | None
    room: int
    limit: int | float
    model: str

    @property
    def most(self) -> int:
        return self.rest + (self.replies or 0) + self.room

    def told(self) -> str:
        """For people."""
        bound = self.limit != float("inf")
        known = f", of {int(self.limit):,} that the model reads" if bound else ""
        if self.replies is None:
            return f"{self.most:,} tokens in {PLAYS} random games, and no bound{known}"
        return f"about {self.most:,} tokens at most, {self.replies:,} in earlier replies{known}"


def check_context(
    game: Game, recipe: Recipe, policy: Writing, problems: Problems
) -> Context | None:
    """The longest; None where the policy is asked nothing. GD0717: it is more than it reads.
    Raises TrainError where the game calls what cannot run here."""
    check_calls(game)
    found = largest(game, recipe, policy)
    if found is None or found.replies is None or found.most <= found.limit:
        return found
    step = next(step for step in game.ir.steps if step.id == found.step)
    problems.add(
        "GD0717",
        f"a prompt and its reply can have about {found.most:,} tokens, and `{found.model}` reads "
        f"{int(found.limit):,}",
        step.span, why=f"asked of {found.seat}",
        help="give the role a window (`history: {" + found.seat + ": {last: 4}}`), lower"
        " `max_tokens` or how often this is asked, or take a model that reads more",
        witness=(
            f"earlier replies: at most {found.replies:,}, by the form of the game",
            f"rules, names and options: {found.rest:,}, in {PLAYS} games of random play",
            f"the reply: {found.room:,}",
        ),
    )  # fmt: skip
    return found


def largest(game: Game, recipe: Recipe, policy: Writing) -> Context | None:
    """Of all steps at which the policy is asked."""
    free = recipe.replies == "free"
    rest: dict[tuple[str, str], tuple[int, int]] = {}
    parts = {part.role: part for part in recipe.parts(game.ir)}
    by_seat = {seat: parts[role] for seat, role in game.ir.role_of.items()}
    adapters = {seat: part.adapter for seat, part in by_seat.items() if part.adapter is not None}
    for seed in range(PLAYS):
        for place, (decision, said) in _met(game, recipe, policy, seed).items():
            size, room = rest.get(place, (0, 0))
            tokenizer = policy.tokenizer_of(adapters[place[0]])
            size = max(size, _besides(tokenizer, decision, said))
            rest[place] = size, max(room, _room(tokenizer, decision, free=free))
    held = {seat: _held(game, seat) for seat in dict.fromkeys(seat for seat, _ in rest)}
    found = [
        Context(
            seat,
            step,
            size,
            held[seat][step],
            room,
            policy.longest_of(adapters[seat]),
            by_seat[seat].model or recipe.model,
        )
        for (seat, step), (size, room) in rest.items()
    ]
    return max(
        found, key=lambda one: (one.replies is None, one.most - one.limit, one.most), default=None
    )


def _met(
    game: Game, recipe: Recipe, policy: Writing, seed: int
) -> dict[tuple[str, str], tuple[Decision, list[str]]]:
    """By seat and step the decision with the longest prompt in a random play, and what was said
    before it."""
    found: dict[tuple[str, str], tuple[Decision, list[str]]] = {}
    longest: dict[tuple[str, str], int] = {}
    episode = game.env(run_seed=recipe.seed, tokenizer=policy.tokenizer).reset(seed=seed)
    player, said = RandomPlayer(seed=seed), list[str]()
    while not episode.done:
        replies = {}
        for decision in episode.decisions:
            place, size = (decision.seat, decision.step), len(_text(decision))
            if recipe.part(decision.role).player is None and size > longest.get(place, 0):
                found[place], longest[place] = (decision, said), size
            replies[decision.seat] = player.act(decision, episode)
        said = [*said, *(replies[one.seat].name for one in episode.decisions if one.said)]
        episode.step(replies)
    return found


def _held(game: Game, seat: str) -> dict[str, int | None]:
    try:
        return reply_tokens(game.ir, seat)
    except UnboundedError:
        return dict.fromkeys((step.id for step in game.ir.steps), None)


def _besides(tokenizer: Tokenizer, decision: Decision, said: Sequence[str]) -> int:
    """Tokens of a prompt, without the earlier replies that it tells."""
    messages = cast("tuple[Message, ...]", decision.messages)
    whole = len(tokenizer.converse(messages).ids)
    return whole - sum(map(tokenizer.count, _told(_text(decision), said)))


def _text(decision: Decision) -> str:
    return "\n".join(text for _, text in cast("tuple[Message, ...]", decision.messages))


def _told(text: str, said: Sequence[str]) -> Iterator[str]:
    """Which of several replies a text holds, each in a place of its own."""
    for reply in sorted(said, key=len, reverse=True):
        if reply.strip() and reply in text:
            text = text.replace(reply, "", 1)
            yield reply


def _room(tokenizer: Tokenizer, decision: Decision, *, free: bool) -> int:
    """The most tokens of the reply."""
    if decision.said is not None:
        return decision.said.max_tokens
    longest = max(map(tokenizer.count, query_of(decision, "").labels))
    return longest + (decision.form.think or 0) + (AROUND if free else 0)
