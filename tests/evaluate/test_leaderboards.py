"""Leaderboards: they accumulate, in any order, and count nothing twice."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from threading import Thread

import pytest

import gamedsl
from gamedsl.cli import main
from gamedsl.evaluate import EvalError, read_board, standings
from gamedsl.evaluate.leaderboard import Board, Match, add, match_of
from gamedsl.evaluate.tables import markdown, standings_table
from tests.evaluate.small import RPS, evaluated, plan_of

FIRST = ("fixed:rock", "random", "--games", "20", "--method", "sampled")


def run(file: Path, *argv: str) -> None:
    assert main(["eval", *argv, "--game", RPS, "--leaderboard", str(file)]) == 0


def matches(*names: str, seed: int = 0, games: int = 10, method: str = "sampled") -> list[Match]:
    found = evaluated(RPS, *names, seed=seed, games=games, method=method)
    who = {one.name: one for one in plan_of(*names).everybody}
    return [
        match_of(found.game, one, seed, who, found.contest, found.plan.referees)
        for one in found.games.values()
    ]


def test_it_accumulates_in_any_order(tmp_path: Path) -> None:
    parts = [
        matches("fixed:rock", "random", games=20),
        matches("fixed:paper", "random", games=30),
        matches("fixed:rock", "fixed:paper"),
    ]
    texts = set()
    for place, order in enumerate(permutations(parts)):
        file = tmp_path / f"{place}.json"
        for part in order:
            add(file, part)
        texts.add(file.read_text(encoding="utf-8"))
    assert len(texts) == 1
    board = read_board(file)
    assert len(board.matches) == 9  # three pairs both ways, and three with themselves
    (found,) = standings(board)
    assert {row.name for row in found.rows} == {"fixed:rock", "fixed:paper", "random"}
    assert found.anchor == "random"
    assert found.rows[0].name == "fixed:paper"
    rock = next(row for row in found.rows if row.name == "fixed:rock")
    assert rock.games == 30
    assert rock.score.games == 30


def test_the_same_match_is_not_counted_twice(tmp_path: Path) -> None:
    file = tmp_path / "board.json"
    run(file, *FIRST)
    before = file.read_text(encoding="utf-8")
    run(file, *FIRST)
    assert file.read_text(encoding="utf-8") == before
    run(file, *FIRST, "--seed", "1")
    assert len(read_board(file).matches) == 2 * len(json.loads(before)["matches"])


def test_more_games_of_one_seed_stand_for_fewer() -> None:
    short, long = matches("random", "fixed:rock"), matches("random", "fixed:rock", games=30)
    for order in (short + long, long + short):
        kept = Board().with_matches(order)
        assert {match.games for match in kept.matches.values()} == {15, 30}


def test_exact_result_replaces_sampled_ones() -> None:
    sampled = matches("random", "fixed:rock") + matches("random", "fixed:rock", seed=1)
    exact = matches("random", "fixed:rock", method="exact")
    for order in (sampled + exact, exact + sampled):
        kept = Board().with_matches(order)
        assert all(match.exact for match in kept.matches.values())
        assert len(kept.matches) == len(exact)


def test_a_policy_that_changes_is_another_contestant(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    solved = gamedsl.load(RPS)
    identities = set()
    for pick in ("fixed:rock", "fixed:paper"):
        record = {
            "format": "gamedsl policy 1", "game": RPS, "rules": solved.ir.rules_hash,
            "hash": solved.hash, "params": {}, "utility": "payoffs", "concept": "", "method": "",
            "exact": False, "values": {}, "regrets": {}, "note": "", "elsewhere": "",
            "policy": {
                f"{seat}:move": {pick.partition(":")[2]: 1.0} for seat in solved.ir.seats
            },
        }  # fmt: skip
        path.write_text(json.dumps(record), encoding="utf-8")
        identities |= {match.holders[0] for match in matches(str(path), "random", method="exact")}
    assert len(identities) == 3  # the two, and random


def test_many_may_add_at_a_time(tmp_path: Path) -> None:
    file = tmp_path / "board.json"
    parts = [matches("random", "fixed:rock", seed=seed) for seed in range(6)]
    threads = [Thread(target=add, args=(file, part)) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read_board(file).matches) == sum(map(len, parts))


def test_general_sum_games_are_ranked_by_pay(tmp_path: Path, capsys) -> None:
    file = tmp_path / "board.json"
    argv = ["fixed:cooperate", "fixed:defect", "--game", "prisoners_dilemma"]
    assert main(["eval", *argv, "--leaderboard", str(file)]) == 0
    (found,) = standings(read_board(file))
    assert not found.rated
    assert [(row.name, row.mean.value, row.own.value) for row in found.rows] == [
        ("fixed:defect", 5.0, 1.0), ("fixed:cooperate", 0.0, 3.0)
    ]  # fmt: skip
    assert "so pay ranks" in " ".join(capsys.readouterr().out.split())


def test_graded_stakes_are_scored_by_pay() -> None:
    """An equilibrium of Kuhn poker wins fewer games than who always bets, and more money."""
    names = ("equilibrium", "fixed:bet,call")
    found = evaluated("kuhn_poker", *names)
    assert found.contest == (-2.0, 2.0)
    who = {one.name: one for one in plan_of(*names).everybody}
    games = [match_of(found.game, one, 0, who, found.contest, {}) for one in found.games.values()]
    (table,) = standings(Board().with_matches(games))
    best = table.rows[0]
    assert best.name == "equilibrium"
    assert best.score.won < best.score.lost
    assert best.score.points / best.score.games == pytest.approx(0.5 + best.mean.value / 4)


def test_exact_exploitability_outlives_bounds(tmp_path: Path) -> None:
    file = tmp_path / "board.json"
    run(file, *FIRST)
    (found,) = standings(read_board(file))
    rock = next(row for row in found.rows if row.name == "fixed:rock")
    assert rock.exploitability == {"kind": "exact", "value": 1.0}


def test_markdown_is_a_table_of_all_games(tmp_path: Path) -> None:
    file, page = tmp_path / "board.json", tmp_path / "board.md"
    run(file, *FIRST, "--leaderboard-md", str(page))
    lines = page.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith(f"### Leaderboard of {RPS}")
    rows = [line for line in lines if line.startswith("|")]
    assert len({row.count("|") for row in rows}) == 1
    assert any("random" in row and " 1000 " in row for row in rows)
    (found,) = standings(read_board(file))
    assert markdown(standings_table(found)).splitlines()[0] == lines[0]


def test_trueskill_on_a_board(tmp_path: Path, capsys) -> None:
    pytest.importorskip("trueskill")
    file = tmp_path / "board.json"
    run(file, "fixed:rock", "fixed:paper", "--games", "10", "--method", "sampled")
    assert main(["eval", "--leaderboard", str(file), "--rating", "trueskill"]) == 0
    assert "TrueSkill" in capsys.readouterr().out
    (found,) = standings(read_board(file), "trueskill")
    assert [row.name for row in found.rows] == ["fixed:paper", "fixed:rock"]


def test_another_file_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "notes.json"
    file.write_text('{"format": "mine"}', encoding="utf-8")
    with pytest.raises(EvalError, match="no leaderboard"):
        add(file, matches("random", "fixed:rock"))
    assert file.read_text(encoding="utf-8") == '{"format": "mine"}'


def test_void_match_leaves_the_others_rated() -> None:
    one = matches("random", "fixed:rock")
    gone = [
        replace(match, means=(None, None), variances=(None, None), points=None, result=(0, 0, 0))
        for match in matches("random", "fixed:paper")
        if set(match.names) == {"random", "fixed:paper"}
    ]
    for system in ("elo", "trueskill"):
        (found,) = standings(Board().with_matches(one + gone), system)
        assert found.rated
        rated = {row.name for row in found.rows if row.rating is not None}
        assert rated == {"random", "fixed:rock"}
    pay = [replace(match, points=None) for match in one]
    assert not standings(Board().with_matches(pay))[0].rated


@pytest.mark.parametrize(("games", "kind"), [(1, "none"), (9, "t"), (0, "exact")])
def test_only_what_is_written_out_is_exact(games: int, kind: str) -> None:
    """However alike sampled games paid."""
    found = [
        replace(match, games=games, means=(1.0, -1.0), variances=(0.0, 0.0))
        for match in matches("fixed:rock", "fixed:scissors")
    ]
    (table,) = standings(Board().with_matches(found))
    assert {row.mean.kind for row in table.rows} == {kind}


@pytest.mark.parametrize(("method", "shown"), [("sampled", "–"), ("exact", "exact")])
def test_games_with_itself_alone_are_exact_only_where_written_out(method: str, shown: str) -> None:
    (table,) = standings(Board().with_matches(matches("random", method=method)))
    (row,) = standings_table(table).rows
    assert row[3] == shown


def test_standard_error_uses_the_sample_variance() -> None:
    """Games that paid 1, 1, -1 and -1: variance 4/3 in the sample, so an error of 1/√3."""
    (match,) = (m for m in matches("random", "fixed:rock") if m.names == ("random", "fixed:rock"))
    one = replace(match, games=4, means=(0.0, 0.0), variances=(1.0, 1.0))
    (table,) = standings(Board().with_matches([one]))
    assert table.rows[0].mean.half == pytest.approx(1.959964 / 3**0.5)
    parts = [replace(one, games=2, seed=n, means=(m, -m), variances=(0.0, 0.0))
             for n, m in enumerate((1.0, -1.0))]  # fmt: skip
    (pooled,) = standings(Board().with_matches(parts))
    assert pooled.rows[0].mean.half == pytest.approx(table.rows[0].mean.half)


def test_an_anchor_that_has_not_played_is_said(tmp_path: Path, capsys) -> None:
    file = tmp_path / "board.json"
    argv = ["eval", *FIRST, "--game", RPS, "--leaderboard", str(file)]
    assert main([*argv, "--anchor", "fixed:rok"]) == 2
    assert not file.exists()  # said before anything is played
    assert "did you mean `fixed:rock`?" in capsys.readouterr().err
    assert main([*argv, "--anchor", "fixed:rock"]) == 0
    assert main(["eval", "--leaderboard", str(file), "--anchor", "nobody"]) == 2
    assert "the anchor `nobody` has not played" in capsys.readouterr().err


@pytest.mark.parametrize("part", ["[]", '{"h": []}', '{"h": {"i": {"kind": "exact"}}}', "3"])
def test_a_damaged_board_is_said(part: str, tmp_path: Path, capsys) -> None:
    file = tmp_path / "board.json"
    text = '{"format": "gamedsl leaderboard 1", "matches": [], "exploitability": %s}'
    file.write_text(text % part, encoding="utf-8")
    assert main(["eval", *FIRST, "--game", RPS, "--leaderboard", str(file)]) == 2
    assert f"{file} is no leaderboard" in capsys.readouterr().err


def test_markdown_that_cannot_be_written_is_said(tmp_path: Path, capsys) -> None:
    file, place = tmp_path / "board.json", tmp_path / "file"
    run(file, *FIRST)
    place.write_text("", encoding="utf-8")
    page = place / "board.md"
    assert main(["eval", "--leaderboard", str(file), "--leaderboard-md", str(page)]) == 2
    assert f"{page} cannot be written" in capsys.readouterr().err
