"""Games in which a seat forgets what it did or saw, as their tables of pure strategies.

There it matters when a seat draws (Kuhn 1953; Isbell 1957). A mixed strategy draws one way to play
before the game: over such strategies every finite game has an equilibrium, and whoever replies to
the others may reply by a pure one, so that all that is said of a table holds. A policy of
information sets draws at each of them anew: with imperfect recall it may earn less, there may be no
equilibrium in such policies, and a seat that comes to one set twice may even earn more by one
(Piccione and Rubinstein 1997). Neither is worked out here.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from gamedsl.solve.table import pure_values
from gamedsl.solve.tree import CHANCE, InfoSet, Tree, TreeBuilder

MAX_PROFILES = 100_000
"""Cells that a table of strategies has at most."""

BEFORE = ": before the game"
"""The suffix after the seat in a key of a table of strategies; no step has this name."""

Strategy = dict[int, int]
"""The number of an action for each information set of a seat where its own actions let it come."""


class TooManyStrategies(ValueError):
    """The table of pure strategies has more than `MAX_PROFILES` cells."""

    def __init__(self) -> None:
        super().__init__(f"more than {MAX_PROFILES:,} combinations of pure strategies")


def table_of(tree: Tree) -> Tree:
    """A one-shot game: every seat chooses one of its reduced pure strategies, named by what they do
    (`called`), blind to the others. Raises `TooManyStrategies`."""
    own = []
    for seat in range(len(tree.seats)):
        own.append(tuple(strategies(tree, seat, MAX_PROFILES)))
        if prod(map(len, own)) > MAX_PROFILES:
            raise TooManyStrategies
    sets = [
        InfoSet(f"{seat}{BEFORE}", seat, role, "strategy", _names(tree, number, own[number]))
        for number, (seat, role) in enumerate(zip(tree.seats, tree.roles, strict=True))
    ]
    builder = TreeBuilder(tree.seats, tree.roles, limit=2 * MAX_PROFILES + len(sets))
    links: dict[int, list[int]] = {}

    def add(profile: tuple[int, ...]) -> int:
        if len(profile) < len(sets):
            node = builder.decision(sets[len(profile)])
            count = len(own[len(profile)])
            links[node] = [add((*profile, place)) for place in range(count)]
            return node
        chosen = {
            tree.info_sets[info].key: tree.info_sets[info].actions[action]
            for seat, place in enumerate(profile)
            for info, action in own[seat][place].items()
        }
        rewards, payoffs = pure_values(tree, chosen)
        return builder.terminal(payoffs, rewards)

    add(())
    for node, children in links.items():
        builder.link(node, children)
    return builder.tree()


def strategies(tree: Tree, seat: int, limit: int) -> Iterator[Strategy]:
    """The reduced pure strategies of a seat, the action of a set that comes later varying faster:
    each says what it does wherever its own actions let it come. Raises `TooManyStrategies` where
    there are more than `limit`."""
    waiting: list[Strategy] = [{}]
    found = 0
    while waiting:
        chosen = waiting.pop()
        info = _open(tree, seat, chosen)
        if info is None:
            found += 1
            if found > limit:
                raise TooManyStrategies
            yield chosen
        else:
            actions = range(len(tree.info_sets[info].actions))
            waiting += [chosen | {info: action} for action in reversed(actions)]


def _open(tree: Tree, seat: int, chosen: Strategy) -> int | None:
    """The first set of a seat to which what it has chosen lets it come, and for which it has chosen
    nothing."""
    pending = [0]
    while pending:
        node = pending.pop()
        info = tree.info[node]
        if info < 0 or tree.owner[info] != seat:
            pending += reversed(tree.children[node])
        elif info in chosen:
            pending.append(tree.children[node][chosen[info]])
        else:
            return info
    return None


def called(tree: Tree, seat: int, strategy: Strategy) -> str:
    """A strategy by its actions, in the order of the sets; `*` where it cannot come."""
    own = [info for info, owner in enumerate(tree.owner) if owner == seat]
    names = (
        tree.info_sets[info].actions[strategy[info]] if info in strategy else "*" for info in own
    )
    return " ".join(names) or "-"


def _names(tree: Tree, seat: int, found: tuple[Strategy, ...]) -> tuple[str, ...]:
    """The names of strategies, numbered where two are alike."""
    names: dict[str, int] = {}
    for strategy in found:
        name = called(tree, seat, strategy)
        again = name
        while again in names:
            names[name] += 1
            again = f"{name} ({names[name]})"
        names[again] = 1
    return tuple(names)


def absent_minded(tree: Tree) -> str | None:
    """A seat that may come to one of its information sets twice in a play; None for none."""
    above: list[frozenset[int]] = [frozenset()] * len(tree)
    for node, info in enumerate(tree.info):
        if info in above[node]:
            return tree.info_sets[info].seat
        here = above[node] | {info} if info >= 0 and info != CHANCE else above[node]
        for child in tree.children[node]:
            above[child] = here
    return None
