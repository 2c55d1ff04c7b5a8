"""What is said of the debate is what its committed results hold, of today's game and of topics that
it holds out."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

import gamedsl
from gamedsl.ir.program import Draw, walk_steps

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "benchmarks" / "results").glob("debate-*.json"))
TAUGHT = sorted((ROOT / "benchmarks" / "results").glob("debate_taught-*.json"))
JUDGED = ROOT / "benchmarks" / "results" / "debate_judged-0.json"


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_the_better_placed_side_learns_to_win(file: Path) -> None:
    told: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    game = gamedsl.load("debate_by_rule")
    assert told["hash"] == game.hash, "python benchmarks/debate.py"
    assert told["rows"] == "training"
    held = next(s for s in walk_steps(game.of("held_out").ir.turns) if isinstance(s, Draw))
    assert held.source.values is not None
    topics = {row[0] for row in held.source.values.value}
    for one in (told["before"], told["after"]):
        assert set(one["by_topic"]) <= topics
        assert one["episodes"] >= 200
    assert abs(told["before"]["win_rate"] - 0.5) < 0.05
    assert told["after"]["win_rate"] >= 0.7
    assert told["after"]["interval"][0] >= 0.7
    won, tied, _ = told["after"]["won_tied_lost"]
    assert (won + tied / 2) / told["after"]["episodes"] == pytest.approx(
        told["after"]["win_rate"], abs=1e-3
    )


def test_sides_learn_before_judges_that_were_taught() -> None:
    """Two of three seeds are above their start with intervals that do not meet; none is below."""
    game = gamedsl.load(ROOT / "benchmarks" / "debate_judged.yaml")
    page = " ".join((ROOT / "docs" / "results.md").read_text(encoding="utf-8").split())
    published = (ROOT / "docs" / "published.md").read_text(encoding="utf-8")
    surely, found = 0, [json.loads(file.read_text(encoding="utf-8")) for file in TAUGHT]
    assert [one["seed"] for one in found] == [0, 1, 2]
    for told in found:
        assert (told["hash"], told["rows"]) == (game.hash, "training")
        assert told["recipe"]["roles"]["judge"]["trained"] is False
        before, after = told["before"], told["after"]
        assert before["win_rate"] < after["win_rate"]
        surely += before["interval"][1] < after["interval"][0]
        assert f"{before['win_rate']:.1%} to {after['win_rate']:.1%}" in published
        for one in (before, after):
            low, high = one["interval"]
            assert f"{one['win_rate']:.1%} ({low:.1%} to {high:.1%})" in page
            assert f"| {one['right_verdicts']:.1%} |" in page
        low, high = told["gained"]["interval"]
        assert f"{100 * low:.1f} to {100 * high:.1f}" in page
    assert surely == 2
    gains = [f"{100 * told['gained']['mean']:.0f}" for told in found]
    assert "{}, {} and {} points more than before".format(*gains) in page


def test_all_seeds_of_taught_judges_together(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their intervals before and after do not meet, and the page tells what the command prints."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    debate = importlib.import_module("debate")
    found = debate.together([json.loads(file.read_text(encoding="utf-8")) for file in TAUGHT])
    assert found["before"].high < found["after"].low
    assert found["gained"].low > 0
    monkeypatch.setattr("sys.argv", ["debate.py", "--together", *map(str, TAUGHT)])
    debate.main()
    page = " ".join((ROOT / "docs" / "results.md").read_text(encoding="utf-8").split())
    for line in capsys.readouterr().out.splitlines():
        assert line.partition(": ")[2].partition(" (")[2] in page


def test_sides_and_judges_learn_together() -> None:
    told: dict[str, Any] = json.loads(JUDGED.read_text(encoding="utf-8"))
    game = gamedsl.load(ROOT / "benchmarks" / "debate_judged.yaml")
    assert (told["hash"], told["rows"]) == (game.hash, "training")
    before, after = told["before"], told["after"]
    assert before["win_rate"] + 0.1 < after["win_rate"]
    assert told["gained"]["interval"][0] > 0
    assert after["right_verdicts"] >= 0.8
    page = " ".join((ROOT / "docs" / "results.md").read_text(encoding="utf-8").split())
    for one in (before, after):
        low, high = one["interval"]
        assert f"{one['win_rate']:.1%} ({low:.1%} to {high:.1%})" in page
        assert f"{one['right_verdicts']:.1%}" in page
    low, high = told["gained"]["interval"]
    points = f"{100 * told['gained']['mean']:.0f} points more than before"
    assert f"{points} ({100 * low:.1f} to {100 * high:.1f})" in page


def test_the_page_tells_who_learned_with_another_seed() -> None:
    """Sides win more before the judges of the start; judges decide fewer debates as is due."""
    told = json.loads(JUDGED.with_name("debate_judged-1.json").read_text(encoding="utf-8"))
    page = " ".join((ROOT / "docs" / "results.md").read_text(encoding="utf-8").split())
    for name in ("before", "after", "sides_alone"):
        low, high = told[name]["interval"]
        assert f"{told[name]['win_rate']:.1%} ({low:.1%} to {high:.1%})" in page
    for name in ("before", "judges_alone"):
        assert f"{told[name]['right_verdicts']:.1%}" in page
    low, high = told["gained"]["interval"]
    assert low < 0 < high


def test_the_pages_tell_these_numbers() -> None:
    assert FILES
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    for file in FILES:
        told = json.loads(file.read_text(encoding="utf-8"))
        assert f"benchmarks/results/{file.name}" in page
        for one in (told["before"], told["after"]):
            low, high = one["interval"]
            assert f"{one['win_rate']:.1%} ({low:.1%} to {high:.1%})" in page
