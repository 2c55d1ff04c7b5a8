"""Histories that an environment has played, each worked out once.

A position is a history with all that follows from it alone; episodes, their forks and the bundles
of a training step share positions, so that going where many have been is a look into a dict. What
follows a position is kept from the second time on that somebody comes there: of a game so large
that no two plays are alike, an episode leaves little behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from gamedsl.engine.interpreter import History, answers_of
from gamedsl.engine.kernel import Amounts, State
from gamedsl.prompting.events import Turn, counts_of

MANY = 50_000
"""Positions that a tree keeps; those beyond are worked out anew each time."""

Move = tuple[str, ...] | int
"""A move: the names that all who are asked choose, in their order; or the number of an outcome."""


Talk = Mapping[str, tuple[Turn, ...]]
NO_TALK: Talk = MappingProxyType({})


class Log(NamedTuple):
    """A log, the last entry first: a step of a transcript, and the log before it."""

    entry: dict[str, Any]
    before: Log | None


def entries(log: Log | None) -> list[dict[str, Any]]:
    """Returns the steps of a log, the first first, as copies."""
    found = []
    while log is not None:
        found.append({k: dict(v) if isinstance(v, dict) else v for k, v in log.entry.items()})
        log = log.before
    return found[::-1]


def _answered(log: Log | None, state: State, known: int) -> Log | None:
    """Returns a log with the results of functions since the first `known` results."""
    for step, function, given in answers_of(state)[known:]:
        log = Log({"step": step, "call": function, "gives": list(given)}, log)
    return log


class PositionTree:
    """The positions of one game that were reached, and how many are kept. With `talks`, they know
    each seat's earlier decisions."""

    def __init__(
        self, start: State, *, talks: bool = False,
        counts: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        """`counts` as of `GameIR.asked_counts`."""
        self.talks = talks
        self.counts = counts
        self.root = Position(self, start, _answered(None, start, 0))
        self.root.known = True
        self.kept = 1


class Position:
    """A history: its state, which is never moved, and its payoffs where it is over.

    `cache` is for what the owner of the tree derives from it.
    """

    __slots__ = (
        "_after", "_tree", "cache", "known", "log", "payoffs", "referee_payoffs", "rewards",
        "state", "talk",
    )  # fmt: skip

    def __init__(
        self, tree: PositionTree, state: State, log: Log | None, talk: Talk = NO_TALK
    ) -> None:
        """Raises `gamedsl.EvaluationError` where a game is over and its payoffs have no value."""
        over = state.kind == "end"
        self.state = state
        self.log = log
        self.talk = talk
        """Each seat's earlier decisions and replies, where the tree keeps them."""
        self.payoffs: Amounts = state.payoffs if over else {}
        self.rewards: Amounts = state.rewards if over else {}
        self.referee_payoffs: Amounts = {}
        if over and isinstance(state, History):
            self.referee_payoffs = state.referee_payoffs
        self.cache: Any = None
        self.known = False
        """Whether the position was reached before."""
        self._tree = tree
        self._after: dict[Move, Position] = {}

    def after(self, move: Move) -> Position:
        """Returns the position one move on. Raises `gamedsl.EvaluationError` where the rules
        fail."""
        found = self._after.get(move)
        if found is None:
            found = self._play(move)
            if self.known and self._tree.kept < MANY and found.given == self.given:
                self._tree.kept += 1
                self._after[move] = found
        else:
            found.known = True
        return found

    @property
    def given(self) -> int:
        """The number of results so far of functions that need not give the same again: where a move
        brings one, what follows is no function of the history, and is not kept."""
        return len(answers_of(self.state))

    def _play(self, move: Move) -> Position:
        state = self.state.copy()
        if isinstance(move, int):
            step, index = state.draws
            drawn = state.draw(move)
            log = Log({"step": step, "chance": {"/".join((step, *index)): drawn}}, self.log)
        else:
            asks = state.asks
            state.choose(move)
            chosen = {ask.seat: name for ask, name in zip(asks, move, strict=True)}
            log = Log({"step": asks[0].step, "choices": chosen}, self.log)
        talk = (
            self._talk_after(move) if self._tree.talks and not isinstance(move, int) else self.talk
        )
        return Position(self._tree, state, _answered(log, state, self.given), talk)

    def _talk_after(self, names: tuple[str, ...]) -> Talk:
        """Returns the decisions of each seat after a move; forced moves are no decisions."""
        talk = dict(self.talk)
        for ask, name in zip(self.state.asks, names, strict=True):
            if len(ask.legal) != 1:
                seen = len(self.state.seen(ask.seat))
                counts = self._tree.counts.get(ask.step, ())
                passes = counts_of(counts, self.state.variables) if counts else ()
                turn = Turn(ask.step, ask.legal, seen, name, passes)
                talk[ask.seat] = (*talk.get(ask.seat, ()), turn)
        return talk
