"""The training runs that the studio has started: child processes `gamedsl train`, which it stops.

A run is a process of its own, as one from a terminal is. It writes its run folder, from which pages
read it, and goes on where the studio's process is killed. Only games and runs below the studio's
folders are trained, with the settings of the files. A run may call an endpoint only where the
studio's command line names its address.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from gamedsl.mcp.refusal import Refused
from gamedsl.recipe.table import MODELS
from gamedsl.runs.errors import RunDamaged
from gamedsl.runs.saved import open_saved
from gamedsl.studio.folders import Folders

MOST_RUNNING = 4
"""Runs that train at once."""

MOST_KEPT = 50
"""Runs that are listed; of those that ended, the earliest are forgotten first."""

LONGEST_END = 30.0
"""Seconds that stopped runs have to save themselves when the studio ends."""

_ERROR_BYTES = 2000


@dataclass
class TrainingRun:
    """A run that was started here. `errors` is the file of what its process writes of errors."""

    folder: Path
    process: subprocess.Popen[bytes]
    errors: Path
    stopping: bool = False

    @property
    def running(self) -> bool:
        return self.process.poll() is None

    @property
    def state(self) -> str:
        """The state, as people read it."""
        code = self.process.poll()
        if code is None:
            return "stopping" if self.stopping else "running"
        return {0: "ended", 130: "stopped"}.get(code, "failed")

    @property
    def fault(self) -> str:
        """The last lines that a failed run wrote; empty for others."""
        if self.state != "failed":
            return ""
        return self.errors.read_bytes()[-_ERROR_BYTES:].decode("utf-8", "replace").strip()


@dataclass
class TrainingRuns:
    """All runs that were started here. `addresses` are those of endpoints that runs may call."""

    folders: Folders
    call_files: Sequence[str] = ()
    addresses: Sequence[str] = ()
    _runs: dict[Path, TrainingRun] = field(default_factory=dict)
    _errors: TemporaryDirectory[str] = field(default_factory=TemporaryDirectory)
    _count: int = 0
    _lock: Lock = field(default_factory=Lock)

    def start(
        self, file: str, params: Mapping[str, str], model: str, steps: str, seed: str
    ) -> TrainingRun:
        """Starts a run of a game, as `Folders.game` names it, in a new folder. Empty texts leave a
        setting as the file has it. Raises Refused."""
        words = [file]
        for name, value in params.items():
            words += ["--param", f"{name}={value}"]
        if model:
            if model not in MODELS:
                raise Refused(f"`{model}` is no model of the list", f"choose {', '.join(MODELS)}")
            words += ["--model", model]
        for name, text, most in (("steps", steps, 10**6), ("seed", seed, 2**32 - 1)):
            if text:
                is_number = len(text) <= 10 and text.isascii() and text.isdecimal()
                if not is_number or int(text) > most:
                    raise Refused(f"`{text}` is no number of {name}", f"write at most {most:,}")
                words += [f"--{name}", text]
        with self._lock:
            folder = self._free_folder(f"{Path(file).stem}-{model or 'file'}-{seed or 'file'}")
            return self._launch(folder, [*words, "--out", str(folder)])

    def resume(self, folder: Path) -> TrainingRun:
        """Goes on with a run that stopped. Raises Refused."""
        try:
            records = open_saved(folder).records()
        except RunDamaged as error:
            raise Refused(str(error), "put back a copy of the run") from error
        if any(record["event"] == "end" for record in records):
            raise Refused(f"{self.folders.shown(folder)} has ended", "start a new run")
        with self._lock:
            return self._launch(folder, ["--resume", str(folder)])

    def stop(self, folder: Path) -> None:
        """Asks a run of this studio to save itself and end. Raises Refused."""
        with self._lock:
            run = self._runs.get(folder)
            if run is None or not run.running:
                shown = self.folders.shown(folder)
                raise Refused(
                    f"{shown} does not run here", "stop a run with Ctrl-C where it was started"
                )
            self._interrupt(run)

    def of(self, folder: Path) -> TrainingRun | None:
        """Returns the run of a folder, if it was started here."""
        return self._runs.get(folder)

    def newest_first(self) -> list[TrainingRun]:
        """Returns the runs, the last that was started first."""
        return list(self._runs.values())[::-1]

    def close(self) -> None:
        """Stops all runs, and waits until they are saved, for a time."""
        with self._lock:
            running = [run for run in self._runs.values() if run.running]
            for run in running:
                self._interrupt(run)
            for run in running:
                try:
                    run.process.wait(LONGEST_END)
                except subprocess.TimeoutExpired:
                    run.process.kill()
                    run.process.wait()
            self._runs.clear()
            self._errors.cleanup()

    def _launch(self, folder: Path, words: Sequence[str]) -> TrainingRun:
        if sys.platform == "win32":
            raise Refused("runs are not started from pages on Windows", "use `gamedsl train`")
        known = self._runs.get(folder)
        if known is not None and known.running:
            raise Refused(f"{self.folders.shown(folder)} runs already", "stop it first")
        if sum(run.running for run in self._runs.values()) >= MOST_RUNNING:
            raise Refused(f"{MOST_RUNNING} runs train already", "stop one, or wait for its end")
        command = [sys.executable, "-m", "gamedsl", "train", *words, "--format", "json"]
        for address in self.addresses:
            command += ["--allow-endpoint", address]
        for calls in self.call_files:
            command += ["--allow-calls", calls]
        self._count += 1
        errors = Path(self._errors.name) / f"{self._count}.txt"
        with errors.open("wb") as file:
            process = subprocess.Popen(
                command, cwd=self.folders.roots[0], stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=file,
                start_new_session=True,  # Ctrl-C in the studio's terminal is not the run's
            )  # fmt: skip
        run = TrainingRun(folder, process, errors)
        self._runs.pop(folder, None)
        self._runs[folder] = run
        ended = [path for path, one in self._runs.items() if not one.running]
        for path in ended[: max(0, len(self._runs) - MOST_KEPT)]:
            self._runs.pop(path).errors.unlink()
        return run

    def _interrupt(self, run: TrainingRun) -> None:
        if not run.stopping:  # a second signal would end it without saving
            run.stopping = True
            run.process.send_signal(signal.SIGINT)

    def _free_folder(self, name: str) -> Path:
        """Returns a folder below `runs` that is neither there nor promised to a run."""
        number, runs = 1, self.folders.roots[0] / "runs"
        while (path := runs / f"{name}-{number}") in self._runs or path.exists():
            number += 1
        return path
