"""`gamedsl sweep`: its runs, their folders, what goes on after a stop, and the table."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest
from scipy.stats import t

from gamedsl.api import sweep as sweeps
from gamedsl.api.sweep import Mean, Stop, results, sweep_of, train_all, train_run
from gamedsl.cli import main
from gamedsl.policies.cluster import connected
from gamedsl.runs.saved import open_saved
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
        stopped = train_all(found, print)
    assert stopped is not None
    assert stopped.run == found.runs[0]
    assert [run.begun for run in found.runs] == [True, False]
    assert not found.runs[0].ended
    assert train_all(found, print) is None
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
        assert "--set budget.calls=20" in out
        assert _sweep(*partner, "--set", "budget.calls=1000") == 0


def test_a_run_that_has_learned_is_not_removed(
    game_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _sweep("--out", "grid") == 0
    Path("grid/seed-0/run.json").unlink()
    assert _sweep("--out", "grid") == 2
    assert "has lost its run.json" in capsys.readouterr().err
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
        (("--set", "roles.row.model=tiny,tinny"), "no model is called `tinny`"),
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
        (("--set", "roles.row.model=tiny,tinny"), 2),
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
            assert _sweep("--seeds", "0", "--out", "grid", "--cluster", "ray") == 2
        finally:
            ray.shutdown()
        told = capsys.readouterr().err
        assert "the run seed=0 failed: " in told
        assert "metrics.jsonl" in told
