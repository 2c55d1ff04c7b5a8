"""Seats as gymnasium environments, played by gymnasium's own loop and by sb3-contrib."""

from __future__ import annotations

import re
import warnings
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gamedsl.cli import main
from tests.peers import by_hand, running
from tests.peers.plays import GAMES, NAMES, SEEDS, loaded, replayed, reply_to

with running.needed("gymnasium"):
    import gymnasium
    from gymnasium.utils.env_checker import check_env
    from gymnasium.wrappers import RecordEpisodeStatistics

    from gamedsl.export.gymnasium import SeatEnv


def action_of(env: SeatEnv, seed: int) -> Any:
    """The script's reply as an action; one that is refused is a number of no legal action."""
    decision = env.decision
    if decision is None:
        return env.action_space.sample()
    text = reply_to(decision, seed)
    if env.in_words:
        return text
    read = env.play.episode.parse(decision, text)
    return env.names.index(read) if isinstance(read, str) else len(env.names)


@pytest.mark.parametrize("name", GAMES)
def test_plays_agree_with_the_runtime(name: str) -> None:
    """Prompts, legal actions, refusals, forfeits, rewards: step by step in 50 plays."""
    env = SeatEnv(loaded(name))
    loop = RecordEpisodeStatistics(gymnasium.wrappers.OrderEnforcing(env))
    refused = void = 0
    for seed in SEEDS:
        _, info = loop.reset(seed=seed)
        seen, over, truncated = [], False, False
        while not over:
            if "messages" in info:
                seen.append((info["messages"], tuple(info["legal"]), tuple(info["labels"])))
            if not env.in_words and env.decision is not None:
                named = {n for n, on in zip(env.names, env.action_masks(), strict=True) if on}
                assert named == set(env.decision.legal)
            _, _, terminated, truncated, info = loop.step(action_of(env, seed))
            over = terminated or truncated
        ours = replayed(name, env.play.episode, env.seat)
        assert seen == [(turn.messages, turn.legal, turn.labels) for turn in ours.turns]
        assert info["episode"]["r"] == pytest.approx(float(ours.rewards[env.seat] or 0), abs=1e-6)
        assert truncated == (env.seat in ours.void and env.seat not in ours.failures)
        assert info["outcome"].payoff == ours.payoffs[env.seat]
        assert [mistake.failure.reason for mistake in info["outcome"].refused] == [
            "illegal" if not env.in_words else reason for _, reason in ours.refused
        ]
        assert ("failure" in info) == (env.seat in ours.failures)
        refused, void = refused + len(ours.refused), void + truncated
    assert refused, "the script has replies that are refused"


@pytest.mark.parametrize("name", NAMES)
def test_the_checks_of_gymnasium_pass(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of bounds that are infinite
        check_env(SeatEnv(loaded(name)))


def test_innocent_seat_is_truncated_without_a_reward(tmp_path: Path) -> None:
    """A player whose reply is refused: the seat that learns is not blamed."""
    player = tmp_path / "mute.py"
    player.write_text("def mute(decision, episode):\n    return '?'\n", encoding="utf-8")
    env = SeatEnv(loaded("stag_hunt"), against=[f"module:{player}:mute"])
    env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step(0)
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert not info["outcome"].trains


def test_play_without_a_question_takes_one_step() -> None:
    """The second seat of an ultimatum that ends before it is asked is paid all the same."""
    env = SeatEnv(loaded("centipede"), seat=loaded("centipede").ir.seats[1])
    for seed in range(20):
        env.reset(seed=seed)
        if env.decision is None:
            assert env.action_masks().all()
            _, reward, terminated, _, _ = env.step(0)
            assert terminated
            assert reward == float(env.play.episode.rewards[env.seat])
            return
    raise AssertionError("no play ended before the second seat was asked")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--against", "z=random"], "tic_tac_toe has no seat `z`; there are x, o"),
        (["--as", "z"], "tic_tac_toe has no seat `z`; there are x, o"),
        (["--as", "x,o"], "`x,o` is 2 seats of tic_tac_toe, and the loop holds one"),
        (["--against", "nobody"], "there is no player `nobody`"),
        (["--as", "x", "--against", "x=random"], "x is yours"),
    ],
)
def test_wrong_seats_are_refused(
    options: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["export", "tic_tac_toe", "--to", "gymnasium", "-o", str(tmp_path), *options]
    assert main(command) == 2
    assert said in capsys.readouterr().err


def test_commands_of_a_closed_package_run(tmp_path: Path) -> None:
    folder = running.exported("tic_tac_toe", "gymnasium", tmp_path / "package")
    _, play, train = running.readme_commands(folder)
    running.build(folder, tmp_path / "bare")
    assert "reward: " in running.run(play, folder)
    if find_spec("sb3_contrib") is not None:
        printed = running.run([*train[:-1], "64", "--games", "4"], folder)
        assert re.search(r"^random: .*\ntrained: ", printed, re.M)


def test_commands_of_a_package_in_words_run(tmp_path: Path) -> None:
    folder = running.exported("twenty_questions", "gymnasium", tmp_path / "package")
    _, play, check = running.readme_commands(folder)
    said = "Is it a cat?\n" * 25
    assert "reward: " in running.run(play, folder, given=said)
    assert "checks pass" in running.run(check, folder)


def test_params_and_players_travel_with_a_package(tmp_path: Path) -> None:
    options = ["--as", "guesser", "--param", "top=3", "--param", "tries=2"]
    folder = running.exported("guess_in_words", "gymnasium", tmp_path / "package", *options)
    code = "import guess_in_words_gymnasium as g; e = g.make(); print(e.table.game.params)"
    assert "{'top': 3, 'tries': 2}" in running.run(["python", "-c", code], folder)


@pytest.mark.slow
def test_maskable_ppo_learns_tic_tac_toe(tmp_path: Path) -> None:
    """It beats a random player by far more than another random player does."""
    if find_spec("sb3_contrib") is None:
        pytest.skip("sb3-contrib is not installed; fix: pip install sb3-contrib")
    folder = running.exported("tic_tac_toe", "gymnasium", tmp_path / "package")
    *_, train = running.readme_commands(folder)
    printed = running.run(train, folder, seconds=900)
    found = re.findall(r"^(\w+): (\S+) ± (\S+)", printed, re.M)
    mean = {name: float(value) for name, value, _ in found}
    error = {name: float(value) for name, _, value in found}
    assert mean["random"] == pytest.approx(0.297, abs=2 * error["random"]), "uniform play"
    assert mean["trained"] - error["trained"] > mean["random"] + error["random"] + 0.3


def test_kuhn_by_hand_pays_alike() -> None:
    made = by_hand.module("kuhn_in_gymnasium")

    def pays(cards: tuple[str, ...], play: str) -> list[float]:
        env, total, over = made.Kuhn(), 0.0, False
        env.reset(seed=0)
        env.cards = ["JQK".index(card) for card in cards]
        env.np_random = SimpleNamespace(integers=lambda options: int(play[1] in "bk"))
        for letter in play[0::2]:
            assert not over
            _, reward, over, _, _ = env.step(int(letter in "bk"))
            total += reward
        assert over
        return [total, -total]

    by_hand.check(pays)
    check_env(made.Kuhn())
