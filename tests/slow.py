"""Keeps `slow.txt`, the list of tests that take over 1.5 CPU seconds, which marks them as slow.

On an idle machine `pytest --cpu-seconds times.tsv`, and the same with `-m slow` for tests that may
have become faster; then `python -m tests.slow times.tsv`. What a test prepares for later ones
(imports, games compiled once a process) counts as its own, so two runs differ by a few tests.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

LIMIT = 1.5
LIST = Path(__file__).with_name("slow.txt")


def main(files: list[str]) -> None:
    lines = [line for file in files for line in Path(file).read_text("utf-8").splitlines()]
    times = {test: float(seconds) for seconds, test in (line.split("\t", 1) for line in lines)}
    old = set(LIST.read_text("utf-8").splitlines())
    slow = sorted(test for test in old | times.keys() if times.get(test, math.inf) > LIMIT)
    LIST.write_text("\n".join([*slow, ""]), encoding="utf-8")
    print(f"{len(slow)} tests are listed, of {len(times)} measured")


if __name__ == "__main__":
    main(sys.argv[1:])
