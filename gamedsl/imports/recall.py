"""The information sets that need a step with declared knowledge (`knows`).

An ordinary step recalls: its player knows all that it did and saw, and when its turn is. A set does
not fit that if its player came to it by different own moves, or from a set that does not fit.
Neither does a set that comes before another on one path and after it on a second, since no order of
steps has a place for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gamedsl.imports.efg import EfgNode, Extensive, InfoSet

Atom = InfoSet | EfgNode
"""A set, or a node by itself: both have one time."""


def sets_without_recall(form: Extensive) -> tuple[frozenset[InfoSet], dict[EfgNode, int]]:
    """The sets that need `knows`, and the time of every node that is no end.

    A time is the greatest number of moves that may lie before, from 0. Nodes of a set have the same
    one, except in a set that needs `knows`, which may be met at any time.
    """
    found = forgotten(form)
    while True:
        time = _times(form, found)
        if not isinstance(time, list):
            return frozenset(found), time
        found.add(min(time, key=lambda info: (sizes(form)[info], info.player, info.number)))


def forgotten(form: Extensive) -> set[InfoSet]:
    """The sets in which a player does not know all that it did, or was asked, before."""
    last: dict[EfgNode, dict[int, tuple[InfoSet, int]]] = {form.nodes[0]: {}}
    before: dict[InfoSet, tuple[InfoSet, int] | None] = {}
    found: set[InfoSet] = set()
    for node in form.nodes:  # a set comes before those that its moves lead to, or is met again
        info = node.set
        if info is None:
            continue
        own = last[node].get(info.player)
        if info.player and before.setdefault(info, own) != own:
            found.add(info)
        for place, child in enumerate(node.children):
            moved = {info.player: (info, place)} if info.player else {}
            last[child] = last[node] | moved
    while more := {i for i, own in before.items() if own and own[0] in found and i not in found}:
        found |= more
    return found


def sizes(form: Extensive) -> dict[InfoSet, int]:
    """Returns the number of nodes of each information set."""
    count: dict[InfoSet, int] = {}
    for node in form.nodes:
        if node.set is not None:
            count[node.set] = count.get(node.set, 0) + 1
    return count


def _times(form: Extensive, alone: Iterable[InfoSet]) -> dict[EfgNode, int] | list[InfoSet]:
    """The times, where the nodes of some sets have each their own; or sets in a circle, from each
    of which a path leads to the next, and from the last to the first."""
    alone = frozenset(alone)
    atom: dict[EfgNode, Atom] = {
        node: node.set if node.set.player and node.set not in alone else node
        for node in form.nodes
        if node.set is not None
    }
    after: dict[Atom, dict[Atom, None]] = {one: {} for one in atom.values()}
    waits: dict[Atom, int] = dict.fromkeys(after, 0)
    for node, own in atom.items():
        if node.parent is not None and own not in after[atom[node.parent]]:
            after[atom[node.parent]][own] = None
            waits[own] += 1
    found: dict[Atom, int] = {}
    ready = [one for one, count in waits.items() if count == 0]
    time = dict.fromkeys(after, 0)
    while ready:
        one = ready.pop()
        found[one] = time[one]
        for later in after[one]:
            time[later] = max(time[later], time[one] + 1)
            waits[later] -= 1
            if not waits[later]:
                ready.append(later)
    if len(found) < len(after):
        return _circle({o: a for o, a in after.items() if o not in found}, list(found))
    return {node: found[own] for node, own in atom.items()}


def _circle(after: dict[Atom, dict[Atom, None]], done: Sequence[Atom]) -> list[InfoSet]:
    """The sets on some circle. Every atom that is left waits for another that is left."""
    over = set(done)
    before = {later: one for one, others in after.items() for later in others if later not in over}
    seen: list[Atom] = []
    here = next(iter(before))
    while here not in seen:
        seen.append(here)
        here = before[here]
    return [one for one in seen[seen.index(here) :] if isinstance(one, InfoSet)]
