"""Windows: what prompts tell a seat of its history where the file says that it is not all.

A window is on what repeats. What happens once, or once for each role, is told always; of the rest,
what came before the window is left out. A turn is what was new to a seat and what it replied. In a
chat, `last: 4` keeps the last four turns whole; in a prompt of one message it keeps all that
followed from the seat's fourth last choice on. `since: notes` keeps what followed since the seat
last said `notes`, and that: a summary stands for what came before it.

Of a seat that has a view, which says what there is now, a window tells the recent events beside it,
and nothing else of the history.
"""

from __future__ import annotations

from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Loop, Step, substeps
from gamedsl.prompting.events import SILENCE, Event, Seen, Turn


class Windows:
    """The windows of one game."""

    def __init__(self, ir: GameIR) -> None:
        self._ir = ir
        self._choices = {step.id: step for step in ir.steps}
        self._lasting = frozenset(never_repeated(ir.turns)) if ir.history else frozenset()

    def visible(self, seat: str, seen: Seen) -> Seen:
        """Returns the events that one message shows, of all that a seat has seen."""
        start = self._start(seat, seen)
        return (*self.outside(seen[:start]), *seen[start:]) if start else seen

    def in_window(self, seat: str, seen: Seen) -> Seen:
        """Returns the events that stand beside the view of a seat: those of its window."""
        return seen[self._start(seat, seen) :] if seat in self._ir.windows else ()

    def outside(self, seen: Seen) -> Seen:
        """Returns the events that no window leaves out."""
        return tuple(event for event in seen if event.step in self._lasting)

    def talk(self, seat: str, before: tuple[Turn, ...]) -> tuple[tuple[Turn, ...], int]:
        """Returns the turns that a chat continues, and how many events it leaves out before them,
        apart from those that no window leaves out."""
        window = self._ir.windows.get(seat)
        if window is None:
            return before, 0
        if window.last is not None:
            first = len(before) - window.last
            return (before, 0) if first <= 0 else (before[first:], before[first - 1].told)
        for place in reversed(range(len(before))):
            turn = before[place]
            if self._choices[turn.step].variable == window.since and turn.name != SILENCE:
                return before[place:], turn.told
        return before, 0

    def _start(self, seat: str, seen: Seen) -> int:
        """Returns how many events one message leaves out, apart from those that no window leaves
        out."""
        window = self._ir.windows.get(seat)
        if window is None:
            return 0
        left = window.last or 1
        for place in reversed(range(len(seen))):
            event = seen[place]
            if event.seat == seat and self._counts(event, window.since):
                left -= 1
                if not left:
                    return self._start_of_choice(seat, seen, place)
        return 0

    def _counts(self, event: Event, since: str | None) -> bool:
        step = self._choices.get(event.step)
        if step is None or since is None:
            return step is not None
        return step.variable == since and event.name != SILENCE

    def _start_of_choice(self, seat: str, seen: Seen, place: int) -> int:
        """Returns the position at which the choice of an event was asked for: the events of those
        who chose at the same time come before it in the order of the step's actors."""
        step = self._choices[seen[place].step]
        order = step.actors.index
        while step.joint and place:
            before = seen[place - 1]
            if before.step != step.id or order(before.seat) >= order(seat):
                break
            place -= 1
        return place


def never_repeated(steps: tuple[Step, ...]) -> list[str]:
    """Returns the ids of the steps that a play reaches at most once, or once for each role."""
    found = []
    for step in steps:
        if not isinstance(step, Loop) or (step.in_turn and not step.cycle):
            found += [step.id, *never_repeated(substeps(step))]
    return found
