"""Results of each way of training, from committed runs: judges every claim, prints the tables.

    python benchmarks/methods.py                   # from benchmarks/results/methods
    python benchmarks/methods.py --run             # makes the runs that are missing first (hours)
    python benchmarks/methods.py --only kuhn --curves docs/pictures/kuhn_methods.svg
    python benchmarks/methods.py --page docs/results.md    # writes the tables of the page anew
    python benchmarks/methods.py --grid            # controls over grids of settings (hours)
    python benchmarks/methods.py --grid tabular    # one of the grids (minutes)

The list of runs and their claims is `benchmarks/methods.yaml`; `benchmarks/train_queue.py` makes
them. A claim is about one number of the step records: `measure` is where it stands in a record
(`[policy, "first:open [first.card=J]", probs, bet]`) or one of `DERIVED`, `over` which steps count
(`first`, `last`, `last_fifth`, `last_half`, `all`, or `{from: 10}`; `end` is the end record and
`run` the whole result), and `at_most`, `at_least` or `within: [low, high]` what holds of every one
of them; one without a bound is only told. `interval` is where its interval stands. `column` puts
what was found into a column of its entry's table, without decimals where `whole` says so.
Exit code 1 where a claim fails or a run is missing.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grid
from train_queue import Entry, Result, Run, chosen, entries, runs_of

WINDOWS = {"last": 0.0, "last_fifth": 0.2, "last_half": 0.5, "all": 1.0}
"""The share of a run's steps, from its end, over which a claim must hold; `last` is one step."""

SPOKEN = {
    "first": "at the first step", "last": "at the last step", "all": "at every step",
    "end": "in the end", "run": "",
}  # fmt: skip
NEAR, SETTLED = 0.05, 0.9
Made = Sequence[tuple[Run, Result]]


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
    over, measure = claim.get("over", "last"), claim["measure"]
    steps = window(over, result)
    derived = DERIVED.get(measure) if isinstance(measure, str) else None
    values = list(derived(result, steps) if derived else measured(measure, steps))
    if claim.get("whole"):
        values = [int(value) for value in values]
    low, high = bounds(claim)
    sure = "".join(f" ({a:.3f} to {b:.3f})" for a, b in intervals(claim, steps))
    if low is None and high is None:
        told = claim.get("text", named(measure) + spoken(over))
        return Verdict(told, last_text(values) + sure, True)
    if not values:
        raise SystemExit(f"{result['name']}: no step tells {measure}")
    ends = f"at most {high:g}" if low is None else f"at least {low:g}"
    if low is not None and high is not None:
        ends = f"from {low:g} to {high:g}"
    worst_low, worst_high = min(values), max(values)
    holds = (low is None or worst_low >= low) and (high is None or worst_high <= high)
    shown = worst_low if high is None or (low is not None and worst_low < low) else worst_high
    said = f"{named(measure)} {ends}{spoken(over)}"
    return Verdict(claim.get("text", said), last_text([shown]) + sure, holds)


def last_text(values: Sequence[float]) -> str:
    """The last of some numbers, as tables have it."""
    if not values:
        return "unknown"
    last = values[-1]
    if last == float("inf"):
        return "never"
    places = 0 if isinstance(last, int) or last >= 10 else 2 if last >= 1 else 3
    return f"{last:.{places}f}"


def outside(result: Result, steps: Iterable[Result]) -> Iterator[int]:
    """Counts the decisions that lie outside the range of all equilibria by more than `NEAR`."""
    return (sum(gap > NEAR for gap in gaps(result, step)) for step in steps if "policy" in step)


def farthest(result: Result, steps: Iterable[Result]) -> Iterator[float]:
    """The most by which a probability lies outside the range of all equilibria."""
    return (max(gaps(result, step)) for step in steps if "policy" in step)


def gaps(result: Result, step: Result) -> Iterator[float]:
    """Yields for each decision the largest distance of a probability from its range."""
    ranges = result["start"]["ranges"]["of"]
    for key, probs in probabilities(step):
        yield max(
            min(max(low - probs[name], probs[name] - high, 0.0) for low, high in parts)
            for name, parts in ranges[key].items()
        )


def mean_exploitability(_: Result, steps: Iterable[Result]) -> Iterator[float]:
    """The mean of the steps' exploitability."""
    found = [step["exploitability"] for step in steps]
    yield sum(found) / len(found)


def mean_reward(_: Result, steps: Iterable[Result]) -> Iterator[float]:
    """The mean of the steps' rewards, over all roles."""
    found = [amount for step in steps for amount in step["reward"].values()]
    yield sum(found) / len(found)


