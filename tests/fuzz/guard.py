"""The resource guard: cases run in a forked child, under limits of CPU time, waiting and memory.

The parent imports everything once; a child starts in milliseconds and takes a batch of cases. It
reports after each, so that the parent knows which case a child died of; a new child takes those
that are left. A failure is run again, alone, in a child of its own.

No clock on the wall decides. A child may spend so many CPU seconds; seconds of waiting count while
the parent sees that no process of the child runs or wants to run (`Watch`). A machine that stands
still for a while may charge that while to whoever ran: such a hang is no verdict, and the case is
run again.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import pickle
import re
import resource
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from gamedsl.policies.process_memory import give_back_freed_memory
from tests.fuzz import Case, Limits, Outcome

USUAL = Limits()

SLACK = 256 << 20
"""Bytes of address space beyond the limit of memory: what is mapped is more than what is used."""

LOOK = 0.25
"""Seconds between two looks of a watch."""

TRIES = 5
"""Runs of a case whose hang is in doubt, since the machine stood still."""


class Watch:
    """Measures how long a process and those that it started wait, in looks at them; and how long
    the machine stood still, in which the parent could not look either."""

    def __init__(self, process: int):
        self.process, self.waited, self.stood = process, 0.0, 0.0
        self._last = time.monotonic()

    def look(self) -> None:
        """Takes the time since the last look into account."""
        now = time.monotonic()
        passed, self._last = now - self._last, now
        self.stood += max(0.0, passed - 4 * LOOK)
        if _all_wait(self.process):
            self.waited += min(passed, LOOK)

    def doubts(self, limits: Limits) -> bool:
        """Returns whether the machine stood still for so long that a hang may be its own."""
        return self.stood > min(limits.cpu, limits.wait) / 4


def _all_wait(process: int) -> bool:
    """Returns whether no thread of a process and of its descendants runs, wants to run, or waits
    for a disk. Where the system has no `/proc`, they are taken to wait."""
    parents: dict[int, int] = {}
    try:
        numbers = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]
    except OSError:
        return True
    for number in numbers:
        with contextlib.suppress(OSError):
            parents[number] = int(_stat(Path(f"/proc/{number}/stat"))[1])
    own = {process}
    while found := {one for one, parent in parents.items() if parent in own} - own:
        own |= found
    states = set()
    for number in own:
        with contextlib.suppress(OSError):
            for thread in Path(f"/proc/{number}/task").iterdir():
                states.add(_stat(thread / "stat")[0])
    return states.isdisjoint({"R", "D"})


def _stat(path: Path) -> list[str]:
    """Returns the fields of a process's or thread's status after its name: state, parent, …"""
    return path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()


def run_guarded(cases: Sequence[Case]) -> list[Outcome]:
    """Returns the outcome of each case, parallel to `cases`."""
    outcomes: list[Outcome] = []
    while len(outcomes) < len(cases):
        outcomes += _run_batch(cases[len(outcomes) :])
    return [
        _confirmed(case, outcome) if not outcome.clean and len(cases) > 1 else outcome
        for case, outcome in zip(cases, outcomes, strict=True)
    ]


def _confirmed(case: Case, outcome: Outcome) -> Outcome:
    """Runs a failure again, alone."""
    [alone] = _run_batch([case])
    if not alone.clean:
        return alone
    return replace(outcome, detail=f"only after other inputs: {outcome.detail}")


def _run_batch(cases: Sequence[Case]) -> list[Outcome]:
    """Returns the outcomes up to the first case that a child died of, at least one. A case whose
    hang is in doubt is left for the next batch; it is run alone until there is a verdict."""
    for _ in range(TRIES - 1):
        outcomes, doubtful = _run_child(cases)
        if not doubtful:
            return outcomes
        if outcomes[:-1]:
            return outcomes[:-1]
        cases = cases[:1]
    return _run_child(cases)[0]


def _run_child(cases: Sequence[Case]) -> tuple[list[Outcome], bool]:
    """Returns the outcomes up to the first case that a child died of, and whether the last one is
    a hang that may be the machine's own."""
    scratch = tempfile.mkdtemp(prefix="fuzz-")
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _work(cases, writing, scratch)
    os.close(writing)
    try:
        return _collect(cases, child, reading, scratch)
    finally:
        os.close(reading)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        shutil.rmtree(scratch, ignore_errors=True)


