"""Measures what workers of a Ray cluster cost, and how well they overlap, with a model that waits.

    pip install -c constraints.txt -e ".[train,ray]"
    python benchmarks/workers.py --out benchmarks/results/workers.json

- `overhead`: games of ten turns with a model that answers at once, played without workers and with
  one and two. The difference, per game, is what workers cost: wanted is less than 1 ms.
- `turns`: a model that waits 50 ms for each batch of replies. The ideal time of a step is ten times
  that, whatever the number of games; wanted is 0.9 of it.
- `updates`: the same, while each update waits as long as the games of a step do. With `staleness:
  1` the ideal time of a step is the longer of the two; wanted is 0.9 of it.

Times are those of the clock, the least of several rounds. Other work on the machine only adds to
them: `load` is its mean load when the benchmark began.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch
from shared import command, keep, machine

import gamedsl
from gamedsl.diagnostics import Problems
from gamedsl.policies.base import Policy, Query
from gamedsl.policies.cluster import Workers
from gamedsl.policies.generation import Generated, Request, Session, Then, Writing, served
from gamedsl.policies.ray_workers import RayPolicy, Writer
from gamedsl.recipe.resolve import override, resolve
from gamedsl.recipe.table import Recipe
from gamedsl.runtime import Game
from gamedsl.training.rollout import play
from gamedsl.training.seats import SeatAssignment
from gamedsl.training.sessions import Sessions
from gamedsl.training.stale_rollouts import StaleRollouts
from gamedsl.training.trajectories import Batch

TURNS, WAIT = 10, 0.05
GAMES, WAITED_GAMES, ROUNDS, STEPS = 256, 16, 7, 6
MOST_OVERHEAD, LEAST_OVERLAP = 0.001, 0.9
TALK = f"""
game: talk
roles: [talker]
turns: [{{repeat: {TURNS}, turns: [{{role: talker, say: word, max_tokens: 8}}]}}]
payoffs: 1
"""


class Waiting:
    """A model that answers `ok`, `wait` seconds after it was asked, to all that it was asked."""

    name, adapters = "waiting", ("shared",)

    def __init__(self, wait: float) -> None:
        self._wait = wait
        self._weight = torch.nn.Parameter(torch.zeros(1))
        self.tokenizer = Letters()

    def tokenizer_of(self, adapter: str) -> Letters:
        return self.tokenizer

    def session(self) -> Session:
        return cast("Session", WaitingSession(self._wait))

    def serve(self, requests: Sequence[Request], then: Then) -> None:
        served(self.session(), requests, then)

    def log_probs(self, queries: Sequence[Query]) -> list[torch.Tensor]:
        return [torch.zeros(len(query.labels)).log_softmax(0) for query in queries]

    def parameters(self, adapter: str | None = None) -> list[torch.nn.Parameter]:
        return [self._weight]

    def adapter_state(self, adapter: str) -> dict[str, torch.Tensor]:
        return {"weight": self._weight.detach().clone()}

    def load_adapter_state(self, adapter: str, state: dict[str, torch.Tensor]) -> None: ...

    def forget(self, adapter: str | None = None) -> None: ...


class Letters:
    """A tokenizer of one token a letter."""

    def count(self, text: str) -> int:
        return len(text)


class WaitingSession:
    """Requests that are all answered in the next step."""

    def __init__(self, wait: float) -> None:
        self._wait, self._asked, self._count = wait, list[int](), 0

    @property
    def under_way(self) -> bool:
        return bool(self._asked)

    def ask(self, requests: Sequence[Request]) -> None:
        self._asked += range(self._count, self._count + len(requests))
        self._count += len(requests)

    def step(self) -> list[tuple[int, Generated]]:
        time.sleep(self._wait)
        asked, self._asked = self._asked, []
        return [(number, Generated((0,), (1, 2), (0.0, 0.0), "ok", "stop")) for number in asked]

    def close(self) -> None: ...


def main() -> int:
    args = command(__doc__).parse_args()
    found: dict[str, Any] = {
        "machine": machine(f"{os.cpu_count()} cores"),
        "load": os.getloadavg()[0],
        "versions": {name: version(name) for name in ("gamedsl", "ray")},
        "turns_per_game": TURNS,
        "overhead": overhead(),
        "turns": turns(),
        "updates": updates(),
    }
    keep(found, args.out)
    least = min(found["turns"]["of_ideal"].values()), found["updates"]["of_ideal"]
    most = max(found["overhead"]["ms_per_game"].values())
    return int(most >= 1000 * MOST_OVERHEAD or min(least) < LEAST_OVERLAP)


def overhead() -> dict[str, Any]:
    """Turns a second, and what workers add to a game."""
    alone = least(partial(played, Waiting(0), GAMES))
    found: dict[str, Any] = {"games": GAMES, "turns_per_second": {"0": GAMES * TURNS / alone}}
    found["ms_per_game"] = {}
    print(f"no worker: {GAMES * TURNS / alone:.0f} turns/s")
    for count in (1, 2):
        seconds = with_workers(count, 0, lambda policy: least(partial(played, policy, GAMES)))
        more = (seconds - alone) / GAMES
        found["turns_per_second"][str(count)] = GAMES * TURNS / seconds
        found["ms_per_game"][str(count)] = 1000 * more
        print(
            f"{count} workers: {GAMES * TURNS / seconds:.0f} turns/s, {1000 * more:.2f} ms more a"
            f" game, less than {1000 * MOST_OVERHEAD:.0f} wanted"
        )
    return found


def turns() -> dict[str, Any]:
    """The share of the ideal time, where a model waits for each batch of replies."""
    ideal = TURNS * WAIT
    found: dict[str, Any] = {"games": WAITED_GAMES, "wait": WAIT, "of_ideal": {}}
    for count in (1, 2):
        seconds = with_workers(
            count, WAIT, lambda policy: least(partial(played, policy, WAITED_GAMES))
        )
        found["of_ideal"][str(count)] = ideal / seconds
        print(
            f"{count} workers that wait: {ideal / seconds:.3f} of the ideal, {LEAST_OVERLAP} wanted"
        )
    return found


def updates() -> dict[str, Any]:
    """The share of the ideal time of a step that plays while an update waits as long."""
    seconds = with_workers(2, WAIT, lambda policy: least(partial(updated, policy)))
    share = TURNS * WAIT / seconds
    print(f"games while updates wait: {share:.3f} of the ideal, {LEAST_OVERLAP} wanted")
    return {"games": WAITED_GAMES, "staleness": 1, "steps": STEPS, "of_ideal": share}


def with_workers(count: int, wait: float, measure: Callable[[RayPolicy], float]) -> float:
    """Measures with workers; their start does not count."""
    workers = Workers(partial(waiting, wait), Writer, address=None, count=count)
    policy = RayPolicy(waiting(0), workers)
    try:
        played(policy, 2 * count)
        return measure(policy)
    finally:
        workers.close()


def waiting(wait: float) -> Policy:
    return cast("Policy", Waiting(wait))


def least(measured: Callable[[], float]) -> float:
    return min(measured() for _ in range(ROUNDS))


def played(policy: Any, games: int) -> float:
    """The seconds in which the games of a step are played."""
    game, recipe = of(games, 0)
    start = time.perf_counter()
    batch = step_of(game, recipe, policy, 1)
    seconds = time.perf_counter() - start
    assert sum(len(one.samples) for one in batch.trajectories) == games * TURNS
    return seconds


def updated(policy: RayPolicy) -> float:
    """The seconds of a step that has an update, on average over all but the first."""
    game, recipe = of(WAITED_GAMES, 1)
    rollouts = StaleRollouts(recipe, policy, partial(step_of, game, recipe))
    rollouts.see(0)
    rollouts.batch(1)
    start = time.perf_counter()
    for step in range(1, STEPS):
        time.sleep(TURNS * WAIT)
        rollouts.see(step)
        rollouts.batch(step + 1)
    seconds = time.perf_counter() - start
    rollouts.close()
    return seconds / (STEPS - 1)


def step_of(game: Game, recipe: Recipe, policy: Writing, step: int) -> Batch:
    env = game.env(run_seed=recipe.seed)
    return play(env, Sessions(policy), recipe, step, SeatAssignment(game.ir, recipe))


def of(games: int, staleness: int) -> tuple[Game, Recipe]:
    """The game, and a recipe that plays so many games."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "talk.yaml"
        path.write_text(TALK, encoding="utf-8")
        game = gamedsl.load(path)
    given = {"games": games, "group_size": games, "steps": STEPS, "staleness": staleness}
    problems = Problems()
    recipe = resolve(game.ir, [override(key, value) for key, value in given.items()], problems)
    assert not problems.errors, problems.found
    return game, recipe


if __name__ == "__main__":
    sys.exit(main())
