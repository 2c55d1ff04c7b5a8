"""Whatever operation on the disk fails, or is the last before the process dies: the run goes on to
the numbers and the adapters of one that nothing disturbed, or nothing of it is lost."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random

import pytest

from gamedsl.recipe.table import Recipe
from gamedsl.runs.errors import RunDamaged
from gamedsl.runtime import Game
from gamedsl.storage.refusals import WriteRefused
from gamedsl.storage.writer import on_disk
from gamedsl.training import checkpoint
from gamedsl.training.errors import TrainError
from gamedsl.training.loop import train
from gamedsl.training.runfolder import create, open_run
from tests.train.conftest import DILEMMA, policy_of, recipe_of, untimed
from tests.train.faults_on_disk import FAULTS, Died, Fault, FaultyDisk

STEPS = 4


@pytest.fixture
def game(compiled) -> Game:
    return compiled(DILEMMA)


@pytest.fixture
def recipe(game: Game) -> Recipe:
    """A run with all that a run writes: transcripts, checkpoints, snapshots for a pool."""
    return recipe_of(
        game, steps=STEPS, games=32, checkpoint_every=2, transcripts_every=2, keep_checkpoints=2,
        opponents={"self": 0.5, "pool": 0.5}, pool__every=2, pool__size=2, adapters="per_role",
    )  # fmt: skip


def trained(game: Game, recipe: Recipe, folder: Path) -> None:
    """Trains into a folder: a new run, or one that goes on, as the command does."""
    policy = policy_of(game, recipe)
    if (folder / "run.json").exists():
        run = open_run(folder)
    else:
        run = create(game, recipe, folder, {}, policy.tokenizer, 1)
    with run.locked():
        run.check_files()
        run.write_recipe(recipe)
        train(game, recipe, run, policy)


def left(folder: Path) -> dict[str, object]:
    """What a run came to: its records, and all files that do not tell times."""
    run = open_run(folder)
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for pattern in ("adapters/**/*", "transcripts/*", "pool/*", "game/*", "*.yaml", "l*.json")
        for path in folder.glob(pattern) if path.is_file()
    }  # fmt: skip
    assert checkpoint.latest(run) is not None
    assert not list(folder.rglob(".partial-*"))
    assert run.saved.misfits() == {}
    return {"records": untimed(run.records()), **files}


def disturbed(game: Game, recipe: Recipe, folder: Path, n: int, fault: Fault) -> FaultyDisk:
    """Trains on a disk with a fault; then, on a good one, until the end."""
    disk = FaultyDisk(n, fault)
    with on_disk(disk):
        try:
            trained(game, recipe, folder)
        except Died:
            ended = "dies"
        except WriteRefused as error:
            ended = str(error)
        else:
            ended = ""  # what was to be removed is left, and removed by the next start
    assert fault.startswith("dies") == (ended == "dies"), (n, fault, ended)
    trained(game, recipe, folder)
    return disk


def check(game: Game, recipe: Recipe, tmp_path: Path, chosen: list[tuple[int, Fault]]) -> None:
    whole = tmp_path / "whole"
    trained(game, recipe, whole)
    wanted = left(whole)
    for n, fault in chosen:
        folder = tmp_path / f"{n}-{fault.replace(' ', '-')}"
        disk = disturbed(game, recipe, folder, n, fault)
        place = f"{fault} at operation {n}: {disk.names[n - 1]}"
        found = left(folder)
        assert sorted(found) == sorted(wanted), place
        for name, value in wanted.items():
            assert found[name] == value, f"{place}: {name}"
        shutil.rmtree(folder)


def operations(game: Game, recipe: Recipe, folder: Path) -> int:
    counted = FaultyDisk()
    with on_disk(counted):
        trained(game, recipe, folder)
    return counted.count


def test_runs_outlast_faults_of_the_disk(game: Game, recipe: Recipe, tmp_path: Path) -> None:
    count = operations(game, recipe, tmp_path / "counted")
    assert count > 100
    random = Random(0)
    every = [(n, random.choice(FAULTS)) for n in range(1, count + 1)]
    check(game, recipe, tmp_path, random.sample(every, 12))


@pytest.mark.slow
def test_runs_outlast_a_fault_anywhere(game: Game, recipe: Recipe, tmp_path: Path) -> None:
    """Each operation fails once, by each kind of fault in turn."""
    count = operations(game, recipe, tmp_path / "counted")
    every = [(n, FAULTS[n % len(FAULTS)]) for n in range(1, count + 1)]
    check(game, recipe, tmp_path, every)


def test_a_fault_while_a_run_goes_on_again(game: Game, recipe: Recipe, tmp_path: Path) -> None:
    """The second start of a run that was killed is disturbed too."""
    half = tmp_path / "half"
    with on_disk(FaultyDisk(120, "dies after")), pytest.raises(Died):
        trained(game, recipe, half)
    wanted = tmp_path / "whole"
    trained(game, recipe, wanted)
    random = Random(1)
    shutil.copytree(half, tmp_path / "counted")
    count = operations(game, recipe, tmp_path / "counted")
    for n in random.sample(range(1, count + 1), 12):
        folder = tmp_path / f"again-{n}"
        shutil.copytree(half, folder)
        disturbed(game, recipe, folder, n, random.choice(FAULTS))
        assert left(folder) == left(wanted), n


def test_a_lost_snapshot_is_refused(game: Game, recipe: Recipe, tmp_path: Path) -> None:
    """What is damaged beyond going on is refused with the file, and nothing is deleted."""
    run = tmp_path / "run"
    trained(game, recipe, run)
    (run / "pool" / "step-000002.pt").write_bytes(b"")
    before = sorted(path.name for path in run.rglob("*"))
    with pytest.raises((RunDamaged, TrainError), match=r"pool/step-000002\.pt"):
        trained(game, recipe, run)
    assert before == sorted(path.name for path in run.rglob("*"))
