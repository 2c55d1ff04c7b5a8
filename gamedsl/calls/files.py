"""Functions of a Python file that is allowed by `--allow-calls FILE` or `gamedsl.load(calls=…)`.

The file is executed, with all that its user may do; nothing of a game asks for that. The version of
each of its functions is made of the file's content, so that a game that calls one has another hash
when the file is another. What the file imports is not in it.
"""

from __future__ import annotations

import sys
import traceback
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

from gamedsl.calls import registry
from gamedsl.storage.reader import FileRefused, expanded, read_bytes
from gamedsl.storage.refusals import reason

MAX_BYTES = 1 << 20
"""Bytes of a file of functions."""


class CallFileError(ValueError):
    """A file of functions that cannot be used: what is wrong, and what helps."""

    def __init__(self, fact: str, fix: str) -> None:
        super().__init__(fact)
        self.fact, self.fix = fact, fix

    def __reduce__(self) -> tuple[Any, ...]:
        return CallFileError, (self.fact, self.fix)


@dataclass(frozen=True)
class CallFile:
    """A file of functions that was allowed: its path, and the SHA-256 of its content."""

    path: Path
    digest: str

    @property
    def version(self) -> int:
        """The version of its functions."""
        return int(self.digest[:12], 16) + 1


_ALLOWED: dict[str, CallFile] = {}
"""The files that this process has executed, by their hashes."""


def allow_calls(path: Path | str) -> CallFile:
    """Executes a Python file, whose functions games may then call, unless this process has done so.

    Raises CallFileError for a file that cannot be read, fails, registers nothing, or registers a
    name that is taken.
    """
    path = expanded(path)
    try:
        content = read_bytes(path, limit=MAX_BYTES)
    except FileRefused as error:
        raise CallFileError(f"`{path}`: {error}", "name a Python file of functions") from error
    except OSError as error:
        raise CallFileError(
            f"`{path}`: {reason(error)}", "name a Python file of functions"
        ) from error
    file = CallFile(path, sha256(content).hexdigest())
    if file.digest in _ALLOWED:
        return _ALLOWED[file.digest]
    module = ModuleType(f"gamedsl_calls_{file.digest[:12]}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    try:
        with registry.registering(file.version, file.digest) as names:
            exec(compile(content, str(path), "exec"), module.__dict__)  # what the user has allowed
    except (Exception, SystemExit) as error:
        del sys.modules[module.__name__]
        raise CallFileError(
            f"`{path}` {_failure(error)}{_place(error, path)}: {error}", _fix(error)
        ) from error
    if not names:
        raise CallFileError(
            f"`{path}` registers no function",
            "write `@function(…)` of `gamedsl.calls.registry` above one",
        )
    _ALLOWED[file.digest] = file
    return file


def allowed_calls() -> tuple[CallFile, ...]:
    """Returns the files that were allowed, in the order in which they were."""
    return tuple(_ALLOWED.values())


def files_of(names: frozenset[str]) -> tuple[CallFile, ...]:
    """Returns the files that register the functions of these names."""
    found = (registry.lookup(name) for name in sorted(names))
    digests = dict.fromkeys(one.digest for one in found if one is not None and one.digest)
    return tuple(_ALLOWED[digest] for digest in digests)


def _failure(error: BaseException) -> str:
    return "ends the program" if isinstance(error, SystemExit) else "fails"


def _place(error: BaseException, path: Path) -> str:
    """Returns the line of the file at which an exception was raised, as text."""
    if isinstance(error, SyntaxError):
        return f" in line {error.lineno}" if error.lineno else ""
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
    return f" in line {lines[-1]}" if lines else ""


def _fix(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return 'write `if __name__ == "__main__":` above what only a program does'
    if isinstance(error, registry.NameTaken):
        return "give the function another name; a changed file is read by a new process"
    return "run it alone to see where: python FILE"
