"""Decides by bisimulation whether a declared view forgets something that matters.

A policy is told prompts: information sets of a seat with equal prompts are one to it, they are
merged. Merging is harmless where they have the same legal actions and the same futures, whatever
everybody, told no more than their prompts, does. That is proved in two steps.

Histories are bisimilar (Milner, Communication and Concurrency, 1989) where the same seats are asked
with the same prompts and legal actions, or chance brings bisimilar histories equally often, and
each joint choice leads on to bisimilar ones; where they end, any two are. Payoffs and rewards may
differ by an amount for each seat that is the same however play goes on: what has been won already
decides nothing.

Two information sets have the same futures if they hold histories of the same classes, each class
as likely in both whatever the strategies are: the odds, as a product of those of chance and of what
others chose when they were told what, are the same but for a factor that all have. A seat's own
choices are no part of that, since they are the same at all histories of an information set. This is
a proof where it holds; of two sets for which it does not, nothing is proved.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from gamedsl.engine.walk import Move, after, moves
from gamedsl.solve.tree import TooLarge

if TYPE_CHECKING:
    from gamedsl.runtime import Decision, Env, Episode
    from gamedsl.runtime.decision import Message

LIMIT = 20_000
"""The most histories that are walked."""

Prompt = tuple["Message", ...]
Moves = tuple[str, ...]
"""A history in words: `x: mark(0,2)` for a choice, `card: K` for an outcome of chance."""


@dataclass(frozen=True)
class Difference:
    """Two information sets of a seat that have one prompt and, as far as is proved, not the same
    futures. `histories` are one history of each."""

    seat: str
    information_sets: tuple[str, str]
    histories: tuple[Moves, Moves]
    reason: str


@dataclass(frozen=True)
class Merging:
    """Information sets that prompts merge. `information_sets` are the decision points, `prompts`
    their distinct prompts; for each prompt whose information sets differ, `differences` has the
    first together with the first of each other kind."""

    information_sets: int
    prompts: int
    differences: tuple[Difference, ...]

    @property
    def lossless(self) -> bool:
        """Whether prompts forget nothing that matters."""
        return not self.differences


def merging(env: Env, limit: int = LIMIT) -> Merging:
    """Compares all information sets that have equal prompts. Raises `TooLarge` beyond `limit`
    histories."""
    return _Comparison(env, limit).merging()


Factor = tuple[object, str]
"""A prompt, and the choice that a seat may make there."""

Odds = tuple[Fraction, frozenset[tuple[Factor, int]]]
"""The likelihood of a history: that of chance, and what others did, with how often."""


@dataclass
class _History:
    """A history: its likelihood, the seats that are asked with the numbers of their prompts, and
    what follows by which moves."""

    moves: Moves
    reached: Fraction
    done: tuple[tuple[str, Factor], ...]
    """The choices so far: each seat with its prompt and what it chose."""
    episode: Episode
    asked: tuple[tuple[str, int, tuple[str, ...]], ...] = ()
    odds: tuple[Fraction, ...] = ()
    after: tuple[tuple[object, int], ...] = ()
    kind: int = -1
    """Its class under bisimulation."""
    worth: tuple[Fraction, ...] = ()
    """The mean payoffs of what follows; classes compare payoffs relative to it."""


class _Comparison:
    """All histories of a game, with the classes of what follows them."""

    def __init__(self, env: Env, limit: int) -> None:
        self._env = env
        self._limit = limit
        self._nodes: list[_History] = []
        self._prompts: dict[tuple[str, Prompt], int] = {}
        self._sets: dict[str, tuple[Decision, int, list[int]]] = {}
        """Each information set: a decision in it, the number of its prompt, and its histories."""
        self._kinds: dict[object, int] = {}

    def merging(self) -> Merging:
        self._play()
        for node in reversed(self._nodes):
            self._classify(node)
        told: dict[int, list[str]] = {}
        for key, (_, prompt, _) in self._sets.items():
            told.setdefault(prompt, []).append(key)
        differences = [d for keys in told.values() for d in self._compared(keys)]
        return Merging(len(self._sets), len(told), tuple(differences))

    # playing

    def _play(self) -> None:
        """Plays every history, each after the one that it follows."""
        begun = self._env.reset(seed=0, chance="asked")
        self._nodes.append(_History((), Fraction(1), (), begun))
        at = 0
        while at < len(self._nodes):
            node = self._nodes[at]
            if not node.episode.done:
                self._go_on(node, at)
            at += 1

    def _go_on(self, node: _History, at: int) -> None:
        episode = node.episode
        if episode.outcome_count:
            if len(self._nodes) + episode.outcome_count > self._limit:
                raise TooLarge(self._limit)
            node.odds = tuple(outcome.probability for outcome in episode.chance)
        asked = episode.decisions
        node.asked = tuple(
            (d.seat, self._prompt_number(d, at), tuple(sorted(d.legal))) for d in asked
        )
        following: list[tuple[object, int]] = []
        for move in moves(episode):
            names = (
                None if node.odds else tuple(d.legal[n] for d, n in zip(asked, move, strict=True))
            )
            following.append((names, len(self._nodes)))
            self._nodes.append(
                self._drawn(node, move[0]) if node.odds else self._chosen(node, move)
            )
            if len(self._nodes) > self._limit:
                raise TooLarge(self._limit)
        node.after = tuple(following)

    def _drawn(self, node: _History, number: int) -> _History:
        """The history after an outcome of chance."""
        step, index = node.episode.drawing
        outcome = node.episode.chance[number]
        names = (*node.moves, f"{' '.join((step, *index))}: {outcome.name}")
        reached = node.reached * outcome.probability
        return _History(names, reached, node.done, after(node.episode, (number,)))

    def _chosen(self, node: _History, move: Move) -> _History:
        """The history after a choice by all who are asked."""
        chosen = [
            (d.seat, prompt, d.legal[number])
            for (_, prompt, _), d, number in zip(
                node.asked, node.episode.decisions, move, strict=True
            )
        ]
        names = (*node.moves, *(f"{seat}: {name}" for seat, _, name in chosen))
        done = [(seat, (prompt, name)) for seat, prompt, name in chosen]
        return _History(names, node.reached, (*node.done, *done), after(node.episode, move))

    def _prompt_number(self, decision: Decision, at: int) -> int:
        """Returns the number of a decision's prompt; adds the history to its information set."""
        known = self._sets.get(decision.information_set)
        if known is None:
            place = decision.seat, decision.messages
            prompt = self._prompts.setdefault(place, len(self._prompts))
            known = self._sets[decision.information_set] = decision, prompt, []
        known[2].append(at)
        return known[1]

    # comparing

    def _classify(self, node: _History) -> None:
        """Sets the class of a history, from those of what follows it."""
        if not node.after:
            paid = (*node.episode.payoffs.values(), *node.episode.rewards.values())
            node.worth = tuple(Fraction(amount or 0) for amount in paid)
            node.kind = self._kinds.setdefault("end", len(self._kinds))
            return
        following = [self._nodes[number] for _, number in node.after]
        share = node.odds or (Fraction(1, len(following)),) * len(following)
        worths = [other.worth for other in following]
        node.worth = tuple(
            sum((s * w for s, w in zip(share, column, strict=True)), Fraction(0))
            for column in zip(*worths, strict=True)
        )
        ahead = [(other.kind, _less(other.worth, node.worth)) for other in following]
        if node.odds:
            likely: dict[object, Fraction] = {}
            for part, odds in zip(ahead, node.odds, strict=True):
                likely[part] = likely.get(part, Fraction(0)) + odds
            like: object = ("chance", frozenset(likely.items()))
        else:
            names = (move for move, _ in node.after)
            like = (node.asked, frozenset(zip(names, ahead, strict=True)))
        node.kind = self._kinds.setdefault(like, len(self._kinds))

    def _compared(self, keys: list[str]) -> list[Difference]:
        """Compares the first information set of a prompt with the first of each other kind."""
        kinds: dict[object, str] = {}
        for key in keys:
            kinds.setdefault(self._future(key), key)
        first, *others = kinds.values()
        return [self._difference(first, other) for other in others]

    def _future(self, key: str) -> object:
        """Returns the future of an information set: equal for two with the same futures."""
        decision, _, numbers = self._sets[key]
        nodes = [self._nodes[number] for number in numbers]
        if len({node.kind for node in nodes}) == 1:
            return nodes[0].kind
        odds = [_odds(node, decision.seat) for node in nodes]
        common = Counter(dict(odds[0][1]))
        for _, factors in odds[1:]:
            common &= Counter(dict(factors))
        weights: dict[object, Fraction] = {}
        for node, (likely, factors) in zip(nodes, odds, strict=True):
            part = node.kind, frozenset((Counter(dict(factors)) - common).items())
            weights[part] = weights.get(part, Fraction(0)) + likely
        total = sum(weights.values())
        return frozenset((part, weight / total) for part, weight in weights.items())

    def _difference(self, one: str, other: str) -> Difference:
        first, second = self._sets[one], self._sets[other]
        nodes = tuple(self._nodes[numbers[0]] for _, _, numbers in (first, second))
        seat = first[0].seat
        if sorted(first[0].legal) != sorted(second[0].legal):
            reason = "their legal actions differ"
        elif {self._nodes[n].kind for n in first[2]} == {self._nodes[n].kind for n in second[2]}:
            reason = "what is hidden is not equally likely"
        else:
            reason = "what may follow differs"
        return Difference(seat, (one, other), (nodes[0].moves, nodes[1].moves), reason)


def _odds(node: _History, seat: str) -> Odds:
    """The likelihood of a history, but for the choices of one seat."""
    others = Counter(factor for who, factor in node.done if who != seat)
    return node.reached, frozenset(others.items())


def _less(one: tuple[Fraction, ...], other: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    return tuple(a - b for a, b in zip(one, other, strict=True))
