"""`python -m tests.fuzz.coverage READER` fuzzes one reader guided by coverage, with atheris.

libFuzzer, which atheris drives, ends at the first failure, and writes its input to the folder
`--found`. With `--corpus` inputs that reach new code are kept from run to run. The reader's oracle
is that of `tests.fuzz.readers`. The modules of the package and of the parsers under it are
instrumented when they are imported.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import atheris

from tests.fuzz.mutations import EXTREMES, OPERATORS, WORDS

INSTRUMENTED = ["gamedsl", "yaml", "lark", "jinja2"]
LONGEST = 8_000
"""Bytes of an input."""

SLOWEST = 300
"""Seconds by the clock after which libFuzzer keeps an input; its CPU time is measured then."""


def _entry(word: str) -> str:
    """Returns a line of libFuzzer's dictionary."""
    escaped = "".join(f"\\x{byte:02x}" for byte in word.encode()[:60])
    return f'"{escaped}"\n' if escaped else ""


class FoundError(Exception):
    """The oracle of a reader is not content."""


def main(arguments: list[str]) -> None:
    """Fuzzes a reader; does not return."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.coverage", description=__doc__)
    parser.add_argument("reader")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=-1, help="inputs; -1: without end")
    parser.add_argument("--minutes", type=float, default=0, help="0: as many as runs take")
    parser.add_argument("--found", type=Path, default=Path("found"), help="for an input that fails")
    parser.add_argument("--corpus", type=Path, help="a folder for inputs that reach new code")
    given = parser.parse_args(arguments)

    with atheris.instrument_imports(include=INSTRUMENTED):
        from tests.fuzz import readers
    reader = readers.READERS[given.reader]

    def one(data: bytes) -> None:
        outcome = reader.read(data)
        if not outcome.clean:
            raise FoundError(f"{outcome.kind}: {outcome.detail}")

    given.found.mkdir(parents=True, exist_ok=True)
    corpus = given.corpus or Path(tempfile.mkdtemp(prefix="fuzz-corpus-"))
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(reader.seeds()):
        (corpus / f"seed-{number}").write_bytes(seed[:LONGEST])
    words = corpus.with_name(f"{corpus.name}.dict")
    words.write_text("".join(map(_entry, (*WORDS, *OPERATORS, *EXTREMES))), encoding="ascii")
    atheris.Setup(
        [
            "fuzz", f"-seed={given.seed}", f"-runs={given.runs}", f"-max_len={LONGEST}",
            f"-max_total_time={int(60 * given.minutes)}", f"-timeout={SLOWEST}",
            "-rss_limit_mb=1200",
            f"-artifact_prefix={given.found}/", f"-dict={words}", "-verbosity=0",
            "-print_final_stats=1", str(corpus),
        ],
        one,
    )  # fmt: skip
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])
