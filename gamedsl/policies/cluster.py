"""Workers of a Ray cluster: they are started, asked, and started again where they end.

Nothing here knows what workers do, and nothing loads torch. Ray places the workers and carries what
they are sent. A worker that ends is replaced, and who asked it hears that it is lost.
"""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar, cast

from gamedsl.errors import UserError
from gamedsl.extras import install_command
from gamedsl.policies.errors import ModelError

T = TypeVar("T")

LOSSES = 5
"""Workers that may end over the same piece of work, or one after the other as they start."""
LONGEST_START = 600.0
"""Seconds that the first of some workers may take to start."""
LONGEST_WAIT = 60.0
"""Seconds that all wait for the others once one has started."""
POLL = 1.0
"""Seconds between looks at what is waited for, so that a signal is heard."""


def require_few(losses: int, when: str = "over the same work") -> None:
    """Raises ModelError where workers keep ending at the same."""
    if losses > LOSSES:
        raise ModelError(
            f"workers ended {losses} times {when}, without a result",
            "see Ray's logs; a model may need more memory than a worker has",
        )


@dataclass(frozen=True)
class InFolder:
    """Calls a function in a process of a cluster, which may have started elsewhere: relative paths
    mean there what they mean here. Where a machine lacks the folder, the process stays as it is."""

    function: Callable[..., Any]
    folder: str

    @classmethod
    def this(cls, function: Callable[..., Any]) -> InFolder:
        """Returns the function, to be called in the folder that this process works in."""
        return cls(function, str(Path.cwd()))

    def __call__(self, *given: Any) -> Any:
        with suppress(OSError):
            os.chdir(self.folder)
        return self.function(*given)


def _losses(ray: Any) -> tuple[type[Exception], ...]:
    """Returns the errors of Ray that say that a process ended, or that its machine did and a result
    with it: a large one stays in the memory of the machine that made it until it is taken."""
    errors = ray.exceptions
    return (
        errors.RayActorError, errors.ObjectLostError, errors.NodeDiedError,
        errors.WorkerCrashedError, errors.OutOfMemoryError,
    )  # fmt: skip


class _Keeper:
    """An actor that does nothing."""


class _Asked(NamedTuple):
    """A call of a worker: Ray's reference to its result, and how often the worker had been started
    when it was asked."""

    reference: Any
    birth: int


