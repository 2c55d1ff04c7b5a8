"""The generated and the tabulated backend do what the reference does, history by history."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from random import Random
from types import ModuleType
from typing import Any

import pytest

from gamedsl.backends.generated import Generated
from gamedsl.backends.interpreter import History, Interpreter
from gamedsl.backends.kernel import State
from gamedsl.ir.evaluate import EvaluationError
from gamedsl.ir.game import GameIR
from tests.runtime import (
    programs,
    test_choices,
    test_draws,
    test_flow,
    test_hidden_and_random,
    test_statements,
)  # fmt: skip

HAND_BUILT = (test_choices, test_draws, test_flow, test_hidden_and_random, test_statements)


def standing(state: State, seats: Sequence[str]) -> dict[str, Any]:
    """All that a state says of itself; errors as what and where they are."""
    found: dict[str, Any] = {
        "kind": state.kind,
        "asks": state.asks,
        "outcomes": state.outcome_count,
        "seen": {seat: state.seen(seat) for seat in seats},
        "known": {seat: state.known(seat) for seat in seats},
        "counts": (state.asked, state.counts),
        "variables": {k: v for k, v in state.variables.items() if "@" not in k},
    }
    if state.kind == "chance":
        found["draws"] = state.draws
        found["picks"] = [state.pick(seed) for seed in range(3)]
        if state.outcome_count < 300:
            found["listed"] = state.outcomes
    for name in ("payoffs", "rewards", "streams") if state.kind == "end" else ("streams",):
        try:
            amounts = getattr(state, name)
            found[name] = {k: dict(v) if name == "streams" else v for k, v in amounts.items()}
        except EvaluationError as error:
            found[name] = str(error), error.span
    return found


class Twins:
    """A history that two backends play at once, compared after every move."""

    def __init__(self, ir: GameIR, reference: History, other: State) -> None:
        self._ir = ir
        self._both: tuple[History, State] = (reference, other)
        ours, theirs = (standing(state, ir.seats) for state in self._both)
        assert theirs == ours

    def __getattr__(self, name: str) -> Any:
        return getattr(self._both[0], name)

    def copy(self) -> Twins:
        reference, other = self._both
        return Twins(self._ir, reference.copy(), other.copy())

    def _moved(self, move: Callable[[State], Any]) -> Any:
        found: list[Any] = []
        for state in self._both:
            try:
                found.append((move(state), None))
            except Exception as error:
                found.append((type(error), error))
        (ours, failed), (theirs, other) = found
        assert theirs == ours
        if failed is not None:
            assert str(other) == str(failed)
            assert getattr(other, "span", None) == getattr(failed, "span", None)
            assert getattr(other, "witness", None) == getattr(failed, "witness", None)
            raise failed
        ours, theirs = (standing(state, self._ir.seats) for state in self._both)
        assert theirs == ours
        return found[0][0]

    def choose(self, names: Sequence[str]) -> None:
        self._moved(lambda state: state.choose(names))

    def draw(self, outcome: int) -> str:
        return str(self._moved(lambda state: state.draw(outcome)))


class TwinKernel:
    """Starts histories that the reference and the generated backend play at once."""

    def __init__(self, ir: GameIR) -> None:
        self.ir = ir
        self.reference = Interpreter(ir)
        self.generated = Generated(ir)
        assert self.generated.written

    def start(self) -> Twins:
        try:
            reference = self.reference.start()
        except EvaluationError as error:
            with pytest.raises(EvaluationError) as caught:
                self.generated.start()
            assert str(caught.value) == str(error)
            assert caught.value.span == error.span
            raise
        return Twins(self.ir, reference, self.generated.start())


def plain_tests(module: ModuleType) -> list[Callable[[], None]]:
    """The tests of a module that take no arguments."""
    return [
        test for name, test in vars(module).items()
        if name.startswith("test_") and callable(test) and not inspect.signature(test).parameters
    ]  # fmt: skip


@pytest.mark.parametrize(
    "test", [pytest.param(t, id=t.__name__) for m in HAND_BUILT for t in plain_tests(m)]
)
def test_hand_built_programs_play_alike(
    test: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every test of the reference, with the generated backend playing beside it."""
    monkeypatch.setattr(programs, "Interpreter", TwinKernel)
    test()


_ = Random
