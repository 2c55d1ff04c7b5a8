"""The four views of a game, as text and as pictures, and which of them fit it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gamedsl.tables.text import Line
from gamedsl.view.game.extensive import COUNTED, DrawnTree, draw_tree
from gamedsl.view.game.payoffs import Cells, cells_of

if TYPE_CHECKING:
    from gamedsl.runtime.game import Game

View = Literal["table", "tree", "flow", "sight"]
VIEWS: tuple[View, ...] = ("table", "tree", "flow", "sight")

SMALL = 200
"""Trees of at most so many nodes are drawn unasked, and of larger ones at most so many nodes."""

PAGE = 760
"""Units across a page, beyond which a picture grows in another direction."""

SUFFIXES = (".svg",)
"""The ends of files that pictures are written to."""


def check_suffix(path: Path) -> None:
    """Raises ValueError for a file whose name ends as that of another format."""
    if path.suffix[1:].isalpha() and path.suffix.lower() not in SUFFIXES:
        plain = path.with_suffix("")
        name = plain if plain.suffix.lower() in SUFFIXES else path.with_suffix(SUFFIXES[0])
        raise ValueError(
            f"no picture is written as `{path.suffix}`, only as {' or '.join(SUFFIXES)}: "
            f"name {name}"
        )


@dataclass(frozen=True)
class Views:
    """The views of a game. At most `limit` nodes of its tree are drawn, and at most `depth` moves
    deep."""

    game: Game
    limit: int = SMALL
    depth: int | None = None

    @cached_property
    def listed(self) -> bool:
        """Whether all plays can be listed: the game has no written replies, calls or referees."""
        return not (self.game.ir.open or self.game.ir.referees)

    @cached_property
    def tree(self) -> DrawnTree:
        """The tree. Raises ValueError if the game has none."""
        if not self.listed:
            raise ValueError(
                f"{self.game.name} has no tree to draw, since it has written replies, calls or a "
                "referee; `--view flow` draws its steps"
            )
        return draw_tree(self.game.kernel(), limit=self.limit, depth=self.depth)

    @cached_property
    def table(self) -> Cells | None:
        """The payoff table; None where roles decide more than once, or knowing something, or in a
        game too large to go through."""
        from gamedsl.solve import ImperfectRecall, TooLarge, one_shot, tabulate

        ir = self.game.ir
        if not self.listed:
            return None
        normal = ir.plain and len(ir.steps) == 1
        if len(ir.seats) < 2 or any(len(steps) > 1 for steps in self._decisions_by_seat):
            return None
        if self.tree.nodes is None and not normal:
            return None
        try:
            found = one_shot(tabulate(self.game.env()))
        except (TooLarge, ImperfectRecall):
            return None
        return None if found is None else cells_of(found)

    @property
    def _decisions_by_seat(self) -> list[set[str]]:
        """The decisions that each seat may come to."""
        ir = self.game.ir
        return [{step.id for step in ir.steps if seat in step.actors} for seat in ir.seats]

    @cached_property
    def fitting(self) -> tuple[View, ...]:
        """The views that say most of the game."""
        if self.table is not None:
            return ("table",)
        if self.listed and self.tree.nodes is not None and self.tree.nodes <= self.limit:
            return ("tree", "sight")
        return ("flow", "sight")

    @property
    def hint(self) -> str:
        """A word on the tree where it is too large to be shown unasked; else empty."""
        if "flow" not in self.fitting or not self.listed:
            return ""
        count = f"{self.tree.nodes:,}" if self.tree.nodes else f"more than {COUNTED:,}"
        return f"the tree has {count} nodes; `--view tree` draws the top of it (--depth, --limit)"

    def text(self, view: View) -> Iterator[Line]:
        """A view in lines. ValueError as `picture`."""
        name = self.game.name
        match view:
            case "table":
                from gamedsl.view.game.payoffs import payoff_lines

                yield from payoff_lines(self._cells(), name)
            case "tree":
                from gamedsl.view.game.tree_text import tree_lines

                yield from tree_lines(self.tree, name)
            case "flow":
                from gamedsl.view.game.flow import flow_lines

                yield from flow_lines(self.game.ir)
            case "sight":
                from gamedsl.view.game.sight import sight_lines

                yield from sight_lines(self.game.ir)

    def picture(self, view: View, width: float = PAGE) -> str:
        """A view as an SVG file, the same for the same game. ValueError for the table of a game
        that has none."""
        from gamedsl.view.game.flow_picture import flow_picture
        from gamedsl.view.game.payoffs_picture import payoffs_picture
        from gamedsl.view.game.sight_picture import sight_picture
        from gamedsl.view.game.tree_picture import tree_picture

        ir = self.game.ir
        match view:
            case "table":
                canvas, what = payoffs_picture(self._cells(), width=width), "The payoff table"
            case "tree":
                canvas, what = tree_picture(self.tree, width=width), "The game tree"
            case "flow":
                canvas, what = flow_picture(ir), "The turn program"
            case "sight":
                canvas, what = sight_picture(ir), "Who sees what, when, in the steps"
        text = "\n".join("".join(run.text for run in line).rstrip() for line in self.text(view))
        return canvas.document(f"{what} of {self.game.name}", text)

    def _cells(self) -> Cells:
        if not self.listed:
            raise ValueError(
                f"{self.game.name} has no payoff table to draw, since it has written replies, "
                "calls or a referee; `--view flow` draws its steps"
            )
        if self.table is None:
            raise ValueError(
                f"{self.game.name} has no payoff table to draw: it needs one decision for each "
                "role, made without knowing the others'; `--view tree` draws its tree"
            )
        return self.table
