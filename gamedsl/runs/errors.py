"""The exception of a run folder that cannot be read, or is not as the run wrote it."""

from __future__ import annotations

from pathlib import Path

from gamedsl.errors import UserError


class RunDamaged(UserError):
    """The text states the fact, with the file and the reason, then the fix."""


class FileDamaged(RunDamaged):
    """One file of a run folder that cannot be read."""

    def __init__(self, file: Path, reason: str, fix: str = "put back a copy of it") -> None:
        super().__init__(f"{file} cannot be read: {reason}", fix)
        self.file, self.reason = file, reason
