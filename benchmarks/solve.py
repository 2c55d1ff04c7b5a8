"""CFR+ and NashConv: ours and OpenSpiel's in C++, per CPU-second, called from Python.

    pip install -c constraints.txt -e ".[bench]"
    python benchmarks/solve.py --out benchmarks/results/solve.json

One process, one thread. The sides take turns at the same work, so that what else runs on the
machine slows all; a ratio is the median over pairs of turns. Time is CPU time. NashConv is that of
the average policy; ours is worked out from a policy as a dict, with the best replies as dicts,
theirs from a tabular policy. What is done once (compiling the game, writing its tree out, laying it
out as arrays; theirs: making the solver) is timed apart.

The algorithm is the same, so after equally many iterations NashConv must be the same, to 1e-9. CFR+
on Leduc magnifies differences of rounding tenfold in about ten iterations; with `sums="histories"`
ours are added up in their order and must agree after all iterations. With `sums="sequences"`, the
default, they must agree after the first turn, and at the end how far apart they are is printed.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pyspiel
from shared import command, keep, machine

import gamedsl
from gamedsl.solve import cfr, nash_conv, tabulate
from gamedsl.solve.arrays import arrays_of
from gamedsl.solve.regret import Minimiser, Sums

TOLERANCE = 1e-9
"""What NashConv of both may differ by."""


@dataclass(frozen=True)
class Case:
    """A game, how many CFR+ iterations make a turn and how many times NashConv is worked out in
    one (ours; theirs once), and how many times as fast as theirs ours must be: CFR+ with each way
    of adding up, and NashConv."""

    game: str
    iterations: int
    repeats: int
    least: dict[Sums, float]
    least_nash_conv: float


CASES = (
    Case("leduc_poker", 50, 20, {"sequences": 10, "histories": 10}, 50),
    Case("kuhn_poker", 1_000, 100, {"sequences": 1, "histories": 0}, 1),
)


@dataclass
class Result:
    """Seconds are those of one iteration, or of NashConv once: medians over turns."""

    what: str
    ours: float
    theirs: float
    ratio: float
    least: float


def seconds(work: Callable[[], Any], times: int = 1) -> float:
    """CPU seconds that a piece of work takes, done so many times over."""
    start = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - start) / times


def compared(what: str, ours: list[float], theirs: list[float], least: float) -> Result:
    ratio = statistics.median(b / a for a, b in zip(ours, theirs, strict=True))
    return Result(what, statistics.median(ours), statistics.median(theirs), ratio, least)


class Match:
    """Ours and theirs at one game, each as far as its turns have brought it."""

    def __init__(self, case: Case) -> None:
        self.case = case
        made: dict[str, Any] = {}
        self.setup = {
            "compile": seconds(lambda: made.update(game=gamedsl.load(case.game))),
            "tree": seconds(lambda: made.update(tree=tabulate(made["game"].env()))),
            "arrays": seconds(lambda: made.update(arrays=arrays_of(made["tree"], "payoffs"))),
            "theirs": seconds(lambda: made.update(solver=spiel_solver(case.game))),
        }
        self.tree, self.arrays = made["tree"], made["arrays"]
        self.game, self.solver = made["solver"]
        self.ours = {sums: Minimiser(self.arrays, "cfr+", sums) for sums in case.least}

    def iterate(self, turns: int) -> tuple[list[Result], list[dict[str, Any]]]:
        """Measures the speed of CFR+, and the difference of NashConv at the end."""

        def theirs() -> None:
            for _ in range(self.case.iterations):
                self.solver.evaluate_and_update_policy()

        sides: dict[str, Callable[[], None]] = {"theirs": theirs}
        for sums, minimiser in self.ours.items():
            sides[sums] = partial(minimiser.run, self.case.iterations)
        taken: dict[str, list[float]] = {name: [] for name in sides}
        agreement = []
        for turn in range(turns):
            for name in list(sides)[:: -1 if turn % 2 else 1]:  # none always comes after another
                taken[name].append(seconds(sides[name]) / self.case.iterations)
            if turn == 0:
                agreement.append(self.difference("sequences", TOLERANCE))
        agreement += [self.difference("histories", TOLERANCE), self.difference("sequences", None)]
        results = [
            compared(f"CFR+, {sums}", taken[sums], taken["theirs"], least)
            for sums, least in self.case.least.items()
        ]
        return results, agreement

    def difference(self, sums: Sums, most: float | None) -> dict[str, Any]:
        """NashConv of both averages now, and what lies between them."""
        policy = self.arrays.policy(self.ours[sums].average)
        ours = float(nash_conv(self.tree, policy).nash_conv)
        theirs = pyspiel.nash_conv(self.game, self.solver.average_policy())
        return {
            "sums": sums, "iterations": self.ours[sums].done, "ours": ours, "theirs": theirs,
            "apart": abs(ours - theirs), "most": most,
        }  # fmt: skip

    def evaluate(self, turns: int) -> Result:
        """Measures the speed of NashConv."""
        average = self.solver.average_policy()
        policy = self.arrays.policy(self.ours["histories"].average)
        ours, theirs = list[float](), list[float]()
        for _ in range(turns):
            ours.append(seconds(lambda: nash_conv(self.tree, policy), self.case.repeats))
            theirs.append(seconds(lambda: pyspiel.nash_conv(self.game, average)))
        return compared("NashConv", ours, theirs, self.case.least_nash_conv)


def run(case: Case, turns: int) -> dict[str, Any]:
    match = Match(case)
    results, agreement = match.iterate(turns)
    results.append(match.evaluate(turns))
    return {
        "setup_seconds": match.setup,
        "whole_call_seconds": seconds(lambda: cfr(match.tree, case.iterations * turns)),
        "agreement": agreement,
        "results": [asdict(result) for result in results],
    }


def spiel_solver(name: str) -> tuple[Any, Any]:
    game = pyspiel.load_game(name)
    return game, pyspiel.CFRPlusSolver(game)


def report(name: str, found: dict[str, Any]) -> None:
    print(f"\n{name}")
    for row in found["results"]:
        word = "ok" if row["ratio"] >= row["least"] else "MISSED"
        target = f" (at least {row['least']:g}: {word})" if row["least"] else ""
        print(
            f"  {row['what']:<16}{row['ours'] * 1e3:>10.4f} ms{row['theirs'] * 1e3:>12.4f} ms"
            f"{row['ratio']:>9.2f} times{target}"
        )
    print("  exploitability (NashConv / 2) of the average:")
    for row in found["agreement"]:
        target = ""
        if row["most"] is not None:
            word = "ok" if row["apart"] <= row["most"] else "MISSED"
            target = f" (at most {row['most']:g}: {word})"
        print(
            f"  {row['iterations']:>6,} iterations, {row['sums']}: {row['ours'] / 2:.12f}, theirs "
            f"{row['theirs'] / 2:.12f}, NashConv apart {row['apart']:.1e}{target}"
        )
    each = (f"{part} {taken * 1e3:.1f} ms" for part, taken in found["setup_seconds"].items())
    print(
        f"  once: {', '.join(each)}\n  `cfr` called for all iterations, its regrets checked: "
        f"{found['whole_call_seconds']:.3f} s",
        flush=True,
    )


def main() -> None:
    parser = command(__doc__)
    parser.add_argument("--turns", type=int, default=20, help="of each side")
    args = parser.parse_args()
    versions = {name: version(name) for name in ("gamedsl", "open_spiel", "numpy", "scipy")}
    result: dict[str, Any] = {"machine": machine("one thread"), "versions": versions, "games": {}}
    print(result["machine"], *(f"{k} {v}" for k, v in versions.items()), sep="; ")
    print(f"{'':<18}{'ours':>13}{'theirs':>15}{'ratio':>9}")
    for case in CASES:
        found = result["games"][case.game] = run(case, args.turns)
        report(case.game, found)
    keep(result, args.out)


if __name__ == "__main__":
    main()
