"""`gamedsl solve`: what is printed, for people and as data, and what is said of bad input."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

import gamedsl
from gamedsl.cli import main
from gamedsl.extras import install_command
from gamedsl.solve import METHODS, Unfit, sampled_solution, solve
from gamedsl.solve.text import WIDTH, render


def printed(capsys, *argv):
    code = main(["solve", *argv])
    out, err = capsys.readouterr()
    return code, re.sub(r"\n\n\d+\.\d\d s\n", "\n", out), err


KUHN = """\
kuhn_poker: 2 seats, 58 nodes, 12 information sets; utilities are payoffs

· two seats, zero-sum, hidden information: a linear program over sequences

Nash equilibrium, by sequence-form linear program, certified in rationals
  seat               value  regret
  first   -1/18 (-0.05556)       0
  second    1/18 (0.05556)       0
exact: all numbers are rationals, and the regrets were worked out anew

"""

HUNT = """\
stag_hunt: 2 seats, 7 nodes, 2 information sets; utilities are payoffs

· everybody decides once, blind to the others: the game is its table

3 Nash equilibria, all there are (exact, regrets 0)
  #  hunter_1            hunter_2            payoffs
  1  stag                stag                4, 4      pure, strict, payoff-dominant
  2  hare                hare                2, 2      pure, strict, risk-dominant
  3  2/3 stag, 1/3 hare  2/3 stag, 1/3 hare  8/3, 8/3  mixed
  number 1 is what --save keeps: of the largest welfare, pure first (--pick takes another)

Dominance     no action is dominated, not even weakly
Pareto set    (stag, stag) 4, 4
Welfare       8 at best, in (stag, stag); 4 to 8 in the equilibria above; price of anarchy 2, of
              stability 1
Security      hunter_1 2 by hare; hunter_2 2 by hare
Correlated    welfare up to 8 by (stag, stag); payoffs: hunter_1 2 to 4, hunter_2 2 to 4
"""

ULTIMATUM = """\
ultimatum: 2 seats, 10 nodes, 4 information sets; utilities are payoffs

· whoever moves knows the whole history: backward induction over all histories

Subgame-perfect equilibrium, by backward induction
  seat       value  regret
  proposer       8       0
  responder      2       0
exact: all numbers are rationals, and the regrets were worked out anew

play: proposer low → responder accept

  proposer:offer  low  fair  high
  nothing seen      1     ·     ·

  responder:answer     accept  reject
  proposer.offer=low        1       ·
  proposer.offer=fair       1       ·
  proposer.offer=high       1       ·
"""


@pytest.mark.parametrize(
    ("name", "text"), [("kuhn_poker", KUHN), ("stag_hunt", HUNT), ("ultimatum", ULTIMATUM)]
)
def test_what_is_printed(name, text, capsys):
    code, out, err = printed(capsys, name)
    assert (code, err) == (0, "")
    assert out.startswith(text)
    assert name != "ultimatum" or out == text


GAMES = [
    ("battle_of_the_sexes", {}, "3 Nash equilibria, all there are"),
    ("colonel_blotto", {"soldiers": 2}, "0 in every profile"),
    ("tiny_hanabi", {}, "Team optimum, by branch and bound"),
    ("goofspiel", {}, "certified in rationals"),
    ("centipede", {}, "play: first take"),
    ("repeated_prisoners_dilemma", {"rounds": 2}, "5 stages"),
    ("information_cascade", {"players": 3}, "so CFR+ is tried"),
    ("nim", {"piles": [1, 2, 3, 2]}, "positions, which stand for"),
    ("public_goods", {"players": 3}, "(keep, keep, keep)"),
    ("ultimatum_n", {}, "subgame-perfect equilibria pay one of 2 outcomes: 10, 0; 9, 1"),
]


@pytest.mark.parametrize(("name", "params", "said"), GAMES)
def test_solver_text_fits_terminal_and_names_methods(name, params, said):
    report = solve(gamedsl.load(name, params))
    text = render(report)
    assert said in text
    assert max(map(len, text.splitlines())) <= WIDTH
    assert report.did
    assert report.solution.nash_conv < 1e-4


def test_rows_of_information_sets_are_whole(capsys):
    """Their beginnings tell them apart: the seat's own card."""
    code, out, _ = printed(capsys, "kuhn_poker_n", "--param", "players=4", "--iterations", "20")
    assert code == 0
    last = "player_1.move=check, player_2.move=check, player_3.move=check  "
    assert all(f"  player_4.card={card}, {last}" in out for card in range(5))
    text = render(solve(gamedsl.load("kuhn_poker_n", {"players": 4}), iterations=20))
    assert max(map(len, text.splitlines())) <= WIDTH
    assert all(f"  player_4.card={card}, player_1.move=check" in text for card in range(5))


