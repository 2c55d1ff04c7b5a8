"""The interface of a generating engine: requests in, replies with their tokens out.

Nothing here loads torch. Invariant: the returned ids are the sampled ones, never those of a text
that was tokenised again, so training uses exactly the sampled tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal, Protocol

from gamedsl.policies.base import Policy, Role, TokenCounter

if TYPE_CHECKING:
    import torch

    from gamedsl.call_syntax import CallSyntax
    from gamedsl.policies.chat import Conversation
    from gamedsl.thought_syntax import Tags

Ids = tuple[int, ...]
Turn = tuple[Role, str | Ids]
"""A message. The model's own earlier reply may be given as the ids that it was drawn as."""
Finish = Literal["stop", "length"]
Range = tuple[int, int]


@dataclass(frozen=True)
class Request:
    """One open decision: what is said before, and how the reply is drawn.

    A reply ends with the end of a turn, with the token that completes one of `stop`, or at
    `max_tokens`. `temperature` 0 takes the likeliest token each time. The reply's tokens are drawn
    with random numbers from `seed` alone: it does not matter what else is asked at the same time,
    but for the last bits of the probabilities.
    """

    messages: tuple[Turn, ...]
    adapter: str
    max_tokens: int
    temperature: float = 1.0
    stop: tuple[str, ...] = ()
    schema: Mapping[str, Any] | None = None
    """JSON Schema that the reply must satisfy, written without spaces."""
    choices: tuple[str, ...] = ()
    """Texts one of which the reply must be; labels as those of a `Query`."""
    seed: int = 0
    thinks: bool = False
    """Whether the reply begins with a thought. An endpoint puts back one that its server gives
    apart; without a thought, it has a chat that begins with a list of tools answered by a call and
    nothing else."""
    prefix: Ids = ()
    """Ids that the reply goes on from, such as those of a thought that was closed; they count as
    part of the prompt. With `choices` or `schema`, these constrain what comes after."""

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise ValueError("a reply needs room for at least one token")
        if self.temperature < 0:
            raise ValueError("a temperature cannot be below 0")
        if self.choices and self.schema is not None:
            raise ValueError("a reply is one of `choices`, or fits `schema`: not both")


@dataclass(frozen=True)
class Generated:
    """A reply. Engines that do not show tokens leave the ids and log-probabilities empty."""

    prompt_ids: Ids
    reply_ids: Ids
    """What was drawn, the end token included."""
    log_probs: tuple[float, ...]
    """Of each of `reply_ids`, float32, under the distribution that it was drawn from: after
    temperature and constraints (0 where the temperature is 0)."""
    text: str
    """The reply's text, without the end token; a stop string that ended it is in it."""
    finish: Finish
    """`length`: the reply was cut off at `max_tokens`."""


Then = Callable[[int, Generated], Sequence[Request]]
"""What follows a reply: the number of its request, and the reply, to further requests."""


@dataclass(frozen=True)
class TokenRow:
    """Token ids, and which of them are trained: the ranges [start, stop) of positions, in order.

    The first token has nothing before it and cannot be trained. `temperature` is that of the
    sampler, so that ratios of probabilities are those of what was played.
    """

    adapter: str
    ids: Ids
    trained: tuple[Range, ...]
    temperature: float = 1.0

    def __post_init__(self) -> None:
        ends = [1, *(end for pair in self.trained for end in pair), len(self.ids)]
        if ends != sorted(ends) or any(start == stop for start, stop in self.trained):
            raise ValueError(f"{self.trained} are no ranges of tokens 1 to {len(self.ids)}")
        if self.temperature <= 0:
            raise ValueError("tokens are trained at a temperature above 0")

    @property
    def positions(self) -> list[int]:
        """The positions of the trained tokens."""
        return [at for start, stop in self.trained for at in range(start, stop)]


Weigh = Callable[["torch.Tensor", "torch.Tensor"], "torch.Tensor"]
"""Weights [T] of some trained tokens from their numbers [T] among those of all rows, in order, and
their log pi [T]; float32 on the CPU, and nothing is known of the order of calls."""


