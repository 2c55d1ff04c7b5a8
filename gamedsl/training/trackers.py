"""A run's numbers for other programs: TensorBoard, Weights & Biases, MLflow.

A tracker is an observer of the loop that sends each record on as flat numbers, the epochs of a
warm-up on an axis of their own, and the mapping of each signal as a table. Whatever happens to
it, training goes on: what it raises is said once, and it is then left alone. A tracker takes up its
own run where a run is resumed; `trackers.json` in the run folder says which that is.

Where they write, if their own settings (`WANDB_MODE`, `MLFLOW_TRACKING_URI`, ...) say nothing else:

    tensorboard    RUN/tensorboard
    wandb          RUN/wandb, and the server that its login names
    mlflow         mlruns beside the run folders, an experiment for each game
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from gamedsl.recipe.resolve import flat_settings
from gamedsl.storage.reader import FileRefused, read_bytes
from gamedsl.storage.strict_json import parse
from gamedsl.storage.writer import write_text
from gamedsl.tables.markdown import markdown_rows
from gamedsl.tables.model import Table, text_columns
from gamedsl.training.errors import TrainError
from gamedsl.training.monitors.text import likeliest, meanings_of
from gamedsl.training.runfolder import RunFolder

Record = Mapping[str, Any]

_LEFT_OUT = frozenset({"event", "step", "ranges", "prediction", "adapters", "warm_start", "alarms"})
"""Fields that are no numbers over time."""


WARM_UP = "warm_up"


class MeaningTable(NamedTuple):
    """The meanings of a signal's words: a row for each type, under the names of its columns."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str | float, ...], ...]

    @property
    def markdown(self) -> str:
        """The table for programs that show Markdown."""
        rows = [[v if isinstance(v, str) else f"{v:g}" for v in row] for row in self.rows]
        return "\n".join(markdown_rows(Table(text_columns(*self.columns), rows)))


class Tracker(Protocol):
    """One program that takes numbers."""

    def send(self, numbers: Mapping[str, float], step: int) -> None: ...

    def warm_up(self, numbers: Mapping[str, float], epoch: int) -> None:
        """Take the numbers of an epoch of a warm-up, whose axis is not that of the steps."""

    def show(self, name: str, table: MeaningTable, step: int) -> None:
        """Take a table as it is at a step."""

    def close(self, summary: str | None) -> None:
        """The run is over, or stopped: then without a summary."""


def numbers(record: Record) -> dict[str, float]:
    """Returns the numbers of a record under flat names: `reward/first`,
    `policy/hunter_1:move/stag`. Of a mapping only what is one number."""
    return dict(_flat("", {k: v for k, v in record.items() if k not in _LEFT_OUT}))


def tables(record: Record) -> dict[str, MeaningTable]:
    """Returns the mapping of each signal of a record: the likeliest word of each type, with its
    probability, the type's share of the games, and whether another type has the same word."""
    found = {}
    for signal, told in (record.get("mapping") or {}).items():
        rows = []
        for row in meanings_of(told):
            word = likeliest(row.probs)
            share = told["types"][row.name]["share"]
            rows.append((row.name, word, row.probs[word], share, "yes" if row.mark else "no"))
        columns = ("type", "word", "probability", "share of games", "word shared")
        found[f"mapping/{signal}"] = MeaningTable(columns, tuple(rows))
    return found


def _flat(name: str, value: Any) -> Iterator[tuple[str, float]]:
    if isinstance(value, bool | str) or value is None:
        return
    if isinstance(value, int | float):
        yield name, float(value)
    elif isinstance(value, Mapping):
        for key, part in value.items():
            if key == "probs":
                yield from _flat(name, part)
            elif key != "types":
                yield from _flat(f"{name}/{key}" if name else key, part)


