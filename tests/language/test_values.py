"""Expressions over every type of value, typed and worked out without a game around them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gamedsl
from gamedsl.diagnostics import Problems
from gamedsl.diagnostics.render import render
from gamedsl.diagnostics.spans import Source, Span
from gamedsl.frontend.source.nodes import Scalar
from gamedsl.frontend.syntax.parser import parse_expression
from gamedsl.ir import expr as ir
from gamedsl.ir.evaluate import EvaluationError, Scope, evaluate
from gamedsl.ir.expr import Expr
from gamedsl.ir.game import Let
from gamedsl.ir.types import (
    BOOL,
    NONE,
    SEAT,
    WHOLE,
    Bag,
    Enum,
    Grid,
    List,
    Option,
    PerSeat,
    PerValue,
    Record,
    Set,
    Tuple,
    Type,
    Union,
    cell_type,
    range_type,
)
from gamedsl.ir.values import Bag as BagValue
from gamedsl.sema.lets import typed_lets
from gamedsl.sema.scope import (
    ArgumentName,
    LetName,
    Namespace,
    StateName,
    TypeName,
    VariableName,
)
from gamedsl.sema.typer import Typer

SEATS = ("ann", "bob")
RANK = Enum("Rank", ("J", "Q", "K"))
SUIT = Enum("Suit", ("b", "a"))
CARD = Record("Card", (("rank", RANK), ("suit", SUIT)))
BID = Record("Bid", (("count", range_type(1, 2)), ("face", range_type(1, 6))))
PLACE = Span(Source("declared", "here"), 0, 4)

STATE: dict[str, tuple[Type, Any]] = {
    "hand": (PerSeat(List(CARD, None, 2)), {"ann": (("Q", "a"), ("J", "b")), "bob": ()}),
    "board": (Grid(2, 3, Option(SEAT)), ("ann", None, "bob", "ann", None, None)),
    "deck": (Bag(RANK), BagValue({"K": 1, "J": 2})),
    "pile": (PerValue(SUIT, range_type(0, 3)), {"b": 2, "a": 1}),
    "worth": (PerSeat(PerValue(RANK, WHOLE)), {
        "ann": {"J": 1, "Q": 2, "K": 3}, "bob": {"J": 7, "Q": 8, "K": 9},
    }),
    "bid": (Option(BID), (2, 3)),
    "nothing": (Option(BID), None),
    "folder": (Option(SEAT), None),
    "seen": (Set(range_type(0, 5)), frozenset({2, 0})),
    "more": (Set(range_type(0, 5)), frozenset({2, 5})),
    "at": (PerSeat(cell_type(5, 5)), {"ann": (1, 1), "bob": (4, 0)}),
    "flag": (BOOL, True),
    "size": (WHOLE, 4),
    "untyped": (NONE, 3),
}  # fmt: skip

VARIABLES: dict[str, tuple[Type, bool, tuple[str, ...], Any]] = {
    "card": (CARD, True, SEATS, {"ann": ("K", "a"), "bob": ("Q", "b")}),
    "rank": (RANK, True, SEATS, {"ann": "K", "bob": "J"}),
    "shown": (CARD, False, (), ("Q", "a")),
    "move": (Enum("", ("fold", "call")), False, SEATS, "call"),
    "open": (Enum("", ("check", "bet")), False, ("ann",), "bet"),
    "later": (WHOLE, False, ("bob",), None),
    "step": (Tuple((WHOLE, WHOLE)), True, SEATS, {"ann": (1, 0), "bob": (0, -3)}),
}

RUN_TIME = {
    "move@by": {"ann": "fold", "bob": "call"},
    "open@by": {"ann": "bet"},
    "later@past": (),
    "move@past": ("fold", "fold", "call"),
    "open@past": ("bet",),
}


def names() -> Namespace:
    declared: dict[str, Any] = {n: StateName(t, PLACE) for n, (t, _) in STATE.items()}
    for name, (type, joint, actors, _) in VARIABLES.items():
        declared[name] = VariableName(type, joint, actors, PLACE)
    declared["what"] = ArgumentName(Union((SUIT, RANK)), PLACE)
    declared["Rank"] = TypeName(RANK, tuple((m, m) for m in RANK.members), PLACE)
    declared["Suit"] = TypeName(SUIT, tuple((m, m) for m in SUIT.members), PLACE)
    cards = [(r, s) for r in RANK.members for s in SUIT.members]
    declared["Card"] = TypeName(CARD, tuple((",".join(c), c) for c in cards), PLACE)
    lets = {"best_card": "(card.me.rank == shown.rank, card.me.rank)", "mine": "hand.me"}
    for name, text in lets.items():
        tree = parse_expression(scalar(text), Problems())
        declared[name] = LetName(name, (), tree, PLACE)
    return Namespace(
        SEATS,
        role_spans=dict.fromkeys(SEATS, PLACE),
        enums=[RANK, SUIT, *(v[0] for v in VARIABLES.values() if isinstance(v[0], Enum))],
        declared=declared,
    )


def scalar(text: str) -> Scalar:
    return Scalar(text, text, Span(Source("text", text), 0, len(text)))


def typed(text: str, expected: Type | None = None, me: bool = True) -> tuple[Expr, Typer, Problems]:
    problems = Problems()
    tree = parse_expression(scalar(text), problems)
    assert tree is not None, render(problems.found)
    typer = Typer(names(), problems)
    return typer.expression(tree, me=me, expected=expected), typer, problems


def scope(lets: dict[str, Let]) -> Scope:
    bindings = {name: value for name, (_, value) in STATE.items()}
    bindings |= {name: value for name, (*_, value) in VARIABLES.items()}
    return Scope(SEATS, {**bindings, **RUN_TIME, "what": "K"}, lets, me="ann")


def compute(text: str, expected: Type | None = None) -> Any:
    """The value for ann."""
    expr, typer, problems = typed(text, expected)
    assert not problems.found, render(problems.found)
    return evaluate(expr, scope({let.name: let for let in typed_lets(typer)}))


VALUES: list[tuple[str, Any]] = [
    # records and types
    ("card.me.rank", "K"),
    ("card.bob.suit == b", True),
    ("shown.rank", "Q"),
    ("bid.face", 3),
    ("nothing.face == none", True),
    ("hand.me[1].rank", "J"),
    ("Rank.K == card.me.rank", True),
    ("Rank.K", "K"),
    ("max(Rank)", "K"),
    ("min(Suit)", "b"),
    ("size(Card)", 6),
    ("list(r for r in Rank)", ("J", "Q", "K")),
    ("what in card.me", True),
    ("what in shown", False),
    ("any(what in c for c in hand[me])", False),
    ("Suit.a in shown", True),
    ("card.me == (K, a)", True),
    ("(K, b) != card.me", True),
    ("card.me < (K, b)", False),
    ("(J, b) in hand.me and (K, b) not in hand.me", True),
    ("count(hand.me, (Q, a))", 1),
    ("[0, 1] in empty(board)", True),
    ("seen == [2, 0]", True),
    ("at.me == [1, 1]", True),
    ("9 if board[0, 0] == none else index(board[0, 0])", 0),
    # order
    ("shown < card.me", True),
    ("card.bob <= card.bob", True),
    ("(Rank.J, 3) < (Rank.Q, 1)", True),
    ("(Suit.a, 3) < (Suit.b, 1)", False),
    ("max(card)", ("K", "a")),
    ("min(hand.me)", ("J", "b")),
    ("argmax(rank)", "ann"),
    ("argmax(card)", "ann"),
    ("argmax(best_card)", "bob"),
    ("best(card)", {"ann"}),
    ("argmax(pile)", "b"),
    ("sorted(hand.me)", (("J", "b"), ("Q", "a"))),
    ("sorted([3, 1, 2])", (1, 2, 3)),
    ("sorted(Suit)", ("b", "a")),
    ("sorted(list(c.suit for c in hand.me))", ("b", "a")),
    ("(true, 1) > (false, 2)", True),
    # grids
    ("board[0, 2]", "bob"),
    ("board[(1, 0)]", "ann"),
    ("board[[1, 0]]", "ann"),
    ("empty(board)", ((0, 1), (1, 1), (1, 2))),
    ("lowest_empty(board)", ((1, 1), (1, 2))),
    ("full(board)", False),
    ("line(board, 2)", "ann"),
    ("line(board, 3)", None),
    ("count(board, ann)", 2),
    ("list(cell for cell, x in board if x == ann)", ((0, 0), (1, 0))),
    ("list(r for r, c in cells(board) if c == 0)", (0, 1)),
    # maps, bags, sets
    ("pile[a]", 1),
    ("pile[shown.suit]", 1),
    ("worth[bob][Q]", 8),
    ("worth[bob, Q]", 8),
    ("worth.me[shown.rank]", 2),
    ("sum(pile)", 3),
    ("min(pile)", 1),
    ("keys(pile)", ("b", "a")),
    ("keys(rank)", ("ann", "bob")),
    ("list(k for k, x in pile if x > 1)", ("b",)),
    ("list(i for i, s in [b, a] if s == a)", (1,)),
    ("len(deck)", 3),
    ("count(deck, J)", 2),
    ("list(deck)", ("J", "J", "K")),
    ("keys(deck)", ("J", "K")),
    ("K in deck and Q not in deck", True),
    ("seen == set([0, 2, 2])", True),
    ("list(union(seen, more))", (0, 2, 5)),
    ("list(intersection(seen, more))", (2,)),
    ("list(difference(seen, more))", (0,)),
    ("zip([1, 2], [true, false, true])", ((1, True), (2, False))),
    ("mean(x == y for x, y in zip([1, 2], [1, 3]))", pytest.approx(0.5)),
    ("first([4, 5]) == 4 and last([4, 5]) == 5 and first(1..0) == none", True),
    ("reversed([1, 2])", (2, 1)),
    ("slots(hand.me)", (0, 1)),
    ("list(set(c.rank for c in x) for x in hand)", (frozenset({"Q", "J"}), frozenset())),
    ("[i for i, c in hand.me if c.rank == J]", (1,)),
    ("mine[0].suit", "a"),
    ("len(mine)", 2),
    ("count(c for c in hand.me if c.rank == J)", 1),
    ("count(c.rank == J for c in hand.me)", 1),
    # tuples of numbers
    ("at.me + step.me", (2, 1)),
    ("at.me - [1, 0]", (0, 1)),
    ("-at.me + 2 * (1, 1)", (1, 1)),
    ("distance(at.ann, at.bob)", 4),
    ("clip((7, -1), (0, 0), (4, 4))", (4, 0)),
    ("at.me[1]", 1),
    # what was bound
    ("move", "call"),
    ("move.me", "fold"),
    ("move[bob]", "call"),
    ("open.ann", "bet"),
    ("past(move)", ("fold", "fold", "call")),
    ("prev(move)", "fold"),
    ("prev(open) == none", True),
    ("len(past(later))", 0),
    ("later == none", True),
    ("0 if folder == none else index(folder)", 0),
    ("flag and not (size == 5)", True),
]


@pytest.mark.parametrize(("text", "expected"), VALUES, ids=[text for text, _ in VALUES])
def test_values(text: str, expected: Any) -> None:
    assert compute(text) == expected


EXPECTED: list[tuple[str, Type, Any]] = [
    ("clip(9)", range_type(0, 5), 5),
    ("clip(0 - 3) if flag else 1", Option(range_type(0, 5)), 0),
    ("clip(at[r] + step[r]) if r == ann else at[r]", cell_type(5, 5), None),
    ("clip(at.bob + step.bob)", cell_type(5, 5), (4, 0)),
    ("b", SUIT, "b"),
    ("K", Union((SUIT, RANK)), "K"),
    ("Card", Set(CARD), frozenset((r, s) for r in "JQK" for s in "ba")),
    ("(J, a)", CARD, ("J", "a")),
    ("[a, b]", List(SUIT), ("a", "b")),
    ("[(J, a), shown]", List(CARD), (("J", "a"), ("Q", "a"))),
    ("(J, a) if flag else shown", Option(CARD), ("J", "a")),
]


@pytest.mark.parametrize(("text", "wanted", "expected"), EXPECTED)
def test_values_where_a_type_is_expected(text: str, wanted: Type, expected: Any) -> None:
    if expected is None:
        text = f"list({text} for r in roles)"
        assert compute(text, List(wanted)) == ((2, 1), (4, 0))
    else:
        assert compute(text, wanted) == expected


TYPES: list[tuple[str, Type]] = [
    ("board[0, 0]", Option(SEAT)),
    ("empty(board)", List(cell_type(2, 3))),
    ("line(board, 2)", Option(SEAT)),
    ("nothing.face", range_type(1, 6)),
    ("later", WHOLE),
    ("move.me", Enum("", ("fold", "call"))),
    ("slots(hand.me)", List(range_type(0, 1))),
    ("argmax(pile)", Option(SUIT)),
    ("-bid.face", WHOLE),
    ("sum(pile)", WHOLE),
    ("max(pile)", range_type(0, 3)),
    ("at.me + [1, 0]", Tuple((WHOLE, WHOLE))),
    ("past(rank)", List(PerSeat(RANK))),
    ("prev(move)", Option(Enum("", ("fold", "call")))),
    ("folder", Option(SEAT)),
    ("Card", List(CARD, 6)),
]


@pytest.mark.parametrize(("text", "type"), TYPES)
def test_types(text: str, type: Type) -> None:
    expr, _, problems = typed(text)
    assert not problems.found, render(problems.found)
    assert expr.type == type


NONE_HERE = [
    ("nothing.face + 1", "`nothing.face` is none here"),
    ("1 + later", "`later` is none here"),
    ("later < 3", "`later` is none here"),
    ("max(later, 3)", "`later` is none here"),
    ("sum([1, later])", "a part of `[1, later]` is none here"),
    ("(later, 1) < (2, 1)", "a part of `(later, 1)` is none here"),
    ("(nothing.face, Rank.K) > (2, J)", "a part of `(nothing.face, Rank.K)` is none here"),
    ("board[2, 0]", "a grid of 2 by 3 has no cell (2, 0)"),
    ("hand.bob[0]", "a list of 0 has no item 0, counted from 0"),
    ("line(board, 0)", "a line of 0 cells"),
]


@pytest.mark.parametrize(("text", "message"), NONE_HERE)
def test_what_has_no_value_says_why(text: str, message: str) -> None:
    with pytest.raises(EvaluationError) as error:
        compute(text)
    assert error.value.message == message


def test_a_condition_that_is_none_is_no_condition() -> None:
    read = ir.Read(BOOL, PLACE, "unbound")
    for expr in (
        ir.If(BOOL, PLACE, read, read, read),
        ir.Logic(BOOL, PLACE, "and", read, read),
        ir.Logic(BOOL, PLACE, "or", read, read),
        ir.Apply(BOOL, PLACE, "not", (read,)),
    ):
        with pytest.raises(EvaluationError, match="is none here"):
            evaluate(expr, Scope(SEATS))


def test_membership_fields_come_from_the_type() -> None:
    """A rank and a suit of one name are two values."""
    suit = Enum("Suit", ("J", "h"))
    record = Record("", (("rank", RANK), ("suit", suit)))
    problems = Problems()
    typer = Typer(
        Namespace(
            enums=[RANK, suit],
            declared={
                "c": StateName(record, PLACE),
                "Rank": TypeName(RANK, tuple((m, m) for m in RANK.members), PLACE),
            },
        ),
        problems,
    )
    tree = parse_expression(scalar("Rank.J in c"), problems)
    assert tree is not None
    expr = typer.expression(tree)
    assert not problems.found
    assert evaluate(expr, Scope((), {"c": ("Q", "J")})) is False
    assert evaluate(expr, Scope((), {"c": ("J", "h")})) is True


def test_untyped_state_adds_no_second_report() -> None:
    _, typer, problems = typed("untyped + 1 == untyped.face")
    assert not problems.found
    assert typer.context.untyped


BAD: list[tuple[str, str]] = [
    ("card.rank", "GD0309"),
    ("card.me.rnak", "GD0324"),
    ("Rank.X", "GD0325"),
    ("past(size)", "GD0326"),
    ("prev(Rank)", "GD0326"),
    ("past(moev)", "GD0301"),
    ("clip(3)", "GD0327"),
    ("clip(3) + 1", "GD0327"),
    ("worth[ann][folder]", "GD0310"),
    ("pile[J]", "GD0310"),
    ("board[1]", "GD0310"),
    ("at.me[2]", "GD0310"),
    ("open.bob", "GD0323"),
    ("flag < true", "GD0305"),
    ("max(roles)", "GD0305"),
    ("folder.face", "GD0309"),
    ("index(folder)", "GD0321"),
    ("[1, 0] + [0, 1]", "GD0305"),
    ("at.me + (1, 2, 3)", "GD0305"),
    ("board + 1", "GD0305"),
    ("set(worth)", "GD0305"),
    ("what in pile", "GD0305"),
    ("3 in shown", "GD0305"),
    ("count(c for c in hand.me)", "GD0305"),
]


@pytest.mark.parametrize(("text", "code"), BAD)
def test_what_does_not_fit_is_said_once(text: str, code: str) -> None:
    _, _, problems = typed(text)
    assert [d.code for d in problems.found] == [code]


def test_greatest_value_stands_in_an_action(tmp_path: Path) -> None:
    """The type's map of names to numbers is a constant of the step, which proofs hash."""
    (tmp_path / "game.yaml").write_text(
        "game: top\nroles: [a, b]\ntypes: {Rank: {values: {low: 1, high: 9}}}\n"
        "state: {best: 0}\nactions:\n"
        "  take: {args: {x: Rank}, do: best += 1 if x == max(Rank) else 0}\n"
        "turns:\n  - {each: roles, turns: [{choose: move, from: actions}]}\npayoffs: best\n",
        encoding="utf-8",
    )
    env = gamedsl.load(tmp_path / "game.yaml").env()
    episode = env.reset()
    for _ in range(2):
        episode.step({d.seat: d.labels[1] for d in episode.decisions})
    assert set(episode.payoffs.values()) == {2}


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("(a or b) and (c or d)", "(a or b) and (c or d)"),
        ("(a) or b or (c and d)", "(a) or b or (c and d)"),
        ("((a) and (b))", "(a) and (b)"),
    ],
)
def test_spans_keep_the_brackets_of_operands(text: str, span: str) -> None:
    """Fixes repeat the text of an expression."""
    tree = parse_expression(scalar(text), Problems())
    assert tree is not None
    assert tree.span.text == span
