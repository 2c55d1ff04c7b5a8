"""The abstract interpreter is sound: it claims every value that the reference computes."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from hypothesis import Phase, event, given, settings
from hypothesis import strategies as st

import gamedsl
from gamedsl.bounds.expressions import Interpreter
from gamedsl.bounds.payoff_bounds import payoff_bounds
from gamedsl.bounds.programs import ProgramBounds
from gamedsl.diagnostics import Problems
from gamedsl.frontend.syntax.parser import parse_expression
from gamedsl.ir import evaluate as reference
from gamedsl.ir.abstract_values import AbstractValue, Seats, of_constant
from gamedsl.ir.evaluate import EvaluationError, Scope, evaluate
from gamedsl.ir.expr import Expr, expressions_in
from gamedsl.ir.program import Choose
from gamedsl.ir.types import WHOLE, Enum, List, PerSeat, Set, Tuple, Union, range_type
from gamedsl.ir.values import Bag
from gamedsl.sema.scope import Namespace, StateName
from gamedsl.sema.typer import Typer
from tests.language.test_values import PLACE, scalar
from tests.properties.strategies import game_files
from tests.properties.walking import load
from tests.shipped import CLOSED

SEATS = ("ann", "bob", "cyd")

some = settings(max_examples=settings().max_examples // 2, phases=[Phase.explicit, Phase.generate])


def admits(known: AbstractValue, value: Any) -> bool:
    """Whether an abstract value stands for a value."""
    if value is None:
        return known.none
    if isinstance(value, int | Fraction):
        number, whole = known.number, Fraction(value).denominator == 1
        return number.low <= value <= number.high and (whole or not number.whole)
    if not isinstance(value, tuple | frozenset | dict):
        return True
    if known.parts is None and known.items is None:
        return True  # an action with its arguments, which no rule looks into
    size = value.total if isinstance(value, Bag) else len(value)
    if known.size is not None and size > known.size:
        return False
    mapped = isinstance(value, dict) and not isinstance(value, Bag)
    items = list(value.values() if mapped else value)
    if known.parts is not None:
        return len(items) == len(known.parts) and all(map(admits, known.parts, items))
    return all(admits(known.item, item) for item in items)


# expressions


def _or_zero(text: str) -> str:
    """The value of an expression, 0 where it is none."""
    return f"sum(x for x in [{text}] if x != none)"


wholes = st.deferred(lambda: _wholes)
lists = st.deferred(lambda: _lists)
sets = st.deferred(lambda: _sets)
truths = st.deferred(lambda: _truths)

_wholes: st.SearchStrategy[str] = st.recursive(
    st.sampled_from(
        [
            "a",
            "b",
            "0",
            "1",
            "3",
            "n",
            "score.ann",
            "len(xs)",
            "index(bob)",
            "value_of(card)",
            "sum(value_of(hand))",
            "max(hand)",
            "(card + 1)",
            "value_of(step)[0]",
        ]
    ),
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*"]), inner),
        st.builds("({} {} {})".format, inner, st.sampled_from(["//", "%"]), inner),
        st.builds("{}({}, {})".format, st.sampled_from(["min", "max"]), inner, inner),
        st.builds("{}({})".format, st.sampled_from(["abs", "sign", "-"]), inner),
        st.builds("{}({} / 2)".format, st.sampled_from(["floor", "ceil"]), inner),
        st.builds("floor({} / {})".format, inner, inner),
        st.builds("ceil({} ** {})".format, inner, st.sampled_from(["0", "2", "b", "(0 - b)"])),
        st.builds("clip({}, {}, {})".format, inner, inner, inner),
        st.builds("distance(({}, {}), ({}, {}))".format, inner, inner, inner, inner),
        st.builds("({} if {} else {})".format, inner, truths, inner),
        st.builds("{}({})".format, st.sampled_from(["sum", "len", "min", "max"]), lists),
        st.builds("{}({})".format, st.sampled_from(["sum", "size", "max"]), sets),
        st.builds("floor(mean({}))".format, lists),
        st.builds("count({}, {})".format, lists, inner),
        st.builds("sum(x * {} for x in {} if x > {})".format, inner, lists, inner),
        st.builds("sum(i - x for i, x in {})".format, lists),
        st.builds("sum(x * y for x, y in zip({}, {}))".format, lists, lists),
        st.builds("({} + (0, {}))[1]".format, st.builds("({}, {})".format, inner, inner), inner),
        st.builds("{}[{}]".format, lists, st.sampled_from(["0", "b", "a"])),
        st.builds("most([{}, {}, {}])".format, inner, inner, inner).map(_or_zero),
        st.builds("most({})".format, st.one_of(lists, sets, st.just("score"))).map(_or_zero),
    ),
    max_leaves=5,
)
_lists: st.SearchStrategy[str] = st.one_of(
    st.just("xs"),
    st.builds("[{}, {}]".format, wholes, wholes),
    st.builds("({}..{})".format, wholes, st.sampled_from(["2", "b", "n"])),
    st.builds("{}({})".format, st.sampled_from(["sorted", "reversed", "slots", "list"]), lists),
    st.builds("list({})".format, sets),
    st.sampled_from(["list(score)", "sorted(score)"]),
    st.sampled_from(["value_of(hand)", "list(value_of(few_cards))"]),
    st.builds("list(x + {} for x in {} if x != {})".format, wholes, lists, wholes),
    st.builds("[x - y + {} for x in {} for y in {} if x != y]".format, wholes, lists, lists),
    st.builds("[y for x in {} if x > {} for y in x..2]".format, lists, wholes),
    st.builds("list(score[r] + {} for r in {})".format, wholes, st.sampled_from(
        ["ranked(score)", "best(score)", "keys(score)", "others(ann)", "[ann, cyd]"],
    )),
)  # fmt: skip
_sets: st.SearchStrategy[str] = st.one_of(
    st.just("few"),
    st.builds("set({})".format, lists),
    st.builds("modes({})".format, st.one_of(lists, sets, st.just("score"))),
    st.builds("{}({}, {})".format,
              st.sampled_from(["union", "intersection", "difference"]), sets, sets),
)  # fmt: skip
_truths: st.SearchStrategy[str] = st.one_of(
    st.builds("{} {} {}".format, wholes, st.sampled_from(["<", "==", ">="]), wholes),
    st.builds("{} in {}".format, wholes, lists),
    st.builds("{}(x > {} for x in {})".format, st.sampled_from(["any", "all"]), wholes, lists),
    st.builds("first({}) {} none".format, lists, st.sampled_from(["==", "!="])),
    st.builds("argmax(score) == {}".format, st.sampled_from(["ann", "none"])),
)

CARD = Enum("Card", ("ten", "jack", "ace"), (10, 10, 11), range_type(10, 11))
STEP = Enum("Step", ("up", "stay"), ((-1, 0), (0, 0)), Tuple((WHOLE, WHOLE)))

DECLARED = {
    "card": StateName(CARD, PLACE),
    "step": StateName(STEP, PLACE),
    "hand": StateName(List(CARD, None, 3), PLACE),
    "few_cards": StateName(Set(CARD), PLACE),
    "a": StateName(range_type(-2, 4), PLACE),
    "b": StateName(range_type(1, 3), PLACE),
    "n": StateName(WHOLE, PLACE),
    "xs": StateName(List(range_type(-1, 5), None, 4), PLACE),
    "few": StateName(Set(range_type(0, 3)), PLACE),
    "score": StateName(PerSeat(range_type(-3, 3)), PLACE),
}

cards = st.sampled_from(CARD.members)
bindings = st.fixed_dictionaries({
    "card": cards, "step": st.sampled_from(STEP.members),
    "hand": st.lists(cards, max_size=3).map(tuple), "few_cards": st.frozensets(cards),
    "a": st.integers(-2, 4), "b": st.integers(1, 3), "n": st.integers(-9, 9),
    "xs": st.lists(st.integers(-1, 5), max_size=4).map(tuple),
    "few": st.frozensets(st.integers(0, 3)),
    "score": st.fixed_dictionaries({seat: st.integers(-3, 3) for seat in SEATS}),
})  # fmt: skip


@given(st.one_of(wholes, lists, sets, truths), st.lists(bindings, min_size=1, max_size=4))
def test_values_of_expressions_are_those_claimed(text: str, states: list[dict[str, Any]]) -> None:
    problems = Problems()
    tree = parse_expression(scalar(text), problems)
    typed = tree and Typer(Namespace(SEATS, declared=dict(DECLARED)), problems).expression(tree)
    if typed is None or problems.found:
        event("not typed")
        return
    known = Interpreter(SEATS, {}).value(typed)
    for state in states:
        with suppress(EvaluationError):
            value = evaluate(typed, Scope(SEATS, state))
            assert admits(known, value), f"{text} is {value}, and not in {known}"
            event("no bound" if not known.number.bounded and known.size == 1 else "bounded")


# games


def check_plays(game: gamedsl.Game, plays: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plays at random, and checks every value that the reference computes, the decisions and the
    payoffs."""
    ir = game.ir
    bounds, by_reward = (
        ProgramBounds(ir),
        Interpreter(ir.seats, {x.name: x for x in ir.reward.lets}),
    )
    of_reward = {id(part) for part in expressions_in((ir.reward.split, ir.reward.lets))}
    of_game = {id(part) for part in expressions_in(ir)}
    evaluated = reference._value

    computed: dict[tuple[int, str], tuple[Expr, Any]] = {}

    def recorded(expr: Expr, scope: Scope) -> Any:
        value = evaluated(expr, scope)
        if id(expr) in of_game:  # and not made by the interpreter of statements
            computed.setdefault((id(expr), repr(value)), (expr, value))
        return value

    spans = {seat: payoff_bounds(ir, seat) for seat in ir.seats}
    decisions = bounds.total(lambda step: int(isinstance(step, Choose)))
    monkeypatch.setattr(reference, "_value", recorded)
    for number in range(plays):
        rounds = 0
        episode, random = game.env(backend="interpreter").reset(number), Random(number)
        while not episode.done:
            asked = episode.decisions
            episode.step({d.seat: gamedsl.Action(random.choice(d.legal)) for d in asked})
            rounds += 1
        assert decisions is None or rounds <= decisions
        for seat, paid in episode.payoffs.items():
            low, high = spans[seat] or (paid, paid)
            assert low <= paid <= high
    monkeypatch.undo()
    for expr, value in computed.values():
        known = (by_reward if id(expr) in of_reward else bounds).value(expr)
        assert admits(known, value), f"`{expr.span.text}` is {value}, and not in {known}"


@pytest.mark.parametrize("name", CLOSED)
def test_values_of_shipped_games_are_those_claimed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_plays(gamedsl.load(name), 3, monkeypatch)


@some
@given(game_files())
def test_values_of_written_games_are_those_claimed(text: Any) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        check_plays(load(text), 3, monkeypatch)


def test_constants_of_a_union_with_parts() -> None:
    """The parts of such a constant have no type of their own, and any value may be there."""
    pair = Tuple((WHOLE, WHOLE))
    value = ((1, 2), 3)
    assert admits(of_constant(value, Union((Tuple((pair, WHOLE)),)), Seats(SEATS, SEATS)), value)
