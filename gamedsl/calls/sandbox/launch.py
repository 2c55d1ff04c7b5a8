"""The side outside: starts a confined program, listens to it, and ends it."""

from __future__ import annotations

import marshal
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from gamedsl.storage.system import files_have_a_limit

Way = Literal["root", "user", "landlock"]
WAYS: tuple[Way, ...] = ("root", "user", "landlock")
"""How a program is confined, the strongest first: in namespaces, as root that becomes nobody; in
namespaces, by way of a user namespace, which needs no root; without them, by Landlock alone. The
filter of system calls, the limits and the loss of all privileges come with each."""

_PACKAGE = Path(__file__).parents[2]
_START = """
import sys
package = type(sys)("gamedsl")
package.__path__ = [sys.argv.pop()]
sys.modules["gamedsl"] = package
from gamedsl.calls.sandbox.child import main
main(int(sys.argv.pop()), int(sys.argv.pop()))
"""
_LAST_WORD = 5.0
"""Seconds that the keeper has to end the program and itself."""


class SandboxError(Exception):
    """A program that could not be confined, so it did not run."""


@dataclass(frozen=True)
class Limits:
    """Resource limits of a program, in seconds and bytes."""

    seconds: float = 10.0
    """Of the clock, until it is killed."""

    cpu: int = 10
    memory: int = 256 << 20
    """All of its address space: code, heap, stack and mappings."""

    disk: int = 8 << 20
    """All of its own folder, which is in memory besides."""

    files: int = 64
    """Open at a time."""

    output: int = 64 << 10
    """On standard output and standard error together, where they are read at all."""


@dataclass(frozen=True)
class ProgramExit:
    """The end of a program: by itself, or killed because its time was up or its output too long.
    `code` is its exit code, 128 and the number of the signal that killed it, or None if it had
    to be killed from outside."""

    ended: Literal["itself", "time", "output"]
    code: int | None
    output: bytes


class Confined:
    """A program that runs confined. `finish` waits for it; leaving `confined` kills it."""

    def __init__(
        self, target: str, payload: Any, limits: Limits, way: Way, fds: Sequence[int], output: bool
    ) -> None:
        self.limits = limits
        self.deadline = time.monotonic() + limits.seconds
        plan = {
            "target": target, "payload": payload, "limits": asdict(limits), "way": way,
            "fds": tuple(fds),
        }  # fmt: skip
        report, report_fd = os.pipe()
        plan_fd = os.memfd_create("plan")
        try:
            with os.fdopen(os.dup(plan_fd), "wb") as file:
                marshal.dump(plan, file)
            os.lseek(plan_fd, 0, os.SEEK_SET)
            bytecode = ("-B",) if files_have_a_limit() else ()
            self.keeper = subprocess.Popen(
                [
                    os.path.realpath(sys.executable), *bytecode, "-P", "-s", "-S", "-c", _START,
                    str(report_fd), str(plan_fd), str(_PACKAGE),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE if output else subprocess.DEVNULL,
                stderr=subprocess.STDOUT if output else subprocess.DEVNULL,
                pass_fds=(plan_fd, report_fd, *fds),
                cwd="/",
                env={"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"},
                start_new_session=True,
                bufsize=0,
            )  # fmt: skip
        except BaseException:
            os.close(report)
            raise
        finally:
            os.close(plan_fd)
            os.close(report_fd)
        self._report = report

    def finish(self) -> ProgramExit:
        """Wait for the program's end, at most until its time is up. Raises `SandboxError` where it
        was never started."""
        output = b""
        ended: Literal["itself", "time", "output"] = "itself"
        for part in self._output():
            output += part
            if len(output) > self.limits.output:
                ended = "output"
                break
        try:
            left = 0.0 if ended == "output" else self.remaining_seconds()
            code: int | None = self.keeper.wait(left)
        except subprocess.TimeoutExpired:
            code = None
            if ended == "itself":
                ended = "time"
        self.kill()
        if ended != "time":
            self.check()
        return ProgramExit(ended, None if ended != "itself" else code, output[: self.limits.output])

    def remaining_seconds(self) -> float:
        """Seconds until the time is up."""
        return max(0.0, self.deadline - time.monotonic())

    def _output(self) -> Iterator[bytes]:
        """Yields its output until it closes it or the time is up."""
        if self.keeper.stdout is None:
            return
        poll = select.poll()
        poll.register(self.keeper.stdout, select.POLLIN)
        while poll.poll(self.remaining_seconds() * 1000):
            part = self.keeper.stdout.read(1 << 14)
            if not part:
                return
            yield part

    def check(self) -> None:
        """Wait until it is confined. Raises `SandboxError` where it could not be, so never ran, and
        `TimeoutError` where its time is up before."""
        poll = select.poll()
        poll.register(self._report, select.POLLIN)
        if not poll.poll(self.remaining_seconds() * 1000):
            raise TimeoutError
        said = os.read(self._report, 1000).decode(errors="replace")
        if said != "ok":
            raise SandboxError(said or "its interpreter did not start")

    def kill(self) -> None:
        """End it, with everything that it started, and wait until all are gone."""
        if self.keeper.stdin and not self.keeper.stdin.closed:
            self.keeper.stdin.close()
        try:
            self.keeper.wait(_LAST_WORD)
        except subprocess.TimeoutExpired:
            self.keeper.kill()
            self.keeper.wait()

    def close(self) -> None:
        self.kill()
        if self.keeper.stdout:
            self.keeper.stdout.close()
        os.close(self._report)


@contextmanager
def confined(
    target: str,
    payload: Any,
    *,
    limits: Limits,
    way: Way,
    fds: Sequence[int] = (),
    output: bool = False,
) -> Iterator[Confined]:
    """Run `main(payload, *fds)` of a module, which is imported before everything is shut, confined
    in one way. It inherits the file descriptors and nothing else. What it writes is read if
    `output`, and otherwise thrown away."""
    program = Confined(target, payload, limits, way, fds, output)
    try:
        yield program
    finally:
        program.close()


def run_script(text: str, *, way: Way, limits: Limits = Limits()) -> ProgramExit:
    """Run a Python program confined, and read what it writes."""
    target = "gamedsl.calls.sandbox.script"
    with confined(target, text, limits=limits, way=way, output=True) as program:
        return program.finish()
