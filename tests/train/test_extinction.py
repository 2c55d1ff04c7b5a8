"""Alarms for actions that die out, and what lies in an equilibrium range."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gamedsl
from gamedsl.training.loop import train
from gamedsl.training.metrics import PolicyMetrics
from gamedsl.training.monitors.extinction import ExtinctionMonitor, alarm_line, inside
from tests.train.conftest import DILEMMA, policy_of, recipe_of, run_of, untimed


def record(**rows: dict[str, float]) -> dict[str, Any]:
    return {"policy": {key: {"probs": probs} for key, probs in rows.items()}}


def ranges(concept: str = "Nash equilibria", **rows: dict[str, list[list[float]]]) -> Any:
    return {"concept": concept, "of": rows}


BLUFF = ranges(jack={"bet": [[0, 1 / 3]], "check": [[2 / 3, 1]]})


def looks(watch: ExtinctionMonitor, *bets: float) -> list[str]:
    """What the watch says, record by record."""
    rows = [watch.look(record(jack={"bet": p, "check": 1 - p})) for p in bets]
    return [" ".join(alarm["event"] for alarm in row) for row in rows]


def test_extinct_equilibrium_action_raises_one_alarm() -> None:
    watch = ExtinctionMonitor(1e-3, BLUFF)
    assert looks(watch, 0.2, 0.002, 0.0009, 0.0002, 0.0011) == ["", "", "extinct", "", ""]
    assert watch.gone == {("jack", "bet")}
    assert looks(watch, 0.0021, 0.0005) == ["back", "extinct"]


def test_what_no_near_equilibrium_plays_may_go() -> None:
    hunt = ranges(jack={"bet": [[0, 0], [2 / 3, 2 / 3], [1, 1]], "check": [[0, 0], [1, 1]]})
    assert looks(ExtinctionMonitor(1e-3, hunt), 0.5, 0.0001) == ["", ""]
    mixed = ranges(jack={"bet": [[0.4, 0.4]], "check": [[0.6, 0.6]]})
    assert looks(ExtinctionMonitor(1e-3, mixed), 0.5, 0.0001) == ["", "extinct"]


def test_tied_equilibria_require_neither_action() -> None:
    tie = ranges("subgame-perfect equilibria", jack={"bet": [[0, 1]], "check": [[0, 1]]})
    assert looks(ExtinctionMonitor(1e-3, tie), 0.5, 0.0001) == ["", ""]
    best = ranges("subgame-perfect equilibria", jack={"bet": [[1, 1]], "check": [[0, 0]]})
    assert looks(ExtinctionMonitor(1e-3, best), 0.5, 0.0001) == ["", "extinct"]


def test_without_ranges_mixed_losses_raise_alarms() -> None:
    assert looks(ExtinctionMonitor(1e-3, None), 0.5, 0.0001) == ["", "extinct"]
    assert looks(ExtinctionMonitor(1e-3, None), 0.5, 0.1, 0.01, 0.002, 0.0009) == [""] * 5
    assert looks(ExtinctionMonitor(1e-3, None), 0.0001, 0.0001) == ["", ""]


def test_without_ranges_tree_judges_missing_actions() -> None:
    for gain, says in ((0.5, "extinct"), (0.0, "")):
        watch = ExtinctionMonitor(
            1e-3, None, lambda policy, gain=gain: {"jack": {"bet": gain, "check": 0.0}}
        )
        assert looks(watch, 0.5, 0.0001) == ["", says]


def test_a_threshold_of_off_watches_nothing() -> None:
    assert looks(ExtinctionMonitor(None, BLUFF), 0.5, 0.0) == ["", ""]


def test_an_alarm_in_words() -> None:
    (alarm,) = ExtinctionMonitor(1e-3, BLUFF).look(record(jack={"bet": 0.0004, "check": 0.9996}))
    line = "jack: bet has died out, at 0.0004; equilibria play it with 0.00 to 0.33"
    assert alarm_line(alarm) == line


def test_in_range_is_near_an_interval() -> None:
    hunt = ranges(a={"stag": [[0, 0], [0.6, 0.7], [1, 1]], "hare": [[0, 0], [0.3, 0.4], [1, 1]]})
    for stag, fits in ((0.04, True), (0.06, False), (0.56, True), (0.5, False), (0.97, True)):
        policy = record(a={"stag": stag, "hare": 1 - stag})["policy"]
        assert inside(hunt, policy) == {"a": fits}
    assert inside(hunt, {}) == {}


def test_extinct_bluff_is_reported(tmp_path: Path) -> None:
    game = gamedsl.load("kuhn_poker")
    bluff = {"first": {"open": {"bet": 0.02}}}
    recipe = recipe_of(
        game, method="grpo", group_by="deal", steps=14, games=4096, lr=1e-3, start=bluff
    )
    run, _ = run_of(game, recipe, tmp_path / "run")
    start, *steps, _ = run.records()
    jack = start["ranges"]["of"]["first:open [first.card=J]"]
    assert jack["bet"] == [[0, pytest.approx(1 / 3)]]
    alarms = [(r["step"], a) for r in steps for a in r.get("alarms", ())]
    gone = [a for _, a in alarms if a["event"] == "extinct"]
    assert any((a["information_set"], a["action"]) == ("first:open [first.card=J]", "bet")
               for a in gone)  # fmt: skip
    back = sum(a["event"] == "back" for _, a in alarms)
    assert steps[-1]["extinct"] == len(gone) - back > 0
    assert steps[-1]["in_range"]["of"] == len(start["ranges"]["of"]) == 12
    assert steps[-1]["in_range"]["inside"] < 12


def test_a_run_that_goes_on_remembers_its_alarms(tmp_path: Path) -> None:
    """The alarm that was given before the stop is not given again."""
    game = gamedsl.load("kuhn_poker")
    settings = {
        "method": "grpo", "group_by": "deal", "games": 512, "lr": 5e-3, "checkpoint_every": 6,
    }  # fmt: skip
    whole, _ = run_of(game, recipe_of(game, steps=9, **settings), tmp_path / "whole")
    stopped, outcome = run_of(game, recipe_of(game, steps=6, **settings), tmp_path / "stopped")
    assert outcome.finished
    before = [alarm for row in stopped.records() for alarm in row.get("alarms", ())]
    assert before
    recipe = recipe_of(game, steps=9, **settings)
    stopped.write_recipe(recipe)
    train(game, recipe, stopped, policy_of(game, recipe))
    assert untimed(stopped.records()) == untimed(whole.records())


def test_unsolvable_game_has_no_ranges(compiled: Any, tmp_path: Path) -> None:
    game = compiled(DILEMMA)
    run, _ = run_of(game, recipe_of(game, steps=1, exploitability="off"), tmp_path / "run")
    start, step, _ = run.records()
    assert start["ranges"] is None
    assert "in_range" not in step
    assert step["extinct"] == 0


def test_roles_that_are_not_trained_raise_no_alarm() -> None:
    row = {"jack": {"role": "first", "probs": {"bet": 0.0, "check": 1.0}}}
    assert ExtinctionMonitor(1e-3, BLUFF, roles=["second"]).look({"policy": row}) == []
    assert len(ExtinctionMonitor(1e-3, BLUFF, roles=["first"]).look({"policy": row})) == 1


def test_a_level_is_a_game_of_its_own(compiled: Any, tmp_path: Path) -> None:
    """What was seen of another level, whose decisions are others, is not looked at."""
    game = compiled(DILEMMA)
    run, _ = run_of(game, recipe_of(game, steps=1), tmp_path / "run")
    records = [{**record, "level": 2} for record in run.records()[:2]]
    other = {"level": 1, "event": "start", "step": 0, "ranges": BLUFF, **record(jack={"bet": 0.0})}
    env = game.env()
    gauge = PolicyMetrics(env, recipe_of(game))
    gauge.recall([other, *records], 2)
    again = gauge.watched(run.records()[1])
    assert (again["extinct"], again["in_range"]["of"]) == (0, 2)
    gauge.recall([other], 2)
    assert gauge.watched(run.records()[1])["in_range"]["of"] == 2
