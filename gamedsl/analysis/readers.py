"""Proves who sees what: no seat learns, or must know, what it is not told.

For each seat apart, what it reads is worked out from what it reads: whatever is asked of it, told
to it or stored where it reads depends on nothing else. Then a seat that has seen the same is asked
the same, and chooses from the same.

- Being asked is an observation: what decides whether a seat is asked (`if`, `until`, what a loop
  goes through, who acts), and what it may choose (`from`, `args`, `when`), is read by that seat.
- Everyone who sees what a step binds reads what decides whether the step happens, and who acts. It
  follows that whether a variable is bound is known to all who read the variable.
- What is stored is read by all who read the place, and so are the conditions around it and the keys
  of the place. The choice of an action is a condition of its body.
- Where a step says what is known (`knows`), being asked tells its actor nothing else: what decides
  whether it is asked may be hidden from it, and its own choice is told to it only as to others.
  What it may choose follows from what it knows (`gamedsl.analysis.knowing`).
- What a declared view shows a seat is worked out from what that seat reads.
- What is drawn, chosen or shown is told; only `show` tells what is worked out from hidden things.
  What is drawn out of a collection is seen by all who read the collection.
- The length of a list or bag in the state is public: everyone may read it, so everyone reads what
  it depends on.
- `end` (but that of a stage), payoffs, scores and what is paid are the referee's, who may read
  anything: a seat learns what it is paid when the game is over.
"""

from __future__ import annotations

from collections.abc import Iterator

from gamedsl.analysis.knowing import options_follow_from_what_is_known
from gamedsl.diagnostics import Problems
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Binding, walk_steps
from gamedsl.ir.statements import Readers


def only_readers_learn(ir: GameIR, problems: Problems) -> None:
    """Information flows only to those who are told it. See the module docstring."""
    options_follow_from_what_is_known(ir, problems)
    if is_open(ir):
        return
    from gamedsl.analysis.reader_leaks import Leaks
    from gamedsl.analysis.reader_views import views_show_what_is_seen
    from gamedsl.analysis.reader_walk import Walk, who_reads

    reading = who_reads(ir)
    leaks = Leaks(ir, reading, problems)
    Walk(ir, reading, leaks).run()
    views_show_what_is_seen(ir, reading, leaks)
    leaks.report()


def is_open(ir: GameIR) -> bool:
    """Whether everyone sees everything."""
    return all(readers.kind == "all" and not readers.fields for readers in _readers(ir))


def _readers(ir: GameIR) -> Iterator[Readers]:
    yield from (state.readers for state in ir.states)
    for step in walk_steps(ir.turns):
        if isinstance(step, Binding):
            yield step.readers
