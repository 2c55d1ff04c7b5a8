"""Claims of the compiler about a game, and how sure each is.

Every claim carries a grade: nothing is skipped in silence, and nothing that was only tried is
called proved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Grade = Literal["proved", "enumerated", "sampled", "refuted", "undecided"]
"""proved: for all plays, by types and flow. enumerated: every history was gone through. sampled:
nothing against it in the plays that were made. refuted: there is a witness. undecided: it could not
be looked at, and `Proof.extent` says why."""

Moves = tuple[str, ...]
"""A history to replay, from the start: the names of outcomes of chance, and of what is chosen, one
for each seat that is asked, in the order of `Episode.decisions`; forced ones too."""


@dataclass(frozen=True)
class Proof:
    """One thing said of a game: `claim` is a sentence; `extent` how far it was looked at, and
    `codes` those of the problems that refute it. `witness` are lines for people, `histories` the
    histories of the witness, each from the start of the game; `short` is the claim in a few words,
    where people want to know it without asking."""

    name: str
    claim: str
    grade: Grade
    extent: str = ""
    codes: tuple[str, ...] = ()
    witness: tuple[str, ...] = ()
    histories: tuple[Moves, ...] = ()
    short: str = ""
