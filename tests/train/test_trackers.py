"""Numbers sent to other programs: with the real packages, offline, where they are installed."""

from __future__ import annotations

import re
import struct
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from gamedsl.cli import main
from gamedsl.extras import install_command
from gamedsl.training import trackers
from gamedsl.training.errors import TrainError
from gamedsl.training.runfolder import RunFolder, open_run
from gamedsl.training.trackers import Guarded, MeaningTable, numbers, require, tables, tracker
from tests.train.conftest import DILEMMA, policy_of, recipe_of, run_of

RECORD = {
    "event": "step", "step": 3, "reward": {"row": 1.5, "column": None}, "exploitability": 0.25,
    "policy": {"row:move": {"role": "row", "seat": "row", "step": "move",
                            "probs": {"cooperate": 0.25, "defect": 0.75}}},
    "mapping": {"sender:word": {"types": {"a": {"share": 1.0, "probs": {"x": 1.0}}},
                                "information": 0.5, "entropy": 1.0, "collisions": 0}},
    "alarms": [{"probability": 0.1}], "extinct": 1,
}  # fmt: skip
EPOCH = {"event": "warm_up", "epoch": 1, "loss": 0.5, "held_out_loss": 0.75}


def mapping(*rows: tuple[str, str, float]) -> dict:
    """A step's record in which types have words, each with a probability."""
    types = {kind: {"share": 0.5, "probs": {word: p}} for kind, word, p in rows}
    return {"mapping": {"sender:word": {"types": types}}}


def test_a_record_as_flat_numbers() -> None:
    assert numbers(RECORD) == {
        "reward/row": 1.5, "exploitability": 0.25, "policy/row:move/cooperate": 0.25,
        "policy/row:move/defect": 0.75, "mapping/sender:word/information": 0.5,
        "mapping/sender:word/entropy": 1.0, "mapping/sender:word/collisions": 0.0, "extinct": 1.0,
    }  # fmt: skip


def test_a_mapping_as_a_table() -> None:
    found = tables(mapping(("apple", "x|y", 0.75), ("bell", "x|y", 1.0), ("cup", "z", 0.5)))
    table = found["mapping/sender:word"]
    assert table.rows[0] == ("apple", "x|y", 0.75, 0.5, "yes")
    assert table.rows[2] == ("cup", "z", 0.5, 0.5, "no")
    lines = table.markdown.split("\n")
    assert lines[0] == "| type | word | probability | share of games | word shared |"
    assert lines[2] == r"| apple | x\|y | 0.75 | 0.5 | yes |"
    assert tables({"step": 1}) == {}


