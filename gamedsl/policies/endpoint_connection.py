"""HTTP as endpoints need it: attempts with a deadline, answers of a bounded size.

Time-outs of HTTP clients bound each read, so that a server which sends a byte a second is never cut
off. Here every operation of an attempt (the look-up of the name, connecting, TLS, sending, reading)
gets the time that the attempt has left, and all bytes that it receives are counted. httpcore2 is
the part of httpx2 that takes a network of one's own; redirects and cookies it does not follow.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from urllib.parse import quote, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import httpcore2

from gamedsl.policies.daemon_threads import DaemonExecutor
from gamedsl.policies.endpoint_protocol import LARGEST_BODY

HEAD = 2**20
"""Bytes that may come beside the body: status, headers, chunk sizes."""
LONGEST = 10.0**6
"""Seconds that sockets can wait."""
ERROR_BODY, ERROR_TIME = 4096, 2.0
"""Bytes of a body that are read, and seconds that they may take, where the status says enough."""
DECODED = {"gzip": 31, "x-gzip": 31, "deflate": 15}
"""The encodings that are decoded, although none is asked for, with zlib's `wbits`."""


class Failed(Exception):
    """No whole answer came; another attempt may have one. The text may quote the server."""


class Late(Failed):
    """The attempt's time is over."""


class InvalidCall(Exception):
    """The call is no valid HTTP, so that no attempt can succeed."""


class Attempt:
    """One call under way: the time it has left and the bytes that it may still receive. Another
    thread may cut it off."""

    def __init__(self, seconds: float, most: int = LARGEST_BODY + HEAD) -> None:
        self.deadline = time.monotonic() + seconds
        self._room = most
        self._socket: socket.socket | None = None
        self._is_cut = False

    def remaining_seconds(self) -> float:
        """Returns the seconds left. Raises Late where there are none."""
        seconds = self.deadline - time.monotonic()
        if seconds <= 0 or self._is_cut:
            raise Late
        return min(seconds, LONGEST)

    def hasten(self, seconds: float) -> None:
        """Leaves no more than so many seconds."""
        self.deadline = min(self.deadline, time.monotonic() + seconds)

    def uses(self, stream: httpcore2.NetworkStream) -> None:
        """Notes the connection that the attempt waits for."""
        self._socket = stream.get_extra_info("socket")

    def receives(self, count: int) -> None:
        """Counts received bytes. Raises Failed where they are too many."""
        self._room -= count
        if self._room < 0:
            raise Failed("it sends more than any answer has")

    def cut(self) -> None:
        """Ends the attempt: a read or write under way returns at once."""
        self._is_cut = True
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


@dataclass(frozen=True)
class Received:
    """An answer. `fault` is a key of `endpoint_protocol.REFUSALS` where its body was not read, and
    header names are in small letters."""

    status: int
    reason: bytes
    headers: Mapping[str, str]
    body: bytes = b""
    fault: str | None = None


class Connection:
    """Connections to one server, kept for the next call; several threads may use it."""

    def __init__(self, url: str, key: str | None) -> None:
        """`url` is the whole address of what is called. Raises ImportError where a proxy needs a
        package that is not installed."""
        self._url = _ascii(url)
        headers: dict[bytes | str, bytes | str] = {
            "Accept": "application/json", "Accept-Encoding": "identity",
            "Content-Type": "application/json", "User-Agent": "gamedsl",
        }  # fmt: skip
        if key:
            headers["Authorization"] = f"Bearer {key}"
        self._headers = headers
        self._network = _Network()
        self._pool = _pool(url, self._network)

    def close(self) -> None:
        self._pool.close()

    def post(self, content: bytes, attempt: Attempt) -> Received:
        """Raises Failed, Late and InvalidCall."""
        self._network.attempt = attempt
        sent = self._pool.stream("POST", self._url, headers=self._headers, content=content)
        try:
            with sent as answer:
                return _received(answer, attempt)
        except Late:
            raise
        except httpcore2.TimeoutException:
            raise Late from None
        except (httpcore2.LocalProtocolError, UnicodeError):
            raise InvalidCall from None
        except httpcore2.ConnectError as error:
            raise Failed(f"no connection: {error}") from None
        except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.ProxyError) as error:
            attempt.remaining_seconds()
            raise Failed(f"the connection broke: {error}") from None


def _received(answer: httpcore2.Response, attempt: Attempt) -> Received:
    headers = {
        name.decode("latin-1").lower(): value.decode("latin-1") for name, value in answer.headers
    }
    reason = answer.extensions.get("reason_phrase", b"")
    parts = answer.iter_stream()
    if answer.status != 200:
        return Received(answer.status, reason, headers, _beginning(parts, attempt))
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if headers.get("content-type", "").lower().startswith("text/event-stream"):
        fault = "stream"
    elif encoding not in ("identity", "", *DECODED):
        fault = "compressed"
    else:
        length = headers.get("content-length", "0")
        fault = "size" if length.isdecimal() and int(length[:20]) > LARGEST_BODY else ""
    if fault:
        return Received(200, reason, headers, fault=fault)
    body = _whole(parts, DECODED.get(encoding))
    return Received(200, reason, headers, *((body,) if isinstance(body, bytes) else (b"", body)))


