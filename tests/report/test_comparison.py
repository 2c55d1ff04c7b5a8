"""Several runs on one page, and the command that writes pages."""

from __future__ import annotations

import json
import re
import statistics
from pathlib import Path

import pytest
from runs import write_run
from test_page import Checker, words

from gamedsl.cli import main
from gamedsl.tables.numbers import number
from gamedsl.view.report.comparison import mean_series, run_groups
from gamedsl.view.report.run_data import read_run

STAG = {"hunter_1:move": "stag", "hunter_2:move": "stag"}
HARE = {"hunter_1:move": "hare", "hunter_2:move": "hare"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two seeds of one setting, and a run of another; the second seed was interrupted."""
    root = tmp_path_factory.mktemp("runs")
    made = [
        write_run(root / "one", "stag_hunt", STAG, steps=4),
        write_run(root / "two", "stag_hunt", HARE, steps=3),
        write_run(root / "other", "stag_hunt", STAG, steps=4),
    ]
    recipe = made[1] / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("seed: 3", "seed: 4"))
    metrics = made[1] / "metrics.jsonl"
    metrics.write_text("".join(metrics.read_text().splitlines(keepends=True)[:-1]))
    (made[2] / "recipe.yaml").write_text("model: tiny\nsteps: 4\ngames: 64\nseed: 3\n")
    return made


def test_seeds_of_one_recipe_share_a_line(runs: list[Path]) -> None:
    found = run_groups([read_run(run, with_game=False) for run in runs])
    assert [[run.folder.name for run in line.runs] for line in found] == [["one", "two"], ["other"]]
    assert [line.name for line in found] == ["games 128, lora.rank 8", "games 64"]
    assert [line.tag for line in found] == ["A", "B"]


def test_runs_that_ended_after_other_steps_are_apart(tmp_path: Path) -> None:
    made = [
        write_run(tmp_path / f"{steps}-{seed}", "stag_hunt", STAG, steps=steps)
        for steps in (2, 4) for seed in (0, 1)
    ]  # fmt: skip
    found = run_groups([read_run(run, with_game=False) for run in made])
    assert [line.name for line in found] == ["steps 2", "steps 4"]
    assert [len(line.runs) for line in found] == [2, 2]


def test_line_shows_mean_lowest_and_highest(runs: list[Path]) -> None:
    (line, _) = run_groups([read_run(run, with_game=False) for run in runs])
    series = mean_series(line, 0, [0, 3, 4], lambda record: record["reward"]["hunter_1"])
    one, two = (
        {r["step"]: r["reward"]["hunter_1"] for r in read_run(run, with_game=False).policy_records}
        for run in runs[:2]
    )
    assert series.values[1] == pytest.approx((one[3] + two[3]) / 2)
    assert series.around[1] == pytest.approx((min(one[3], two[3]), max(one[3], two[3])))
    assert series.values[2] == pytest.approx(one[4]), "the shorter run has no step 4"
    assert series.around[2] is None
    assert series.cuts == (3,)
    assert series.name == "A (1 of 2 seeds)"


def test_the_page_of_several_runs(
    runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "all.html"
    assert main(["report", *map(str, runs), "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"report: {out}\n"
    text = out.read_text(encoding="utf-8")
    checker = Checker()
    checker.feed(text)
    assert checker.open == []
    said = words(text)
    assert "gamedsl, 3 runs" in said
    last = json.loads((runs[0] / "metrics.jsonl").read_text().splitlines()[-2])
    assert re.search(rf"one 3 4 {last['exploitability']:.4g}", said)
    course = text.partition("Policy at each decision")[0]
    assert course.count('class="band b0"') >= 2
    assert 'class="band b1"' not in course
    assert "different games" not in said
    assert "setting one two other seed 3 4 3" in said
    assert "steps 4 3 4" in said
    assert "games 128 128 64" in said
    assert "model" not in said.split("All other settings")[1].split("Course of training")[0]
    assert "has no page" in said
    ends = [
        json.loads((run / "metrics.jsonl").read_text().splitlines()[last])
        for run, last in zip(runs, (-2, -1), strict=False)
    ]
    values = [end["exploitability"] for end in ends]
    half = 12.7062 * statistics.stdev(values) / 2**0.5
    mean = f"{number(statistics.fmean(values))} ± {number(half)}"
    seeds = f"mean of 2 seeds ± half its 95% interval {mean}"
    assert re.search(rf"{re.escape(seeds)} \d", said), "the mean of the last fifth stands beside"
    assert text.count("Policy at hunter_1:move") == 2
    assert 'class="cut c0"' in text


def test_runs_are_linked_where_they_have_a_page(runs: list[Path], tmp_path: Path) -> None:
    assert main(["report", str(runs[0])]) == 0
    out = runs[0].parent / "all.html"
    assert main(["report", *map(str, runs), "--out", str(out)]) == 0
    links = re.findall(r'<a href="([^"]+)">the page of one</a>', out.read_text(encoding="utf-8"))
    assert links == ["one/report.html"]
    (runs[0] / "report.html").unlink()


def test_one_run_gets_its_page_anew(runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    page = runs[0] / "report.html"
    page.unlink(missing_ok=True)
    assert main(["report", str(runs[0])]) == 0
    assert page.exists()
    capsys.readouterr()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["nowhere"], "`nowhere` is not a run folder"), (["one", "--out", "x"], "for several runs")],
)
def test_requests_that_are_refused(
    runs: list[Path],
    arguments: list[str],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(runs[0].parent)
    assert main(["report", *arguments]) == 2
    assert says in capsys.readouterr().err
