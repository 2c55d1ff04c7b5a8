"""Keeps transformers from drawing its own progress bars: `notify` says what goes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partialmethod
from typing import Any

from tqdm import std
from transformers.utils import logging as _untyped

logging: Any = _untyped
_bars: Any = std.tqdm


@contextmanager
def without_progress_bars() -> Iterator[None]:
    """No progress bars inside the block; the caller's setting is put back.

    The setting of transformers covers its own bars and those of downloads; readers of GGUF files
    draw theirs by tqdm itself, so that its bars are made disabled too.
    """
    shown, drawn = logging.is_progress_bar_enabled(), _bars.__init__
    logging.disable_progress_bar()
    _bars.__init__ = partialmethod(drawn, disable=True)
    try:
        yield
    finally:
        _bars.__init__ = drawn
        if shown:
            logging.enable_progress_bar()