def settled(result: Result, _: Iterable[Result]) -> Iterator[float]:
    """The first step from which on every decision has one action of at least `SETTLED`."""
    first: float = float("inf")
    for step in reversed([step for step in result["steps"] if "policy" in step]):
        if any(max(probs.values()) < SETTLED for _, probs in probabilities(step)):
            break
        first = step["step"]
    yield first


def foretold(result: Result, _: Iterable[Result]) -> Iterator[float]:
    """Whether the basin analysis before step 1 named what is played most in the end: 1 where it
    did, 0.5 where the start was not clear, else 0."""
    prediction, last = result["start"]["prediction"], result["steps"][-1]
    played = {key: max(probs, key=probs.__getitem__) for key, probs in probabilities(last)}
    if all(played[key] == action for key, action in prediction["profile"].items()):
        yield 1
    else:
        yield 0 if prediction["confidence"] == "clear" else 0.5


def surely_added(result: Result, _: Iterable[Result]) -> Iterator[float]:
    """By how much each role's interval in held-out games lies above that of the warm-up alone."""
    alone = result["held_out"]["beside"]["start"]["interval"]
    for role, (low, _high) in result["held_out"]["interval"].items():
        yield low - alone[role][1]


def judged_surely_better(result: Result, _: Iterable[Result]) -> Iterator[float]:
    """By how much each referee's interval in held-out games lies above that of the start."""
    alone = result["held_out"]["beside"]["start"]["referees"]
    for role, paid in result["held_out"]["referees"].items():
        yield paid["interval"][0] - alone[role]["interval"][1]


def probabilities(step: Result) -> Iterator[tuple[str, dict[str, float]]]:
    for key, place in step["policy"].items():
        yield key, place["probs"]


def rarest_choice(_: Result, steps: Iterable[Result]) -> Iterator[float]:
    """The least probability of a choice, over the steps whose policies are kept."""
    kept = (probs for step in steps if "policy" in step for _, probs in probabilities(step))
    yield min(min(probs.values()) for probs in kept)


DERIVED: dict[str, Callable[[Result, Iterable[Result]], Iterator[float]]] = {
    "outside_ranges": outside,
    "farthest_from_ranges": farthest,
    "mean_exploitability": mean_exploitability,
    "mean_reward": mean_reward,
    "rarest_choice": rarest_choice,
    "settled_at_step": settled,
    "as_predicted": foretold,
    "surely_added": surely_added,
    "judged_surely_better": judged_surely_better,
}


def bounds(claim: dict[str, Any]) -> tuple[float | None, float | None]:
    if "within" in claim:
        low, high = claim["within"]
        return float(low), float(high)
    return claim.get("at_least"), claim.get("at_most")


def window(over: Any, result: Result) -> Sequence[Result]:
    """The records that a claim is about."""
    steps: Sequence[Result] = result["steps"]
    if over in ("end", "run"):
        return [result["end"] if over == "end" else result]
    if over == "first":
        return steps[:1]
    if isinstance(over, dict):
        return [step for step in steps if step["step"] >= over["from"]]
    if over not in WINDOWS:
        raise SystemExit(f"no such window: {over}; there are {', '.join(WINDOWS)} and {{from: N}}")
    return steps[-max(1, round(WINDOWS[over] * len(steps))) :]


def measured(path: str | Sequence[str | int], steps: Sequence[Result]) -> Iterator[float]:
    """The number at a place in each record that has it; policies are kept for some steps only."""
    for value in values_at(path, steps):
        yield float(value)


def intervals(claim: dict[str, Any], steps: Sequence[Result]) -> Iterator[tuple[float, float]]:
    """The interval of a claim's last number, if it names one."""
    for low, high in list(values_at(claim.get("interval", ()), steps))[-1:]:
        yield float(low), float(high)


def values_at(path: str | Sequence[str | int], steps: Sequence[Result]) -> Iterator[Any]:
    """Returns what stands at a place in each record that has it. In lists, places are numbers."""
    keys: Sequence[str | int] = path.split(".") if isinstance(path, str) else path
    for step in steps if keys else ():
        value: Any = step
        for key in keys:
            if isinstance(value, list) and isinstance(key, int):
                value = value[key]
            else:
                value = value.get(key) if isinstance(value, dict) else None
        if value is not None:
            yield value


def named(path: str | Sequence[str | int]) -> str:
    if isinstance(path, str):
        return path.replace(".", " of ", 1).replace("_", " ")
    keys = [str(key) for key in path if key not in ("policy", "probs")]
    return f"P({keys[-1]}) at {' '.join(keys[:-1])}" if path[0] == "policy" else " ".join(keys)


def spoken(over: Any) -> str:
    """When a claim holds, to be put behind what it says."""
    if isinstance(over, dict):
        return f", from step {over['from']} on"
    text = SPOKEN.get(over, f"over the {over.replace('_', ' ')}")
    return text and f", {text}"


