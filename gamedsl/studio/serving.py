"""The server of the studio: its socket, its address, its end."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from gamedsl.mcp.refusal import Refused
from gamedsl.studio.folders import real_folders
from gamedsl.studio.guard import new_token
from gamedsl.studio.rooms import Workers
from gamedsl.studio.server import Studio, make_app
from gamedsl.studio.training_runs import TrainingRuns

LOCAL = ("127.0.0.1", "localhost", "::1")
"""Addresses at which this machine alone is listened to."""


def serve(
    paths: Sequence[Path], *, host: str, port: int, seconds: float, call_files: Sequence[str],
    addresses: Sequence[str] = (), show: bool, say: Callable[[str], None],
) -> None:  # fmt: skip
    """Serves the studio until it is interrupted. `say` prints a line, `show` opens a browser.
    Raises Refused where a path is no folder, or the address cannot be listened at."""
    with opened(
        paths, host=host, port=port, seconds=seconds, call_files=call_files, addresses=addresses
    ) as (
        server,
        listening,
        address,
    ):
        if host not in LOCAL:
            say(
                f"Other machines can reach {host}. Who has a link can open it, and can read on the "
                "way what is sent."
            )

        def tell() -> None:
            say(f"gamedsl studio: {address}")
            say("Ctrl-C ends it.")
            if show:
                import webbrowser

                webbrowser.open(address)

        server.when_started = tell
        server.run(sockets=[listening])


class _Server(uvicorn.Server):
    """A server that says when it has started: from then on, an interruption ends it."""

    when_started: Callable[[], None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.when_started is not None:
            self.when_started()


@contextmanager
def opened(
    paths: Sequence[Path],
    *,
    host: str,
    port: int,
    seconds: float,
    call_files: Sequence[str] = (),
    addresses: Sequence[str] = (),
) -> Iterator[tuple[_Server, socket.socket, str]]:
    """Yields a server, its socket that listens, and the address with the token. Raises Refused."""
    folders = real_folders(paths)
    files = [str(Path(file).expanduser().resolve()) for file in call_files]
    listening = _listen(host, port)
    workers = Workers(folders.roots[0], files, seconds)
    training = TrainingRuns(folders, files, tuple(addresses))
    try:
        number = listening.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        names = {shown, "localhost"} if host in LOCAL else {shown}
        base, token = f"http://{shown}:{number}", new_token()
        studio = Studio(folders, workers, base, training)
        hosts = [f"{name}:{number}" for name in names] + ([*names] if number == 80 else [])
        app = make_app(studio, hosts, token, f"gamedsl-studio-{number}")
        config = uvicorn.Config(
            app, log_level="error", access_log=False, lifespan="off", ws="none",
            server_header=False, timeout_graceful_shutdown=1,
            timeout_keep_alive=75,  # people think longer than the five seconds of the default
        )  # fmt: skip
        yield _Server(config), listening, f"{base}/?token={token}"
    finally:
        listening.close()
        workers.close()
        training.close()


def _listen(host: str, port: int) -> socket.socket:
    """Returns a socket that listens. Raises Refused."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # named as TCP, so that asyncio sends small answers at once (TCP_NODELAY)
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        fix = "give another `--port`, or `--port 0` for any that is free"
        reason = (error.strerror or str(error)).lower()
        raise Refused(f"{host}:{port} cannot be listened at: {reason}", fix) from error
    return listening
