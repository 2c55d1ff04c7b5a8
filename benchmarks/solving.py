"""Solving games of 10^5 to 10^7 histories: NashConv against CPU time, ours beside OpenSpiel's C++.

    pip install -c constraints.txt -e ".[bench]"
    python benchmarks/solving.py --out benchmarks/results/solving.json

Ours lays the whole game out as arrays and runs CFR+ on them; all of that counts, from reading the
file on. Theirs are external-sampling MCCFR, and CFR+ on the whole tree, both in C++, called from
Python; making the game and the solver counts. What NashConv costs counts for nobody: it is exact on
both sides, of the average policy. One process and one thread; time is CPU time. The sides run one
after the other, each to `--seconds`. That the games are the same is checked by NashConv of the
uniform policy, which must agree to 1e-9.

Each row says the NashConv that each side had reached by then: that of the last policy that was
finished in time. Before ours has laid the game out it has none, which is shown as `-`. The ratio is
theirs over ours: above 1 ours is nearer an equilibrium at equal CPU time. Each game's result names
the machine, and how many processes wanted its processors: CPU time is compared, not time.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pyspiel
from shared import command, keep, machine

import gamedsl
from gamedsl.solve.game_arrays import arrays_of_graph
from gamedsl.solve.position_graph import position_graph
from gamedsl.solve.regret import Minimiser

FOLDER = Path(__file__).parent / "solving"
TIMES = (1, 2, 5, 10, 20, 30, 60)
"""CPU seconds at which the sides are compared."""


@dataclass(frozen=True)
class Case:
    """A game of ours, its params, and the same game of OpenSpiel's."""

    name: str
    file: str
    params: dict[str, Any]
    theirs: str
    times: tuple[float, ...] = TIMES


CASES = (
    Case(
        "liars_dice, 2 dice of 3 faces each", str(FOLDER / "liars_dice_2.yaml"), {},
        "liars_dice(numdice=2,dice_sides=3)",
    ),
    Case(
        "battleship 2x3, 3 shots each", str(FOLDER / "battleship.yaml"), {},
        "battleship(board_width=3,board_height=2,ship_sizes=[2],ship_values=[1],num_shots=3,"
        "allow_repeated_shots=False)",
    ),
    Case(
        "goofspiel 5, prizes at random", "goofspiel", {"n": 5},
        "turn_based_simultaneous_game(game=goofspiel(imp_info=True,num_cards=5,"
        "points_order=random,returns_type=win_loss))",
        (20, 30, 60),  # NashConv takes theirs half a minute each time
    ),
)  # fmt: skip

Curve = list[tuple[float, float]]
"""CPU seconds, and NashConv by then."""


class Clock:
    """CPU time, but for what is measured in between."""

    def __init__(self) -> None:
        self._start = time.process_time()
        self._left_out = 0.0

    @property
    def seconds(self) -> float:
        return time.process_time() - self._start - self._left_out

    def aside(self, work: Callable[[], float]) -> float:
        """The result of work that does not count."""
        before = time.process_time()
        found = work()
        self._left_out += time.process_time() - before
        return found


def checkpoints(case: Case, most: float) -> list[float]:
    """The times at which NashConv is looked at."""
    return [t for t in case.times if t <= most]


def ours(case: Case, times: list[float]) -> tuple[Curve, dict[str, float]]:
    clock = Clock()
    game = gamedsl.load(case.file, case.params)
    compiled = clock.seconds
    graph = position_graph(game, limit=1_000_000)
    walked = clock.seconds
    arrays = arrays_of_graph(graph, dict(game.ir.role_of))
    minimiser = Minimiser(arrays, "cfr+")
    setup = {
        "compile": compiled, "graph": walked - compiled, "arrays": clock.seconds - walked,
        "histories": graph.histories, "positions": len(graph.positions),
        "information_sets": len(arrays.infos),
        "uniform": clock.aside(lambda: arrays.nash_conv([s.uniform() for s in arrays.seats])),
    }  # fmt: skip

    def step() -> None:
        minimiser.run(1)

    curve = follow(clock, step, lambda: arrays.nash_conv(minimiser.average), times)
    return curve, {**setup, "iterations": minimiser.done}


