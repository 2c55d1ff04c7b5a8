"""Kills of training at random moments, of closed games, games in words and populations.

Each input kills one run again and again (SIGKILL), from its first moment to its last, and goes on
with it each time, as the message says. The oracle: the metrics and adapters of a run that nobody
disturbed, byte for byte but for times.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any

from gamedsl.cli import main
from tests.fuzz import Case, Limits, Outcome

NAME = "kills"
BATCH = 1

LIMITS = Limits(cpu=60.0, wait=600.0)
KILLS = 5
"""Kills of each input."""

RUNS: dict[str, tuple[str, ...]] = {
    "closed": (
        "stag_hunt", "--model", "tabular", "--steps", "10", "--set", "games=256",
        "--set", "transcripts_every=3",
    ),
    "words": (
        "guess_in_words", "--model", "tiny", "--steps", "4", "--set", "games=4",
        "--set", "group_size=4", "--set", "warm_up.games=4", "--set", "warm_up.epochs=1",
        "--set", "lora.rank=2",
    ),
    "population": (
        "rock_paper_scissors", "--model", "tabular", "--steps", "8", "--set", "games=64",
        "--set", "opponents={self: 1, pool: 1}", "--set", "pool.every=2", "--set", "pool.size=3",
        "--set", "adapters=per_role",
    ),
}  # fmt: skip
_USUAL = (
    "--set", "checkpoint_every=2", "--set", "threads=1", "--seed", "5", "--format", "concise",
)  # fmt: skip


def cases(seed: int) -> Iterator[Case]:
    """Yields the inputs of a seed, of each kind of run in turn."""
    random = Random(f"kills {seed}")
    while True:
        for kind in RUNS:
            plan = {"run": kind, "moments": [random.random() for _ in range(KILLS)]}
            yield case_of({"plan.json": json.dumps(plan, indent=1).encode()})


def case_of(files: Mapping[str, bytes]) -> Case:
    """Returns the case of an input read back from its files."""
    plan = json.loads(files["plan.json"])
    description = f"{plan['run']}, killed {len(plan['moments'])} times"
    return Case(description, files, partial(_run, plan), LIMITS)


def warm() -> None:
    """Makes the undisturbed runs, before children fork."""
    import torch

    torch.set_num_threads(1)
    for kind in RUNS:
        _undisturbed(kind)


@cache
def _undisturbed(kind: str) -> tuple[float, dict[str, Any]]:
    """Returns how many seconds a run takes, and what it comes to."""
    scratch = Path(tempfile.mkdtemp(prefix="kills-"))
    with contextlib.redirect_stdout(io.StringIO()):  # here, so that what it imports is there
        assert main(["train", *RUNS[kind], *_USUAL, "--out", str(scratch / "first")]) == 0
    code, seconds = _child(kind, scratch / "run", None)
    assert code == 0, (scratch / "run.txt").read_text("utf-8")
    return seconds, _result(scratch / "run")


def _child(kind: str, folder: Path, kill_after: float | None) -> tuple[int, float]:
    """Trains in a process of its own, to its end or until it is killed. Returns its exit code,
    negative where it was killed, and its seconds."""
    started = time.monotonic()
    child = os.fork()
    if child == 0:
        nowhere = os.open(os.devnull, os.O_RDWR)
        said = os.open(f"{folder}.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(nowhere, 1)
        os.dup2(said, 2)
        code = 70
        try:
            if (folder / "run.json").exists():
                code = main(["train", "--resume", str(folder), "--format", "concise"])
            else:
                code = main(["train", *RUNS[kind], *_USUAL, "--out", str(folder)])
        finally:
            os._exit(code)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), time.monotonic() - started


def _result(folder: Path) -> dict[str, Any]:
    lines = (folder / "metrics.jsonl").read_text("utf-8").splitlines()
    records = [{k: v for k, v in json.loads(one).items() if k != "seconds"} for one in lines]
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for name in ("adapters", "transcripts", "pool", "game")
        for path in (folder / name).rglob("*") if path.is_file()
    }  # fmt: skip
    return {"metrics.jsonl": records, **files}


def _run(plan: Mapping[str, Any]) -> Outcome:
    kind, folder = plan["run"], Path(tempfile.gettempdir()) / "run"
    seconds, wanted = _undisturbed(kind)
    kills = 0
    for moment in plan["moments"]:
        code, _ = _child(kind, folder, seconds * moment)
        kills += code == -signal.SIGKILL
        if code not in (0, -signal.SIGKILL):
            return _failed(kind, folder, code)
    code, _ = _child(kind, folder, None)
    if code != 0:
        return _failed(kind, folder, code)
    found = _result(folder)
    for name in sorted({*found, *wanted}):
        if found.get(name) != wanted.get(name):
            return Outcome("disagreement", f"{kind}: {name} is another after {kills} kills", name)
    left = [path.name for path in folder.rglob(".partial-*")]
    if left:
        return Outcome("disagreement", f"{kind}: {left} are left", "partial")
    return Outcome(counted=(kind, *["kill"] * kills, *[f"kill of {kind}"] * kills))


def _failed(kind: str, folder: Path, code: int) -> Outcome:
    said = Path(f"{folder}.txt").read_text("utf-8", "replace")
    failure = "traceback" if "Traceback" in said else "no place"
    return Outcome(failure, f"{kind}: exit {code}\n{said[-3000:]}", kind)
