"""Proofs of an open file, in a process that is killed when the text changes or time runs out."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gamedsl.mcp.refusal import Refused
from gamedsl.mcp.worker import TaskWorker

PAUSE = 0.5
"""Seconds without a keystroke before proofs begin."""

SECONDS = 30.0
"""How long the proofs of a file may take."""


@dataclass
class Proofs:
    """The process that proves the text of one file."""

    path: Path
    _worker: TaskWorker = field(init=False)
    _turn: int = 0

    def __post_init__(self) -> None:
        self._worker = TaskWorker(self.path.parent)

    def stop(self) -> None:
        """Ends what is being proved."""
        self._turn += 1
        self._worker.kill()

    async def run(self, text: str) -> dict[str, Any] | str | None:
        """Returns what `gamedsl validate` prints of a text as JSON, or why it found nothing; None
        if it was stopped before."""
        turn = self._turn
        await asyncio.sleep(PAUSE)
        if self._turn != turn:
            return None
        given = {"path": self.path.name, "text": text, "proofs": True}
        found: dict[str, Any] | str
        try:
            found = await asyncio.to_thread(self._worker.call, "validate", given, SECONDS)
        except Refused as error:
            found = error.fact.replace("`validate`", "proving it")
        return found if self._turn == turn else None
