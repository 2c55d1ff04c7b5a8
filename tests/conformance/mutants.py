"""Wrong versions of shipped games, and whether the comparison with OpenSpiel sees them.

`python -m tests.conformance.mutants` prints each mutant with what gave it away, and the score.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path

import yaml

from tests.conformance.games import ROWS
from tests.conformance.lockstep import Difference, compare
from tests.conformance.rows import GAMES, VARIANTS, Row

HERE = Path(__file__).parent
PROTOCOLS = GAMES.parent / "protocols"
TOKEN = re.compile(r"[A-Za-z_]\w*|\d+|\.\.|[-+*/<>=!]=|\*\*|\S")


@dataclass(frozen=True)
class Mutant:
    """`old` in `file` becomes `new`; the comparison is made in `rows`, by their ids."""

    rows: tuple[str, ...]
    file: str
    old: str
    new: str
    why: str

    @property
    def id(self) -> str:
        return f"{self.file.removesuffix('.yaml')}: {self.old.strip()} -> {self.new.strip()}"

    @property
    def games(self) -> set[str]:
        return {row.partition("-")[0] for row in self.rows}

    def distance(self) -> int:
        """Returns how many tokens differ."""
        old, new = TOKEN.findall(self.old), TOKEN.findall(self.new)
        changes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        return sum(max(b - a, d - c) for tag, a, b, c, d in changes if tag != "equal")


def mutants() -> Iterator[Mutant]:
    for group in yaml.safe_load((HERE / "mutants.yaml").read_text(encoding="utf-8")):
        for entry in group["mutants"]:
            yield Mutant(tuple(group["rows"]), group["file"], **entry)


def caught(mutant: Mutant, folder: Path) -> str | None:
    """Returns the first line of the difference that shows a mutant, or None where nothing does.

    The mutant is written to `folder`, with a copy of all other games and protocols, so that they
    use it; without their claims, which would give some away before they are compared. CompileError
    where it does not compile, ValueError where `old` is not there just once.
    """
    games = folder / "games"
    shutil.copytree(GAMES, games)
    for other in [*VARIANTS.glob("*.yaml"), *PROTOCOLS.glob("*.yaml")]:
        shutil.copy(other, games)
    for copied in games.glob("*.yaml"):
        text = copied.read_text(encoding="utf-8")
        copied.write_text(re.sub(r"^claims:.*\n", "", text, flags=re.MULTILINE), encoding="utf-8")
    path = games / mutant.file
    text = path.read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        raise ValueError(f"{mutant.file} has `{mutant.old}` {text.count(mutant.old)} times")
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    for row in _rows(mutant, games):
        env, walk = row.env(), row.walks[0]
        try:
            compare(env, row.theirs(), row.agreement(env), walk.mode, games=walk.games)
        except Difference as difference:
            return f"{row.id}: {str(difference).splitlines()[0]}"
    return None


def _rows(mutant: Mutant, games: Path) -> Iterator[Row]:
    known = {row.id: row for row in ROWS}
    for id in mutant.rows:
        ours = known[id].ours
        name = ours if isinstance(ours, str) else ours.stem
        yield replace(known[id], ours=games / f"{name}.yaml")


def main() -> int:
    found = list(mutants())
    seen = 0
    for mutant in found:
        with tempfile.TemporaryDirectory() as folder:
            try:
                told = caught(mutant, Path(folder))
            except Exception as error:
                told = None
                print(f"  {type(error).__name__}: {str(error)[:400]}")
        seen += told is not None
        print(f"{'caught' if told else 'MISSED'}  {mutant.id}  [{told}]")
    print(f"{seen} of {len(found)} mutants caught")
    return 0 if seen == len(found) else 1


if __name__ == "__main__":
    sys.exit(main())
