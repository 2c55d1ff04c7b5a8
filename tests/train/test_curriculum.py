"""Levels: one after the other by success, the same after a stop, and held-out ones at the end."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

import gamedsl
from gamedsl.api.training_job import new_job
from gamedsl.diagnostics import CompileError, Problems
from gamedsl.recipe.resolve import parse_overrides, resolve
from gamedsl.training import checkpoint
from gamedsl.training.curriculum import Climb, climb
from gamedsl.training.errors import TrainError
from gamedsl.training.runfolder import create, open_run
from gamedsl.training.success import bounds_of, success
from tests.train.conftest import policy_of, recipe_of, untimed

COPY = """
game: copy
roles: [speaker]
params: {rounds: {default: 1, in: 1..6}, bonus: 0}
turns:
  - repeat: rounds
    count: t
    turns:
      - {role: speaker, choose: word, from: [yes, no]}
      - {pay: payoffs, value: 1 + bonus if word == yes else 0}
"""
PAIR = """
game: pair
roles: [speaker, helper]
params: {rounds: {default: 1, in: 1..6}}
turns:
  - repeat: rounds
    turns:
      - {role: all, choose: word, from: [yes, no]}
      - {pay: payoffs, value: "count(word, yes)"}
claims: common_payoff
"""
NOTES = """
game: notes
roles: {walker: many}
params: {length: {default: 40, in: 1..200}, many: {default: 2, in: 1..4}}
state:
  lessons: {of: text(length), lasts: run}
  diary: {per: role, of: text(9), lasts: run, seen_by: owner}
turns:
  - {show: lessons, as: earlier, if: lessons != none}
  - {role: all, choose: way, from: [left, right]}
  - {each: roles, turns: [{role: me, say: lessons, max_tokens: 30}]}
  - {role: all, say: diary, max_tokens: 30}
