"""The size of a game: its histories, its information sets, and the length of plays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial

from gamedsl.analysis.history_sample import HistorySample
from gamedsl.analysis.proof import Proof
from gamedsl.bounds.programs import ProgramBounds
from gamedsl.diagnostics import Problems
from gamedsl.ir.program import Choose, Draw, Step

ANYBODY = ""
"""Counts decisions, whoever is asked."""


def plays_are_bounded(sample: HistorySample, problems: Problems) -> Iterator[Proof]:
    """Facts: nothing is refuted. A tree that was gone through gives them exactly; else the form of
    the program bounds them."""
    if sample.whole:
        sets, plays = len(sample.sets), len(sample.ends)
        count = f"{len(sample.nodes):,} histories, {sets:,} information set{'s' * (sets != 1)}"
        claim = f"there are {count}, and {plays:,} plays"
        yield Proof("size", claim, "enumerated", sample.extent, short=count)
    else:
        claim = f"there are {sample.size}"
        yield Proof("size", claim, sample.grade, sample.extent, short=sample.size)
    asked = _asked(sample)
    yield _decisions(sample, asked)
    yield from (
        _of_seat(sample, seat, asked) for seat in sample.ir.seats if len(sample.ir.seats) > 1
    )
    if sample.ir.referees:
        yield _of_referees(sample)
    draws = ProgramBounds(sample.ir).total(_draws)
    if draws:
        claim = f"chance draws at most {draws:,} time{'s' * (draws != 1)} in a play"
        yield Proof("length.chance", claim, "proved", "by the form of the program")


def _decisions(sample: HistorySample, asked: list[Counter[str]]) -> Proof:
    """Returns the proof of how many decisions a play has; simultaneous ones count as one."""
    if asked:
        counts = [each[ANYBODY] for each in asked]
        low, high = min(counts), max(counts)
        times = f"{high:,}" if low == high else f"{low:,} to {high:,}"
        words = f"{times} decision{'s' * (high != 1)}"
        claim = f"a play has {words}"
        return Proof("length", claim, "enumerated", sample.extent, short=f"{words} a play")
    bound = ProgramBounds(sample.ir).total(lambda step: int(isinstance(step, Choose)))
    if bound is None:
        why = "the form of a loop does not tell how often it runs"
        return Proof("length", "every play is bounded", "undecided", why)
    words = f"at most {bound:,} decision{'s' * (bound != 1)}"
    how = "by the form of the program"
    return Proof("length", f"a play has {words}", "proved", how, short=f"{words} a play")


def _of_seat(sample: HistorySample, seat: str, asked: list[Counter[str]]) -> Proof:
    name = f"length.{seat}"
    if asked:
        high, grade, how = max(each[seat] for each in asked), sample.grade, sample.extent
    else:
        bound = ProgramBounds(sample.ir).total(lambda step: _asks(step, seat))
        if bound is None:
            return Proof(name, f"`{seat}` is asked boundedly often", "undecided", "a loop")
        high, grade, how = bound, "proved", "by the form of the program"
    return Proof(name, f"`{seat}` is asked at most {high:,} time{'s' * (high != 1)}", grade, how)


def _of_referees(sample: HistorySample) -> Proof:
    """Returns the proof of how many calls of referees a play makes: what it costs to judge it."""
    ir, bounds = sample.ir, ProgramBounds(sample.ir)
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


def _asked(sample: HistorySample) -> list[Counter[str]]:
    """Returns how often each seat, and any seat, decides in each play; nothing where not all plays
    are known."""
    if not sample.whole:
        return []
    counts: dict[int, Counter[str]] = {}
    for node in sample.nodes:
        before = Counter[str]() if node.before is None else counts[id(node.before)]
        asked = node.state.asked if node.state.kind == "decide" else ()
        counts[id(node)] = before + Counter((*asked, ANYBODY)) if asked else before
    return [counts[id(end)] for end in sample.ends]


def _asks(step: Step, seat: str) -> int:
    return int(isinstance(step, Choose) and seat in step.actors)


def _draws(step: Step) -> int:
    if not isinstance(step, Draw):
        return 0
    times = 1
    for values in step.per:
        times *= len(values)
    return times
