"""Keeps transformers from drawing its own progress bars: `notify` says what goes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from transformers.utils import logging as _untyped

logging: Any = _untyped


@contextmanager
def without_progress_bars() -> Iterator[None]:
    """No progress bars inside the block; the caller's setting is put back."""
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
