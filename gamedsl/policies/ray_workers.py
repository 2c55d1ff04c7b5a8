"""Replies written by workers of a Ray cluster, for a policy that is trained here.

Ray places the workers, restarts those that end, and carries what is sent. Each worker has a model
of its own and writes a share of the replies. An adapter travels once for each change of its
weights, through Ray's object store: the policy's own as it learns, and guests, which are snapshots
of its past, as they join.

A worker proves which weights it writes by. Each result carries the digests of the adapters, as the
worker's policy holds them. A worker that has loaded an adapter also scores a probe, and the trainer
compares the log-probabilities with its own. They must be equal but for the rounding of the model's
number format.

Requests carry their seeds, so a reply is the same whoever writes it. What a lost worker owed is
asked of another one, and no game is lost or counted twice.

A worker has one session at a time, and the weights of an adapter once. So threads that ask for
replies take turns: the games that are played ahead, and what measures the policy meanwhile. A turn
lasts as long as a session, or as a call that scores.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from gamedsl.policies.base import Message, Policy, Query
from gamedsl.policies.cluster import Workers, WorkQueue, require_few
from gamedsl.policies.errors import ModelError
from gamedsl.policies.generation import (
    Generated,
    Request,
    Session,
    Then,
    Writing,
    all_served,
    served,
)
from gamedsl.policies.handed_on import WritingHandedOn, bare
from gamedsl.policies.placement import Placement
from gamedsl.policies.turns import Turns

if TYPE_CHECKING:
    import torch

    from gamedsl.policies.factory import PolicyOptions

_SYSTEM: Message = ("system", "You play a game with others. Answer with one word.")
_PROMPTS: tuple[tuple[Message, ...], ...] = (
    (_SYSTEM, ("user", "It is your turn. What do you do?")),
    (_SYSTEM, ("user", "You have 3 coins, and the other one has 5. What do you do?")),
)
_LABELS = ("yes", "no", "left", "right", "red", "blue", "stay", "go")
_EXACT, _ROUNDED = 1e-3, 0.25
"""The largest distance of two probes by the same weights: in formats of 32 bits and more, and of
16. Between passes of other shapes SmolLM2 differs by 1e-5 in float32, and by 0.05 in bfloat16."""
STEPS = 8
"""Steps that a worker writes before it takes new requests, at most."""
_SESSIONS = count()
"""Numbers of sessions, by which workers tell them apart."""
_State = dict[str, "torch.Tensor"]


class Probe(NamedTuple):
    """Log-probabilities of the probe by one adapter. rounding: how far they may be from those that
    another process finds by the same weights."""

    scores: tuple[float, ...]
    rounding: float

    def distance(self, other: Probe) -> float:
        """Returns the root mean square of the differences, in nats."""
        return math.dist(self.scores, other.scores) / math.sqrt(len(self.scores))


Probes = Mapping[str, Probe]
"""Probes by adapter."""


class Written(NamedTuple):
    """The result of a call: replies that ended, by number; digests of the adapters that they were
    written by; and probes of those that were loaded for it."""

    replies: list[tuple[int, Generated]]
    digests: Mapping[str, str]
    probes: Probes


class Scored(NamedTuple):
    """The result of a call: log pi [A] of each query; digests and probes as of `Written`."""

    scores: list[torch.Tensor]
    digests: Mapping[str, str]
    probes: Probes


class SentAdapter(NamedTuple):
    """An adapter as workers are sent it: the digest of its weights; how they are had; and of a
    guest, the adapter whose shape it has."""

    digest: str
    weights: Callable[[], _State]
    like: str | None


@dataclass(frozen=True)
class Sent:
    """The adapters that workers were sent, and the trainer's probes by them, by name."""

    adapters: Mapping[str, SentAdapter]
    probes: Probes

    def check(self, worker: int, found: Written | Scored) -> None:
        """Raises ModelError where a worker has other weights than those that it was sent."""
        for name, sent in self.adapters.items():
            if found.digests.get(name) != sent.digest:
                raise _other_weights(worker, name, "the weights that it has are others")
        for name, probe in found.probes.items():
            own = self.probes[name]
            rounding = max(own.rounding, probe.rounding)
            if not (away := probe.distance(own)) <= rounding:  # NaN is refused too
                how = f"{away:.2g} away, and rounding explains {rounding:.2g}"
                raise _other_weights(worker, name, f"its log-probabilities of a probe are {how}")


