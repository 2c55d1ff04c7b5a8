"""Files of tensors that torch wrote, read so that they can do no more than hold tensors.

`weights_only` keeps the unpickler from calling anything but what rebuilds tensors. Beside that, of
an archive each part has its checksum compared, which torch leaves out; no part may be packed, nor
be larger than the file; and a tensor may not claim more numbers than its file has.
"""

from __future__ import annotations

import os
import pickletools
import zipfile
from pathlib import Path
from typing import IO, Any

from gamedsl.runs.errors import FileDamaged
from gamedsl.storage.reader import FileRefused, resolve

_DEEP = 32
_PICKLE = 1 << 26
"""Bytes that the description of an archive's tensors may have."""

_REBUILDERS = frozenset({
    "collections OrderedDict", "torch Size", "torch._utils _rebuild_tensor_v2",
    "torch._utils _rebuild_parameter",
})  # fmt: skip


def load_tensors(file: Path, below: Path, fix: str) -> Any:
    """Returns what `torch.save` wrote into a file, on the CPU. Raises FileDamaged, with the `fix`,
    also for a file that does not lie below the folder."""
    try:
        return _loaded(file, below)
    except FileDamaged as error:
        raise FileDamaged(file, error.reason, fix) from error


def _loaded(file: Path, below: Path) -> Any:
    import torch

    try:
        real = resolve(file, below)
        if not real.is_file():
            raise FileDamaged(file, "there is no such file, or it is not a regular one")
        with real.open("rb") as stream:
            _check_archive(file, stream)
            stream.seek(0)
            try:
                found = torch.load(stream, map_location="cpu", weights_only=True)
            except Exception as error:  # of a file that holds anything, torch raises anything
                raise FileDamaged(file, _first_line(error)) from error
    except FileRefused as error:
        raise FileDamaged(file, error.reason) from error
    except OSError as error:
        raise FileDamaged(file, error.strerror or "unknown reason") from error
    _check_sizes(file, found, 0)
    return found


def _check_archive(file: Path, stream: IO[bytes]) -> None:
    """Raises FileDamaged for what is no archive of tensors, or is damaged."""
    size = os.fstat(stream.fileno()).st_size
    try:
        with zipfile.ZipFile(stream) as archive:
            parts = archive.infolist()
            if any(part.compress_type != zipfile.ZIP_STORED for part in parts):
                raise FileDamaged(file, "its parts are packed, which torch does not do")
            if sum(part.file_size for part in parts) > size:
                raise FileDamaged(file, "its parts are larger than the file")
            if (bad := archive.testzip()) is not None:
                raise FileDamaged(file, f"its part {bad} does not have the checksum it was given")
            pickles = [part for part in parts if part.filename.endswith("/data.pkl")]
            if len(pickles) != 1 or pickles[0].file_size > _PICKLE:
                raise FileDamaged(file, "it has no list of tensors that can be read")
            _check_pickle(file, archive.read(pickles[0]))
    # zipfile's: not an archive, cut off, of an unknown version, encrypted; pickletools': ValueError
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise FileDamaged(file, f"it is not whole: {_first_line(error)}") from error


def _check_pickle(file: Path, content: bytes) -> None:
    """Raises FileDamaged for a pickle that names more than what rebuilds tensors. `bytearray(n)`
    alone, which torch allows, would take any memory."""
    for opcode, argument, _ in pickletools.genops(content):
        if opcode.name in ("INST", "STACK_GLOBAL", "EXT1", "EXT2", "EXT4"):
            raise FileDamaged(file, "it holds more than tensors")
        if opcode.name == "GLOBAL" and argument not in _REBUILDERS:
            module, _, name = str(argument).partition(" ")
            if module not in ("torch", "torch.storage") or not name.endswith("Storage"):
                raise FileDamaged(file, f"it holds more than tensors: {module}.{name}")


def _check_sizes(file: Path, value: Any, depth: int) -> None:
    """Raises FileDamaged for a tensor with more elements than are stored, or values nested too
    deep."""
    import torch

    if depth > _DEEP:
        raise FileDamaged(file, "its values are nested too deep")
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided or value.device.type != "cpu":
            raise FileDamaged(file, "it holds a tensor that is not plain")
        if value.numel() * value.element_size() > value.untyped_storage().nbytes():
            raise FileDamaged(file, "a tensor in it has more elements than the file")
    elif isinstance(value, dict):
        for one in value.values():
            _check_sizes(file, one, depth + 1)
    elif isinstance(value, list | tuple):
        for one in value:
            _check_sizes(file, one, depth + 1)


def _first_line(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:200]
