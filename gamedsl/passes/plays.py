"""Reports plays that the rules do not cover: a loop that does not end, a seat that cannot move, a
number without a value; and games in which a play is so much work that it was not made to its end.

They are met in the atlas. Where a game is gone through whole, there are no others; of any other
game random plays were made: what fails in none of them may still fail, and then shows where it
happens, as an `EvaluationError`.
"""

from __future__ import annotations

from collections.abc import Iterator

from gamedsl.backends.events import known
from gamedsl.backends.kernel import PlayError
from gamedsl.diagnostics import Problems
from gamedsl.ir.evaluate import SpentError
from gamedsl.passes.atlas import WORK, Atlas, Failure, replay
from gamedsl.passes.proof import Proof

CLAIM = "every play ends, with one payoff and one reward for each seat"


def plays_end(atlas: Atlas, problems: Problems) -> Iterator[Proof]:
    """GD0402, GD0437: a play comes to a point of which the rules say nothing; with its moves.
    GD0460: a play takes so much work that it is not made to its end."""
    if atlas.spent is not None:
        _unfinished(atlas, atlas.spent, problems)
        why = f"a play takes too much work; before it, {atlas.plays} came to an end"
        yield Proof("plays", CLAIM, "undecided", why, ("GD0460",))
    elif atlas.failure is not None:
        yield _failed(atlas, atlas.failure, problems)
    else:
        yield Proof("plays", CLAIM, atlas.grade, atlas.extent)


def _failed(atlas: Atlas, failure: Failure, problems: Problems) -> Proof:
    error, witness = failure.error, _told(atlas, failure)
    code = "GD0437" if isinstance(error, PlayError) else "GD0402"
    if isinstance(error, PlayError):
        problems.add(
            "GD0437", error.message, error.span, why="in some play", witness=(
                *error.witness, *witness)[:8],
        )  # fmt: skip
    elif not (atlas.ir.plain and problems.errors):  # there it is found by going through outcomes
        problems.add(
            "GD0402", f"this has no value in some play: {error.message}", error.span,
            why="no value", witness=witness,
        )  # fmt: skip
    histories = () if failure.node is None else (replay(failure.node),)
    return Proof("plays", CLAIM, "refuted", atlas.extent, (code,), witness, histories)


def _told(atlas: Atlas, failure: Failure) -> tuple[str, ...]:
    """Where a play stands: what each seat has seen, a line each; and the choices that fail."""
    if failure.node is None:
        return ()
    state, seats = failure.node.state, atlas.ir.seats
    told = {seat: text for seat in seats if (text := known(state.seen(seat)))}
    if len(told) == len(seats) > 1 and len(set(told.values())) == 1:
        told = {"everyone": next(iter(told.values()))}
    short = {seat: text if len(text) < 180 else "…" + text[-180:] for seat, text in told.items()}
    moved = zip(state.asks, failure.move, strict=False)
    chosen = [f"then {ask.seat} chooses {ask.legal[n]}" for ask, n in moved]
    return (*(f"{seat}: {text}" for seat, text in [*short.items()][:6]), *chosen)


def _unfinished(atlas: Atlas, error: SpentError, problems: Problems) -> None:
    """A play was broken off for the work that it took."""
    long = f"{error.passes:,} passes of this loop" if error.passes else "most of it is done here"
    ended = "1 play" if atlas.plays == 1 else f"{atlas.plays} plays"
    problems.add(
        "GD0460", f"a play takes more than {WORK:,} steps: the game is not checked further",
        error.span, severity="warning",
        why=f"{long}, and no end" if error.passes else "the work is here",
        help="check a smaller game: a shorter loop, a smaller collection, or `--param`",
        witness=(f"broken off at move {atlas.moves}; {ended} came to an end before",),
    )  # fmt: skip
