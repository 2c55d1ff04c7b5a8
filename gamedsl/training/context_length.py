"""The most tokens that a prompt and its reply can have, before anything is trained.

The form of the game bounds what prompts hold of earlier replies: how often its loops run, what its
windows keep, how long replies may be (`gamedsl.prompting.history_bounds`). The rest of a prompt,
rules, names and options, is measured in some games of random play, without the replies there. So it
is near, not a proof: other plays may have longer values or more turns, and a text may be split into
other tokens where it is part of a prompt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from gamedsl.bounds.programs import UnboundedError
from gamedsl.diagnostics import Problems
from gamedsl.ir.game import GameIR
from gamedsl.players.model_replies import AROUND, query_of
from gamedsl.players.random import RandomPlayer
from gamedsl.policies.base import Message
from gamedsl.policies.generation import Tokenizer, Writing
from gamedsl.prompting.history_bounds import reply_tokens
from gamedsl.recipe.table import Recipe
from gamedsl.training.errors import TrainError
from gamedsl.training.sessions import check_calls

if TYPE_CHECKING:
    from gamedsl.runtime import Decision, Game

PLAYS = 4


@dataclass(frozen=True)
class Context:
    """The decision whose prompt and reply are longest for its model, which reads `limit` tokens and
    is called `model`; counts of tokens. `replies` is what the prompt holds of earlier replies, None
    where the form of the game gives no bound: `rest` is then what random play came to."""

    seat: str
    step: str
    rest: int
    replies: int | None
    room: int
    limit: int | float
    model: str
    kept: int
    """Tokens whose keys and values fit the room that they have."""

    @property
    def rows(self) -> int:
        """The number of the longest prompts with their replies that fit at once."""
        return int(self.kept // min(self.most, self.limit))

    @property
    def most(self) -> int:
        return self.rest + (self.replies or 0) + self.room

    def describe(self) -> str:
        """Returns the sentence for people."""
        bound = self.limit != float("inf")
        known = f", of {int(self.limit):,} that the model reads" if bound else ""
        if self.replies is None:
            return f"{self.most:,} tokens in {PLAYS} random games, and no bound{known}"
        return f"about {self.most:,} tokens at most, {self.replies:,} in earlier replies{known}"


def check_context(
    game: Game, recipe: Recipe, policy: Writing, problems: Problems
) -> Context | None:
    """Returns the longest; None where the policy is asked nothing. GD0717: it is more than the
    model reads. Raises TrainError where the game calls what cannot run here, or where the longest
    has no room for its keys and values."""
    check_calls(game)
    found = largest(game, recipe, policy)
    if found is not None and not found.rows:
        key = "vllm.cache" if recipe.engine == "vllm" else "kv_cache"
        raise TrainError(
            f"a prompt and its reply can have {found.most:,} tokens, and there is room for the keys"
            f" and values of {found.kept:,}",
            f"raise `{key}`, lower `max_tokens`, give the role a window (`history`), or take a"
            " smaller model",
        )
    if found is None or found.replies is None or found.most <= found.limit:
        return found
    step = next(step for step in game.ir.steps if step.id == found.step)
    problems.add(
        "GD0717",
        f"a prompt and its reply can have about {found.most:,} tokens, and `{found.model}` reads "
        f"{int(found.limit):,}",
        step.span, why=f"asked of {found.seat}",
        help=f"{_shorter_window(game.ir, found.seat)}lower `max_tokens` or how often this is asked,"
        " or take a model that reads more",
        witness=(
            f"earlier replies: at most {found.replies:,}, by the form of the game",
            f"rules, names and options: {found.rest:,}, in {PLAYS} games of random play",
            f"the reply: {found.room:,}",
        ),
    )  # fmt: skip
    return found


def _shorter_window(ir: GameIR, seat: str) -> str:
    """Returns the advice to give the role of a seat a window, or one of fewer turns; empty where
    its window can be no shorter."""
    window = ir.windows.get(seat)
    last = 4 if window is None else min(4, (window.last or 1) // 2)
    if not last:
        return ""
    what = "a window" if window is None else "a shorter window"
    return f"give the role {what} (`history: {{{ir.role_of[seat]}: {{last: {last}}}}}`), "


def largest(game: Game, recipe: Recipe, policy: Writing) -> Context | None:
    """Returns the longest over all steps at which the policy is asked."""
    free = recipe.replies == "free"
    rest: dict[tuple[str, str], tuple[int, int]] = {}
    parts = {part.role: part for part in recipe.parts(game.ir)}
    by_seat = {seat: parts[role] for seat, role in game.ir.role_of.items()}
    adapters = {seat: part.adapter for seat, part in by_seat.items() if part.adapter is not None}
    for seed in range(PLAYS):
        for place, (decision, said) in _longest_decisions(game, recipe, policy, seed).items():
            size, room = rest.get(place, (0, 0))
            tokenizer = policy.tokenizer_of(adapters[place[0]])
            size = max(size, _besides(tokenizer, decision, said))
            rest[place] = size, max(room, _room(tokenizer, decision, free=free))
    bounds = {seat: _history_bounds(game, seat) for seat in dict.fromkeys(seat for seat, _ in rest)}
    found = [
        Context(
            seat,
            step,
            size,
            bounds[seat][step],
            room,
            policy.longest_of(adapters[seat]),
            by_seat[seat].model or recipe.model,
            policy.cache_tokens(adapters[seat]),
        )
        for (seat, step), (size, room) in rest.items()
    ]
    return max(
        found, key=lambda one: (one.replies is None, one.most - one.limit, one.most), default=None
    )


def _longest_decisions(
    game: Game, recipe: Recipe, policy: Writing, seed: int
) -> dict[tuple[str, str], tuple[Decision, list[str]]]:
    """Returns by seat and step the decision with the longest prompt in a random play, and what was
    said before it."""
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


def _history_bounds(game: Game, seat: str) -> dict[str, int | None]:
    try:
        return reply_tokens(game.ir, seat)
    except UnboundedError:
        return dict.fromkeys((step.id for step in game.ir.steps), None)


def _besides(tokenizer: Tokenizer, decision: Decision, said: Sequence[str]) -> int:
    """Returns the tokens of a prompt, without the earlier replies that it holds."""
    messages = cast("tuple[Message, ...]", decision.messages)
    whole = len(tokenizer.converse(messages).ids)
    return whole - sum(map(tokenizer.count, _earlier_replies(_text(decision), said)))


def _text(decision: Decision) -> str:
    return "\n".join(text for _, text in cast("tuple[Message, ...]", decision.messages))


def _earlier_replies(text: str, said: Sequence[str]) -> Iterator[str]:
    """Yields the replies that a text holds, each in a place of its own."""
    for reply in sorted(said, key=len, reverse=True):
        if reply.strip() and reply in text:
            text = text.replace(reply, "", 1)
            yield reply


def _room(tokenizer: Tokenizer, decision: Decision, *, free: bool) -> int:
    """Returns the most tokens of the reply."""
    if decision.said is not None:
        return decision.said.max_tokens
    longest = max(map(tokenizer.count, query_of(decision, "").labels))
    return longest + (decision.form.think or 0) + (AROUND if free else 0)
