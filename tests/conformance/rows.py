"""The parts of a row of `games.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyspiel

import gamedsl
from tests.conformance.lockstep import Mode
from tests.conformance.sides import Agreement

GAMES = Path(__file__).parent.parent.parent / "games"

VARIANTS = Path(__file__).parent / "variants"
"""Games of OpenSpiel's that are shipped ones with other numbers, as `extends`."""


@dataclass(frozen=True)
class Walk:
    """The walk of one configuration. `games` are those of a random walk."""

    mode: Mode
    games: int = 0
    weekly: bool = False


TREE = (Walk("tree"),)
RANDOM = (Walk("random", 100), Walk("random", 2_000, weekly=True))
LONG = (Walk("random", 100), Walk("random", 400, weekly=True))


@dataclass(frozen=True)
class Row:
    """A game of ours, one of theirs, and how they agree.

    `histories` is the number of nodes of their tree, simultaneous ones as one node per actor, and
    `sets` the number of information sets by player; both only for trees that are walked whole.
    `again` is how often at least a random game meets an information set that was met before.
    """

    id: str
    ours: str | Path
    theirs: Callable[[], Any]
    agreement: Callable[[gamedsl.Env], Agreement]
    walks: tuple[Walk, ...] = TREE
    params: Mapping[str, Any] = field(default_factory=dict)
    histories: int | None = None
    sets: tuple[int, ...] | None = None
    rules: str = ""
    again: float = 1

    def env(self, backend: str | None = None) -> gamedsl.Env:
        return gamedsl.load(self.ours, params=self.params).env(backend=backend)


def spiel(text: str, params: Mapping[str, Any] | None = None) -> Callable[[], Any]:
    return lambda: pyspiel.load_game(text, dict(params)) if params else pyspiel.load_game(text)


def always(agreement: Agreement) -> Callable[[gamedsl.Env], Agreement]:
    return lambda env: agreement


def numbers(*names: str) -> Callable[[str], int]:
    """Maps names to their places: theirs counts from 0 in the order that is given."""
    places = {name: place for place, name in enumerate(names)}
    return lambda name: places[name]


def moves(*names: str) -> Callable[[int, str], int]:
    """Maps as `numbers` does, for actions: the same for every seat."""
    place = numbers(*names)
    return lambda seat, name: place(name)


def less_one(name: str) -> int:
    return int(name) - 1


def arguments(name: str) -> list[str]:
    """Turns `mark(0,2)` into ["0", "2"]."""
    return name.partition("(")[2].removesuffix(")").split(",")
