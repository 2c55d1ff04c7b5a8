"""Players that follow the line of a prompt of Hanabi, as controls of training: they read nothing
else, and learn nothing.

    P=module:benchmarks/hanabi_lines.py
    gamedsl eval $P:told --against $P:told --game benchmarks/hanabi_short.yaml \\
        --games 1000 --seed 1 --search 0
    gamedsl eval $P:known --against $P:known --game benchmarks/small_hanabi_short.yaml \\
        --games 1000 --seed 1 --search 0
    gamedsl eval $P:touched --against $P:touched --game benchmarks/small_hanabi_short.yaml \\
        --games 1000 --seed 1 --search 0

The deals are those that `train_queue.py` holds out. `told` is for `hanabi_short`, whose line names
moves; `known` and `touched` are for `small_hanabi_short`, whose line tells facts.
"""

from __future__ import annotations

from collections.abc import Iterable

from gamedsl.runtime import Decision, Episode

WORTH = ("dead", "maybe", "last", "sure")
"""What a card of one's own may be, in the order in which it is discarded."""


def told(decision: Decision, episode: Episode) -> str:
    """Plays a card where the line says so, else gives a hint that asks for a card, else discards
    the card that the line names, else gives a hint that asks for none."""
    _, cards, hint = line(decision).split("; ")
    mine, (asks, *whats) = cards.split(", "), hint.replace(",", "").split()
    plays = [f"play({i})" for i, what in enumerate(mine) if what == "play"]
    drops = [f"discard({i})" for i, what in enumerate(mine) if what in ("spare", "risk")]
    hints = hints_of(decision, whats)
    wanted = [*plays, *drops, *hints] if asks == "idle" else [*plays, *hints, *drops]
    return first(decision, wanted)


def known(decision: Decision, episode: Episode) -> str:
    """Plays a card that surely fits, else hints the rank of a card that fits now, else discards the
    card that is worth least, else gives the last hint that it may."""
    _, mine, cards, fates = facts(decision)
    whats = [card[1] for card, fate in zip(cards, fates, strict=True) if fate == "now"]
    plays = [f"play({i})" for i, what in enumerate(mine) if what == "sure"]
    return first(decision, [*plays, *hints_of(decision, whats), *discards(mine)])


def touched(decision: Decision, episode: Episode) -> str:
    """Plays as `known`, and also the oldest card that the last hint touched, unless that surely
    never fits, and gives the hints alone whose oldest card fits now."""
    oldest, mine, cards, fates = facts(decision)
    plays = [f"play({i})" for i, what in enumerate(mine) if what == "sure"]
    plays += [f"play({oldest})"] if oldest is not None and mine[oldest] != "dead" else []
    reached: dict[str, str] = {}
    for card, fate in zip(cards, fates, strict=True):
        for what in reversed(card):  # the rank before the colour
            reached.setdefault(what, fate)  # of the oldest card that a hint of it touches
    whats = [what for what, fate in reached.items() if fate == "now"]
    return first(decision, [*plays, *hints_of(decision, whats), *discards(mine)])


def facts(decision: Decision) -> tuple[int | None, list[str], list[list[str]], list[str]]:
    """Returns what the line of `small_hanabi_short` tells: the oldest card that the last hint
    touched, what one's own cards may be, and the other's cards with their fates."""
    _, hint, mine, *cards, last = line(decision).split("; ")
    places = hint.partition(" ")[2]
    card, _, fates = last.partition(" ")
    oldest = None if places == "nothing" else int(places.split(", ")[0])
    hand = [one.split(",") for one in (*cards, card)]
    return oldest, mine.split(", "), hand, fates.split(", ")


def line(decision: Decision) -> str:
    """Returns the line that the prompt ends with, before its question."""
    return decision.messages[-1][1].splitlines()[0]


def hints_of(decision: Decision, whats: Iterable[str]) -> list[str]:
    """Returns the legal hints of some colours and ranks, in their order."""
    hints = [name for name in decision.legal if name.startswith("hint")]
    return [name for what in whats for name in hints if name.endswith(f",{what})")]


def discards(mine: list[str]) -> list[str]:
    """Returns the discards of one's cards, those first that are worth least, then the oldest."""
    return [f"discard({i})" for i in sorted(range(len(mine)), key=lambda i: WORTH.index(mine[i]))]


def first(decision: Decision, wanted: Iterable[str]) -> str:
    """Writes the first of some moves that is legal, else the last legal move."""
    legal = decision.legal
    return decision.write(next((name for name in wanted if name in legal), legal[-1]))
