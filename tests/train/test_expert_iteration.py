"""The method `expert` does as the best games did, or as its teacher does."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pytest

from gamedsl.players import table
from gamedsl.players.base import PlayerSpec
from gamedsl.runtime import Action
from gamedsl.training.loop import train
from gamedsl.training.methods.expert import best
from gamedsl.training.trajectories import Batch, Sample, Trajectory
from tests.train.conftest import DILEMMA, OFFER, policy_of, recipe_of, run_of, untimed


def _batch(*games: tuple[int, int, int]) -> Batch:
    """Games of one decision: (group, action, reward) each, ten times."""
    batch = Batch()
    batch.queries.append(SimpleNamespace(labels=("a", "b", "c")))
    for group, action, reward in games:
        sample = Sample(0, action, "role", "seat", "step", 0)
        episode = SimpleNamespace(earnings={"seat": Fraction(reward)})
        batch.trajectories.append(Trajectory(group, 10, (sample,), episode))
    return batch


def _kept(keep: float, *games: tuple[int, int, int]) -> list[float]:
    return best(_batch(*games), keep, {"role"})[0].tolist()


def test_the_best_are_kept_by_group() -> None:
    four = [(0, 0, 4), (0, 1, 3), (0, 2, 2), (0, 2, 1)]
    assert _kept(0.25, *four) == [10, 0, 0]
    assert _kept(0.375, *four) == [10, 5, 0]  # half of the second best
    assert _kept(1.0, *four) == [10, 10, 0]  # never what brought less than the mean
    assert _kept(0.25, (0, 0, 4), (0, 1, 4), (0, 2, 0), (0, 2, 0)) == [5, 5, 0]
    assert _kept(0.5, (0, 0, 9), (0, 1, 8), (1, 2, 1), (1, 1, 0)) == [10, 0, 10]
    assert _kept(0.5, (0, 0, 3), (0, 1, 3)) == [0, 0, 0]  # nothing was better


def test_roles_that_do_not_learn_give_no_examples() -> None:
    assert best(_batch((0, 0, 1), (0, 1, 0)), 0.5, {"other"})[0].tolist() == [0, 0, 0]


def test_imitating_ones_best_games_is_learning(compiled, tmp_path: Path) -> None:
    game = compiled(OFFER)
    recipe = recipe_of(game, method="expert", steps=30, lr=1e-3)
    run, _ = run_of(game, recipe, tmp_path / "run")
    first, step, *_, last, _ = run.records()
    assert last["policy"]["proposer:offer"]["probs"]["low"] > 0.9
    assert last["reward"]["proposer"] > 7
    assert first["policy"]["proposer:offer"]["probs"]["low"] < 0.4
    assert 0 < step["examples"] <= 2 * 128 / 4


def test_a_language_model_imitates_its_best_games(compiled, tmp_path: Path) -> None:
    game = compiled(DILEMMA)
    start = {role: {"cooperate": 0.7} for role in game.ir.seats}
    given = {"model": "tiny", "method": "expert", "steps": 8, "lr": 1e-3, "start": start}
    run, _ = run_of(game, recipe_of(game, **given), tmp_path / "run")
    last = run.records()[-2]
    for place in last["policy"].values():
        assert place["probs"]["defect"] > 0.8


def test_a_teacher_is_followed_wherever_the_policy_comes(compiled, tmp_path: Path) -> None:
    """Against what the game pays: the best games are of another kind."""
    game = compiled(OFFER)
    given = {"method": "expert", "steps": 20, "lr": 1e-3}
    recipe = recipe_of(game, expert__teacher="fixed:high,reject", **given)
    run, _ = run_of(game, recipe, tmp_path / "run")
    last = run.records()[-2]
    assert last["policy"]["proposer:offer"]["probs"]["high"] > 0.9
    for key, place in last["policy"].items():
        if place["role"] == "responder":
            assert place["probs"]["reject"] > 0.8, key


class _Fickle:
    """A player whose answers depend on what it was asked before."""

    def __init__(self, seed: int) -> None:
        self._state = seed

    def act(self, decision, episode):
        self._state = (self._state * 48271 + 11) % (2**31 - 1)
        return Action(decision.legal[self._state % len(decision.legal)])


PLAYER = PlayerSpec("", "", "", lambda request: _Fickle(request.seed))


@pytest.mark.parametrize("teacher", [None, "fickle"])
def test_it_goes_on_as_if_never_stopped(compiled, tmp_path, monkeypatch, teacher) -> None:
    monkeypatch.setitem(table.PLAYERS, "fickle", __name__)
    game = compiled(OFFER)
    given = {} if teacher is None else {"expert__teacher": teacher}
    long, short = (recipe_of(game, method="expert", steps=n, **given) for n in (4, 2))
    whole, _ = run_of(game, long, tmp_path / "whole")
    parts, _ = run_of(game, short, tmp_path / "parts")
    assert train(game, long, parts, policy_of(game, long)).finished
    assert untimed(parts.records())[:5] == untimed(whole.records())[:5]