class Workers:
    """Workers of one kind on a Ray cluster. Each does what it is asked in the order in which it
    is."""

    def __init__(
        self, opening: Callable[[], Any], kind: type, *, address: str | None, count: int | None,
        gpus: bool = True, uses_gpu: bool = False,
    ) -> None:  # fmt: skip
        """opening: opens in a worker's process what its `kind` is made of. address: of a cluster
        that is there, `ray://HOST:PORT`; None starts one here. count: of workers; None is one for
        each GPU of the cluster, or for each processor core but one. gpus: whether each has a GPU,
        where there are any. uses_gpu: whether this process computes on a GPU too, of which Ray
        knows nothing: one GPU is then left to it, unless it is the only one, or `count` says
        otherwise. Raises ModelError."""
        self._ray = ray = connected(address)
        resources: dict[str, float] = ray.cluster_resources()
        devices, cores = int(resources.get("GPU", 0)) if gpus else 0, int(resources.get("CPU", 1))
        own = not devices or uses_gpu  # what is left to this process: a core, or a GPU
        self.count = count or max(1, (devices or cores) - own)
        self._require_room(devices or cores, "GPU" if devices else "processor core")
        self._shared: list[Any] = []
        """Actors that others call too, and the one that keeps a GPU free."""
        if devices > self.count and uses_gpu and address is None:
            self._keep_gpu_free()
        actor = ray.remote(num_cpus=1, num_gpus=1 if devices else 0)(kind)
        here = InFolder.this(opening)
        self._made: Callable[[], Any] = lambda: actor.remote(here)
        self._began, self._patience = time.monotonic(), math.inf
        self._failed_starts = 0
        self._actors: list[Any] = [None] * self.count
        self.births = [0] * self.count
        """How often each worker was started."""
        self._starting: dict[int, _Asked] = {}
        """What says that a worker has started, by worker, where that is not known yet."""
        for worker in range(self.count):
            self._make(worker)
        self.lost, self.closed = 0, False
        """Workers that ended, and were started again."""

    def _require_room(self, room: int, unit: str) -> None:
        """Raises ModelError where the cluster can never hold so many workers."""
        if self.count > room:
            raise ModelError(
                f"{self.count} workers need a {unit} each, and the cluster has {room}",
                f"ask for {room}, or for as many as it has room for: leave `workers` out",
            )

    def _keep_gpu_free(self) -> None:
        """Has an actor that does nothing take the first GPU of this machine, if it has one that is
        free: Ray would give it to a worker, and this process computes on it."""
        here = self._ray.get_runtime_context().get_node_id()
        there = (one for one in self._ray.nodes() if one["NodeID"] == here)
        if not any(one["Resources"].get("GPU") for one in there):
            return
        strategy = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        options = {"num_cpus": 0, "num_gpus": 1, "scheduling_strategy": strategy(here, soft=False)}
        keeper = self._ray.remote(**options)(_Keeper).remote()
        ready = keeper.__ray_ready__.remote()
        if self._ray.wait([ready], num_returns=1, timeout=LONGEST_WAIT)[0]:
            self._shared.append(keeper)
        else:  # others have them all, and it is to take none later
            self._ray.kill(keeper)

    def _make(self, worker: int) -> None:
        """Starts a worker, or another one in its place: calls of an actor that Ray restarts would
        fail until it is there."""
        self._actors[worker] = self._made()
        self.births[worker] += 1
        self._starting[worker] = self._asked(worker, self._actors[worker].__ray_ready__.remote())

    def started(self) -> list[int]:
        """Returns the workers that can be asked. Waits for the first that starts; the others then
        have as long again, and a minute at most. Raises ModelError."""
        since = time.monotonic()
        while True:
            there = [worker for worker in range(self.count) if worker not in self._starting]
            now = time.monotonic()
            if there and self._patience == math.inf:
                self._patience = now + min(now - self._began, LONGEST_WAIT)
            if there and (now >= self._patience or not self._starting):
                return there
            if now - since > LONGEST_START:
                free = self._ray.available_resources()
                raise ModelError(
                    f"no worker has started in {now - since:.0f} seconds; free in the cluster are"
                    f" {free.get('CPU', 0):g} processor cores and {free.get('GPU', 0):g} GPUs",
                    "end what else runs there, or see Ray's logs",
                )
            self._look(list(self._starting.values()))

    def keep(self, what: T) -> Callable[[], T]:
        """Puts something where workers take it from; returns what gives it there."""
        return _Stored[T](self._ray.put(what))

    def share(self, kind: type[T]) -> T:
        """Makes an object in a process of its own; returns what passes calls of its methods on to
        it, from here and from workers that are given it."""
        actor = self._ray.remote(num_cpus=0)(kind).remote()
        self._shared.append(actor)
        return cast("T", _Shared(actor))

    def ask(self, worker: int, method: str, *given: Any) -> Any:
        """Calls a method of a worker; returns what `wait` waits for."""
        return self._asked(worker, getattr(self._actors[worker], method).remote(*given))

    def _asked(self, worker: int, reference: Any) -> _Asked:
        return _Asked(reference, self.births[worker])

    def wait(self, asked: Mapping[int, Any]) -> dict[int, Any]:
        """Returns what workers gave back, by worker, once one has; None of a worker that ended.
        Raises what a worker raises."""
        ready = self._look([*asked.values(), *self._starting.values()])
        found: dict[int, Any] = {}
        for worker, one in asked.items():
            if one.reference in ready:
                found[worker] = self._result(worker, one)
        return found

    def _look(self, asked: Sequence[_Asked]) -> list[Any]:
        """Waits a while for one of several calls; returns the references of those that ended. Notes
        the workers that have started, and starts others for those that could not."""
        references = [one.reference for one in asked]
        ready, _ = self._ray.wait(references, num_returns=1, timeout=POLL)
        if ready:
            ready, _ = self._ray.wait(references, num_returns=len(references), timeout=0)
        for worker, one in list(self._starting.items()):
            if one.reference in ready:
                del self._starting[worker]
                if self._result(worker, one) is None:
                    self._failed_starts += 1
                    require_few(self._failed_starts, "as they started")
                else:
                    self._failed_starts = 0
        return list(ready)

    def _result(self, worker: int, asked: _Asked) -> Any:
        """Returns what a worker gave back; None where it ended, or its machine did with the result.
        Another one then starts, if none has since."""
        try:
            return self._ray.get(asked.reference)
        except self._ray.exceptions.RayTaskError as error:  # first: it may be of its cause's type
            cause = error.cause
            if isinstance(cause, UserError):
                raise ModelError(cause.fact, cause.fix) from error
            raise ModelError(f"worker {worker} failed: {cause!r}", "see Ray's log of it") from error
        except _losses(self._ray) as error:
            if self.closed:
                raise ModelError("workers were closed", "start the run again") from error
            if getattr(error, "actor_init_failed", False):  # any other would fail in the same way
                reason = str(error).strip().splitlines()[-1]
                raise ModelError(
                    f"a worker cannot start: {reason}", "see Ray's log of it"
                ) from error
            if asked.birth == self.births[worker]:
                with suppress(Exception):  # it may be gone; else it would keep its room
                    self._ray.kill(self._actors[worker])
                self._make(worker)
                self.lost += 1
            return None

    def close(self) -> None:
        """Ends the workers; what was asked of them fails."""
        self.closed = True
        for actor in (*self._actors, *self._shared):
            self._ray.kill(actor)
        self._actors, self._shared = [], []


