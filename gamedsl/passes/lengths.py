"""How large a game is: its histories, its information sets, and how long a play can be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gamedsl.diagnostics import Problems
from gamedsl.ir.lengths import most
from gamedsl.ir.program import Choose, Draw, Step
from gamedsl.passes.atlas import Atlas, Node, path_of
from gamedsl.passes.proof import Proof


def plays_are_bounded(atlas: Atlas, problems: Problems) -> Iterator[Proof]:
    """Facts: nothing is refuted. A tree that was gone through gives them exactly; else the form of
    the program bounds them."""
    if atlas.whole:
        sets, plays = len(atlas.sets), len(atlas.ends)
        count = f"{len(atlas.nodes):,} histories, {sets:,} information set{'s' * (sets != 1)}"
        claim = f"there are {count}, and {plays:,} plays"
        yield Proof("size", claim, "enumerated", atlas.extent, short=count)
    else:
        yield Proof("size", f"there are {atlas.size}", "sampled", atlas.extent, short=atlas.size)
    yield _decisions(atlas)
    yield from (_of_seat(atlas, seat) for seat in atlas.ir.seats if len(atlas.ir.seats) > 1)
    draws = most(atlas.ir.turns, _draws, len(atlas.ir.seats))
    if draws:
        claim = f"chance draws at most {draws:,} time{'s' * (draws != 1)} in a play"
        yield Proof("length.chance", claim, "proved", "by the form of the program")


def _decisions(atlas: Atlas) -> Proof:
    """How often somebody is asked; several at once are one decision."""
    if atlas.whole and atlas.ends:
        counts = [sum(n.state.kind == "decide" for n in path_of(end)) for end in atlas.ends]
        low, high = min(counts), max(counts)
        times = f"{high:,}" if low == high else f"{low:,} to {high:,}"
        words = f"{times} decision{'s' * (high != 1)}"
        claim = f"a play has {words}"
        return Proof("length", claim, "enumerated", atlas.extent, short=f"{words} a play")
    bound = most(atlas.ir.turns, lambda step: int(isinstance(step, Choose)), len(atlas.ir.seats))
    if bound is None:
        why = "the form of a loop does not tell how often it runs"
        return Proof("length", "every play is bounded", "undecided", why)
    words = f"at most {bound:,} decision{'s' * (bound != 1)}"
    how = "by the form of the program"
    return Proof("length", f"a play has {words}", "proved", how, short=f"{words} a play")


def _of_seat(atlas: Atlas, seat: str) -> Proof:
    name = f"length.{seat}"
    if atlas.whole and atlas.ends:
        high = max(_asked(end)[seat] for end in atlas.ends)
        grade, how = atlas.grade, atlas.extent
    else:
        bound = most(atlas.ir.turns, lambda step: _asks(step, seat), len(atlas.ir.seats))
        if bound is None:
            return Proof(name, f"`{seat}` is asked boundedly often", "undecided", "a loop")
        high, grade, how = bound, "proved", "by the form of the program"
    return Proof(name, f"`{seat}` is asked at most {high:,} time{'s' * (high != 1)}", grade, how)


def _asked(end: Node) -> Counter[str]:
    return Counter(ask.seat for node in path_of(end) for ask in node.state.asks)


def _asks(step: Step, seat: str) -> int:
    return int(isinstance(step, Choose) and seat in step.actors)


def _draws(step: Step) -> int:
    if not isinstance(step, Draw):
        return 0
    times = 1
    for values in step.per:
        times *= len(values)
    return times