def _other_weights(worker: int, adapter: str, how: str) -> ModelError:
    return ModelError(
        f"worker {worker} does not write by the adapter `{adapter}` that it was sent: {how}",
        "see that all machines have the same versions of gamedsl, torch and the model",
    )


class Writer:
    """The part of a worker that knows no Ray: a policy, and the session that it writes."""

    def __init__(self, open_policy: Callable[[], Policy]) -> None:
        self._policy = cast("Writing", open_policy())
        self._digests: dict[str, str] = {}
        """The digests of the adapters that it has, by name."""
        self._written_by: dict[str, str] = {}
        """Those that the session began with."""
        self._session: Session | None = None
        self._of = -1
        self._closed: set[int] = set()
        """The sessions that made room for others, or for other weights."""
        self._numbers: list[int] = []

    def write(
        self, session: int, adapters: Mapping[str, SentAdapter],
        requests: Sequence[tuple[int, Request]],
    ) -> Written:  # fmt: skip
        """Takes requests, by number, and writes until a reply has ended, `STEPS` steps at most.
        Raises ModelError where another session, or other weights, have closed this one: what it
        owes is lost then, and an empty result would have it asked for again for ever."""
        if session in self._closed:
            raise _closed_by_another()
        probes = self._take(adapters)
        if session in self._closed:
            raise _closed_by_another()
        if session != self._of or self._session is None:
            self._close()
            self._session, self._of, self._numbers = self._policy.session(), session, []
            self._written_by = dict(self._digests)
        if requests:
            self._numbers += [number for number, _ in requests]
            self._session.ask([request for _, request in requests])
        ended: list[tuple[int, Generated]] = []
        for _ in range(STEPS):
            if ended or not self._session.under_way:
                break
            ended += [(self._numbers[at], reply) for at, reply in self._session.step()]
        return Written(ended, self._written_by, probes)

    def score(self, adapters: Mapping[str, SentAdapter], queries: Sequence[Query]) -> Scored:
        """Scores options by adapters."""
        probes = self._take(adapters)
        return Scored(self._policy.log_probs(queries), dict(self._digests), probes)

    def _take(self, adapters: Mapping[str, SentAdapter]) -> Probes:
        """Loads the adapters that it has not, or has with other weights; returns its probes by
        them."""
        new = {n: one for n, one in adapters.items() if self._digests.get(n) != one.digest}
        if not new:
            return {}
        self._close()
        for name, one in new.items():
            if one.like is not None and name not in self._digests:
                self._policy.add_guest(name, one.like)
            self._policy.load_adapter_state(name, one.weights())
            self._digests[name] = digest_of(self._policy.adapter_state(name))
        self._policy.forget()
        return probe(self._policy, new)

    def _close(self) -> None:
        """Ends the session that is there, if one is."""
        if self._session is not None:
            self._session.close()
            self._closed.add(self._of)
        self._session, self._of = None, -1


def _closed_by_another() -> ModelError:
    return ModelError(
        "a worker closed a session that still owed replies, since another one or other weights came"
        " between",
        "end a session before the next one begins in the same thread",
    )


def digest_of(state: _State) -> str:
    """Returns the sha256 of an adapter's tensors: their names, shapes, formats and bytes."""
    import torch

    found = hashlib.sha256()
    for name, tensor in sorted(state.items()):
        found.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}\0".encode())
        found.update(tensor.contiguous().flatten().view(torch.uint8).numpy().data)
    return found.hexdigest()


def probe(policy: Policy, adapters: Iterable[str]) -> dict[str, Probe]:
    """Returns the log-probabilities of the probe's labels by adapters of a policy."""
    names = list(adapters)
    scores = policy.log_probs([Query(one, _LABELS, n) for n in names for one in _PROMPTS])
    found = {}
    for at, name in enumerate(names):
        mine = scores[at * len(_PROMPTS) : (at + 1) * len(_PROMPTS)]
        numbers = tuple(number for score in mine for number in score.tolist())
        found[name] = Probe(numbers, _rounding(policy, name))
    return found


