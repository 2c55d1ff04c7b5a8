"""How large a game is: its histories, its information sets, and how long a play can be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial

from gamedsl.analysis.atlas import Atlas
from gamedsl.analysis.proof import Proof
from gamedsl.bounds.programs import ProgramBounds
from gamedsl.diagnostics import Problems
from gamedsl.ir.program import Choose, Draw, Step

ANYBODY = ""
"""Counts decisions, whoever is asked."""


def plays_are_bounded(atlas: Atlas, problems: Problems) -> Iterator[Proof]:
    """Facts: nothing is refuted. A tree that was gone through gives them exactly; else the form of
    the program bounds them."""
    if atlas.whole:
        sets, plays = len(atlas.sets), len(atlas.ends)
        count = f"{len(atlas.nodes):,} histories, {sets:,} information set{'s' * (sets != 1)}"
        claim = f"there are {count}, and {plays:,} plays"
        yield Proof("size", claim, "enumerated", atlas.extent, short=count)
    else:
        claim = f"there are {atlas.size}"
        yield Proof("size", claim, atlas.grade, atlas.extent, short=atlas.size)
    asked = _asked(atlas)
    yield _decisions(atlas, asked)
    yield from (_of_seat(atlas, seat, asked) for seat in atlas.ir.seats if len(atlas.ir.seats) > 1)
    if atlas.ir.referees:
        yield _of_referees(atlas)
    draws = ProgramBounds(atlas.ir).total(_draws)
    if draws:
        claim = f"chance draws at most {draws:,} time{'s' * (draws != 1)} in a play"
        yield Proof("length.chance", claim, "proved", "by the form of the program")


def _decisions(atlas: Atlas, asked: list[Counter[str]]) -> Proof:
    """How often somebody is asked; several at once are one decision."""
    if asked:
        counts = [each[ANYBODY] for each in asked]
        low, high = min(counts), max(counts)
        times = f"{high:,}" if low == high else f"{low:,} to {high:,}"
        words = f"{times} decision{'s' * (high != 1)}"
        claim = f"a play has {words}"
        return Proof("length", claim, "enumerated", atlas.extent, short=f"{words} a play")
    bound = ProgramBounds(atlas.ir).total(lambda step: int(isinstance(step, Choose)))
    if bound is None:
        why = "the form of a loop does not tell how often it runs"
        return Proof("length", "every play is bounded", "undecided", why)
    words = f"at most {bound:,} decision{'s' * (bound != 1)}"
    how = "by the form of the program"
    return Proof("length", f"a play has {words}", "proved", how, short=f"{words} a play")


def _of_seat(atlas: Atlas, seat: str, asked: list[Counter[str]]) -> Proof:
    name = f"length.{seat}"
    if asked:
        high, grade, how = max(each[seat] for each in asked), atlas.grade, atlas.extent
    else:
        bound = ProgramBounds(atlas.ir).total(lambda step: _asks(step, seat))
        if bound is None:
            return Proof(name, f"`{seat}` is asked boundedly often", "undecided", "a loop")
        high, grade, how = bound, "proved", "by the form of the program"
    return Proof(name, f"`{seat}` is asked at most {high:,} time{'s' * (high != 1)}", grade, how)


def _of_referees(atlas: Atlas) -> Proof:
    """How many replies a play takes of referees: what it costs to judge it."""
    ir, bounds = atlas.ir, ProgramBounds(atlas.ir)
    counts = {
        seat: bounds.total(partial(_asks, seat=seat))
        for role in ir.referees for seat in role.seats
    }  # fmt: skip
    known = {seat: count for seat, count in counts.items() if count is not None}
    if len(known) < len(counts):
        why = "the form of a loop does not tell how often it runs"
        return Proof("length.referees", "referees are asked boundedly often", "undecided", why)
    calls = sum(known.values())
    tries = sum(count * (1 + ir.costs[seat].retry) for seat, count in known.items())
    words = f"at most {calls:,} call{'s' * (calls != 1)} of referees"
    again = f", and {tries:,} with all further tries" if tries > calls else ""
    how = "by the form of the program"
    return Proof("length.referees", f"a play makes {words}{again}", "proved", how, short=words)


def _asked(atlas: Atlas) -> list[Counter[str]]:
    """How often each seat is asked in each play, and anybody; none where not all are known."""
    if not atlas.whole:
        return []
    counts: dict[int, Counter[str]] = {}
    for node in atlas.nodes:
        before = Counter[str]() if node.before is None else counts[id(node.before)]
        asked = node.state.asked if node.state.kind == "decide" else ()
        counts[id(node)] = before + Counter((*asked, ANYBODY)) if asked else before
    return [counts[id(end)] for end in atlas.ends]


def _asks(step: Step, seat: str) -> int:
    return int(isinstance(step, Choose) and seat in step.actors)


def _draws(step: Step) -> int:
    if not isinstance(step, Draw):
        return 0
    times = 1
    for values in step.per:
        times *= len(values)
    return times