class Kept:
    """Keeps what it is sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, dict[str, float]]] = []
        self.warmed: list[tuple[int, dict[str, float]]] = []
        self.shown: list[tuple[int, str, MeaningTable]] = []

    def send(self, numbers: Mapping[str, float], step: int) -> None:
        self.sent.append((step, dict(numbers)))

    def warm_up(self, numbers: Mapping[str, float], epoch: int) -> None:
        self.warmed.append((epoch, dict(numbers)))

    def show(self, name: str, table: MeaningTable, step: int) -> None:
        self.shown.append((step, name, table))

    def close(self, summary: str | None) -> None:
        assert summary


def test_final_measures_are_sent_with_last_step(compiled: Any, tmp_path: Path) -> None:
    game, kept = compiled(DILEMMA), Kept()
    recipe = recipe_of(game, steps=2, contributions="on")
    with Guarded("wandb", lambda: kept, print) as observer:
        run, _ = run_of(
            game, recipe, tmp_path / "run", observers=[observer],
            conclude=lambda run, tree, end: {"summary": "Done."},
        )  # fmt: skip
    assert [step for step, _ in kept.sent] == [1, 2, 2]
    found = run.records()[-1]["contributions"]
    assert kept.sent[-1][1] == {f"contributions/{role}": found[role] for role in ("row", "column")}


def test_tables_are_sent_on_change_and_end() -> None:
    kept = Kept()
    steps = [("x", 0.6), ("x", 0.7), ("z", 0.6), ("z", 0.8)]
    with Guarded("wandb", lambda: kept, print) as observer:
        for number, (word, p) in enumerate(steps, 1):
            record = mapping(("apple", word, p), ("bell", "y", 1.0))
            observer.step({"event": "step", "step": number, **record})
        observer.end({"event": "end", "step": 4, "summary": "Done."})
    assert [(step, table.rows[0][1:3]) for step, _, table in kept.shown] == [
        (1, ("x", 0.6)), (3, ("z", 0.6)), (4, ("z", 0.8))
    ]  # fmt: skip


def test_a_warm_up_is_sent_by_epochs(compiled: Any, tmp_path: Path) -> None:
    game, kept = compiled(DILEMMA), Kept()
    plan = {"expert": "fixed:defect", "games": 8, "epochs": 2, "held_out": 0.5}
    recipe = recipe_of(game, steps=1, **{f"warm_up__{key}": x for key, x in plan.items()})
    with Guarded("wandb", lambda: kept, print) as observer:
        run, _ = run_of(
            game, recipe, tmp_path / "run", observers=[observer],
            conclude=lambda run, tree, end: {"summary": "Done."},
        )  # fmt: skip
    epochs = run.records()[0]["warm_up"]["epochs"]
    assert kept.warmed == [
        (number, {f"warm_up/{name}": x for name, x in epoch.items()})
        for number, epoch in enumerate(epochs, 1)
    ]
    assert len(epochs) == 2


class Broken:
    """Fails from its second step on, and when it is closed."""

    sent = 0

    def send(self, numbers: Mapping[str, float], step: int) -> None:
        self.sent += 1
        if self.sent > 1:
            raise ConnectionError("the server\nis gone")

    def close(self, summary: str | None) -> None:
        raise RuntimeError("closed twice")


@pytest.mark.parametrize("fails", ["later", "at once"])
def test_tracker_errors_do_not_stop_training(compiled: Any, tmp_path: Path, fails: str) -> None:
    game, heard, broken = compiled(DILEMMA), list[str](), Broken()

    def make() -> Broken:
        if fails == "at once":
            raise ValueError("no login")
        return broken

    with Guarded("wandb", make, heard.append) as observer:
        _, outcome = run_of(game, recipe_of(game, steps=4), tmp_path / "run", observers=[observer])
    assert outcome.finished
    assert broken.sent == (2 if fails == "later" else 0)
    why = "the server is gone" if fails == "later" else "no login"
    assert heard == [f"wandb takes no more numbers, training goes on: {why}"]


def test_a_tracker_that_there_is_not() -> None:
    with pytest.raises(TrainError, match="there is no tracker `excel`"):
        require(["excel"])


def test_a_tracker_whose_package_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    install = install_command("trackers")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(TrainError, match=f"wandb is not installed\n.*{re.escape(install)}"):
        require(["wandb"])


def _tracked(name: str, run: RunFolder, steps: range) -> None:
    """Send the numbers of some steps, as a run that begins or goes on."""
    heard = list[str]()
    with tracker(name, run, heard.append) as observer:
        if steps.start == 1:
            observer.warm_up(EPOCH)
            observer.warm_up({**EPOCH, "epoch": 2, "loss": 0.25})
        observer.start({"event": "start", "step": 0})
        for step in steps:
            observer.step({**RECORD, "step": step, "exploitability": 1 / step})
        if steps.stop == 5:
            observer.end({"event": "end", "step": 4, "summary": "All is well."})
    assert heard == []


@pytest.fixture
def run(compiled: Any, tmp_path: Path) -> RunFolder:
    game = compiled(DILEMMA)
    from gamedsl.training.runfolder import create

    recipe = recipe_of(game, steps=4)
    return create(game, recipe, tmp_path / "runs" / "one", {}, policy_of(game, recipe).tokenizer, 1)


def test_tensorboard_reads_what_was_written(run: RunFolder) -> None:
    pytest.importorskip("tensorboardX")
    _tracked("tensorboard", run, range(1, 4))
    _tracked("tensorboard", run, range(3, 5))
    found: dict[int, float] = {}
    for step, purge, values in _events(run.path / "tensorboard"):
        if purge:
            found = {s: v for s, v in found.items() if s < step}
        if "exploitability" in values:
            found[step] = values["exploitability"]
    assert found == pytest.approx({1: 1, 2: 1 / 2, 3: 1 / 3, 4: 1 / 4})
    warmed = {s: v for s, _, v in _events(run.path / "tensorboard" / "warm_up") if v}
    assert {s: v for s, v in warmed.items() if "warm_up/held_out_loss" in v} == {
        1: {"warm_up/held_out_loss": 0.75}, 2: {"warm_up/held_out_loss": 0.75}
    }  # fmt: skip
    told = b"".join(file.read_bytes() for file in (run.path / "tensorboard").glob("events.*"))
    assert b"| a | x | 1 | 1 | no |" in told


def _events(folder: Path) -> Iterator[tuple[int, bool, dict[str, float]]]:
    """The records of TensorBoard's files: length, checksum, event, checksum, again and again."""
    from tensorboardX.proto.event_pb2 import Event, SessionLog

    for file in sorted(folder.glob("events.*")):
        data = file.read_bytes()
        while data:
            (size,) = struct.unpack("<Q", data[:8])
            event = Event.FromString(data[12 : 12 + size])
            data = data[16 + size :]
            values = {v.tag: v.simple_value for v in event.summary.value}
            yield event.step, event.session_log.status == SessionLog.START, values


