"""A sweep: a game trained with each value of some settings and each seed, in one folder.

Each run has a folder of its own in the sweep's, named after what it varies. So a sweep goes on by
the same request: runs that ended stay, one that was stopped goes on from its checkpoint, and more
values or seeds add runs.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from gamedsl.api.training_job import Listener, TrainingJob, new_job, resumed_job, run_job
from gamedsl.recipe.resolve import override, parse_overrides
from gamedsl.runs.saved import INFO, open_saved
from gamedsl.storage.reader import read_text
from gamedsl.storage.writer import write_text
from gamedsl.tables.model import Table, number_columns, text_columns
from gamedsl.tables.numbers import number
from gamedsl.training.errors import TrainError

NOTE = "sweep.json"
"""The file that says what all runs of a sweep have in common."""
LIMIT = 2**20
"""Bytes of that file."""
CONFIDENCE = 0.95
MOST_ROLES = 4
"""Roles up to which the table has a column of rewards for each."""

Told = Callable[[str], None]


@dataclass(frozen=True)
class SweepRun:
    """One run: the game, its settings as texts `key=value`, those of them that vary, the seed, and
    its folder. `calls` are files of functions that the game may call."""

    file: str
    params: Mapping[str, Any]
    settings: tuple[str, ...]
    varied: tuple[str, ...]
    seed: int
    folder: Path
    addresses: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return ", ".join([*self.varied, f"seed={self.seed}"])

    @property
    def ended(self) -> bool:
        """Whether the run was trained to its end. Raises RunDamaged."""
        records = open_saved(self.folder).records() if self.begun else []
        return bool(records) and records[-1]["event"] == "end"

    @property
    def begun(self) -> bool:
        return (self.folder / INFO).exists()


@dataclass(frozen=True)
class Sweep:
    """The runs of a sweep, in order, and its folder."""

    folder: Path
    runs: tuple[SweepRun, ...]

    def prepare(self) -> None:
        """Checks all requests before anything is trained, and notes what the runs share. Raises
        CompileError, and TrainError where the folder is that of another sweep."""
        first = self.runs[0]
        checked: set[tuple[str, ...]] = set()
        for run in self.runs:
            if run.settings not in checked:
                checked.add(run.settings)
                job_of(run, new=True)
        shared = [text for text in first.settings if text not in first.varied]
        note = {"file": first.file, "params": dict(first.params), "settings": shared}
        text = json.dumps(note, indent=2) + "\n"
        path = self.folder / NOTE
        if not path.exists():
            if self.folder.exists() and any(self.folder.iterdir()):
                raise TrainError(
                    f"`{self.folder}` is not empty, and no sweep's", "choose another folder (--out)"
                )
            self.folder.mkdir(parents=True, exist_ok=True)
            write_text(path, text)
        elif read_text(path, limit=LIMIT) != text:
            raise TrainError(
                f"`{self.folder}` holds another sweep: {path} has other settings or another game",
                "choose another folder (--out), or ask for the same settings",
            )

    def groups(self) -> Iterator[tuple[str, list[SweepRun]]]:
        """Yields the runs that differ in nothing but the seed, with the settings that they have."""
        found: dict[tuple[str, ...], list[SweepRun]] = {}
        for run in self.runs:
            found.setdefault(run.varied, []).append(run)
        for varied, runs in found.items():
            yield ", ".join(varied) or "as given", runs


def sweep_of(
    file: str, params: Mapping[str, Any], settings: Sequence[str], seeds: Sequence[int],
    folder: Path, *, addresses: Sequence[str] = (), calls: Sequence[str] = (),
) -> Sweep:  # fmt: skip
    """Returns the sweep over all values of `settings`, texts such as `lr=1e-4,3e-4`. Raises
    ValueError for texts of another form."""
    choices = [[f"{key}={value}" for value in values] for key, values in map(_values, settings)]
    parse_overrides(text for texts in choices for text in texts)
    if len(set(seeds)) < len(seeds):
        raise ValueError("a seed is named twice in --seeds")
    place = str(Path(file).resolve()) if Path(file).exists() else file
    runs = []
    for chosen in product(*choices):
        varied = tuple(text for text, texts in zip(chosen, choices, strict=True) if len(texts) > 1)
        for seed in seeds:
            name = "-".join([*varied, f"seed-{seed}"])
            slug = re.sub(r"[^\w.+-]+", "-", name)
            runs.append(SweepRun(
                place, params, chosen, varied, seed, folder / slug, tuple(addresses), tuple(calls)
            ))  # fmt: skip
    if len({run.folder for run in runs}) < len(runs):
        raise ValueError("a value is named twice, or two values differ in signs alone")
    return Sweep(folder, tuple(runs))


def _values(text: str) -> tuple[str, list[str]]:
    """Returns the key and the values of `key=a,b`. Commas in brackets and quotes are of a value."""
    key, equals, rest = text.partition("=")
    if not equals or not key.strip() or not rest.strip():
        raise ValueError(f"`--set {text}` is not of the form key=value,value, such as lr=1e-4,3e-4")
    values, depth, quote = [""], 0, ""
    for sign in rest:
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign in "[{(":
            depth += 1
        elif sign in ")}]":
            depth -= 1
        elif sign == "," and not depth:
            values.append("")
            continue
        values[-1] += sign
    return key.strip(), [value.strip() for value in values]


def job_of(run: SweepRun, *, new: bool) -> TrainingJob:
    """Returns the job of a run: a new one, or that of its folder, as far as it came. Raises
    CompileError, TrainError and RunDamaged."""
    from gamedsl.calls.files import allow_calls, allowed_calls

    known = {str(one.path) for one in allowed_calls()}
    for file in run.calls:
        if file not in known:
            allow_calls(file)
    if not new:
        return resumed_job(run.folder, addresses=run.addresses)
    settings = [*parse_overrides(run.settings), override("seed", run.seed)]
    return new_job(run.file, run.params, settings, addresses=run.addresses)


def train_run(run: SweepRun) -> bool:
    """Trains a run to its end; returns False where a signal stopped it. Raises as `run_job`."""
    if run.ended:
        return True
    if not run.begun and run.folder.exists():
        shutil.rmtree(run.folder)  # it was stopped as it began
    job = job_of(run, new=not run.begun)
    return run_job(job, lambda *given: [], out=run.folder, listener=Listener()).outcome.finished


def train_all(sweep: Sweep, told: Told) -> bool:
    """Trains all runs, one after another; returns False where a signal stopped it."""
    for at, run in enumerate(sweep.runs, 1):
        before = run.ended
        if not train_run(run):
            return False
        told(f"{at}/{len(sweep.runs)}  {run.name}{'  (was done)' if before else ''}")
    return True


def train_on_ray(sweep: Sweep, address: str | None, told: Told) -> bool:
    """Trains all runs on a Ray cluster, as many at once as it has GPUs, or cores. A run whose
    machine is lost goes on elsewhere. All machines must see the folder. Raises ModelError, and
    TrainError for a run that failed."""
    from gamedsl.policies.cluster import InFolder, connected

    ray = connected(address)
    gpus = 1 if ray.cluster_resources().get("GPU") else 0
    trained = InFolder.this(train_run)
    task = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=-1)(lambda run: trained(run))
    asked = {task.remote(run): run for run in sweep.runs}
    for done in range(1, len(asked) + 1):
        ready, _ = ray.wait(list(asked), num_returns=1)
        run = asked.pop(ready[0])
        try:
            ray.get(ready[0])
        except ray.exceptions.RayTaskError as error:
            for other in asked:
                ray.cancel(other)
            raise TrainError(
                f"the run {run.name} failed: {error.cause}", "see its folder"
            ) from error
        if not run.begun:
            raise TrainError(
                f"the run {run.name} ended on another machine, and `{run.folder}` is not here",
                "all machines must see the sweep's folder: name a shared one with --out",
            )
        told(f"{done}/{len(sweep.runs)}  {run.name}")
    return True


@dataclass(frozen=True)
class Mean:
    """The mean over seeds, and half of its interval, by Student's t; None of one seed."""

    mean: float
    half: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean:
        if len(values) < 2:
            return cls(fmean(values), None)
        from scipy.stats import t

        quantile = float(t.ppf((1 + CONFIDENCE) / 2, len(values) - 1))
        return cls(fmean(values), quantile * stdev(values) / len(values) ** 0.5)

    def __str__(self) -> str:
        return number(self.mean) + (f" ± {number(self.half)}" if self.half is not None else "")


