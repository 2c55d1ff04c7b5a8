"""The tasks of a worker: one method for each, with plain data in and out.

Every file is named by a path below one folder, or is a shipped game. A text stands for a file that
is not saved: it is compiled as though it were at its path.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from gamedsl import cli
from gamedsl.diagnostics import CompileError
from gamedsl.frontend.source.loader import MAX_BYTES, replacing
from gamedsl.mcp.refusal import Refused
from gamedsl.mcp.session import Session
from gamedsl.sema.library import resolve_argument, shipped
from gamedsl.storage.reader import FileRefused, resolve

UNSAVED = "untitled.yaml"
"""The path of a text for which none is given."""

TREE_LIMIT = 300_000
"""Histories up to which a game is solved as a tree here."""

MOST_FILES = 500
"""Files of the folder that are listed as games."""

MOST_RECORDS = 200
"""Records of a run in one answer."""

_HEAD = 1 << 14


class Tasks:
    """The tasks of one worker; it has at most one play going on."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._session: Session | None = None
        self._tasks: dict[str, Callable[..., Any]] = {
            "games": self._games, "validate": self._validate, "explain": self._explain,
            "prompts": self._prompts, "solve": self._solve, "run": self._run,
            "start": self._start, "move": self._move,
        }  # fmt: skip

    def carry_out(self, task: str, given: Mapping[str, Any]) -> Any:
        """Returns the value of a task. Raises UserError where it cannot be carried out."""
        return self._tasks[task](**given)

    def _games(self) -> dict[str, Any]:
        from gamedsl.sema.library import abouts_of_games

        own = [
            path.relative_to(self._root).as_posix()
            for path in sorted(self._root.rglob("*.yaml"))[: MOST_FILES * 4]
            if self._is_game(path)
        ]
        return {"shipped": abouts_of_games(), "own": own[:MOST_FILES]}

    def _is_game(self, path: Path) -> bool:
        from gamedsl.storage.reader import read_head

        try:
            head = read_head(path, limit=_HEAD, below=self._root)
        except FileRefused:
            return False
        return any(line.startswith(b"game:") for line in head.splitlines())

    def _validate(self, path: str, text: str | None, proofs: bool) -> dict[str, Any]:
        with self._source(path, text) as file:
            _, out, err = run_command("validate", file, "--report", "json")
        if not out:
            raise Refused(err.strip() or "nothing was checked", "name one game, protocol or reward")
        found: dict[str, Any] = json.loads(out)[0]
        return found if proofs else {k: v for k, v in found.items() if k != "proofs"}

    def _explain(self, code: str) -> str:
        return _answer("explain", f"{code}")

    def _prompts(self, path: str, text: str | None, seat: str | None, at: str | None) -> Any:
        more = [f"--role={seat}"] * bool(seat) + [f"--at={at}"] * bool(at)
        with self._source(path, text) as file:
            return json.loads(_answer("prompts", file, "--format=json", *more))

    def _solve(self, path: str, text: str | None, method: str) -> Any:
        more = ["--format=json", f"--method={method}", f"--limit={TREE_LIMIT}"]
        with self._source(path, text) as file:
            return json.loads(_answer("solve", file, *more))

    def _run(self, path: str, records: int) -> dict[str, Any]:
        from gamedsl.runs.saved import open_saved

        run = open_saved(self._inside(path))
        run.check_links()
        found = run.records()
        steps = [record for record in found if record["event"] == "step"]
        others = [record for record in found if record["event"] != "step"]
        report = run.path / "report.html"
        return {
            "run": path,
            "info": run.info(),
            "steps": len(steps),
            "records": [*others[:2], *_spread(steps, max(1, min(records, MOST_RECORDS)))],
            "last": steps[-1] if steps else None,
            "summary": found[-1].get("summary") if found else None,
            "report": path + "/report.html" if report.is_file() else None,
        }

    def _start(
        self, path: str, text: str | None, seat: str, opponents: str, params: Mapping[str, str],
        seed: int,
    ) -> dict[str, Any]:  # fmt: skip
        from gamedsl import load

        with self._source(path, text) as file:
            try:
                game = load(resolve_argument(file), params)
            except CompileError as error:
                raise Refused(error.fact, error.fix or "validate the file first") from error
            except ValueError as error:
                raise Refused(str(error), "name a game") from error
            self._session = Session(game, seat, opponents, seed)
        return self._session.view()

    def _move(self, reply: str) -> dict[str, Any]:
        if self._session is None:
            raise Refused("no play is going on", "start one")
        return self._session.move(reply)

    @contextmanager
    def _source(self, path: str, text: str | None) -> Iterator[str]:
        """Yields what a command calls a file; a text stands for the file meanwhile."""
        if text is None:
            if path in shipped("game") and not (self._root / path).exists():
                yield path
                return
            yield self._name(self._inside(path))
            return
        if len(text.encode("utf-8", "replace")) > MAX_BYTES:
            raise Refused("the text is too long", f"write at most {MAX_BYTES:,} bytes")
        name = self._name(self._inside(path or UNSAVED))
        if not name.endswith((".yaml", ".yml")):
            raise Refused(f"`{path}` is no path of a text", f"name a YAML file, such as {UNSAVED}")
        with replacing({Path(name): text}):
            yield name

    def _name(self, path: Path) -> str:
        return f"./{path.relative_to(self._root).as_posix()}"

    def _inside(self, path: str) -> Path:
        """Returns a path below the folder. Raises Refused for any other."""
        try:
            return resolve(self._root / path, self._root)
        except FileRefused as error:
            fix = "name a path below the folder of the server, or a shipped game"
            raise Refused(f"`{path}`: {error.reason}", fix) from error


def run_command(*arguments: str) -> tuple[int, str, str]:
    """Returns the exit code, the output and the complaints of a command."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = cli.main(arguments)
    return code, out.getvalue(), err.getvalue()


def _answer(*arguments: str) -> str:
    """Returns the output of a command. Raises Refused with its complaint."""
    code, out, err = run_command(*arguments)
    if code != cli.CLEAN:
        fact = err.strip() or out.strip()
        raise Refused(fact, "validate the file, or see `gamedsl help`")
    return out


def _spread(records: Sequence[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """Returns at most so many records, evenly spread, the first and the last among them."""
    if len(records) <= most or most < 2:
        return list(records[-most:])
    places = {round(i * (len(records) - 1) / (most - 1)) for i in range(most)}
    return [records[place] for place in sorted(places)]
