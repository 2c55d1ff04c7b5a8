"""`Game`: a compiled game that can be shown, asked for its prompts, and solved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gamedsl.runtime import game as runtime_game

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import Any

    from gamedsl.api.picture import Picture
    from gamedsl.api.solution_report import Report
    from gamedsl.runtime.decision import Message
    from gamedsl.solve.tree import Utility
    from gamedsl.view.game.views import View


@dataclass(frozen=True, repr=False)
class Game(runtime_game.Game):
    """A compiled game, as `gamedsl.load` returns it. `files` are the files it was read from, the
    one asked for first."""

    def _repr_html_(self) -> str:
        from gamedsl.api import notebook
        from gamedsl.compiler import summarise

        rows = [("Seats", ", ".join(self.ir.seats)), ("Form", summarise(self.ir))]
        rows += [(f"Param {name}", str(value)) for name, value in self.params.items()]
        return notebook.table(rows, self.name) + notebook.paragraph(self.ir.about)

    def show(
        self, view: View | None = None, *, limit: int | None = None, depth: int | None = None
    ) -> Picture:
        """Draw a view of the game: "table", "tree", "flow" or "sight"; None: the one that fits it.

        A notebook shows the result as a picture, `print` as text, and `.save(path)` writes an SVG
        file. At most `limit` nodes of a tree are drawn, and at most `depth` moves deep. ValueError
        for a view that there is not, or that the game does not have.
        """
        from gamedsl.api.picture import draw

        return draw(self, view, limit, depth)

    def prompts(
        self, at: str = "", *, run_seed: int = 0, seed: int = 0
    ) -> dict[str, tuple[Message, ...]]:
        """Return the messages that each seat asked after a history is sent, by seat.

        `at` names the choices and draws before, such as "card=Q, open=bet"; what it leaves out is
        the first option. `run_seed` draws the labels, and `seed` those of an episode. ValueError
        for a history that does not happen; the message names the options.
        """
        from gamedsl.players.named_history import follow

        episode = follow(self.env(run_seed=run_seed).reset(seed, chance="asked"), at).episode
        return {decision.seat: decision.messages for decision in episode.decisions}

    def solve(
        self,
        method: str = "auto",
        *,
        utility: Utility = "payoffs",
        iterations: int | None = None,
        seed: int = 0,
        limit: int | None = None,
    ) -> Report:
        """Solve the game as `gamedsl solve` does, by a method of `gamedsl.solve.solver.METHODS`.

        `print` shows the report as the command does. The utility is the game's payoffs, or the
        "rewards" that the seats are trained on. `limit` is the number of histories up to which a
        tree is written out. Raises ValueError where the method does not fit the game or is not
        known, and `gamedsl.EvaluationError` where the rules fail.
        """
        from gamedsl.api.solution_report import readable
        from gamedsl.solve.solver import LIMIT, METHODS, solve

        if method not in METHODS:
            raise ValueError(f"there is no method `{method}`; known: {', '.join(METHODS)}")
        found = solve(
            self, method, utility=utility, iterations=iterations, seed=seed,
            limit=LIMIT if limit is None else limit,
        )  # fmt: skip
        return readable(found)


def load_game(
    path: str | Path, params: Mapping[str, Any] | None, calls: Sequence[str | Path]
) -> Game:
    """Compiles a game. See `gamedsl.load`."""
    from gamedsl.compiler import compile_game

    for file in calls:
        from gamedsl.calls.files import allow_calls

        allow_calls(file)
    ir, document = compile_game(path, params)
    return Game(ir, document.files)
