"""Fuzzers: seeded generators of hostile input, each with an oracle, run under a resource guard.

    python -m tests.fuzz                          every fuzzer, one minute in all
    python -m tests.fuzz game_files --minutes 60 --seed 7 --keep finds

A fuzzer is a module of this package, and a name in `FUZZERS`. It has:

    NAME: str                                  the module's name
    def cases(seed: int) -> Iterator[Case]     inputs without end; the same ones for the same seed
    def case_of(files) -> Case                 the case of an input read back from `Case.files`
    BATCH: int                                 optional: inputs that share a child process (50)
    def warm() -> None                         optional: imports and caches, before children fork

A `Case` is one input: `description` says in a line what it is; `files` is the input itself, by
relative path, all that `case_of` needs; `run` is the oracle. `run` is called in a guarded child: it
returns an `Outcome`, and an exception that leaves it is a "traceback". It starts in an empty folder
that is also `tempfile.gettempdir()`, writes there alone, and leaves what it likes there. `limits`
says what it may use. A program that the oracle starts runs by `guard.run_program`, under limits as
well.

A failure is made smaller by deleting lines and characters of `files`, as long as it fails in the
same way. With `--keep FOLDER` it is written to `FOLDER/NAME/…`; moved to `tests/fuzz/cases/NAME/`,
it is replayed by the default suite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Protocol

from jinja2 import Template

FUZZERS = (
    "game_files", "replies", "readers", "guided_readers", "endpoints", "run_folders", "kills",
    "command_lines",
)  # fmt: skip

CASES = Path(__file__).parent / "cases"

KINDS = {
    "clean": "what the oracle wants",
    "traceback": "an exception that nothing caught",
    "hang": "more CPU seconds, or seconds of waiting, than allowed",
    "memory": "more memory than allowed",
    "crash": "the process died",
    "no place": "a problem without a file, line, column or code",
    "illegal action": "a reply became an action that it does not name",
    "disagreement": "two ways to one answer give different ones",
    "silence": "damage that was accepted without a word",
    "leak": "a secret, or a file of somebody else, came out",
}
"""The kinds of outcomes; all but the first are failures."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of one input. `kind` is one of `KINDS`; `detail` says more, for people; `place`
    tells failures of one kind apart, such as the function that raised; `counted` are words that the
    runner counts, such as diagnostic codes. `files` is the input at fault, where an oracle that
    runs many inputs found one. The guard adds the CPU seconds and the bytes that it took."""

    kind: str = "clean"
    detail: str = ""
    place: str = ""
    counted: tuple[str, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    cpu: float = 0.0
    memory: int = 0

    @property
    def clean(self) -> bool:
        return self.kind == "clean"

    @property
    def signature(self) -> tuple[str, str]:
        """Equal for a failure and for the smaller input that fails in the same way; where a hang is
        stopped is chance."""
        return self.kind, "" if self.kind in ("hang", "memory") else self.place


@dataclass(frozen=True)
class Limits:
    """Limits of one input: CPU seconds, seconds of waiting while no process of the input wants to
    run, and bytes of memory beyond those that the process has before."""

    cpu: float = 20.0
    wait: float = 300.0
    memory: int = 1 << 30


@dataclass(frozen=True)
class Case:
    """One input of a fuzzer, and its oracle; see above."""

    description: str
    files: Mapping[str, bytes]
    run: Callable[[], Outcome]
    limits: Limits = Limits()


class Fuzzer(Protocol):
    """The form of a fuzzer's module."""

    NAME: str

    def cases(self, seed: int) -> Iterator[Case]: ...
    def case_of(self, files: Mapping[str, bytes]) -> Case: ...


def fuzzers() -> dict[str, Fuzzer]:
    """Returns the fuzzers by name."""
    return {name: import_module(f"tests.fuzz.{name}") for name in FUZZERS}


def read_files(folder: Path) -> dict[str, bytes]:
    """Returns the files of a kept input by relative path, without the note about it. A file that is
    long and says the same again and again is kept as a Jinja template, `NAME.jinja`."""
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".jinja":
            text = Template(path.read_text("utf-8"), keep_trailing_newline=True).render()
            files[path.relative_to(folder).with_suffix("").as_posix()] = text.encode()
        elif path.is_file() and path != folder / "about.txt":
            files[path.relative_to(folder).as_posix()] = path.read_bytes()
    return files


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Writes files by relative path below a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
