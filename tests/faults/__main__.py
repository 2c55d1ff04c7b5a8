"""`python -m tests.faults [PART OF A NAME ...]` prints each fault that is missed, and the score."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.faults.corpus import faults
from tests.faults.score import wrong_with


def main(parts: list[str]) -> int:
    """Prints the score; 0 where all are caught but those that the file says are not."""
    caught: Counter[str] = Counter()
    known, missed, total = 0, 0, Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        for fault in faults():
            if parts and not any(part in fault.id for part in parts):
                continue
            total[fault.code] += 1
            wrong = wrong_with(fault, Path(folder) / fault.id)
            caught[fault.code] += not wrong
            known += bool(wrong and fault.xfail)
            missed += bool(wrong and not fault.xfail)
            for line in wrong:
                print(f"{fault.id}: {line}{' (known)' if fault.xfail else ''}")
            if fault.xfail and not wrong:
                print(f"{fault.id}: caught now; take its `xfail` out")
    for code, count in sorted(total.items()):
        print(f"{code}  {caught[code]} of {count}")
    print(f"{caught.total()} of {total.total()} faults are caught; {known} misses are known")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
