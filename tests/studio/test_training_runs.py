"""Runs that pages start and stop: child processes below the studio's folder, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gamedsl.mcp.refusal import Refused
from gamedsl.storage.shipped import shipped_folder
from gamedsl.studio.folders import Folders
from gamedsl.studio.training_runs import MOST_RUNNING, TrainingRuns
from tests.studio.client import Client, running

GAME = shipped_folder() / "games" / "stag_hunt.yaml"


class Child:
    """A process that does nothing but keep what it was started with."""

    started: list[tuple[list[str], dict[str, Any]]] = []

    def __init__(self, command: list[str], **how: Any) -> None:
        self.started.append((command, how))
        self.code: int | None = None
        self.signals: list[int] = []

    def poll(self) -> int | None:
        return self.code

    def send_signal(self, number: int) -> None:
        self.signals.append(number)

    def wait(self, seconds: float | None = None) -> int:
        self.code = 130
        return self.code


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TrainingRuns]:
    monkeypatch.setattr(Child, "started", [])
    monkeypatch.setattr(subprocess, "Popen", Child)
    found = TrainingRuns(Folders((tmp_path.resolve(),)))
    yield found
    found.close()


def start(runs: TrainingRuns, **given: str) -> Any:
    filled = {"model": "tabular", "steps": "3", "seed": "1", **given}
    return runs.start(str(GAME), {"players": "3"}, **filled)


def test_the_command_is_that_of_the_form(runs: TrainingRuns, tmp_path: Path) -> None:
    run = start(runs)
    assert run.folder == tmp_path.resolve() / "runs" / "stag_hunt-tabular-1-1"
    ((command, how),) = Child.started
    assert command == [
        sys.executable, "-m", "gamedsl", "train", str(GAME), "--param", "players=3",
        "--model", "tabular", "--steps", "3", "--seed", "1", "--out", str(run.folder),
        "--format", "json",
    ]  # fmt: skip
    assert how["cwd"] == tmp_path.resolve()
    assert start(runs).folder != run.folder


def test_endpoints_are_those_of_the_command_line(tmp_path: Path, runs: TrainingRuns) -> None:
    start(runs)
    assert "--allow-endpoint" not in Child.started[-1][0]
    allowed = TrainingRuns(Folders((tmp_path,)), addresses=("http://127.0.0.1:8000/v1",))
    start(allowed)
    allowed.close()
    assert Child.started[-1][0][-2:] == ["--allow-endpoint", "http://127.0.0.1:8000/v1"]


@pytest.mark.parametrize(
    "given",
    [{"model": "owner/model"}, {"model": "--set"}, {"steps": "-1"}, {"steps": "1e9"},
     {"seed": "99999999999"}, {"steps": "٣"}],
)  # fmt: skip
def test_other_settings_are_refused(given: dict[str, str], runs: TrainingRuns) -> None:
    with pytest.raises(Refused):
        start(runs, **given)
    assert Child.started == []


def test_a_run_is_interrupted_once(runs: TrainingRuns, tmp_path: Path) -> None:
    run = start(runs)
    runs.stop(run.folder)
    runs.stop(run.folder)
    assert (run.process.signals, run.state) == ([2], "stopping")
    run.process.code = 130
    assert run.state == "stopped"
    with pytest.raises(Refused, match="does not run here"):
        runs.stop(run.folder)
    with pytest.raises(Refused, match="does not run here"):
        runs.stop(tmp_path)


def test_few_runs_train_at_once(runs: TrainingRuns) -> None:
    for _ in range(MOST_RUNNING):
        start(runs)
    with pytest.raises(Refused, match="train already"):
        start(runs)
    assert len(Child.started) == MOST_RUNNING


def test_pages_refuse_what_lies_outside(owner: Client, tmp_path: Path) -> None:
    shutil.copy(GAME, tmp_path / "outside.yaml")
    outside = owner.post("/train", {"file": str(tmp_path / "outside.yaml")})
    assert (outside.status, "is not read" in outside.text) == (400, True)
    for page in ("/run/stop", "/run/resume"):
        assert owner.post(page, {"folder": str(tmp_path)}).status == 400
        assert owner.post(page, {"folder": "."}).status == 400
    assert "Started here" not in owner.get("/runs").text


@pytest.mark.parametrize("page", ["/train", "/run/stop", "/run/resume"])
def test_strangers_start_and_stop_nothing(page: str, owner: Client, stranger: Client) -> None:
    assert stranger.post(page, {"file": "stag_hunt", "folder": "."}).status == 403
    foreign = owner.post(page, {"file": "stag_hunt"}, Origin="http://elsewhere.example")
    assert foreign.status == 403


def test_the_form_offers_models(owner: Client) -> None:
    assert ("/train?file=stag_hunt", "Train") in owner.get("/game?file=stag_hunt").links
    form = owner.get("/train?file=stag_hunt").form("/train")
    assert {"", "tabular", "tiny"} <= set(form.choices["model"])
    assert set(form.fields) >= {"file", "steps", "seed"}


def until(client: Client, page: str, text: str) -> str:
    """Opens a page until it has a text."""
    for _ in range(600):
        found = client.get(page)
        if text in found.text.replace(" :", ":"):
            return found.html
        time.sleep(0.2)
    raise AssertionError(found.text)


@pytest.mark.slow
def test_a_run_is_started_stopped_and_resumed(tmp_path: Path) -> None:
    with running(tmp_path) as address, Client(address) as client:
        form = client.get("/train?file=stag_hunt").form("/train")
        given = {"file": form.fields["file"], "model": "tabular", "steps": "900000", "seed": "3"}
        assert "Started here" in client.post("/train", given).text
        folder = tmp_path / "runs" / "stag_hunt-tabular-3-1"
        page = f"/run?folder={folder}"
        until(client, "/runs", "stag_hunt-tabular-3-1: running")
        while not (folder / "metrics.jsonl").is_file():
            time.sleep(0.2)
        until(client, page, "Stop this run")
        client.post("/run/stop", {"folder": str(folder)})
        until(client, page, "Go on with this run")
        until(client, "/runs", "stag_hunt-tabular-3-1: stopped")
        client.post("/run/resume", {"folder": str(folder)})
        until(client, "/runs", "stag_hunt-tabular-3-1: running")
        wrong = {**given, "param.nosuch": "1"}
        client.post("/train", wrong)
        assert "nosuch" in until(client, "/runs", "failed")
