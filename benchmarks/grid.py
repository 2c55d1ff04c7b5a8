"""Controls as well tuned as ours: the same game by several methods, each over a grid of settings.

`python benchmarks/methods.py --grid` calls this. `benchmarks/grid.yaml` lists the grids, one for
each model, and `--grid NAME` makes one alone. The results of each are a file of its own, so two
grids may be made at the same time. Runs that are in the results are not made again, so a grid that
was killed goes on.
"""

from __future__ import annotations

import gc
import itertools
import json
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from gamedsl.recipe.table import Recipe
    from gamedsl.runtime import Game

HERE = Path(__file__).parent
LIST, RESULTS = HERE / "grid.yaml", HERE / "results" / "grid"

NEAR = 0.05
MEASURES = {
    "last": ("at the last step", ".3f"),
    "worst": ("worst of the last fifth", ".3f"),
    "cpu_seconds": ("CPU seconds", ".0f"),
}
"""By what a run's result calls them, the columns of measures and how their numbers are shown."""

Found = dict[str, dict[str, float]]
"""By the settings of a run and its seed as text, its measures."""


@dataclass(frozen=True)
class Grid:
    """A list of methods, each with the settings that it is tried with. `name` is that of its file
    of results, and `heading` that of its table."""

    name: str
    heading: str
    game: str
    seeds: Sequence[int]
    best: int
    shared: Mapping[str, Any]
    methods: Sequence[Mapping[str, Any]]

    def settings(self, method: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yields the settings that a method is tried with, which differ from the shared ones."""
        names, values = zip(*method["over"].items(), strict=True)
        for chosen in itertools.product(*values):
            yield {**method["set"], **dict(zip(names, chosen, strict=True))}


def read(file: Path = LIST) -> list[Grid]:
    return [
        Grid(
            one["name"], one["heading"], one["game"], one["seeds"], one["best"], one["set"],
            one["methods"],
        )
        for one in yaml.safe_load(file.read_text(encoding="utf-8"))
    ]  # fmt: skip


def key(settings: Mapping[str, Any], seed: int) -> str:
    return json.dumps([settings, seed])


def recipe_of(grid: Grid, settings: Mapping[str, Any], seed: int) -> tuple[Game, Recipe]:
    """Returns the game of a run and how it is trained. SystemExit for settings that are refused."""
    import gamedsl
    from gamedsl.diagnostics import Problems
    from gamedsl.recipe.resolve import override, resolve

    given = {**grid.shared, **settings, "seed": seed}
    given |= {"checkpoint_every": given["steps"], "transcripts_every": given["steps"]}
    game = gamedsl.load(HERE.parent / "games" / f"{grid.game}.yaml").worded(given["wording"])
    problems = Problems()
    overrides = [override(name, value) for name, value in given.items()]
    recipe = resolve(game.ir, overrides, problems)
    if problems.errors:
        raise SystemExit(f"{settings}: {problems.sorted()[0].message}")
    return game, recipe


def measure(grid: Grid, settings: Mapping[str, Any], seed: int) -> dict[str, float]:
    """Trains once; returns exploitability at the last step, the worst of the last fifth, and the
    CPU seconds that it took, the loading of the model included."""
    from gamedsl.training.engine import open_policy, set_threads
    from gamedsl.training.loop import train
    from gamedsl.training.runfolder import create

    game, recipe = recipe_of(grid, settings, seed)
    threads, began = set_threads(recipe.threads), time.process_time()
    policy = open_policy(game, recipe, lambda line: None)
    with tempfile.TemporaryDirectory() as folder:
        run = create(game, recipe, Path(folder) / "run", {}, policy.tokenizer, threads)
        train(game, recipe, run, policy)
        steps = [one["exploitability"] for one in run.records() if one["event"] == "step"]
    return {
        "last": steps[-1],
        "worst": max(steps[-len(steps) // 5 :]),
        "cpu_seconds": round(time.process_time() - began, 1),
    }


def results(grid: Grid, folder: Path = RESULTS) -> Found:
    """Returns the runs of a grid that were made."""
    file = folder / f"{grid.name}.json"
    found: Found = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return found


def missing(grid: Grid, found: Found) -> Iterator[tuple[dict[str, Any], int]]:
    """Yields the settings and the seed of each run that is not in `found` yet. Which settings of a
    method are its best shows once all have the first seed: whoever makes the runs adds each to
    `found` before the next is asked for."""
    for method in grid.methods:
        for settings in grid.settings(method):
            if key(settings, grid.seeds[0]) not in found:
                yield settings, grid.seeds[0]
        for settings, seed in itertools.product(chosen(grid, method, found), grid.seeds):
            if key(settings, seed) not in found:
                yield settings, seed


def made(grid: Grid, folder: Path = RESULTS) -> Found:
    """Makes the runs that are missing, and writes each to the results as it ends."""
    from gamedsl.storage.writer import write_text

    found = results(grid, folder)
    for settings, seed in missing(grid, found):
        gc.collect()  # the model of the run before is part of reference cycles
        found[key(settings, seed)] = measure(grid, settings, seed)
        write_text(folder / f"{grid.name}.json", json.dumps(found, indent=1) + "\n")
        print(grid.name, settings, seed, found[key(settings, seed)], flush=True)
    return found


def chosen(grid: Grid, method: Mapping[str, Any], found: Found) -> list[dict[str, Any]]:
    """Returns the settings of a method that were best with the first seed, by the worst of the last
    fifth of the steps."""
    tried = [one for one in grid.settings(method) if key(one, grid.seeds[0]) in found]
    return sorted(tried, key=lambda one: found[key(one, grid.seeds[0])]["worst"])[: grid.best]


def tables(grids: Sequence[Grid], folder: Path = RESULTS) -> dict[str, str]:
    """Returns by its heading the table of each grid whose runs are all made."""
    found = {grid.heading: (grid, results(grid, folder)) for grid in grids}
    return {
        heading: table(grid, runs)
        for heading, (grid, runs) in found.items()
        if next(missing(grid, runs), None) is None
    }


def table(grid: Grid, found: Found) -> str:
    """Returns the best setting of each method, by the mean over all seeds of the worst of the last
    fifth, as Markdown. `found` has all runs of the grid; what they were not all measured by has no
    column."""
    measures = [what for what in MEASURES if all(what in run for run in found.values())]
    heads = [grid.heading, "settings below 0.05", "best setting"]
    heads += [MEASURES[what][0] for what in measures]
    lines = [f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads)]
    for method in grid.methods:
        best = min(
            chosen(grid, method, found),
            key=lambda one: mean(found[key(one, seed)]["worst"] for seed in grid.seeds),
        )
        first = [found[key(one, grid.seeds[0])]["worst"] for one in grid.settings(method)]
        cells = [
            method["row"],
            f"{sum(worst < NEAR for worst in first)} of {len(first)}",
            ", ".join(f"`{name}: {best[name]}`" for name in method["over"]),
        ]
        for what in measures:
            values = [found[key(best, seed)][what] for seed in grid.seeds]
            cells.append(", ".join(f"{value:{MEASURES[what][1]}}" for value in values))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
