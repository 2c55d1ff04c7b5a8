"""What each way of training reaches, from committed runs: judges every claim, prints the tables.

    python benchmarks/methods.py                   # from benchmarks/results/methods
    python benchmarks/methods.py --run             # makes the runs that are missing first (hours)
    python benchmarks/methods.py --only kuhn --curves docs/pictures/kuhn_methods.svg

The list of runs and their claims is `benchmarks/methods.yaml`; `benchmarks/train_queue.py` makes
them. A claim is about one number of the step records: `measure` is where it stands in a record
(`[policy, "first:open [first.card=J]", probs, bet]`, or `outside_ranges`: how many decisions lie
outside the range of all equilibria by more than 0.05), `over` which steps count (`last`,
`last_fifth`, `last_half`, `all`, or `{from: 10}`; `end` is the end record), and `at_most`,
`at_least` or `within: [low, high]` what holds of every one of them. Exit code 1 where a claim fails
or a run is missing.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from train_queue import LIST, RESULTS, RUNS, Entry, Result, Run, entries, runs_of

WINDOWS = {"last": 0.0, "last_fifth": 0.2, "last_half": 0.5, "all": 1.0}
"""The share of a run's steps, from its end, over which a claim must hold; `last` is one step."""


OUTSIDE, NEAR = "outside_ranges", 0.05


@dataclass(frozen=True)
class Verdict:
    """A claim about a run: in words, what was found, and whether it holds."""

    text: str
    found: str
    holds: bool


def judged(entry: Entry, result: Result) -> list[Verdict]:
    """Every claim of an entry, about one of its runs."""
    return [verdict(claim, result) for claim in entry.claims]


def verdict(claim: dict[str, Any], result: Result) -> Verdict:
    """A claim about a run. SystemExit for a claim that cannot be read."""
    over = claim.get("over", "last")
    steps = [result["end"]] if over == "end" else window(over, result["steps"])
    if claim["measure"] == OUTSIDE:
        steps = [outside(result["start"]["ranges"]["of"], step) for step in steps]
    values = list(measured(claim["measure"], steps))
    if not values:
        raise SystemExit(f"{result['name']}: no step tells {claim['measure']}")
    low, high = bounds(claim)
    ends = f"at most {high:g}" if low is None else f"at least {low:g}"
    if low is not None and high is not None:
        ends = f"from {low:g} to {high:g}"
    worst_low, worst_high = min(values), max(values)
    holds = (low is None or worst_low >= low) and (high is None or worst_high <= high)
    shown = worst_low if high is None else worst_high
    if low is not None and high is not None:
        shown = worst_low if worst_low < low else worst_high
    said = f"{named(claim['measure'])} {ends}, {spoken(over)}"
    return Verdict(claim.get("text", said), f"{shown:.3g}", holds)


def by_entry(made: Sequence[tuple[Run, Result]]) -> dict[Entry, list[Result]]:
    """The results of each entry, by seed."""
    found: dict[Entry, list[Result]] = {}
    for run, result in sorted(made, key=lambda pair: (pair[0].entry.name, pair[0].seed)):
        found.setdefault(run.entry, []).append(result)
    return found


def outside(ranges: dict[str, Any], step: Result) -> Result:
    """How many decisions of a step lie outside what equilibria leave them; nothing where the step's
    policy was not kept."""
    if "policy" not in step:
        return {}
    far = [
        key
        for key, allowed in ranges.items()
        for name, parts in allowed.items()
        if not any(
            low - NEAR <= step["policy"][key]["probs"][name] <= high + NEAR for low, high in parts
        )
    ]
    return {OUTSIDE: len(set(far))}


def rows(entry: Entry, results: Sequence[Result]) -> Iterator[str]:
    """The last cells of an entry's lines in the table: each claim with what every seed found."""
    if not entry.claims:
        last = [result["steps"][-1]["exploitability"] for result in results]
        found = ", ".join(f"{one:.3g}" for one in last if one is not None)
        yield f"for comparison: exploitability, at the last step | {found} | |"
    for verdicts in zip(*(judged(entry, result) for result in results), strict=True):
        holds = sum(one.holds for one in verdicts)
        state = "holds" if holds == len(verdicts) else f"**{holds} of {len(verdicts)} hold**"
        yield f"{verdicts[0].text} | {', '.join(one.found for one in verdicts)} | {state} |"


