"""CPU seconds of a cold `gamedsl validate`, game by game, against its bare imports.

    python benchmarks/validate.py [GAME...]

The bare imports are all modules that validating the game imports, imported in a fresh process and
not used. Both sides run in turn, each in a process of its own, with bytecode written before and an
empty cache of generated code. Printed: the median of each, and their ratio, which should be at most
1.5 for games of up to 100 histories and 4 for Leduc poker.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile

PAIRS = 9
GAMES = ("stag_hunt", "matching_pennies", "ultimatum", "kuhn_poker", "leduc_poker")
VALIDATE = "import sys; from gamedsl.cli import main; sys.exit(main(['validate', {game!r}]))"
LIST = """
import sys
from gamedsl.cli import main
try:
    main(['validate', {game!r}])
finally:
    print('modules', *(name for name in sys.modules if name != '__main__'))
"""
IMPORT = """
from importlib import import_module
for name in {names!r}:
    try:
        import_module(name)
    except ImportError:
        pass
"""


def main() -> None:
    for game in sys.argv[1:] or GAMES:
        listed = run(LIST.format(game=game))[0].rpartition("modules ")[2].split()
        codes = VALIDATE.format(game=game), IMPORT.format(names=listed)
        pairs = [(run(codes[0])[1], run(codes[1])[1]) for _ in range(PAIRS)]
        validate, imports = (statistics.median(side) for side in zip(*pairs, strict=True))
        ratio = f"{validate / imports:.2f} x {imports:.3f} s"
        print(f"{game}: {validate:.3f} s, {ratio} of {len(listed)} modules")


def run(code: str) -> tuple[str, float]:
    """The output of a Python program, and the CPU seconds that it took."""
    with tempfile.TemporaryDirectory() as cache:
        env = {**os.environ, "GAMEDSL_CACHE": cache}
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
