"""The help of GD0305 can be followed: a value per role for `argmax`, one type for two lists, and a
type for an empty one."""

from __future__ import annotations

from pathlib import Path

import pytest

import gamedsl
from gamedsl.diagnostics.fixes import apply_edits
from gamedsl.ir.expr import Read, walk

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


EMPTY = """\
game: bids
roles: [ann, bob]
types: {Word: [red, blue]}
turns:
  - {draw: sign, from: Word, seen_by: all}
  - {role: all, choose: bid, from: 1..3}
SECTION
payoffs: 1 if VALUE else 0
"""


@pytest.mark.parametrize(
    ("value", "declared"),
    [
        ("sign in banned", "Word"),
        ("sign in union(banned, [sign])", "Word"),
        ("banned == [me]", "role"),
        ("count(banned) > 0", "truth"),
        ("me in ([me] if sign == red else banned)", "role"),
    ],
)
def test_an_empty_list_gets_a_type(value: str, declared: str, tmp_path: Path) -> None:
    """Both ways that the help names are right: `[]` where it is read, and a type under `state`."""
    path = tmp_path / "bids.yaml"
    given = EMPTY.replace("VALUE", value)
    path.write_text(given.replace("SECTION", "let: {banned: []}"), encoding="utf-8")
    with pytest.raises(gamedsl.CompileError) as error:
        gamedsl.load(path)
    (problem,) = error.value.diagnostics
    assert (problem.code, [edit.text for edit in problem.edits]) == ("GD0305", ["[]"])
    assert f"under `state` with its type, `banned: {{list: {declared}}}`" in problem.help
    for text in (
        apply_edits(path.read_text(encoding="utf-8"), problem.edits),
        given.replace("SECTION", f"state: {{banned: {{list: {declared}}}}}"),
    ):
        path.write_text(text, encoding="utf-8")
        gamedsl.load(path)


def test_a_sum_with_an_empty_list_is_a_union(tmp_path: Path) -> None:
    path = tmp_path / "bids.yaml"
    given = EMPTY.replace("VALUE", "sign in banned + [sign]")
    path.write_text(given.replace("SECTION", "let: {banned: []}"), encoding="utf-8")
    with pytest.raises(gamedsl.CompileError) as error:
        gamedsl.load(path)
    (problem,) = error.value.diagnostics
    assert problem.help == "of sets and of cells write `union([], [sign])`"
    path.write_text(apply_edits(path.read_text(encoding="utf-8"), problem.edits), encoding="utf-8")
    gamedsl.load(path)


UNION = """\
game: acts
roles: [ann, bob]
types: {Word: [pass, fold], Act: 1..3 | Word | role}
turns:
  - {role: ann, choose: act, from: Act}
  - {role: bob, choose: reply, from: 1..3, if: IF}
payoffs: VALUE
"""


def union(folder: Path, test: str, value: str) -> Path:
    path = folder / "acts.yaml"
    path.write_text(UNION.replace("IF", test).replace("VALUE", value), encoding="utf-8")
    return path


def test_a_part_of_a_union_is_tested_first(tmp_path: Path) -> None:
    with pytest.raises(gamedsl.CompileError) as error:
        gamedsl.load(union(tmp_path, "act == 1", "act + 1"))
    (problem,) = error.value.diagnostics
    assert "`… if act in 1..3 else …`" in problem.help
    gamedsl.load(union(tmp_path, "act == 1", "act + 1 if act in 1..3 else 0"))


def test_help_asks_for_a_part_by_in(tmp_path: Path) -> None:
    with pytest.raises(gamedsl.CompileError) as error:
        gamedsl.load(union(tmp_path, "act is Word", "0"))
    (problem,) = error.value.diagnostics
    assert (problem.code, [edit.text for edit in problem.edits]) == ("GD0331", ["act in Word"])
    gamedsl.load(union(tmp_path, "act in Word", "0"))


def test_what_equality_proves_changes_no_rules(tmp_path: Path) -> None:
    """A file that was right without it keeps its hash: types are part of hashes."""
    plain = gamedsl.load(union(tmp_path, "act == 1", "0 if act == 2 or act == reply else 1"))
    both = "0 if act == 2 and act == reply or act != 2 and act == reply else 1"
    types = {
        str(part.type)
        for game in (plain, gamedsl.load(union(tmp_path, "act == 1 and act in 1..3", both)))
        for part in walk(game.ir.payoffs[0][1])
        if isinstance(part, Read) and part.name == "act"
    }
    assert len(types) == 1


MARKET = """\
game: market
roles: {buyer: 2, seller: 2}
turns:
  - {role: all, choose: price, from: 0..2}
let:
  best: "max(price[b] for b in buyer)"
  giver: "argmin(price[s] for s in [seller_1, seller_2])"
payoffs: best if giver == me else 0
"""


def test_helps_for_the_seats_of_a_role(tmp_path: Path) -> None:
    path = tmp_path / "market.yaml"
    path.write_text(MARKET, encoding="utf-8")
    with pytest.raises(gamedsl.CompileError) as error:
        gamedsl.load(path)
    role, function = error.value.diagnostics
    assert "list them: `[buyer_1, buyer_2]`" in role.help
    assert function.help == "give `argmax` the negated values: `argmax(-x for …)`"
    mended = MARKET.replace("in buyer", "in [buyer_1, buyer_2]").replace("argmin(", "argmax(-")
    path.write_text(mended, encoding="utf-8")
    gamedsl.load(path)
