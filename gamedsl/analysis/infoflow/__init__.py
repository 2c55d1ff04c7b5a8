"""Proves information flow: no seat learns, or must know, what it has not seen.

For each seat, whatever it is asked, shown, or may read depends only on what it reads, until it has
been asked for the last time. So seats that have seen the same are asked the same, and choose from
the same options.

- Being asked is an observation. The seat that is asked reads what decides whether it is asked
  (`if`, `until`, the items of a loop, the actor) and what it may choose (`from`, `args`, `when`).
- Everyone who sees what a step binds reads what decides whether the step happens, and who acts. So
  whether a variable is bound is known to all who read the variable.
- All who read a place read what is stored there, the conditions around the statement, and the keys
  of the place. The choice of an action is a condition of its body.
- A step with `knows` adds nothing to what its actor knows. What decides whether it is asked may be
  hidden from the actor, and its own choice is seen by it only as by others. Its options follow from
  what it knows (`gamedsl.analysis.infoflow.knowledge`).
- A declared view of a seat is computed from what that seat reads.
- What is drawn, chosen or shown is observed. Only `show` reveals what is computed from hidden
  values. What is drawn out of a collection is seen by all who read the collection.
- The length of a list or bag in the state is public, unless its size is hidden: everyone reads
  what it depends on.
- A flow to a seat that is not asked any more (`gamedsl.analysis.infoflow.future_decisions`) tells
  it nothing that it could act on.
- `end` (but that of a stage), payoffs, scores and what is paid may read anything: a seat learns
  what it is paid when the game is over.
"""

from __future__ import annotations

from collections.abc import Iterator

from gamedsl.analysis.infoflow.knowledge import check_options_known
from gamedsl.diagnostics import Problems
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Binding, walk_steps
from gamedsl.ir.statements import Readers


def check_information_flow(ir: GameIR, problems: Problems) -> None:
    """Reports flows of information to seats that must not have it (GD0440 to GD0448, GD0508)."""
    check_options_known(ir, problems)
    if is_open(ir):
        return
    from gamedsl.analysis.infoflow.leaks import Leaks
    from gamedsl.analysis.infoflow.views import check_views
    from gamedsl.analysis.infoflow.walk import Walk, visibilities_of

    visibilities = visibilities_of(ir)
    leaks = Leaks(ir, visibilities, problems)
    Walk(ir, visibilities, leaks).run()
    check_views(ir, visibilities, leaks)
    leaks.report()


def is_open(ir: GameIR) -> bool:
    """Returns whether everyone sees everything."""
    return all(readers.kind == "all" and not readers.fields for readers in _readers(ir))


def _readers(ir: GameIR) -> Iterator[Readers]:
    yield from (state.readers for state in ir.states)
    for step in walk_steps(ir.turns):
        if isinstance(step, Binding):
            yield step.readers
