"""A server of bytes: what it sends to a call need not be HTTP, nor come to an end."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")

GENEROUS = 30.0
"""Seconds after which something hangs."""


@dataclass
class Caller:
    """A connection to the server: its number, from 0, and the bytes of the last call on it."""

    number: int
    stream: socket.socket
    closing: threading.Event
    asked: bytes = b""

    def read(self) -> None:
        """Reads a call: its headers, and the body that they announce. Raises ConnectionError for
        one that ends before it is whole: its caller was interrupted."""
        data = b""
        while b"\r\n\r\n" not in data and (part := self.stream.recv(1 << 16)):
            data += part
        start, _, body = data.partition(b"\r\n\r\n")
        lengths = [x for x in start.lower().split(b"\r\n") if x.startswith(b"content-length:")]
        left = int(lengths[0].split(b":")[1]) - len(body) if lengths else 0
        while left > 0 and (part := self.stream.recv(1 << 16)):
            data += part
            left -= len(part)
        if left > 0 or b"\r\n\r\n" not in data:
            raise ConnectionError
        self.asked = data

    def send(self, data: bytes) -> None:
        self.stream.sendall(data)

    def trickle(self, data: bytes, pause: float = 0.05) -> None:
        """Sends a byte at a time, then more of the last one without end."""
        for place in range(10**6):
            if self.closing.wait(pause):
                return
            self.send(data[place : place + 1] or data[-1:])

    def flood(self, data: bytes, most: int = 1 << 40) -> None:
        """Sends the same bytes again and again."""
        sent = 0
        while not self.closing.is_set() and sent < most:
            self.send(data)
            sent += len(data)

    def hang(self) -> None:
        self.closing.wait()

    def reset(self) -> None:
        """Closes the connection as a process does that dies."""
        self.stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.stream.close()


@dataclass
class Bytes:
    """A server under way: its address, and the calls that it got."""

    url: str
    callers: list[Caller] = field(default_factory=list)


def head(status: str = "200 OK", *lines: str) -> bytes:
    """The status line and the headers of an answer."""
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode("utf-8", "surrogateescape")


def whole(body: bytes | object, *lines: str, status: str = "200 OK") -> bytes:
    """The last answer on a connection, in valid HTTP; a body that is no bytes is written as
    JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return head(status, f"Content-Length: {len(data)}", "Connection: close", *lines) + data


def completion(content: object = "yes", **more: object) -> dict[str, object]:
    """A chat completion."""
    message = {"role": "assistant", "content": content}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], **more}


@contextmanager
def answering(act: Callable[[Caller], None], *, read: bool = True) -> Iterator[Bytes]:
    """Serves; `act` answers a connection, after the call on it was read, unless not even that is
    `read`. The connection is closed after that."""
    listener = socket.create_server(("127.0.0.1", 0))
    served = Bytes(f"http://127.0.0.1:{listener.getsockname()[1]}/v1")
    closing, lock = threading.Event(), threading.Lock()

    def answer(caller: Caller) -> None:
        with suppress(OSError), caller.stream:
            if read:
                caller.read()
            act(caller)

    def accept() -> None:
        with suppress(OSError):
            while True:
                stream, _ = listener.accept()
                with lock:
                    caller = Caller(len(served.callers), stream, closing)
                    served.callers.append(caller)
                threading.Thread(target=answer, args=[caller], daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield served
    finally:
        closing.set()
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for caller in served.callers:
            with suppress(OSError):
                caller.stream.shutdown(socket.SHUT_RDWR)


def ends(function: Callable[[], T]) -> T:
    """Returns what a function returns, or raises what it raises. Fails where it hangs."""
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(function())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(GENEROUS)
    assert not thread.is_alive(), "it hangs"
    if errors:
        raise errors[0]
    return results[0]
