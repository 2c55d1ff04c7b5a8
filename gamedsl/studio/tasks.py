"""The tasks of a worker of the studio: one method each, with plain data in and out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gamedsl.mcp.refusal import Refused
from gamedsl.studio import replays, runs, witness, workshop
from gamedsl.studio.desk import Desk
from gamedsl.studio.records import Advice


class StudioTasks:
    """Carries out the tasks of the studio: plays, advice on them, and pages of games."""

    def __init__(self, root: Path) -> None:
        desk, advice, shop = Desk(), Advice(), workshop.Workshop()
        self._tasks: dict[str, Callable[..., Any]] = {
            "open": desk.open, "again": desk.again, "look": desk.look, "answer": desk.answer,
            "undo": desk.undo, "prompt": desk.prompt, "record": desk.record, "close": desk.close,
            "advise": advice.advise, "review": advice.review, "odds": advice.odds,
            "describe": workshop.describe,
            "games": shop.games, "check": workshop.check, "facts": workshop.facts,
            "picture": workshop.picture, "pictures": workshop.pictures,
            "prompts": workshop.prompts, "proofs": shop.proofs,
            "claims": shop.claims, "played": shop.played, "solution": workshop.solution,
            "plays": replays.plays, "step": replays.step, "witness": witness.witness,
            "plays_over": replays.plays_over,
            "conversation": replays.conversation, "record_text": replays.record_text,
            "runs": runs.rows, "run": runs.run, "compare": runs.compare, "seeds": runs.seeds,
        }  # fmt: skip

    def carry_out(self, task: str, given: Mapping[str, Any]) -> Any:
        """Returns the value of a task. Raises UserError where it cannot be carried out."""
        if task not in self._tasks:
            raise Refused(f"there is no task `{task}`", "use the studio's pages")
        return self._tasks[task](**given)
