"""Which of several writers writes a reply: one with little to do that knows the conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gamedsl.policies.generation import Request, Turn

_Beginning = tuple[str, tuple[Turn, ...]]


class Placement:
    """Places requests with writers, who are numbered from 0."""

    def __init__(self) -> None:
        self._holder: dict[_Beginning, int] = {}
        """The writer that has read the beginning of a conversation, by the adapter that did."""

    def of(
        self, requests: Sequence[Request], loads: Mapping[int, int], writers: Sequence[int]
    ) -> list[int]:
        """Returns the writer of each request, one of `writers`. `loads` are the replies that
        writers owe. No writer gets more than an even part of all, rounded up."""
        owed = {writer: loads.get(writer, 0) for writer in writers}
        fair = -(-(sum(owed.values()) + len(requests)) // len(writers))
        found = [0] * len(requests)
        for at in sorted(range(len(requests)), key=lambda at: _kind(requests[at])):
            writer = self._begun(requests[at])
            if writer is None or owed.get(writer, fair) >= fair:
                writer = min(writers, key=lambda one: (owed[one] >= fair, one))
            found[at] = writer
            owed[writer] += 1
        for request, writer in zip(requests, found, strict=True):
            self._holder[request.adapter, request.messages] = writer
        return found

    def _begun(self, request: Request) -> int | None:
        """Returns the writer that has read the longest beginning of a request's conversation."""
        for end in range(len(request.messages), 0, -1):
            writer = self._holder.get((request.adapter, request.messages[:end]))
            if writer is not None:
                return writer
        return None


def _kind(request: Request) -> tuple[str, tuple[str, ...], int]:
    """Requests that begin alike lie together."""
    return request.adapter, tuple(map(repr, request.messages)), request.seed
