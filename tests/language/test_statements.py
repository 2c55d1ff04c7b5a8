"""The statements of `do:`: what they are typed to, and what is said of those that are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from gamedsl.compiler import compile_file
from gamedsl.diagnostics import Diagnostic, Problems
from gamedsl.diagnostics.render import render
from gamedsl.frontend.source.nodes import Node, Sequence
from gamedsl.frontend.syntax.parser import parse_expression
from gamedsl.ir import expr as ir
from gamedsl.ir.statements import Add, Assign, Drop, DropItem, ForEach, Key, Statement
from gamedsl.ir.types import NONE, SEAT, WHOLE, Number, Option, Type, fits, range_type
from gamedsl.sema.narrow import facts
from gamedsl.sema.scope import LoopName, StateName
from gamedsl.sema.statements import read_place, read_statements
from gamedsl.sema.typer import Typer
from tests.language.test_values import PLACE, names, scalar
from tests.writing import write


def typer() -> Typer:
    known = names()
    known.declared["turn"] = LoopName(range_type(0, 9), PLACE, "turn")
    known.declared["life"] = StateName(range_type(0, 3), PLACE)
    known.declared["add"] = StateName(WHOLE, PLACE)
    known.declared["best"] = StateName(Option(WHOLE), PLACE)
    return Typer(known, Problems())


def read(text: str, walk: Typer | None = None) -> tuple[Statement, ...]:
    walk = walk or typer()
    found = read_statements(scalar(text), walk, me=True)
    assert not walk.problems.found, render(walk.problems.found)
    assert found is not None
    return found


def wrong(text: str) -> list[Diagnostic]:
    walk = typer()
    assert read_statements(scalar(text), walk, me=True) is None
    assert walk.problems.found
    return walk.problems.found


def shape(keys: tuple[Key, ...]) -> list[str]:
    return [key.kind for key in keys]


PLACES = [
    ("size = 3", "size", [], WHOLE),
    ("folder = me", "folder", [], Option(SEAT)),
    ("board[1, 2] = me", "board", ["cell"], Option(SEAT)),
    ("board[(0, 1)] = none", "board", ["cell"], Option(SEAT)),
    ("pile[a] = 3", "pile", ["entry"], range_type(0, 3)),
    ("worth.me[J] = 3", "worth", ["entry", "entry"], WHOLE),
    ("worth[other, J] = 3", "worth", ["entry", "entry"], WHOLE),
    ("bid.face = 3", "bid", ["field"], range_type(1, 6)),
    ("at.me[1] = 3", "at", ["entry", "field"], range_type(0, 4)),
    ("hand.ann[0].rank = K", "hand", ["entry", "item", "field"], None),
]


@pytest.mark.parametrize(("text", "variable", "kinds", "type"), PLACES)
def test_places(text: str, variable: str, kinds: list[str], type: Type | None) -> None:
    (found,) = read(text)
    assert isinstance(found, Assign)
    assert found.place.variable == variable
    assert shape(found.place.keys) == kinds
    assert type is None or found.place.type == type
    for key in found.place.keys:
        assert key.size == ((2, 3) if key.kind == "cell" else key.size)
        assert (key.expr is None) == (key.kind == "field")


def test_a_field_says_its_place() -> None:
    (found,) = read("bid.face = 2")
    assert isinstance(found, Assign)
    assert found.place.keys == (Key("field", None, (1,)),)


def test_sums_are_written_out() -> None:
    up, down = read("pile[a] += 1\nat.me -= [1, 0]")
    assert isinstance(up, Assign)
    assert isinstance(up.value, ir.Apply)
    assert up.value.function == "+"
    assert isinstance(up.value.arguments[0], ir.Get)
    assert isinstance(down, Assign)
    assert isinstance(down.value, ir.Apply)
    assert down.value.function == "-"
    assert fits(down.value.type, down.place.type)


def test_adding_and_dropping() -> None:
    found = read("add K to deck; drop (J, a) from hand.me; drop hand.me[1]; drop hand[other][0]")
    put, taken, item, last = found
    assert isinstance(put, Add)
    assert put.value == ir.Const(put.value.type, PLACE, "K")
    assert isinstance(taken, Drop)
    assert shape(taken.place.keys) == ["entry"]
    assert isinstance(item, DropItem)
    assert shape(item.place.keys) == ["entry"]
    assert item.place.type == taken.place.type
    assert item.index == ir.Const(WHOLE, PLACE, 1)
    assert isinstance(last, DropItem)


def test_type_is_added_as_its_value_set() -> None:
    walk = typer()
    from gamedsl.ir.types import List, Set

    walk.names.declared["could"] = StateName(List(Set(names().declared["Card"].type)), PLACE)
    (found,) = read("add Card to could", walk)
    assert isinstance(found, Add)
    assert isinstance(found.value, ir.Const)
    assert len(found.value.value) == 6
    assert isinstance(found.value.value, frozenset)


def test_for_each() -> None:
    (found,) = read("worth[r][J] = x for r, x in [(ann, 1), (bob, 2)] if x > 1")
    assert isinstance(found, ForEach)
    assert found.targets == ("r", "x")
    assert not found.keyed
    assert found.condition is not None
    assert isinstance(found.body, Assign)
    assert found.body.value == ir.Local(WHOLE, PLACE, "x")
    (keyed,) = read("at[r] = clip(at[r] + s) for r, s in step")
    assert isinstance(keyed, ForEach)
    assert keyed.keyed


def test_clip_knows_the_place() -> None:
    (found,) = read("life = clip(life + 7)")
    assert isinstance(found, Assign)
    assert isinstance(found.value, ir.Apply)
    assert [part.value for part in found.value.arguments[1:]] == [0, 3]


def test_words_are_names_elsewhere() -> None:
    walk = typer()
    for word in ("to", "from", "drop"):
        walk.names.declared[word] = StateName(WHOLE, PLACE)
    found = read("size = add + drop; to = from; from -= to; to += from", walk)
    assert [s.place.variable for s in found if isinstance(s, Assign)] == [
        "size", "to", "from", "to",
    ]  # fmt: skip
    (put,) = read("add to to seen", walk)
    assert isinstance(put, Add)
    (taken,) = read("drop from from seen", walk)
    assert isinstance(taken, Drop)


def test_lines_lists_and_brackets() -> None:
    assert len(read("\n size = 1 ;; life = 2\n\nlife = max(\n  1,\n  2)\n")) == 3
    parts = Sequence((scalar("size = 1"), scalar("size = 2; life = 1")), PLACE)
    walk = typer()
    found = read_statements(parts, walk, me=True)
    assert found is not None
    assert len(found) == 3


def test_state_without_a_type_learns_it() -> None:
    walk = typer()
    walk.names.declared["other_one"] = StateName(NONE, PLACE)
    text = "untyped = me; other_one = untyped; untyped = none"
    assert read_statements(scalar(text), walk, me=True) is None
    assert not walk.problems.found
    assert walk.context.learned == {"untyped": SEAT}


def test_numbers_learnt_from_several_are_joined() -> None:
    walk = typer()
    text = "untyped = bid.face; untyped = bid.count"
    assert read_statements(scalar(text), walk, me=True) is not None
    assert walk.context.learned == {"untyped": Number(True, 1, 6)}


def test_facts_are_known_and_forgotten() -> None:
    given = facts(parse_expression(scalar("folder != none"), Problems()), True, None)
    for text, right in [
        ("size = index(folder)", True),
        ("folder = none; size = index(folder)", False),
        ("folder = none; folder = me; size = index(folder)", True),
    ]:
        walk = typer()
        found = read_statements(scalar(text), walk, me=True, facts=given)
        assert (found is not None) == right, text
    read("best = 3; size = best + 1")
    assert [d.code for d in wrong("size = best + 1")] == ["GD0321"]


def test_read_place() -> None:
    walk = typer()
    tree = parse_expression(scalar("hand.me"), walk.problems)
    assert tree is not None
    place = read_place(tree, walk, me=True)
    assert place is not None
    assert (place.variable, shape(place.keys)) == ("hand", ["entry"])
    tree = parse_expression(scalar("card.me"), walk.problems)
    assert tree is not None
    assert read_place(tree, walk, me=True) is None
    assert [d.code for d in walk.problems.found] == ["GD0328"]


WRONG = [
    ("card.me = shown", "GD0328"),
    ("card = shown", "GD0328"),
    ("what = K", "GD0328"),
    ("turn = 3", "GD0328"),
    ("Rank = 3", "GD0328"),
    ("me = 3", "GD0328"),
    ("mine = 3", "GD0328"),
    ("3 = size", "GD0328"),
    ("size + 1 = size", "GD0328"),
    ("x = 3 for x in 1..3", "GD0328"),
    ("szie = 3", "GD0301"),
    ("size = flag", "GD0306"),
    ("life = 7", "GD0330"),
    ("life = 1 / 2", "GD0306"),
    ("pile[a] = 0 - 1 + best", "GD0321"),
    ("bid.face = best", "GD0306"),
    ("size = at", "GD0322"),
    ("add 3 to size", "GD0329"),
    ("drop board[0, 1]", "GD0329"),
    ("drop pile[a]", "GD0329"),
    ("add 3 to deck", "GD0306"),
    ("drop ann from hand.me", "GD0306"),
    ("size == 3", "GD0204"),
    ("size", "GD0204"),
    ("drop deck", "GD0204"),
    ("size =", "GD0201"),
    ("", "GD0201"),
    ("size = 1 for r in 3", "GD0312"),
    ("size = 1, 2", "GD0201"),
    ("add 3 from deck", "GD0201"),
]


@pytest.mark.parametrize(("text", "code"), WRONG)
def test_what_is_wrong_is_said_once(text: str, code: str) -> None:
    assert [d.code for d in wrong(text)] == [code]


def test_each_wrong_statement_is_reported() -> None:
    parts = Sequence((scalar("size = flag; szie = 3"), scalar("life == 3")), PLACE)
    walk = typer()
    assert read_statements(parts, walk, me=True) is None
    assert [d.code for d in walk.problems.found] == ["GD0204", "GD0306", "GD0301"]


def test_reading_is_bounded() -> None:
    node: Node = scalar(f"size = {'(' * 90}1{')' * 90}")
    walk = typer()
    assert read_statements(node, walk, me=True) is None
    assert [d.code for d in walk.problems.found] == ["GD0203"]


@pytest.mark.parametrize("statement", ["x += 1", "x = 3"])
def test_a_number_of_a_range_has_a_fix(tmp_path: Path, statement: str) -> None:
    """`x: 0..9` declares a list; the fix declares one number, and compiles."""
    text = (
        "game: g\nroles: [ann]\nstate: {x: 0..9}\nturns:\n"
        f"  - {{role: ann, choose: c, from: [u, v]}}\n  - do: {statement}\npayoffs: 0\n"
    )
    (found,) = compile_file(write(tmp_path, text)).diagnostics
    declared = found.help.partition("`")[2].rstrip("`")
    fixed = compile_file(write(tmp_path, text.replace("x: 0..9", declared)))
    assert fixed.ir is not None
