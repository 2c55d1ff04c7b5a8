"""Types have bounds, so that no declaration of a stranger takes the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from gamedsl.compiler import compile_file

HEAD = "game: g\nroles: [left, right]\ntypes:\n"
TAIL = "turns:\n  - {role: all, choose: move, from: [up, down]}\npayoffs: 1\n"


def _union(first: int, count: int) -> str:
    return " | ".join(f"{i * 4096}..{i * 4096 + 4095}" for i in range(first, first + count))


TYPES = {
    "values": ("".join(f"  T{i}: 1..4096\n" for i in range(100)), "GD0421"),
    "sets": (f"  T: {'set of ' * 20_000}1..2\n", "GD0420"),
    "options": (f"  T: 1..2{' or none' * 20_000}\n", "GD0420"),
    "parts": (f"  T: {_union(0, 5000)}\n", "GD0420"),
    "unions": (
        "".join(f"  U{i}: {_union(i * 30, 30)}\n" for i in range(3)) + "  T: U0 | U1 | U2\n",
        "GD0425",
    ),
    "words": ("  T: {file: words.txt}\n", "GD0421"),
}


@pytest.mark.parametrize("name", TYPES)
def test_types_are_bounded(name: str, tmp_path: Path) -> None:
    text, code = TYPES[name]
    (tmp_path / "words.txt").write_text("\n".join(f"w{i}" for i in range(5000)), "utf-8")
    (tmp_path / "g.yaml").write_text(HEAD + text + TAIL, encoding="utf-8")
    found = compile_file(tmp_path / "g.yaml").diagnostics
    assert [problem.code for problem in found] == [code]
    assert "most" in found[0].message + found[0].why


def test_types_of_usual_size_are_read(tmp_path: Path) -> None:
    text = "".join(f"  T{i}: 1..4096\n" for i in range(20)) + f"  U: {_union(1, 9)}\n"
    (tmp_path / "g.yaml").write_text(HEAD + text + TAIL, encoding="utf-8")
    assert compile_file(tmp_path / "g.yaml").diagnostics == []
