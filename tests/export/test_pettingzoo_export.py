"""Games as PettingZoo environments: its own tests, and what they do not look at."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from gamedsl import Action
from gamedsl.export.pettingzoo import AECGame, aec_env, not_parallel, parallel_env
from gamedsl.extras import install_command
from tests.export.games import NAMES, loaded, written

with warnings.catch_warnings():  # of its own games, which its tests import if they can
    warnings.simplefilter("ignore")
    pettingzoo_test = importlib.import_module("pettingzoo.test")

# It warns of seats that are not called `player_0`, and of masks and vectors of different lengths.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.mark.parametrize("name", NAMES)
def test_the_tests_of_pettingzoo_pass(name: str) -> None:
    game = loaded(name)
    pettingzoo_test.api_test(aec_env(game), num_cycles=20)
    pettingzoo_test.seed_test(lambda: aec_env(game), num_cycles=10)


@pytest.mark.parametrize("name", NAMES)
def test_parallel_tests_of_pettingzoo_pass(name: str) -> None:
    game = loaded(name)
    if why := not_parallel(game.ir):
        with pytest.raises(ValueError, match=re.escape(why)):
            parallel_env(game)
    else:
        pettingzoo_test.parallel_api_test(parallel_env(game), num_cycles=20)


def test_simultaneous_games_are_detected() -> None:
    for name in ("prisoners_dilemma", "goofspiel", "guess_the_number"):
        assert not not_parallel(loaded(name).ir)
    for name, why in [
        ("kuhn_poker", "at `open` first acts alone; fix: use `aec_env`"),
        ("tic_tac_toe", "at `move` one of x, o acts alone"),
    ]:
        with pytest.raises(ValueError, match=why):
            parallel_env(loaded(name))


def take(env: AECGame, name: str) -> None:
    """The seat that is asked does what is named."""
    seat = env.agent_selection
    env.step(loaded(env.metadata["name"]).env().action_names(seat).index(name))


def test_a_game_of_tic_tac_toe() -> None:
    env = aec_env(loaded("tic_tac_toe"), render_mode="ansi")
    env.reset(seed=1)
    assert env.agents == env.possible_agents == ["x", "o"]
    for name in ("mark(0,0)", "mark(1,1)", "mark(0,1)", "mark(2,2)"):
        take(env, name)
    assert env.agent_selection == "x"
    observation, reward, terminated, truncated, info = env.last()
    assert (reward, terminated, truncated) == (0, False, False)
    assert observation["action_mask"].tolist() == [0, 0, 1, 1, 0, 1, 1, 1, 0]
    assert info["action_mask"].tolist() == observation["action_mask"].tolist()
    assert env.observe("o")["action_mask"].sum() == 0
    view = loaded("tic_tac_toe").env().vector_names("x")
    on = {name for name, x in zip(view, observation["observation"], strict=True) if x}
    assert {"me=x", "board[0,0]=x", "board[1,1]=o", "asked:move"} <= on
    assert env.render() == ("board:\n    0 1 2\n  0 x x .\n  1 . o .\n  2 . . o\nx chooses move")
    take(env, "mark(0,2)")
    assert env.rewards == {"x": 1.0, "o": -1.0}
    assert env.terminations == {"x": True, "o": True}
    assert env.render().endswith("payoffs: x 1, o -1")
    for seat, paid in (("x", 1.0), ("o", -1.0)):
        assert env.agent_selection == seat
        assert env.last()[1] == paid
        env.step(None)
    assert env.agents == []


def test_simultaneous_actors_are_mutually_blind() -> None:
    env = aec_env(loaded("prisoners_dilemma"))
    seen = []
    for first in ("cooperate", "defect"):
        env.reset(seed=3)
        assert env.agent_selection == "row"
        take(env, first)
        assert env.agent_selection == "column"
        assert env.rewards == {"row": 0, "column": 0}
        seen.append(env.last()[0]["observation"].tolist())
        take(env, "cooperate")
        assert env.rewards == {"row": {"cooperate": 3, "defect": 5}[first],
                               "column": {"cooperate": 3, "defect": 0}[first]}  # fmt: skip
    assert seen[0] == seen[1]


def test_in_play_payments_arrive_when_paid() -> None:
    env = aec_env(loaded("repeated_prisoners_dilemma"))
    env.reset()
    paid = []
    for row, column in [("cooperate", "defect"), ("defect", "defect"), ("defect", "cooperate")]:
        for name in (row, column):
            names = loaded("repeated_prisoners_dilemma").env().action_names(env.agent_selection)
            env.step(names.index(name))
        paid.append((env.rewards["row"], env.rewards["column"]))
    assert paid == [(0, 5), (1, 1), (5, 0)]


SPLIT = """\
game: split
roles: [a, b]
turns:
  - repeat: 2
    turns:
      - {role: all, choose: move, from: [1, 2]}
      - {pay: payoffs, value: move.me}
