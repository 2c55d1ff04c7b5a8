"""Run folders that are in use, damaged, or somebody else's: a message and exit code 2, and never a
traceback, other numbers, or a file outside of the folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from gamedsl.cli import main
from gamedsl.storage.lock import FolderLock
from gamedsl.storage.writer import on_disk
from gamedsl.training.runfolder import open_run
from tests.conftest import ROOT
from tests.train.conftest import untimed
from tests.train.faults_on_disk import FaultyDisk

START = (
    "prisoners_dilemma", "--model", "tabular", "--steps", "4", "--set", "checkpoint_every=2",
    "--set", "transcripts_every=2", "--set", "games=64", "--set", "threads=1",
    "--format", "concise",
)  # fmt: skip
Change = Callable[[Path], object]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that ended after four steps."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    assert main(["train", *START, "--out", str(folder)]) == 0
    return folder


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    shutil.copytree(finished, tmp_path / "run")
    return tmp_path / "run"


def resume(run: Path, *more: str) -> int:
    return main(["train", "--resume", str(run), "--format", "concise", *more])


def test_second_process_is_refused_while_one_trains(run: Path, capsys) -> None:
    before = (run / "metrics.jsonl").read_bytes()
    lock = FolderLock(run)
    assert lock.acquire()
    try:
        assert resume(run) == 2
        told = capsys.readouterr().err
        assert f"is being trained by process {os.getpid()} on " in told
        assert "since 20" in told
        assert f"gamedsl train --resume {run}" in told
        assert main(["report", str(run)]) == 0
        assert main(["eval", str(run), "random", "--game", "prisoners_dilemma"]) == 0
        transcript = run / "transcripts" / "step-000004.jsonl"
        assert main(["replay", "prisoners_dilemma", str(transcript), "--quiet"]) == 0
    finally:
        lock.release()
    assert (run / "metrics.jsonl").read_bytes() == before
    assert resume(run) == 0


def test_lock_of_a_killed_process_blocks_nobody(run: Path) -> None:
    code = (
        "import sys, pathlib; from gamedsl.storage.lock import FolderLock; "
        "lock = FolderLock(pathlib.Path(sys.argv[1])); lock.acquire(); print(flush=True); input()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(run)],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    with holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        assert resume(run) == 2
        holder.kill()
        holder.wait()
        assert resume(run) == 0


def change_json(name: str, change: Callable[[dict], object]) -> Change:
    def apply(run: Path) -> None:
        content = json.loads((run / name).read_text("utf-8"))
        change(content)
        (run / name).write_text(json.dumps(content, indent=1), "utf-8")

    return apply


def write(name: str, content: bytes) -> Change:
    return lambda run: (run / name).write_bytes(content)


def edit(name: str, old: bytes, new: bytes) -> Change:
    def apply(run: Path) -> None:
        content = (run / name).read_bytes()
        assert old in content
        (run / name).write_bytes(content.replace(old, new, 1))

    return apply


def cut(name: str, share: float) -> Change:
    def apply(run: Path) -> None:
        content = (run / name).read_bytes()
        (run / name).write_bytes(content[: int(len(content) * share)])

    return apply


def without_lines(*numbers: int) -> Change:
    def apply(run: Path) -> None:
        lines = (run / "metrics.jsonl").read_bytes().splitlines(keepends=True)
        kept = [line for number, line in enumerate(lines) if number not in numbers]
        (run / "metrics.jsonl").write_bytes(b"".join(kept))

    return apply


SILENT: dict[str, tuple[Change, str]] = {
    "metrics emptied": (write("metrics.jsonl", b""), "metrics.jsonl"),
    "metrics deleted": (lambda run: (run / "metrics.jsonl").unlink(), "metrics.jsonl"),
    "metrics cut": (cut("metrics.jsonl", 0.4), "metrics.jsonl"),
    "a step left out": (without_lines(2), "metrics.jsonl"),
    "a number of a step": (edit("metrics.jsonl", b'"games": 64', b'"games": 65'), "metrics.jsonl"),
    "lr": (edit("recipe.yaml", b"lr: ", b"lr: 1"), "recipe.yaml"),
    "the seed": (edit("recipe.yaml", b"seed: 0", b"seed: 1"), "recipe.yaml"),
    "params": (change_json("run.json", lambda info: info.update(threads=2)), "run.json"),
    "labels": (edit("labels.json", b'"order"', b'"odder"'), "labels.json"),
    "game": (edit("game/prisoners_dilemma.yaml", b"3", b"4"), "game/prisoners_dilemma.yaml"),
    "game missing": (lambda run: shutil.rmtree(run / "game"), "game/prisoners_dilemma.yaml"),
    "a transcript": (cut("transcripts/step-000004.jsonl", 0.5), "transcripts/step-000004.jsonl"),
}


@pytest.mark.parametrize("name", SILENT)
def test_silent_damage_is_refused_unless_forced(name: str, run: Path, capsys) -> None:
    change, file = SILENT[name]
    change(run)
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    assert resume(run) == 2
    told = capsys.readouterr().err
    assert str(run / file) in told
    assert "--force" in told
    del before[run / ".lock"]
    assert before == {path: path.read_bytes() for path in before}
    assert resume(run, "--force") == 0
    (entry,) = json.loads((run / "run.json").read_text("utf-8"))["forced"]
    assert list(entry["files"]) == [file]
    assert f"these files had changed: {file}" in (run / "report.html").read_text("utf-8")
    assert resume(run) == 0, "what was accepted is not refused again"


@pytest.mark.parametrize("name", ["metrics emptied", "metrics deleted", "metrics cut"])
def test_metrics_of_older_runs_are_checked(name: str, run: Path, capsys) -> None:
    (run / "checksums.json").unlink()
    (checkpoint,) = (run / "checkpoints").glob("step-000004.pt")
    content = torch.load(checkpoint, weights_only=True)
    del content["metrics"]
    torch.save({**content, "format": 2}, checkpoint)
    SILENT[name][0](run)
    assert resume(run) == 2
    assert "metrics.jsonl lacks the record of step" in capsys.readouterr().err


def test_a_step_given_twice_is_refused(run: Path, capsys) -> None:
    """As two processes left the metrics that both went on with one run."""
    (run / "checksums.json").unlink()
    lines = (run / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    (run / "metrics.jsonl").write_bytes(b"".join([*lines[:4], *lines[3:]]))
    assert resume(run) == 2
    assert "metrics.jsonl" in capsys.readouterr().err


def test_flipped_bits_of_a_checkpoint_are_noticed(run: Path, capsys) -> None:
    """torch itself reads the numbers as they have become."""
    file = run / "checkpoints" / "step-000004.pt"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    assert resume(run) == 2
    assert f"{file} cannot be read" in capsys.readouterr().err


BROKEN: dict[str, tuple[Change, str]] = {
    "metrics not UTF-8": (edit("metrics.jsonl", b'"games"', b'"g\xffmes"'), "metrics.jsonl"),
    "metrics of 1e400": (edit("metrics.jsonl", b'"games": 64', b'"games": 1e400'), "metrics.jsonl"),
    "metrics of other things": (write("metrics.jsonl", b"[]\n"), "metrics.jsonl"),
    "recipe broken": (write("recipe.yaml", b"lr: [1\nx: }"), "recipe.yaml"),
    "recipe a list": (write("recipe.yaml", b"- 1\n"), "recipe.yaml"),
    "recipe deep": (write("recipe.yaml", b"lr: " + b"[" * 5000), "recipe.yaml"),
    "recipe repeated": (
        write("recipe.yaml", b"a0: &a0 [1, 1]\n" + b"".join(
            b"a%d: &a%d [%s]\n" % (n, n, b", ".join([b"*a%d" % (n - 1)] * 9)) for n in range(1, 12)
        )),
        "recipe.yaml",
    ),
    "recipe gone": (lambda run: (run / "recipe.yaml").unlink(), "recipe.yaml"),
    "run.json a list": (write("run.json", b"[]"), "run.json"),
    "run.json deep": (write("run.json", b"[" * 100_000), "run.json"),
    "run.json of other types": (write("run.json", b'{"game": 1, "params": []}'), "run.json"),
    "labels empty": (write("labels.json", b""), "labels.json"),
    "labels a number": (write("labels.json", b'{"labels": 1}'), "labels.json"),
    "checkpoint cut": (cut("checkpoints/step-000004.pt", 0.7), "checkpoints/step-000004.pt"),
    "checkpoint of another step": (
        lambda run: shutil.copy(run / "checkpoints/step-000002.pt",
                                run / "checkpoints/step-000004.pt"),
        "checkpoints/step-000004.pt",
    ),
    "checksums broken": (write("checksums.json", b"{"), "checksums.json"),
}  # fmt: skip


@pytest.mark.parametrize("noted", [True, False])
@pytest.mark.parametrize("name", BROKEN)
def test_resume_of_a_damaged_folder_names_the_file(
    name: str, noted: bool, run: Path, capsys
) -> None:
    change, file = BROKEN[name]
    change(run)
    if not noted:
        if file == "checksums.json":
            pytest.skip("there are none")
        (run / "checksums.json").unlink()
    assert resume(run) == 2
    told = capsys.readouterr().err
    assert file in told
    assert "fix:" in told
    if not file.startswith("checkpoints"):
        assert main(["report", str(run)]) == 2
        assert file in capsys.readouterr().err


READ_BY_EVAL = ("run.json", "recipe.yaml")
ADAPTER = "adapters/shared/table.safetensors"


@pytest.mark.parametrize("noted", [True, False])
@pytest.mark.parametrize(
    ("change", "file"),
    [
        *(BROKEN[name] for name in BROKEN if BROKEN[name][1] in READ_BY_EVAL),
        (write(ADAPTER, b""), ADAPTER),
        (cut(ADAPTER, 0.5), ADAPTER),
        (write(ADAPTER, b"\xff" * 100), ADAPTER),
        (lambda run: (run / ADAPTER).unlink(), ADAPTER),
    ],
)
def test_eval_of_a_damaged_run_names_the_file(
    change: Change, file: str, noted: bool, run: Path, capsys
) -> None:
    change(run)
    if not noted:
        (run / "checksums.json").unlink()
    assert main(["eval", f"run:{run}", "random", "--game", "prisoners_dilemma"]) == 2
    assert Path(file).name in capsys.readouterr().err


def test_flipped_bits_of_an_adapter_are_noticed(run: Path, capsys) -> None:
    content = bytearray((run / ADAPTER).read_bytes())
    content[-5] ^= 64
    (run / ADAPTER).write_bytes(content)
    assert main(["eval", f"run:{run}", "random", "--game", "prisoners_dilemma"]) == 2
    assert ADAPTER in capsys.readouterr().err


def test_links_that_lead_out_are_not_followed(run: Path, tmp_path: Path, capsys) -> None:
    secret = tmp_path / "secret"
    for name in ("run.json", "recipe.yaml", "metrics.jsonl", "labels.json", ADAPTER):
        (run / "checksums.json").unlink(missing_ok=True)
        file = run / name
        file.rename(secret)
        file.symlink_to(secret)
        assert main(["report", str(run)]) == 2 or name == ADAPTER
        assert main(["eval", f"run:{run}", "random", "--game", "prisoners_dilemma"]) == 2 or (
            name in ("metrics.jsonl", "labels.json")
        )
        assert "outside" in capsys.readouterr().err
        file.unlink()
        secret.rename(file)


def test_fifo_in_the_place_of_a_file(run: Path, capsys) -> None:
    for name in ("metrics.jsonl", "recipe.yaml", "run.json", "labels.json", "checksums.json"):
        content = (run / name).read_bytes()
        (run / name).unlink()
        os.mkfifo(run / name)
        assert resume(run) == 2
        assert name in capsys.readouterr().err
        (run / name).unlink()
        (run / name).write_bytes(content)


class Calls:
    """A pickle of this runs a program where it is read without care."""

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, ("it-ran",)


@pytest.mark.parametrize("content", [Calls(), {"step": 4, "adapters": {"shared": bytearray(9)}}])
def test_a_checkpoint_runs_nothing(content: object, run: Path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    file = run / "checkpoints" / "step-000004.pt"
    torch.save(content, file)
    assert resume(run) == 2
    assert main(["eval", f"run:{run}@4", "random", "--game", "prisoners_dilemma"]) == 2
    assert str(file) in capsys.readouterr().err
    assert not Path("it-ran").exists()


def test_a_tensor_claims_what_its_file_has(run: Path, capsys) -> None:
    file = run / "checkpoints" / "step-000004.pt"
    content = torch.load(file, weights_only=True)
    content["adapters"]["shared"]["logits"] = torch.zeros(1).expand(1 << 20, 1 << 20)
    torch.save(content, file)
    assert resume(run) == 2
    assert "more elements than the file" in capsys.readouterr().err


def test_a_run_without_its_game_uses_copies(run: Path, capsys) -> None:
    gone = change_json("run.json", lambda info: info.update(file="/nowhere/prisoners_dilemma.yaml"))
    gone(run)
    (run / "checksums.json").unlink()
    assert resume(run, "--steps", "6") == 0
    shutil.rmtree(run / "game")
    (run / "checksums.json").unlink()
    assert resume(run, "--steps", "8") == 2
    assert "/nowhere/prisoners_dilemma.yaml is gone" in capsys.readouterr().err


def test_a_run_stopped_early_begins_again(tmp_path: Path) -> None:
    """A kill before there is a run.json leaves a folder that the same command takes again."""
    folder = tmp_path / "run"
    assert main(["train", *START, "--out", str(folder)]) == 0
    for path in ("run.json", "metrics.jsonl", "report.html"):
        (folder / path).unlink()
    for path in ("checkpoints", "transcripts", "adapters"):
        shutil.rmtree(folder / path)
    assert main(["train", *START, "--out", str(folder)]) == 0
    assert len(open_run(folder).records()) == 6


def test_equal_runs_write_equal_adapters(tmp_path: Path) -> None:
    """In this process and in one where sets have another order."""
    command = [
        "train", "prisoners_dilemma", "--model", "tiny", "--steps", "1", "--set", "threads=1",
        "--format", "concise", "--out",
    ]  # fmt: skip
    assert main([*command, str(tmp_path / "one")]) == 0
    other = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    done = subprocess.run(
        [sys.executable, "-m", "gamedsl", *command, str(tmp_path / "two")],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONHASHSEED": other},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    one, two = (
        {path.relative_to(tmp_path / name): path.read_bytes()
         for path in (tmp_path / name / "adapters").rglob("*") if path.is_file()}
        for name in ("one", "two")
    )  # fmt: skip
    assert len(one) >= 2
    assert one == two
    first, second = (untimed(open_run(tmp_path / name).records()) for name in ("one", "two"))
    assert first == second


def test_a_full_disk_says_how_to_go_on(tmp_path: Path, capsys) -> None:
    folder = tmp_path / "run"
    with on_disk(FaultyDisk(60, "ENOSPC")):
        assert main(["train", *START, "--out", str(folder)]) == 2
    told = capsys.readouterr().err
    assert "cannot be written: no space is left on the device" in told
    assert f"gamedsl train --resume {folder}" in told
    assert resume(folder) == 0


def test_resume_touches_no_folder_elsewhere(run: Path, tmp_path: Path, capsys) -> None:
    """A folder that a stranger made may have a link among its parts: what is there stays."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "step-000099.jsonl").write_text("precious")
    shutil.rmtree(run / "transcripts", ignore_errors=True)
    (run / "transcripts").symlink_to(elsewhere)
    assert resume(run, "--force") == 2
    assert str(run / "transcripts") in capsys.readouterr().err
    assert (elsewhere / "step-000099.jsonl").read_text() == "precious"
