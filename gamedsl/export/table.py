"""The formats that `gamedsl export` writes.

A new format is a module of this package with a function from a game to a text, and its row here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gamedsl.runtime.game import Game


class Exporter(NamedTuple):
    """A format. `name` is its `--to` and the suffix of its files; `about` says what it is.

    `write(game, limit)` returns the text. It raises ValueError or `TooLarge` if the format cannot
    hold the game, or the game's tree has more than `limit` nodes.
    """

    name: str
    about: str
    write: Callable[[Game, int], str]


def _efg(game: Game, limit: int) -> str:
    from gamedsl.export.gambit import to_efg

    return to_efg(game, limit=limit)


def _nfg(game: Game, limit: int) -> str:
    from gamedsl.export.gambit import to_nfg

    return to_nfg(game, limit=limit)


ROWS = (
    Exporter("efg", "Gambit's extensive form", _efg),
    Exporter("nfg", "Gambit's strategic form", _nfg),
)

EXPORTERS: dict[str, Exporter] = {row.name: row for row in ROWS}