def _collect(
    cases: Sequence[Case], child: int, reading: int, scratch: str
) -> tuple[list[Outcome], bool]:
    outcomes: list[Outcome] = []
    for case in cases:
        watch = Watch(child)
        message = _receive(reading, watch, case.limits)
        if message is None:
            late = watch.waited >= case.limits.wait
            if late:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child, signal.SIGKILL)
            status = os.waitpid(child, 0)[1]
            outcomes.append(_death(status, late, scratch))
            return outcomes, outcomes[-1].kind == "hang" and watch.doubts(case.limits)
        outcomes.append(message)
    os.waitpid(child, 0)
    return outcomes, False


def _receive(reading: int, watch: Watch, limits: Limits) -> Outcome | None:
    """Returns the next outcome; None where the child is gone, or waits for longer than allowed."""
    data = b""
    wanted = 4
    while len(data) < wanted:
        ready, _, _ = select.select([reading], [], [], LOOK)
        watch.look()
        if not ready and watch.waited < limits.wait:
            continue
        part = os.read(reading, min(1 << 16, wanted - len(data))) if ready else b""
        if not part:
            return None
        data += part
        if wanted == 4 == len(data):
            wanted += struct.unpack("!I", data)[0]
    outcome = pickle.loads(data[4:])
    assert isinstance(outcome, Outcome)
    return outcome


def _death(status: int, late: bool, scratch: str) -> Outcome:
    stack = ""
    with contextlib.suppress(FileNotFoundError):
        stack = Path(scratch, "stack.txt").read_text("utf-8", "replace")
    frames = re.findall(r'File "([^"]+)", line (\d+) in (\S+)', stack)
    ours = [(path, name) for path, _, name in frames if "gamedsl" in path]
    place = f"{Path(ours[0][0]).name}:{ours[0][1]}" if ours else ""
    if late:
        return Outcome("hang", "more seconds of waiting than allowed", place)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number in (signal.SIGPROF, signal.SIGXCPU):
            return Outcome("hang", f"more CPU seconds than allowed\n{stack}", place)
        return Outcome("crash", f"died of {signal.Signals(number).name}\n{stack}", place)
    return Outcome("crash", f"left with {os.waitstatus_to_exitcode(status)}", place)


