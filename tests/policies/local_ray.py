"""A Ray in this process: what is asked of an actor is done when its result is taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any


class RayError(Exception):
    pass


class RayTaskError(RayError):
    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class RayActorError(RayError):
    pass


class ObjectLostError(RayError):
    pass


class OwnerDiedError(ObjectLostError):
    pass


class NodeDiedError(RayError):
    pass


class WorkerCrashedError(RayError):
    pass


class OutOfMemoryError(RayError):
    pass


class LostInTask(RayTaskError, ObjectLostError):
    """What Ray raises where a task itself raised ObjectLostError."""


class LocalRay:
    """A cluster of such resources. `fails`: errors by the number of the result that is taken."""

    exceptions = SimpleNamespace(
        RayTaskError=RayTaskError, RayActorError=RayActorError, ObjectLostError=ObjectLostError,
        NodeDiedError=NodeDiedError, WorkerCrashedError=WorkerCrashedError,
        OutOfMemoryError=OutOfMemoryError,
    )  # fmt: skip

    def __init__(
        self, resources: Mapping[str, float], fails: Mapping[int, Exception] | None = None
    ) -> None:  # fmt: skip
        self._resources, self._fails = dict(resources), dict(fails or {})
        self.taken = 0
        self.made: list[dict[str, Any]] = []
        """The options of each actor that was made."""
        self.killed: list[Any] = []

    util = SimpleNamespace(
        scheduling_strategies=SimpleNamespace(
            NodeAffinitySchedulingStrategy=lambda node, soft: node
        )
    )

    def get_runtime_context(self) -> Any:
        return SimpleNamespace(get_node_id=lambda: "here")

    def nodes(self) -> list[dict[str, Any]]:
        """The trainer's machine has all."""
        return [{"NodeID": "here", "Resources": self._resources}]

    def cluster_resources(self) -> dict[str, float]:
        return self._resources

    def remote(self, **options: Any) -> Callable[[type], Any]:
        def made(kind: type, *given: Any) -> _Actor:
            self.made.append(options)
            return _Actor(kind(*given))

        return lambda kind: SimpleNamespace(remote=partial(made, kind))

    def wait(
        self, references: Sequence[Any], *, num_returns: int, timeout: float
    ) -> tuple[list[Any], list[Any]]:
        return list(references), []

    def get(self, reference: Callable[[], Any]) -> Any:
        self.taken += 1
        if self.taken in self._fails:
            raise self._fails[self.taken]
        return reference()

    def kill(self, actor: Any) -> None:
        self.killed.append(actor)


class _Actor:
    def __init__(self, one: Any) -> None:
        self._one = one

    @property
    def __ray_ready__(self) -> Any:
        return SimpleNamespace(remote=lambda: lambda: True)

    def __getattr__(self, name: str) -> Any:
        def remote(*given: Any) -> Callable[[], Any]:
            return lambda: getattr(self._one, name)(*given)

        return SimpleNamespace(remote=remote)