def by_entry(made: Made) -> dict[Entry, list[Result]]:
    """The results of each entry, by seed."""
    found: dict[Entry, list[Result]] = {}
    for run, result in sorted(made, key=lambda pair: pair[0].seed):
        found.setdefault(run.entry, []).append(result)
    return found


def judgement(made: Made) -> Iterator[str]:
    """A line for each claim of each entry, with what every seed found."""
    yield "| run | model | seeds | claim | found | |\n| --- | --- | --- | --- | --- | --- |"
    for entry, results in by_entry(made).items():
        model, seeds = results[0]["recipe"]["model"], ", ".join(str(r["seed"]) for r in results)
        for verdicts in zip(*(judged(entry, result) for result in results), strict=True):
            holds = sum(one.holds for one in verdicts)
            state = "holds" if holds == len(verdicts) else f"**{holds} of {len(verdicts)} hold**"
            found = ", ".join(one.found for one in verdicts)
            yield f"| {entry.name} | {model} | {seeds} | {verdicts[0].text} | {found} | {state} |"


def tables(listed: Sequence[Entry], made: Made) -> dict[str, str]:
    """By its heading each table of the list, in Markdown: a row for the entries that name it, a
    column for what claims call one, in a cell what each seed found."""
    results, found = by_entry(made), {}
    for heading in dict.fromkeys(entry.table for entry in listed if entry.table):
        rows = [entry for entry in listed if entry.table == heading and entry in results]
        if not rows:
            continue
        columns = list(dict.fromkeys(c["column"] for e in rows for c in e.claims if "column" in c))
        lines = [f"| {heading} | {' | '.join(columns)} |", "| --- |" + " --- |" * len(columns)]
        for row in dict.fromkeys(entry.row for entry in rows):
            cells = dict.fromkeys(columns, "")
            for entry, claim in ((e, c) for e in rows if e.row == row for c in e.claims):
                if "column" in claim:
                    verdicts = [verdict(claim, result) for result in results[entry]]
                    cells[claim["column"]] = ", ".join(one.found for one in verdicts)
            lines.append(f"| {row} | {' | '.join(cells.values())} |")
        found[heading] = "\n".join(lines) + "\n"
    return found


def rewritten(page: str, found: dict[str, str]) -> str:
    """A page with its tables of these headings anew. SystemExit where it has none of a heading."""
    lines = page.splitlines(keepends=True)
    for heading, table in found.items():
        first = next((n for n, line in enumerate(lines) if line.startswith(f"| {heading} |")), None)
        if first is None:
            raise SystemExit(f"the page has no table with the heading: {heading}")
        end = first
        while end < len(lines) and lines[end].startswith("|"):
            end += 1
        lines[first:end] = table.splitlines(keepends=True)
    return "".join(lines)


def curves(made: Made, out: Path) -> None:
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
    parser = chosen(__doc__)
    parser.add_argument("--run", action="store_true", help="make what is missing first")
    parser.add_argument("--curves", type=Path, metavar="SVG", help="draw exploitability by step")
    parser.add_argument(
        "--grid", nargs="?", const="", metavar="NAME",
        help="tune controls as ours: make the runs of all grids, or of one, and print the tables",
    )  # fmt: skip
    parser.add_argument("--page", type=Path, metavar="FILE.md", help="write its tables anew")
    args = parser.parse_args()
    if args.page and args.only:
        parser.error("--page writes whole tables: leave --only out")
    if args.grid is not None:
        controls = [one for one in grid.read() if args.grid in ("", one.name)]
        if not controls:
            parser.error(f"benchmarks/grid.yaml has no grid of the name {args.grid}")
        for one in controls:
            print(grid.table(one, grid.made(one)))
        return 0
    if args.run:
        queue = [sys.executable, str(Path(__file__).with_name("train_queue.py")), str(args.list)]
        queue += ["--runs", str(args.runs), "--results", str(args.results), "--only", args.only]
        subprocess.run(queue, check=False)
    listed = entries(args.list)
    runs = runs_of(listed, args.runs, args.results, args.only)
    made = [(run, result) for run in runs if (result := run.done()) is not None]
    for line in judgement(made):
        print(line)
    found = tables(listed, made)
    print("", *found.values(), sep="\n")
    missing = [run for run in runs if run.done() is None]
    for run in missing:
        print(f"missing: {run.name}")
    if args.page:
        page = args.page.read_text(encoding="utf-8")
        shown = found | grid.tables(grid.read())
        args.page.write_text(rewritten(page, shown), encoding="utf-8")
    if args.curves:
        curves(made, args.curves)
    fails = any(not one.holds for run, result in made for one in judged(run.entry, result))
    return int(fails or bool(missing))


if __name__ == "__main__":
    raise SystemExit(main())
