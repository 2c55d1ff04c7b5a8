"""The tools of the MCP server, over the official Python SDK.

Each tool hands its task to a worker (`gamedsl.mcp.worker`), which may be killed. The server itself
opens no file and compiles nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gamedsl.mcp.refusal import Refused
from gamedsl.mcp.worker import TaskWorker

if TYPE_CHECKING:
    from mcp.server import MCPServer

SECONDS = 60.0
"""How long a task may take, unless the command line says otherwise."""

MOST_PLAYS = 8
"""Plays that may go on at once; the oldest is given up for another."""

INSTRUCTIONS = """\
Tools for games in YAML (gamedsl). Write a game, call `validate` until it has no errors, read
`prompts`, then `solve` it or play it. Files are named by paths below the server's folder, or by the
name of a shipped game. A `text` is checked as though it were saved at `path`."""


class Workers:
    """One worker for tasks that remember nothing, and one for each play."""

    def __init__(self, root: Path, call_files: Sequence[str], seconds: float) -> None:
        self._root = root
        self._call_files = [str(Path(file).expanduser().resolve()) for file in call_files]
        self._seconds = seconds
        self._common = TaskWorker(root, self._call_files)
        self._plays: dict[str, TaskWorker] = {}

    def call(self, task: str, **given: Any) -> Any:
        """Returns the value of a task. Raises Refused."""
        return self._common.call(task, given, self._seconds)

    def start(self, **given: Any) -> dict[str, Any]:
        """Starts a play in a worker of its own, and returns its first view. Raises Refused."""
        worker = TaskWorker(self._root, self._call_files)
        try:
            seen = worker.call("start", {**given, "seed": secrets.randbits(32)}, self._seconds)
        except Refused:
            worker.close()
            raise
        while len(self._plays) >= MOST_PLAYS:
            self.stop(next(iter(self._plays)))
        name = secrets.token_hex(4)
        self._plays[name] = worker
        return self._seen(name, seen)

    def move(self, play: str, reply: str) -> dict[str, Any]:
        """Makes a move of a play, and returns the next view. Raises Refused."""
        worker = self._plays.get(play)
        if worker is None:
            raise Refused(f"there is no play `{play}`", "start one with `play_start`")
        return self._seen(play, worker.call("move", {"reply": reply}, self._seconds))

    def _seen(self, play: str, seen: dict[str, Any]) -> dict[str, Any]:
        if seen["done"]:
            self.stop(play)
        return {"play": play, **seen}

    def stop(self, play: str) -> None:
        """Ends a play, if there is one of this name."""
        worker = self._plays.pop(play, None)
        if worker is not None:
            worker.close()

    def close(self) -> None:
        """Ends all processes."""
        for worker in (self._common, *self._plays.values()):
            worker.close()


def make_server(workers: Workers) -> MCPServer[Any]:
    """Returns the server with its tools. Raises ImportError where the SDK is not installed."""
    from gamedsl.extras import missing

    try:
        from mcp.server import MCPServer
    except ModuleNotFoundError as error:
        raise missing("mcp", "mcp") from error
    from gamedsl import __version__

    server: MCPServer[Any] = MCPServer(
        "gamedsl", instructions=INSTRUCTIONS, version=__version__, log_level="ERROR"
    )
    _add_tasks(server, workers)
    _add_plays(server, workers)
    return server


@contextmanager
def _refusals_as_tool_errors() -> Iterator[None]:
    """Raises what a task refuses as the error of the SDK, whose text the assistant reads."""
    from mcp.server.mcpserver.exceptions import ToolError

    try:
        yield
    except Refused as error:
        raise ToolError(str(error)) from error


def _add_tasks(server: MCPServer[Any], workers: Workers) -> None:
    """Registers the tools that look at files and remember nothing."""

    def call(task: str, **given: Any) -> Any:
        with _refusals_as_tool_errors():
            return workers.call(task, **given)

    @server.tool()
    def list_games() -> dict[str, Any]:
        """List the shipped games with what they are about, and the game files in the folder."""
        return dict(call("games"))

    @server.tool()
    def validate(path: str = "", text: str | None = None, proofs: bool = False) -> dict[str, Any]:
        """Check a game, protocol or reward file: problems with places, helps and edits.

        `path` is below the folder, or a shipped name. `text` is checked in the place of the file.
        With `proofs`, also every claim about the game, with its grade.
        """
        return dict(call("validate", path=path, text=text, proofs=proofs))

    @server.tool()
    def explain(code: str) -> str:
        """Explain a diagnostic code, such as GD0414, with a wrong and a right file."""
        return str(call("explain", code=code))

    @server.tool()
    def prompts(
        path: str = "", text: str | None = None, seat: str | None = None, at: str | None = None
    ) -> dict[str, Any]:
        """Show exactly what each seat of a game is sent, with the meaning of its labels.

        `seat` restricts it to one; `at` names a history, such as `card=Q, open=bet`.
        """
        return dict(call("prompts", path=path, text=text, seat=seat, at=at))

    @server.tool()
    def solve(path: str = "", text: str | None = None, method: str = "auto") -> dict[str, Any]:
        """Solve a game without words: equilibria or optimal play, with regrets."""
        return dict(call("solve", path=path, text=text, method=method))

    @server.tool()
    def read_run(path: str, records: int = 20) -> dict[str, Any]:
        """Read a training run's folder: what was trained, and records spread over its steps."""
        return dict(call("run", path=path, records=records))


def _add_plays(server: MCPServer[Any], workers: Workers) -> None:
    """Registers the tools that start a play, make a move in it and give it up."""

    @server.tool()
    def play_start(
        seat: str,
        path: str = "",
        text: str | None = None,
        opponents: str = "random",
        params: dict[str, str] | None = None,
    ) -> dict[str, Any]:
        """Start a play and hold one seat of it. Returns the seat's prompt and its options.

        `opponents` hold the other seats: random, tit_for_tat, minimax, equilibrium or mcts:200.
        """
        given = {"path": path, "text": text, "seat": seat, "opponents": opponents}
        with _refusals_as_tool_errors():
            return workers.start(**given, params=params or {})

    @server.tool()
    def play_move(play: str, reply: str) -> dict[str, Any]:
        """Reply to the prompt of a play: one of its options, or the text that it asks for."""
        with _refusals_as_tool_errors():
            return workers.move(play, reply)

    @server.tool()
    def play_stop(play: str) -> str:
        """Give a play up."""
        workers.stop(play)
        return "stopped"
