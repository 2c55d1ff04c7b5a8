"""`gamedsl sweep`: its runs, their folders, what goes on after a stop, and the table."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from statistics import fmean, stdev
from types import SimpleNamespace
from typing import Any

import pytest
from scipy.stats import t

from gamedsl.api import sweep as sweeps
from gamedsl.api.sweep import (
    Mean,
    Stop,
    SweepOutcome,
    results,
    sweep_of,
    train_all,
    train_on_ray,
    train_run,
)
from gamedsl.cli import main
from gamedsl.policies.budget import BudgetSpent
from gamedsl.policies.cluster import connected
from gamedsl.runs.saved import open_saved
from gamedsl.training.errors import TrainError
from gamedsl.training.interrupt import Interrupt
from tests.evaluate.serving import Reply, options_in, serving
from tests.train.conftest import DILEMMA
from tests.train.test_ray import NEEDS_RAY

SMALL = ("--set", "model=tabular", "--set", "steps=2", "--set", "games=8")


@pytest.fixture
def game_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("dilemma.yaml").write_text(DILEMMA, encoding="utf-8")
    return "dilemma.yaml"


def _sweep(*arguments: str) -> int:
    return main(["sweep", "dilemma.yaml", *SMALL, *arguments])


def test_values_times_seeds(game_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _sweep("--set", "lr=0.1,0.2", "--seeds", "0..1", "--out", "grid") == 0
    out = capsys.readouterr().out
    names = sorted(path.name for path in Path("grid").iterdir() if path.is_dir())
    assert names == ["lr-0.1-seed-0", "lr-0.1-seed-1", "lr-0.2-seed-0", "lr-0.2-seed-1"]
    run = open_saved(Path("grid/lr-0.2-seed-1"))
    assert (run.settings()["lr"], run.settings()["seed"]) == (0.2, 1)
    assert [line.split()[:4] for line in out.splitlines() if "of 2" in line] == [
        ["lr=0.1", "2", "of", "2"], ["lr=0.2", "2", "of", "2"],
    ]  # fmt: skip
    assert "lr 0.1" in Path("grid/sweep.html").read_text(encoding="utf-8")


def test_a_stopped_sweep_goes_on(
    game_file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trained: list[str] = []

    def stopped(run: sweeps.SweepRun) -> Stop | None:
        trained.append(run.name)
        train_run(run)
        return Stop(run, None) if len(trained) == 2 else None

    arguments = ("--seeds", "0,1,2", "--out", "grid")
    with monkeypatch.context() as patch:
        patch.setattr(sweeps, "train_run", stopped)
        assert _sweep(*arguments) == 130
    assert "the same command goes on" in capsys.readouterr().out
    Path("grid/seed-2").mkdir()
    (Path("grid/seed-2") / ".lock").touch()  # killed as it began
    metrics = Path("grid/seed-0/metrics.jsonl")
    before = metrics.stat().st_mtime_ns
    assert _sweep(*arguments) == 0
    out = capsys.readouterr().out
    assert out.count("(was done)") == 2
    assert metrics.stat().st_mtime_ns == before
    assert _sweep("--seeds", "0..3", "--out", "grid") == 0
    assert capsys.readouterr().out.count("(was done)") == 3


def test_a_stopped_run_goes_on(game_file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ["model=tabular", "steps=3", "games=8"]
    found = sweep_of(game_file, {}, settings, [0, 1], Path("grid"))
    with monkeypatch.context() as patch:
        patch.setattr(Interrupt, "asked", property(lambda self: True))
        stopped = train_all(found, print).stop
    assert stopped is not None
    assert stopped.run == found.runs[0]
    assert [run.begun for run in found.runs] == [True, False]
    assert not found.runs[0].ended
    assert train_all(found, print) == SweepOutcome(None)
    assert all(run.ended for run in found.runs)


def test_another_sweep_is_refused(game_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _sweep("--out", "grid") == 0
    assert _sweep("--set", "lr=0.3", "--out", "grid") == 2
    told = capsys.readouterr().err
    assert "`grid` holds another sweep" in told
    assert "other settings" in told
    Path("full").mkdir()
    Path("full/file").touch()
    assert _sweep("--out", "full") == 2
    assert "not empty" in capsys.readouterr().err


def _write_game(train: str) -> None:
    Path("dilemma.yaml").write_text(f"{DILEMMA}train: {train}\n", encoding="utf-8")


@pytest.mark.parametrize("stopped", [False, True])
def test_a_recipe_that_has_changed_is_refused(
    stopped: bool, game_file: str, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Runs that ended, or began, would otherwise be averaged with runs of another recipe."""
    _write_game("{model: tabular, steps: 2, games: 8, lr: 0.01, budget: {calls: 5}}")
    command = ["sweep", "dilemma.yaml", "--out", "grid"]
    with monkeypatch.context() as patch:
        patch.setattr(Interrupt, "asked", property(lambda self: stopped))
        assert main([*command, "--seeds", "1"]) == (130 if stopped else 0)
    metrics = Path("grid/seed-1/metrics.jsonl").read_bytes()
    _write_game("{model: tabular, steps: 4, games: 8, lr: 1.0}")
    assert main([*command, "--seeds", "0,1"]) == 2
    told = capsys.readouterr().err
    assert "`grid/seed-1` began with another recipe" in told
    assert "`steps` was 2 and is 4" in told
    assert "`lr` was 0.01 and is 1.0" in told
    assert "`budget.calls` was" not in told
    assert Path("grid/seed-1/metrics.jsonl").read_bytes() == metrics
    assert not Path("grid/seed-0").exists()
    _write_game("{model: tabular, steps: 2, games: 8, lr: 0.01}")
    assert main([*command, "--seeds", "0,1"]) == 0


