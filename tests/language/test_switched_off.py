"""What params switch off is folded in silence: steps, branches, and what these alone read."""

from __future__ import annotations

from pathlib import Path

import pytest

import gamedsl
from gamedsl.compiler import compile_file
from tests.writing import write

HEAD = "game: folded\nparams: {n: 3, fee: none}\nroles: [ann, bob]\n"
TURNS = "turns:\n  - {role: all, choose: move, from: [up, down]}\n"

SILENT = {
    "a let of params": "let: {big: n > 2}\nTURNSpayoffs: 1 if big else 2\n",
    "a let of such a let": (
        "let: {big: n > 2, huge: big and n > 9}\nTURNSpayoffs: 1 if huge else 2\n"
    ),
    "a param besides what is chosen": "TURNSpayoffs: 1 if n > 5 and move.me == up else 2\n",
    "a choice besides a param": "TURNSpayoffs: 1 if move.me == up or n < 5 else 2\n",
    "not": "TURNSpayoffs: 1 if not (n < 5 or move.me == up) else 2\n",
    "a branch in a branch": (
        "TURNSpayoffs: (1 if move.me == up and move.me == down else 2) if n > 5 else 3\n"
    ),
    "a let that only such a branch reads": (
        "let: {odd: 1 if move.me == up and move.me == down else 2}\n"
        "TURNSpayoffs: odd if n > 5 else 3\n"
    ),
    "a step": (
        "let: {big: n > 5}\nTURNS"
        "  - {role: all, choose: more, from: [a, b], if: big and move.ann == up}\npayoffs: 0\n"
    ),
    "steps inside a block": (
        "let: {big: n > 5}\nTURNS"
        "  - {if: big, turns: [{role: all, choose: more, from: [a, b], if: move.ann == up}]}\n"
        "payoffs: 0\n"
    ),
    "a loop without passes": (
        "TURNS  - {repeat: n - 3, turns: [{role: all, choose: more, from: [a, b]}]}\npayoffs: 0\n"
    ),
    "an action": (
        "actions: {up: {}, down: {}, stay: {when: n > 5 and me == ann}}\n"
        "turns: [{role: all, choose: move, from: actions}]\npayoffs: 0\n"
    ),
    "a let that only a step reads": (
        "let: {cost: 3}\nTURNS  - {pay: payoffs, value: cost - fee, if: fee != none}\npayoffs: 0\n"
    ),
    "state that only a branch reads": (
        "state: {spent: 0}\nTURNS  - do: spent += 1\n"
        "payoffs: 1 if fee == none else spent - fee\n"
    ),
    "an end": "end: n > 5 and move.ann == up\nTURNSpayoffs: 0\n",
    "the end of a loop": (
        "turns:\n  - repeat: 2\n    until: n > 5 and move.ann == up\n"
        "    turns: [{role: all, choose: move, from: [up, down]}]\npayoffs: 0\n"
    ),
}  # fmt: skip
"""Games with something that never happens, since `n` is 3."""


def codes(folder: Path, text: str, **params: object) -> list[str]:
    found = compile_file(write(folder, HEAD + text.replace("TURNS", TURNS)), params).diagnostics
    return [d.code for d in found if d.code != "GD0452"]


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_what_params_switch_off_is_silent(text: str, tmp_path: Path) -> None:
    assert codes(tmp_path, text) == []


NEVER = {
    "a branch": ("TURNSpayoffs: 1 if move.me == up and move.me == down else 2\n", "GD0474"),
    "a branch under a param": (
        "TURNSpayoffs: 1 if n > 2 and move.me == up and move.me == down else 2\n", "GD0474",
    ),
    "a step": (
        "TURNS  - {role: all, choose: more, from: [a, b], if: n > 2 and move.ann == none}\n"
        "payoffs: 0\n", "GD0473",
    ),
    "a branch under words": (
        "TURNSpayoffs: 1 if 1 > 2 and move.me == up else 2\n", "GD0474",
    ),
    "a let that something reads": (
        "let: {odd: 1 if move.me == up and move.me == down else 2}\n"
        "TURNSpayoffs: odd if n > 2 else 3\n", "GD0474",
    ),
}  # fmt: skip
"""What never happens whatever the params do, and the warning of it."""


@pytest.mark.parametrize(("text", "code"), NEVER.values(), ids=NEVER)
def test_what_never_happens_is_told(text: str, code: str, tmp_path: Path) -> None:
    assert codes(tmp_path, text) == [code]


WRONG = {
    "a branch": "TURNSpayoffs: 1 if fee == none else fee + 1\n",
    "the other branch": "TURNSpayoffs: fee + 1 if fee != none else 1\n",
    "none for a number": "TURNSpayoffs: 1 if fee == none else fee\n",
    "none in a sum": "TURNSpayoffs: 2 - (fee if fee != none else 1)\n",
    "types that differ": "TURNSpayoffs: 1 if fee == none else move.me\n",
    "and": "TURNSpayoffs: 1 if fee != none and fee > 2 else 2\n",
    "or": "TURNSpayoffs: 1 if fee == none or fee > 2 else 2\n",
    "a let": "let: {cost: fee * 2}\nTURNSpayoffs: cost if fee != none else 0\n",
    "a let of a step": (
        "let: {cost: fee * 2}\nstate: {paid: 0}\nTURNS  - {do: paid += cost, if: fee != none}\n"
        "payoffs: paid\n"
    ),
}  # fmt: skip
"""Branches that are wrong where `fee` is none, and right where it is a number."""


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_branches_are_right_where_they_count(text: str, tmp_path: Path) -> None:
    assert set(codes(tmp_path, text)) <= {"GD0476"}
    live = [] if "move.me" not in text else ["GD0306"]
    assert codes(tmp_path, text, fee=3) == live


def test_what_live_code_reads_is_never_forgiven(tmp_path: Path) -> None:
    """A let that is first read where params switch it off."""
    text = (
        "let: {cost: fee * 2}\nstate: {paid: 0}\nTURNS  - {do: paid += cost, if: fee != none}\n"
        "payoffs: paid + cost\n"
    )
    assert codes(tmp_path, text) == ["GD0321"]
    assert codes(tmp_path, "TURNSpayoffs: 1 if 1 > 2 else none + 1\n") == ["GD0321"]


def test_a_right_branch_stays_in_the_rules(tmp_path: Path) -> None:
    """Folding changes no hash of a file that was right before."""
    text = "TURNSpayoffs: 1 if n > 5 and move.me == up else 2 if n > 2 or move.me == down else 3\n"
    path = write(tmp_path, HEAD.replace(", fee: none", "") + text.replace("TURNS", TURNS))
    assert gamedsl.load(path).ir.rules_hash.startswith("fa08656f485cfc9d")
