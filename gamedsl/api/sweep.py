"""A sweep: a game trained with each value of some settings and each seed, in one folder.

Each run has a folder of its own in the sweep's, named after what it varies. So a sweep goes on by
the same request: runs that ended stay, one that was stopped goes on from its checkpoint, and more
values or seeds add runs. The order of settings does not matter.
"""

from __future__ import annotations

import json
import math
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import product
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from gamedsl.api.training_job import (
    Listener,
    TrainingJob,
    may_change,
    new_job,
    resumed_job,
    run_job,
)
from gamedsl.diagnostics import Diagnostic
from gamedsl.errors import UserError
from gamedsl.policies.budget import BudgetSpent
from gamedsl.recipe.resolve import flat_settings, override, parse_overrides, read_recipe
from gamedsl.recipe.table import Recipe
from gamedsl.runs.errors import RunDamaged
from gamedsl.runs.saved import INFO, METRICS, open_saved
from gamedsl.storage.reader import read_text
from gamedsl.storage.writer import write_text
from gamedsl.tables.model import Table, number_columns, text_columns
from gamedsl.tables.numbers import number
from gamedsl.training.errors import TrainError

if TYPE_CHECKING:
    from gamedsl.runtime import Game

NOTE = "sweep.json"
"""The file that says what all runs of a sweep have in common."""
LIMIT = 2**20
"""Bytes of that file."""
FORMAT = "gamedsl sweep 1"
"""Of `as_record`."""
MOST_RUNS = 10_000
MOST_NAMED = 3
"""Settings that are named where a run began with others."""
MOST_STOPS = 5
"""Times that a run's process on a cluster may end, and be told to, before the run has ended."""
LONGEST_NAME = 120
"""Letters of a run's folder; a longer name ends in its hash."""
CONFIDENCE = 0.95
MOST_ROLES = 4
"""Roles up to which the table has a column of rewards for each."""
_REWARD = "reward of "

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
    def changeable(self) -> list[str]:
        """The settings of which a run that goes on may have other values than before."""
        return [text for text in self.settings if _may_differ(key_of(text))]

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

    def check(self, told: Callable[[Sequence[Diagnostic]], None] = lambda found: None) -> str:
        """Checks all requests before anything is trained, and that the folder is free or that of
        this sweep. Returns what the runs share, as its note says it. `told` hears of each problem
        once. Raises CompileError, ModelError for a model that is nowhere, and TrainError where the
        folder is that of another sweep, or a run in it began with another recipe."""
        jobs = self._jobs(told)
        shared = self._shared(next(iter(jobs.values())).game)
        text = json.dumps(shared, indent=2, sort_keys=True) + "\n"
        path = self.folder / NOTE
        if not path.exists():
            if self.folder.exists() and any(self.folder.iterdir()):
                raise TrainError(
                    f"`{self.folder}` is not empty, and no sweep's", "choose another folder (--out)"
                )
        elif (before := read_text(path, limit=LIMIT)) != text:
            fact, fix = "another game, or this one as it was before", "put the game back"
            if shared["hash"] in before:
                fact, fix = "other settings", "ask for its settings"
            raise TrainError(
                f"`{self.folder}` holds another sweep: {path} has {fact}",
                f"choose another folder (--out), or {fix}",
            )
        for run in self.runs:
            _require_recipe(run, jobs[run.settings].recipe)
        return text

    def prepare(self, told: Callable[[Sequence[Diagnostic]], None] = lambda found: None) -> str:
        """Checks all requests, and notes what the runs share, which it returns. Raises as
        `check`."""
        text, path = self.check(told), self.folder / NOTE
        if not path.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            write_text(path, text)
        return text

    def _jobs(
        self, told: Callable[[Sequence[Diagnostic]], None]
    ) -> dict[tuple[str, ...], TrainingJob]:
        """Returns a job for each choice of settings. Raises as `check`."""
        known: set[tuple[str, str, str]] = set()

        def pass_on(found: Sequence[Diagnostic]) -> None:
            new = {(one.code, one.message, str(one.span)): one for one in found}
            told([one for key, one in new.items() if key not in known])
            known.update(new)

        jobs = {
            settings: job_of(run, new=True, listener=Listener(pass_on))
            for settings, run in {run.settings: run for run in self.runs}.items()
        }
        for name in {name for job in jobs.values() for name in job.recipe.language_models}:
            _require_model(name)
        return jobs

    def _shared(self, game: Game) -> dict[str, Any]:
        """Returns what the runs share."""
        first = self.runs[0]
        fixed = (text for text in first.settings if not _may_differ(key_of(text)))
        shared = sorted(text for text in fixed if text not in first.varied)
        params = dict(first.params)
        return {"game": game.name, "hash": game.hash, "params": params, "settings": shared}

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
    """Returns the sweep over all values of `settings`, texts such as `lr=1e-4,3e-4`. The endpoints
    that these name may be called, as may those of `addresses`. Raises ValueError for texts of
    another form, a key or seed that is named twice, and more than `MOST_RUNS` runs."""
    from gamedsl.players.endpoint import addresses_in

    given = sorted(map(_values, settings))
    _require_once(key for key, _ in given)
    choices = [[f"{key}={value}" for value in values] for key, values in given]
    texts = [text for texts in choices for text in texts]
    parse_overrides(texts)
    if len(set(seeds)) < len(seeds):
        raise ValueError("a seed is named twice in --seeds")
    many = math.prod(map(len, choices)) * len(seeds)
    if many > MOST_RUNS:
        raise ValueError(f"these are {many:,} runs, more than {MOST_RUNS:,}")
    allowed = tuple(sorted({*addresses, *addresses_in(texts)}))
    place = str(Path(file).resolve()) if Path(file).exists() else file
    runs = []
    for chosen in product(*choices):
        varied = tuple(text for text, texts in zip(chosen, choices, strict=True) if len(texts) > 1)
        for seed in seeds:
            slug = _slug("-".join([*varied, f"seed-{seed}"]))
            runs.append(SweepRun(
                place, params, chosen, varied, seed, folder / slug, allowed, tuple(calls)
            ))  # fmt: skip
    if len({run.folder for run in runs}) < len(runs):
        raise ValueError("a value is named twice, or two values differ in signs alone")
    return Sweep(folder, tuple(runs))


