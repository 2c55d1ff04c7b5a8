"""An executor whose threads never keep the process, or the end of a `with`, waiting.

The threads of `concurrent.futures.ThreadPoolExecutor` are joined when the process ends, so that one
call that hangs outlasts Ctrl-C. These are daemons.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from concurrent.futures import wait as wait_for
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
_Work = Callable[[], None]


POLL = 0.1
"""Seconds between looks at what is waited for."""


def result_of(future: Future[T]) -> T:
    """Returns the result of a call that may take long. The main thread looks up now and then: a
    signal that another thread received does not wake it where it waits without end."""
    while not future.done():
        wait_for([future], POLL)
    return future.result()


class DaemonExecutor(Executor):
    """Runs calls in at most so many daemon threads, which are started as calls come.

    As a context it waits for all calls at its end, but after an exception for none: what has not
    begun is then cancelled, and what has begun is left alone.
    """

    def __init__(self, threads: int) -> None:
        self._most, self._started = max(1, threads), 0
        self._work: SimpleQueue[_Work | None] = SimpleQueue()
        self._futures: list[Future[Any]] = []

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        self._futures = [one for one in self._futures if not one.done()]
        self._futures.append(future)
        self._work.put(work)
        if self._started < self._most:
            self._started += 1
            threading.Thread(target=self._run, daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends the threads after the calls that were submitted; with `cancel_futures`, after those
        that have begun. No call may be submitted afterwards."""
        if cancel_futures:
            for future in self._futures:
                future.cancel()
            self._notify()
        for _ in range(self._started):
            self._work.put(None)
        while wait and wait_for(self._futures, POLL).not_done:
            pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self.shutdown(wait=kind is None, cancel_futures=kind is not None)

    def _notify(self) -> None:
        """Takes what waits, all of it cancelled, out of the queue, and tells those who wait for
        it."""
        try:
            while True:
                work = self._work.get_nowait()
                if work is not None:
                    work()
        except Empty:
            return

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            work()