@pytest.mark.filterwarnings("ignore")
def test_mlflow_keeps_one_run_over_two_sittings(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    _tracked("mlflow", run, range(1, 4))
    _tracked("mlflow", run, range(4, 5))
    client = mlflow.MlflowClient((run.path.parent / "mlruns").as_uri())
    (experiment,) = [e for e in client.search_experiments() if e.name == "dilemma"]
    (kept,) = client.search_runs([experiment.experiment_id])
    assert kept.info.status == "FINISHED"
    assert kept.data.params["lora.rank"] == "16"
    assert kept.data.tags["summary"] == "All is well."
    history = client.get_metric_history(kept.info.run_id, "exploitability")
    assert {m.step: m.value for m in history} == {n: 1 / n for n in range(1, 5)}
    assert kept.data.metrics["policy/row:move/defect"] == 0.75
    warmed = client.get_metric_history(kept.info.run_id, "warm_up/loss")
    assert {m.step: m.value for m in warmed} == {1: 0.5, 2: 0.25}
    (shown,) = client.list_artifacts(kept.info.run_id, "mapping/sender_word")[:1]
    text = Path(client.download_artifacts(kept.info.run_id, shown.path)).read_text()
    assert "| a | x | 1 | 1 | no |" in text


@pytest.mark.filterwarnings("ignore")
def test_wandb_writes_offline(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    _tracked("wandb", run, range(1, 5))
    (file,) = (run.path / "wandb").glob("offline-run-*/run-*.wandb")
    texts = (
        b"mapping/sender:word/information", b"mapping/sender:word/table", b"warm_up/epoch",
        b"warm_up/held_out_loss", b"All is well.", b"dilemma",
    )  # fmt: skip
    until = time.monotonic() + 20  # a process of its own writes, and may end after `finish`
    while not all(text in file.read_bytes() for text in texts) and time.monotonic() < until:
        time.sleep(0.1)
    for text in texts:
        assert text in file.read_bytes()


def test_the_command_sends_numbers_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("tensorboardX")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dilemma.yaml").write_text(DILEMMA, encoding="utf-8")
    asked = ["train", "dilemma.yaml", "--model", "tabular", "--steps", "2", "--format", "concise"]
    assert main([*asked, "--log", "tensorboard", "--out", "run"]) == 0
    (*_, (step, _, values)) = [e for e in _events(tmp_path / "run" / "tensorboard") if e[2]]
    last = open_run(tmp_path / "run").records()[-2]
    assert any(e[2].get("reward/row") for e in _events(tmp_path / "run" / "tensorboard"))
    assert step == last["step"] or "summary" in str(values)
    capsys.readouterr()
    assert main([*asked, "--log", "excel"]) == 2
    assert "--log takes tensorboard, wandb, mlflow" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content", [b"{", b"[]", b'{"wandb": 3}', b'{"wandb": NaN}', b"[" * 9999, b"\xff"]
)
def test_a_damaged_file_of_trackers_is_told(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "trackers.json").write_bytes(content)
    told: list[str] = []
    run = RunFolder(tmp_path)

    def make() -> Any:
        raise AssertionError(trackers._known(run))

    with Guarded("wandb", make, told.append) as guarded:
        guarded.start({})
    (line,) = told
    assert "trackers.json` cannot be read: " in line
    assert "delete it" in line
