"""Who learns when: a role that does not learn stays as it is, under every method; rotation goes
round where it must; and the weakest is who adds least."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from gamedsl.diagnostics import Problems
from gamedsl.recipe.resolve import parse_overrides, resolve
from gamedsl.training import checkpoint
from gamedsl.training.contributions import shapley, shapley_of_orders
from gamedsl.training.loop import train
from gamedsl.training.schedule import Schedule
from tests.train.conftest import DILEMMA, policy_of, recipe_of, run_of, untimed

TRIO = """
game: trio
roles: [first, second, third]
actions: [right, wrong]
protocol: simultaneous
payoffs: 1 if move.me == right else 0
"""
CHASE = """
game: chase
roles: [matcher, hider]
actions: [heads, tails]
protocol: simultaneous
payoffs: 1 if (move.matcher == move.hider) == (me == matcher) else -1
"""


def test_who_learns_has_a_seat_against_opponents(compiled, tmp_path: Path) -> None:
    """The policy has one seat against an opponent: one of the role whose turn it is."""
    game = compiled(DILEMMA)
    recipe = recipe_of(
        game, adapters="per_role", learn__who="rotate", learn__every=1,
        learn__order=["column", "row"], opponents={"random": 1}, games=8, group_size=8, steps=4,
        lr=0.05,
    )  # fmt: skip
    run, _ = run_of(game, recipe, tmp_path / "run")
    steps = run.records()[1:-1]
    assert [step["learning"] for step in steps] == [["column"], ["row"]] * 2
    assert all(step["sequences"] > 0 for step in steps)


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("grpo", {"weight_decay": 0.1, "entropy": 0.01}),
        ("magnet", {"betas": [0.9, 0.99]}),
        ("project", {"project__fitter": "newton"}),
        ("project", {"project__fitter": "adam", "betas": [0.9, 0.99]}),
    ],
)
def test_held_role_adapter_is_bit_identical(
    compiled, tmp_path: Path, method: str, settings: dict
) -> None:
    """With momentum, decay and a magnet at work on the other."""
    game = compiled(DILEMMA)
    given = {"adapters": "per_role", "games": 64, "checkpoint_every": 1, "keep_checkpoints": 9}
    turns = {"learn__who": "rotate", "learn__every": 2, "learn__order": ["column", "row"]}
    recipe = recipe_of(game, model="tiny", method=method, steps=4, **given, **turns, **settings)
    run, _ = run_of(game, recipe, tmp_path / "run")
    states = [torch.load(path, weights_only=True)["adapters"] for path in checkpoint.steps(run)]
    learners = ("column", "column", "row", "row")
    for (before, after), learner in zip(pairwise(states), learners, strict=True):
        for role in ("row", "column"):
            same = all(torch.equal(before[role][key], after[role][key]) for key in before[role])
            assert same == (role != learner)
    told = [record["learning"] for record in run.records() if record["event"] == "step"]
    assert told == [[learner] for learner in learners]


def test_turns(compiled) -> None:
    game = compiled(TRIO)
    recipe = recipe_of(game, adapters="per_role", learn__who="rotate", learn__every=2)
    schedule = Schedule(game.ir, recipe)
    turns = ["first", "first", "second", "second", "third", "third", "first"]
    assert [schedule.learns(step) for step in range(1, 8)] == [{role} for role in turns]
    assert schedule.frozen(3) == {"first", "third"}
    order = ("third", "first", "third", "second")
    schedule = Schedule(game.ir, replace(recipe, learn=replace(recipe.learn, order=order)))
    assert [schedule.learns(step) for step in (1, 3, 5, 7, 9)] == [{r} for r in (*order, "third")]


def test_rotation_goes_round_in_a_circle(compiled, tmp_path: Path) -> None:
    """In matching pennies whoever learns goes to its best reply, and the other's turn undoes it;
    with both learning under a magnet play settles at even odds."""
    game = compiled(CHASE)
    start = {"matcher": {"heads": 0.9}, "hider": {"heads": 0.9}}
    given = {"adapters": "per_role", "start": start, "games": 500, "checkpoint_every": 1000}
    turns = {"learn__who": "rotate", "learn__every": 10, "allow": ["rotation"], "entropy": 0.5}
    recipe = recipe_of(game, steps=60, lr=4e-4, exploitability="off", **given, **turns)
    run, _ = run_of(game, recipe, tmp_path / "turns")
    steps = [record for record in run.records() if record["event"] == "step"]
    matcher, hider = (
        [record["policy"][f"{role}:move"]["probs"]["heads"] for record in steps[9::10]]
        for role in ("matcher", "hider")
    )
    assert matcher[0] > 0.9 > 0.1 > hider[1]
    assert hider[5] > 0.9 > 0.1 > matcher[4]
    recipe = recipe_of(game, steps=15, method="project", magnet__weight=[1, 1], **given)
    run, _ = run_of(game, recipe, tmp_path / "together")
    assert run.records()[-2]["exploitability"] < 0.15


def _codes(game, *texts: str) -> list[str]:
    problems = Problems()
    resolve(game.ir, parse_overrides(["adapters=per_role", *texts]), problems)
    return [problem.code for problem in problems.found]


def test_who_is_warned_of_circles(compiled) -> None:
    """Of a table without a pure equilibrium, and of what claims a constant sum and hides something;
    not of the dilemma, nor of a game of constant sum in the open."""
    rotate = "learn.who=rotate"
    assert _codes(compiled(CHASE), rotate) == ["GD0715"]
    assert _codes(compiled(CHASE), "learn.who=weakest") == ["GD0715"]
    assert _codes(compiled(CHASE), rotate, "allow=[rotation]") == []
    assert _codes(compiled(CHASE)) == []
    assert _codes(compiled(DILEMMA), rotate) == []
    turns = """game: turns
