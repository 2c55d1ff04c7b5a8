"""Seconds from `pip install` to the first trained step, cold and warm, each part named.

    python benchmarks/first_run.py --out benchmarks/results/first_run.json
    python benchmarks/first_run.py --here --turns 5

An install is timed twice: into an empty environment with an empty cache of pip, and into another
with the cache that the first one filled. The difference is what the download costs; packages that
pip finds on the disk are in neither. The core is installed first, then the extra `train`.

A start is `gamedsl train games/stag_hunt.yaml` as README has it, with `--steps 1`. The cold one has
an empty cache of gamedsl: it downloads the embedded model and converts it. Of warm ones, the one
with the least CPU seconds until step 1 is printed: other work on the machine only adds to them.
CPU seconds are of all threads. `--here` installs nothing, and starts this Python.

What it does not show: another network, a disk that has not read the files before, CUDA.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shared import command, keep, machine
from train_start import Parts, watch

ROOT = Path(__file__).parents[1]
GAME = str(ROOT / "games" / "stag_hunt.yaml")
FIRST = "play"
"""The part that a step begins with."""

GROUPS = {
    "compile the game": ("read and check the game", "walk its histories", "prove",
                         "recipe and seats", "list the decisions", "tabulate the game"),
    "model": ("model", "adapters"),
}  # fmt: skip
"""Parts of `train_start.PARTS` that are one here; imports are one, what is left is another."""


class Opening(Parts):
    """The parts of the time until the first step begins."""

    def __init__(self) -> None:
        super().__init__()
        self.opening: dict[str, float] = {}
        self.began = 0.0

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        if name == FIRST and not self.opening:
            self.opening, self.began = self.end(), time.time()
        with super().part(name):
            yield


def watched(out: Path, arguments: list[str]) -> None:
    """Trains in this process, and writes the seconds of the parts until step 1, and of all."""
    parts = Opening()
    watch(parts)
    cli = importlib.import_module("gamedsl.cli")
    assert cli.main(arguments) == 0
    found = {"opening": parts.opening, "all": parts.end(), "began": parts.began}
    out.write_text(json.dumps(found), encoding="utf-8")


def timed(arguments: list[str], env: dict[str, str]) -> dict[str, float]:
    """Runs a process, and returns its wall seconds and the CPU seconds of it and its children."""
    began, before = time.perf_counter(), os.times()
    done = subprocess.run(arguments, env=env, capture_output=True, text=True, cwd=ROOT)
    after = os.times()
    assert done.returncode == 0, done.stderr
    cpu = after.children_user + after.children_system
    cpu -= before.children_user + before.children_system
    return {"wall": time.perf_counter() - began, "cpu": cpu}


def installs(folder: Path) -> tuple[Path, dict[str, dict[str, float]]]:
    """Installs into two new environments; returns the Python of the first, and the seconds."""
    env = dict(os.environ) | {"PIP_CACHE_DIR": str(folder / "pip")}
    found, pythons = {}, []
    for turn in ("with the download", "from pip's cache"):
        place = folder / turn.replace(" ", "_").replace("'", "")
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        python = str(place / ("Scripts" if os.name == "nt" else "bin") / "python")
        pythons.append(Path(python))
        for what, target in (("install the core", "."), ("install train", ".[train]")):
            pip = [python, "-m", "pip", "install", "-q", "-c", "constraints.txt", target]
            found[f"{what}, {turn}"] = timed(pip, env)
    return pythons[0], found


def start(python: Path | str, cache: Path) -> dict[str, Any]:
    """Trains one step; returns the seconds until step 1 by group, of step 1 and of the rest."""
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    env |= {"GAMEDSL_CACHE": str(cache)}
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "parts.json"
        train = ["train", GAME, "--steps", "1", "--out", str(Path(name) / "run")]
        began = time.time()
        whole = timed([str(python), __file__, "--watched", str(out), *train], env)
        told = json.loads(out.read_text(encoding="utf-8"))
    before = told["opening"]
    groups = {"import": sum(s for part, s in before.items() if part.startswith("import "))}
    for group, parts in GROUPS.items():
        groups[group] = sum(before.get(part, 0.0) for part in parts)
    groups["other"] = sum(before.values()) - sum(groups.values())
    return {
        "parts, CPU": groups,
        "until step 1": {"cpu": sum(before.values()), "wall": told["began"] - began},
        "whole command": whole,
    }


def report(name: str, found: dict[str, Any]) -> None:
    print(f"\n{name}")
    for part, seconds in found["parts, CPU"].items():
        print(f"  {part:<34}{seconds:>8.2f} CPU s")
    for part in ("until step 1", "whole command"):
        told = found[part]
        print(f"  {part:<34}{told['cpu']:>8.2f} CPU s{told['wall']:>9.2f} s", flush=True)


def main() -> None:
    if sys.argv[1:2] == ["--watched"]:
        watched(Path(sys.argv[2]), sys.argv[3:])
        return
    parser = command(__doc__)
    parser.add_argument("--turns", type=int, default=5, help="warm starts (default: 5)")
    parser.add_argument("--here", action="store_true", help="install nothing: use this Python")
    args = parser.parse_args()
    told = machine(f"{os.cpu_count()} cores", f"load {os.getloadavg()[0]:.1f} at the start")
    result: dict[str, Any] = {"machine": told, "turns": args.turns}
    print(told)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python: Path | str = sys.executable
        if not args.here:
            python, result["installs"] = installs(folder)
            for what, seconds in result["installs"].items():
                print(f"  {what:<34}{seconds['cpu']:>8.2f} CPU s{seconds['wall']:>9.2f} s")
        cache = folder / "cache"
        cache.mkdir(mode=0o700)
        result["cold"] = start(python, cache)
        report("cold: the model is downloaded and converted", result["cold"])
        warm = [start(python, cache) for _ in range(args.turns)]
        result["warm"] = min(warm, key=lambda found: found["until step 1"]["cpu"])
        result["warm, all"] = [found["until step 1"]["cpu"] for found in warm]
        report(f"warm: the best of {args.turns}", result["warm"])
    keep(result, args.out)


if __name__ == "__main__":
    main()
