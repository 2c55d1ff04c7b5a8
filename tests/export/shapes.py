"""Trees without names, to compare what different readers make of one game.

A shape lists the nodes in prefix order: chance with its probabilities, a player (by number, from 0)
with its information set (numbered in the order in which it is met) and how many actions it has,
or an end with what each player is paid on the whole way. Equal shapes are isomorphic trees with the
same information sets, probabilities and payoffs.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from gamedsl.diagnostics import Problems
from gamedsl.frontend.source import loader
from gamedsl.imports.efg import read_efg
from gamedsl.imports.tokens import TokenReader
from gamedsl.solve.tree import CHANCE, TERMINAL, Tree

Shape = list[tuple[Any, ...]]


def of_tree(tree: Tree) -> Shape:
    shape, numbers, pending = [], {}, [0]
    while pending:
        node = pending.pop()
        info = tree.info[node]
        if info == TERMINAL:
            shape.append(("end", tree.payoffs[node]))
        elif info == CHANCE:
            shape.append(("chance", tree.odds[node]))
        else:
            number = numbers.setdefault(info, len(numbers))
            shape.append((tree.owner[info], number, len(tree.info_sets[info].actions)))
        pending += reversed(tree.children[node])
    return shape


def of_text(text: str) -> Shape:
    """By our own reader."""
    reader = TokenReader(loader.from_text("text.efg", text), Problems())
    reader.format()
    form = read_efg(reader)
    assert not reader.problems.found
    nothing = (Fraction(0),) * len(form.players)
    shape, numbers, pending = [], {}, [(form.nodes[0], nothing)]
    while pending:
        node, before = pending.pop()
        paid = tuple(a + b for a, b in zip(before, node.paid, strict=True))
        info = node.set
        if info is None:
            shape.append(("end", paid))
        elif not info.player:
            shape.append(("chance", info.odds))
        else:
            number = numbers.setdefault(info, len(numbers))
            shape.append((info.player - 1, number, len(info.actions)))
        pending += [(child, paid) for child in reversed(node.children)]
    return shape


def of_gambit(game: Any) -> Shape:
    """By Gambit's reader: of a `pygambit.Game`, whose numbers are exact."""
    players = list(game.players)
    shape, numbers = [], {}
    pending = [(game.root, (Fraction(0),) * len(players))]
    while pending:
        node, before = pending.pop()
        paid = before
        if node.outcome:
            here = (Fraction(str(node.outcome[player])) for player in players)
            paid = tuple(a + b for a, b in zip(before, here, strict=True))
        if node.is_terminal:
            shape.append(("end", paid))
            continue
        info = node.infoset
        if info.is_chance:
            shape.append(("chance", tuple(Fraction(str(a.prob)) for a in info.actions)))
        else:
            who = players.index(info.player)
            number = numbers.setdefault((who, info.number), len(numbers))
            shape.append((who, number, len(info.actions)))
        pending += [(child, paid) for child in reversed(list(node.children))]
    return shape


def elided(shape: Shape) -> Shape:
    """The same without moves that have no alternative."""
    numbers: dict[int, int] = {}
    found: Shape = []
    for kind, what, *rest in shape:
        if rest and rest[0] > 1:
            found.append((kind, numbers.setdefault(what, len(numbers)), *rest))
        elif kind == "end" or (kind == "chance" and len(what) > 1):
            found.append((kind, what))
    return found
