"""Policies in files: written, read, refused, and played for what they are worth."""

from __future__ import annotations

import json
from fractions import Fraction
from math import sqrt
from statistics import fmean, stdev

import pytest

import gamedsl
from gamedsl.cli import main
from gamedsl.players import PolicyError, RandomPlayer, SavedPlayer, play, read_policy
from gamedsl.solve import sampled_solution

GAMES = 20_000


@pytest.fixture(scope="module")
def kuhn():
    return gamedsl.load("kuhn_poker")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "kuhn.json"
    assert main(["solve", "kuhn_poker", "--save", str(path)]) == 0
    return path


def test_the_file_says_what_it_is(file, kuhn):
    record = json.loads(file.read_text(encoding="utf-8"))
    assert record["format"] == "gamedsl policy 1"
    assert (record["game"], record["rules"], record["hash"]) == (
        "kuhn_poker", kuhn.ir.rules_hash, kuhn.hash
    )  # fmt: skip
    assert record["values"] == {"first": "-1/18", "second": "1/18"}
    assert record["regrets"] == {"first": "0", "second": "0"}
    assert (record["exact"], record["concept"]) == (True, "Nash equilibrium")
    assert record["policy"]["second:reply [second.card=K, first.open=check]"] == {
        "check": "0", "bet": "1"
    }  # fmt: skip


def test_what_is_read_is_what_was_written(file, kuhn):
    found = read_policy(file, kuhn)
    assert found.values["first"] == Fraction(-1, 18)
    assert found.text() == file.read_text(encoding="utf-8")


def test_it_earns_its_value(file, kuhn):
    """20,000 games of the equilibrium against itself, in any seat, within four standard errors."""
    player = SavedPlayer.of(file, kuhn, seed=3)
    env, players = kuhn.env(), dict.fromkeys(kuhn.ir.seats, player)
    earned = [float(play(env, players, seed=seed).payoffs["first"]) for seed in range(GAMES)]
    assert abs(fmean(earned) + 1 / 18) < 4 * stdev(earned) / sqrt(GAMES)


def test_position_policy_wins_the_game_value(tmp_path):
    """The first to move has a winning start in this nim, and loses to nobody."""
    path, params = tmp_path / "nim.json", {"piles": [2, 3, 4]}
    assert main(["solve", "nim", "--param", "piles=[2, 3, 4]", "--save", str(path)]) == 0
    game = gamedsl.load("nim", params)
    env = game.env()
    players = {"first": SavedPlayer.of(path, game), "second": RandomPlayer(seed=5)}
    assert all(play(env, players, seed=s).payoffs["first"] == 1 for s in range(50))


def test_other_rules_are_refused(file, tmp_path):
    with pytest.raises(PolicyError, match="is a policy for `kuhn_poker`, not for `leduc_poker`"):
        read_policy(file, gamedsl.load("leduc_poker"))
    source = gamedsl.load("kuhn_poker").files[0].read_text(encoding="utf-8")
    other = tmp_path / "kuhn_poker.yaml"
    other.write_text(source.replace("stake: 2 if", "stake: 3 if"), encoding="utf-8")
    with pytest.raises(PolicyError, match="its file has changed; solve it again"):
        read_policy(file, gamedsl.load(other))
    other.write_text(source.replace("about: Three cards", "about: 3 cards"), encoding="utf-8")
    assert read_policy(file, gamedsl.load(other)).game == "kuhn_poker"


def test_other_params_are_named(tmp_path):
    path = tmp_path / "policy.json"
    assert main(["solve", "ultimatum_n", "--param", "pie=4", "--save", str(path)]) == 0
    with pytest.raises(PolicyError, match="was solved with pie=4"):
        read_policy(path, gamedsl.load("ultimatum_n"))
    assert read_policy(path, gamedsl.load("ultimatum_n", {"pie": 4})).params == {"pie": 4}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "cannot be read"),
        ("[]", "is no policy file"),
        ('{"format": "gamedsl policy 2"}', "is no policy file"),
        ('{"format": "gamedsl policy 1"}', "is damaged"),
    ],
)
def test_files_that_are_none(text, said, tmp_path, kuhn):
    path = tmp_path / "policy.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PolicyError, match=said):
        read_policy(path, kuhn)
    with pytest.raises(PolicyError, match="cannot be read"):
        read_policy(tmp_path / "nothing.json", kuhn)


def test_numbers_that_are_no_probabilities_are_damage(file, tmp_path, kuhn):
    record = json.loads(file.read_text(encoding="utf-8"))
    key = next(iter(record["policy"]))
    record["policy"][key] = {"check": "1/2", "bet": "2/3"}
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(PolicyError, match="are not probabilities"):
        read_policy(path, kuhn)


def test_an_information_set_that_is_not_there(kuhn):
    episode = kuhn.env().reset(seed=1)
    decision = episode.decisions[0]
    with pytest.raises(PolicyError, match="says nothing of"):
        SavedPlayer({}).act(decision, episode)
    assert SavedPlayer({}, elsewhere="uniform").odds(decision, episode) == [0.5, 0.5]


def test_sampled_policy_plays_at_unknown_sets(tmp_path, monkeypatch):
    monkeypatch.setattr(sampled_solution, "GAMES", 20)
    path = tmp_path / "policy.json"
    argv = ["solve", "liars_dice", "--param", "faces=3", "--method", "mccfr", "--iterations", "3"]
    assert main([*argv, "--save", str(path)]) == 0
    game = gamedsl.load("liars_dice", {"faces": 3})
    found = read_policy(path, game)
    assert (found.exact, found.elsewhere) == (False, "uniform")
    env, players = game.env(), dict.fromkeys(game.ir.seats, SavedPlayer.of(path, game, seed=2))
    assert all(play(env, players, seed=seed).done for seed in range(50))
