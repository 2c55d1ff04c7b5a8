"""The protocol between the code and its tests: messages of JSON, values in them by content.

Plain values of the built-in types are copied, and arrive as such on the other side whatever the
sender is. Everything else stays where it is, and goes by a number, as the sender's own (`mine`) or
back as the receiver's (`yours`).
"""

from __future__ import annotations

import builtins
import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MAX_MESSAGE = 1 << 20
MAX_DEPTH = 60
_SMALL = 1 << 53
_BAGS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
}
_BYTES: dict[str, Callable[[str], Any]] = {"bytes": bytes.fromhex, "bytearray": bytearray.fromhex}


class Link:
    """One end of the channel."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def send(self, message: list[Any]) -> None:
        """Raises `ValueError` for a message that is too long."""
        text = json.dumps(message).encode()
        if len(text) > MAX_MESSAGE:
            raise ValueError("a value is too large to be handed over")
        data = memoryview(len(text).to_bytes(4, "big") + text)
        while data:
            data = data[os.write(self.fd, data) :]

    def receive(self) -> list[Any]:
        """Raises `EOFError` where the other end is gone, `ValueError` for what is no message."""
        length = int.from_bytes(self._read_bytes(4), "big")
        if length > MAX_MESSAGE:
            raise ValueError("a message that is too long")
        message = json.loads(self._read_bytes(length))
        if not isinstance(message, list) or not message or not isinstance(message[0], str):
            raise ValueError("no message")
        return message

    def _read_bytes(self, length: int) -> bytes:
        parts = []
        while length:
            part = os.read(self.fd, min(length, 1 << 16))
            if not part:
                raise EOFError("the other side has ended")
            parts.append(part)
            length -= len(part)
        return b"".join(parts)


def encode(value: Any, refer: Callable[[Any], list[Any]], depth: int = 0) -> Any:
    """A value as JSON; `refer` gives what stands for one that is not plain. Exactly the built-in
    types are plain: what a class of its own does to a value would be lost."""
    if value is None or isinstance(value, bool):
        return value
    kind = type(value)
    if kind is str:
        return value
    if kind is int:
        return value if -_SMALL < value < _SMALL else ["int", hex(value)]
    if kind is float:
        return ["float", value.hex()]
    if kind is complex:
        return ["complex", value.real.hex(), value.imag.hex()]
    if kind in (bytes, bytearray):
        return [type(value).__name__, value.hex()]
    if kind is range:
        return ["range", *(encode(part, refer) for part in (value.start, value.stop, value.step))]
    if depth > MAX_DEPTH:
        raise ValueError("a value is nested too deeply to be handed over")
    if kind in (list, tuple, set, frozenset):
        return [type(value).__name__, [encode(item, refer, depth + 1) for item in value]]
    if kind is dict:
        pairs = [[encode(part, refer, depth + 1) for part in pair] for pair in value.items()]
        return ["dict", pairs]
    if isinstance(value, type):
        name = value.__name__
        if getattr(builtins, name, None) is value:
            return ["type", name]
    return refer(value)


def decode(data: Any, find: Callable[..., Any]) -> Any:
    """The value of what `encode` made; `find(owner, number, *more)` gives what is not plain. Raises
    `ValueError`, `TypeError` or `RecursionError` for anything else."""
    if not isinstance(data, list):
        if isinstance(data, float | dict):
            raise ValueError("no value")
        return data
    name, *rest = data
    if name in _BAGS:
        return _BAGS[name]([decode(item, find) for item in rest[0]])
    if name == "dict":
        return {decode(k, find): decode(v, find) for k, v in rest[0]}
    if name == "int":
        return int(rest[0], 16)
    if name == "float":
        return float.fromhex(rest[0])
    if name == "complex":
        return complex(*map(float.fromhex, rest))
    if name in _BYTES:
        return _BYTES[name](rest[0])
    if name == "range":
        return range(*(decode(part, find) for part in rest))
    if name == "type":
        found = getattr(builtins, rest[0])
        if isinstance(found, type):
            return found
    if name in ("mine", "yours"):
        return find(*data)
    raise ValueError("no value")
