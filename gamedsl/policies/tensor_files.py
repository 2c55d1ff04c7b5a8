"""Files of an adapter: its tensors, as safetensors, and what PEFT says of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from safetensors.torch import save as serialised

from gamedsl.policies.errors import ModelError
from gamedsl.storage.reader import FileRefused, read_bytes
from gamedsl.storage.strict_json import JsonRefused, parse

_COPY = "put back a copy of it"
_CONFIG = 1 << 20
"""Bytes of a configuration."""


def write_tensors(
    file: Path, state: Mapping[str, torch.Tensor], metadata: dict[str, str] | None = None
) -> None:
    """Writes a new file, and its folder. Raises OSError."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(serialised(dict(state), metadata))


def read_tensors(file: Path) -> dict[str, torch.Tensor]:
    """Returns what `write_tensors` wrote. Raises ModelError for a file that is not whole."""
    if not file.is_file():
        raise ModelError(
            f"{file.parent} holds no {file.name}", "give a folder that save_adapter wrote"
        )
    try:
        return load_file(file)
    except (SafetensorError, OSError, ValueError, KeyError, RuntimeError) as error:
        raise ModelError(f"{file} cannot be read: {error}", _COPY) from error


def read_config(file: Path) -> dict[str, Any]:
    """Returns the content of a JSON file of settings. Raises ModelError."""
    try:
        found = parse(read_bytes(file, limit=_CONFIG))
    except FileRefused as error:
        raise ModelError(str(error), _COPY) from error
    except JsonRefused as error:
        raise ModelError(f"{file} cannot be read: {error}", _COPY) from error
    if not isinstance(found, dict):
        raise ModelError(f"{file} cannot be read: it is not a JSON object", _COPY)
    return found


@contextmanager
def failing_as_disk() -> Iterator[None]:
    """Has the errors of files be OSError where a library writes them."""
    try:
        yield
    except SafetensorError as error:
        raise OSError(str(error)) from error