def _slug(name: str) -> str:
    """Returns a folder's name."""
    slug = re.sub(r"[^\w.+-]+", "-", name)
    if len(slug) <= LONGEST_NAME:
        return slug
    return f"{slug[: LONGEST_NAME - 9]}-{sha256(name.encode()).hexdigest()[:8]}"


def _require_once(keys: Iterable[str]) -> None:
    """Raises ValueError for a setting that is named twice, and for the seed."""
    for key, times in Counter(keys).items():
        if key == "seed":
            raise ValueError("seeds are named by `--seeds`, such as --seeds 0,1,2")
        if times > 1:
            raise ValueError(f"`{key}` is named twice in --set; write {key}=A,B for its values")


def _require_model(name: str) -> None:
    """Raises ModelError for a language model that is nowhere to be found."""
    from gamedsl.policies.names import EMBEDDED

    if name not in EMBEDDED:
        from gamedsl.policies.models import locate

        locate(name)


def _require_recipe(run: SweepRun, recipe: Recipe) -> None:
    """Raises TrainError for a run that began with another recipe: the game's file has changed
    since, or the folder is named after another value. A run that cannot be read is left to its
    training, which says why."""
    if not run.begun:
        return
    try:
        began = dict(flat_settings(read_recipe(open_saved(run.folder).settings()).as_dict()))
    except (RunDamaged, ValueError):
        return
    asked = dict(flat_settings(recipe.as_dict()))
    other = [
        f"`{key}` was {began.get(key, 'not set')} and is {asked.get(key, 'not set')}"
        for key in {**began, **asked}
        if began.get(key) != asked.get(key) and key != "seed" and not _may_differ(key)
    ]
    if other:
        raise TrainError(
            f"`{run.folder}` began with another recipe: {'; '.join(other[:MOST_NAMED])}",
            "choose another folder (--out), or put the settings back",
        )


def key_of(text: str) -> str:
    """Returns the key of a text `key=value`."""
    return text.partition("=")[0].strip()


def _may_differ(key: str) -> bool:
    """Whether runs of one sweep may have a setting at several values, since no numbers depend on
    it. The number of steps is not among these: the table compares last steps."""
    return key != "steps" and may_change(key)


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


def job_of(run: SweepRun, *, new: bool, listener: Listener | None = None) -> TrainingJob:
    """Returns the job of a run: a new one, or that of its folder, as far as it came. Raises
    CompileError, TrainError and RunDamaged."""
    from gamedsl.calls.files import allow_calls, allowed_calls

    known = {str(one.path) for one in allowed_calls()}
    for file in run.calls:
        if file not in known:
            allow_calls(file)
    if not new:
        more = parse_overrides(run.changeable)
        return resumed_job(run.folder, more=more, addresses=run.addresses)
    settings = [*parse_overrides(run.settings), override("seed", run.seed)]
    return new_job(run.file, run.params, settings, addresses=run.addresses, listener=listener)


