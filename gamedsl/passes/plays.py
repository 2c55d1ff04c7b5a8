"""Looks for plays that the rules do not cover: a loop that does not end, a seat that cannot move, a
number without a value.

A fixed sequence of decisions is proved instead (`gamedsl.passes.payoffs`). Of other games random
plays are made, seeded, until `MOVES` are spent: what fails in none of them may still fail, and then
shows where it happens, as an `EvaluationError`.
"""

from __future__ import annotations

from random import Random
from time import process_time

from gamedsl.backends.events import known
from gamedsl.backends.interpreter import Interpreter
from gamedsl.backends.kernel import PlayError, State
from gamedsl.diagnostics import Problems
from gamedsl.ir.evaluate import EvaluationError
from gamedsl.ir.game import GameIR

MOVES = 400
"""Moves of all random plays together."""

PLAYS = 100
"""Random plays at most."""

SECONDS = 2.0
"""CPU time after which no further play is begun: where one move is much work, a few must do."""


def plays_end(ir: GameIR, problems: Problems) -> None:
    """GD0402: a random play comes to a point of which the rules say nothing; with its moves."""
    if ir.plain:
        return
    kernel = Interpreter(ir)
    spent, began = 0, process_time()
    for play in range(PLAYS):
        random, told = Random(play), ""
        try:
            state = kernel.start()
            while state.kind != "end":
                told = _told(state, ir)
                spent += 1
                if state.kind == "chance":
                    state.draw(state.pick(random.getrandbits(62)))
                    continue
                chosen = [random.choice(ask.legal) for ask in state.asks]
                taken = zip(state.asks, chosen, strict=True)
                told += "".join(f"\nthen {ask.seat} chooses {choice}" for ask, choice in taken)
                state.choose(chosen)
            told = _told(state, ir)
            _ = state.payoffs, state.rewards
        except EvaluationError as error:
            _report(error, told, problems)
            return
        if spent >= MOVES or process_time() - began > SECONDS:
            return


def _told(state: State, ir: GameIR) -> str:
    """Where a play stands: what each seat has seen."""
    told = {seat: known(seen) for seat in ir.seats if (seen := state.seen(seat))}
    if len(told) == len(ir.seats) > 1 and len(set(told.values())) == 1:
        told = {"everyone": told[ir.seats[0]]}
    short = {seat: seen if len(seen) < 180 else "…" + seen[-180:] for seat, seen in told.items()}
    return "\n".join(f"{seat}: {seen}" for seat, seen in [*short.items()][:6])


def _report(error: EvaluationError, told: str, problems: Problems) -> None:
    witness = tuple(line for line in told.splitlines() if line)
    if isinstance(error, PlayError):
        problems.add(
            "GD0437", error.message, error.span, why="in some play", witness=(
                *error.witness, *witness)[:8],
        )  # fmt: skip
        return
    problems.add(
        "GD0402", f"this has no value in some play: {error.message}", error.span, why="no value",
        witness=witness,
    )  # fmt: skip