def _beginning(parts: Iterator[bytes], attempt: Attempt) -> bytes:
    """Returns the beginning of a body, as far as it comes soon."""
    attempt.hasten(ERROR_TIME)
    found = bytearray()
    with suppress(Failed, httpcore2.TimeoutException, httpcore2.NetworkError,
                  httpcore2.ProtocolError):  # fmt: skip
        for part in parts:
            found += part
            if len(found) >= ERROR_BODY:
                break
    return bytes(found[:ERROR_BODY])


def _whole(parts: Iterable[bytes], wbits: int | None) -> bytes | str:
    """Returns a body, or a key of `REFUSALS` where it is too large or cannot be decoded."""
    decoder = None if wbits is None else zlib.decompressobj(wbits)
    found = bytearray()
    try:
        for part in parts:
            room = LARGEST_BODY + 1 - len(found)
            found += part[:room] if decoder is None else decoder.decompress(part, room)
            if len(found) > LARGEST_BODY:
                return "size"
    except zlib.error:
        return "compressed"
    if decoder is not None and not decoder.eof:
        return "compressed"
    return bytes(found)


class _Network(httpcore2.NetworkBackend):
    """The network as attempts see it. The attempt is that of the thread: each makes one at a
    time."""

    def __init__(self) -> None:
        self._real = httpcore2.SyncBackend()
        self._here = threading.local()

    @property
    def attempt(self) -> Attempt:
        found: Attempt = self._here.attempt
        return found

    @attempt.setter
    def attempt(self, attempt: Attempt) -> None:
        self._here.attempt = attempt

    def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:  # fmt: skip
        refused: httpcore2.ConnectError | None = None
        for address in _addresses(host, port, self.attempt):
            try:
                found = self._real.connect_tcp(
                    address, port, self.attempt.remaining_seconds(), local_address, socket_options
                )
            except httpcore2.ConnectError as error:
                refused = error
            else:
                return _Stream(found, self)
        raise refused or httpcore2.ConnectError("its name has no address")


class _Stream(httpcore2.NetworkStream):
    """A connection on which every operation is a part of an attempt."""

    def __init__(self, stream: httpcore2.NetworkStream, network: _Network) -> None:
        self._stream, self._network = stream, network

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        attempt = self._network.attempt
        attempt.uses(self._stream)
        found = self._stream.read(max_bytes, attempt.remaining_seconds())
        attempt.remaining_seconds()
        attempt.receives(len(found))
        return found

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        attempt = self._network.attempt
        attempt.uses(self._stream)
        self._stream.write(buffer, attempt.remaining_seconds())

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:  # fmt: skip
        attempt = self._network.attempt
        attempt.uses(self._stream)
        found = self._stream.start_tls(ssl_context, server_hostname, attempt.remaining_seconds())
        return _Stream(found, self._network)

    def get_extra_info(self, info: str) -> object:
        return self._stream.get_extra_info(info)


def _addresses(host: str, port: int, attempt: Attempt) -> list[str]:
    """Returns the addresses of a name, each once. The system's look-up knows no time-out: one that
    takes too long is left to a thread. Raises Late and ConnectError."""
    with suppress(OSError):
        return _numeric(host, port)
    executor = DaemonExecutor(1)
    look_up = executor.submit(_look_up, host, port)
    executor.shutdown(wait=False)
    try:
        return look_up.result(attempt.remaining_seconds())
    except TimeoutError:
        raise Late from None
    except (OSError, UnicodeError) as error:
        raise httpcore2.ConnectError(str(error)) from None


def _numeric(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    return [str(address[0]) for *_, address in found]


def _look_up(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def _ascii(url: str) -> str:
    """Returns an address as HTTP sends it: its host in Punycode, its path percent-encoded. Raises
    UnicodeError for a host that is no name."""
    parts = urlsplit(url)
    host = parts.netloc.encode("idna").decode("ascii")
    return parts._replace(netloc=host, path=quote(parts.path, "/%:@!$&'()*+,;=~")).geturl()


def _pool(url: str, network: _Network) -> httpcore2.ConnectionPool:
    """Returns the connections to a server, through the proxy that the environment names for it."""
    found = proxy_of(url)
    if urlsplit(found or "").scheme.startswith("socks") and find_spec("socksio") is None:
        raise ImportError("the proxy in the environment needs socksio; fix: pip install socksio")
    context = None
    if "https" in (urlsplit(url).scheme, urlsplit(found or "").scheme):
        import httpx2

        context = httpx2.create_ssl_context()
    return httpcore2.ConnectionPool(
        ssl_context=context, proxy=None if found is None else _proxy(found, context),
        max_connections=None, network_backend=network,
    )  # fmt: skip


def _proxy(url: str, context: ssl.SSLContext | None) -> httpcore2.Proxy:
    parts, auth = urlsplit(url), None
    if parts.username is not None:
        auth = unquote(parts.username), unquote(parts.password or "")
    plain = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    return httpcore2.Proxy(plain, auth, ssl_context=context if parts.scheme == "https" else None)


def proxy_of(url: str) -> str | None:
    """Returns the proxy that the environment names for an address; None where it is called
    directly."""
    target = urlsplit(url)
    if proxy_bypass(target.netloc):
        return None
    proxies = getproxies()
    found = proxies.get(target.scheme) or proxies.get("all")
    return found if found is None or "://" in found else f"http://{found}"
