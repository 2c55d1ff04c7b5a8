"""A game written out as arrays: its extensive form.

Nodes are numbered so that a parent comes before its children; a sweep upwards is therefore a walk
through the numbers in reverse. A simultaneous step is one decision node per actor, in seat order,
each blind to the others. Information sets are keyed by `Decision.information_set`, so the same key
serves solver, trainer and metrics. Chance nodes have a place in the arrays (`CHANCE`, `odds`), and
every algorithm over a tree treats them.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, assert_never

from gamedsl.engine.walk import ChanceNode, EndNode, ExtensiveNode, SeatNode, descend, seat_by_seat
from gamedsl.runtime.decision import key_of

if TYPE_CHECKING:
    from gamedsl.engine.kernel import State
    from gamedsl.runtime import Env

TERMINAL = -1
CHANCE = -2

Utility = Literal["rewards", "payoffs"]


class TooLarge(Exception):
    """The tree has more nodes than the caller allowed."""

    def __init__(self, limit: int) -> None:
        super().__init__(self.say(limit))
        self.limit = limit

    def say(self, limit: int) -> str:
        return f"the game tree has more than {limit:,} nodes"


UNLISTED = "it has no tree, since it has written replies, calls or a referee"
"""Why there is no tree of a game."""


class Unlisted(TooLarge):
    """The game has no tree: something is said in it, a function is called, or a referee acts."""

    def say(self, limit: int) -> str:
        return UNLISTED


class ImperfectRecall(Exception):
    """Two histories of one information set differ in what its owner did or knew before."""


@dataclass(frozen=True, slots=True)
class InfoSet:
    """An information set of a seat. `key` is `Decision.information_set`."""

    key: str
    seat: str
    role: str
    step: str
    actions: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Tree:
    """A finite game. All tuples but the first three are indexed by node. Compared by identity.

    `info[n]` is the number of the information set to move, or `TERMINAL`, or `CHANCE`.
    `children[n]` is parallel to the set's actions, or to `odds[n]`, which sum to 1.
    `payoffs[n]` and `rewards[n]` are exact, one per seat, and empty where the game goes on.
    `outcomes[n]` is parallel to `odds[n]`: what chance may bring, by name where it was given.
    """

    seats: tuple[str, ...]
    roles: tuple[str, ...]
    info_sets: tuple[InfoSet, ...]
    info: tuple[int, ...]
    children: tuple[tuple[int, ...], ...]
    odds: tuple[tuple[Fraction, ...], ...]
    payoffs: tuple[tuple[Fraction, ...], ...]
    rewards: tuple[tuple[Fraction, ...], ...]
    outcomes: tuple[tuple[str, ...], ...]

    def __len__(self) -> int:
        return len(self.info)

    @cached_property
    def terminals(self) -> tuple[int, ...]:
        return tuple(n for n, i in enumerate(self.info) if i == TERMINAL)

    @cached_property
    def members(self) -> tuple[tuple[int, ...], ...]:
        """The nodes of each information set."""
        members: list[list[int]] = [[] for _ in self.info_sets]
        for node, info in enumerate(self.info):
            if info >= 0:
                members[info].append(node)
        return tuple(map(tuple, members))

    @cached_property
    def owner(self) -> tuple[int, ...]:
        """The number of the seat that moves at each information set."""
        place = {seat: i for i, seat in enumerate(self.seats)}
        return tuple(place[s.seat] for s in self.info_sets)

    def utilities(self, utility: Utility, *, exact: bool) -> tuple[tuple[Any, ...], ...]:
        """Per node, what each seat gets: Fractions, or floats for speed."""
        if exact:
            return self.rewards if utility == "rewards" else self.payoffs
        return self._float_rewards if utility == "rewards" else self._float_payoffs

    def chances(self, *, exact: bool) -> tuple[tuple[Any, ...], ...]:
        """The odds of chance nodes, as `odds`: Fractions, or floats for speed."""
        return self.odds if exact else self._float_odds

    def walk(self) -> Iterator[int]:
        """Yields every node, depth first, children in order."""
        pending = [0]
        while pending:
            node = pending.pop()
            yield node
            pending.extend(reversed(self.children[node]))

    def reached(
        self,
        play: Callable[[InfoSet], Mapping[str, Any]],
        start: int = 0,
        stops: Container[int] = (),
        *,
        exact: bool = True,
    ) -> Iterator[tuple[int, Any]]:
        """Yields the ends, and the `stops`, that play comes to from a node, with their
        probabilities: Fractions, or floats for speed.

        `play` gives the probabilities of the actions at an information set; actions that it leaves
        out, or gives 0, are not followed.
        """
        odds = self.chances(exact=exact)
        pending: list[tuple[int, Any]] = [(start, Fraction(1) if exact else 1.0)]
        while pending:
            node, likely = pending.pop()
            info, children = self.info[node], self.children[node]
            if info == TERMINAL or node in stops:
                yield node, likely
            elif info == CHANCE:
                pending += [(c, likely * p) for c, p in zip(children, odds[node], strict=True)]
            else:
                here = self.info_sets[info]
                for name, p in play(here).items():
                    if p:
                        child = children[here.actions.index(name)]
                        pending.append((child, likely if p == 1 else likely * p))

    def span(self, seat: str, utility: Utility = "rewards") -> tuple[Fraction, Fraction]:
        """The least and the most that a seat can get."""
        i = self.seats.index(seat)
        got = [self.utilities(utility, exact=True)[n][i] for n in self.terminals]
        return min(got), max(got)

    @cached_property
    def levels(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """For each seat, its nodes by how many decisions of its own lie before them.

        With perfect recall every information set of the seat lies within one level.
        """
        depths = [[0] * len(self) for _ in self.seats]
        for node, info in enumerate(self.info):
            for seat, depth in enumerate(depths):
                below = depth[node] + (info >= 0 and self.owner[info] == seat)
                for child in self.children[node]:
                    depth[child] = below
        found = []
        for depth in depths:
            rows: list[list[int]] = [[] for _ in range(max(depth) + 1)]
            for node, level in enumerate(depth):
                rows[level].append(node)
            found.append(tuple(map(tuple, rows)))
        return tuple(found)

    @cached_property
    def _float_rewards(self) -> tuple[tuple[float, ...], ...]:
        return tuple(tuple(map(float, row)) for row in self.rewards)

    @cached_property
    def _float_odds(self) -> tuple[tuple[float, ...], ...]:
        return tuple(tuple(map(float, row)) for row in self.odds)

    @cached_property
    def _float_payoffs(self) -> tuple[tuple[float, ...], ...]:
        return tuple(tuple(map(float, row)) for row in self.payoffs)


def uniform(tree: Tree) -> dict[str, dict[str, Fraction]]:
    """The policy that plays every legal action equally often."""
    return {s.key: dict.fromkeys(s.actions, Fraction(1, len(s.actions))) for s in tree.info_sets}


class TreeBuilder:
    """Collects nodes, children always after their parent, then checks and freezes them.

    A node is added first and filled in afterwards, because its children do not exist yet.
    """

    def __init__(
        self, seats: Sequence[str], roles: Sequence[str] | None = None, limit: int = 200_000
    ) -> None:
        self._seats = tuple(seats)
        self._roles = tuple(roles or seats)
        self._limit = limit
        self._sets: dict[str, tuple[int, InfoSet]] = {}
        self._info: list[int] = []
        self._children: list[tuple[int, ...]] = []
        self._odds: list[tuple[Fraction, ...]] = []
        self._payoffs: list[tuple[Fraction, ...]] = []
        self._rewards: list[tuple[Fraction, ...]] = []
        self._outcomes: dict[int, tuple[str, ...]] = {}

    def decision(self, info_set: InfoSet) -> int:
        """A node where `info_set` is to move; its children follow by `link`."""
        number, known = self._sets.setdefault(info_set.key, (len(self._sets), info_set))
        if known != info_set:
            raise ValueError(f"information set {info_set.key!r} has two different decisions")
        return self._add(number)

    def chance(self, odds: Sequence[Fraction], outcomes: Sequence[str] = ()) -> int:
        if sum(odds) != 1:
            raise ValueError(f"the odds of a chance node sum to {sum(odds)}, not to 1")
        node = self._add(CHANCE, odds=tuple(odds))
        self._outcomes[node] = tuple(outcomes) or tuple(str(i + 1) for i in range(len(odds)))
        return node

    def terminal(
        self, payoffs: Sequence[Fraction | int], rewards: Sequence[Fraction | int] | None = None
    ) -> int:
        got = tuple(map(Fraction, payoffs))
        return self._add(
            TERMINAL, payoffs=got, rewards=got if rewards is None else tuple(map(Fraction, rewards))
        )

    def link(self, parent: int, children: Sequence[int]) -> None:
        self._children[parent] = tuple(children)

    def tree(self, *, forgetful: bool = False) -> Tree:
        """Raises `ImperfectRecall` where a seat forgets its past, unless it may (`forgetful`)."""
        built = Tree(
            self._seats, self._roles, tuple(s for _, s in self._sets.values()), tuple(self._info),
            tuple(self._children), tuple(self._odds), tuple(self._payoffs), tuple(self._rewards),
            tuple(self._outcomes.get(n, ()) for n in range(len(self._info))),
        )  # fmt: skip
        if not forgetful:
            require_recall(built)
        return built

    def _add(self, info: int, **row: tuple[Fraction, ...]) -> int:
        if len(self._info) >= self._limit:
            raise TooLarge(self._limit)
        self._info.append(info)
        self._children.append(())
        self._odds.append(row.get("odds", ()))
        self._payoffs.append(row.get("payoffs", ()))
        self._rewards.append(row.get("rewards", ()))
        return len(self._info) - 1


def tabulate(
    env: Env, limit: int = 200_000, forced: Literal["taken", "asked"] = "taken", *,
    forgetful: bool = False,
) -> Tree:  # fmt: skip
    """Write out every history of a game, by playing all of them.

    Decisions with one legal action and chance with one outcome have no node, unless `forced` is
    "asked". Raises `TooLarge` beyond `limit` nodes; nothing is played after that. Of a
    game with words or referees there is no tree: `Unlisted`. Raises
    `ImperfectRecall` where a seat forgets its own past, which steps with `knows` may make it do,
    unless `forgetful`: values hold for such a tree, best replies and all that rests on them do not.
    """
    if env.ir.open or env.ir.referees:
        raise Unlisted(limit)
    return _Writer(env, limit, forced == "asked").write(forgetful=forgetful)


class _Writer:
    """Plays all histories of a game through its kernel, which knows of no labels or prompts."""

    def __init__(self, env: Env, limit: int, forced: bool) -> None:
        self._start = env.kernel.start
        self._seats, self._role_of = tuple(env.ir.seats), env.ir.role_of
        self._asked_as = env.ir.asked_as
        self._limit, self._forced = limit, forced
        self._builder = TreeBuilder(self._seats, [self._role_of[s] for s in self._seats], limit)
        self._pending: list[tuple[int, ChanceNode[State] | SeatNode]] = []

    def write(self, *, forgetful: bool) -> Tree:
        self._add(seat_by_seat(self._start(), forced=self._forced))
        while self._pending:
            number, node = self._pending.pop()
            below = (descend(node, option, forced=self._forced) for option in range(node.size))
            self._builder.link(number, [self._add(one) for one in below])
        return self._builder.tree(forgetful=forgetful)

    def _add(self, node: ExtensiveNode) -> int:
        """The number of a node, which is gone on from unless it is an end."""
        match node:
            case EndNode(point=state):
                payoffs, rewards = state.payoffs, state.rewards
                return self._builder.terminal(
                    [payoffs[seat] for seat in self._seats], [rewards[seat] for seat in self._seats]
                )
            case ChanceNode(point=state, size=size):
                if size > self._limit:
                    raise TooLarge(self._limit)
                names, odds = zip(*state.outcomes, strict=True)
                number = self._builder.chance(odds, names)
            case SeatNode(point=state, ask=ask):
                info_set = InfoSet(
                    key_of(state, ask), ask.seat, self._role_of[ask.seat],
                    self._asked_as.get(ask.step, ask.step), ask.legal,
                )  # fmt: skip
                number = self._builder.decision(info_set)
            case _:
                assert_never(node)
        self._pending.append((number, node))
        return number


def require_recall(tree: Tree) -> None:
    """Every node of an information set must have the same last own decision behind it; raises
    `ImperfectRecall`."""
    last: list[dict[int, tuple[int, int]]] = [{} for _ in range(len(tree))]
    behind: dict[int, tuple[int, int] | None] = {}
    for node, info in enumerate(tree.info):
        mover = tree.owner[info] if info >= 0 else None
        if mover is not None:
            before = last[node].get(mover)
            if behind.setdefault(info, before) != before:
                raise ImperfectRecall(tree.info_sets[info].key)
        for place, child in enumerate(tree.children[node]):
            last[child] = last[node] if mover is None else {**last[node], mover: (info, place)}