def results(sweep: Sweep) -> Table:
    """Returns the table of a sweep: for each choice of settings the runs that ended, and the means
    of their last steps over seeds. Raises RunDamaged."""
    last = {run.folder: _measures(run) for run in sweep.runs if run.ended}
    heads = list(dict.fromkeys(name for found in last.values() for name in found))
    rewards = [head for head in heads if head.startswith("reward")]
    if len(rewards) > MOST_ROLES:
        heads = [head for head in heads if head not in rewards]
    rows = []
    for name, runs in sweep.groups():
        found = [last[run.folder] for run in runs if run.folder in last]
        cells = []
        for head in heads:
            values = [one[head] for one in found if head in one]
            cells.append(str(Mean.of(values)) if values else "")
        rows.append((name, f"{len(found)} of {len(runs)}", *cells))
    columns = (*text_columns("settings", "seeds"), *number_columns(*heads))
    return Table(columns, rows, row_heads=1)


def _measures(run: SweepRun) -> dict[str, float]:
    """Returns what is measured of a run at its last step."""
    steps = [one for one in open_saved(run.folder).records() if one["event"] == "step"]
    if not steps:
        return {}
    found = {}
    if steps[-1].get("exploitability") is not None:
        found["exploitability"] = steps[-1]["exploitability"]
    rewards = steps[-1].get("reward") or {}
    return found | {f"reward of {role}": x for role, x in rewards.items() if x is not None}