def _work(cases: Sequence[Case], writing: int, scratch: str) -> NoReturn:
    """Runs cases in the child, and never returns."""
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    stack = os.open(Path(scratch, "stack.txt"), os.O_WRONLY | os.O_CREAT, 0o600)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    faulthandler.enable(stack)
    faulthandler.register(signal.SIGPROF, stack, all_threads=False, chain=True)
    for number, case in enumerate(cases):
        folder = Path(scratch, str(number))
        folder.mkdir()
        tempfile.tempdir = os.environ["TMPDIR"] = str(folder)
        os.chdir(folder)
        outcome = _measured(case)
        data = pickle.dumps(outcome)
        os.write(writing, struct.pack("!I", len(data)))
        while data:
            data = data[os.write(writing, data) :]
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def _measured(case: Case) -> Outcome:
    """Runs one case, in the child."""
    limits = case.limits
    give_back_freed_memory()  # what the C library keeps would be used again, and not be counted
    before = _memory("VmRSS")
    _forget_peak()
    space = _memory("VmSize") + limits.memory + SLACK
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (space, hard))
    signal.setitimer(signal.ITIMER_PROF, limits.cpu)
    began = _cpu_seconds()
    try:
        outcome = case.run()
    except BaseException as error:
        outcome = outcome_of(error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    used = _memory("VmHWM") - before
    if outcome.clean and used > limits.memory:
        outcome = Outcome("memory", f"{used >> 20} MB")
    return replace(outcome, cpu=_cpu_seconds() - began, memory=used)


def _cpu_seconds() -> float:
    """Returns the CPU time of this process and of its children that have ended."""
    parts = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(part.ru_utime + part.ru_stime for part in parts)


def outcome_of(error: BaseException) -> Outcome:
    """Returns the outcome of an input whose oracle let an exception out."""
    if isinstance(error, MemoryError):
        return Outcome("memory", "MemoryError", _place(error))
    text = "".join(traceback.format_exception(error))
    return Outcome("traceback", text[-6000:], _place(error))


def _place(error: BaseException) -> str:
    """Returns the exception's type and the innermost function of the package that it left."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if "gamedsl" in f.filename and "tests" not in f.filename] or frames
    where = f"{Path(ours[-1].filename).name}:{ours[-1].name}" if ours else ""
    return f"{type(error).__name__} in {where}"


def _forget_peak() -> None:
    """Lets the kernel measure the peak of memory anew."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _memory(field: str) -> int:
    """Returns a field of the process's status, in bytes; 0 where there is no such file."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    found = re.search(rf"^{field}:\s+(\d+) kB", status, re.MULTILINE)
    return int(found[1]) << 10 if found else 0


@dataclass(frozen=True)
class Finished:
    """A program that ended: `code` is negative where a signal ended it; `late` says that it was
    stopped for its time; `memory` is its peak in bytes, 0 where this process had more."""

    code: int
    out: bytes
    err: bytes
    late: bool
    memory: int

    def failure(self, limits: Limits = USUAL) -> Outcome | None:
        """Returns the failure that any program may show: a hang, memory, a crash, a traceback."""
        if self.late or self.code in (-signal.SIGXCPU, -signal.SIGPROF):
            return Outcome("hang", _end(self.err))
        if self.memory > limits.memory or b"\nMemoryError" in self.err:
            return Outcome("memory", f"{self.memory >> 20} MB\n{_end(self.err)}")
        if b"Traceback (most recent call last)" in self.err:
            names = re.findall(rb'File "[^"]*?(\w+\.py)", line \d+, in (\S+)', self.err)
            place = b":".join(names[-1]).decode() if names else ""
            return Outcome("traceback", _end(self.err), place)
        if self.code < 0:
            return Outcome("crash", f"died of signal {-self.code}\n{_end(self.err)}")
        return None


def run_program(
    arguments: Sequence[str | os.PathLike[str]], *, limits: Limits = USUAL,
    env: Mapping[str, str] | None = None, cwd: Path | None = None, given: bytes = b"",
    stdout: Any = None,
) -> Finished:  # fmt: skip
    """Runs a program to its end under limits, `given` on its standard input. Its output goes to
    files, so that much of it fills no memory here; `stdout` is where it goes instead."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        program = subprocess.Popen(
            arguments, stdin=subprocess.PIPE, stdout=out if stdout is None else stdout, stderr=err,
            env=env, cwd=cwd, start_new_session=True, preexec_fn=lambda: _limit(limits),
        )  # fmt: skip
        assert program.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            program.stdin.write(given)
        with contextlib.suppress(BrokenPipeError):
            program.stdin.close()
        late, code, memory = _wait(program.pid, limits.wait)
        program.returncode = code
        out.seek(0)
        err.seek(0)
        return Finished(code, out.read(1 << 24), err.read(1 << 24), late, memory)


def _limit(limits: Limits) -> None:
    cpu = int(limits.cpu) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _wait(process: int, allowed: float) -> tuple[bool, int, int]:
    """Returns whether a process waited for more than `allowed` seconds, its exit code and its peak
    of memory in bytes: 0 where this process had more, with which the count of a child begins."""
    ours = _memory("VmHWM")
    watch, looks, pause = Watch(process), time.monotonic() + LOOK, 0.002
    late = False
    while True:
        found, status, usage = os.wait4(process, os.WNOHANG)
        if found:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process, signal.SIGKILL)
            peak = usage.ru_maxrss << 10
            return late, os.waitstatus_to_exitcode(status), peak if peak > ours else 0
        if time.monotonic() >= looks:
            watch.look()
            looks = time.monotonic() + LOOK
        if watch.waited >= allowed and not late:
            late = True
            os.killpg(process, signal.SIGKILL)
        time.sleep(pause)
        pause = min(0.05, pause * 1.5)


def _end(text: bytes) -> str:
    return text[-4000:].decode("utf-8", "replace")


def same_failure(case: Case, outcome: Outcome) -> bool:
    """Returns whether a case fails, and as this outcome says."""
    [found] = run_guarded([case])
    return not found.clean and found.signature == outcome.signature


def count(outcomes: Iterable[Outcome]) -> dict[str, int]:
    """Returns the number of outcomes of each kind."""
    numbers: dict[str, int] = {}
    for outcome in outcomes:
        numbers[outcome.kind] = numbers.get(outcome.kind, 0) + 1
    return numbers
