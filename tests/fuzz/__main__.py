"""`python -m tests.fuzz [NAME ...]` runs the fuzzers, and prints counts, seeds and failures."""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from tests.fuzz import CASES, FUZZERS, Case, Fuzzer, Outcome, fuzzers, read_files, write_files
from tests.fuzz.guard import run_guarded
from tests.fuzz.shrink import smallest

BATCH = 50
"""Inputs that share a child process, where a fuzzer says nothing else."""


_PATHS = re.compile(r'File "/[^"]*?/(?=gamedsl/|tests/|lib/python)')


class Run:
    """A run of some fuzzers in turn from one seed: counts, and the first failure of each cause."""

    def __init__(self, chosen: dict[str, Fuzzer], seed: int, keep: Path | None, shrink: float):
        self.seed, self.keep, self.shrink = seed, keep, shrink
        self.chosen = chosen
        self.kinds: dict[str, Counter[str]] = {name: Counter() for name in chosen}
        self.counted: dict[str, Counter[str]] = {name: Counter() for name in chosen}
        self.seconds: Counter[str] = Counter()
        self.most: dict[str, tuple[float, int]] = dict.fromkeys(chosen, (0.0, 0))
        self.known: set[tuple[str, str, str]] = set()

    def play_seconds(self, seconds: float) -> None:
        """Takes a batch of each fuzzer in turn until the time is over, at least one of each; the
        fuzzer that has had the least time is next. How many inputs that are is up to the
        machine."""
        ends = time.monotonic() + seconds
        streams = self._streams()
        while streams and (time.monotonic() < ends or any(not self.seconds[n] for n in streams)):
            name = min(streams, key=lambda name: self.seconds[name])
            if not self._batch(name, streams[name]):
                del streams[name]

    def play_inputs(self, number: int) -> None:
        """Takes the first inputs of each fuzzer, so many, however long they take."""
        for name, stream in self._streams().items():
            first = islice(stream, number)
            while self._batch(name, first):
                pass

    def _streams(self) -> dict[str, Iterator[Case]]:
        for fuzzer in self.chosen.values():
            getattr(fuzzer, "warm", lambda: None)()
        return {name: fuzzer.cases(self.seed) for name, fuzzer in self.chosen.items()}

    def _batch(self, name: str, stream: Iterator[Case]) -> bool:
        """Runs the next inputs of a fuzzer; False where there are none."""
        fuzzer, began = self.chosen[name], time.monotonic()
        batch = list(islice(stream, getattr(fuzzer, "BATCH", BATCH)))
        for case, outcome in zip(batch, run_guarded(batch), strict=True):
            self.kinds[name][outcome.kind] += 1
            self.counted[name].update(outcome.counted)
            cpu, memory = self.most[name]
            self.most[name] = max(cpu, outcome.cpu), max(memory, outcome.memory)
            cause = name, outcome.kind, outcome.place
            if not outcome.clean and cause not in self.known:
                self.known.add(cause)
                self._report(name, fuzzer, case, outcome)
        self.seconds[name] += time.monotonic() - began + 1e-9
        return bool(batch)

    def _report(self, name: str, fuzzer: Fuzzer, case: Case, outcome: Outcome) -> None:
        files = outcome.files or case.files
        print(f"\n{name}: {outcome.kind}, seed {self.seed}: {case.description}")
        print(outcome.detail)
        if self.shrink and not outcome.detail.startswith("only after"):
            files = smallest(files, outcome, fuzzer.case_of, self.shrink)
        for path, content in files.items():
            print(f"--- {path} ({len(content)} bytes)")
            print(content[:2000].decode("utf-8", "backslashreplace"))
        if self.keep is not None:
            slug = re.sub(r"\W+", "-", f"{outcome.kind}-{outcome.place}").strip("-").lower()
            detail = _PATHS.sub('File "', outcome.detail)
            about = f"{outcome.kind}, seed {self.seed}: {case.description}\n{detail}\n"
            folder = self.keep / name / f"{slug[:80]}-{self.seed}"
            write_files(folder, {**files, "about.txt": about.encode("utf-8", "replace")})
            print(f"kept in {folder}")
        sys.stdout.flush()

    def summary(self) -> str:
        lines = [f"seed {self.seed}"]
        for name, kinds in self.kinds.items():
            told = ", ".join(f"{number} {kind}" for kind, number in kinds.most_common())
            lines.append(f"{name}: {kinds.total()} inputs in {self.seconds[name]:.0f} s: {told}")
            cpu, memory = self.most[name]
            lines.append(f"  of one input at most {cpu:.1f} CPU s and {memory >> 20} MB")
            words = ", ".join(f"{word} {n}" for word, n in self.counted[name].most_common(12))
            lines += [f"  {words}"] if words else []
        return "\n".join(lines)


def replay(known: dict[str, Fuzzer], names: list[str]) -> dict[str, tuple[str, str]]:
    """Returns the kind and detail of the outcome of kept inputs, by their paths below `CASES`."""
    for name in {name.split("/")[0] for name in names}:
        getattr(known[name], "warm", lambda: None)()
    cases = [known[name.split("/")[0]].case_of(read_files(CASES / name)) for name in names]
    outcomes = zip(names, run_guarded(cases), strict=True)
    return {name: (outcome.kind, outcome.detail) for name, outcome in outcomes}


def main(arguments: list[str]) -> int:
    """Runs the fuzzers; 1 where an input failed. An interrupt ends them with their counts."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(FUZZERS)}")
    parser.add_argument("--replay", action="store_true", help="run kept inputs, and print JSON")
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--minutes", type=float, default=1.0, help="for all fuzzers together")
    amount.add_argument("--inputs", type=int, help="of each fuzzer, however long they take")
    parser.add_argument("--seed", type=int, default=None, help="by default a new one")
    parser.add_argument("--jobs", type=int, default=1, help="processes, with seeds of their own")
    parser.add_argument("--keep", type=Path, help="a folder for the inputs that fail")
    parser.add_argument("--shrink", type=float, default=60.0, help="seconds for one failure")
    given = parser.parse_args(arguments)
    known = fuzzers()
    if given.replay:
        print(json.dumps(replay(known, given.names)))
        return 0
    if unknown := set(given.names) - known.keys():
        parser.error(f"no fuzzer {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    chosen = {name: known[name] for name in given.names or known}
    seed = int.from_bytes(os.urandom(4), "big") if given.seed is None else given.seed
    keep = given.keep.absolute() if given.keep else None
    children = [
        child
        for number in range(1, given.jobs)
        if (child := _start(Run(chosen, seed + number, keep, given.shrink), given))
    ]
    failed = _run(Run(chosen, seed, keep, given.shrink), given)
    for child in children:
        failed |= os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return failed


def _start(run: Run, given: argparse.Namespace) -> int:
    child = os.fork()
    if child == 0:
        os._exit(_run(run, given))
    return child


def _run(run: Run, given: argparse.Namespace) -> int:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it in the background
    print(f"seed {run.seed}", flush=True)
    try:
        if given.inputs is not None:
            run.play_inputs(given.inputs)
        else:
            run.play_seconds(60 * given.minutes)
    except KeyboardInterrupt:
        print("interrupted: the batch that was under way is not counted")
    print(f"\n{run.summary()}", flush=True)
    return int(bool(run.known))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
