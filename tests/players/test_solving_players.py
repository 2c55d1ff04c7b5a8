"""Players that rest on the solver: equilibria, best responses, and mixtures as they are drawn."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from math import sqrt

import pytest

import gamedsl
from gamedsl.players import PlayerError, open_player, play
from gamedsl.players.best_response import policy_of
from gamedsl.players.equilibrium import equilibrium
from gamedsl.solve import best_response, expected, exploitability, tabulate, uniform


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.getbasetemp() / "cache"
    monkeypatch.setenv("GAMEDSL_CACHE", str(folder))
    return folder


@pytest.fixture(scope="module")
def kuhn():
    return gamedsl.load("kuhn_poker")


@pytest.fixture(scope="module")
def biased():
    return gamedsl.load("biased_rock_paper_scissors")


@pytest.mark.parametrize("name", ["kuhn_poker", "biased_rock_paper_scissors", "ultimatum"])
def test_the_equilibrium_leaves_nothing_to_gain(name) -> None:
    game = gamedsl.load(name)
    policy = policy_of(open_player("equilibrium", game, seed=1), game.env())
    assert exploitability(tabulate(game.env()), policy, "payoffs").nash_conv < 1e-9


def test_equilibrium_is_cached_by_rules(biased, cache, monkeypatch) -> None:
    first = equilibrium(biased)
    assert first.policy[next(iter(first.policy))]["rock"] == Fraction(3, 7)
    monkeypatch.setattr("gamedsl.solve.solver.solve", None)
    assert equilibrium(biased) == first


def test_invalid_cached_policy_is_solved_again(biased, cache) -> None:
    first = equilibrium(biased)
    (path,) = cache.glob(f"equilibria/{biased.ir.rules_hash}.json")
    path.write_text("{", encoding="utf-8")
    assert equilibrium(biased) == first
    assert json.loads(path.read_text(encoding="utf-8"))["game"] == biased.name


def test_games_that_are_too_large_to_be_solved(monkeypatch) -> None:
    monkeypatch.setattr("gamedsl.solve.solver.LIMIT", 100)
    with pytest.raises(PlayerError, match="too large") as caught:
        open_player("equilibrium", gamedsl.load("goofspiel"), seed=1)
    assert "--method mccfr" in caught.value.help


@pytest.mark.parametrize(
    ("name", "against"),
    [("kuhn_poker", "random"), ("kuhn_poker", "fixed:bet,call"), ("kuhn_poker", "equilibrium"),
     ("tiny_hanabi", "random"), ("goofspiel", "random"), ("kuhn_poker_n", "random")],
)  # fmt: skip
def test_a_best_response_earns_what_the_solver_says(name, against) -> None:
    game = gamedsl.load(name)
    tree = tabulate(game.env())
    others = policy_of(open_player(against, game, seed=1), game.env())
    mine = policy_of(open_player(f"best_response:{against}", game, seed=1), game.env())
    for seat in tree.seats:
        own = {info.key for info in tree.info_sets if info.seat == seat}
        both = {key: (mine if key in own else others)[key] for key in others}
        value = best_response(tree, others, seat, "payoffs").value
        assert float(expected(tree, both, "payoffs")[seat]) == pytest.approx(float(value))


def test_a_best_response_to_always_betting(kuhn) -> None:
    """Calls with the king, never with the jack."""
    player = open_player("best_response:fixed:bet,call", kuhn, seed=1)
    rows = {key: row for key, row in policy_of(player, kuhn.env()).items() if "open=bet" in key}
    called = {key.split("card=")[1][0]: row["call"] for key, row in rows.items()}
    assert (called["K"], called["J"]) == (1, 0)


def test_mixture_draws_one_player_per_episode() -> None:
    """Of two players that never change their minds, nobody ever plays both ways in one episode."""
    game = gamedsl.load("repeated_prisoners_dilemma", {"rounds": 3})
    player = open_player("mix:1*fixed:cooperate+3*fixed:defect", game, seed=3)
    rival = open_player("random", game, seed=4)
    env, seat, other = game.env(), *game.ir.seats
    seen: Counter[tuple[str, ...]] = Counter()
    for seed in range(400):
        steps = play(env, {seat: player, other: rival}, seed=seed).transcript["steps"]
        seen[tuple(step["choices"][seat] for step in steps if "choices" in step)] += 1
    assert all(len(set(moves)) == 1 for moves in seen)
    defected = sum(n for moves, n in seen.items() if moves[0] == "defect")
    assert abs(defected - 300) < 4 * sqrt(400 * 0.75 * 0.25)


def test_mixture_odds_earn_the_weighted_mean(kuhn) -> None:
    tree = tabulate(kuhn.env())
    rival = uniform(tree)

    def worth(spec, seat):
        own = policy_of(open_player(spec, kuhn, seed=1), kuhn.env())
        mine = {info.key for info in tree.info_sets if info.seat == seat}
        both = {key: own[key] if key in mine else rival[key] for key in rival}
        return float(expected(tree, both, "payoffs")[seat])

    parts = ("fixed:bet,call", "fixed:check,fold", "equilibrium")
    mixed = "mix:0.25*fixed:bet,call + 0.25*fixed:check,fold + .5*equilibrium"
    for seat in kuhn.ir.seats:
        each = [worth(spec, seat) for spec in parts]
        assert len(set(each)) == 3
        expect = 0.25 * each[0] + 0.25 * each[1] + 0.5 * each[2]
        assert worth(mixed, seat) == pytest.approx(expect)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("mix:random", "`random` is not a share of a player"),
        ("mix:0*random+1*fixed:bet,call", "`0*random` is not a share"),
        ("mix:1*random+2*mix:1*random", "a mixture in a mixture"),
        ("mix:1*random+1*rnadom", "there is no player `rnadom`"),
        ("best_response:rnadom", "there is no player `rnadom`"),
    ],
)
def test_mixtures_and_replies_that_are_refused(spec, said, kuhn) -> None:
    with pytest.raises(PlayerError, match=said.replace("*", r"\*")):
        open_player(spec, kuhn, seed=1)


def test_players_without_odds_are_no_part_of_others(kuhn, tmp_path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("def first(decision, episode):\n    return 'x'\n", encoding="utf-8")
    for spec in (f"mix:1*random+1*module:{path}:first", f"best_response:module:{path}:first"):
        with pytest.raises(PlayerError, match="odds of `module"):
            open_player(spec, kuhn, seed=1, allow_code=True)


def test_games_without_a_tree_have_no_best_response(monkeypatch) -> None:
    monkeypatch.setattr("gamedsl.players.best_response.LIMIT", 100)
    with pytest.raises(PlayerError, match="needs the whole tree"):
        open_player("best_response:random", gamedsl.load("goofspiel"), seed=1)
