"""Subgame-perfect equilibria of trees that fall apart into small stages, such as repeated games.

A subgame begins at a node if nobody who moves after it can confuse it with the rest of the tree. A
stage is a subgame down to the subgames inside it. From the last stages up each is solved as a game
of its own, whose endings are worth what the subgames there were found to be worth (Kuhn 1953; for
stages that are played at once, Fudenberg and Tirole 1991, chapter 4). Where a stage has several
equilibria, one of the largest welfare is taken, a pure one if there is one; another choice may make
another equilibrium of the whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from gamedsl.solve.best_responses import Number, Policy, expected
from gamedsl.solve.equilibria import pure_equilibria
from gamedsl.solve.matrix import all_equilibria, as_policy, matrix_of
from gamedsl.solve.polytope import TooManyVertices
from gamedsl.solve.sequence_form import constant_sum, solve_zero_sum
from gamedsl.solve.solution import Solution, checked
from gamedsl.solve.subgame_perfection import Worth, mean
from gamedsl.solve.table import one_shot
from gamedsl.solve.team import common_payoff, team_optimum
from gamedsl.solve.tree import CHANCE, TERMINAL, InfoSet, Tree, TreeBuilder, Utility

TEAM_STEPS = 200_000


@dataclass(frozen=True)
class Staged:
    """A subgame-perfect equilibrium, and how many stages were solved and how many of them had more
    than one equilibrium to choose from."""

    solution: Solution
    stages: int
    choices: int


def solve_stages(tree: Tree, utility: Utility = "payoffs") -> Staged | None:
    """Returns the solution by stages; None if the tree is a single stage, or some stage has no
    exact method: several seats that know different things, in a general-sum game. Raises
    ImportError without scipy if a stage needs a linear program."""
    roots = subgames(tree)
    if sum(tree.info[n] != TERMINAL for n in roots) < 2:
        return None
    got = tree.utilities(utility, exact=True)
    worth: dict[int, Worth] = {}
    policy: dict[str, Mapping[str, Number]] = {}
    stages = choices = 0
    for root in sorted(roots, reverse=True):
        if tree.info[root] == TERMINAL:
            worth[root] = got[root]
            continue
        if tree.info[root] == CHANCE and all(c in worth for c in tree.children[root]):
            worth[root] = mean(tree.odds[root], [worth[c] for c in tree.children[root]])
            continue
        stage = stage_of(tree, root, worth)
        found = solve_stage(stage)
        if found is None:
            return None
        stages, choices = stages + 1, choices + (found[1] > 1)
        policy |= found[0]
        worth[root] = worth_of(tree, root, worth, policy)
    solution = checked(
        tree, policy, concept="subgame-perfect equilibrium",
        method=f"backward induction over {stages:,} stages", utility=utility,
    )  # fmt: skip
    return Staged(solution, stages, choices)


def subgames(tree: Tree) -> frozenset[int]:
    """The nodes at which a subgame begins, those where the game is over included."""
    parent = [0] * len(tree)
    depth = [0] * len(tree)
    for node, children in enumerate(tree.children):
        for child in children:
            parent[child], depth[child] = node, depth[node] + 1
    inside: set[int] = set()
    for nodes in tree.members:
        climbing = set(nodes)
        while len(climbing) > 1:
            lowest = max(climbing, key=depth.__getitem__)
            climbing.remove(lowest)
            inside.add(lowest)
            climbing.add(parent[lowest])
    return frozenset(range(len(tree))) - inside


def stage_of(tree: Tree, root: int, worth: Mapping[int, Worth]) -> Tree:
    """A stage as a tree of the seats that move in it."""
    nodes, pending = [], [root]
    while pending:
        node = pending.pop()
        nodes.append(node)
        if node == root or node not in worth:
            pending += tree.children[node]
    inner = [n for n in nodes if n == root or n not in worth]
    seats = tuple(sorted({tree.owner[tree.info[n]] for n in inner if tree.info[n] >= 0}))
    builder = TreeBuilder([tree.seats[s] for s in seats], [tree.roles[s] for s in seats])
    new: dict[int, int] = {}
    for node in nodes:
        if node != root and node in worth:
            new[node] = builder.terminal([worth[node][s] for s in seats])
        elif tree.info[node] == CHANCE:
            new[node] = builder.chance(tree.odds[node])
        else:
            new[node] = builder.decision(tree.info_sets[tree.info[node]])
    for node in inner:
        builder.link(new[node], [new[child] for child in tree.children[node]])
    return builder.tree()


def solve_stage(stage: Tree) -> tuple[Policy, int] | None:
    """An equilibrium of a stage, and how many there were to choose from as far as is known."""
    if len(stage.seats) == 1 or common_payoff(stage):
        team = team_optimum(stage, steps=TEAM_STEPS)
        return (team.solution.policy, 1) if team.proved else None
    table = one_shot(stage)
    if table is not None and len(table.seats) == 2:
        try:
            every = all_equilibria(matrix_of(table, "payoffs"))
        except TooManyVertices:
            every = None
        if every is not None:
            found = [as_policy(table, every.first[a], every.second[b]) for a, b in every.extreme]
            return _best(stage, found), len(found)
    if len(stage.seats) == 2 and constant_sum(stage) is not None:
        solution = solve_zero_sum(stage)
        return (solution.policy, 1) if solution.exact else None
    if table is not None:
        pure = [
            {key: {name: Fraction(1)} for key, name in one.profile.items()}
            for one in pure_equilibria(stage, "payoffs").found or ()
        ]
        return (_best(stage, pure), len(pure)) if pure else None
    return None


def _best(stage: Tree, found: list[dict[str, dict[str, Fraction]]]) -> Policy:
    """The first of the largest welfare, pure ones before mixed ones."""

    def rank(policy: Policy) -> tuple[bool, Fraction]:
        pure = all(max(row.values()) == 1 for row in policy.values())
        return pure, Fraction(sum(expected(stage, policy, "payoffs").values()))

    return max(found, key=rank)


def worth_of(tree: Tree, root: int, worth: Mapping[int, Worth], policy: Policy) -> Worth:
    """Returns everybody's value from a stage on, under a policy."""
    total = [Fraction(0)] * len(tree.seats)

    def row(info: InfoSet) -> dict[str, Fraction]:
        return {name: Fraction(p) for name, p in policy[info.key].items()}

    for node, likely in tree.reached(row, root, worth):
        for seat, value in enumerate(worth[node]):
            total[seat] += likely * value
    return tuple(total)
