"""Bytecode of the packages that commands import, kept where Python itself keeps none.

Python compiles a package at its first import and keeps the result beside the source. It does not
with `PYTHONDONTWRITEBYTECODE`, which many images set, nor in a folder that the user may not write.
Then every start of a training compiles torch and transformers anew, which takes two thirds of it.
"""

from __future__ import annotations

import os
import sys
from importlib.util import cache_from_source, find_spec
from pathlib import Path

from gamedsl.storage.cache import CacheRefused, own_folder
from gamedsl.storage.system import files_have_a_limit

PACKAGES = ("gamedsl", "torch", "transformers")
"""Packages that take long to compile. One without bytecode is enough."""


def keep_bytecode() -> bool:
    """Has this process keep bytecode in the user's cache, if Python keeps none of `PACKAGES`.
    Returns whether it does. A place that the user chose (`PYTHONPYCACHEPREFIX`) stays. Where the
    size of files is limited, none is written anywhere."""
    if files_have_a_limit():
        sys.dont_write_bytecode = True
        return False
    if sys.pycache_prefix is not None or not any(map(_needs_compilation, PACKAGES)):
        return False
    try:
        folder = own_folder("bytecode")
    except CacheRefused:
        return False
    sys.pycache_prefix = str(folder.resolve())
    sys.dont_write_bytecode = False
    return True


def _needs_compilation(package: str) -> bool:
    """Whether a package is installed, has no bytecode, and Python will keep none."""
    spec = find_spec(package)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return False
    kept = Path(cache_from_source(spec.origin))
    if kept.is_file():
        return False
    folder = kept.parent if kept.parent.is_dir() else kept.parents[1]
    return sys.dont_write_bytecode or not os.access(folder, os.W_OK)