def _rounding(policy: Policy, adapter: str) -> float:
    """Returns how far the probes of two processes may be apart by the same weights."""
    from gamedsl.policies.chunk_scoring import ChunkedPolicy
    from gamedsl.policies.multi_model import MultiModelPolicy

    model = bare(policy)
    if isinstance(model, MultiModelPolicy):
        model = bare(model.of(adapter))
    if isinstance(model, ChunkedPolicy) and model.size.dtype.itemsize < 4:
        return _ROUNDED
    return _EXACT


class RayPolicy(WritingHandedOn):
    """A `Policy` whose replies workers write; all else is done by `own`, here."""

    def __init__(self, own: Policy, workers: Workers) -> None:
        super().__init__(own)
        self.workers = workers
        self._guests: dict[str, str] = {}
        """The adapters whose shapes guests have, by their names."""
        self._current: dict[str, int] = {}
        """How often the weights were written to that workers were sent, by adapter."""
        self._sent = Sent({}, {})
        self._turns = Turns()

    def add_guest(self, name: str, like: str) -> None:
        super().add_guest(name, like)
        self._guests[name] = like

    def generate(self, requests: Sequence[Request]) -> list[Generated]:
        return all_served(self.serve, requests)

    def serve(self, requests: Sequence[Request], then: Then) -> None:
        served(self.session(), requests, then)

    def session(self) -> Session:
        """Begins to take requests by the policy as it is now, once no other thread has a session
        under way."""
        return _Session(self.workers, self._turns, self._newest)

    def _newest(self) -> Sent:
        """Returns the adapters as they are now, and has workers take those that changed."""
        now = {
            name: sum(tensor._version for tensor in self.own.parameters(name))
            for name in (*self.own.adapters, *self._guests)
        }
        changed = [name for name, writes in now.items() if self._current.get(name) != writes]
        if changed:
            weights = {name: self.own.adapter_state(name) for name in changed}
            self._send(weights, probe(self.own, changed))
            self._current = now
        return self._sent

    def at(self, weights: Mapping[str, _State], probes: Probes) -> Writing:
        """Returns the policy by other adapters than it has here: workers write and score by them,
        and nothing here does. It is asked until the next one is. Another thread may ask this policy
        meanwhile: they take turns. probes: what `probe` says of these adapters."""
        with self._turns:
            self._current = {}
            self._send(weights, probes)
            return _Remote(self.own, self.workers, self._turns, self._sent)

    def _send(self, weights: Mapping[str, _State], probes: Probes) -> None:
        """Has workers take adapters before they next write or score."""
        adapters = {
            name: SentAdapter(digest_of(state), self.workers.keep(state), self._guests.get(name))
            for name, state in weights.items()
        }
        self._sent = Sent({**self._sent.adapters, **adapters}, {**self._sent.probes, **probes})