class Guarded:
    """An observer that cannot break the run: the first thing that its tracker raises is told to
    `notify`, and nothing is sent to it any more."""

    def __init__(self, name: str, make: Callable[[], Tracker], notify: Callable[[str], None]):
        self._name = name
        self._make = make
        self._notify = notify
        self._tracker: Tracker | None = None
        self._broken = False
        self._shown: dict[str, MeaningTable] = {}
        self._pending: dict[str, MeaningTable] = {}

    def __enter__(self) -> Guarded:
        return self

    def __exit__(self, *_: object) -> None:
        self._close(None)

    def start(self, record: Record) -> None:
        self._try(lambda tracker: None)

    def warm_up(self, record: Record) -> None:
        """Send an epoch of a warm-up, under names of its own."""
        found = {f"{WARM_UP}/{name}": x for name, x in numbers(record).items() if name != "epoch"}
        self._try(lambda tracker: tracker.warm_up(found, record["epoch"]))

    def step(self, record: Record) -> None:
        """Send a step, and its tables where a type has got another word."""
        self._try(lambda tracker: tracker.send(numbers(record), record["step"]))
        self._pending = tables(record)
        for name, table in self._pending.items():
            if name not in self._shown or _words(table) != _words(self._shown[name]):
                self._show(name, table, record["step"])

    def progress(self, record: Record) -> None:
        """Sends nothing: how far a step is, is no number of the run."""

    def end(self, record: Record) -> None:
        """Send what was measured at the end, such as contributions, with the last step, and the
        last tables as they came to be."""
        found = numbers(record)
        if found:
            self._try(lambda tracker: tracker.send(found, record["step"]))
        for name, table in self._pending.items():
            if table != self._shown.get(name):
                self._show(name, table, record["step"])
        self._close(record.get("summary"))

    def _show(self, name: str, table: MeaningTable, step: int) -> None:
        self._shown[name] = table
        self._try(lambda tracker: tracker.show(name, table, step))

    def _close(self, summary: str | None) -> None:
        if self._tracker is not None:
            self._try(lambda tracker: tracker.close(summary))
        self._broken = True

    def _try(self, do: Callable[[Tracker], None]) -> None:
        if self._broken:
            return
        try:
            if self._tracker is None:
                self._tracker = self._make()
            do(self._tracker)
        except Exception as error:
            self._broken = True
            said = " ".join(str(error).split()) or type(error).__name__
            self._notify(f"{self._name} takes no more numbers, training goes on: {said}")


def _words(table: MeaningTable) -> list[tuple[str | float, ...]]:
    """Returns the meanings of a table, without their probabilities."""
    return [row[:2] for row in table.rows]


class _TensorBoard:
    """A warm-up is a run of its own there, in a folder below: what a run that goes on takes back is
    all that came after a step, and an epoch is none."""

    def __init__(self, run: RunFolder) -> None:
        self._folder = run.path / "tensorboard"
        self._writers: dict[Path, Any] = {}

    def send(self, numbers: Mapping[str, float], step: int) -> None:
        self._send(self._folder, numbers, step)

    def warm_up(self, numbers: Mapping[str, float], epoch: int) -> None:
        self._send(self._folder / WARM_UP, numbers, epoch)

    def show(self, name: str, table: MeaningTable, step: int) -> None:
        writer = self._writer(self._folder, step)
        writer.add_text(name, table.markdown, step)
        writer.flush()

    def close(self, summary: str | None) -> None:
        for folder, writer in self._writers.items():
            if summary and folder == self._folder:
                writer.add_text("summary", summary)
            writer.close()

    def _send(self, folder: Path, numbers: Mapping[str, float], step: int) -> None:
        writer = self._writer(folder, step)
        for name, value in numbers.items():
            writer.add_scalar(name, value, step)
        writer.flush()

    def _writer(self, folder: Path, step: int) -> Any:
        if folder not in self._writers:
            from tensorboardX import SummaryWriter

            # What a run that was killed wrote beyond its last checkpoint is taken back.
            self._writers[folder] = SummaryWriter(
                str(folder), purge_step=step, filename_suffix=f".{step:06d}"
            )
        return self._writers[folder]


class _WandB:
    """Names are drawn over `step`, those of a warm-up over its epochs; W&B's own count of what was
    logged, which never goes back, is left to it."""

    def __init__(self, run: RunFolder) -> None:
        import wandb

        info = run.info()
        known = _known(run).get("wandb")
        self._run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", "gamedsl"), dir=str(run.path), id=known,
            name=run.path.name, group=info["game"], resume="allow" if known else None,
            config={**run.settings(), "game": info["game"], "hash": info["hash"]},
            settings=wandb.Settings(silent=True, console="off"),
        )  # fmt: skip
        _remember(run, "wandb", self._run.id)
        self._drawn: set[str] = set()

    def send(self, numbers: Mapping[str, float], step: int) -> None:
        self._log(numbers, "step", step)

    def warm_up(self, numbers: Mapping[str, float], epoch: int) -> None:
        self._log(numbers, f"{WARM_UP}/epoch", epoch)

    def show(self, name: str, table: MeaningTable, step: int) -> None:
        import wandb

        made = wandb.Table(columns=list(table.columns), data=[list(row) for row in table.rows])
        self._run.log({f"{name}/table": made, "step": step})

    def _log(self, numbers: Mapping[str, float], axis: str, at: int) -> None:
        heads = {f"{name.partition('/')[0]}/*" if "/" in name else name for name in numbers}
        if axis not in self._drawn:
            self._run.define_metric(axis)
        for head in sorted(heads - self._drawn):
            self._run.define_metric(head, step_metric=axis)
        self._drawn |= {axis, *heads}
        self._run.log({**numbers, axis: at})

    def close(self, summary: str | None) -> None:
        if summary:
            self._run.summary["told"] = summary
        self._run.finish()


