"""Memory of the process, also where `resource` does not exist; bars that are not drawn."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest

from gamedsl.policies.process_memory import peak_memory, system_memory


def test_memory_is_that_of_a_process() -> None:
    peak = peak_memory()
    assert peak > 1e6
    block = bytearray(64 << 20)
    block[::4096] = b"x" * len(block[::4096])
    assert peak_memory() >= max(peak, 64 << 20)
    assert system_memory() > peak_memory() / 2


def test_training_imports_without_resource() -> None:
    """As on Windows, where psutil, which Transformers may import, needs none either."""
    code = (
        "import contextlib, sys\n"
        "with contextlib.suppress(ImportError): import psutil\n"
        "sys.modules['resource'] = None\n"
        "import gamedsl.training.dry_run, gamedsl.commands.train, gamedsl.policies.activations\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_no_bar_is_drawn() -> None:
    """Neither by transformers nor by those who use tqdm themselves; afterwards it is as before."""
    from tqdm.auto import tqdm

    from gamedsl.policies.progress_bars import logging, without_progress_bars

    def drawn(bar: object) -> str:
        out = io.StringIO()
        assert list(bar(range(3), file=out)) == [0, 1, 2]
        return out.getvalue()

    before = logging.is_progress_bar_enabled()
    with without_progress_bars():
        assert drawn(tqdm) == ""
        assert drawn(logging.tqdm) == ""
    assert "3/3" in drawn(tqdm)
    assert logging.is_progress_bar_enabled() == before


def test_peak_is_not_that_of_the_starter() -> None:
    """A small process that a large one starts has a small peak."""
    held = b"x" * (300 << 20)
    code = "from gamedsl.policies.process_memory import peak_memory; print(peak_memory())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) < len(held)


def test_freed_memory_is_kept() -> None:
    """What is allocated again is there already: the second time the system hands over no page."""
    pytest.importorskip("resource")
    code = (
        "import resource, sys\n"
        "from gamedsl.policies.process_memory import keep_freed_memory\n"
        "kept = keep_freed_memory() if sys.argv[1] == 'kept' else True\n"
        "def faults():\n"
        "    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "    block = bytearray(64 << 20)\n"
        "    block[::4096] = b'x' * len(block[::4096])\n"
        "    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before\n"
        "print(int(kept), faults(), faults())\n"
    )

    def counted(how: str) -> list[int]:
        done = subprocess.run([sys.executable, "-c", code, how], capture_output=True, check=True)
        return [int(part) for part in done.stdout.split()]

    kept, first, second = counted("kept")
    if not kept:
        pytest.skip("this C library always gives memory back")
    assert second < first / 10
    _, first, second = counted("usual")
    assert second > first / 2
