"""Two engines walked in lock-step: a game of ours and its twin in OpenSpiel.

Ours is read through the public interface alone (`Env.reset`; `decisions`, `chance`, `draw`, `step`,
`fork`, `information`, `payoffs`, `paid` of `Episode`), theirs through `pyspiel.State`. At every
node both must agree on its kind, on who acts, on the legal actions or the chance outcomes (a
bijection under the names of an `Agreement`, probabilities within 1e-12), and at the end on the
returns. Over all the nodes met, two histories must be one information set of ours if and only if
they are one of theirs.

Both sides are brought to one form first (`sides.py`). A node without a choice that only one side
has is passed over only where the agreement says that this side may have it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.conformance.sides import Agreement, Kind, Node, Ours, Theirs

Mode = Literal["tree", "positions", "random"]
Path = tuple["Path", str, str] | None
"""The history of ours, newest first: what came before, who moved, what."""

TOLERANCE = 1e-12

EAGERNESS = 0.9
"""How often an eager player takes what raises its return at once."""


class Difference(AssertionError):
    """The engines disagree; the text shows where and how."""


@dataclass
class Walked:
    """The counts of a comparison: nodes of theirs by kind, and information sets by seat."""

    nodes: Counter[Kind] = field(default_factory=Counter)
    sets: dict[int, int] = field(default_factory=dict)
    shared: int = 0
    """How often an information set was met again: at 0 the partition has not been tested."""

    @property
    def histories(self) -> int:
        return self.nodes.total()


class Partition:
    """Information sets of the two sides, which must be the same sets of histories."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._ours: dict[Hashable, tuple[Hashable, Path]] = {}
        self._theirs: dict[Hashable, tuple[Hashable, Path]] = {}
        self.shared = 0
        self.sizes: Counter[int] = Counter()

    def meet(self, seat: int, ours: Hashable, theirs: Hashable, path: Path) -> str | None:
        """Notes that a history has these keys; returns a text if another history contradicts it."""
        new = ours not in self._ours
        known, behind = self._ours.setdefault(ours, (theirs, path))
        if known != theirs:
            return f"one information set of ours ({self.name}), two of theirs{_other(behind)}"
        known, behind = self._theirs.setdefault(theirs, (ours, path))
        if known != ours:
            return f"one information set of theirs, two of ours ({self.name}){_other(behind)}"
        self.sizes[seat] += new
        self.shared += not new
        return None


def compare(
    ours: Any,
    theirs: Any,
    agreement: Agreement,
    mode: Mode = "tree",
    *,
    games: int = 2_000,
    seed: int = 0,
) -> Walked:
    """Walks both games and raises `Difference` at the first disagreement.

    `tree` goes through all histories. `positions` goes through each of their positions once, as
    `str(state)` names it: for games where nothing else matters for what follows. `random` plays
    `games` random games, every second one a variation of the one before it: the same moves as far
    as they are legal, but one of them drawn anew, so that information sets are met again. In half
    of the games the players mostly take what raises their return at once, so that play gets far.
    """
    return _Walk(ours, theirs, agreement).go(mode, games, seed)


