"""Rows of a data file that are held out: which they are, and that every way of running a game with
a share of its rows draws that share and no other."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import gamedsl
from gamedsl.diagnostics import CompileError
from gamedsl.ir.game import Rows
from gamedsl.ir.program import Draw, walk_steps
from gamedsl.ir.rows import holds_out, is_held_out
from gamedsl.runtime import Game
from gamedsl.runtime.kernels import BACKENDS
from gamedsl.runtime.replay import replay
from gamedsl.runtime.transcripts import dump, read
from gamedsl.solve import tabulate

QUIZ = """
game: quiz
roles: [left, right]
data:
  tasks: {file: tasks.jsonl, fields: {number: 0..999, odd: truth}, held_out: 0.3}
turns:
  - {draw: task, from: tasks, seen_by: {number: all}}
  - {role: all, choose: guess, from: [odd, even]}
payoffs: 1 if (guess.me == odd) == task.odd else 0
"""
ROWS = [{"number": number, "odd": number % 2 == 1} for number in range(0, 120, 3)]


def quiz(
    folder: Path, text: str = QUIZ, rows: Sequence[dict[str, Any]] = ROWS, name: str = "quiz"
) -> Game:
    """A game with its rows, from files."""
    folder.mkdir(exist_ok=True)
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "tasks.jsonl").write_text(lines, encoding="utf-8")
    (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return gamedsl.load(folder / f"{name}.yaml")


def draws(game: Game) -> Iterator[Draw]:
    return (step for step in walk_steps(game.ir.turns) if isinstance(step, Draw))


def rows_of(game: Game) -> list[tuple[Any, ...]]:
    """What its first draw is from."""
    values = next(draws(game)).source.values
    assert values is not None
    return list(values.value)


@pytest.fixture
def game(tmp_path: Path) -> Game:
    return quiz(tmp_path / "game")


def numbers(game: Game) -> set[int]:
    return {row[0] for row in rows_of(game)}


def test_training_and_held_out_rows_are_all_rows(game: Game) -> None:
    held, trained = numbers(game.of("held_out")), numbers(game.of("training"))
    assert held
    assert trained
    assert not held & trained
    assert held | trained == numbers(game) == {row["number"] for row in ROWS}


def test_a_row_stays_on_its_side(game: Game, tmp_path: Path) -> None:
    """Whatever happens to the other rows, and in whatever order rows and fields are written."""
    held = numbers(game.of("held_out"))
    shuffled = [dict(reversed(row.items())) for row in random.Random(1).sample(ROWS, len(ROWS))]
    more = [{"number": number, "odd": number % 2 == 1} for number in range(1, 300, 3)]
    otherwise = QUIZ.replace("number: 0..999, odd: truth", "odd: truth, number: 0..999")
    for rows, text in ((shuffled, QUIZ), (more + ROWS, QUIZ), (ROWS, otherwise), (ROWS[5:], QUIZ)):
        found = quiz(tmp_path / "other", text, rows).of("held_out")
        place = 0 if text is QUIZ else 1
        known = {row["number"] for row in ROWS} & {row["number"] for row in rows}
        assert {row[place] for row in rows_of(found)} & known == held & known


def test_equal_rows_are_on_one_side(tmp_path: Path) -> None:
    found = quiz(tmp_path / "twice", rows=[*ROWS, *ROWS])
    assert not numbers(found.of("held_out")) & numbers(found.of("training"))


READ_WHOLE = QUIZ.replace(
    "payoffs: 1 if", "payoffs: size(tasks) + sum(t.number for t in tasks) if"
).replace("else 0", "else size(tasks) + sum(t.number for t in tasks if t.number >= 0)")


@pytest.mark.parametrize("backend", BACKENDS)
def test_shares_read_all_rows(tmp_path: Path, backend: str) -> None:
    """What reads the name of the file reads all rows, whichever are drawn; hashes are equal."""
    whole = quiz(tmp_path / "whole", READ_WHOLE)
    paid = len(ROWS) + sum(int(row["number"]) for row in ROWS)
    shares: tuple[Rows, ...] = ("all", "training", "held_out")
    for share in shares:
        game = whole.of(share)
        assert game.ir.rules_hash == whole.ir.rules_hash
        episode = game.env(backend=backend).reset(seed=1)
        episode.step({decision.seat: gamedsl.Action("odd") for decision in episode.decisions})
        assert set(episode.payoffs.values()) == {paid}


def test_a_share_is_a_share() -> None:
    """Of 4,000 rows a fifth, within four standard deviations; and a larger share has all of a
    smaller one."""
    rows = [{"name": f"row {number}"} for number in range(4000)]
    held = [is_held_out(row, Fraction(1, 5)) for row in rows]
    assert abs(sum(held) - 800) < 4 * (4000 * 0.2 * 0.8) ** 0.5
    more = [is_held_out(row, Fraction(2, 5)) for row in rows]
    assert sum(more) > sum(held)
    assert all(after for before, after in zip(held, more, strict=True) if before)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("rows", ["all", "training", "held_out"])
def test_every_backend_draws_from_the_share(game: Game, rows: Any, backend: str) -> None:
    """Its outcomes are the share's rows, each as likely, and what is drawn is one of them; also
    after other shares of the same game have been tabulated and generated."""
    for other in ("all", "training", "held_out"):
        game.of(other).kernel(backend).start()
    share = game.of(rows)
    env = share.env(backend=backend)
    outcomes = env.reset(seed=1, chance="asked").chance
    wanted = {f"{number},{str(odd).lower()}" for number, odd in rows_of(share)}
    assert {outcome.name for outcome in outcomes} == wanted
    assert {outcome.probability for outcome in outcomes} == {Fraction(1, len(wanted))}
    drawn = {drawn_by(env, seed) for seed in range(40)}
    assert len(drawn) > 3
    assert drawn <= wanted


def drawn_by(env: gamedsl.Env, seed: int) -> str:
    """The row that a seed draws."""
    episode = env.reset(seed=seed)
    episode.step({decision.seat: gamedsl.Action("odd") for decision in episode.decisions})
    found: str = episode.transcript["steps"][0]["chance"]["task"]
    return found


def test_row_share_changes_only_the_tree(game: Game) -> None:
    held, trained = game.of("held_out"), game.of("training")
    assert game.hash == held.hash == trained.hash
    assert game.ir.rules_hash == held.ir.rules_hash
    assert len({one.ir.tree_hash for one in (game, held, trained)}) == 3
    assert len({one.share_hash for one in (game, held, trained)}) == 3
    assert trained.of("all").ir is game.ir
    assert trained.of("held_out").ir == held.ir
    assert trained.of("training") is trained
    assert game.evaluated.ir == held.ir
    solved = [len(tabulate(one.env()).terminals) for one in (game, held, trained)]
    assert solved[0] == solved[1] + solved[2] == 4 * len(ROWS)


def test_what_holds_nothing_out_is_trained_on_whole(tmp_path: Path) -> None:
    whole = quiz(tmp_path / "whole", QUIZ.replace(", held_out: 0.3", ""))
    assert not holds_out(whole.ir)
    assert whole.of("training") is whole.evaluated is whole
    with pytest.raises(ValueError, match="`quiz` holds no rows out"):
        whole.of("held_out")
    assert "rows" not in whole.env().reset(seed=0).transcript


NESTED = """
game: nested
roles: [left]
data:
  tasks: {file: tasks.jsonl, fields: {number: 0..999, odd: truth}, held_out: 0.3}
