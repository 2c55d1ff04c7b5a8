"""Content hashes: the same in every process, moved by meaning and by nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import gamedsl
from gamedsl.ir.hashing import canonical
from tests.writing import write

ROOT = Path(__file__).parent.parent.parent
GAME = """\
game: hunt
about: Two hunters.
params: {bonus: 0}
roles: [first, second]
actions: [stag, hare]
protocol: simultaneous
payoffs: |
  first, second | stag          | hare
  stag          | 4 + bonus, 4  | 0, 3
  hare          | 3, 0          | 2, 2
"""


def load(folder: Path, text: str) -> gamedsl.Game:
    return gamedsl.load(write(folder, text))


@pytest.fixture
def game(tmp_path: Path) -> gamedsl.Game:
    return load(tmp_path, GAME)


@pytest.mark.parametrize(
    "same",
    [
        "# a comment\n\n" + GAME.replace("roles:", "# who plays\n\nroles:"),
        GAME.replace("4 + bonus, 4 ", "  4   +   bonus,4"),
        GAME.replace("Two hunters.", '"Two hunters."'),
        GAME.replace("stag          | 4 + bonus, 4  | 0, 3\n  hare          | 3, 0          | 2, 2",
                     "hare | 3, 0 | 2, 2\n  stag | 4 + bonus, 4 | 0, 3"),
        GAME.replace("[first, second]", "\n  - first\n  - second"),
    ],
)  # fmt: skip
def test_layout_does_not_matter(tmp_path: Path, game: gamedsl.Game, same: str) -> None:
    assert same != GAME
    assert load(tmp_path, same).hash == game.hash


@pytest.mark.parametrize(
    ("other", "rules"),
    [
        (GAME.replace("2, 2", "2, 1"), True),
        (GAME.replace("bonus: 0", "bonus: 1"), True),
        (GAME.replace("[stag, hare]", "[hare, stag]"), True),
        (GAME.replace("second", "third"), True),
        (GAME + "rewards: shared\n", True),
        (GAME + "labels: masked\n", False),
        (GAME + "rules: Hunt.\n", False),
        (GAME.replace("game: hunt", "game: chase"), False),
        (GAME.replace("Two hunters", "Two of them"), False),
    ],
)
def test_meaning_does(tmp_path: Path, game: gamedsl.Game, other: str, rules: bool) -> None:
    changed = load(tmp_path, other)
    assert changed.hash != game.hash
    assert (changed.ir.rules_hash != game.ir.rules_hash) == rules


def test_training_defaults_are_no_part_of_a_game(tmp_path: Path, game: gamedsl.Game) -> None:
    assert load(tmp_path, GAME + "train: {steps: 3}\n").hash == game.hash


def test_the_canonical_text_has_one_order() -> None:
    names = [f"name_{i}" for i in range(40)]
    assert canonical(frozenset(names)) == canonical(frozenset(reversed(names)))
    assert canonical(frozenset(names)).startswith("{'name_0','name_1','name_10',")
    assert canonical({"b": 1, "a": Fraction(1, 2)}) == "{'a':1/2,'b':1}"
    assert canonical((True, None, 1, "1")) == "(True,None,1,'1')"
    with pytest.raises(TypeError, match="no canonical text for float"):
        canonical(0.5)


def in_process(code: str, hash_seed: str, cwd: Path = ROOT) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=cwd, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_every_process_agrees(tmp_path: Path) -> None:
    code = (
        "import gamedsl\n"
        "game = gamedsl.load('public_goods')\n"
        "episode = game.env(run_seed=3).reset(seed=4)\n"
        "episode.step({d.seat: d.labels[0] for d in episode.decisions})\n"
        "print(game.ir.rules_hash, game.ir.rendering_hash, game.hash, episode.transcript)\n"
    )
    here = in_process(code, "0")
    assert gamedsl.load("public_goods").hash in here
    assert in_process(code, "1", tmp_path) == here
    assert in_process(code, "77") == here


HEAVY = {"torch", "transformers", "vllm", "numpy", "scipy", "peft", "rich", "matplotlib"}


def modules_after(code: str) -> set[str]:
    return set(in_process(code + "\nimport sys; print(*sys.modules)", "0").split())


def test_the_import_costs_nothing() -> None:
    loaded = modules_after("import gamedsl")
    assert not loaded & (HEAVY | {"yaml", "lark", "jsonschema", "jinja2"})
    assert {name for name in loaded if name.startswith("gamedsl")} == {"gamedsl"}


def test_playing_loads_nothing_heavy() -> None:
    loaded = modules_after(
        "import gamedsl\nepisode = gamedsl.load('stag_hunt').env().reset()\n"
        "episode.step({d.seat: d.labels[0] for d in episode.decisions})"
    )
    assert not loaded & (HEAVY | {"jsonschema", "jinja2"})
    assert not {name for name in loaded if name.startswith(("gamedsl.training", "gamedsl.solve"))}


def test_training_says_what_it_reads_before_torch(tmp_path: Path) -> None:
    told = in_process(
        "import sys\n"
        "from gamedsl import cli\n"
        "from gamedsl.training import engine\n"
        "def set_threads(count):\n"
        "    print(*sys.modules)\n"
        "    raise SystemExit\n"
        "engine.set_threads, sys.stderr = set_threads, sys.stdout\n"
        f"cli.main(['train', 'stag_hunt', '--model', 'tiny', '--out', {str(tmp_path / 'run')!r}])",
        "0",
    )
    first, last = told.splitlines()[0], told.splitlines()[-1]
    assert first.startswith("reading stag_hunt")  # and how long it took last time
    assert not set(last.split()) & {"torch", "transformers", "peft", "scipy"}


def test_report_of_a_run_loads_no_torch() -> None:
    assert not modules_after("import gamedsl.commands.report, gamedsl.view.report.page") & {
        "torch", "transformers", "scipy",
    }  # fmt: skip