class _Remote(WritingHandedOn):
    """A policy that workers write and score for, by adapters that they were sent."""

    def __init__(self, own: Policy, workers: Workers, turns: Turns, sent: Sent) -> None:
        super().__init__(own)
        self._workers, self._turns, self._sent = workers, turns, sent

    def generate(self, requests: Sequence[Request]) -> list[Generated]:
        return all_served(self.serve, requests)

    def serve(self, requests: Sequence[Request], then: Then) -> None:
        served(self.session(), requests, then)

    def session(self) -> Session:
        return _Session(self._workers, self._turns, lambda: self._sent)

    def log_probs(self, queries: Sequence[Query]) -> list[torch.Tensor]:
        """Has each worker score a part. What a lost worker had is scored again. Raises ModelError
        where workers keep ending."""
        if not queries:
            return []
        with self._turns:
            return self._shared_out(queries)

    def _shared_out(self, queries: Sequence[Query]) -> list[torch.Tensor]:
        many = min(len(self._workers.started()), len(queries))
        bounds = [len(queries) * at // many for at in range(many + 1)]
        parts = {
            part: (self._sent.adapters, list(queries[bounds[part] : bounds[part + 1]]))
            for part in range(many)
        }
        queue = WorkQueue[Scored](self._workers, "score", parts, self._sent.check)
        return [score for part in parts for score in queue.result(part).scores]


class Opening:
    """Opens a policy as `factory.open_policy` does, in the process of a worker."""

    def __init__(self, models: Mapping[str, str], options: PolicyOptions) -> None:
        self._models = dict(models)
        self._options = replace(options, group=None, shards=False)

    def __call__(self) -> Policy:
        import torch

        from gamedsl.policies.factory import open_policy

        torch.set_num_threads(1)
        return open_policy(self._models, self._options, join_tokenizers=_first)


def _first(tokenizers: Any) -> Any:
    """A worker's policy is only asked for the tokenizers of its adapters."""
    return next(iter(tokenizers))


class _Session:
    """A session of which workers write. Other threads wait for their turn until it is closed."""

    def __init__(self, workers: Workers, turns: Turns, newest: Callable[[], Sent]) -> None:
        """newest: returns what workers were sent, once it is this session's turn."""
        self._workers = workers
        with ExitStack() as turn:
            turn.enter_context(turns)
            self._sent = newest()
            self._turn = turn.pop_all()
        self._number = next(_SESSIONS)
        self._placement = Placement()
        self._open: dict[int, tuple[Request, int]] = {}
        """Requests without a reply, and their workers, by number."""
        self._new: dict[int, list[tuple[int, Request]]] = {}
        """Requests that a worker has not been sent yet, by worker."""
        self._asked: dict[int, Any] = {}
        """What workers are doing."""
        self._births: dict[int, int] = {}
        """The births of workers that have requests of this session."""
        self._count = 0
        self._losses = Counter[int]()
        """The workers that ended over a request."""

    @property
    def under_way(self) -> bool:
        return bool(self._open)

    def ask(self, requests: Sequence[Request]) -> None:
        self._place(list(enumerate(requests, self._count)))
        self._count += len(requests)

    def step(self) -> list[tuple[int, Generated]]:
        """Sends what is new to workers who wait, and waits until one gives something back."""
        for worker in sorted(self._owing() - self._asked.keys()):
            birth = self._workers.births[worker]
            if self._births.get(worker, birth) != birth:  # it was lost while it scored options
                self._lose(worker)
        for worker in sorted(self._owing() - self._asked.keys()):
            self._births[worker] = self._workers.births[worker]
            requests = self._new.pop(worker, [])
            given = self._number, self._sent.adapters, requests
            self._asked[worker] = self._workers.ask(worker, "write", *given)
        found = self._workers.wait(self._asked)
        ended: list[tuple[int, Generated]] = []
        for worker, written in found.items():
            del self._asked[worker]
            if written is None:
                self._lose(worker)
                continue
            self._sent.check(worker, written)
            ended += [pair for pair in written.replies if pair[0] in self._open]
        for number, _ in ended:
            del self._open[number]
        return sorted(ended, key=lambda pair: pair[0])

    def close(self) -> None:
        """Forgets what is under way, and ends the turn; workers drop it with the next session."""
        self._open, self._asked = {}, {}
        self._turn.close()

    def _owing(self) -> set[int]:
        """Returns the workers that owe a reply."""
        return {worker for _, worker in self._open.values()}

    def _place(
        self, numbered: Sequence[tuple[int, Request]], absent: int | None = None
    ) -> None:  # fmt: skip
        """Gives requests, by number, to workers that have started; `absent` gets none if there is
        another."""
        loads: dict[int, int] = {}
        for _, worker in self._open.values():
            loads[worker] = loads.get(worker, 0) + 1
        there = self._workers.started()
        others = [worker for worker in there if worker != absent] or there
        places = self._placement.of([request for _, request in numbered], loads, others)
        for (number, request), worker in zip(numbered, places, strict=True):
            self._open[number] = request, worker
            self._new.setdefault(worker, []).append((number, request))

    def _lose(self, worker: int) -> None:
        """Asks others for what a worker owed that has ended; it is started again meanwhile. Raises
        ModelError where workers keep ending."""
        owed = [(n, request) for n, (request, at) in self._open.items() if at == worker]
        for number, _ in owed:
            del self._open[number]
            self._losses[number] += 1
            require_few(self._losses[number])
        self._new.pop(worker, None)
        self._births.pop(worker, None)
        self._place(owed, absent=worker)
