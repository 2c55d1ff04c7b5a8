"""The formats and the libraries that `gamedsl export` writes for.

A new format is a module of this package with a function from a game to a text, and its row in
`ROWS`. A new library with a loop of its own is a module of its name, a folder of its name in
`packages/` with the files of the package to write, and its row in `LOOPS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from gamedsl.extras import Requirement

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


class Peer(NamedTuple):
    """A library whose own loop plays our games. `name` is its `--to`, its module in this package
    and its folder in `packages/`; `needs` are the versions that its module imports.

    `single`: its loop holds one seat.
    """

    name: str
    about: str
    needs: Requirement
    single: bool = False


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

LOOPS = (
    Peer(
        "gymnasium", "one seat as a gymnasium environment",
        Requirement("gymnasium", "gymnasium", "1.1", "2"), single=True,
    ),
    Peer(
        "verifiers", "an environment of verifiers and prime-rl, one agent a role",
        Requirement("verifiers", "verifiers", "0.4", "0.5"),
    ),
    Peer(
        "trl", "a script that trains all roles with TRL's GRPOTrainer",
        Requirement("trl", "trl", "1.16", "1.17"),
    ),
    Peer(
        "inspect", "a task of Inspect, whose models hold the seats",
        Requirement("inspect-ai", "inspect", "0.3.200", "0.4"),
    ),
    Peer(
        "textarena", "an environment of TextArena, for its agents and wrappers",
        Requirement("textarena", "textarena", "0.7", "0.8"),
    ),
    Peer(
        "openenv", "a server and a client of OpenEnv",
        Requirement("openenv-core", "openenv", "0.3", "0.4"),
    ),
    Peer(
        "tinker", "environments and a training script of tinker-cookbook",
        Requirement("tinker-cookbook", "tinker", "0.5.8", "0.7"),
    ),
)  # fmt: skip

PEERS: dict[str, Peer] = {row.name: row for row in LOOPS}
