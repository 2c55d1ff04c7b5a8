"""The tabulated backend: every history of a small game, worked out once and laid out in lists.

A state is one number, so that it is moved and copied in no time. Histories are numbered from 0, the
one in which nothing has happened; those in which everything is forced are there too. What seats
have seen is worked out when it is first asked for, by playing there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from math import lcm
from typing import Any, cast

from gamedsl.engine.generated import Generated
from gamedsl.engine.kernel import Amounts, Ask, Kind, Outcome, State
from gamedsl.engine.walk import moves, size
from gamedsl.ir.evaluate import EvaluationError
from gamedsl.ir.game import GameIR
from gamedsl.prompting.events import Seen

LIMIT = 200_000
"""Histories that a table may have."""

REPLAYED = 2_000
"""Moves that are played again, by the interpreter, in histories where the rules fail: a table of a
game that fails more often is not made."""

KEPT = 16
"""Tables that are kept in the process."""

REPEATED = 1_000
"""Equally likely tickets of a chance node that are written out for rollouts."""

NOWHERE = -1
"""Stands for a history in which the rules fail."""


class TooLargeError(ValueError):
    """A game has too many histories for a table, or too many in which its rules fail."""


class HistoryTable:
    """The histories of a game, by their numbers. Read only.

    `kinds` is what happens in each; `counts` how many options each who is asked has; `after` the
    histories that follow: one for each option or outcome, and where several choose at once one for
    each combination, the last seat's changing fastest (-1: the rules fail). `before` is the history
    that each follows, and `moves` by which move. `payoffs` and `rewards` are None where a game is
    not over, and where they have no value.
    """

    def __init__(self, kernel: Generated, limit: int | None = None) -> None:
        """`limit` is how many histories there may be, by default `LIMIT`; `TooLargeError` where
        there are more. Where the game cannot even begin, the table is empty."""
        self.kinds: list[Kind] = []
        self.counts: list[tuple[int, ...]] = []
        self.after: list[list[int]] = []
        self.before: list[int] = []
        self.moves: list[tuple[int, ...]] = []
        self.asks: list[tuple[Ask, ...]] = []
        self.payoffs: list[Amounts | None] = []
        self.rewards: list[Amounts | None] = []
        self.draws: dict[int, tuple[str, tuple[str, ...]]] = {}
        self.outcomes: dict[int, tuple[Outcome, ...]] = {}
        self.tickets: dict[int, tuple[int, ...]] = {}
        """For each chance node, how many of its equally likely tickets are up to each outcome."""
        self.rows: list[tuple[Kind, tuple[int, ...], list[int]]] = []
        """Kind, counts and what follows, of each history."""
        self.seen: dict[str, dict[int, Seen]] = {seat: {} for seat in kernel.ir.seats}
        """The events of each seat, where they were asked for; `known`, as text."""
        self.known: dict[str, dict[int, str]] = {seat: {} for seat in kernel.ir.seats}
        self._build(kernel, LIMIT if limit is None else limit)
        self.rolls = [self._roll(node) for node in range(len(self))]
        """The histories after each history, as often as they are likely when all choose at random:
        rollouts need no more than this. Empty at the end, and where chance has more than `REPEATED`
        tickets."""

    def __len__(self) -> int:
        return len(self.kinds)

    def _build(self, kernel: Generated, limit: int) -> None:
        """Goes through all histories, depth first."""
        same: dict[Any, Any] = {}
        depths: list[int] = []
        replayed = 0
        waiting: list[tuple[State, int, int, tuple[int, ...]]] = []
        with suppress(EvaluationError):
            waiting.append((kernel.start(), NOWHERE, 0, ()))
        while waiting:
            state, before, place, move = waiting.pop()
            node = len(self)
            if before != NOWHERE:
                self.after[before][place] = node
            if node + 1 + len(waiting) + size(state) > limit:
                raise TooLargeError(f"more than {limit:,} histories are too many for a table")
            self.before.append(before)
            depths.append(depths[before] + 1 if before != NOWHERE else 0)
            self.moves.append(same.setdefault(move, move))
            self._add(state, same)
            counts = self.counts[node]
            following = list(moves(state))
            self.after.append([NOWHERE] * len(following))
            self.rows.append((self.kinds[node], counts, self.after[node]))
            for i in reversed(range(len(following))):
                moved = state.copy()
                try:
                    moved.apply(*following[i])
                except (
                    EvaluationError
                ):  # the interpreter has played it all again, to find the place
                    replayed += depths[node] + 1
                    if replayed > REPLAYED:
                        raise TooLargeError("its rules fail in too many histories") from None
                    continue
                waiting.append((moved, node, i, following[i]))

    def _add(self, state: State, same: dict[Any, Any]) -> None:
        """Adds what a state says of itself; `same` are the values that were met before."""
        node, counts, asks = len(self), state.counts, state.asks
        self.kinds.append(state.kind)
        self.counts.append(same.setdefault(counts, counts))
        self.asks.append(same.setdefault(asks, asks))
        payoffs = rewards = None
        if state.kind == "end":
            try:
                payoffs, rewards = state.payoffs, state.rewards
            except EvaluationError:
                payoffs = rewards = None
        elif state.kind == "chance":
            outcomes, draws = state.outcomes, state.draws
            self.outcomes[node] = same.setdefault(outcomes, outcomes)
            self.draws[node] = same.setdefault(draws, draws)
            tickets = _tickets(outcomes)
            self.tickets[node] = same.setdefault(tickets, tickets)
        self.payoffs.append(payoffs)
        self.rewards.append(rewards)

    def _roll(self, node: int) -> Sequence[int]:
        tickets = self.tickets.get(node)
        if tickets is None:
            return self.after[node]
        if tickets[-1] > REPEATED:
            return ()
        numbers = (upto - before for before, upto in zip((0, *tickets), tickets, strict=False))
        return [n for n, times in zip(self.after[node], numbers, strict=True) for _ in range(times)]

    def rollout(self, random: Callable[[], float], node: int = 0) -> int:
        """Plays on from a history, everyone choosing at random: the history where it ends.

        `random` gives numbers from 0 to below 1. Where the rules fail, -1.
        """
        rolls = self.rolls
        while node >= 0:
            following = rolls[node]
            if following:
                node = following[int(random() * len(following))]
            elif node in self.tickets:
                tickets = self.tickets[node]
                node = self.after[node][bisect_right(tickets, int(random() * tickets[-1]))]
            else:
                break
        return node


def _tickets(outcomes: Sequence[Outcome]) -> tuple[int, ...]:
    total = lcm(*(outcome.probability.denominator for outcome in outcomes))
    return tuple(accumulate(int(outcome.probability * total) for outcome in outcomes))


_TABLES: dict[str, HistoryTable | str] = {}
"""Tables by the hash of the tree, or why there is none."""


class Tabulated:
    """The rules of one small game, as a table. A `gamedsl.engine.kernel.Kernel`."""

    def __init__(self, ir: GameIR) -> None:
        """Raises `TooLargeError`."""
        self.ir = ir
        self.kernel = Generated(ir)
        if ir.tree_hash not in _TABLES:
            if len(_TABLES) >= KEPT:
                _TABLES.pop(next(iter(_TABLES)))
            try:
                _TABLES[ir.tree_hash] = HistoryTable(self.kernel)
            except TooLargeError as error:
                _TABLES[ir.tree_hash] = str(error)
        table = _TABLES[ir.tree_hash]
        if isinstance(table, str):
            raise TooLargeError(f"`{ir.name}`: {table}")
        self.table = table
        own = {"kernel": self, "_rows": table.rows, "_known": table.known}
        self._place = cast(
            type[TableState], type("TableState", (TableState,), {"__slots__": (), **own})
        )

    def start(self) -> TableState:
        if not len(self.table):
            self.kernel.start()
        return self._place()

    def state(self, node: int) -> State:
        """A history as another backend plays it."""
        moves = []
        at = node
        while at:
            moves.append(self.table.moves[at])
            at = self.table.before[at]
        state = self.kernel.start()
        for move in reversed(moves):
            state.apply(*move)
        return state


class TableState:
    """A history, by its number in the table. A `gamedsl.engine.kernel.State`."""

    __slots__ = ("_after", "counts", "kind", "node")

    kernel: Tabulated
    """Set in the class that each kernel makes of it, as are `_rows` and `_known` of its table."""
    _rows: list[tuple[Kind, tuple[int, ...], list[int]]]
    _known: dict[str, dict[int, str]]
    kind: Kind
    counts: tuple[int, ...]
    node: int
    """Its number."""

    def __init__(self, node: int = 0) -> None:
        self.node = node
        self.kind, self.counts, self._after = self._rows[node]

    def copy(self) -> TableState:
        return type(self)(self.node)

    def apply(self, number: int, *others: int) -> None:
        if others:
            number = self._combined(number, others)
        node = self._after[number]
        if node < 0:
            self.kernel.state(self.node).apply(*self._numbers(number))  # raises what is wrong
        self.node = node
        self.kind, self.counts, self._after = self._rows[node]

    def _combined(self, number: int, others: tuple[int, ...]) -> int:
        """The number of a combination of options."""
        for count, other in zip(self.counts[1:], others, strict=True):
            number = number * count + other
        return number

    def _numbers(self, number: int) -> list[int]:
        """The options of each who chooses, by the number of their combination; or an outcome."""
        if self.kind == "chance":
            return [number]
        numbers = []
        for count in reversed(self.counts):
            number, own = divmod(number, count)
            numbers.append(own)
        return numbers[::-1]

    def choose(self, names: Sequence[str]) -> None:
        asks = self.asks
        self.apply(*[ask.legal.index(n) for ask, n in zip(asks, names, strict=True)])

    def draw(self, outcome: int) -> str:
        name = self.outcomes[outcome].name
        self.apply(outcome)
        return name

    @property
    def asks(self) -> tuple[Ask, ...]:
        return self.kernel.table.asks[self.node]

    @property
    def asked(self) -> tuple[str, ...]:
        return tuple([ask.seat for ask in self.asks])

    @property
    def draws(self) -> tuple[str, tuple[str, ...]]:
        return self.kernel.table.draws[self.node]

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        return self.kernel.table.outcomes.get(self.node, ())

    @property
    def outcome_count(self) -> int:
        return len(self._after) if self.kind == "chance" else 0

    def outcome(self, number: int) -> Outcome:
        return self.outcomes[number]

    def outcome_named(self, name: str) -> int | None:
        numbered = enumerate(self.outcomes)
        return next((number for number, outcome in numbered if outcome.name == name), None)

    def pick(self, seed: int) -> int:
        return self.kernel.state(self.node).pick(seed)

    def sample(self, random: Callable[[], float]) -> int:
        tickets = self.kernel.table.tickets[self.node]
        return bisect_right(tickets, int(random() * tickets[-1]))

    def seen(self, seat: str) -> Seen:
        seen = self.kernel.table.seen[seat]
        if self.node not in seen:
            seen[self.node] = self.kernel.state(self.node).seen(seat)
        return seen[self.node]

    def known(self, seat: str) -> str:
        text = self._known[seat].get(self.node)
        if text is None:
            text = self._known[seat][self.node] = self.kernel.state(self.node).known(seat)
        return text

    @property
    def payoffs(self) -> Amounts:
        payoffs = self.kernel.table.payoffs[self.node]
        return self.kernel.state(self.node).payoffs if payoffs is None else payoffs

    @property
    def rewards(self) -> Amounts:
        rewards = self.kernel.table.rewards[self.node]
        return self.kernel.state(self.node).rewards if rewards is None else rewards

    @property
    def streams(self) -> Mapping[str, Amounts]:
        return self.kernel.state(self.node).streams

    @property
    def variables(self) -> Mapping[str, Any]:
        return self.kernel.state(self.node).variables