def test_values_of_one_folder_name_are_refused(
    game_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _sweep("--set", "reference=runs/a,other", "--out", "grid") == 0
    assert _sweep("--set", "reference=runs-a,other", "--out", "grid") == 2
    assert "`reference` was runs/a and is runs-a" in capsys.readouterr().err


def test_others_go_on_where_a_run_fails(
    game_file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failing(run: sweeps.SweepRun) -> Stop | None:
        if run.name == "lr=0.1, seed=1":
            raise ValueError("no number")
        return train_run(run)

    arguments = ("--set", "lr=0.1,0.2", "--seeds", "0,1", "--out", "grid")
    with monkeypatch.context() as patch:
        patch.setattr(sweeps, "train_run", failing)
        assert _sweep(*arguments) == 1
    told = capsys.readouterr()
    assert "2/4  lr=0.1, seed=1  failed: ValueError: no number" in told.out
    assert "lr=0.1    1 of 2, failed: 1" in told.out
    assert "1 failed: lr=0.1, seed=1\n" in told.err
    assert "lr 0.1" in Path("grid/sweep.html").read_text(encoding="utf-8")
    assert _sweep(*arguments) == 0
    assert capsys.readouterr().out.count("(was done)") == 3


def test_an_interrupted_sweep_ends(game_file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(run: sweeps.SweepRun) -> Stop | None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sweeps, "train_run", interrupted)
    assert _sweep("--seeds", "0,1", "--out", "grid") == 130


def test_budget_spent_at_once_is_no_failure(
    game_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by an expert that is asked before the first step."""
    spent = BudgetSpent("calls", 10, "endpoints", "more {}")

    def spending(*given: Any, **more: Any) -> None:
        raise spent

    monkeypatch.setattr(sweeps, "run_job", spending)
    found = sweep_of(game_file, {}, ["model=tabular"], [0, 1], Path("grid"))
    assert train_all(found, print) == SweepOutcome(Stop(found.runs[0], spent))


def test_steps_that_vary_are_apart_on_the_page(game_file: str) -> None:
    command = ["sweep", "dilemma.yaml", "--set", "model=tabular", "--set", "games=8"]
    assert main([*command, "--set", "steps=1,3", "--seeds", "0,1", "--out", "grid"]) == 0
    page = Path("grid/sweep.html").read_text(encoding="utf-8")
    assert page.count("mean of 2 seeds") == 2
    assert "mean of 4 seeds" not in page


def test_order_of_settings_does_not_matter(
    game_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [("--set", "lr=0.1,0.2"), ("--set", "lora.rank=4,8"), ("--set", "max_change=1")]
    assert _sweep(*chain(*given), "--out", "grid") == 0
    assert _sweep(*chain(*reversed(given)), "--out", "grid") == 0
    assert capsys.readouterr().out.count("(was done)") == 4


def test_a_game_that_has_changed_is_another_sweep(
    game_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Runs that ended would otherwise be averaged with runs of another game."""
    assert _sweep("--out", "grid") == 0
    Path(game_file).write_text(DILEMMA.replace("5, 0 ", "50, 0"), encoding="utf-8")
    assert _sweep("--seeds", "0,1", "--out", "grid") == 2
    assert "this one as it was before" in capsys.readouterr().err


def test_warnings_are_told_once(game_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Values that nothing reads would be compared in vain."""
    assert _sweep("--set", "critic.gae_lambda=0.5,0.9", "--seeds", "0,1", "--out", "grid") == 0
    assert capsys.readouterr().err.count("GD0716") == 1


def test_a_spent_budget_says_how_to_go_on(
    game_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(number: int, body: dict[str, Any]) -> Reply:
        return Reply(options_in(body)[0])

    with serving(answer) as served:
        partner = ("--set", f"roles.column.player=endpoint:{served.url}#m", "--out", "grid")
        assert _sweep(*partner, "--set", "budget.calls=10") == 1
        out = capsys.readouterr().out
        assert "stopped in seed=0: the budget of 10 calls" in out
        assert "same command with --set budget.calls=20 in place of --set budget.calls=10" in out
        assert _sweep(*partner, "--set", "budget.calls=1000") == 0


@pytest.mark.parametrize("varied", [False, True])
def test_what_a_spent_budget_says_can_be_done(
    varied: bool, game_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where the budget is the file's, or varies, so that it names folders."""

    def answer(number: int, body: dict[str, Any]) -> Reply:
        return Reply(options_in(body)[0])

    _write_game("{budget: {calls: 10}}")
    with serving(answer) as served:
        command = ["--set", f"roles.column.player=endpoint:{served.url}#m", "--out", "grid"]
        command += ["--set", "budget.calls=10,9999"] if varied else []
        assert _sweep(*command) == 1
        said = capsys.readouterr().out
        if varied:
            found = re.search("go on with gamedsl (.*)\nand then with the same command", said)
            assert found is not None
            assert main(shlex.split(found[1].replace("=20", "=9999"))) == 0
            assert _sweep(*command) == 0
        else:
            assert "the same command and --set budget.calls=20," in said
            assert _sweep(*command, "--set", "budget.calls=9999") == 0


def test_a_run_that_has_learned_is_not_removed(
    game_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _sweep("--out", "grid") == 0
    Path("grid/seed-0/run.json").unlink()
    assert _sweep("--seeds", "0,1", "--out", "grid") == 1
    told = capsys.readouterr()
    assert "has lost its run.json" in told.out
    assert "1 failed: seed=0" in told.err
    assert Path("grid/seed-1/run.json").exists()
    assert Path("grid/seed-0/metrics.jsonl").exists()


def test_long_names_end_in_a_hash(game_file: str) -> None:
    settings = [f"model={'a' * 200},{'a' * 199}b"]
    found = sweep_of(game_file, {}, settings, [0], Path("grid"))
    names = {run.folder.name for run in found.runs}
    assert len(names) == 2
    assert max(map(len, names)) <= sweeps.LONGEST_NAME


def test_problems_come_before_training(game_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _sweep("--set", "lr=0.1,-1", "--out", "grid") == 1
    assert "GD0703" in capsys.readouterr().err
    assert not Path("grid").exists()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--seeds", "0..x"), "--seeds 0..x"),
        (("--seeds", "1,0..2"), "named twice"),
        (("--set", "lr"), "--set lr"),
        (("--set", "lr=0.1,0.1"), "named twice"),
        (("--set", "lr=0.1", "--set", "lr=0.2"), "write lr=A,B"),
        (("--set", "seed=1,2"), "`--seeds`"),
        (("--set", "lr=" + ",".join(map(str, range(1, 102))), "--seeds", "0..99"), "10,100 runs"),
        (("--set", "roles.row.model=tiny,nowhere"), "no model is called `nowhere`"),
        (("--cluster", "moon"), "argument --cluster: `moon` is neither"),
    ],
)
def test_requests_that_cannot_be_meant(
    arguments: tuple[str, ...], problem: str, game_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _sweep(*arguments) == 2
    assert problem in capsys.readouterr().err


def test_commas_inside_brackets_stay(game_file: str) -> None:
    given = ["learn.order=[row, col],[col, row]", "labels={a: '1,2'}"]
    found = sweep_of(game_file, {}, given, [0], Path("x"))
    assert [run.varied for run in found.runs] == [
        ("learn.order=[row, col]",), ("learn.order=[col, row]",)
    ]  # fmt: skip


def test_interval_is_students() -> None:
    values = [1.0, 2.0, 4.0]
    found = Mean.of(values)
    low, high = t.interval(0.95, 2, fmean(values), stdev(values) / 3**0.5)
    assert found.half is not None
    assert (found.mean - found.half, found.mean + found.half) == pytest.approx((low, high))
    assert str(Mean.of([0.5])) == "0.5"


def test_table_counts_runs_that_ended(game_file: str) -> None:
    settings = ["model=tabular", "steps=1", "games=8", "lr=0.1,0.2"]
    found = sweep_of(game_file, {}, settings, [0, 1], Path("grid"))
    assert train_run(found.runs[0]) is None
    table = results(found)
    assert [row[:2] for row in table.rows] == [("lr=0.1", "1 of 2"), ("lr=0.2", "0 of 2")]
    assert table.rows[1][2:] == ("",) * (len(table.columns) - 2)


def _record(
    capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0
) -> tuple[dict[str, Any], str]:
    """Returns what a sweep prints as JSON, and what it says beside it."""
    capsys.readouterr()
    assert _sweep("--set", "lr=0.1,0.2", "--out", "grid", "--format", "json", *arguments) == code
    told = capsys.readouterr()
    return json.loads(told.out), told.err


def test_json_has_what_the_table_has(game_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    record, told = _record(capsys, "--seeds", "0,1")
    assert "4/4  lr=0.2, seed=1" in told
    assert f"page: {Path('grid/sweep.html')}" in told
    assert (record["format"], record["game"], record["stopped"]) == (sweeps.FORMAT, "dilemma", None)
    assert record["settings"] == {"model": "tabular", "steps": "2", "games": "8"}
    assert [group["settings"] for group in record["groups"]] == [{"lr": "0.1"}, {"lr": "0.2"}]
    settings = ["model=tabular", "steps=2", "games=8", "lr=0.1,0.2"]
    table = results(sweep_of(game_file, {}, settings, [0, 1], Path("grid")))
    heads = [column.head for column in table.columns]
    for row, group in zip(table.rows, record["groups"], strict=True):
        rewards = {f"reward of {role}": found for role, found in group["reward"].items()}
        found = {"exploitability": group["exploitability"], **rewards}
        assert list(found) == heads[2:]
        for shown, (name, one) in zip(row[2:], found.items(), strict=True):
            low, high = one["interval"]
            assert str(Mean(one["value"], (high - low) / 2)) == shown
            values = [run["exploitability"] for run in group["runs"]]
            if name == "exploitability":
                assert one["value"] == pytest.approx(fmean(values))
        assert [(run["seed"], run["ended"], run["failed"]) for run in group["runs"]] == [
            (0, True, None), (1, True, None),
        ]  # fmt: skip
    assert _record(capsys, "--seeds", "0,1", "--dry-run")[0] == record


def test_json_of_one_seed_has_no_interval(
    game_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (group, _) = _record(capsys)[0]["groups"]
    (run,) = group["runs"]
    one = {"value": run["exploitability"], "interval": None, "interval_kind": "one seed"}
    assert group["exploitability"] == one


def test_json_says_what_failed_and_where_it_stopped(
    game_file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failing(run: sweeps.SweepRun) -> Stop | None:
        if run.name == "lr=0.1, seed=1":
            raise ValueError("no number")
        return Stop(run, None) if run.name == "lr=0.2, seed=1" else train_run(run)

    monkeypatch.setattr(sweeps, "train_run", failing)
    record, told = _record(capsys, "--seeds", "0,1", code=130)
    assert record["stopped"] == {"run": "lr=0.2, seed=1", "fact": "a signal"}
    assert "the same command goes on" in told
    runs = [run for group in record["groups"] for run in group["runs"]]
    assert [run["failed"] for run in runs] == [None, "ValueError: no number", None, None]
    assert [run["ended"] for run in runs] == [True, False, True, False]
    assert (runs[1]["exploitability"], runs[1]["reward"]) == (None, {})


def test_dry_run_lists_runs(game_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _sweep("--set", "lr=0.1,0.2", "--dry-run") == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--set", "lr=0.1,-1"), 1),
        (("--set", "stps=2,3"), 1),
        (("--param", "x=1,2"), 1),
        (("--set", "roles.row.model=tiny,tinny"), 1),
        (("--set", "roles.row.model=tiny,nowhere"), 2),
        (("--out", "."), 2),
    ],
)
def test_dry_run_refuses_what_would_not_train(
    arguments: tuple[str, ...], code: int, game_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _sweep(*arguments) == code
    told = capsys.readouterr()
    assert _sweep(*arguments, "--dry-run") == code
    assert capsys.readouterr() == told


def _fake_ray() -> SimpleNamespace:
    """Returns what a sweep uses of Ray, in this process."""

    class RayError(Exception):
        cause: Exception

    def remote(**options: Any) -> Callable[[Any], SimpleNamespace]:
        return lambda function: SimpleNamespace(remote=lambda run: lambda: function(run))

    def get(reference: Callable[[], Any]) -> Any:
        try:
            return reference()
        except Exception as error:
            raised = RayError(str(error))
            raised.cause = error
            raise raised from error

    return SimpleNamespace(
        cluster_resources=dict,
        remote=remote,
        wait=lambda asked, num_returns: (asked[:1], asked[1:]),
        get=get,
        cancel=lambda reference: None,
        exceptions=SimpleNamespace(RayError=RayError),
    )


def test_a_cluster_goes_on_after_runs_that_fail(
    game_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stops: list[str] = []

    def failing(run: sweeps.SweepRun) -> Stop | None:
        stopped = train_run(run)
        if run.seed == 0:
            raise TrainError("the fact", "the way")
        if run.seed == 1:
            stops.append(run.name)
            return Stop(run, None)
        return stopped

    monkeypatch.setattr(sweeps, "train_run", failing)
    monkeypatch.setattr("gamedsl.policies.cluster.connected", lambda address: _fake_ray())
    settings = ["model=tabular", "steps=1", "games=8"]
    found = sweep_of(game_file, {}, settings, [0, 1, 2], Path("grid"))
    lines: list[str] = []
    outcome = train_on_ray(found, None, lines.append)
    assert outcome.stop is None
    assert [one.run for one in outcome.failures] == list(found.runs[:2])
    assert len(stops) == sweeps.MOST_STOPS + 1
    assert sorted(line.partition("  ")[2] for line in lines) == [
        "seed=0  failed: the fact\n  fix: the way",
        "seed=1  failed: its process was told to end 6 times",
        "seed=2",
    ]


class TestCluster:
    """Runs side by side on a real cluster."""

    pytestmark = NEEDS_RAY

    def test_runs_are_those_of_one_process(
        self,
        game_file: str,
        tmp_path_factory: pytest.TempPathFactory,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """Its processes work in another folder than the one that the command is given in."""
        import ray

        assert _sweep("--seeds", "0,1", "--out", "here") == 0
        if ray.is_initialized():
            ray.shutdown()
        with monkeypatch.context() as context:
            context.chdir(tmp_path_factory.mktemp("elsewhere"))
            connected(None)
        here = capsys.readouterr().out
        try:
            assert _sweep("--seeds", "0,1", "--out", "there", "--cluster", "ray") == 0
        finally:
            ray.shutdown()
        rows = [line for line in here.splitlines() if "2 of 2" in line]
        assert rows
        assert set(rows) <= set(capsys.readouterr().out.splitlines())

    def test_a_run_that_fails_says_why(
        self, game_file: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        import ray

        assert _sweep("--out", "grid") == 0
        Path("grid/seed-0/metrics.jsonl").write_text("{", encoding="utf-8")
        capsys.readouterr()
        try:
            assert _sweep("--seeds", "0,1", "--out", "grid", "--cluster", "ray") == 1
        finally:
            ray.shutdown()
        told = capsys.readouterr()
        assert "seed=0  failed: " in told.out
        assert "metrics.jsonl" in told.out
        assert "1 failed: seed=0" in told.err
        assert Path("grid/seed-1/adapters").exists()