class TokenEntropy:
    """The entropy of the distribution that each trained token was drawn from, over the whole
    vocabulary, in nats: a pass over rows fills it in, and adds the gradient of its weighted sum.

    All tensors are [T], float32 on the CPU, of the trained tokens of all rows in order: `weight_T`
    as given, `found_T` the entropies, `most_T` that of a uniform draw.
    """

    def __init__(self, weight_T: torch.Tensor) -> None:
        self.weight_T = weight_T
        self.found_T, self.most_T = (
            weight_T.new_zeros(len(weight_T)),
            weight_T.new_ones(len(weight_T)),
        )
        self.trains = bool((weight_T != 0).any())
        self._numbers: torch.Tensor | None = None

    def weight(self, number_T: torch.Tensor) -> torch.Tensor:
        """Returns the weights of some tokens, by their numbers."""
        return self.weight_T[self._places(number_T)]

    def see(self, number_T: torch.Tensor, found_T: torch.Tensor, most: float) -> None:
        """Takes the entropies of some tokens, and the most that they can be."""
        places = self._places(number_T)
        self.found_T[places] = found_T
        self.most_T[places] = most

    def found(self, number_T: torch.Tensor) -> torch.Tensor:
        """Returns the entropies of some tokens, by their numbers."""
        return self.found_T[self._places(number_T)]

    @property
    def most(self) -> float:
        """The largest of the entropies of uniform draws."""
        return float(self.most_T.max())

    def part(self, number_T: torch.Tensor) -> TokenEntropy:
        """Returns the same of some of the tokens, which are numbered anew; what it takes is taken
        here."""
        part = copy(self)
        part._numbers = self._places(number_T)
        return part

    def _places(self, number_T: torch.Tensor) -> torch.Tensor:
        return number_T if self._numbers is None else self._numbers[number_T]


class Session(Protocol):
    """Requests under way with an engine, answered a little at a time."""

    @property
    def under_way(self) -> bool:
        """Whether a request has no reply yet."""
        ...

    def ask(self, requests: Sequence[Request]) -> None:
        """Take requests; they are numbered from 0 on, in the order in which they are given. Raises
        as `Generator.generate`."""
        ...

    def step(self) -> list[tuple[int, Generated]]:
        """Write a little more; the replies that end with it, by the numbers of their requests."""
        ...

    def close(self) -> None:
        """Give up what is under way."""
        ...


class Generator(Protocol):
    """An engine that writes replies and trains the tokens of replies."""

    def tokenizer_of(self, adapter: str) -> Tokenizer:
        """The tokenizer of the model that an adapter belongs to. Raises KeyError."""
        ...

    def longest_of(self, adapter: str) -> int | float:
        """The most tokens of a prompt and its reply together, for the model that an adapter belongs
        to. Raises KeyError."""
        ...

    def cache_tokens(self, adapter: str) -> int:
        """The tokens whose keys and values fit the room that they have, for the model that an
        adapter belongs to. Raises KeyError."""
        ...

    def session(self) -> Session:
        """Begin to take requests. An engine has one session at a time."""
        ...

    def generate(self, requests: Sequence[Request]) -> list[Generated]:
        """A reply to each. Raises KeyError for an unknown adapter, ModelError where a prompt or a
        schema cannot be used."""
        ...

    def serve(self, requests: Sequence[Request], then: Then) -> None:
        """Reply to requests, and to those that replies lead to; raises as `generate`.

        `then(index, reply)` is called as each reply ends, in no fixed order, and gives the requests
        that follow from it: no reply waits for one that another game is still writing. Indices
        count on in the order in which requests were given.
        """
        ...

    def token_log_probs(
        self, rows: Sequence[TokenRow], entropy: TokenEntropy | None = None
    ) -> list[torch.Tensor]:
        """Per row log pi of each trained token given all before it, float32 on the CPU, without a
        graph; `entropy` is measured, and has no gradient."""
        ...

    def token_backward(
        self, rows: Sequence[TokenRow], weights: Sequence[torch.Tensor] | Weigh,
        entropy: TokenEntropy | None = None,
    ) -> list[torch.Tensor]:  # fmt: skip
        """Add the gradient of sum(weights * log pi) to `.grad`; return log pi as above.

        weights: one 1-D tensor per row, as long as its trained tokens; or what tells them from
        log pi, so that a loss with ratios of probabilities needs no pass before this one. The
        gradient of `entropy`, by its weights, is added too.
        """
        ...

    def forget(self, adapter: str | None = None) -> None:
        """Drop what is kept of earlier calls, of one adapter or of all."""
        ...


