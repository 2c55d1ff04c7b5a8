"""Random games of perfect recall as trees, and random policies for them."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from zlib import crc32

from gamedsl.solve import InfoSet, Tree, TreeBuilder


def random_tree(seed: int, seats: int, depth: int = 5) -> Tree:
    """Everybody remembers what it did and what it happened to see; sums are not constant."""
    random = Random(seed)
    names = [f"seat{i}" for i in range(seats)]
    builder = TreeBuilder(names)

    def told(seen: dict[str, str], what: str, whom: set[str]) -> dict[str, str]:
        return {name: past + what * (name in whom) for name, past in seen.items()}

    def grow(seen: dict[str, str], left: int) -> int:
        if left == 0 or random.random() < 0.1:
            return builder.terminal([random.randint(-3, 3) for _ in names])
        watching = {name for name in names if random.random() < 0.4}
        if random.random() < 0.3:
            weights = [random.randint(1, 3) for _ in range(random.randint(1, 3))]
            node = builder.chance([Fraction(w, sum(weights)) for w in weights])
            after = [told(seen, f"c{i}", watching) for i in range(len(weights))]
        else:
            seat = random.choice(names)
            key = f"{seat}:{seen[seat]}"
            actions = tuple(f"a{i}" for i in range(1 + crc32(key.encode()) % 3))
            node = builder.decision(InfoSet(key, seat, seat, "move", actions))
            # The one who acts remembers that it did, and which; the rest may see.
            after = [told(seen, f"{seat}{a}", watching | {seat}) for a in actions]
        builder.link(node, [grow(each, left - 1) for each in after])
        return node

    grow(dict.fromkeys(names, ""), depth)
    return builder.tree()


def random_policy(tree: Tree, seed: int) -> dict[str, dict[str, Fraction]]:
    """Some actions have probability 0, so that parts of the tree are not reached."""
    random = Random(seed)
    policy = {}
    for info in tree.info_sets:
        weights = [random.choice([0, 1, 1, 2, 5]) for _ in info.actions]
        weights[random.randrange(len(weights))] += 1
        shares = [Fraction(w, sum(weights)) for w in weights]
        policy[info.key] = dict(zip(info.actions, shares, strict=True))
    return policy
