"""No input takes long, exhausts memory or ends in a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from gamedsl.compiler import Result, compile_file
from gamedsl.diagnostics.render import render
from tests.writing import write

PD = "game: g\nroles: [row, column]\nactions: [cooperate, defect]\nprotocol: simultaneous\n"
SEATS = "game: g\nroles: {p: 64}\nactions: [x, y]\nprotocol: simultaneous\n"

HUGE = {
    "brackets": PD + f"payoffs: '{'(' * 2000}1{')' * 2000}'\n",
    "minus signs": PD + f"payoffs: '{'-' * 4000}1'\n",
    "conditionals": PD + f"payoffs: {'1 if true else ' * 270}0\n",
    "points": PD + f"payoffs: move{'.me' * 1300}\n",
    "sum": PD + f"payoffs: {'+'.join('1' * 2000)}\n",
    "and": PD + f"payoffs: 1 if {' and '.join(['true'] * 440)} else 0\n",
    "power": PD + "payoffs: 9 ** 9 ** 9 ** 9\n",
    "powers of params": PD + "params: {a: 7 ** 99, b: a ** 99, c: b ** 99}\npayoffs: c\n",
    "range": PD + "payoffs: sum(1..10 ** 12)\n",
    "loops": PD
    + "payoffs: sum(sum(sum(1 for i in 1..9000) for j in 1..9000) for k in 1..9000)\n",
    "loop over much work": PD
    + f"payoffs: sum({'+'.join(['index(me)'] * 60)} for i in 1..90000)\n",
    "lets that double": PD + "let:\n  a0: 1\n"
    + "".join(f"  a{i + 1}: a{i} + a{i}\n" for i in range(30)) + "payoffs: a30\n",
    "lets that square": PD + "let:\n  a0: 3\n"
    + "".join(f"  a{i + 1}: a{i} * a{i}\n" for i in range(19)) + "payoffs: a19\n",
    "lets in a chain": PD + "let:\n"
    + "".join(f"  a{i}: a{i + 1} + 1\n" for i in range(900)) + "  a900: 1\npayoffs: a0\n",
    "lists that double": PD + "params:\n  a0: [1, 1]\n"
    + "".join(f"  a{i + 1}: [a{i}, a{i}]\n" for i in range(60)) + "payoffs: 1\n",
    "nested lists": PD + f"payoffs: {'[' * 95}1{']' * 95}\n",
    "nested param": PD + f"params: {{a: {'[' * 90}1{']' * 90}}}\npayoffs: 1\n",
    "outcomes": SEATS + "payoffs: 1 / count(move, x)\n",
    "table of 2 ** 64 cells": SEATS + "payoffs: |\n  "
    + ", ".join(f"p_{i}" for i in range(1, 65)) + " | x | y\n  " + ", ".join(["x"] * 63)
    + f" | {', '.join('1' * 64)} | {', '.join('1' * 64)}\n",
    "options": PD.replace("[cooperate, defect]", f"[{', '.join(f'x{i}' for i in range(5000))}]")
    + "payoffs: 1\n",
    "large table": PD.replace("[cooperate, defect]", f"[{', '.join(f'x{i}y' for i in range(60))}]")
    + "payoffs: |\n  row, column | " + " | ".join(f"x{i}y" for i in range(60)) + "\n"
    + "".join(f"  x{j}y | {' | '.join(['1, 2'] * 60)}\n" for j in range(60)),
    "risky outcomes": PD.replace(
        "[cooperate, defect]", f"[{', '.join(f'x{i}y' for i in range(99))}]"
    ) + "payoffs: 1 / (1 + index(move.me))\n",
}  # fmt: skip


def compiled(folder: Path, text: str, **files: str) -> Result:
    return compile_file(write(folder, text, **files))


@pytest.mark.parametrize("name", HUGE)
def test_large_inputs_end_soon(tmp_path: Path, name: str) -> None:
    result = compiled(tmp_path, HUGE[name])
    assert result.ok or render(result.diagnostics)


REFUSED = {
    "brackets": "GD0203", "points": "GD0203", "sum": "GD0203", "conditionals": "GD0203",
    "power": "GD0402", "powers of params": "GD0401", "range": "GD0402", "loops": "GD0402",
    "loop over much work": "GD0402", "lets that double": "GD0402", "lets that square": "GD0402",
    "lets in a chain": "GD0203", "lists that double": "GD0401", "nested lists": "GD0410",
    "table of 2 ** 64 cells": "GD0415", "options": "GD0404", "minus signs": "GD0203",
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_too_large_is_said(tmp_path: Path, name: str) -> None:
    assert REFUSED[name] in {d.code for d in compiled(tmp_path, HUGE[name]).diagnostics}


@pytest.mark.parametrize("name", ["and", "outcomes", "large table", "risky outcomes"])
def test_what_is_merely_long_is_taken(tmp_path: Path, name: str) -> None:
    assert compiled(tmp_path, HUGE[name]).ok


def test_protocols_that_multiply_are_stopped(tmp_path: Path) -> None:
    files = {
        f"p{i}": f"protocol: p{i}\nturns:\n" + f"  - {{use: p{i + 1}}}\n" * 40 for i in range(7)
    }
    files["p7"] = "protocol: p7\nturns:\n  - {role: all, choose: x, from: [u, v]}\n"
    text = "game: g\nroles: [a, b]\nprotocol: p0\npayoffs: 1\n"
    assert [d.code for d in compiled(tmp_path, text, **files).diagnostics] == ["GD0419"]


def test_the_deepest_that_is_allowed_also_runs(tmp_path: Path) -> None:
    """The bounds of depth leave room on Python's stack, for typing, hashing and play."""
    deep = "+".join(["index(me)"] * 75)
    lets = "".join(f"  a{i + 1}: ((a{i} + 1) * 1) + 0\n" for i in range(28))
    text = PD + f"let:\n  a0: 1\n{lets}payoffs: {deep} + a28\n"
    result = compiled(tmp_path, text)
    assert result.ok, render(result.diagnostics)
    assert result.ir is not None
    assert len(result.ir.hash) == 64