state: {sum: 0}
turns:
  - repeat: 2
    turns:
      - {role: left, choose: move, from: [ask, wait]}
      - if: move == ask
        turns:
          - {draw: one, from: tasks, seen_by: all}
          - {do: sum += one.number}
      - if: move == wait
        turns:
          - {draw: two, from: 2 of tasks, seen_by: all}
payoffs: sum
"""


def test_draws_in_loops_blocks_and_several_rows(tmp_path: Path) -> None:
    found = quiz(tmp_path / "nested", NESTED, name="nested")
    for rows in ("held_out", "training"):
        share = found.of(rows)
        values = [step.source.values for step in draws(share)]
        assert len(values) == 2
        assert all(len(v.value) == v.type.length == len(numbers(share)) for v in values)
        for seed in range(6):
            episode = share.env().reset(seed=seed)
            while not episode.done:
                move = "ask" if seed % 2 else "wait"
                episode.step({d.seat: gamedsl.Action(move) for d in episode.decisions})
            told = json.dumps(episode.transcript["steps"])
            assert all(f'"{n},' not in told for n in numbers(found) - numbers(share)), told


def test_draw_count_is_capped_by_smaller_share(tmp_path: Path) -> None:
    few = NESTED.replace("2 of tasks", "20 of tasks")
    with pytest.raises(CompileError, match="20 cannot be drawn from"):
        quiz(tmp_path / "few", few, name="nested")


def test_transcripts_know_their_share(game: Game) -> None:
    episode = game.of("training").env(run_seed=3).reset(seed=5)
    episode.step({decision.seat: gamedsl.Action("odd") for decision in episode.decisions})
    assert episode.transcript["rows"] == "training"
    (told,) = read(dump(episode))
    assert replay(game, told).faults == ()
    (other,) = read(dump(episode).replace('"rows": "training"', '"rows": "held_out"'))
    (fault,) = replay(game, other).faults
    assert "task" in fault.message
    (unknown,) = read(dump(episode).replace('"rows": "training"', '"rows": "some"'))
    (fault,) = replay(game, unknown).faults
    assert "no such share" in fault.message