class _Walk:
    def __init__(self, ours: Any, theirs: Any, agreement: Agreement) -> None:
        self.ours, self.theirs, self.agreement = ours, theirs, agreement
        self.where = ""
        self.walked = Walked()
        self.partitions = (Partition("Decision.information_set"), Partition("Episode.information"))

    def go(self, mode: Mode, games: int, seed: int) -> Walked:
        if len(self.ours.seats) != self.theirs.num_players():
            raise Difference(f"seats: ours {self.ours.seats}, theirs {self.theirs.num_players()}")
        if mode == "random":
            self._play(games, seed)
        else:
            self._explore(merge=mode == "positions")
        self.walked.sets = dict(sorted(self.partitions[0].sizes.items()))
        self.walked.shared = self.partitions[0].shared
        return self.walked

    def _start(self) -> tuple[Ours, Theirs]:
        episode = self.ours.reset(seed=0, chance="asked", forced="asked")
        ours = Ours(episode, tuple(self.ours.seats))
        theirs = Theirs(self.theirs.new_initial_state(), self.agreement)
        if self.agreement.given is not None:
            return ours.given(self.agreement.given(theirs.state)), theirs.begun()
        return ours, theirs

    def _explore(self, *, merge: bool) -> None:
        stack: list[tuple[Ours, Theirs, Path]] = [(*self._start(), None)]
        known: set[str] = set()
        while stack:
            ours, theirs, path = stack.pop()
            ours, theirs, path, mine, other, pairs = self._meet(ours, theirs, path)
            if merge:
                position = str(theirs.state)
                if position in known:
                    continue
                known.add(position)
            self.walked.nodes[other.kind] += 1
            for i, j in reversed(pairs):
                behind = (path, *self._step(mine, i))
                stack.append((self._after(ours, mine, i, behind), theirs.after(other, j), behind))

    def _play(self, games: int, seed: int) -> None:
        rng = random.Random(seed)
        script: list[int] = []
        for number in range(games):
            self.where = f"random game {number} of seed {seed}"
            change = rng.randrange(len(script)) if number % 2 and script else None
            script = list(
                self._one_game(rng, script if change is not None else [], change, number % 4 > 1)
            )

    def _one_game(
        self, rng: random.Random, script: list[int], change: int | None, eager: bool
    ) -> Iterator[int]:
        """Plays one game and yields what was done, as numbers of theirs."""
        ours, theirs = self._start()
        path: Path = None
        for turn in range(1_000_000):
            ours, theirs, path, mine, other, pairs = self._meet(ours, theirs, path)
            self.walked.nodes[other.kind] += 1
            if other.kind == "terminal":
                return
            wanted = script[turn] if turn < len(script) and turn != change else None
            if wanted not in other.options:
                wanted = _chosen(rng, theirs, other, eager)
            yield wanted
            i, j = next(pair for pair in pairs if other.options[pair[1]] == wanted)
            path = (path, *self._step(mine, i))
            ours, theirs = self._after(ours, mine, i, path), theirs.after(other, j)

    def _meet(
        self, ours: Ours, theirs: Theirs, path: Path
    ) -> tuple[Ours, Theirs, Path, Node, Node, list[tuple[int, int]]]:
        """Compares two nodes, past those that one side alone has, and returns the two that
        correspond."""
        mine, other = ours.node(), theirs.node()
        while True:
            if _alone(mine, other) and mine.kind in self.agreement.ours_has:
                path = (path, *self._step(mine, 0))
                ours = self._after(ours, mine, 0, path)
                mine = ours.node()
            elif _alone(other, mine) and other.kind in self.agreement.theirs_has:
                theirs = theirs.after(other, 0)
                other = theirs.node()
            else:
                break
        if (mine.kind, mine.seat) != (other.kind, other.seat):
            self._differ("who moves differs", path, theirs, self._told(mine), self._told(other))
        if mine.kind == "terminal":
            self._same_returns(ours.returns(), theirs, path)
            return ours, theirs, path, mine, other, []
        if self.agreement.paid and not ours.chosen and not theirs.chosen:
            self._same_returns(ours.returns(self.agreement.paid), theirs, path)
        pairs = self._pairs(mine, theirs, other, path)
        if mine.kind == "decision" and self.agreement.information is not None:
            self._same_information(ours, theirs, other.seat, path)
        return ours, theirs, path, mine, other, pairs

    def _pairs(self, mine: Node, theirs: Theirs, other: Node, path: Path) -> list[tuple[int, int]]:
        named = [self._translated(mine, name) for name in mine.options]
        places: dict[Any, int] = {action: j for j, action in enumerate(other.options)}
        if any(isinstance(name, str) for name in named):
            places = {theirs.label(other, action): j for j, action in enumerate(other.options)}
        if len(named) != len(places) or set(named) != set(places):
            what = "legal actions differ" if mine.kind == "decision" else "chance outcomes differ"
            only_mine = [n for n, t in zip(mine.options, named) if t not in places]
            only_theirs = [t for t in places if t not in named]
            self._differ(
                what, path, theirs,
                " ".join(mine.options), " ".join(map(str, places)),
                f"only ours: {only_mine}" + (", some twice" if _twice(named) else ""),
                f"only theirs: {only_theirs}",
            )  # fmt: skip
        pairs = sorted(((i, places[n]) for i, n in enumerate(named)), key=lambda pair: pair[1])
        if mine.kind == "chance":
            self._same_odds(mine, other, pairs, path, theirs)
        return pairs

    def _same_odds(
        self, mine: Node, other: Node, pairs: list[tuple[int, int]], path: Path, theirs: Theirs
    ) -> None:
        wrong = [
            (mine.options[i], str(mine.odds[i]), other.odds[j])
            for i, j in pairs
            if abs(float(mine.odds[i]) - other.odds[j]) > TOLERANCE
        ]
        if wrong or sum(mine.odds) != 1:
            ours = " ".join(f"{n}:{p}" for n, p in zip(mine.options, mine.odds))
            odds = " ".join(f"{n}:{p:.6f}" for n, p in zip(other.options, other.odds))
            self._differ("probabilities differ", path, theirs, ours, odds, f"wrong: {wrong}")

    def _same_returns(self, mine: list[Any], theirs: Theirs, path: Path) -> None:
        other = theirs.returns()
        if any(
            m is None or abs(float(m) - t) > TOLERANCE for m, t in zip(mine, other, strict=True)
        ):
            what = "returns differ" if theirs.state.is_terminal() else "returns so far differ"
            self._differ(what, path, theirs, " ".join(map(str, mine)), str(other))

    def _same_information(self, ours: Ours, theirs: Theirs, seat: int, path: Path) -> None:
        key = theirs.key(seat)
        for partition, mine in zip(self.partitions, ours.keys(), strict=True):
            problem = partition.meet(seat, mine, key, path)
            if problem:
                asked = ours.episode.decisions[len(ours.chosen)]
                told = theirs.state.information_state_string(seat) if (
                    self.agreement.information == "state"
                ) else theirs.state.observation_string(seat)  # fmt: skip
                self._differ(
                    f"information of {asked.seat}: {problem}", path, theirs,
                    f"{asked.information_set} | {ours.episode.information(asked.seat)}", repr(told),
                )  # fmt: skip

    def _after(self, ours: Ours, node: Node, i: int, path: Path) -> Ours:
        try:
            return ours.after(node, i)
        except Exception as error:
            error.add_note(f"history: {shown(path)}")
            raise

    def _translated(self, node: Node, name: str) -> int | str | tuple[str]:
        try:
            if node.kind == "chance":
                return self.agreement.chance(name)
            return self.agreement.action(node.seat, name)
        except (KeyError, ValueError, IndexError):
            return (f"{name}, which the agreement does not know",)

    def _step(self, node: Node, i: int) -> tuple[str, str]:
        who = "chance" if node.kind == "chance" else self.ours.seats[node.seat]
        return who, node.options[i]

    def _told(self, node: Node) -> str:
        if node.kind == "terminal":
            return "the end"
        who = "chance" if node.kind == "chance" else f"player {node.seat}"
        return f"{who}, {len(node.options)} options: {' '.join(map(str, node.options[:40]))}"

    def _differ(
        self, what: str, path: Path, theirs: Theirs, mine: str, other: str, *more: str
    ) -> None:
        lines = [
            what,
            f"  against: {self.theirs}" + (f"  ({self.where})" if self.where else ""),
            f"  history, ours:   {shown(path)}",
            f"  history, theirs: {_replayed(self.theirs, theirs.state)}",
            f"  ours:   {mine}",
            f"  theirs: {other}",
            *(f"  {line}" for line in more),
            "  their state:",
            *(f"    {line}" for line in str(theirs.state).splitlines()),
        ]
        raise Difference("\n".join(lines))


