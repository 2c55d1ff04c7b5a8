"""What all tests share: the repository's root on the path, the flag that rewrites goldens, shipped
files compiled once a process, and Hypothesis without deadlines (a shared machine has none) and
without a database on disk.

The examples of Hypothesis are the same in every run, so that chance decides no verdict;
`HYPOTHESIS_PROFILE=thorough` runs twenty times as many, which are others each time.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "gamedsl", deadline=None, database=None, max_examples=60, print_blob=True,
    derandomize=True, suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip
settings.register_profile(
    "thorough", settings.get_profile("gamedsl"), max_examples=1200, derandomize=False
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "gamedsl"))

if "PYTEST_XDIST_WORKER" in os.environ:  # workers share the cores: threads would wait on threads
    os.environ.setdefault("OMP_NUM_THREADS", "1")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell's background job ignores Ctrl-C, and so would every process that a test interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))


def pytest_configure(config: pytest.Config) -> None:
    """Has `compile_file` compile a shipped file once: no test changes these, and a dozen compile
    each of a hundred. Workers share what they compiled, in a folder of their run; several
    runs of one tree do where `COMPILED_FILES` names a folder."""
    from gamedsl import compiler
    from gamedsl.frontend.source import loader
    from gamedsl.sema.library import resolve_argument

    compile_file = compiler.compile_file
    shipped = {ROOT / folder for folder in ("games", "protocols", "rewards")}
    kept: dict[str, tuple[compiler.Result, dict[Path, str]]] = {}
    if "COMPILED_FILES" not in os.environ:  # workers inherit it
        own = os.environ["COMPILED_FILES"] = mkdtemp(prefix="gamedsl-tests-")

        def remove() -> None:
            del os.environ["COMPILED_FILES"]
            shutil.rmtree(own, ignore_errors=True)

        config.add_cleanup(remove)
    shared = Path(os.environ["COMPILED_FILES"])

    def compile_once(
        path: Path | str, params: Mapping[str, Any] | None = None, histories: int | None = None,
        tokenizer: Any = None,
    ) -> compiler.Result:  # fmt: skip
        changed = tokenizer is not None or loader._replaced.get()
        if changed or resolve_argument(str(path)).absolute().parent not in shipped:
            return compile_file(path, params, histories, tokenizer)
        place = json.dumps([str(path), str(Path.cwd()), params, histories], default=repr)
        with loader.recording() as read:  # whoever records around this call is told again
            file = shared / hashlib.sha256(place.encode()).hexdigest()
            if place not in kept and file.is_file():
                kept[place] = pickle.loads(file.read_bytes())  # what a worker of this run wrote
            if place not in kept:
                kept[place] = compile_file(path, params, histories), dict(read)
                part = file.with_suffix(f".{os.getpid()}")
                part.write_bytes(pickle.dumps(kept[place]))
                part.replace(file)
            result, files = kept[place]
            read.update(files)
        return replace(result, diagnostics=list(result.diagnostics))

    compiler.compile_file = compile_once


LISTED = frozenset((ROOT / "tests" / "slow.txt").read_text(encoding="utf-8").splitlines())
"""Tests that take over 1.5 CPU seconds, as `python -m tests.slow` found."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests of slow.txt. A text in `SLOW_ORDER` decides in which order files come."""
    for item in items:
        if item.nodeid in LISTED and item.get_closest_marker("weekly") is None:
            item.add_marker("slow")
    if order := os.environ.get("SLOW_ORDER"):
        items.sort(key=lambda item: hashlib.sha1((order + str(item.path)).encode()).digest())


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begins no slow test after `SLOW_UNTIL`, in seconds since 1970: on a machine that is slow
    today, `.ci/run` ends in time, and another order leaves other tests out."""
    if time.time() > float(os.environ.get("SLOW_UNTIL", "inf")) and item.get_closest_marker("slow"):
        pytest.skip("no time was left for this slow test")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Writes what a test took to the file of `--cpu-seconds`, unless its mark says it is slow."""

    def spent() -> float:
        return sum(os.times()[:4])  # the tests' own and that of ended children

    before = spent()
    result = yield
    says = item.nodeid not in LISTED and item.get_closest_marker("slow")
    if (file := item.config.getoption("--cpu-seconds")) and not says:
        with Path(file).open("a", encoding="utf-8") as out:
            out.write(f"{spent() - before:.2f}\t{item.nodeid}\n")
    return result


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cpu-seconds", metavar="FILE", help="append the CPU seconds of each test to a file"
    )
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite golden files and snapshots from what the code now gives; review the diff",
    )


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be rewritten instead of compared."""
    return bool(request.config.getoption("--update-golden"))