@dataclass(frozen=True)
class Stop:
    """The end of a sweep before its last run: the run that was under way, and the budget of
    endpoints that it had used up; None where a signal stopped it."""

    run: SweepRun
    spent: BudgetSpent | None


@dataclass(frozen=True)
class Failure:
    """A run that failed, and why."""

    run: SweepRun
    reason: str

    @classmethod
    def of(cls, run: SweepRun, error: BaseException) -> Failure:
        known = isinstance(error, UserError)
        return cls(run, str(error) if known else f"{type(error).__name__}: {error}")


@dataclass(frozen=True)
class SweepOutcome:
    """The end of a sweep: where it stopped before its last run, and the runs that failed."""

    stop: Stop | None
    failures: tuple[Failure, ...] = ()


def train_run(run: SweepRun) -> Stop | None:
    """Trains a run to its end, and returns where it stopped before. Raises as `run_job`."""
    if run.ended:
        return None
    if not run.begun and run.folder.exists():
        _clear(run.folder)
    job = job_of(run, new=not run.begun)
    try:
        outcome = run_job(job, lambda *given: [], out=run.folder, listener=Listener()).outcome
    except BudgetSpent as spent:  # before the first step
        return Stop(run, spent)
    return None if outcome.finished else Stop(run, outcome.spent)


def _clear(folder: Path) -> None:
    """Removes the folder of a run that was stopped as it began. Raises RunDamaged for one that has
    learned something."""
    if (folder / METRICS).exists() or any((folder / "checkpoints").glob("step-*")):
        raise RunDamaged(f"`{folder}` has lost its {INFO}", "put it back, or remove the folder")
    shutil.rmtree(folder)


def train_all(sweep: Sweep, told: Told) -> SweepOutcome:
    """Trains all runs, one after another. One that fails is noted, and the others go on."""
    failures: list[Failure] = []
    for at, run in enumerate(sweep.runs, 1):
        note = ""
        try:
            note = "  (was done)" if run.ended else ""
            stopped = train_run(run)
        except Exception as error:
            stopped, failure = None, Failure.of(run, error)
            failures.append(failure)
            note = f"  failed: {failure.reason}"
        if stopped is not None:
            return SweepOutcome(stopped, tuple(failures))
        told(f"{at}/{len(sweep.runs)}  {run.name}{note}")
    return SweepOutcome(None, tuple(failures))


def train_on_ray(sweep: Sweep, address: str | None, told: Told) -> SweepOutcome:
    """Trains all runs on a Ray cluster, as many at once as it has GPUs, or cores, until a budget is
    spent. A run whose machine is lost, or whose process is told to end, goes on elsewhere. One that
    fails is noted, and the others go on. Raises ModelError, and TrainError where a machine does not
    see the folder."""
    from gamedsl.policies.cluster import InFolder, connected

    ray = connected(address)
    gpus = 1 if ray.cluster_resources().get("GPU") else 0
    trained = InFolder.this(train_run)
    task = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=MOST_STOPS)(lambda run: trained(run))
    asked = {task.remote(run): run for run in sweep.runs}
    stops, done, failures = Counter[str](), 0, list[Failure]()
    try:
        while asked:
            ready, _ = ray.wait(list(asked), num_returns=1)
            run = asked.pop(ready[0])
            ended = _result(ray, ready[0], run)
            if isinstance(ended, Stop):
                if ended.spent is not None:
                    return SweepOutcome(ended, tuple(failures))
                stops[run.name] += 1
                if stops[run.name] <= MOST_STOPS:
                    asked[task.remote(run)] = run
                    continue
                ended = Failure(run, f"its process was told to end {stops[run.name]} times")
            done, note = done + 1, ""
            if ended is not None:
                failures.append(ended)
                note = f"  failed: {ended.reason}"
            told(f"{done}/{len(sweep.runs)}  {run.name}{note}")
    finally:
        for other in asked:
            ray.cancel(other)
    return SweepOutcome(None, tuple(failures))


def _result(ray: Any, reference: Any, run: SweepRun) -> Stop | Failure | None:
    """Returns where a run on a cluster stopped before its end, or why it failed. Raises TrainError
    where its folder is not here."""
    try:
        stopped: Stop | None = ray.get(reference)
    except ray.exceptions.RayError as error:
        cause = getattr(error, "cause", None)
        if isinstance(cause, UserError):
            return Failure.of(run, cause)
        reason = str(cause or error).strip().splitlines()[-1]
        return Failure(run, f"{reason}\n  fix: see its folder, and Ray's logs")
    if not run.begun:
        raise TrainError(
            f"the run {run.name} ended on another machine, and `{run.folder}` is not here",
            "all machines must see the sweep's folder: name a shared one with --out",
        )
    return stopped


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

    def as_dict(self) -> dict[str, Any]:
        """Returns it as JSON-able data, as evaluations have their estimates."""
        if self.half is None:
            return {"value": self.mean, "interval": None, "interval_kind": "one seed"}
        interval = [self.mean - self.half, self.mean + self.half]
        return {"value": self.mean, "interval": interval, "interval_kind": "95% t"}

    def __str__(self) -> str:
        return number(self.mean) + (f" ± {number(self.half)}" if self.half is not None else "")


