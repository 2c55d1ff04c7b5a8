"""`Decoder`: replies drawn token by token, many at a time, on a transformers model.

What prompts have in common is computed once, over calls too, until the adapter's weights change
(see `kv_pool`, `prefill`); what rows of a batch share is read once a step (`shared`); replies that
are the same so far are one row until they part; a row leaves when it is done (`decode_batch`).
Always true: a reply is a function of the request and the weights, but for the last bits of the
probabilities, which depend on what else is in the batch.

A GPU computes while the next step is prepared only if no step waits for what it drew. So there the
tokens of several steps stay on the device, as the input of the next, and are fetched together. A
row that ended meanwhile has written on for nothing; what came after its end is dropped.

Rows are admitted while their distinct tokens fit the pool, and as others leave: `serve` takes the
requests that replies lead to, so that no game waits for the slow turn of another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from gamedsl.policies.agreement import agree
from gamedsl.policies.chat import HFTokenizer
from gamedsl.policies.constraints import Choices, Constraint, Schemas
from gamedsl.policies.decode_batch import DecodeBatch
from gamedsl.policies.decode_row import Row, choices_of, room_for
from gamedsl.policies.errors import ModelError
from gamedsl.policies.generation import (
    Finish,
    Generated,
    Ids,
    Request,
    Then,
    Turn,
    all_served,
    served,
)
from gamedsl.policies.kv_pool import KVPool
from gamedsl.policies.lora import Router
from gamedsl.policies.network import Network
from gamedsl.policies.prefill import fill, segments
from gamedsl.policies.token_sampling import Draws, draw, drawn, fetched

Group = list[Row]
"""Rows of one adapter and temperature that have read the same tokens: one row of the batch until
they part. Empty: all are done."""

SHARE = 256
"""Reads of a slot that a shared block must spare a step to be worth its bookkeeping."""
_LEAVE = 1 / 8  # of the batch is done before its rows leave and others come
_WAIT = 32  # steps that new rows wait for that, at most
_BURST = 8
"""Tokens of a row between two looks at what was drawn, on a GPU."""
_BURST_ROWS = 256
"""Rows up to which replies that are the same so far are rows of their own in a burst: that many
cost a GPU hardly more than one."""
_PROBES = ("Is it day or night?", "Is it day?", "Is it night?")


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
        self.ends = frozenset({*tokenizer.stops, *_ends(network)})
        self._schemas = Schemas(tokenizer.wrapped, network.vocabulary, sorted(self.ends))
        self._share: int | None = SHARE
        self._checked = False
        self.burst = 1 if network.device.type == "cpu" else _BURST
        self._prompts: dict[tuple[Turn, ...], Ids] = {}

    def forget(self, adapter: str | None = None) -> None:
        """Drop what is kept of earlier calls."""
        self.pool.forget(adapter)

    def generate(self, requests: Sequence[Request]) -> list[Generated]:
        """A reply to each request. Raises KeyError for an unknown adapter, ModelError for a prompt
        without room for a reply, a schema that cannot be used, and a model that cannot decode."""
        return all_served(self.serve, requests)

    def serve(self, requests: Sequence[Request], then: Then) -> None:
        """Reply to requests, and to those that replies lead to; see `generation.Generator`."""
        served(self.session(), requests, then)

    def session(self) -> Decoding:
        """Begin to take requests."""
        return Decoding(self)

    def rows(self, first: int, requests: Sequence[Request]) -> list[Row]:
        """Requests as rows that are numbered from `first` on."""
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
        prompt = self._tokenizer.go_on(self._prompts[request.messages], request.prefix)
        room = room_for(len(prompt), request.max_tokens, self._network.longest)
        own = map(self._tokenizer.tags.in_reply, request.stop)
        reach = max((len(stop.encode()) for stop in own), default=0)  # no token is without a byte
        return Row(
            index, request, prompt, room, self.ends, self._tokenizer.text,
            self._constraint(request), reach,
        )  # fmt: skip

    def _constraint(self, request: Request) -> Constraint | None:
        if request.schema is not None:
            return self._schemas.fitting(request.schema)
        choices = choices_of(self._tokenizer, request)
        return Choices(choices) if choices else None

    @torch.inference_mode()
    def renew(
        self, batch: DecodeBatch | None, groups: list[Group], waiting: list[Row]
    ) -> tuple[DecodeBatch, list[Group]]:
        """The batch without rows that are done, and with those of `waiting` for which the pool has
        room: these are taken out of it."""
        live = [row for group in groups for row in group]
        admitted = self._admit(live, waiting)
        if batch is not None and not admitted:
            batch.take([at for at, group in enumerate(groups) if group])
            return batch, [group for group in groups if group]
        for at, group in enumerate(groups):
            if group:
                assert batch is not None
                self._keep(batch, at, group)
        fresh = _alike(sorted([*live, *admitted], key=_kind))
        first = [group[0] for group in fresh]
        adapters = [row.request.adapter for row in first]
        read = [row.ids[:-1] for row in first]
        room = sum(row.room - len(row.reply) for group in fresh for row in group)
        paths = self._fill(list(zip(adapters, read)), room)
        for group, path in zip(fresh, paths, strict=True):
            for row in group:
                row.path = path
        return DecodeBatch(
            self._network, self._router, self.pool, adapters, paths, self._share
        ), fresh

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
    def advance(self, batch: DecodeBatch, groups: list[Group]) -> list[tuple[int, Generated]]:
        """One more token for each row, or some; the replies that end with them, whose rows leave
        their groups. Groups are divided where their rows drew different tokens."""
        steps = self._burst_of(groups)
        if steps > 1:
            return self._advance_by(steps, batch, groups)
        logits_GV = batch.step([group[0].last if group else 0 for group in groups])
        finished = self._draw(groups, logits_GV)
        origin: list[int] = []
        parts: list[Group] = []
        for at, group in enumerate(groups):
            if leaving := [row for row in group if row in finished]:
                self._keep(batch, at, leaving)
            by_token: dict[int, Group] = {}
            for row in group:
                if row not in finished:
                    by_token.setdefault(row.last, []).append(row)
            here = list(by_token.values()) or [[]]
            parts += here
            origin += [at] * len(here)
        if len(parts) > len(groups):
            batch.take(origin)
        groups[:] = parts
        return [(row.index, row.result(finish)) for row, finish in finished.items()]

    def _burst_of(self, groups: Sequence[Group]) -> int:
        """Counts the tokens that are drawn before any is looked at: no row may run out of room."""
        rows = [row for group in groups for row in group]
        many = len(rows) > _BURST_ROWS and any(len(group) > 1 for group in groups)
        if self.burst == 1 or many or any(row.constraint is not None for row in rows):
            return 1
        return min([self.burst, *(row.room - len(row.reply) for row in rows)])

    def _advance_by(
        self, steps: int, batch: DecodeBatch, groups: list[Group]
    ) -> list[tuple[int, Generated]]:
        """So many tokens for each row, which are fetched together."""
        origin = [at for at, group in enumerate(groups) for _ in range(max(1, len(group)))]
        first: list[Row | None] = []
        for group in groups:
            first += group or [None]
        if len(first) > len(groups):
            batch.take(origin)
        groups[:] = [[] if row is None else [row] for row in first]
        device, count = self._network.device, len(groups)
        draws = Draws.of(
            [1.0 if row is None else row.request.temperature for row in first], [1] * count, device
        )
        uniform_SB = torch.tensor(
            [[0.0 if row is None else row.uniform() for row in first] for _ in range(steps)],
            dtype=torch.float64, device=device,
        )  # fmt: skip
        token_B = torch.tensor([0 if row is None else row.last for row in first], device=device)
        found: list[tuple[torch.Tensor, torch.Tensor]] = []
        for uniform_B in uniform_SB:
            found.append(drawn(batch.step(token_B), draws, uniform_B))
            token_B = found[-1][0]
        tokens, log_probs = fetched(found)
        done: list[tuple[int, Generated]] = []
        for at, group in enumerate(groups):
            for step in range(steps if group else 0):
                finish = group[0].take(tokens[step][at], log_probs[step][at])
                if finish is not None:
                    self._keep(batch, at, group)
                    done.append((group[0].index, group[0].result(finish)))
                    groups[at] = []
                    break
        return done

    def _draw(self, groups: Sequence[Group], logits_GV: torch.Tensor) -> dict[Row, Finish]:
        """Give each row under way its next token; which rows are done, and how."""
        places = [at for at, group in enumerate(groups) if group]
        for at in places:
            constraint = groups[at][0].constraint
            if constraint is not None:
                constraint.forbid(logits_GV[at])
        if len(places) < len(groups):
            logits_GV = logits_GV[torch.tensor(places, device=logits_GV.device)]
        tokens, log_probs = draw(
            logits_GV,
            [groups[at][0].request.temperature for at in places],
            [[row.uniform() for row in groups[at]] for at in places],
        )
        done = {}
        rows = (row for group in groups for row in group)
        for row, token, log_prob in zip(rows, tokens, log_probs, strict=True):
            if (finish := row.take(token, log_prob)) is not None:
                done[row] = finish
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

    def _keep(self, batch: DecodeBatch, at: int, group: Group) -> None:
        """Put what the batch read of a group into the pool: for the next turn, or a new batch."""
        first = group[0]
        tokens = first.ids[len(first.path) : -1]
        parent = first.path[-1] if first.path else None
        slots = self.pool.claim(first.request.adapter, tokens, parent)
        slot_T = torch.tensor(slots, device=self._network.device)
        for layer, (key_THD, value_THD) in enumerate(batch.own(at, len(tokens))):
            self.pool.write(layer, slot_T, key_THD, value_THD)
        path = first.path + slots
        for row in group:
            row.path = path

    @torch.inference_mode()
    def _check(self, adapter: str) -> None:
        """Decoding must give what the whole model gives for the same tokens; where it does only
        without sharing, nothing is shared."""
        asked = sorted(self._tokenizer.converse((("user", text),)).ids for text in _PROBES)
        expected_BV = torch.stack([self._plain(adapter, ids) for ids in asked])
        for share in (1, None):
            try:
                logits_BV = self._probe(adapter, asked, share)
            except (ModelError, RuntimeError, TypeError, ValueError, LookupError, AttributeError):
                continue
            finally:
                self.pool.forget()
            if agree([logits_BV.log_softmax(-1)], [expected_BV], self._network.dtype):
                self._share, self._checked = SHARE if share else None, True
                return
        raise ModelError(
            f"{_kinds(self._network)} something else than keys and values: replies cannot be"
            " decoded with the model that is trained",
            "write `engine: vllm`, or choose a model with plain attention (Llama, SmolLM, Qwen,"
            " Mistral, ...)",
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


class Decoding:
    """A `generation.Session` of a decoder."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder
        self._count, self._arrived = 0, False
        self._waiting: list[Row] = []
        self._batch: DecodeBatch | None = None
        self._groups: list[Group] = []

    @property
    def under_way(self) -> bool:
        return bool(self._waiting) or any(self._groups)

    def ask(self, requests: Sequence[Request]) -> None:
        new = self._decoder.rows(self._count, requests)
        self._waiting += new
        self._count, self._arrived = self._count + len(new), self._arrived or bool(new)

    def step(self) -> list[tuple[int, Generated]]:
        """One more token for each row, after rows have left and come where it is time."""
        gone, batch = self._groups.count([]), self._batch
        late = batch is not None and self._arrived and batch.age >= _WAIT
        if batch is None or late or gone >= len(self._groups) * _LEAVE:
            batch, self._groups = self._decoder.renew(batch, self._groups, self._waiting)
            self._batch, self._arrived = batch, False
        return self._decoder.advance(batch, self._groups)

    def close(self) -> None:
        """Does nothing: only memory is in use."""


