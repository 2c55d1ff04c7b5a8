"""Action rates of a repeated game, by how its last round ended.

For the prisoner's dilemma these are the rates of cooperation after CC, CD, DC and DD: the
memory-one strategy (Nowak and Sigmund 1993) that a policy comes down to over the games of a step.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gamedsl.ir.program import Choose, Loop, Pay, Stage, Step, substeps, walk_steps
from gamedsl.training.scoring import Scorer
from gamedsl.training.trajectories import Batch, Sample, Trajectory

if TYPE_CHECKING:
    from gamedsl.ir.game import GameIR

FIRST = "first round"


class RoundMonitor:
    """Measures the action rates at the decisions of the rounds that a game repeats."""

    field = "after"

    def __init__(self, rounds: dict[str, frozenset[str]]) -> None:
        """The steps of a repeated round, by each of these steps."""
        self._steps = rounds

    @classmethod
    def of(cls, ir: GameIR) -> RoundMonitor | None:
        """Returns None for a game that repeats no round in which every decision is come to each
        time. A round is a stage, or the pass of a loop in which all seats choose, with all options
        open, and are paid."""
        rounds: dict[str, frozenset[str]] = {}
        for loop in walk_steps(ir.turns):
            if not isinstance(loop, Loop):
                continue
            again: list[Stage | Loop] = [s for s in substeps(loop) if isinstance(s, Stage)]
            if not again and _all_choose(loop, ir):
                again = [loop]
            for one in again:
                if _regular(one):
                    steps = frozenset(s.id for s in one.body if isinstance(s, Choose))
                    rounds |= dict.fromkeys(steps, steps)
        return cls(rounds) if rounds else None

    def measure(self, scorer: Scorer, batch: Batch) -> dict[str, Any]:
        """Returns role and step (`row:move`) -> the end of the last round -> how many games came
        there, and the probability of each action. A round is described as its owner saw it: its own
        choice first, then the others' in seat order."""
        games: dict[tuple[str, str], int] = defaultdict(int)
        mass: dict[tuple[str, str], dict[str, float]] = defaultdict(lambda: defaultdict(float))
        for history in batch.trajectories:
            for sample, last in self._rounds(history):
                at = f"{sample.role}:{sample.step}", last
                games[at] += history.games
                query, _ = sample.scored
                pi_A = scorer.probabilities(batch.queries[query])
                for name, p in zip(batch.places[query].legal, pi_A, strict=True):
                    mass[at][name] += history.games * float(p)
        found: dict[str, Any] = defaultdict(dict)
        for (where, last), count in sorted(
            games.items(), key=lambda row: (row[0][1] != FIRST, row)
        ):
            probs = {name: m / count for name, m in mass[where, last].items()}
            found[where][last] = {"games": count, "probs": probs}
        return dict(found)

    def _rounds(self, history: Trajectory) -> Iterator[tuple[Sample, str]]:
        """Yields the decisions of a course of play, each with what its owner saw of the round
        before."""
        seats = history.episode.env.seats
        for sample in history.samples:
            steps = self._steps.get(sample.step)
            if steps is None:
                continue
            if sample.occurrence == 0:
                yield sample, FIRST
                continue
            round_before = {
                (event.seat != sample.seat, seats.index(event.seat), event.step): event.name
                for event in history.episode.seen(sample.seat)
                if event.step in steps and event.occurrence == sample.occurrence - 1
            }
            yield sample, ", ".join(round_before[place] for place in sorted(round_before))


def _regular(one: Stage | Loop) -> bool:
    """Returns whether all decisions of a round are its own steps, and none is ever left out."""
    own = [step for step in one.body if isinstance(step, Choose)]
    every: list[Step] = [s for s in walk_steps(one.body) if isinstance(s, Choose)]
    return len(own) == len(every) > 0 and all(step.condition is None for step in own)


def _all_choose(loop: Loop, ir: GameIR) -> bool:
    """Returns whether every seat of several chooses in each pass of a loop, can always take the
    same options, and is paid in it."""
    own = [step for step in loop.body if isinstance(step, Choose)]
    return (
        loop.items is None
        and len(ir.seats) > 1
        and any(
            isinstance(step, Pay) and step.stream == "payoffs" and step.condition is None
            for step in loop.body
        )
        and all(step.static and (step.joint or len(step.actors) == 1) for step in own)
        and {seat for step in own for seat in step.actors} == set(ir.seats)
    )
