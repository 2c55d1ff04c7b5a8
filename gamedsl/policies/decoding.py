"""`Decoder`: replies drawn token by token, many at a time, on a transformers model.

What prompts have in common is computed once, over calls too, until the adapter's weights change
(see `kv_pool`, `prefill`); what rows of a batch share is read once a step (`shared`); a row leaves
when it is done (`decode_batch`). Always true: a reply is a function of the request and the weights,
but for the last bits of the probabilities, which depend on what else is in the batch.

Rows are admitted while their distinct tokens fit the pool, and as others leave: `serve` takes the
requests that replies lead to, so that no game waits for the slow turn of another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from gamedsl.policies.base import Query
from gamedsl.policies.chat import HFTokenizer
from gamedsl.policies.constraints import Choices, Constraint, Schemas
from gamedsl.policies.decode_batch import DecodeBatch
from gamedsl.policies.decode_row import Row
from gamedsl.policies.drawing_tokens import draw
from gamedsl.policies.errors import ModelError
from gamedsl.policies.generation import Finish, Generated, Ids, Request, Then, Turn
from gamedsl.policies.kv_pool import KVPool
from gamedsl.policies.lora import Router
from gamedsl.policies.network import Network
from gamedsl.policies.prefill import fill, segments

SHARE = 256
"""Reads of a slot that a shared block must spare a step to be worth its bookkeeping."""
_LEAVE = 1 / 8  # of the batch is done before its rows leave and others come
_WAIT = 32  # steps that new rows wait for that, at most
_PROBES = ("Is it day or night?", "Is it day?", "Is it night?")
_TOLERANCE = {torch.float32: 2e-2, torch.float64: 1e-6}  # of log-probabilities; else _COARSE
_COARSE = 0.25


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
        results: dict[int, Generated] = {}

        def keep(index: int, reply: Generated) -> tuple[Request, ...]:
            results[index] = reply
            return ()

        self.serve(requests, keep)
        return [results[index] for index in range(len(requests))]

    def serve(self, requests: Sequence[Request], then: Then) -> None:
        """Reply to requests, and to those that replies lead to; raises as `generate`.

        `then(index, reply)` is called as each reply ends, and gives the requests that follow;
        indices count on in the order in which requests were given.
        """
        waiting = self._rows(0, requests)
        count, arrived = len(waiting), False
        batch: DecodeBatch | None = None
        members: list[Row | None] = []
        while waiting or any(members):
            gone = members.count(None)
            if batch is None or gone >= len(members) * _LEAVE or (arrived and batch.age >= _WAIT):
                batch, members = self._renew(batch, members, waiting)
                arrived = False
            for index, reply in self._advance(batch, members):
                new = self._rows(count, then(index, reply))
                waiting += new
                count, arrived = count + len(new), arrived or bool(new)

    def _rows(self, first: int, requests: Sequence[Request]) -> list[Row]:
        self._drop_stale({request.adapter for request in requests})
        if requests and not self._checked:
            self._check(requests[0].adapter)
        self._prompts = {}
        return [self._row(first + index, request) for index, request in enumerate(requests)]

    def _drop_stale(self, adapters: set[str]) -> None:
        for adapter in sorted(adapters):
            version = self._version(adapter)
            if self._versions.get(adapter, version) != version:
                self.pool.forget(adapter)
            self._versions[adapter] = version

    def _row(self, index: int, request: Request) -> Row:
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
        return Row(
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

    @torch.inference_mode()
    def _renew(
        self, batch: DecodeBatch | None, members: list[Row | None], waiting: list[Row]
    ) -> tuple[DecodeBatch, list[Row | None]]:
        """The batch without rows that are done, and with those of `waiting` for which the pool has
        room: these are taken out of it."""
        live = [(at, row) for at, row in enumerate(members) if row is not None]
        admitted = self._admit([row for _, row in live], waiting)
        if batch is not None and not admitted:
            batch.keep([at for at, _ in live])
            return batch, [row for _, row in live]
        for at, row in live:
            assert batch is not None
            self._keep(batch, at, row)
        rows = sorted([*(row for _, row in live), *admitted], key=_order)
        adapters = [row.request.adapter for row in rows]
        read = [row.ids[:-1] for row in rows]
        room = sum(row.room - len(row.reply) for row in rows)
        for row, path in zip(rows, self._fill(list(zip(adapters, read)), room), strict=True):
            row.path = path
        paths = [row.path for row in rows]
        fresh = DecodeBatch(self._network, self._router, self.pool, adapters, paths, self._share)
        return fresh, list(rows)

    def _admit(self, live: Sequence[Row], waiting: list[Row]) -> list[Row]:
        """Take rows out of `waiting` while the distinct tokens fit the pool; one at least, if
        nothing else is under way."""
        admitted: list[Row] = []
        used, last = 0, None
        for row in sorted(live, key=_order):
            used, last = used + row.cost(last), row
        last = None
        for row in sorted(waiting, key=_order):
            cost = row.cost(last)
            if not (live or admitted) or used + cost <= self.pool.limit:
                admitted.append(row)
                used, last = used + cost, row
        taken = {row.index for row in admitted}
        waiting[:] = [row for row in waiting if row.index not in taken]
        return admitted

    @torch.inference_mode()
    def _advance(
        self, batch: DecodeBatch, members: list[Row | None]
    ) -> list[tuple[int, Generated]]:
        """One more token for each row; the replies that end with it, whose rows become None."""
        logits_BV = batch.step([0 if row is None else row.last for row in members])
        ended = []
        for at, finish in self._draw(members, logits_BV):
            row, members[at] = members[at], None
            assert row is not None
            self._keep(batch, at, row)
            ended.append((row.index, row.result(finish)))
        return ended

    def _draw(
        self, members: Sequence[Row | None], logits_BV: torch.Tensor
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

    def _keep(self, batch: DecodeBatch, at: int, row: Row) -> None:
        """Put what the batch read of a row into the pool: for the next turn, or a new batch."""
        tokens = row.ids[len(row.path) : -1]
        slots = self.pool.claim(row.request.adapter, tokens, row.path[-1] if row.path else None)
        slot_T = torch.tensor(slots, device=self._network.device)
        for layer, (key_THD, value_THD) in enumerate(batch.own(at, len(tokens))):
            self.pool.write(layer, slot_T, key_THD, value_THD)
        row.path = row.path + slots

    @torch.inference_mode()
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


def _order(row: Row) -> tuple[str, Ids]:
    """Rows of one adapter lie together, and those that begin alike."""
    return row.request.adapter, row.ids


def _ends(network: Network) -> list[int]:
    """Ids that end a reply, as the model's own generation settings have them."""
    settings = getattr(network.model, "generation_config", None)
    ends = getattr(settings, "eos_token_id", None)
    return [] if ends is None else [ends] if isinstance(ends, int) else list(ends)
