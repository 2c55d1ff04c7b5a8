"""A strategic game as a game file: all choose at once, and a table pays them."""

from __future__ import annotations

from itertools import product

from gamedsl.imports.layout import amount, head, listed
from gamedsl.imports.names import Names, are_numbers, places, slug
from gamedsl.imports.nfg import Strategic


def matrix_file(table: Strategic, name: str) -> str:
    """The text of a game file."""
    names = Names()
    roles = list(names.of(places(table.players), "player", lower=True).values())
    if all(map(are_numbers, table.strategies)):
        actions = [list(own) for own in table.strategies]
    else:
        every = names.of((place for own in table.strategies for place in places(own)), "s")
        actions = [[every[place] for place in places(own)] for own in table.strategies]
    lines = head(slug(name), table.title, table.comment, names, roles)
    if all(own == actions[0] for own in actions):
        lines.append(f"actions: {listed(actions[0])}")
    else:
        lines.append("actions:")
        lines += [f"  {role}: {listed(own)}" for role, own in zip(roles, actions, strict=True)]
    rows = [[", ".join(roles), *actions[-1]]]
    for place in product(*(range(len(own)) for own in actions[:-1])):
        key = ", ".join(own[i] for own, i in zip(actions, place, strict=False))
        cells = (table.payoffs[(*place, last)] for last in range(len(actions[-1])))
        rows.append([key, *(", ".join(map(amount, cell)) for cell in cells)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines += ["protocol: simultaneous", "payoffs: |"]
    lines += [
        "  " + " | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join(lines) + "\n"
