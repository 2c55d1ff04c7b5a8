"""Rows by success: drawn where the games of a group differ, the same after a stop."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gamedsl
from gamedsl.ir.rows import row_draws, rows_of
from gamedsl.prompting.replies import ParseFailure
from gamedsl.recipe.table import Recipe
from gamedsl.runtime import Action, Game
from gamedsl.runtime.replay import replay
from gamedsl.runtime.transcripts import read
from gamedsl.training.dry_run import dry_run
from gamedsl.training.errors import TrainError
from gamedsl.training.loop import train
from gamedsl.training.monitors.text import STANDINGS
from gamedsl.training.rows import KEPT, UNSEEN, RowSampler, row_sampler
from gamedsl.training.runfolder import RunFolder, create
from gamedsl.training.screen import measures
from gamedsl.training.seats import SeatAssignment
from gamedsl.training.trajectories import Batch, Trajectory
from gamedsl.view.report.page import write_report
from tests.train import in_words
from tests.train.conftest import policy_of, recipe_of, run_of, same

DATA = """
types: {Kind: [easy, fair, hopeless]}
data:
  tasks: {file: tasks.jsonl, fields: {number: 0..999, kind: Kind}}
let:
  right: task.kind == easy or (task.kind == fair and guess == odd)
"""
QUIZ = f"""
game: quiz
roles: [player]
{DATA}
turns:
  - {{draw: task, from: tasks, seen_by: {{number: all}}}}
  - {{draw: coin, from: [heads, tails], seen_by: nobody}}
  - {{role: player, choose: guess, from: [odd, even]}}
payoffs: 1 if right else 0
"""
DUEL = (
    QUIZ.replace("quiz", "duel")
    .replace("[player]", "[player, rival]")
    .replace("payoffs: 1 if right else 0", "  - {role: rival, choose: nod, from: [yes, no]}")
    + "payoffs: {player: 1 if right else 0, rival: 0 if right else 1}\n"
)
TOLD = f"""
game: told
roles: [player, teller]
{DATA}
turns:
  - {{draw: task, from: tasks, seen_by: {{number: all}}}}
  - {{role: player, choose: guess, from: [odd, two]}}
  - {{role: teller, say: word, max_tokens: 8}}
payoffs: {{player: 1 if right else 0, teller: 1}}
on_invalid: {{then: forfeit, pay: -1}}
train:
  roles: {{teller: {{player: random}}}}