def bounds(claim: dict[str, Any]) -> tuple[float | None, float | None]:
    if "within" in claim:
        low, high = claim["within"]
        return float(low), float(high)
    if not {"at_most", "at_least"} & set(claim):
        raise SystemExit(f"a claim without a bound: {claim}")
    return claim.get("at_least"), claim.get("at_most")


def window(over: Any, steps: Sequence[Result]) -> Sequence[Result]:
    """The steps that a claim is about."""
    if isinstance(over, dict):
        return [step for step in steps if step["step"] >= over["from"]]
    if over not in WINDOWS:
        raise SystemExit(f"no such window: {over}; there are {', '.join(WINDOWS)} and {{from: N}}")
    return steps[-max(1, round(WINDOWS[over] * len(steps))) :]


def measured(path: str | Sequence[str], steps: Sequence[Result]) -> Iterator[float]:
    """The number at a place in each record that has it; policies are kept for some steps only."""
    keys = path.split(".") if isinstance(path, str) else path
    for step in steps:
        value: Any = step
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        if value is not None:
            yield float(value)


def named(path: str | Sequence[str]) -> str:
    if isinstance(path, str):
        return path.replace(".", " of ", 1)
    keys = [key for key in path if key not in ("policy", "probs")]
    return f"P({keys[-1]}) at {' '.join(keys[:-1])}" if path[0] == "policy" else " ".join(path)


def spoken(over: Any) -> str:
    if isinstance(over, dict):
        return f"from step {over['from']} on"
    return {"last": "at the last step", "all": "at every step", "end": "in the end"}.get(
        over, f"over the {over.replace('_', ' ')}"
    )


def curves(made: Sequence[tuple[Run, Result]], out: Path) -> None:
    """Exploitability by step of every run that has it, as an SVG; a colour for an entry."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    colours: dict[str, str] = {}
    for run, result in made:
        points = [(s["step"], s["exploitability"]) for s in result["steps"]]
        if all(y is None for _, y in points):
            continue
        first = run.entry.name not in colours
        colour = colours.setdefault(run.entry.name, f"C{len(colours) % 10}")
        label = run.entry.name if first else None
        axes.plot(*zip(*points, strict=True), color=colour, lw=1.3, alpha=0.85, label=label)
    axes.set(xlabel="step", ylabel="exploitability", yscale="log")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(out, metadata={"Date": None})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("list", type=Path, nargs="?", default=LIST)
    parser.add_argument("--runs", type=Path, default=RUNS, help="where run folders are")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--only", default="", help="entries whose name contains this")
    parser.add_argument("--run", action="store_true", help="make what is missing first")
    parser.add_argument("--curves", type=Path, metavar="SVG", help="draw exploitability by step")
    args = parser.parse_args()
    if args.run:
        queue = [sys.executable, str(Path(__file__).with_name("train_queue.py")), str(args.list)]
        queue += ["--runs", str(args.runs), "--results", str(args.results), "--only", args.only]
        subprocess.run(queue, check=False)
    runs = runs_of(entries(args.list), args.runs, args.results, args.only)
    made = [(run, result) for run in runs if (result := run.done()) is not None]
    bad = len(runs) - len(made)
    print("| run | model | seeds | claim | found | |\n| --- | --- | --- | --- | --- | --- |")
    for entry, results in by_entry(made).items():
        model, seeds = results[0]["recipe"]["model"], ", ".join(str(r["seed"]) for r in results)
        for cells in rows(entry, results):
            print(f"| {entry.name} | {model} | {seeds} | {cells}")
        bad += sum(not one.holds for result in results for one in judged(entry, result))
    for run in runs:
        if run.done() is None:
            print(f"missing: {run.name}")
    if args.curves:
        curves(made, args.curves)
    return int(bad > 0)


if __name__ == "__main__":
    raise SystemExit(main())
