"""Histories in one position have the same future, over games that Hypothesis writes."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

import gamedsl
from gamedsl.engine import generated
from gamedsl.engine.kernel import State
from gamedsl.engine.walk import count_histories
from gamedsl.runtime.positions import has_perfect_information, position, unread
from gamedsl.solve import backward_induction, solve_positions, tabulate
from gamedsl.solve.subgame_perfection import perfect_information
from tests.properties.strategies import game_files
from tests.properties.walking import load

MOST = 800


def future(state: State, known: dict, met: Counter) -> int:
    """The hash of all that may follow; equal positions are held against each other on the way."""
    if state.kind == "end":
        here = "end", tuple(state.payoffs.items()), tuple(state.rewards.items())
    else:
        chance = state.kind == "chance"
        counts = (state.outcome_count,) if chance else state.counts
        below = []
        for numbers in product(*map(range, counts)):
            after = state.copy()
            after.apply(*numbers)
            below.append(future(after, known, met))
        asked = [(ask.seat, ask.step, ask.legal) for ask in state.asks]
        here = state.kind, tuple(state.outcomes if chance else asked), tuple(below)
    key = position(state)
    met["histories"] += 1
    met["merged"] += key in known
    assert known.setdefault(key, hash(here)) == hash(here)
    return hash(here)


@pytest.mark.parametrize("backend", ["generated", "interpreter"])
def test_positions_agree_across_kernels(backend, monkeypatch):
    """Also where a game's module is loaded anew, as no process keeps all of them."""

    def walked() -> list:
        monkeypatch.setattr(generated, "_MODULES", {})
        state = gamedsl.load("kuhn_poker").kernel(backend).start()
        found = [position(state)]
        while state.kind != "end":
            state.apply(0) if state.kind == "chance" else state.apply(*(0 for _ in state.counts))
            found.append(position(state))
        return found

    assert walked() == walked()


@pytest.mark.parametrize("backend", ["generated", "interpreter"])
def test_equal_positions_have_equal_futures(backend):
    met: Counter[str] = Counter()

    @seed(3)
    @settings(max_examples=30, phases=[Phase.generate], deadline=None,
              suppress_health_check=list(HealthCheck), database=None)  # fmt: skip
    @given(game_files())
    def check(text: str) -> None:
        game = load(text)
        try:
            kernel = game.kernel(backend)
            if count_histories(kernel.start(), MOST) is None:
                return
            future(kernel.start(), {}, met)
        except gamedsl.EvaluationError:
            return
        if has_perfect_information(game.ir):
            met["seen by all"] += 1
            tree = tabulate(game.env())
            assert perfect_information(tree)
            found = solve_positions(game).solution
            assert found.values == backward_induction(tree).solution.values
            assert found.nash_conv == 0

    check()
    assert met["merged"] > 100
    assert met["seen by all"] >= 3


@pytest.mark.parametrize(
    ("name", "params"),
    [("kuhn_poker", {}), ("tiny_hanabi", {}), ("goofspiel", {"n": 3}), ("nim", {"piles": [2, 2]}),
     ("repeated_prisoners_dilemma", {"rounds": 2}), ("advice", {}),
     ("tic_tac_toe", {"rows": 2, "columns": 3, "run": 2})],
)  # fmt: skip
def test_equal_positions_of_shipped_games_have_equal_futures(name, params):
    met: Counter[str] = Counter()
    kernel = gamedsl.load(name, params).kernel()
    future(kernel.start(), {}, met)
    assert met["histories"] == count_histories(kernel.start(), 10_000)


def test_unread_state_is_outside_positions():
    assert unread(gamedsl.load("tic_tac_toe").ir) == {"move", "cell"}
    assert unread(gamedsl.load("nim").ir) == {"move", "pile", "count"}
    assert unread(gamedsl.load("kuhn_poker").ir) == set()


def test_histories_are_counted_up_to_a_limit():
    kernel = gamedsl.load("kuhn_poker").kernel()
    assert count_histories(kernel.start(), 58) == 58
    assert count_histories(kernel.start(), 57) is None
    assert count_histories(gamedsl.load("hanabi").kernel().start(), 10_000) is None