roles: [matcher, hider]
claims: zero_sum
turns:
  - {role: matcher, choose: a, from: [heads, tails]}
  - {role: hider, choose: b, from: [heads, tails]}
payoffs: 1 if (a == b) == (me == matcher) else -1
"""
    assert _codes(compiled(turns), rotate) == []
    hidden = turns.replace("turns:\n", "turns:\n  - {draw: c, from: [x, y], seen_by: hider}\n")
    assert _codes(compiled(hidden), rotate) == ["GD0715"]


def test_what_cannot_take_turns(compiled) -> None:
    game = compiled(TRIO)
    assert _codes(game, "learn.who=rotate", "adapters=shared") == ["GD0704"]
    assert _codes(game, "learn.who=rotate", "learn.order=[first, third]") == ["GD0704"]
    assert _codes(game, "learn.who=rotate", "learn.order=[first, second, thrid, third]") == [
        "GD0705"
    ]


def test_shapley_values_by_hand() -> None:
    """One left glove and two right ones: a pair is worth 1 (Shapley's own example)."""

    def pairs(coalition: frozenset[str]) -> Fraction:
        return Fraction("left" in coalition and len(coalition) > 1)

    roles = ["left", "right_1", "right_2"]
    found = shapley(roles, pairs)
    assert found == {"left": Fraction(2, 3), "right_1": Fraction(1, 6), "right_2": Fraction(1, 6)}
    drawn = shapley_of_orders(roles, pairs, np.random.default_rng(0), orders=600)
    assert sum(drawn.values()) == 1
    assert {role: float(value) for role, value in drawn.items()} == pytest.approx(
        {role: float(value) for role, value in found.items()}, abs=0.05
    )


def _weak(compiled, tmp_path: Path, who: str, steps: int = 8):
    """Two roles that are good at the start, and a third that is not."""
    game = compiled(TRIO)
    start = {"first": {"right": 0.95}, "second": {"right": 0.9}, "third": {"right": 0.05}}
    given = {"adapters": "per_role", "learn__who": who, "learn__every": 4, "games": 512}
    recipe = recipe_of(game, start=start, steps=steps, lr=8e-4, checkpoint_every=100, **given)
    return game, recipe, run_of(game, recipe, tmp_path / who)[0]


def test_the_weakest_learns(compiled, tmp_path: Path) -> None:
    """With an order instead, the third would not have had its turn."""
    *_, weakest = _weak(compiled, tmp_path, "weakest")
    *_, rotated = _weak(compiled, tmp_path, "rotate")
    steps = [record for record in weakest.records() if record["event"] == "step"]
    # Random play is right half the time, and each seat's rightness adds up.
    assert steps[0]["contributions"] == pytest.approx(
        {"first": 0.45, "second": 0.4, "third": -0.45}, abs=0.05
    )
    assert [record["learning"] for record in steps] == [["third"]] * 4 + [["second"]] * 4
    assert steps[3]["policy"]["third:move"]["probs"]["right"] > 0.9
    assert rotated.records()[-2]["policy"]["third:move"]["probs"]["right"] < 0.1
    assert sum(weakest.records()[-1]["contributions"].values()) > 1.3


def test_a_measurement_goes_on_after_a_stop(compiled, tmp_path: Path) -> None:
    game, recipe, whole = _weak(compiled, tmp_path, "weakest", 6)
    parts, _ = run_of(game, replace(recipe, steps=3), tmp_path / "parts")
    train(game, recipe, parts, policy_of(game, recipe))
    assert untimed(parts.records()) == untimed(whole.records())
    assert "third" in checkpoint.latest(parts).parts["schedule"]["measured"]