def ended_runs(sweep: Sweep) -> list[SweepRun]:
    """Returns the runs that ended, and whose records can be read."""
    return [run for run in sweep.runs if _has_ended(run)]


def _has_ended(run: SweepRun) -> bool:
    try:
        return run.ended
    except RunDamaged:
        return False


def results(sweep: Sweep, failures: Iterable[Failure] = ()) -> Table:
    """Returns the table of a sweep: for each choice of settings the runs that ended, those that
    failed, and the means of the last steps over seeds."""
    last = {run.folder: _measures(run) for run in ended_runs(sweep)}
    failed = {failure.run.folder for failure in failures}
    heads = list(dict.fromkeys(name for found in last.values() for name in found))
    rewards = [head for head in heads if head.startswith(_REWARD)]
    if len(rewards) > MOST_ROLES:
        heads = [head for head in heads if head not in rewards]
    rows = []
    for name, runs in sweep.groups():
        found = [last[run.folder] for run in runs if run.folder in last]
        means = _means(found)
        cells = [str(means[head]) if head in means else "" for head in heads]
        ended = f"{len(found)} of {len(runs)}"
        if lost := [str(run.seed) for run in runs if run.folder in failed]:
            ended += f", failed: {', '.join(lost)}"
        rows.append((name, ended, *cells))
    columns = (*text_columns("settings", "seeds"), *number_columns(*heads))
    return Table(columns, rows, row_heads=1)


def as_record(sweep: Sweep, shared: str, outcome: SweepOutcome) -> dict[str, Any]:
    """Returns the results of a sweep as JSON-able data: those of the table, the rewards of all
    roles, and what each run measured. `shared` is what `Sweep.check` returned."""
    last = {run.folder: _measures(run) for run in ended_runs(sweep)}
    reasons = {failure.run.folder: failure.reason for failure in outcome.failures}
    first, note, stop = sweep.runs[0], json.loads(shared), outcome.stop
    return {
        "format": FORMAT,
        "game": note["game"],
        "hash": note["hash"],
        "params": note["params"],
        "settings": _as_map(text for text in first.settings if text not in first.varied),
        "folder": str(sweep.folder),
        "stopped": None if stop is None else {
            "run": stop.run.name, "fact": "a signal" if stop.spent is None else stop.spent.fact,
        },
        "groups": [
            {
                "settings": _as_map(runs[0].varied),
                **_by_measure({
                    name: mean.as_dict()
                    for name, mean in _means([
                        last[run.folder] for run in runs if run.folder in last
                    ]).items()
                }),
                "runs": [
                    {
                        "seed": run.seed,
                        "folder": str(run.folder),
                        "ended": run.folder in last,
                        "failed": reasons.get(run.folder),
                        **_by_measure(last.get(run.folder, {})),
                    }
                    for run in runs
                ],
            }
            for _, runs in sweep.groups()
        ],
    }  # fmt: skip


def _as_map(settings: Iterable[str]) -> dict[str, str]:
    """Returns texts `key=value` as values by keys."""
    return {key_of(text): text.partition("=")[2] for text in settings}


def _by_measure(found: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what is said of each measure under the names that records of steps have."""
    rewards = {
        name.removeprefix(_REWARD): value
        for name, value in found.items() if name.startswith(_REWARD)
    }  # fmt: skip
    return {"exploitability": found.get("exploitability"), "reward": rewards}


def _means(found: Sequence[Mapping[str, float]]) -> dict[str, Mean]:
    """Returns the mean of each measure over runs that have it."""
    names = dict.fromkeys(name for one in found for name in one)
    return {name: Mean.of([one[name] for one in found if name in one]) for name in names}


def _measures(run: SweepRun) -> dict[str, float]:
    """Returns what is measured of a run at its last step."""
    steps = [one for one in open_saved(run.folder).records() if one["event"] == "step"]
    if not steps:
        return {}
    found = {}
    if steps[-1].get("exploitability") is not None:
        found["exploitability"] = steps[-1]["exploitability"]
    rewards = steps[-1].get("reward") or {}
    return found | {f"{_REWARD}{role}": x for role, x in rewards.items() if x is not None}