class Tokenizer(TokenCounter, Protocol):
    """A tokenizer as who puts tokens between those that were drawn sees it."""

    def converse(self, turns: Sequence[Turn]) -> Conversation:
        """Ids of a conversation up to where the next reply begins."""
        ...

    def ids(self, text: str) -> Ids:
        """Ids of a text by itself; what it spells becomes no special token."""
        ...

    @property
    def ends(self) -> Ids:
        """The token that ends an answer, if there is one."""
        ...

    @property
    def ends_in_thought(self) -> bool:
        """Whether prompts end in a thought, empty or opened; one that is begun takes its place."""
        ...

    @property
    def tags(self) -> Tags:
        """The tags between which the model thinks; texts have those of games in their place."""
        ...

    @property
    def call_syntax(self) -> CallSyntax | None:
        """How the model writes tool calls; None where its template lists no tools."""
        ...


class Writing(Policy, Generator, Protocol):
    """A policy that scores options and writes replies."""

    def add_guest(self, name: str, like: str) -> None:
        """Create an adapter of the shape of another, which may be asked and put into a state, and
        is neither listed among `adapters` nor trained. Raises ValueError if the name is taken."""
        ...


def served(session: Session, requests: Sequence[Request], then: Then) -> None:
    """Reply to requests, and to those that replies lead to; see `Generator.serve`."""
    try:
        session.ask(requests)
        while session.under_way:
            for number, reply in session.step():
                session.ask(then(number, reply))
    finally:
        session.close()


def all_served(
    serve: Callable[[Sequence[Request], Then], None], requests: Sequence[Request]
) -> list[Generated]:
    """A reply to each request, by an engine's `serve`."""
    found: dict[int, Generated] = {}

    def keep(index: int, reply: Generated) -> tuple[Request, ...]:
        found[index] = reply
        return ()

    serve(requests, keep)
    return [found[index] for index in range(len(requests))]


def numbers_of(rows: Sequence[TokenRow], mine: Sequence[int]) -> torch.Tensor:
    """Returns the numbers of the trained tokens of some rows, by their places, among those of all
    rows."""
    import torch

    firsts = [0, *accumulate(len(row.positions) for row in rows)]
    parts = (torch.arange(firsts[at], firsts[at + 1]) for at in mine)
    return torch.cat([torch.arange(0), *parts])


def weights_of(
    weights: Sequence[torch.Tensor] | Weigh, rows: Sequence[TokenRow], mine: Sequence[int]
) -> Sequence[torch.Tensor] | Weigh:
    """Returns the weights of some of the rows; a function goes on being asked by the numbers of
    tokens among those of all rows."""
    if not callable(weights):
        return [weights[at] for at in mine]
    weigh, number_T = weights, numbers_of(rows, mine)
    return lambda own_T, log_pi_T: weigh(number_T[own_T], log_pi_T)


@dataclass(frozen=True)
class ReplySpan:
    """The place of a reply: its row, and its part [start, stop) of the row's trained tokens."""

    row: int
    start: int
    stop: int


def join_turns(
    adapter: str, turns: Sequence[Generated], temperature: float = 1.0
) -> tuple[list[TokenRow], list[ReplySpan]]:
    """The rows that train one role's replies in one episode, in order, and where each reply lies.

    A turn whose prompt begins with all that the turn before it held goes on in the same row;
    any other (the template rewrites what was said, or the context was cut) begins a new one.
    """
    rows: list[TokenRow] = []
    places: list[ReplySpan] = []
    for turn in turns:
        ids = turn.prompt_ids + turn.reply_ids
        known = rows[-1] if rows else None
        trained: tuple[Range, ...] = ()
        if known is not None and turn.prompt_ids[: len(known.ids)] == known.ids:
            trained = rows.pop().trained
        before = sum(stop - start for start, stop in trained)
        here = (len(turn.prompt_ids), len(ids))
        rows.append(TokenRow(adapter, ids, (*trained, here), temperature))
        places.append(ReplySpan(len(rows) - 1, before, before + len(turn.reply_ids)))
    return rows, places
