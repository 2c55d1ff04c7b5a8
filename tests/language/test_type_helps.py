"""The help of GD0305 can be followed: a value per role for `argmax`, and one type for two lists."""

from __future__ import annotations

from pathlib import Path

import pytest

import gamedsl

FILE = """\
game: bids
roles: [ann, bob]
types: {Word: [red, blue]}
turns:
  - {role: all, choose: bid, from: 1..3}
  - {role: ann, choose: item, from: FROM}
let:
  own: bid.me
  winner: WINNER
payoffs: 1 if winner == me else 0
"""


def refused(folder: Path, **parts: str) -> str:
    path, text = folder / "bids.yaml", FILE
    for name, part in ({"FROM": "Word", "WINNER": "argmax(own)"} | parts).items():
        text = text.replace(name, part)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(gamedsl.CompileError) as error:
        gamedsl.load(path)
    (problem,) = error.value.diagnostics
    assert problem.code == "GD0305"
    return problem.help


def test_a_list_has_no_best_role(tmp_path: Path) -> None:
    help = refused(tmp_path, WINNER='"argmax([bid[r] for r in roles] if true else [])"')
    for text in ("argmax(own)", "argmax(bid[r] for r in roles)"):
        assert f"`{text}`" in help
        path = tmp_path / "bids.yaml"
        written = FILE.replace("FROM", "Word").replace("WINNER", text)
        path.write_text(written, encoding="utf-8")
        gamedsl.load(path)


def test_lists_of_two_types_have_no_union(tmp_path: Path) -> None:
    help = refused(tmp_path, FROM='"[red] + [1]"')
    assert "union" not in help
    assert "a type that has both" in help
    assert "`union([red], [blue])`" in refused(tmp_path, FROM='"[red] + [blue]"')
