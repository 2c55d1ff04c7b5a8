"""The seats that somebody takes in a play, and the players of the others, as texts name them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gamedsl.diagnostics.suggest import did_you_mean

if TYPE_CHECKING:
    from gamedsl.ir.game import GameIR


class SeatError(ValueError):
    """A name that is no seat, or a player of a seat that is taken; the text ends with a fix."""


def seats_named(ir: GameIR, names: Iterable[str]) -> frozenset[str]:
    """Returns the seats of these names: seats, roles, `all`, or several with commas between them.

    Raises SeatError for a name that is none of these.
    """
    found: set[str] = set()
    for name in (part.strip() for text in names for part in text.split(",")):
        if name == "all":
            found |= set(ir.everyone)
            continue
        seats = {seat for seat in ir.everyone if name in (seat, ir.role_of[seat])}
        if not seats:
            raise _no_seat(ir, name, (*ir.everyone, *dict.fromkeys(ir.role_of.values())))
        found |= seats
    return frozenset(found)


def _no_seat(ir: GameIR, name: str, known: Iterable[str]) -> SeatError:
    near = did_you_mean(name, known)
    fix = f"did you mean `{near}`?" if near else f"there are {', '.join(ir.everyone)}"
    return SeatError(f"{ir.name} has no seat `{name}`; {fix}")


def names_seat(text: str) -> bool:
    """Returns whether a text is `SEAT=PLAYER`: a `=` behind a colon belongs to the player."""
    seat, equals, _ = text.partition("=")
    return bool(equals) and ":" not in seat


def players_named(ir: GameIR, held: frozenset[str], against: Iterable[str]) -> dict[str, str]:
    """Returns the players that hold seats that are not `held`, by seat, as texts such as
    `mcts:200`.

    Each of `against` is `SEAT=PLAYER`, or `PLAYER` for all other seats that none has named before.
    A seat that nothing names is left out. Raises SeatError for a player of a seat that is held, or
    that there is not: no kind of player has a `=` behind its name.
    """
    others = [seat for seat in ir.everyone if seat not in held]
    named: dict[str, str] = {}
    for text in against:
        seat, equals, spec = text.partition("=")
        if equals and seat.strip() in ir.everyone:
            if seat.strip() in held:
                raise SeatError(f"{seat.strip()} is yours: name a player for another seat")
            named[seat.strip()] = spec.strip()
        elif names_seat(text):
            raise _no_seat(ir, seat.strip(), ir.everyone)
        else:
            named |= {one: text.strip() for one in others if one not in named}
    return named
