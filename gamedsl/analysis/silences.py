"""Reports plays that the rules do not cover, since a reply was invalid and the game goes on.

`on_invalid: {then: skip}`, and `then: play` where that option is not legal, leave a decision
without a choice. No such play is among the histories of a game, which are those of legal replies;
so random plays are made here, in which replies to closed decisions are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from gamedsl.analysis.history_sample import HistorySample
from gamedsl.analysis.nodes import NO_REPLY
from gamedsl.analysis.payoffs import cause_of, fault_of
from gamedsl.analysis.proof import Proof
from gamedsl.diagnostics import Problems
from gamedsl.engine.interpreter import History
from gamedsl.engine.kernel import Ask, PlayError
from gamedsl.engine.random_plays import example_kernel
from gamedsl.ir.evaluate import Budget, EvaluationError, SpentError
from gamedsl.ir.game import GameIR
from gamedsl.prompting.events import SILENCE

CLAIM = "a play with invalid replies that goes on comes to its end, with payoffs and rewards"
PLAYS = 64
"""Random plays; in the first nobody replies who may be silent, in the others one in two does."""

MOVES = 4_000
"""Moves of all these plays together."""

WORK = 2_000_000
"""Work of all plays together, in units of `gamedsl.ir.evaluate.Budget`."""


def allows_silence(ir: GameIR) -> bool:
    """Returns whether a closed decision may be left without a choice."""
    closed = any(step.said is None for step in ir.steps)
    return closed and any(cost.then in ("skip", "play") for cost in ir.costs.values())


def check_silences(sample: HistorySample, problems: Problems) -> Iterator[Proof]:
    """GD0402, GD0437: a play comes to a point of which the rules say nothing; with its moves."""
    if sample.failure is not None or sample.spent is not None:
        return
    kernel, moves, plays = example_kernel(sample.ir, Budget(WORK)), 0, 0
    for plays in range(1, PLAYS + 1):
        random, made = Random(plays), list[str]()
        try:
            state = kernel.start()
            while state.kind != "end" and moves < MOVES:
                moves += 1
                if not _advance(sample.ir, state, random, made, always=plays == 1):
                    break
            if state.kind == "end":
                assert len(state.payoffs) + len(state.rewards) == 2 * len(sample.ir.seats)
        except SpentError:
            break
        except EvaluationError as error:
            yield _refuted(error, made, plays, problems)
            return
        if moves >= MOVES:
            break
    yield Proof("silences", CLAIM, "sampled", f"{plays} plays")


def _advance(ir: GameIR, state: History, random: Random, made: list[str], *, always: bool) -> bool:
    """Makes the next move, and notes it; returns whether there is one that is known here."""
    if state.kind == "chance":
        state.draw(state.pick(random.getrandbits(62)))
        return True
    if not all(ask.legal for ask in state.asks):
        return False
    names = _replies(ir, state.asks, random, always)
    for ask, name in zip(state.asks, names, strict=True):
        told = NO_REPLY if name == SILENCE else f"chooses {name}"
        made.append(f"{ask.seat} {told} at {ask.step}")
    state.choose(names)
    return True


def _replies(ir: GameIR, asks: Sequence[Ask], random: Random, always: bool) -> list[str]:
    """Returns an option of each seat, or silence where a decision may be left without a choice."""
    names = []
    for ask in asks:
        cost = ir.costs[ask.seat]
        legal = cost.then == "play" and cost.play in ask.legal
        silent = cost.then in ("skip", "play") and not legal and not ask.open
        skipped = silent and len(ask.legal) > 1 and (always or random.random() < 0.5)
        names.append(SILENCE if skipped else random.choice(ask.legal))
    return names


def _refuted(error: EvaluationError, made: list[str], plays: int, problems: Problems) -> Proof:
    code, witness = "GD0402", tuple(made[-8:])
    if isinstance(error, PlayError):
        code = "GD0437"
        problems.add(code, error.message, error.span, why="after an invalid reply",
                     help=error.help, witness=witness)  # fmt: skip
    else:
        why, help = cause_of(error)
        remedy = help or (
            "say what holds where nothing was chosen (`… if x != none else …`), or let the play "
            "end: `on_invalid: {then: forfeit}`"
        )
        problems.add(code, f"this {fault_of(error, 'after an invalid reply')}", error.span,
                     why=why, help=remedy, witness=witness)  # fmt: skip
    return Proof("silences", CLAIM, "refuted", f"{plays} plays", (code,), witness)
