"""Reads a strategic game: payoffs one by one, or outcomes and their places."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from typing import NoReturn

from gamedsl.diagnostics.spans import Span
from gamedsl.imports.tokens import Token, TokenReader

MAX_CELLS = 20_000
"""Combinations of strategies: what a payoff table of ours can be read with."""


@dataclass(frozen=True)
class Strategic:
    """A strategic game as it was written. `payoffs` has a row for each combination of strategies'
    numbers, one amount a player, in the order in which the last player's varies fastest."""

    title: str
    comment: str
    players: tuple[str, ...]
    strategies: tuple[tuple[str, ...], ...]
    payoffs: dict[tuple[int, ...], tuple[Fraction, ...]]


def read_nfg(reader: TokenReader) -> Strategic:
    """The game behind `NFG 1 R`. Raises WrongFile, with problems."""
    title = reader.text("a title in quotes").text
    players = reader.texts("a player's name in quotes")
    if not players:
        reader.fail("GD0802", "a game needs a player", reader.next.span, "none before this")
    place = reader.next.span
    strategies = _strategies(reader, players)
    comment = reader.take().text if reader.next.kind == "text" else ""
    sizes = [len(names) for names in strategies]
    many = prod(sizes)
    if many > MAX_CELLS:
        _refuse(reader, f"{many:,} combinations of strategies are too many", place)
    if reader.opens():
        rows = _by_outcome(reader, len(players), many)
    else:
        rows = [
            tuple(reader.number(f"a payoff of {player.text}") for player in players)
            for _ in range(many)
        ]
    reader.done(f"the payoffs of all {many} combinations")
    # In the file the first player's strategy varies fastest.
    numbers = [places[::-1] for places in product(*map(range, reversed(sizes)))]
    found = dict(zip(numbers, rows, strict=True))
    ordered = {place: found[place] for place in product(*map(range, sizes))}
    return Strategic(title, comment, tuple(p.text for p in players), strategies, ordered)


def _refuse(reader: TokenReader, message: str, place: Span) -> NoReturn:
    help = "import the extensive form, if there is one"
    reader.fail("GD0809", message, place, f"at most {MAX_CELLS:,}", help)


def _strategies(reader: TokenReader, players: tuple[Token, ...]) -> tuple[tuple[str, ...], ...]:
    """`{ { "a" "b" } { "c" "d" } }`, or `{ 2 2 }`, which leaves them without names."""
    start = reader.next.span
    reader.open("the strategies of each player")
    found: list[tuple[str, ...]] = []
    while not reader.closes():
        if reader.is_number():
            place = reader.next.span
            many = reader.count("a number of strategies")
            if many > MAX_CELLS:
                _refuse(reader, f"{many:,} strategies are too many", place)
            found.append(tuple(str(i + 1) for i in range(many)))
        else:
            found.append(tuple(t.text for t in reader.texts("a strategy's name in quotes")))
    if len(found) != len(players):
        reader.fail(
            "GD0805", f"{len(found)} players have strategies, and {len(players)} are named", start,
            "as many lists as players stand here",
        )  # fmt: skip
    for names, player in zip(found, players, strict=True):
        if not names:
            reader.fail(
                "GD0805", f"{player.text} has no strategy", player.span, "every player needs one"
            )
    return tuple(found)


def _by_outcome(reader: TokenReader, players: int, many: int) -> list[tuple[Fraction, ...]]:
    """Outcomes, then the number of one for each combination, where 0 pays nothing."""
    outcomes = [(Fraction(0),) * players]
    while not reader.closes():
        reader.open("an outcome's name and payoffs")
        name = reader.text("an outcome's name in quotes")
        outcomes.append(
            reader.payoffs(players, "an outcome", name.span, f"outcome {len(outcomes)}")
        )
    rows = []
    for _ in range(many):
        span = reader.next.span
        number = reader.count("the number of an outcome")
        if number >= len(outcomes):
            reader.fail(
                "GD0806", f"there is no outcome {number}", span, f"they end at {len(outcomes) - 1}"
            )
        rows.append(outcomes[number])
    return rows
