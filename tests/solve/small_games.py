"""Small games for the solver's tests: as trees built by hand, as a kernel without the compiler, and
shipped ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import permutations
from types import SimpleNamespace

import gamedsl
from gamedsl.engine.kernel import Ask
from gamedsl.solve import InfoSet, Tree, TreeBuilder, tabulate


@cache
def shipped(name: str) -> tuple[gamedsl.Game, Tree]:
    """A shipped game and its tree, made once for all tests."""
    game = gamedsl.load(name)
    return game, tabulate(game.env())


def matrix_tree(
    rows: Sequence[Sequence[tuple]], actions: Sequence[str], columns: Sequence[str] | None = None
) -> Tree:
    """A two-seat one-shot game, from its table."""
    columns = tuple(columns or actions)
    builder = TreeBuilder(["row", "column"])
    root = builder.decision(InfoSet("row", "row", "row", "move", tuple(actions)))
    column = InfoSet("column", "column", "column", "move", columns)
    seconds = []
    for row in rows:
        seconds.append(builder.decision(column))
        builder.link(seconds[-1], [builder.terminal(cell) for cell in row])
    builder.link(root, seconds)
    return builder.tree()


PRISONERS = ([[(3, 3), (0, 5)], [(5, 0), (1, 1)]], ("cooperate", "defect"))
STAG_HUNT = ([[(4, 4), (0, 3)], [(3, 0), (2, 2)]], ("stag", "hare"))
PENNIES = ([[(1, -1), (-1, 1)], [(-1, 1), (1, -1)]], ("heads", "tails"))
HAWK_DOVE = ([[(3, 3), (1, 4)], [(4, 1), (0, 0)]], ("dove", "hawk"))


def zero_sum(rows: Sequence[Sequence[int]]) -> list[list[tuple[int, int]]]:
    return [[(x, -x) for x in row] for row in rows]


ROCK = (zero_sum([[0, -1, 1], [1, 0, -1], [-1, 1, 0]]), ("rock", "paper", "scissors"))
BIASED_ROCK = (zero_sum([[0, -1, 3], [1, 0, -3], [-3, 3, 0]]), ("rock", "paper", "scissors"))


@dataclass
class FakeState:
    """A history of a game given as a list of rounds: each names who acts, from what and where."""

    rounds: Sequence[Callable[[dict], Sequence[tuple[str, Sequence[str], str]]]]
    pay: Callable[[dict], dict]
    split: Callable[[dict], dict] = lambda payoffs: payoffs
    past: dict = field(default_factory=dict)

    @property
    def kind(self) -> str:
        return "end" if len(self.past) == len(self.rounds) else "decide"

    @property
    def asks(self) -> tuple[Ask, ...]:
        asked = self.rounds[len(self.past)](self.past)
        return tuple(Ask(seat, step, 0, tuple(legal)) for seat, legal, step in asked)

    @property
    def payoffs(self) -> dict:
        return {seat: Fraction(x) for seat, x in self.pay(self.past).items()}

    @property
    def rewards(self) -> dict:
        return self.split(self.payoffs)

    def known(self, seat: str) -> str:
        return ""

    def apply(self, *numbers: int) -> None:
        chosen = zip(self.asks, numbers, strict=True)
        self.past[len(self.past)] = {ask.seat: ask.legal[number] for ask, number in chosen}

    def copy(self) -> FakeState:
        return FakeState(self.rounds, self.pay, self.split, dict(self.past))


class FakeEnv:
    """Such a game, as an env and its kernel in one."""

    def __init__(self, seats: Sequence[str], *args, **kwargs) -> None:
        roles = {seat: seat.split("_")[0] for seat in seats}
        self.ir = SimpleNamespace(
            seats=tuple(seats), role_of=roles, asked_as={}, open=False, referees=()
        )
        self.kernel = self
        self._args, self._kwargs = args, kwargs

    def start(self) -> FakeState:
        return FakeState(*self._args, **self._kwargs)


def ultimatum_env() -> FakeEnv:
    offers = {"low": 2, "fair": 5, "high": 8}

    def pay(past: dict) -> dict:
        offer, taken = offers[past[0]["proposer"]], past[1]["responder"] == "accept"
        return {"proposer": (10 - offer) * taken, "responder": offer * taken}

    return FakeEnv(
        ["proposer", "responder"],
        [
            lambda past: [("proposer", list(offers), "offer")],
            lambda past: [("responder", ["accept", "reject"], f"answer to {past[0]['proposer']}")],
        ],
        pay,
    )


def public_goods_env(players: int, factor: Fraction, split: Callable | None = None) -> FakeEnv:
    """Each gives 1 or keeps it; what is given is multiplied by `factor` and shared by all."""
    seats = [f"player_{i}" for i in range(1, players + 1)]

    def pay(past: dict) -> dict:
        pot = factor * sum(choice == "give" for choice in past[0].values())
        return {s: pot / players + (past[0][s] == "keep") for s in seats}

    kwargs = {"split": split} if split else {}
    return FakeEnv(seats, [lambda past: [(s, ["give", "keep"], s) for s in seats]], pay, **kwargs)


def kuhn_tree() -> Tree:
    """Kuhn poker with its deal as a chance node: 58 histories less 3 for the first card's own."""
    builder = TreeBuilder(["first", "second"])
    deals = list(permutations("JQK", 2))
    root = builder.chance([Fraction(1, 6)] * 6)

    def decide(seat: str, card: str, seen: str, actions: tuple[str, str]) -> int:
        return builder.decision(InfoSet(f"{seat} {card} {seen}", seat, seat, "move", actions))

    def end(stake: int, first_wins: bool) -> int:
        return builder.terminal((stake, -stake) if first_wins else (-stake, stake))

    def answer(seat: str, card: str, seen: str, better: bool) -> int:
        node = decide(seat, card, seen, ("fold", "call"))
        builder.link(node, [end(1, seat == "second"), end(2, better)])
        return node

    openings = []
    for first, second in deals:
        better = "JQK".index(first) > "JQK".index(second)
        opening = decide("first", first, "", ("check", "bet"))
        reply = decide("second", second, "check", ("check", "bet"))
        builder.link(reply, [end(1, better), answer("first", first, "check bet", better)])
        builder.link(opening, [reply, answer("second", second, "bet", better)])
        openings.append(opening)
    builder.link(root, openings)
    return builder.tree()
