"""Reports plays that the rules do not cover: a loop that does not end, a seat that cannot move, a
number without a value; and games in which a play is so much work that it was not made to its end.

They are met in the sample. Where a game is gone through whole, there are no others; of any other
game random plays were made: what fails in none of them may still fail, and then shows where it
happens, as an `EvaluationError`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from gamedsl.analysis.history_sample import WORK, HistorySample
from gamedsl.analysis.infoset_consistency import LEAKS
from gamedsl.analysis.nodes import (
    NO_REPLY,
    Failure,
    Node,
    history_lines,
    path_of,
    replay,
    silent_in,
)
from gamedsl.analysis.payoffs import cause_of, fault_of, rewards_are_defined
from gamedsl.analysis.proof import Moves, Proof
from gamedsl.diagnostics import Problems
from gamedsl.diagnostics.spans import Span
from gamedsl.engine.kernel import PlayError
from gamedsl.engine.random_plays import example_kernel
from gamedsl.ir.evaluate import EvaluationError, Meter, SpentError
from gamedsl.ir.expr import Const, expressions_in
from gamedsl.ir.game import GameIR
from gamedsl.ir.types import NUMBER
from gamedsl.prompting.events import known

CLAIM = "every play ends, with one payoff and one reward for each seat"


def check_plays(sample: HistorySample, problems: Problems) -> Iterator[Proof]:
    """GD0402, GD0437: a play comes to a point of which the rules say nothing; with its moves.
    GD0602: one ends in which somebody has no reward.
    GD0460: a play takes so much work that it is not made to its end."""
    if sample.spent is not None:
        _unfinished(sample, sample.spent, problems)
        why = f"a play takes too much work; before it, {sample.plays} came to an end"
        yield Proof("plays", CLAIM, "undecided", why, ("GD0460",))
    elif sample.failure is not None:
        yield _failed(sample, sample.failure, problems)
    else:
        yield Proof("plays", CLAIM, sample.grade, sample.extent)


def _failed(sample: HistorySample, failure: Failure, problems: Problems) -> Proof:
    error, witness = failure.error, _situation(sample, failure)
    where = _place_of(failure)
    code = "GD0437" if isinstance(error, PlayError) else "GD0402"
    if isinstance(error, PlayError) and _leaks(error.span, problems):
        why = "what is offered there depends on what its chooser cannot see: that is mended first"
        return Proof("plays", CLAIM, "undecided", why)
    if isinstance(error, PlayError):
        problems.add(
            "GD0437", error.message, error.span, why=where, help=error.help,
            witness=(*error.witness, *witness)[:8],
        )  # fmt: skip
    elif _of_reward(sample.ir, error):
        code = "GD0602"
        if not sample.ir.plain:  # there it is found by going through outcomes
            _no_reward(sample, failure, problems)
    elif not (sample.ir.plain and problems.errors):
        why, help = cause_of(error)
        problems.add(
            "GD0402", f"this {fault_of(error, where)}", error.span, why=why, help=help,
            witness=witness,
        )  # fmt: skip
    histories = () if failure.node is None else (_replayed(failure.node, failure.move),)
    return Proof("plays", CLAIM, "refuted", sample.extent, (code,), witness, histories)


def _leaks(step: Span, problems: Problems) -> bool:
    """Returns whether it was reported that a step offers what depends on a secret: whether an
    option is left there is known once that is mended."""
    return any(d.code in LEAKS and step.encloses(d.span) for d in problems.found)


def _place_of(failure: Failure) -> str:
    """Returns the kind of play that failed: silence in it may be what the rules do not cover."""
    silent = [f"of `{seat}` at `{step}`" for seat, step in silent_in(failure).items()]
    if not silent:
        return "in some play"
    replies = "an invalid reply" if len(silent) == 1 else "invalid replies"
    return f"after {replies} {' and '.join(silent)}"


def _of_reward(ir: GameIR, error: EvaluationError) -> bool:
    """Returns whether the expression without a value is in the reward file."""
    parts = expressions_in((ir.reward.split, tuple(let.body for let in ir.reward.lets)))
    return any(part.span == error.span for part in parts)


def _no_reward(sample: HistorySample, failure: Failure, problems: Problems) -> None:
    """GD0602, of the play as it is without a reward, which can be played to its end."""
    assert failure.node is not None
    ir, node = sample.ir, failure.node
    nothing = Const(NUMBER, ir.reward.split.span, 0)
    paid = replace(ir, reward=replace(ir.reward, split=nothing, lets=()))
    state = example_kernel(paid).start()  # whose open decisions have the examples of the sample
    for after in path_of(node)[1:]:
        state.apply(*after.move)
    streams = {**state.streams, "payoff": state.payoffs}
    rewards_are_defined(ir, streams, partial(history_lines, node), Meter(), problems)


def _replayed(node: Node, move: tuple[int, ...]) -> Moves:
    """Returns the moves of a history and the one at which the rules fail."""
    state = node.state
    if state.kind == "chance":
        return (*replay(node), *(state.outcomes[number].name for number in move))
    names = (ask.legal[number] for ask, number in zip(state.asks, move, strict=False))
    return (*replay(node), *names)


def _situation(sample: HistorySample, failure: Failure) -> tuple[str, ...]:
    """Returns the situation of a play: each seat's observations, a line each; and the failing
    choices."""
    if failure.node is None:
        return ()
    state, seats = failure.node.state, sample.ir.seats
    told = {seat: text for seat in seats if (text := known(state.seen(seat)))}
    if len(told) == len(seats) > 1 and len(set(told.values())) == 1:
        told = {"everyone": next(iter(told.values()))}
    short = {seat: text if len(text) < 180 else "…" + text[-180:] for seat, text in told.items()}
    moved = zip(state.asks, failure.move, strict=False)
    made = [(ask.seat, ask.legal[n]) for ask, n in moved]
    chosen = [f"then {seat} {f'chooses {name}' if name else NO_REPLY}" for seat, name in made]
    return (*(f"{seat}: {text}" for seat, text in [*short.items()][:6]), *chosen)


def _unfinished(sample: HistorySample, error: SpentError, problems: Problems) -> None:
    """Reports a play that was broken off for the work that it took."""
    long = f"{error.passes:,} passes of this loop" if error.passes else "most of it is done here"
    ended = "1 play" if sample.plays == 1 else f"{sample.plays} plays"
    problems.add(
        "GD0460", f"a play takes more than {WORK:,} steps: the game is not checked further",
        error.span, severity="warning",
        why=f"{long}, and no end" if error.passes else "the work is here",
        help="check a smaller game: a shorter loop, a smaller collection, or `--param`",
        witness=(f"broken off at move {sample.moves}; {ended} came to an end before",),
    )  # fmt: skip
