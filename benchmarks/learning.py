"""What a pretrained model learns in matrix games, from the command line alone, three seeds each.

    python benchmarks/learning.py --out benchmarks/results/learning.json

Every run is `gamedsl train GAME --seed S …` with default settings; the numbers are read from its
`metrics.jsonl`. Claims, each checked here:

- prisoner's dilemma ends at mutual defection within 20 steps: both rewards within 0.1 of 1;
- pure coordination over ten strings reaches 0.95 of its maximum within 60 steps;
- stag hunt ends in a pure equilibrium within 20 steps, the one predicted before step 1, unless it
  said then that the start was too close to call; and started from each side of the basin's
  boundary, in the one of that side, as predicted.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SEEDS = (0, 1, 2)
SIDES = {"below the boundary": 0.5, "above the boundary": 0.85}
"""P(stag) of both hunters at the start; the mixed equilibrium is at 2/3."""

Records = list[dict[str, Any]]


@dataclass(frozen=True)
class Run:
    """One run: a claim's name, the game, the seed, and what was added to the command line."""

    claim: str
    game: str
    seed: int
    settings: tuple[str, ...] = ()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--seeds", type=int, nargs="*", default=SEEDS)
    parser.add_argument("--only", help="run the claims whose name contains this")
    args = parser.parse_args()
    rows = []
    for run in (r for r in runs(args.seeds) if not args.only or args.only in r.claim):
        rows.append(row(run, *train(run, args.model)))
        print(line(rows[-1]), flush=True)
        if args.out:
            args.out.write_text(json.dumps({"model": args.model, "runs": rows}, indent=1) + "\n")
    failed = [r for r in rows if not r["holds"]]
    print(f"{len(rows) - len(failed)} of {len(rows)} runs hold")
    return int(bool(failed))


def runs(seeds: tuple[int, ...]) -> list[Run]:
    found = [Run("prisoner's dilemma", "prisoners_dilemma", seed) for seed in seeds]
    found += [Run("pure coordination", "pure_coordination", seed) for seed in seeds]
    found += [Run("stag hunt", "stag_hunt", seed) for seed in seeds]
    for side, stag in SIDES.items():
        start = tuple(f"start.hunter_{i}.stag={stag}" for i in (1, 2))
        found += [Run(f"stag hunt, {side}", "stag_hunt", seed, start) for seed in seeds]
    return found


def train(run: Run, model: str) -> tuple[Records, float]:
    """The metrics of a run, and its seconds in all (starting Python and loading included)."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        command = [sys.executable, "-m", "gamedsl", "train", run.game, "--seed", str(run.seed)]
        command += ["--model", model, "--out", str(out)]
        for setting in run.settings:
            command += ["--set", setting]
        started = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - started
        text = (out / "metrics.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()], seconds


def row(run: Run, records: Records, seconds: float) -> dict[str, Any]:
    """What a run shows, and whether its claim holds."""
    start, steps = records[0], [r for r in records if r["event"] == "step"]
    last = steps[-1]
    probs = {key: place["probs"] for key, place in last["policy"].items()}
    likely = {key: max(p, key=p.__getitem__) for key, p in probs.items()}
    found = {
        "claim": run.claim,
        "seed": run.seed,
        "steps": len(steps),
        "seconds": round(seconds, 1),
        "start": {key: place["probs"] for key, place in start["policy"].items()},
        "predicted": start["prediction"],
        "end": probs,
        "rewards": [r["reward"] for r in steps],
        "exploitability": last["exploitability"],
        "last": {role: last["reward"][role] for role in sorted(last["reward"])},
        "likely": likely,
    }
    return {**found, "holds": holds(run, found)}


def holds(run: Run, found: dict[str, Any]) -> bool:
    last = found["last"].values()
    if run.game == "prisoners_dilemma":
        return all(abs(reward - 1) <= 0.1 for reward in last)
    if run.game == "pure_coordination":
        return all(reward >= 0.95 for reward in last)
    settled = all(max(p.values()) > 0.9 for p in found["end"].values())
    alike = len(set(found["likely"].values())) == 1
    came_true = predicted(found) == set(found["likely"].values())
    return settled and alike and (came_true or close(found))


def close(found: dict[str, Any]) -> bool:
    """Whether the run said beforehand that its start was too near the boundary to tell."""
    prediction = found["predicted"]
    return bool(prediction) and prediction["confidence"] == "too close to call"


def predicted(found: dict[str, Any]) -> set[str]:
    """The actions of the predicted equilibrium."""
    prediction = found["predicted"]
    return set(prediction["profile"].values()) if prediction else set()


def line(found: dict[str, Any]) -> str:
    rewards = ", ".join(f"{r:.2f}" for r in found["last"].values())
    says = f" predicted {'/'.join(sorted(predicted(found)))}," if found["predicted"] else ""
    says = " too close to call," if close(found) else says
    state = "holds" if found["holds"] else "FAILS"
    return (
        f"{found['claim']}, seed {found['seed']}:{says} ended with rewards {rewards} after "
        f"{found['steps']} steps in {found['seconds']:.0f} s — {state}"
    )


if __name__ == "__main__":
    raise SystemExit(main())
