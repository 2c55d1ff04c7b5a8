"""`Picture`: one view of a game, as notebooks, terminals and files show it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gamedsl.storage.writer import write_output
from gamedsl.tables.text import rendered
from gamedsl.view.game.views import SMALL, VIEWS, View, Views, check_suffix

if TYPE_CHECKING:
    from gamedsl.runtime.game import Game


@dataclass(frozen=True)
class Picture:
    """A view of a game. `str` is its text, and `svg` the file that `save` writes."""

    game: str
    view: View
    svg: str
    text: str

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Picture {self.game}: {self.view}>"

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> Path:
        """Write the picture as an SVG file, and return its path.

        Raises ValueError for a name with the end of another format, and OSError where the system
        refuses the file.
        """
        check_suffix(Path(path))
        write_output(Path(path), self.svg, parents=True)
        return Path(path)


def draw(game: Game, view: str | None, limit: int | None, depth: int | None) -> Picture:
    """Draws a view, by default the first of those that fit. ValueError where there is none."""
    views = Views(game, SMALL if limit is None else limit, depth)
    chosen = next((known for known in VIEWS if known == view), None)
    if view is None:
        chosen = views.fitting[0]
    if chosen is None:
        raise ValueError(f"there is no view `{view}`; known: {', '.join(VIEWS)}")
    return Picture(game.name, chosen, views.picture(chosen), rendered(views.text(chosen)))
