"""A trainer outside of a Ray cluster that is there: `cluster: ray://HOST:PORT`."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.train.nearness import near
from tests.train.test_ray import NEEDS_RAY

pytestmark = NEEDS_RAY

TRAINED = (
    "guess_in_words", "--model", "tiny", "--steps", "2", "--set", "games=8", "--set",
    "group_size=4", "--set", "warm_up.expert=none", "--format", "concise",
)  # fmt: skip


def _free_ports(many: int) -> list[int]:
    sockets = [socket.socket() for _ in range(many)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [int(one.getsockname()[1]) for one in sockets]
    for one in sockets:
        one.close()
    return ports


@pytest.fixture
def cluster() -> Iterator[tuple[str, dict[str, str]]]:
    """The address of a cluster that asks for a token, and the environment of who has it. Its folder
    is its own: where other tests start Ray, they would look for it in the usual one. The path is
    short, as sockets need it."""
    port, client = _free_ports(2)
    folder = tempfile.mkdtemp(prefix="ray")
    environment = os.environ | {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "of-this-test-" * 3}
    command = (
        sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", "--port",
        str(port), "--ray-client-server-port", str(client), "--include-dashboard", "false",
        "--temp-dir", folder, "--num-cpus", "3", "--min-worker-port", "0", "--max-worker-port", "0",
    )  # fmt: skip
    head = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", client)) == 0:
                    break
            assert head.poll() is None
            time.sleep(0.1)
        yield f"ray://127.0.0.1:{client}", environment
    finally:
        head.terminate()
        head.wait(60)
        shutil.rmtree(folder, ignore_errors=True)


def _train(
    folder: Path, environment: dict[str, str], *settings: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gamedsl", "train", *TRAINED, "--out", str(folder), *settings],
        env=environment, capture_output=True, text=True, timeout=400, check=False,
    )  # fmt: skip


def _steps(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    return [one for one in records if one["event"] == "step"]


def test_joined_runs_equal_local_ones(tmp_path: Path, cluster: tuple[str, dict[str, str]]) -> None:
    address, environment = cluster
    workers = ("--set", f"cluster={address}", "--set", "workers=2")
    joined = _train(tmp_path / "joined", environment, *workers)
    assert joined.returncode == 0, joined.stderr
    alone = _train(tmp_path / "alone", environment)
    assert alone.returncode == 0, alone.stderr
    for there, here in zip(_steps(tmp_path / "joined"), _steps(tmp_path / "alone"), strict=True):
        for name in ("reward", "valid", "reply_tokens", "tokens", "loss"):
            assert near(there[name], here[name], 1e-3), name
    without = {name: text for name, text in environment.items() if not name.startswith("RAY_AUTH")}
    refused = _train(tmp_path / "refused", without | {"RAY_AUTH_MODE": "disabled"}, *workers)
    assert refused.returncode == 2
    assert "RAY_AUTH_TOKEN" in refused.stderr
