"""Training draws the rows that a game trains on, and evaluation those that it holds out."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import gamedsl
from gamedsl.cli import main
from gamedsl.export.gambit import to_efg
from gamedsl.ir.rows import is_held_out

DATA = """
data:
  tasks: {file: tasks.jsonl, fields: {number: 0..999, odd: truth}, held_out: 1/3}
"""
QUIZ = f"""
game: quiz
roles: [player]
{DATA}
turns:
  - {{draw: task, from: tasks, seen_by: {{number: all}}}}
  - {{role: player, choose: guess, from: [odd, even]}}
payoffs: 1 if (guess == odd) == task.odd else 0
"""
TOLD = f"""
game: told
roles: [player]
{DATA}
turns:
  - {{draw: task, from: tasks, seen_by: {{number: all}}}}
  - {{role: player, say: answer, max_tokens: 3}}
payoffs: 1
on_invalid: {{then: skip, pay: -1}}
"""


def rows() -> list[dict[str, Any]]:
    """Rows of which those that are held out are the odd ones; no number is in two."""
    found = {}
    for number in range(90):
        for odd in (False, True):
            row = {"number": number, "odd": odd}
            if is_held_out(row, Fraction(1, 3)) == odd:
                found[number] = row
    return list(found.values())


@pytest.fixture
def files(tmp_path: Path) -> Path:
    lines = "".join(json.dumps(row) + "\n" for row in rows())
    (tmp_path / "tasks.jsonl").write_text(lines, encoding="utf-8")
    (tmp_path / "quiz.yaml").write_text(QUIZ, encoding="utf-8")
    (tmp_path / "told.yaml").write_text(TOLD, encoding="utf-8")
    return tmp_path


def trained(files: Path, name: str, *more: str) -> Path:
    """The folder of a short run whose every step keeps its transcripts."""
    argv = ["train", str(files / f"{name}.yaml"), "--format", "json", "--out", str(files / "run")]
    for setting in ("steps=2", "games=32", "group_size=4", "transcripts_every=1", *more):
        argv += ["--set", setting]
    assert main(argv) == 0
    return files / "run"


def drawn(run: Path) -> set[tuple[int, str]]:
    """The rows in all transcripts of a run."""
    found = set()
    for file in (run / "transcripts").iterdir():
        for line in file.read_text(encoding="utf-8").splitlines():
            told = json.loads(line)
            assert told["rows"] == "training"
            number, odd = told["steps"][0]["chance"]["task"].split(",")
            found.add((int(number), odd))
    return found


@pytest.mark.parametrize(
    ("name", "model"), [("quiz", "tabular"), ("told", "tiny")], ids=["labels", "words"]
)
def test_no_row_held_out_is_drawn_in_training(
    files: Path, name: str, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = trained(files, name, f"model={model}")
    found = drawn(run)
    assert len(found) > 5
    assert found <= {(row["number"], "false") for row in rows() if not row["odd"]}
    told = json.loads((run / "run.json").read_text(encoding="utf-8"))
    assert told["rows"] == "training"
    assert told["hash"] == gamedsl.load(files / f"{name}.yaml").hash


def evaluated(files: Path, capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    game = str(files / "quiz.yaml")
    assert main(["eval", "fixed:odd", "--game", game, "--format", "json", *more]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def share_of_odd(found: dict[str, Any]) -> float:
    value: float = found["pairings"][0]["payoff"]["value"]
    return value


@pytest.mark.parametrize("method", ["exact", "sampled"])
def test_evaluation_draws_what_is_held_out(
    files: Path, capsys: pytest.CaptureFixture[str], method: str
) -> None:
    """Of the rows held out all are odd, and of the others none."""
    more = ["--method", method, "--games", "50"]
    found = evaluated(files, capsys, *more)
    assert found["rows"] == "held_out"
    assert share_of_odd(found) == pytest.approx(1)
    for rows_asked, value in (("held-out", 1), ("training", 0)):
        assert share_of_odd(evaluated(files, capsys, *more, "--rows", rows_asked)) == pytest.approx(
            value
        )
    every = evaluated(files, capsys, *more, "--rows", "all")
    assert every["rows"] == "all"
    assert 0 < share_of_odd(every) < 1


def test_evaluation_uses_held_out_rows(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A tabular policy has learned nothing of the rows that were held out."""
    run = trained(files, "quiz", "model=tabular", "steps=40", "lr=0.1")
    capsys.readouterr()
    value = {}
    for asked in ("held-out", "training"):
        assert main(["eval", str(run), "--rows", asked, "--format", "json"]) == 0
        value[asked] = share_of_odd(json.loads(capsys.readouterr().out))
    assert value["training"] > 0.9, value
    assert value["held-out"] == pytest.approx(0.5, abs=0.05), value


def test_boards_keep_shares_apart(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    board = str(files / "board.json")
    for asked in ("held-out", "training"):
        evaluated(files, capsys, "--rows", asked, "--leaderboard", board)
    assert main(["eval", "--leaderboard", board, "--format", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert sorted(one["game"] for one in shown) == ["quiz, held-out rows", "quiz, training rows"]


def test_shares_that_are_not_there(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["eval", "random", "--game", "matching_pennies", "--rows", "held-out"]
    assert main(argv) == 2
    assert "`matching_pennies` holds no rows out" in capsys.readouterr().err


def test_exports_have_all_rows(files: Path) -> None:
    text = to_efg(gamedsl.load(files / "quiz.yaml"))
    assert all(f'"{row["number"]},{str(row["odd"]).lower()}"' in text for row in rows())
