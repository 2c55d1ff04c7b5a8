"""Referees that are trained, by a payoff of their own that is none of the game's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from gamedsl.runtime import Game
from gamedsl.runtime.replay import replay
from gamedsl.runtime.transcripts import dump, read
from gamedsl.training.checkpoint import adapters_of
from gamedsl.training.rollout import play
from gamedsl.training.seats import SeatAssignment
from gamedsl.training.sessions import Sessions
from tests.train.in_words import opened, recipe_of, run_of, weighed

POINTED = """
game: pointed
roles: [sender]
referees: {judge: {payoff: 1 if verdict == truth else 0}}
turns:
  - {draw: truth, from: [left, right], seen_by: nobody}
  - {role: sender, choose: said, from: [up, down], seen_by: nobody}
  - {show: truth, as: message}
  - {role: judge, choose: verdict, from: [left, right]}
payoffs: 2 if said == up else 0
prompts:
  rules: "-"
  who: {sender: s, judge: j}
  seen: {message: "{{ choice }}"}
  ask: {said: up or down, verdict: left or right}
train: {roles: {sender: {trained: false}, judge: {trained: true}}}
"""
PANEL = POINTED.replace(
    "{judge: {payoff: 1 if verdict == truth else 0}}",
    "{judge: {seats: 2, payoff: 1 if verdict.me == truth else 0}}",
)
PANEL = PANEL.replace("role: judge", "role: [judge]")  # fmt: skip


def test_referee_payoff_is_none_of_the_games(compiled: Callable[[str], Game]) -> None:
    episode = compiled(POINTED).env().reset(seed=1)
    episode.step({"sender": "up"})
    truth = episode.state.variables["truth"]
    episode.step({"judge": truth})
    assert episode.payoffs == episode.rewards == {"sender": 2}
    assert episode.referee_payoffs == {"judge": 1}
    assert episode.earnings == {"sender": 2, "judge": 1}
    assert episode.fork().referee_payoffs == {"judge": 1}
    assert episode.transcript["referees"] == {"judge": "1"}


def test_each_seat_of_a_panel_is_paid(compiled: Callable[[str], Game]) -> None:
    episode = compiled(PANEL).env().reset(seed=1)
    episode.step({"sender": "up"})
    truth = episode.state.variables["truth"]
    other = {"left": "right", "right": "left"}[truth]
    episode.step({"judge_1": truth, "judge_2": other})
    assert episode.referee_payoffs == {"judge_1": 1, "judge_2": 0}


def test_replay_checks_what_referees_are_paid(compiled: Callable[[str], Game]) -> None:
    game = compiled(POINTED)
    episode = game.env().reset(seed=1)
    episode.step({"sender": "up"})
    episode.step({"judge": "left"})
    text = dump(episode)
    (transcript,) = read(text)
    assert not list(replay(game, transcript).faults)
    head, referees = text.rsplit('"referees"', 1)
    paid = episode.transcript["referees"]["judge"]
    (wrong,) = read(f'{head}"referees"' + referees.replace(paid, "7"))
    assert [fault for fault in replay(game, wrong).faults if "referees" in fault.message]


def test_a_refused_verdict_costs_the_least(compiled: Callable[[str], Game]) -> None:
    env = compiled(POINTED.replace("else 0}}", "else -3}}")).env()
    assert env.cost_of("judge") == -3
    episode = env.reset(seed=1)
    episode.step({"sender": "up"})
    episode.step({"judge": "neither"})
    assert episode.referee_payoffs == {"judge": None}


def test_only_the_referees_adapter_learns(
    compiled: Callable[[str], Game], tmp_path: Path
) -> None:  # fmt: skip
    game = compiled(POINTED)
    recipe = recipe_of(game, steps=1, games=16, baseline="running")
    before = {
        name: {key: one.clone() for key, one in state.items()}
        for name, state in adapters_of(opened(game, recipe)).items()
    }
    run, policy = run_of(game, recipe, tmp_path / "run")
    after = adapters_of(policy)

    def changed(name: str) -> bool:
        return any(not torch.equal(before[name][key], after[name][key]) for key in before[name])

    assert changed("judge")
    assert not changed("sender")
    (step,) = (one for one in run.records() if one["event"] == "step")
    assert step["reward"].keys() == step["payoff"].keys() == {"sender", "judge"}
    assert step["reward"]["judge"] == step["payoff"]["judge"]
    assert step["valid"]["judge"] == 1


@pytest.mark.parametrize("credit", ["own", "team", "counterfactual", "difference"])
def test_referee_is_paid_its_own(compiled: Callable[[str], Game], credit: str) -> None:
    """A payoff that does not differ teaches nothing, whatever the roles earn."""
    for payoff, learns in (("1 if verdict == truth else 0", True), ("1", False)):
        game = compiled(POINTED.replace("1 if verdict == truth else 0", payoff))
        replays = {"replays": 2} if credit in ("counterfactual", "difference") else {}
        given = {"compare": "team"} if credit in ("own", "team") else replays
        games = 64 if credit in ("own", "team") else 16
        recipe = recipe_of(game, games=games, credit=credit, **given)
        seating, policy = SeatAssignment(game.ir, recipe), opened(game, recipe)
        engine = Sessions(policy)
        batch = play(game.env(tokenizer=policy.tokenizer), engine, recipe, 1, seating)
        if credit in ("own", "team"):
            found = weighed(batch, recipe, {"judge"}).advantages
        else:
            from gamedsl.training.advantages import Advantages
            from gamedsl.training.credit import Redraws

            redraws = Redraws(recipe, engine, seating)
            found = Advantages(recipe, redraws, written=True).weigh(batch, {"judge"}).advantages
        assert {one.sample.role for one in found} == {"judge"}
        assert any(one.amount for one in found) == learns


def test_untrained_referee_is_in_no_baseline(compiled: Callable[[str], Game]) -> None:
    roles = "{sender: {trained: true}, judge: {trained: false}}"
    game = compiled(POINTED.split("train:")[0] + f"train: {{roles: {roles}}}\n")
    recipe = recipe_of(game, games=16, baseline="global")
    seating = SeatAssignment(game.ir, recipe)
    policy = opened(game, recipe)
    batch = play(game.env(tokenizer=policy.tokenizer), Sessions(policy), recipe, 1, seating)
    found = weighed(batch, recipe, {"sender"}).advantages
    assert abs(sum(one.amount for one in found)) < 1e-9


def test_referee_takes_its_turn(compiled: Callable[[str], Game]) -> None:
    from gamedsl.training.schedule import Schedule

    game = compiled(POINTED.replace("sender: {trained: false}, ", ""))
    recipe = recipe_of(game, learn__who="rotate", learn__every=1, adapters="per_role")
    schedule = Schedule(game.ir, recipe)
    assert [schedule.learns(step) for step in (1, 2, 3)] == [{"sender"}, {"judge"}, {"sender"}]


@pytest.mark.slow
def test_resumed_run_has_the_same_referee(compiled: Callable[[str], Game], tmp_path: Path) -> None:
    game = compiled(POINTED)
    recipe = recipe_of(game, steps=2, games=8, checkpoint_every=1, baseline="running")
    run_of(game, recipe, tmp_path / "whole")
    run, _ = run_of(game, replace(recipe, steps=1), tmp_path / "halves")
    from gamedsl.training.loop import train

    assert train(game, recipe, run, opened(game, recipe)).finished
    whole = [r["reward"] for r in _steps(tmp_path / "whole")]
    assert [r["reward"] for r in _steps(tmp_path / "halves")] == whole


def _steps(folder: Path) -> list[dict]:
    from gamedsl.training.runfolder import open_run

    return [one for one in open_run(folder).records() if one["event"] == "step"]


def test_referee_imitates_its_expert(compiled: Callable[[str], Game], tmp_path: Path) -> None:
    game = compiled(POINTED)
    recipe = recipe_of(
        game, steps=1, lr=1e-6, roles__judge__expert="random", warm_up__games=8, warm_up__reward=1,
        warm_up__epochs=30, warm_up__lr=0.01,
    )  # fmt: skip
    run, _ = run_of(game, recipe, tmp_path / "run")
    start, step = run.records()[:2]
    assert "warm_up" in start
    assert step["payoff"]["judge"] == 1


@pytest.mark.slow
def test_judge_learns_to_read(compiled: Callable[[str], Game], tmp_path: Path) -> None:
    """From chance to nearly always right, in games that it is not trained on."""
    game = compiled(POINTED)
    recipe = recipe_of(
        game, steps=25, games=64, lr=0.0005, entropy=0.03, baseline="running", seed=1
    )
    seating = SeatAssignment(game.ir, recipe)

    def score(policy: object) -> float:
        other = replace(recipe, games=200, seed=77)
        batch = play(
            game.env(tokenizer=policy.tokenizer), Sessions(policy), other, 900, seating
        )  # fmt: skip
        won = [one.episode.referee_payoffs["judge"] for one in batch.trajectories]
        return sum(won) / len(won)

    assert score(opened(game, recipe)) < 0.75
    _, policy = run_of(game, recipe, tmp_path / "run")
    assert score(policy) > 0.9