class _Stored(Generic[T]):
    """Something in Ray's object store. A worker that needs it takes it out; what is given with a
    call itself is read again with each."""

    def __init__(self, reference: Any) -> None:
        self._reference = reference

    def __call__(self) -> T:
        import ray

        found: T = ray.get(self._reference)
        return found


class _Shared:
    """Passes calls of methods on to an object of another process, and waits for what they return.
    Raises ModelError where that process ended."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):  # what pickle and copy look for
            raise AttributeError(name)

        def called(*given: Any) -> Any:
            import ray

            try:
                return ray.get(getattr(self._actor, name).remote(*given))
            except ray.exceptions.RayTaskError:
                raise
            except _losses(ray) as error:
                raise ModelError(
                    "a process ended that held what workers share", "start again"
                ) from error

        return called


StartWorkers = Callable[[Callable[[], Any], type], Workers]
"""Starts workers of a kind, each made by what the first argument opens in its process."""


class WorkQueue(Generic[T]):
    """Has workers do pieces of work, each once, and gives the results in any order. What a lost
    worker had is done by another one."""

    def __init__(
        self, workers: Workers, method: str, given: Mapping[int, tuple[Any, ...]],
        check: Callable[[int, T], None] = lambda worker, result: None,
    ) -> None:  # fmt: skip
        """given: what the method of a worker is given, by the number of the piece; lower numbers
        are asked for first. check: raises for a result that a worker must not have."""
        self._workers, self._method, self._given, self._check = workers, method, given, check
        self._waiting = sorted(given, reverse=True)
        self._asked: dict[int, Any] = {}
        self._number: dict[int, int] = {}
        """The pieces that workers do, by worker."""
        self._found: dict[int, T] = {}
        self._losses = Counter[int]()
        """The workers that ended over a piece."""

    def result(self, number: int) -> T:
        """Waits for a result, which is given once. Raises ModelError where workers keep ending, and
        what a worker or `check` raises."""
        while number not in self._found:
            self._ask()
            for worker, found in self._workers.wait(self._asked).items():
                del self._asked[worker]
                if found is None:
                    piece = self._number[worker]
                    self._losses[piece] += 1
                    require_few(self._losses[piece])
                    self._waiting.append(piece)
                else:
                    self._check(worker, found)
                    self._found[self._number[worker]] = found
        return self._found.pop(number)

    def end(self) -> None:
        """Begins no more pieces."""
        self._waiting.clear()

    def under_way(self, number: int) -> bool:
        """Whether a worker does a piece, or has done it and nobody has taken the result."""
        return number in self._found or number in (self._number[at] for at in self._asked)

    def _ask(self) -> None:
        """Gives work to all workers that have none."""
        for worker in self._workers.started():
            if worker not in self._asked and self._waiting:
                self._number[worker] = number = self._waiting.pop()
                self._asked[worker] = self._workers.ask(worker, self._method, *self._given[number])


def connected(address: str | None) -> Any:
    """Returns Ray, connected to a cluster. Raises ModelError."""
    try:
        import ray
    except ImportError as error:
        raise ModelError("Ray is not installed here", install_command("ray")) from error
    if ray.is_initialized():
        return ray
    try:
        if address is None:
            ray.init(include_dashboard=False, log_to_driver=False, configure_logging=False)
        else:
            ray.init(address, log_to_driver=False, configure_logging=False)
    except Exception as error:  # of many kinds, by where the connection fails
        both = ", with `RAY_AUTH_MODE=token` and one `RAY_AUTH_TOKEN` on both sides"
        raise ModelError(
            f"no Ray cluster answers at {address or 'this machine'}: {error}",
            f"start one with `ray start --head`{both if address else ''}, or write `ray` without an"
            " address",
        ) from error
    return ray