def theirs(
    case: Case, algorithm: str, times: list[float], seed: int
) -> tuple[Curve, dict[str, float]]:
    clock = Clock()
    game = pyspiel.load_game(case.theirs)
    if algorithm == "external":
        solver = pyspiel.ExternalSamplingMCCFRSolver(
            game, seed=seed, avg_type=pyspiel.MCCFRAverageType.SIMPLE
        )
        step = solver.run_iteration
    else:
        solver = pyspiel.CFRPlusSolver(game)
        step = solver.evaluate_and_update_policy
    counted = [0]

    def iterate() -> None:
        counted[0] += 1
        step()

    curve = follow(
        clock, iterate, lambda: float(pyspiel.nash_conv(game, solver.average_policy(), True)), times
    )
    return curve, {"iterations": counted[0]}


def follow(
    clock: Clock, step: Callable[[], None], distance: Callable[[], float], times: list[float]
) -> Curve:
    """Iterates up to each checkpoint. An iteration that ends after one counts for the next."""
    curve: Curve = []
    for at in times:
        if clock.seconds >= at:
            continue
        while clock.seconds < at:
            step()
        found = clock.aside(distance)
        curve.append((clock.seconds, found))
    return curve


def reached(curve: Curve, at: float) -> float | None:
    """NashConv of the last policy that was finished about then: an iteration may end 5% later."""
    known = [value for seconds, value in curve if seconds <= at * 1.05]
    return known[-1] if known else None


def run(case: Case, most: float, seed: int) -> dict[str, Any]:
    times = checkpoints(case, most)
    mine, setup = ours(case, times)
    external, sampled = theirs(case, "external", times, seed)
    whole, swept = theirs(case, "cfr+", times, seed)
    rows = []
    for at in times:
        a, b, c = (reached(curve, at) for curve in (mine, external, whole))
        rows.append({
            "seconds": at, "ours": a, "mccfr": b, "cfr+": c,
            "ratio_mccfr": b / a if a and b else None, "ratio_cfr+": c / a if a and c else None,
        })  # fmt: skip
    game = pyspiel.load_game(case.theirs)
    uniform = float(pyspiel.nash_conv(game, pyspiel.UniformRandomPolicy(game)))
    return {
        "theirs": case.theirs, "setup": setup, "uniform_theirs": uniform, "rows": rows,
        "same_game": abs(uniform - setup["uniform"]) < 1e-9,
        "iterations": {"ours": setup["iterations"], "mccfr": sampled["iterations"],
                       "cfr+": swept["iterations"]},
    }  # fmt: skip


def report(name: str, found: dict[str, Any]) -> None:
    setup = found["setup"]
    print(
        f"\n{name}: {setup['histories']:,} histories, {setup['positions']:,} positions, "
        f"{setup['information_sets']:,} information sets\n"
        f"  ours, once: compile {setup['compile']:.2f} s, graph {setup['graph']:.2f} s, arrays "
        f"{setup['arrays']:.2f} s\n  the same game by NashConv of uniform play: "
        f"{found['same_game']} ({setup['uniform']:.9f}, {found['uniform_theirs']:.9f})"
    )
    print(f"{'CPU s':>7}{'ours':>12}{'MCCFR':>12}{'CFR+':>12}{'MCCFR/ours':>12}{'CFR+/ours':>12}")
    for row in found["rows"]:
        cells = [row[name] for name in ("ours", "mccfr", "cfr+", "ratio_mccfr", "ratio_cfr+")]
        texts = ["-" if cell is None else f"{cell:.4g}" for cell in cells]
        print(f"{row['seconds']:>7}" + "".join(f"{text:>12}" for text in texts), flush=True)


def main() -> None:
    parser = command(__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="CPU time of each side")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="the number of one game, from 0")
    args = parser.parse_args()
    versions = {name: version(name) for name in ("gamedsl", "open_spiel", "numpy", "scipy")}
    kept: dict[str, Any] = {}
    if args.only is not None and args.out is not None and args.out.exists():
        kept = json.loads(args.out.read_text(encoding="utf-8"))["games"]
    print(machine("one thread"), *(f"{k} {v}" for k, v in versions.items()), sep="; ")
    for number, case in enumerate(CASES):
        if args.only in (None, number):
            before = os.getloadavg()[0]
            found = run(case, args.seconds, args.seed)
            load = f"load {before:.1f} before and {os.getloadavg()[0]:.1f} after"
            on = machine("one thread", f"{os.cpu_count()} cores", load)
            kept[case.name] = {"machine": on, "versions": versions, **found}
            report(case.name, found)
            keep({"games": kept}, args.out)


if __name__ == "__main__":
    main()
