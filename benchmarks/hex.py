"""Random plays of hex: generated code beside OpenSpiel's C++, and how the cost of a move grows.

    pip install -c constraints.txt -e ".[bench]"
    python benchmarks/hex.py --out benchmarks/results/hex.json

One process, one thread, CPU time. On each board all play in turn, a few dozen milliseconds at a
time, with the same numbers drawn; a ratio is the median over pairs of such turns, ours over
OpenSpiel's: above 1 ours is faster. All are driven from Python; nobody is shown what it may know.
`moves` are those of a play, on average: equal on both sides, but for chance, where the games are
the same. `us/cell` is the time of a move divided by the cells of the board: constant where a move
costs as much as one look at the board.
"""

from __future__ import annotations

from typing import Any

from env import Runner, measure, ratio, states, versions
from env_peers import spiel
from shared import command, keep, machine

import gamedsl

SIZES = (5, 7, 11)
THEIRS = "OpenSpiel (C++)"
BACKENDS = ("interpreter", "generated")


def run(size: int, turns: int, seconds: float) -> dict[str, Any]:
    """Lets all play on a board of this size."""
    game = gamedsl.load("hex", {"size": size})
    runners = [
        Runner("hex", backend, states(game.kernel(backend), seen=False)) for backend in BACKENDS
    ]
    runners.append(Runner("hex", THEIRS, spiel(f"hex(board_size={size})", seen=False)))
    found = measure(runners, turns, seconds)
    for runner in runners:
        row = found[runner.name]
        row["moves"] = row["steps_per_second"] / row["games_per_second"]
        row["microseconds_per_cell"] = 1e6 / row["steps_per_second"] / size**2
    ratios = {backend: ratio(found, backend, THEIRS) for backend in BACKENDS}
    for row in found.values():
        del row["each"]
    return {"players": found, "ratios": ratios}


def report(size: int, found: dict[str, Any]) -> None:
    print(f"\nhex {size}x{size}")
    print(
        f"{'':<18}{'plays/s':>10}{'moves/s':>12}{'moves':>8}{'us/move':>9}{'us/cell':>9}{'ratio':>8}"
    )
    for name, row in found["players"].items():
        steps, share = row["steps_per_second"], found["ratios"].get(name, 1.0)
        print(
            f"{name:<18}{row['games_per_second']:>10,.0f}{steps:>12,.0f}{row['moves']:>8.1f}"
            f"{1e6 / steps:>9.2f}{row['microseconds_per_cell']:>9.3f}{share:>8.3f}",
            flush=True,
        )


def main() -> None:
    parser = command(__doc__)
    parser.add_argument("--sizes", nargs="*", type=int, default=list(SIZES), metavar="N")
    parser.add_argument("--turns", type=int, default=15, help="of each player")
    parser.add_argument("--seconds", type=float, default=0.1, help="of a turn")
    args = parser.parse_args()
    told = {name: versions()[name] for name in ("gamedsl", "open_spiel")}
    result: dict[str, Any] = {"machine": machine("one thread"), "versions": told, "boards": {}}
    print(result["machine"], *(f"{name} {number}" for name, number in told.items()), sep="; ")
    for size in args.sizes:
        found = result["boards"][f"{size}x{size}"] = run(size, args.turns, args.seconds)
        report(size, found)
    keep(result, args.out)


if __name__ == "__main__":
    main()
