"""The collector of reference cycles: paused in blocks, and without work at the end of a process."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from gamedsl.collector import collector_paused


def test_collector_is_paused_and_resumes() -> None:
    with collector_paused():
        assert not gc.isenabled()
        with collector_paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_collector_resumes_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), collector_paused():
        raise ZeroDivisionError
    assert gc.isenabled()


def test_what_was_made_is_old() -> None:
    of_python = gc.get_freeze_count()
    with collector_paused():
        made = [[] for _ in range(1000)]
    young = {id(one) for one in gc.get_objects(generation=0)}
    assert not young & set(map(id, made))
    assert gc.get_freeze_count() <= of_python


def test_frozen_objects_stay_frozen() -> None:
    gc.freeze()
    try:
        before = gc.get_freeze_count()
        with collector_paused():
            pass
        assert 1000 < gc.get_freeze_count() <= before
    finally:
        gc.unfreeze()


def test_collector_has_no_work_at_the_end() -> None:
    code = (
        "import atexit, gc\n"
        "atexit.register(lambda: print(gc.get_freeze_count() > 1000))\n"
        "from gamedsl.cli import main\n"
        "main(['--version'])\n"
        "main(['--version'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "True"