def test_records_of_records_are_bounded(tmp_path: Path) -> None:
    """Each line doubles the parts of the one before; a million million are never made."""
    types = "".join(f"  R{i}: {{a: R{i - 1}, b: R{i - 1}}}\n" for i in range(1, 40))
    text = (
        f"game: g\nroles: [a, b]\ntypes:\n  R0: [p, q]\n{types}"
        "turns:\n  - {role: all, choose: x, from: [u, v]}\npayoffs: 0\n"
    )
    found = compiled(tmp_path, text).diagnostics
    assert ("GD0421", "this type has more than 256 parts") in [(d.code, d.message) for d in found]


def test_stages_of_stages_are_bounded(tmp_path: Path) -> None:
    """Each game uses the next twenty times over: 64 million stages of the innermost."""
    turns = "turns:\n  - {role: all, choose: x, from: [u, v]}\n"
    files = {
        f"s{i}": f"game: s{i}\nroles: [a, b]\n{turns}"
        + (f"  - {{use: s{i + 1}}}\n" * 20 if i < 6 else "")
        + "payoffs: 0\n"
        for i in range(1, 7)
    }
    text = f"game: s0\nroles: [a, b]\n{turns}" + "  - {use: s1}\n" * 20 + "payoffs: 0\n"
    found = compiled(tmp_path, text, **files).diagnostics
    assert [d.message for d in found if d.code == "GD0419"] == ["this game uses too much"]


def test_protocols_are_looked_into_once(tmp_path: Path) -> None:
    """A game without payoffs may have them from what its protocols use, found in any depth."""
    files = {
        f"p{i}": f"protocol: p{i}\nturns:\n" + f"  - {{use: p{i + 1}}}\n" * 3 for i in range(40)
    }
    files["p40"] = "protocol: p40\nturns:\n  - {role: all, choose: x, from: [u, v]}\n"
    found = compiled(tmp_path, "game: g\nroles: [a, b]\nprotocol: p0\n", **files).diagnostics
    assert [d.code for d in found] == ["GD0102"]
