"""The collector of reference cycles: paused while much is made that lasts, skipped at the end.

Each pass looks at every object that might be part of a cycle. While files are compiled, packages
imported or the positions of a game listed, hundreds of thousands are made and nearly all last.
"""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

OF_PYTHON = 1000
"""More objects than the interpreter freezes as it starts: 375 on Python 3.12."""


@contextmanager
def collector_paused() -> Iterator[None]:
    """Collects no cycles inside the block; what was made there is old at its end, and so is not
    looked at again soon. It saves a quarter of the time of validating Leduc poker, and a sixth of
    that of importing the packages that train language models."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            if gc.get_freeze_count() < OF_PYTHON:  # else objects that others froze would thaw
                gc.freeze()
                gc.unfreeze()
            gc.enable()


@cache
def skip_last_collection() -> None:
    """Has the end of this process look for no cycles, whose memory the system takes back anyway.
    With torch and transformers imported it would take a second."""
    atexit.register(gc.freeze)
