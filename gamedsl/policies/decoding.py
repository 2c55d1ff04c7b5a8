"""`Decoder`: replies drawn token by token, many at a time, on a transformers model.

What prompts have in common is computed once, over calls too, until the adapter's weights change
(see `kv_pool`, `prefill`); what rows of a batch share is read once a step (`shared`); a row leaves
when it is done (`decode_batch`). Always true: a reply is a function of the request and the weights,
but for the last bits of the probabilities, which depend on what else is in the batch.

Requests are decoded in waves whose distinct tokens fit the pool.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import torch

from gamedsl.policies.base import Query
from gamedsl.policies.chat import HFTokenizer
from gamedsl.policies.constraints import Choices, Constraint, Schemas
from gamedsl.policies.decode_batch import DecodeBatch
from gamedsl.policies.drawing_tokens import draw
from gamedsl.policies.errors import ModelError
from gamedsl.policies.generation import Finish, Generated, Ids, Request, Turn
from gamedsl.policies.kv_pool import KVPool
from gamedsl.policies.lora import Router
from gamedsl.policies.network import Network
from gamedsl.policies.prefill import fill, segments
from gamedsl.policies.prefix_tree import common_prefix

SHARE = 256
"""Reads of a slot that a shared block must spare a step to be worth its bookkeeping."""
_LEAVE = 1 / 8  # of the batch is done before its rows leave
_PROBES = ("Is it day or night?", "Is it day?", "Is it night?")
_TOLERANCE = {torch.float32: 2e-2, torch.float64: 1e-6}  # of log-probabilities; else _COARSE
_COARSE = 0.25


@dataclass(eq=False)
class _Row:
    """A reply under way."""

    index: int
    request: Request
    prompt: Ids
    room: int
    """The most tokens."""
    ends: frozenset[int]
    text: Callable[[Ids], str]
    constraint: Constraint | None
    path: list[int] = field(default_factory=list)
    """Slots of all prompt tokens but the last."""
    reply: list[int] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = random.Random(self.request.seed)

    @property
    def last(self) -> int:
        return self.reply[-1] if self.reply else self.prompt[-1]

    def uniform(self) -> float:
        return self._random.random()

    def take(self, token: int, log_prob: float) -> Finish | None:
        """Add a token; how the reply ends, if it does."""
        self.reply.append(token)
        self.log_probs.append(log_prob)
        complete = self.constraint is not None and self.constraint.take(token)
        if complete or token in self.ends or self._stopped():
            return "stop"
        return "length" if len(self.reply) == self.room else None

    def result(self, finish: Finish) -> Generated:
        reply = tuple(self.reply)
        said = reply[:-1] if reply[-1] in self.ends else reply
        return Generated(self.prompt, reply, tuple(self.log_probs), self.text(said), finish)

    def _stopped(self) -> bool:
        """Whether a stop string is complete: no token is without a byte, so it is in as many."""
        if not self.request.stop:
            return False
        longest = max(len(stop.encode()) for stop in self.request.stop)
        tail = self.text(tuple(self.reply[-longest - 1 :]))
        return any(stop in tail for stop in self.request.stop)


class Decoder:
    """Writes replies with one network and the adapters of its router."""

    def __init__(
        self,
        network: Network,
        router: Router,
        tokenizer: HFTokenizer,
        version: Callable[[str], int],
        *,
        kept_tokens: int,
        max_tokens: int,
    ) -> None:
        """version: a number that changes with an adapter's weights; raises KeyError for an unknown
        adapter. kept_tokens: slots of the pool. max_tokens: of one prefill pass."""
        self._network, self._router, self._tokenizer = network, router, tokenizer
        self._version, self._max_tokens = version, max_tokens
        self.pool = KVPool(len(network.layers), kept_tokens)
        self._versions: dict[str, int] = {}
        self.ends = frozenset({*tokenizer.ends, *_ends(network)})
        self._schemas = Schemas(tokenizer.wrapped, network.vocabulary, sorted(self.ends))
        self._share: int | None = SHARE
        self._checked = False
        self._prompts: dict[tuple[Turn, ...], Ids] = {}

    def forget(self, adapter: str | None = None) -> None:
        """Drop what is kept of earlier calls."""
        self.pool.forget(adapter)

    def generate(self, requests: Sequence[Request]) -> list[Generated]:
        """A reply to each request. Raises KeyError for an unknown adapter, ModelError for a prompt
        without room for a reply, a schema that cannot be used, and a model that cannot decode."""
        self._drop_stale({request.adapter for request in requests})
        self._prompts = {}
        rows = [self._row(index, request) for index, request in enumerate(requests)]
        results: dict[int, Generated] = {}
        with torch.inference_mode():
            if rows and not self._checked:
                self._check(rows[0].request.adapter)
            for wave in self._waves(rows):
                results.update(self._run(wave))
        return [results[index] for index in range(len(requests))]

    def _drop_stale(self, adapters: set[str]) -> None:
        for adapter in sorted(adapters):
            version = self._version(adapter)
            if self._versions.get(adapter, version) != version:
                self.pool.forget(adapter)
            self._versions[adapter] = version

    def _row(self, index: int, request: Request) -> _Row:
        if request.messages not in self._prompts:
            self._prompts[request.messages] = self._tokenizer.converse(request.messages).ids
        prompt = self._prompts[request.messages] + request.prefix
        config = self._network.config
        longest = getattr(config, "max_position_embeddings", None) or float("inf")
        room = min(longest, self._network.window) - len(prompt)
        if room < 1:
            raise ModelError(
                f"a prompt of {len(prompt)} tokens leaves the model no room for a reply",
                "shorten what prompts show, or choose a model with a longer context",
            )
        return _Row(
            index, request, prompt, int(min(request.max_tokens, room)), self.ends,
            self._tokenizer.text, self._constraint(request),
        )  # fmt: skip

    def _constraint(self, request: Request) -> Constraint | None:
        if request.schema is not None:
            return self._schemas.fitting(request.schema)
        if not request.choices:
            return None
        if request.prefix or not all(isinstance(turn, str) for _, turn in request.messages):
            return Choices(self._tokenizer.labels(request.choices))
        messages = tuple((role, str(turn)) for role, turn in request.messages)
        query = Query(messages, request.choices, request.adapter)
        return Choices(self._tokenizer.encode(query).labels)

    def _waves(self, rows: Sequence[_Row]) -> Iterator[list[_Row]]:
        """Rows sorted by adapter and prompt, in groups whose distinct tokens fit the pool."""
        wave: list[_Row] = []
        used = 0
        for row in sorted(rows, key=lambda row: (row.request.adapter, row.prompt)):
            cost = len(row.prompt) + row.room
            if wave and wave[-1].request.adapter == row.request.adapter:
                cost -= common_prefix(wave[-1].prompt, row.prompt)
            if wave and used + cost > self.pool.limit:
                yield wave
                wave, used, cost = [], 0, len(row.prompt) + row.room
            wave.append(row)
            used += cost
        if wave:
            yield wave

    def _run(self, wave: list[_Row]) -> dict[int, Generated]:
        """Decode a wave to its end."""
        adapters = [row.request.adapter for row in wave]
        prompts = [row.prompt[:-1] for row in wave]
        paths = self._fill(list(zip(adapters, prompts)), sum(row.room for row in wave))
        for row, path in zip(wave, paths, strict=True):
            row.path = path
        batch = DecodeBatch(self._network, self._router, self.pool, adapters, paths, self._share)
        results: dict[int, Generated] = {}
        members: list[_Row | None] = list(wave)
        while any(member is not None for member in members):
            live = [at for at, member in enumerate(members) if member is not None]
            if len(live) < len(members) * (1 - _LEAVE):
                batch.keep(live)
                members = [members[at] for at in live]
                live = list(range(len(members)))
            logits_BV = batch.step([0 if row is None else row.last for row in members])
            for at, finish in self._draw(members, logits_BV):
                done, members[at] = members[at], None
                assert done is not None
                results[done.index] = done.result(finish)
                self._keep(batch, at, done)
        return results

    def _draw(
        self, members: Sequence[_Row | None], logits_BV: torch.Tensor
    ) -> list[tuple[int, Finish]]:
        """Give each row under way its next token; which rows are done, and how."""
        rows = [(at, row) for at, row in enumerate(members) if row is not None]
        for at, row in rows:
            if row.constraint is not None:
                row.constraint.forbid(logits_BV[at])
        if len(rows) < len(members):
            logits_BV = logits_BV[torch.tensor([at for at, _ in rows], device=logits_BV.device)]
        tokens, log_probs = draw(
            logits_BV,
            [row.request.temperature for _, row in rows],
            [row.uniform() for _, row in rows],
        )
        done = []
        for (at, row), token, log_prob in zip(rows, tokens, log_probs, strict=True):
            if (finish := row.take(token, log_prob)) is not None:
                done.append((at, finish))
        return done

    def _fill(self, sequences: Sequence[tuple[str, Ids]], room: int) -> list[list[int]]:
        """Paths of the sequences, computed where not kept, and room for more tokens."""
        distinct = list(dict.fromkeys(sequences))
        known = self.pool.find(distinct)
        missing = sum(len(ids) - kept for (_, ids), kept in zip(distinct, known, strict=True))
        self.pool.reserve(missing + room)
        paths = fill(self._network, self._router, self.pool, distinct, self._max_tokens)
        path_of = dict(zip(distinct, paths, strict=True))
        return [path_of[sequence] for sequence in sequences]

    def _keep(self, batch: DecodeBatch, at: int, row: _Row) -> None:
        """Put what the row computed into the pool, for the next turn."""
        tokens = (row.prompt[-1], *row.reply[:-1])
        slots = self.pool.claim(row.request.adapter, tokens, row.path[-1] if row.path else None)
        slot_T = torch.tensor(slots, device=self._network.device)
        for layer, (key_THD, value_THD) in enumerate(batch.own(at, len(tokens))):
            self.pool.write(layer, slot_T, key_THD, value_THD)

    def _check(self, adapter: str) -> None:
        """Decoding must give what the whole model gives for the same tokens; where it does only
        without sharing, nothing is shared."""
        asked = sorted(self._tokenizer.converse((("user", text),)).ids for text in _PROBES)
        expected_BV = torch.stack([self._plain(adapter, ids) for ids in asked])
        tolerance = _TOLERANCE.get(self._network.dtype, _COARSE)
        for share in (1, None):
            try:
                logits_BV = self._probe(adapter, asked, share)
            except (ModelError, RuntimeError, TypeError, ValueError, LookupError, AttributeError):
                continue
            finally:
                self.pool.forget()
            if bool((logits_BV.log_softmax(-1) - expected_BV).abs().max() <= tolerance):
                self._share, self._checked = SHARE if share else None, True
                return
        raise ModelError(
            "this model keeps something else than keys and values: replies cannot be decoded",
            "choose a model with plain attention (Llama, SmolLM, Qwen, Mistral, ...)",
        )

    def _probe(self, adapter: str, asked: Sequence[Ids], share: int | None) -> torch.Tensor:
        """Logits [B, V] after prompts whose last two tokens are decoded."""
        paths = self._fill([(adapter, ids[:-2]) for ids in asked], 0)
        names = [adapter] * len(paths)
        batch = DecodeBatch(self._network, self._router, self.pool, names, paths, share)
        batch.step([ids[-2] for ids in asked])
        return batch.step([ids[-1] for ids in asked])

    def _plain(self, adapter: str, ids: Ids) -> torch.Tensor:
        """Log-probabilities [V] after `ids`, by the whole model."""
        token_1S = torch.tensor([ids], device=self._network.device)
        position_1S = torch.arange(len(ids), device=self._network.device)[None]
        with self._router.route(segments([adapter], len(ids))):
            hidden_1SD = self._network.whole(token_1S, torch.ones_like(token_1S), position_1S)
        return self._network.head(hidden_1SD[:, -1]).log_softmax(-1)[0]


def _ends(network: Network) -> list[int]:
    """Ids that end a reply, as the model's own generation settings have them."""
    settings = getattr(network.model, "generation_config", None)
    ends = getattr(settings, "eos_token_id", None)
    return [] if ends is None else [ends] if isinstance(ends, int) else list(ends)