def test_the_help_lists_all_methods(capsys):
    assert main(["solve", "--help"]) == 0
    out = capsys.readouterr().out
    assert all(f"  {name:<12} {what}\n" in out for name, what in METHODS.items())


def test_data(capsys):
    code, out, _ = printed(capsys, "kuhn_poker", "--format", "json")
    record = json.loads(out)
    game = gamedsl.load("kuhn_poker")
    assert code == 0
    assert (record["game"], record["rules"]) == ("kuhn_poker", game.ir.rules_hash)
    assert record["method"] == "lp"
    assert record["size"] == {"nodes": 58, "information sets": 12}
    assert record["solution"]["values"] == {"first": "-1/18", "second": "1/18"}
    assert record["solution"]["regrets"] == {"first": "0", "second": "0"}
    assert record["solution"]["exact"] is True
    assert len(record["solution"]["policy"]) == 12


def test_data_of_a_table(capsys):
    record = json.loads(printed(capsys, "chicken", "--format", "json")[1])["one_shot"]
    assert record["complete"]
    assert record["finite"]
    assert [one["names"] for one in record["equilibria"]] == [
        ["pure", "strict"], ["pure", "strict"], ["mixed"]
    ]  # fmt: skip
    assert record["correlated"]["values"] == {"left": "8/3", "right": "8/3"}
    assert record["security"]["left"]["value"] == "1"
    assert set(record["basins"]) == {"replicator", "grpo"}
    assert record["welfare"]["price_of_anarchy"] == "3/2"


@pytest.mark.parametrize("method", [name for name in METHODS if name not in ("auto", "team")])
def test_every_method_solves_something(method):
    game = gamedsl.load("ultimatum" if method == "backward" else "matching_pennies")
    report = solve(game, method, iterations=50)
    assert report.method == method
    assert report.did
    assert report.solution.nash_conv < 0.5


TIE = """\
game: tie
roles: [ann, bob]
actions: [up, down]
protocol: simultaneous
payoffs: |
  ann, bob | up   | down
  up       | 1, 1 | 0, 1
  down     | 0, 0 | 0, 0
"""


def test_infinitely_many_equilibria_are_called_so(tmp_path, capsys):
    path = tmp_path / "tie.yaml"
    path.write_text(TIE, encoding="utf-8")
    out = printed(capsys, str(path))[1]
    assert "infinitely many Nash equilibria, in 1 component with 3 extreme points" in out
    assert "component 1: ann up with bob any mixture of {up | down}" in out
    assert "component 1: ann any mixture of {up | down} with bob down" in out


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["stag_hunt", "--method", "bakward"], "did you mean `backward`?"),
        (["stag_hunt", "--method", "x"], "known: auto, equilibria"),
        (["stag_hunt", "--param", "pie"], "is not of the form name=value"),
        (["simultaneous"], "only games are solved"),
        (["stag_hunt", "--method", "lp"], "is for two seats whose payoffs have a constant sum"),
        (["stag_hunt", "--method", "team", "--utility", "payoffs"], "paid alike"),
        (["kuhn_poker", "--method", "equilibria"], "this is no game in which every seat decides"),
        (["kuhn_poker", "--method", "backward"], "neither has perfect information nor"),
        (["kuhn_poker", "--method", "lp", "--limit", "20"], "raise --limit"),
        (["kuhn_poker", "--pick", "1"], "here there is no list; leave it out"),
        (["stag_hunt", "--pick", "4"], "there are 3 equilibria to pick from"),
        (["stag_hunt", "--iterations", "0"], "no number from 1 up"),
    ],
)
def test_bad_input(argv, said, capsys):
    code, out, err = printed(capsys, *argv)
    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


def test_a_file_with_problems_is_told_so(tmp_path, capsys):
    path = tmp_path / "bad.yaml"
    path.write_text("game: bad\n", encoding="utf-8")
    code, out, err = printed(capsys, str(path))
    assert (code, out) == (1, "")
    assert "error[GD" in err