def _alike(rows: Sequence[Row]) -> list[Group]:
    """Rows in their order, those together that have written the same so far and draw from the same
    distribution; one with a constraint stays alone."""
    groups: list[Group] = []
    for row in rows:
        last = groups[-1][-1] if groups else row
        constrained = row.constraint is not None or last.constraint is not None
        if groups and not constrained and _kind(row) == _kind(last):
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups


def _kind(row: Row) -> tuple[str, Ids, float]:
    return *_order(row), row.request.temperature


def _order(row: Row) -> tuple[str, Ids]:
    """Rows of one adapter lie together, and those that begin alike."""
    return row.request.adapter, row.ids


def _kinds(network: Network) -> str:
    """Names what the model has beside attention, as the beginning of a sentence."""
    kinds = dict.fromkeys(getattr(network.config, "layer_types", None) or ())
    other = [kind for kind in kinds if not kind.endswith("attention") or kind.startswith("linear")]
    if not other:
        return "this model keeps"
    return f"this model has layers of the kind {', '.join(other)}, which keep"


def _ends(network: Network) -> list[int]:
    """Ids that end a reply, as the model's own generation settings have them."""
    settings = getattr(network.model, "generation_config", None)
    ends = getattr(settings, "eos_token_id", None)
    return [] if ends is None else [ends] if isinstance(ends, int) else list(ends)