class _MLflow:
    def __init__(self, run: RunFolder) -> None:
        from mlflow import MlflowClient

        beside = (run.path.resolve().parent / "mlruns").as_uri()
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # folders are out of favour
        self._client = MlflowClient(os.environ.get("MLFLOW_TRACKING_URI", beside))
        self._id: str = _known(run).get("mlflow") or self._begin(run)

    def _begin(self, run: RunFolder) -> str:
        info = run.info()
        experiment = self._client.get_experiment_by_name(info["game"])
        if experiment is None:
            number = self._client.create_experiment(info["game"])
        else:
            number = experiment.experiment_id
        begun: str = self._client.create_run(number, run_name=run.path.name).info.run_id
        for name, value in (*flat_settings(run.settings()), ("hash", info["hash"])):
            self._client.log_param(begun, name, value)
        _remember(run, "mlflow", begun)
        return begun

    def send(self, numbers: Mapping[str, float], step: int) -> None:
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        metrics = [Metric(_plain(name), value, now, step) for name, value in numbers.items()]
        for first in range(0, len(metrics), 1000):
            self._client.log_batch(self._id, metrics[first : first + 1000])

    def warm_up(self, numbers: Mapping[str, float], epoch: int) -> None:
        self.send(numbers, epoch)  # each name has an axis of its own

    def show(self, name: str, table: MeaningTable, step: int) -> None:
        file = f"{_plain(name).replace(':', '_')}/step-{step:06d}.md"
        self._client.log_text(self._id, table.markdown, file)

    def close(self, summary: str | None) -> None:
        if summary:
            self._client.set_tag(self._id, "summary", summary)
        self._client.set_terminated(self._id, "FINISHED" if summary is not None else "KILLED")


TRACKERS: dict[str, tuple[str, Callable[[RunFolder], Tracker]]] = {
    "tensorboard": ("tensorboardX", _TensorBoard),
    "wandb": ("wandb", _WandB),
    "mlflow": ("mlflow", _MLflow),
}
"""What `--log` takes: the package that each needs, and what makes it."""


def require(names: Sequence[str]) -> None:
    """Raises TrainError for a name that is no tracker's, or one whose package is not installed."""
    from importlib.util import find_spec

    from gamedsl.extras import missing

    for name in names:
        if name not in TRACKERS:
            raise TrainError(f"there is no tracker `{name}`", f"--log takes {', '.join(TRACKERS)}")
        package, _ = TRACKERS[name]
        if find_spec(package) is None:
            absent = missing(package, "trackers")
            raise TrainError(absent.fact, absent.fix)


def tracker(name: str, run: RunFolder, notify: Callable[[str], None]) -> Guarded:
    """Returns the observer of a name; it is closed as a context is left."""
    _, make = TRACKERS[name]
    return Guarded(name, lambda: make(run), notify)


def _plain(name: str) -> str:
    """Returns a name of the characters that MLflow takes."""
    return re.sub(r"[^\w\-. :/]", "_", name)[:250]


_LARGEST = 1 << 16
"""Bytes of the file of a run's numbers in trackers."""


def _known(run: RunFolder) -> dict[str, str]:
    """Returns the number of the run in each tracker. Raises TrainError for a damaged file."""
    file: Path = run.path / "trackers.json"
    if not file.exists():
        return {}
    try:
        found = parse(read_bytes(file, limit=_LARGEST))
        if not isinstance(found, dict) or not all(isinstance(n, str) for n in found.values()):
            raise ValueError("it is no map of trackers to runs")
    except (FileRefused, ValueError) as error:
        why = error.reason if isinstance(error, FileRefused) else error
        fix = "delete it, and the tracker begins a new run"
        raise TrainError(f"`{file}` cannot be read: {why}", fix) from error
    return found


def _remember(run: RunFolder, name: str, number: str) -> None:
    text = json.dumps({**_known(run), name: number}, indent=2)
    write_text(run.path / "trackers.json", text + "\n")