def test_importing_the_solver_needs_no_numpy():
    code = "import sys, gamedsl.solve; sys.exit(bool({'numpy', 'scipy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_package_that_is_missing_is_named(monkeypatch, capsys):
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    code, _, err = printed(capsys, "kuhn_poker")
    assert code == 2
    assert err == f"gamedsl solve: numpy is not installed; fix: {install_command('solve')}\n"


PENNIES_OF_THREE = """\
game: pennies
roles: [ann, bob, cid]
actions: [heads, tails]
protocol: simultaneous
payoffs:
  ann: 1 if move.ann == move.bob else 0
  bob: 1 if move.bob != move.ann else 0
  cid: 1 if move.cid == heads else 0
"""


def test_three_seats_without_a_pure_equilibrium(tmp_path, capsys, monkeypatch):
    path, kept = tmp_path / "pennies.yaml", tmp_path / "kept.json"
    path.write_text(PENNIES_OF_THREE, encoding="utf-8")
    code, out, _ = printed(capsys, str(path), "--save", str(kept))
    assert code == 0
    assert "No pure equilibrium: all 8 pure profiles were tried\n" in out
    assert "rounded to simple fractions" in out
    assert json.loads(kept.read_text())["values"] == {"ann": "1/2", "bob": "1/2", "cid": "1"}
    kept.unlink()
    monkeypatch.setattr("gamedsl.solve.methods.fits", lambda tree: False)
    code, out, err = printed(capsys, str(path), "--save", str(kept))
    assert (code, out) == (2, "")
    assert "it has no pure equilibrium" in err
    assert not kept.exists()


def test_another_equilibrium_can_be_kept(tmp_path, capsys):
    kept = tmp_path / "kept.json"
    code, out, err = printed(capsys, "stag_hunt", "--pick", "2", "--save", str(kept))
    assert (code, err) == (0, "")
    assert out.endswith(f"policy: {kept}\n")
    assert json.loads(kept.read_text())["values"] == {"hunter_1": "2", "hunter_2": "2"}


def test_places_where_no_policy_can_be_kept(tmp_path, capsys):
    code, out, err = printed(capsys, "stag_hunt", "--save", str(tmp_path))
    assert (code, out) == (2, "")
    assert "is a folder" in err
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    code, _, err = printed(capsys, "stag_hunt", "--save", str(file / "kept.json"))
    assert code == 2
    assert "cannot be written" in err


def test_large_games_are_sampled_never_exact(capsys, monkeypatch):
    monkeypatch.setattr(sampled_solution, "GAMES", 100)
    argv = ["goofspiel", "--param", "n=9", "--limit", "500", "--iterations", "2", "--rows", "3"]
    code, out, _ = printed(capsys, *argv)
    assert code == 0
    assert "more than 500 histories, too many for a tree" in out
    assert "nothing here is exact" in out
    assert "of NashConv nothing is known: the best of 7 replies tried" in " ".join(out.split())
    assert printed(capsys, *argv)[1] == out  # equal seeds, equal answers


def test_a_sampled_bound_says_what_was_tried(capsys, monkeypatch):
    """Fifty iterations of liar's dice leave much to gain, by a reply that is named."""
    monkeypatch.setattr(sampled_solution, "GAMES", 400)
    argv = ["liars_dice", "--method", "mccfr", "--iterations", "3", "--format"]
    record = json.loads(printed(capsys, *argv, "json")[1])
    gains = record["sampled"]["gains"]
    assert record["sampled"]["nash_conv_at_least"] > 0
    assert all(one["tried"] >= 3 for one in gains.values())
    assert all(one["gain"] is None for one in gains.values() if not one["by"])
    assert {s for s, g in record["solution"]["regrets"].items() if g == 0} == set()
    out = " ".join(printed(capsys, *argv, "text")[1].split())
    assert "(97.5% sure), by the best of 7 replies tried for each seat" in out
    assert "replies: " in out


def test_sampled_policy_is_measured_by_best_responses(capsys):
    out = printed(capsys, "kuhn_poker", "--method", "mccfr", "--iterations", "200")[1]
    assert "the best replies were worked out: NashConv is their sum" in out


def test_methods_fit_or_say_why():
    with pytest.raises(KeyError):
        solve(gamedsl.load("stag_hunt"), "magic")
    with pytest.raises(Unfit, match="too many for backward induction"):
        solve(gamedsl.load("connect_four"), "backward", limit=10)
