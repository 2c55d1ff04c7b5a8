"""Texts of small games, and a counter of tokens that is no tokenizer."""

from __future__ import annotations

from collections.abc import Callable

STAG_HUNT = """
game: stag_hunt
about: Stag pays most but needs both hunters; hare is safe alone.
roles: [hunter_1, hunter_2]
actions: [stag, hare]
protocol: simultaneous
payoffs: |
  hunter_1, hunter_2 | stag | hare
  stag               | 4, 4 | 0, 3
  hare               | 3, 0 | 2, 2
"""

ULTIMATUM = """
game: ultimatum
about: One offers a split; the other takes it, or both get nothing.
roles: [proposer, responder]
params: {pie: 10}
turns:
  - {role: proposer, choose: offer, from: {low: 2, fair: 5, high: 8}}
  - {role: responder, choose: answer, from: [accept, reject]}
payoffs:
  proposer: pie - offer if answer == accept else 0
  responder: offer if answer == accept else 0
"""


def options_game(count: int, labels: str = "labels: masked") -> str:
    """A game of two roles with this many options each, s1, s2, …"""
    names = ", ".join(f"s{number}" for number in range(1, count + 1))
    return f"""
game: many
roles: [ann, bob]
actions: [{names}]
protocol: simultaneous
payoffs: 1 if move.ann == move.bob else 0
{labels}
"""


class Counter:
    """A `TokenCounter` that counts by a function of the text."""

    def __init__(self, fingerprint: str, count: Callable[[str], int]) -> None:
        self.fingerprint = fingerprint
        self.count = count