payoffs: 1 if way.me == left else 0
on_invalid: {then: forfeit, pay: -1}
"""
PLAN = {
    "curriculum__param": "rounds",
    "curriculum__levels": [1, 2, 3],
    "curriculum__at": 0.9,
    "curriculum__over": 2,
    "games": 64,
    "lr": 8e-4,
    "exploitability": "off",
}


@pytest.fixture
def copy(tmp_path: Path):
    path = tmp_path / "copy.yaml"
    path.write_text(COPY, encoding="utf-8")
    return gamedsl.load(path)


def _climbed(game, folder: Path, recipe, **given):
    policy = policy_of(game, recipe)
    run = create(game, recipe, folder, {}, policy.tokenizer, 1)
    return run, climb(game, recipe, run, policy, load=gamedsl.load, **given)


def test_levels_are_passed_by_success(copy, tmp_path: Path) -> None:
    recipe = recipe_of(copy, steps=30, curriculum__held_out=[4], **PLAN)
    run, outcome = _climbed(copy, tmp_path / "run", recipe)
    assert outcome.finished
    records = run.records()
    assert [record["event"] for record in records] == ["start", *["step"] * 30, "end"]
    steps = records[1:-1]
    levels = [record["level"] for record in steps]
    assert levels == sorted(levels)
    assert set(levels) == {1, 2, 3}
    for level in (1, 2):
        first, last = levels.index(level), levels.index(level + 1) - 1
        assert last > first
        reached = [record["success"] for record in steps[first : last + 1]]
        assert (reached[-1] + reached[-2]) / 2 >= 0.9
        means = [(a + b) / 2 for a, b in pairwise(reached[:-1])]
        assert all(mean < 0.9 for mean in means)
    # A mean payoff of 1 a round is all there is.
    assert steps[-1]["success"] == pytest.approx(steps[-1]["payoff"]["speaker"] / 3)
    held_out = records[-1]["held_out"]["4"]
    assert held_out["success"] == pytest.approx(held_out["payoff"]["speaker"] / 4)


def test_success_is_counted_level_by_level(copy) -> None:
    """By its own steps alone; the last one is not left, and a stop loses nothing."""
    recipe = recipe_of(copy, **PLAN)
    games = {n: gamedsl.load(copy.files[0], params={"rounds": n}) for n in (1, 2, 3)}
    reached, levels = Climb(recipe, games), []
    # Of one round, then of two, then of three.
    for step, payoff in enumerate((0.5, 1, 1, 1.9, 1.6, 1.8, 1.9, 3, 3, 3), 1):
        after = Climb(recipe, games)
        after.restore(reached.state())
        reached = after
        levels.append(reached.see({"step": step, "payoff": {"speaker": payoff}})["level"])
    assert levels == [1, 1, 1, 2, 2, 2, 2, 3, 3, 3]


def test_curriculum_stays_until_level_is_passed(copy, tmp_path: Path) -> None:
    recipe = recipe_of(copy, steps=12, **PLAN | {"lr": 1e-9})
    run, outcome = _climbed(copy, tmp_path / "run", recipe)
    assert outcome.finished
    assert {record["level"] for record in run.records()[1:-1]} == {1}


@pytest.mark.parametrize("stop", [3, 9])
def test_levels_go_on_after_a_stop(copy, tmp_path: Path, stop: int) -> None:
    """In the middle of a level, and in a later one."""
    recipe = recipe_of(copy, steps=14, checkpoint_every=100, **PLAN)
    whole, _ = _climbed(copy, tmp_path / "whole", recipe)
    parts, _ = _climbed(copy, tmp_path / "parts", replace(recipe, steps=stop))
    assert climb(copy, recipe, parts, policy_of(copy, recipe), load=gamedsl.load).finished
    assert untimed(parts.records()) == untimed(whole.records())
    kept = [checkpoint.latest(run).parts["curriculum"] for run in (parts, whole)]
    assert kept[0] == kept[1]
    assert kept[0]["number"] > 0


def test_no_level_begins_behind_the_last_step(tmp_path: Path) -> None:
    """What the end says is of the level that was played, resumed behind the last step or not; with
    more steps, the next level comes."""
    path = tmp_path / "pair.yaml"
    path.write_text(PAIR, encoding="utf-8")
    pair = gamedsl.load(path)
    recipe = recipe_of(pair, steps=12, checkpoint_every=100, **PLAN | {"curriculum__at": 0.1})
    whole, _ = _climbed(pair, tmp_path / "whole", recipe)
    assert [record["level"] for record in whole.records()[1:-1]][:5] == [1, 1, 2, 2, 3]
    brief = replace(recipe, steps=4)
    ended, _ = _climbed(pair, tmp_path / "ended", brief)
    assert ended.records()[-1]["contributions"]["speaker"]

    def killed(run, tree, end):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _climbed(pair, tmp_path / "short", brief, conclude=killed)
    short = open_run(tmp_path / "short")
    assert climb(pair, brief, short, policy_of(pair, brief), load=gamedsl.load).finished
    assert untimed(short.records()) == untimed(ended.records())
    assert climb(pair, recipe, short, policy_of(pair, recipe), load=gamedsl.load).finished
    assert untimed(short.records()) == untimed(whole.records())


def test_reward_bounds_come_from_plays_or_form() -> None:
    """Of a table, and of a game that is too large to list."""
    game = gamedsl.load("prisoners_dilemma")
    assert bounds_of(game, recipe_of(game)) == {"row": (0, 5), "column": (0, 5)}
    game = gamedsl.load("tic_tac_toe")
    bounds = bounds_of(game, recipe_of(game))
    assert set(bounds.values()) == {(-1, 1)}
    record = {"payoff": dict.fromkeys(bounds, 0.0)}
    assert success(record, bounds) == 0.5


@pytest.mark.parametrize(
    ("param", "levels", "left", "why"),
    [
        ("length", [5, 40, 40, 20], [40, 20],
         "`lessons` holds at most 20 characters, and 40 may be left to it"),
        ("many", [3, 2], [3, 2], "there is no `walker_3`, whose `diary` lasts"),
        ("length", [5, 40], None, ""),
        ("many", [2, 3], None, ""),
    ],
)  # fmt: skip
def test_what_lasts_fits_the_next_level(
    tmp_path: Path, param: str, levels: list[int], left: list[int] | None, why: str
) -> None:
    """Or training would end with an error at some level, where something long was left to it."""
    path = tmp_path / "notes.yaml"
    plan = f"train: {{curriculum: {{param: {param}, levels: {levels}}}}}\n"
    path.write_text(NOTES + plan, encoding="utf-8")
    if left is None:
        assert new_job(path, {}, ()).recipe.curriculum.levels == tuple(levels)
        return
    with pytest.raises(CompileError) as refused:
        new_job(path, {}, ())
    (found,) = refused.value.diagnostics
    before, after = left
    assert found.code == "GD0704"
    assert found.message == f"the level {after} cannot go on from the level {before}: {why}"
    assert (found.span.text, found.span.line) == (str(levels), NOTES.count("\n") + 1)
    assert found.help.startswith("put the levels in another order, or ")
    games = [gamedsl.load(path, params={param: level}) for level in left]
    memory = {"lessons": "a" * 40} if param == "length" else {"diary": {"walker_3": "a"}}
    assert games[0].env().reset(0, memory=memory).memory == memory
    with pytest.raises(ValueError, match="a memory of"):
        games[1].env().reset(0, memory=memory)


def test_what_is_no_curriculum(copy, tmp_path: Path) -> None:
    for texts, codes in (
        (["curriculum={param: round, levels: [1]}"], ["GD0705"]),
        (["curriculum.levels=[1, 2]"], ["GD0704"]),
        (["curriculum={param: rounds, levels: [1, 2], held_out: [2]}"], ["GD0704"]),
        (["curriculum={param: rounds, levels: 3}"], ["GD0702", "GD0704"]),
        (["curriculum={param: rounds, levels: [1, 2]}"], []),
    ):
        problems = Problems()
        resolve(copy.ir, parse_overrides(texts), problems)
        assert [problem.code for problem in problems.found] == codes
    recipe = recipe_of(copy, **PLAN | {"curriculum__levels": [1, 9]})
    with pytest.raises(TrainError, match="rounds=9"):
        _climbed(copy, tmp_path / "run", recipe)
