"""Controls as well tuned as ours: the same game by several methods, each over a grid of settings.

`python benchmarks/methods.py --grid` calls this. `benchmarks/grid.yaml` is the list. Runs that are
in the results are not made again, so a run that was killed goes on.
"""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import yaml

HERE = Path(__file__).parent
LIST, RESULTS = HERE / "grid.yaml", HERE / "results" / "grid.json"
HEADING = "Kuhn poker, a table of logits, seeds 0 to 4: exploitability"

NEAR = 0.05

Found = dict[str, dict[str, float]]
"""By the settings of a run and its seed as text, its measures."""


@dataclass(frozen=True)
class Grid:
    """A list of methods, each with the settings that it is tried with."""

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


def read(file: Path = LIST) -> Grid:
    given = yaml.safe_load(file.read_text(encoding="utf-8"))
    return Grid(given["game"], given["seeds"], given["best"], given["set"], given["methods"])


def key(settings: Mapping[str, Any], seed: int) -> str:
    return json.dumps([settings, seed])


def measure(grid: Grid, settings: Mapping[str, Any], seed: int) -> dict[str, float]:
    """Trains once; returns exploitability at the last step, and the worst of the last fifth."""
    import gamedsl
    from gamedsl.diagnostics import Problems
    from gamedsl.recipe.resolve import override, resolve
    from gamedsl.training.engine import open_policy
    from gamedsl.training.loop import train
    from gamedsl.training.runfolder import create

    given = {**grid.shared, **settings, "seed": seed, "checkpoint_every": grid.shared["steps"],
             "transcripts_every": grid.shared["steps"]}  # fmt: skip
    game = gamedsl.load(HERE.parent / "games" / f"{grid.game}.yaml").worded(given["wording"])
    problems = Problems()
    overrides = [override(name, value) for name, value in given.items()]
    recipe = resolve(game.ir, overrides, problems)
    if problems.errors:
        raise SystemExit(f"{settings}: {problems.errors[0].message}")
    policy = open_policy(game, recipe, lambda line: None)
    with tempfile.TemporaryDirectory() as folder:
        run = create(game, recipe, Path(folder) / "run", {}, policy.tokenizer, 1)
        train(game, recipe, run, policy)
        steps = [one["exploitability"] for one in run.records() if one["event"] == "step"]
    return {"last": steps[-1], "worst": max(steps[-len(steps) // 5 :])}


def made(grid: Grid, file: Path = RESULTS) -> Found:
    """Makes the runs that are missing, and writes each to the results as it ends."""
    found: Found = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}

    def run(settings: Mapping[str, Any], seed: int) -> None:
        if key(settings, seed) not in found:
            found[key(settings, seed)] = measure(grid, settings, seed)
            file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
            print(settings, seed, found[key(settings, seed)], flush=True)

    for method in grid.methods:
        for settings in grid.settings(method):
            run(settings, grid.seeds[0])
        for settings in chosen(grid, method, found):
            for seed in grid.seeds:
                run(settings, seed)
    return found


def chosen(grid: Grid, method: Mapping[str, Any], found: Found) -> list[dict[str, Any]]:
    """Returns the settings of a method that were best with the first seed, by the worst of the last
    fifth of the steps."""
    tried = [one for one in grid.settings(method) if key(one, grid.seeds[0]) in found]
    return sorted(tried, key=lambda one: found[key(one, grid.seeds[0])]["worst"])[: grid.best]


def table(grid: Grid, found: Found) -> str:
    """Returns the best setting of each method, by the mean over all seeds of the worst of the last
    fifth, as Markdown."""
    heads = (
        HEADING,
        "settings below 0.05",
        "best setting",
        "at the last step",
        "worst of the last fifth",
    )
    lines = [f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads)]
    for method in grid.methods:
        whole = [
            one for one in chosen(grid, method, found)
            if all(key(one, seed) in found for seed in grid.seeds)
        ]  # fmt: skip
        if not whole:
            continue
        best = min(whole, key=lambda one: mean(found[key(one, s)]["worst"] for s in grid.seeds))
        shown = ", ".join(f"`{name}: {best[name]}`" for name in method["over"])
        cells = [
            ", ".join(f"{found[key(best, seed)][what]:.3f}" for seed in grid.seeds)
            for what in ("last", "worst")
        ]
        first = [found[key(one, grid.seeds[0])]["worst"] for one in grid.settings(method)]
        tried = f"{sum(worst < NEAR for worst in first)} of {len(first)}"
        lines.append(f"| {method['row']} | {tried} | {shown} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
