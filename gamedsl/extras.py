"""The message where a library is missing that only an extra of this package installs."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import Distribution, PackageNotFoundError, distribution, version
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

PACKAGE = "gamedsl"


class LibraryMissing(ImportError):
    """A library that an extra installs is absent: what is wrong, and the command that helps."""

    def __init__(self, fact: str, fix: str) -> None:
        super().__init__(f"{fact}; fix: {fix}")
        self.fact, self.fix = fact, fix


def missing(library: str, extra: str) -> LibraryMissing:
    """Returns the error to raise when a library of an extra is not installed."""
    return LibraryMissing(f"{library} is not installed", install_command(extra))


class Requirement(NamedTuple):
    """A library at the versions that this package was tested with: from `low` to before `below`.

    `library` is its name on the index, and `extra` the extra of this package that installs it.
    """

    library: str
    extra: str
    low: str
    below: str

    def problem(self) -> str | None:
        """Returns why the library cannot be used, with a fix; None where it can."""
        fix = f"fix: {install_command(self.extra)}"
        try:
            found = version(self.library)
        except PackageNotFoundError:
            return f"{self.library} is not installed; {fix}"
        if _numbers(self.low) <= _numbers(found) < _numbers(self.below):
            return None
        return (
            f"{self.library} {found} is installed, and a version from {self.low} to before "
            f"{self.below} is needed; {fix}"
        )


@contextmanager
def importing(needs: Requirement) -> Iterator[None]:
    """Guards the imports of a library. Raises ImportError where it is absent or of another
    version."""
    problem = needs.problem()
    if problem is not None:
        raise ImportError(problem)
    yield


def _numbers(text: str) -> tuple[int, ...]:
    """Returns the numbers of a version, as far as it has no letters: 1.16.0rc1 as (1, 16, 0)."""
    found = re.match(r"\d+(\.\d+)*", text)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def install_command(extra: str) -> str:
    """Returns the command that installs an extra where this process finds it.

    It names what gamedsl was installed from: a checkout, a file, a repository or the index. It is
    a command of uv or pipx where one of these made the environment.
    """
    environment = Path(sys.prefix)
    found = _origin(extra)
    if environment.parent.name.startswith("archive-v"):  # of uvx, in uv's cache, for one call
        return f"uvx --from {found} {PACKAGE}"
    if (environment / "uv-receipt.toml").exists():
        return f"uv tool install --force {found}"
    if (environment / "pipx_metadata.json").exists():
        return f"pipx install --force {found}"
    if _made_by_uv(environment):
        return f"uv pip install --python {_quoted(sys.executable)} {found}"
    return f"pip install {found}"


def _origin(extra: str) -> str:
    """Returns the arguments after `install`, as PEP 610 records where a package came from."""
    try:
        record = _record(distribution(PACKAGE))
    except PackageNotFoundError:
        record = {}
    url, folder, repository = (record.get(key) for key in ("url", "dir_info", "vcs_info"))
    if not isinstance(url, str):
        return _quoted(f"{PACKAGE}[{extra}]")
    if isinstance(folder, dict):
        editable = "-e " if folder.get("editable") else ""
        return editable + _quoted(f"{_path_of(url)}[{extra}]")
    if isinstance(repository, dict):
        url = f"{repository.get('vcs')}+{url}@{repository.get('commit_id')}"
    return _quoted(f"{PACKAGE}[{extra}] @ {url}")


def _record(package: Distribution) -> dict[str, object]:
    with suppress(OSError, ValueError):
        found = json.loads(package.read_text("direct_url.json") or "{}")
        if isinstance(found, dict):
            return found
    return {}


def _path_of(url: str) -> str:
    parts = urlsplit(url)
    return url2pathname(parts.path) if parts.scheme == "file" else unquote(url)


def _made_by_uv(environment: Path) -> bool:
    with suppress(OSError, ValueError):
        lines = (environment / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
        return any(line.partition("=")[0].strip() == "uv" for line in lines)
    return False


def _quoted(text: str) -> str:
    """Returns an argument for the shell of this system."""
    return f'"{text}"' if sys.platform == "win32" else shlex.quote(text)
