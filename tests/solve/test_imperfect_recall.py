"""Games in which a seat forgets: as trees, and as tables of pure strategies."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest

import gamedsl
from gamedsl.cli import main
from gamedsl.solve import ImperfectRecall, Unfit, expected, imperfect_recall, solve, tabulate
from gamedsl.solve.imperfect_recall import absent_minded, called, strategies, table_of
from tests.writing import DRIVER

DOCS = Path(gamedsl.__file__).parents[1] / "docs"

PENNIES = """
game: two_heads
about: Ann plays both her coins; at the second she has forgotten the first.
roles: [ann, bob]
turns:
  - {role: ann, choose: one, from: [heads, tails], seen_by: owner}
  - {role: ann, choose: two, from: [up, down], knows: nothing, seen_by: owner}
  - {role: bob, choose: guess, from: [left, right]}
payoffs:
  ann: hit
  bob: -hit
let:
  alike: (one == heads) == (two == up)
  hit: -1 if not alike else 1 if (one == heads) == (guess == left) else 0
"""


def game(text: str, folder: Path) -> gamedsl.Game:
    path = folder / "game.yaml"
    path.write_text(text)
    return gamedsl.load(path)


def test_imperfect_recall_tree_needs_request(tmp_path: Path) -> None:
    env = game(DRIVER, tmp_path).env()
    with pytest.raises(ImperfectRecall, match="driver:first"):
        tabulate(env)
    tree = tabulate(env, forgetful=True)
    assert [(s.key, s.step) for s in tree.info_sets] == [("driver:first", "first")]
    assert absent_minded(tree) == "driver"


@pytest.mark.parametrize(("on", "value"), [(0, 0), (1, 1), (Fraction(2, 3), Fraction(4, 3))])
def test_absent_minded_driver_behavioural_value(
    on: Fraction, value: Fraction, tmp_path: Path
) -> None:
    """Going on with probability p is worth 4p(1 - p) + p², at most 4/3 (Piccione and Rubinstein
    1997)."""
    tree = tabulate(game(DRIVER, tmp_path).env(), forgetful=True)
    policy = {"driver:first": {"go": on, "exit": 1 - on}}
    assert expected(tree, policy)["driver"] == value


def test_strategies_are_reduced(tmp_path: Path) -> None:
    text = PENNIES.replace("owner}\n  - {role: bob", "owner, if: one == heads}\n  - {role: bob")
    tree = tabulate(game(text, tmp_path).env(), forgetful=True)
    assert [called(tree, 0, s) for s in strategies(tree, 0, 10)] == ["heads up", "heads down",
                                                                   "tails *"]  # fmt: skip
    assert absent_minded(tree) is None


def test_the_table_of_a_forgetful_game(tmp_path: Path) -> None:
    tree = table_of(tabulate(game(PENNIES, tmp_path).env(), forgetful=True))
    ann, bob = tree.info_sets
    assert ann.actions == ("heads up", "heads down", "tails up", "tails down")
    assert bob.actions == ("left", "right")
    assert [paid[0] for n in tree.terminals for paid in [tree.payoffs[n]]] == [
        1, 0, -1, -1, -1, -1, 0, 1
    ]  # fmt: skip


@pytest.mark.parametrize("method", ["auto", "lp", "cfr+", "qre"])
def test_forgetful_games_are_solved_before_they_begin(method: str, tmp_path: Path) -> None:
    """She must play alike at both, which drawing anew at each would miss half of the time."""
    report = solve(game(PENNIES, tmp_path), method)
    assert report.strategies
    assert "drawn once, before the game" in report.did[0]
    assert report.solution is not None
    assert float(report.solution.values["ann"]) == pytest.approx(0.5, abs=1e-2)
    row = report.solution.policy["ann: before the game"]
    assert float(row["heads up"]) == pytest.approx(0.5, abs=2e-2)
    assert float(row["tails down"]) == pytest.approx(0.5, abs=2e-2)


def test_too_many_strategies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imperfect_recall, "MAX_PROFILES", 7)
    with pytest.raises(Unfit, match=r"forgets its own past, at ann:two.*more than 7"):
        solve(game(PENNIES, tmp_path))


def test_no_policy_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    game(PENNIES, tmp_path)
    kept = tmp_path / "policy.json"
    assert main(["solve", str(tmp_path / "game.yaml"), "--save", str(kept)]) == 2
    assert "strategies for whole plays" in capsys.readouterr().err
    assert not kept.exists()


def test_the_page_shows_the_driver(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    language = (DOCS / "language.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```yaml\n(game: absent_minded_driver\n.*?)```", language, re.DOTALL)
    page = (DOCS / "solve.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"\$ gamedsl solve absent_minded_driver.yaml\n(.*?)…\n", page, re.DOTALL)
    game(text, tmp_path)
    assert main(["solve", str(tmp_path / "game.yaml")]) == 0
    assert capsys.readouterr().out.startswith(shown)