"""


class Scripted:
    """A player that says one thing, whatever it is asked."""

    def __init__(self, text: str) -> None:
        self.text = text

    def act(self, decision: object, episode: object) -> str:
        return self.text


EASY, FAIR, HOPELESS = 24, 4, 24
SHAPE = {"games": 64, "group_size": 8, "exploitability": "off"}
ROWS = {"curriculum__rows": "task"}
Build = Callable[..., Game]


@pytest.fixture
def of_rows(tmp_path: Path) -> Build:
    """A game whose file has many rows that pay the same whatever is done, and few that do not."""

    def build(text: str, easy: int = EASY, fair: int = FAIR, hopeless: int = HOPELESS) -> Game:
        kinds = ["easy"] * easy + ["fair"] * fair + ["hopeless"] * hopeless
        rows = [{"number": number, "kind": kind} for number, kind in enumerate(kinds)]
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / "tasks.jsonl").write_text(lines, encoding="utf-8")
        path = tmp_path / "game.yaml"
        path.write_text(text, encoding="utf-8")
        return gamedsl.load(path)

    return build


def learned(run: RunFolder) -> float:
    """How often the last policy is right in the rows where that depends on it."""
    policy = run.records()[-2]["policy"]
    odds = [
        row["probs"]["odd"]
        for key, row in policy.items()
        if EASY <= int(key.rpartition("=")[2].rstrip("]")) < EASY + FAIR
    ]
    assert len(odds) == FAIR
    return float(np.mean(odds))


def test_informative_rows_are_drawn_more_often(of_rows: Build, tmp_path: Path) -> None:
    game, found = of_rows(QUIZ), {}
    for name, plan in (("chance", {}), ("success", ROWS)):
        recipe = recipe_of(game, steps=30, lr=3e-5, **SHAPE, **plan)
        found[name], _ = run_of(game, recipe, tmp_path / name)
    means = {name: learned(run) for name, run in found.items()}
    assert means["success"] > means["chance"] + 0.1, means
    told = [record["rows"] for record in found["success"].records()[1:-1]]
    # By chance these are no more than FAIR rows of 52, 8% of the games.
    assert np.mean([rows["teach"] for rows in told[-10:]]) > 0.3, told
    assert {sum(rows[kind] for kind in STANDINGS) for rows in told} == {52}
    assert told[-1]["failed"] <= HOPELESS
    assert all("rows" not in record for record in found["chance"].records())
    assert measures(found["success"].records()[-2])["games that teach"] == told[-1]["teach"]
    assert "Rows by success" in write_report(found["success"].path).read_text(encoding="utf-8")
    assert "Rows by success" not in write_report(found["chance"].path).read_text(encoding="utf-8")


def test_deals_have_rows_too(of_rows: Build, tmp_path: Path) -> None:
    """Where chance is drawn for each game, and the games of a row lie in several deals."""
    game = of_rows(QUIZ)
    shape = {**SHAPE, "games": 256, "group_by": "deal"}
    run, _ = run_of(game, recipe_of(game, steps=10, lr=1e-9, **shape, **ROWS), tmp_path / "run")
    teach = [record["rows"]["teach"] for record in run.records()[1:-1]]
    assert np.mean(teach[:2]) < 0.15, teach
    assert np.mean(teach[-5:]) > 0.3, teach


def test_in_words_too(of_rows: Build, tmp_path: Path) -> None:
    """Where replies are written; the policy stays as it is. By chance it would be one game in
    seven at most."""
    run = written(of_rows(TOLD, 6, 2, 6), tmp_path / "run", steps=10)
    teach = [record["rows"]["teach"] for record in run.records()[1:-1]]
    assert np.mean(teach[-5:]) > 0.3, teach


def written(game: Game, folder: Path, *, steps: int, lr: float = 1e-9) -> RunFolder:
    """A run in words, from nothing or from where it stopped."""
    recipe = in_words.recipe_of(
        game, steps=steps, lr=lr, games=32, group_size=8, temperature=4, curriculum__rows="task"
    )  # fmt: skip
    policy = in_words.opened(game, recipe)
    run = RunFolder(folder)
    if not folder.exists():
        run = create(game, recipe, folder, {}, policy.tokenizer, 1)
    assert train(game, recipe, run, policy, seating=cast_of(game, recipe)).finished
    return run


def cast_of(game: Game, recipe: Recipe) -> SeatAssignment:
    return SeatAssignment(game.ir, recipe, {"teller": Scripted("fine")})


@pytest.mark.parametrize("group_by", ["seed", "deal"])
def test_draws_go_on_after_a_stop(of_rows: Build, tmp_path: Path, group_by: str) -> None:
    game = of_rows(QUIZ)
    recipe = recipe_of(game, steps=8, lr=0.03, group_by=group_by, **SHAPE, **ROWS)
    run_of(game, recipe, tmp_path / "whole")
    parts, _ = run_of(game, replace(recipe, steps=5), tmp_path / "parts")
    assert train(game, recipe, parts, policy_of(game, recipe)).finished
    same(tmp_path / "whole", tmp_path / "parts")


def test_draws_in_words_go_on_after_a_stop(of_rows: Build, tmp_path: Path) -> None:
    game = of_rows(TOLD)
    whole = written(game, tmp_path / "whole", steps=4, lr=0.005)
    written(game, tmp_path / "parts", steps=2, lr=0.005)
    written(game, tmp_path / "parts", steps=4, lr=0.005)
    same(tmp_path / "whole", tmp_path / "parts")
    assert len(whole.records()[-2]["rows"]["success"]) > 1


def batch_of(game: Game, plays: Sequence[tuple[int, int, str]]) -> Batch:
    """Games by hand: how many, of which row, and what was guessed in them."""
    histories = []
    for games, row, guess in plays:
        episode = game.env().reset(given={"task": row})
        episode.step({"player": Action(guess)})
        if not episode.done:
            episode.step({"rival": Action("yes")})
        histories.append(Trajectory(0, games, (), episode, row))
    return Batch(trajectories=histories)


@pytest.mark.parametrize("text", [QUIZ, DUEL], ids=["alone", "against"])
def test_odds_are_those_of_the_variance(of_rows: Build, text: str) -> None:
    """By hand: p(1-p) of each row, with half a game of success and of failure before the first.
    Where one's gain is the other's loss it is the same, though they share 1 in every game."""
    game = of_rows(text)
    rows = row_sampler(game, recipe_of(game, curriculum__unweighted=0.25, **ROWS))
    assert rows is not None
    many = EASY + FAIR + HOPELESS
    assert rows.odds() == pytest.approx(np.full(many, 1 / many))
    fair, hopeless = EASY, EASY + FAIR
    told = rows.see(batch_of(game, [(4, 0, "odd"), (1, fair, "odd"), (2, fair, "even")]))["rows"]
    means = {"1": 1, str(fair + 1): 1 / 3} if text == QUIZ else {"1": 0.5, str(fair + 1): 0.5}
    assert told["success"] == pytest.approx(means)
    assert told["teach"] == pytest.approx(3 / 7)
    rows.see(batch_of(game, [(4, 0, "even"), (5, hopeless, "odd")]))
    p = np.full(many, 0.5)
    p[0] = (4 * KEPT + 4 + UNSEEN) / (4 * KEPT + 4 + 1)
    p[fair] = (1 + UNSEEN) / (3 + 1)
    p[hopeless] = UNSEEN / (5 + 1)
    worth = p * (1 - p)
    assert rows.odds() == pytest.approx(0.25 / many + 0.75 * worth / worth.sum())
    again = row_sampler(game, recipe_of(game, curriculum__unweighted=0.25, **ROWS))
    assert again is not None
    again.restore(rows.state())
    assert (again.odds() == rows.odds()).all()


def test_success_is_scaled_without_bounds(of_rows: Build) -> None:
    """That of what was paid so far: the odds are those of the game whose bounds are known."""
    game = of_rows(QUIZ)
    recipe = recipe_of(game, **ROWS)
    known, unknown = row_sampler(game, recipe), RowSampler(game, recipe, {"player": None})
    assert known is not None
    seen = [(4, 0, "odd"), (1, EASY, "odd"), (2, EASY, "even"), (3, EASY + FAIR, "odd")]
    unknown.see(batch_of(game, seen[:1]))
    assert unknown.odds()[0] < unknown.odds()[1]
    known.see(batch_of(game, seen[:1]))
    told = [rows.see(batch_of(game, seen[1:]))["rows"] for rows in (known, unknown)]
    assert told[0] == told[1]
    assert unknown.odds() == pytest.approx(known.odds())


def test_a_forfeit_is_a_failure(of_rows: Build) -> None:
    """And is no measure of what can be paid."""
    game = of_rows(TOLD)
    recipe = in_words.recipe_of(game, **ROWS)
    rows = RowSampler(game, recipe, {"player": None})
    histories = []
    for games, guess in ((3, "odd"), (2, "two"), (5, ParseFailure("empty"))):
        episode = game.env().reset(given={"task": EASY})
        reply = Action(guess) if isinstance(guess, str) else guess
        episode.step({"player": reply})
        if not episode.done:
            episode.step({"teller": "fine"})
        histories.append(Trajectory(0, games, (), episode, EASY))
    told = rows.see(Batch(trajectories=histories))["rows"]
    assert told["success"] == {str(EASY + 1): 0.3}


def test_plays_that_pay_the_same_have_no_success(of_rows: Build) -> None:
    game = of_rows(QUIZ.replace("1 if right else 0", "1"))
    recipe = recipe_of(game, **ROWS)
    with pytest.raises(TrainError, match="all plays pay those who learn the same"):
        dry_run(game, recipe, SeatAssignment(game.ir, recipe), print)


def test_fixed_row_leaves_other_draws_random(of_rows: Build) -> None:
    game = of_rows(QUIZ)
    env, numbers = game.env(), set()
    for seed in range(20):
        episode = env.reset(seed=seed, given={"task": 7})
        assert episode.fork().view("player").data["seen"] == episode.view("player").data["seen"]
        episode.step({"player": Action("odd")})
        steps = episode.transcript["steps"]
        assert steps[0]["chance"]["task"].startswith("7,")
        by_seed = env.reset(seed=seed)
        by_seed.step({"player": Action("odd")})
        assert steps[1] == by_seed.transcript["steps"][1]
        numbers.add(steps[1]["chance"]["coin"])
        (told,) = read(json.dumps(episode.transcript))
        assert replay(game, told).faults == ()
    assert numbers == {"heads", "tails"}
    with pytest.raises(IndexError, match="no outcome 52 of 52"):
        env.reset(given={"task": 52})


def test_rows_go_by_their_place_in_the_file(of_rows: Build) -> None:
    """Held-out rows and repeated ones included."""
    game = of_rows(QUIZ.replace("Kind}}", "Kind}, held_out: 1/3}"))
    training = game.of("training")
    recipe = recipe_of(training, **ROWS)
    rows = row_sampler(training, recipe)
    assert rows is not None
    draw = row_draws(training.ir)["task"]
    assert draw is not None
    kept = rows_of(draw)
    assert kept is not None
    assert 10 < len(kept) == len(rows.odds()) < 52
    for place, (number, _) in enumerate(kept):
        told = rows.see(batch_of(training, [(1, place, "odd")]))["rows"]
        assert [*told["success"]] == [str(number + 1)]
