"""Times of moves in the studio, with many tables at once and the equilibrium opposite.

    python benchmarks/studio.py --out benchmarks/results/studio.json
    python benchmarks/studio.py --game leduc_poker --tables 20

Each table has a browser of its own, which sends a move over HTTP, follows where it leads, reads the
next page, and waits for a second on average, as fast people do. `--pause 0` moves again at once,
which measures how many moves there are room for. A move's seconds run from the form that is
sent to the last byte of the page that answers it. The equilibrium is found before the clock starts.
"""

from __future__ import annotations

import statistics
import sys
import threading
import time
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from shared import command, keep, machine

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.studio.client import Client, running
from tests.studio.person import reply_to


def main() -> None:
    parser = command(__doc__ or "")
    parser.add_argument("--game", default="kuhn_poker", help="a shipped game with an equilibrium")
    parser.add_argument("--tables", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=20.0, help="how long all play")
    parser.add_argument("--pause", type=float, default=1.0, help="mean seconds between moves")
    args = parser.parse_args()
    with TemporaryDirectory() as folder, running(Path(folder)) as address:
        times = measure(address, args.game, args.tables, args.seconds, args.pause)
    times.sort()
    found = {
        "game": args.game, "tables": args.tables, "pause": args.pause, "moves": len(times),
        "median_ms": round(1000 * statistics.median(times), 1),
        "p95_ms": round(1000 * times[int(0.95 * len(times))], 1),
        "longest_ms": round(1000 * times[-1], 1),
    }  # fmt: skip
    print(
        f"{args.game}: {len(times)} moves at {args.tables} tables, median "
        f"{found['median_ms']:g} ms, 95% below {found['p95_ms']:g} ms, longest "
        f"{found['longest_ms']:g} ms"
    )
    keep({"machine": machine(), "rows": [found]}, args.out)


def measure(address: str, game: str, tables: int, seconds: float, pause: float) -> list[float]:
    """Returns the seconds of every move."""
    times: list[float] = []
    ready = threading.Barrier(tables)
    threads = [
        threading.Thread(target=_sit, args=(address, game, number, seconds, pause, ready, times))
        for number in range(tables)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times


def _sit(
    address: str, game: str, number: int, seconds: float, pause: float,
    ready: threading.Barrier, times: list[float],
) -> None:  # fmt: skip
    """Plays at one table until time is up."""
    dice = Random(number)
    with Client(address) as client:
        form = client.get(f"/play?file={game}").form("/play")
        others = {name: "equilibrium" for name, who in form.fields.items() if who == "strongest"}
        page = client.post(form.action, form.fields | others)
        here = client.at
        ready.wait()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if "The game is over" in page.text:
                page = client.post(f"{here}/again", {})
                continue
            time.sleep(pause * dice.expovariate(1))
            target, fields = reply_to(page, dice)
            begun = time.monotonic()
            page = client.post(target.action, fields)
            times.append(time.monotonic() - begun)


if __name__ == "__main__":
    main()
