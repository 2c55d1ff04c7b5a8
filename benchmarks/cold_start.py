"""Seconds of a cold `gamedsl validate`, file by file, against the imports it cannot do without.

    python benchmarks/cold_start.py

Ten pairs of processes a file, in turn: `python -m gamedsl validate FILE`, and a Python that only
imports yaml, lark and jsonschema. Printed: both medians and their ratio. Bytecode is written, as
Python does by default; nothing else is kept between processes.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAIRS = 10
IMPORTS = ("-c", "import yaml, lark, jsonschema")


def main() -> None:
    worst = 0.0
    files = [path for kind in ("games", "protocols", "rewards") for path in (ROOT / kind).glob("*")]
    for path in sorted(files):
        ours = ("-m", "gamedsl", "validate", str(path))
        seconds(ours), seconds(IMPORTS)
        pairs = [(seconds(ours), seconds(IMPORTS)) for _ in range(PAIRS)]
        validate, imports = (statistics.median(side) for side in zip(*pairs, strict=True))
        worst = max(worst, validate / imports)
        print(f"{path.stem}: {validate:.3f} s, {validate / imports:.2f} x {imports:.3f} s")
    print(f"worst: {worst:.2f} times the imports")


def seconds(arguments: tuple[str, ...]) -> float:
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], env=env, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