rewards: REWARD
"""


@pytest.mark.parametrize(
    ("reward", "utility", "paid"),
    [
        ("individual", "rewards", [(2, 1), (2, 1)]),
        ("shared", "rewards", [(1.5, 1.5), (1.5, 1.5)]),
        ("shared", "payoffs", [(2, 1), (2, 1)]),
        ("zero_sum", "rewards", [(1, -1), (1, -1)]),
        ("margin", "rewards", [(0, 0), (1, -0.5)]),
    ],
)
def test_only_what_adds_up_is_paid_early(
    tmp_path: Path, reward: str, utility: str, paid: list[tuple[float, float]]
) -> None:
    game = written(tmp_path, SPLIT.replace("REWARD", reward))
    env = parallel_env(game, reward=utility)
    env.reset()
    for expected in paid:
        rewards = env.step({"a": 1, "b": 0})[1]
        assert (rewards["a"], rewards["b"]) == expected
    assert env.agents == []


def test_summed_streams_are_paid_step_by_step() -> None:
    env = parallel_env(loaded("spread"))
    env.reset(seed=2)
    total = dict.fromkeys(env.agents, 0.0)
    steps = []
    while env.agents:
        rewards = env.step(dict.fromkeys(env.agents, 0))[1]
        steps.append(rewards["agent_1"])
        total = {seat: total[seat] + reward for seat, reward in rewards.items()}
    assert sum(map(bool, steps)) > 10
    episode = loaded("spread").env().reset(seed=2)
    while not episode.done:
        episode.step({d.seat: Action(d.legal[0]) for d in episode.decisions})
    assert total == {seat: float(reward) for seat, reward in episode.rewards.items()}


def test_an_illegal_action_forfeits() -> None:
    env = aec_env(loaded("kuhn_poker"))
    env.reset()
    take(env, "check")
    take(env, "call")
    assert env.truncations == {"first": True, "second": False}
    assert env.terminations == {"first": False, "second": True}
    assert env.infos["second"]["failure"] == "illegal"
    assert "failure" not in env.infos["first"]
    assert env.rewards == {"first": 0, "second": -2}
    env = aec_env(loaded("prisoners_dilemma"))
    env.reset()
    env.step(7)
    env.step(0)
    assert env.truncations == {"row": False, "column": True}
    assert env.rewards == {"row": 0, "column": 0}


def test_chance_follows_the_seed() -> None:
    def cards(env: AECGame, *seeds: int | None) -> list[list[float]]:
        seen = []
        for seed in seeds:
            env.reset(seed=seed)
            seen.append(env.observe("first")["observation"].tolist())
        return seen

    seeds = [7, *[None] * 20]
    first, second = (cards(aec_env(loaded("kuhn_poker")), *seeds) for _ in range(2))
    assert first == second
    assert len({tuple(one) for one in first}) == 3
    assert cards(aec_env(loaded("kuhn_poker")), 7, 7)[1] == first[0]
    assert first[1:] != cards(aec_env(loaded("kuhn_poker")), 8, *[None] * 20)[1:]


def test_a_parallel_game() -> None:
    env = parallel_env(loaded("public_goods"), reward="payoffs")
    observations, infos = env.reset(seed=0)
    assert set(observations) == set(infos) == set(env.possible_agents)
    assert all(env.observation_space(seat).contains(o) for seat, o in observations.items())
    with pytest.raises(ValueError, match="an action is needed from"):
        env.step({env.agents[0]: 0})
    names = loaded("public_goods").env().action_names(env.agents[0])
    _, rewards, terminated, truncated, _ = env.step(
        {seat: names.index("give") for seat in env.agents}
    )
    assert set(rewards.values()) == {float(Fraction(8, 5))}
    assert all(terminated.values())
    assert not any(truncated.values())
    assert env.agents == []
    with pytest.raises(ValueError, match="the episode is done"):
        env.step({})
    with pytest.raises(ValueError, match="call `reset` first"):
        parallel_env(loaded("public_goods")).step({})


def test_people_see_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    env = parallel_env(loaded("goofspiel"), render_mode="human")
    env.reset(seed=0)
    assert env.render() is None
    assert "prizes: " in capsys.readouterr().out
    env.close()


def test_every_observation_lies_in_its_space() -> None:
    env = aec_env(loaded("small_hanabi"))
    env.reset(seed=5)
    for agent in env.agent_iter(12):
        observation, *_, over, _, _ = env.last()
        for seat in env.agents:
            assert env.observation_space(seat).contains(env.observe(seat))
        mask = observation["action_mask"]
        env.step(None if over else int(np.argmax(mask)))
        assert env.action_space(agent).n == len(mask)


def test_without_pettingzoo_the_remedy_is_said() -> None:
    code = (
        "import sys; sys.modules['pettingzoo'] = None\n"
        "import gamedsl.export\n"
        "import gamedsl.export.pettingzoo"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    said = f"pettingzoo is not installed; fix: {install_command('pettingzoo')}"
    assert said in done.stderr
