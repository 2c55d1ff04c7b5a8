"""Ties in payoffs are noted where nobody is paid, and not where the file says what they pay."""

from __future__ import annotations

from pathlib import Path

import pytest

from gamedsl.compiler import compile_file
from tests.writing import write

HEAD = "game: g\nroles: [ann, bob]\nturns:\n  - {role: all, choose: bid, from: 1..3}\n"

NOTED = [
    "payoffs: 1 if me == argmax(bid) else 0\n",
    "let:\n  winner: argmax(bid)\npayoffs: 1 if me == winner else -1\n",
    "payoffs: 1 if bid.me == most(bid) and bid.me > 1 else 0\n",
    "payoffs: 1 if me == argmax(bid[r] for r in roles) else 0\n",
    "payoffs: 1 if bid.me == most([bid[r] for r in roles if bid[r] > 0]) and bid.me > 1 else 0\n",
]
SILENT = [
    "payoffs: 1 if me == argmax(bid) else 1\n",
    "payoffs: 1 if argmax(bid) == none else 2 if me == argmax(bid) else 0\n",
    "let:\n  winner: argmax(bid)\npayoffs: 0 if winner == none else 1 if me == winner else -1\n",
    "payoffs: 1 if me in best(bid) else 0\n",
    "payoffs: bid.me if me == argmax(bid) else 1\n",
    "payoffs: 1 if me in best(bid[r] for r in roles) else 0\n",
    "payoffs: sum(1 for n in 1..2 if argmax(bid[r] + n for r in roles) == me)\n",
]


def notes(folder: Path, rest: str) -> list[tuple[str, ...]]:
    found = compile_file(write(folder, HEAD + rest)).diagnostics
    assert not [d for d in found if d.severity == "error"]
    return [d.witness for d in found if d.code == "GD0490"]


@pytest.mark.parametrize("rest", NOTED)
def test_unpaid_tie_is_noted(tmp_path: Path, rest: str) -> None:
    (witness,) = notes(tmp_path, rest)
    paid = -1 if "-1" in rest else 0
    assert witness[1:] == (f"payoffs: ann {paid}, bob {paid}",)
    assert witness[0].startswith("bid: ann ")


@pytest.mark.parametrize("rest", SILENT)
def test_paid_or_tested_tie_is_not_noted(tmp_path: Path, rest: str) -> None:
    assert notes(tmp_path, rest) == []