def shown(path: Path) -> str:
    """Returns a history in words."""
    steps = []
    while path is not None:
        path, who, name = path
        steps.append(f"{who} {name}".strip())
    return " · ".join(reversed(steps)) or "the start"


def _alone(node: Node, facing: Node) -> bool:
    """Whether a node leaves no choice, and the other side has no such node here."""
    if len(node.options) != 1:
        return False
    return (facing.kind, facing.seat, len(facing.options)) != (node.kind, node.seat, 1)


def _twice(names: list[Any]) -> bool:
    return len(set(names)) < len(names)


def _other(path: Path) -> str:
    return f"\n  the other history: {shown(path)}"


def _chosen(rng: random.Random, theirs: Theirs, node: Node, eager: bool) -> int:
    """Returns a random option, by its probability at a chance node; an eager player's is mostly a
    best."""
    options: Sequence[int] = node.options
    joint = theirs.state.is_simultaneous_node()
    if eager and node.kind == "decision" and not joint and rng.random() < EAGERNESS:
        gains = [theirs.state.child(action).returns()[node.seat] for action in options]
        options = [a for a, gain in zip(options, gains, strict=True) if gain == max(gains)]
    return rng.choices(options, node.odds or (1,) * len(options))[0]


def _replayed(game: Any, state: Any) -> str:
    at, told = game.new_initial_state(), []
    for action in state.history()[len(at.history()) :]:
        if at.is_simultaneous_node():
            told.append(str(action))
            continue
        told.append(at.action_to_string(at.current_player(), action))
        at.apply_action(action)
    return " · ".join(told) or "the start"
