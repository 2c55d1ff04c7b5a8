"""The value of a two-player zero-sum tree by linear programming over sequences.

Koller, Megiddo and von Stengel (1996). Written for tests alone, apart from the solvers they check.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array, hstack

from gamedsl.solve import Tree
from gamedsl.solve.tree import CHANCE, TERMINAL

Sequences = list[dict[tuple[int, int], int]]


def value(tree: Tree) -> float:
    """Returns the first seat's payoff at equilibrium."""
    payoff_XY, plans = _payoffs(tree)
    (flow_IX, _), (flow_JY, root_J) = (_flow(tree, seat, plans[seat]) for seat in (0, 1))
    _, root_I = _flow(tree, 0, plans[0])
    sequences, sets = payoff_XY.shape[0], flow_JY.shape[0]
    # max root·q with flow_IX x = root, flow_JYᵀ q <= payoff_XYᵀ x, x >= 0
    found = linprog(
        np.concatenate([np.zeros(sequences), -root_J]),
        A_ub=hstack([-payoff_XY.T, flow_JY.T]).tocsr(),
        b_ub=np.zeros(payoff_XY.shape[1]),
        A_eq=hstack([flow_IX, csr_array((flow_IX.shape[0], sets))]).tocsr(),
        b_eq=root_I,
        bounds=[(0, None)] * sequences + [(None, None)] * sets,
    )
    assert found.status == 0, found.message
    return float(-found.fun)


def _payoffs(tree: Tree) -> tuple[csr_array, Sequences]:
    """Returns the first seat's chance-weighted payoffs by the sequences of both, and those
    sequences."""
    known: Sequences = [{}, {}]
    weights: dict[tuple[int, int], float] = {}
    pending: list[tuple[int, tuple[int, int], float]] = [(0, (0, 0), 1.0)]
    while pending:
        node, at, likely = pending.pop()
        info = tree.info[node]
        if info == TERMINAL:
            weights[at] = weights.get(at, 0.0) + likely * float(tree.payoffs[node][0])
        for place, child in enumerate(tree.children[node]):
            if info == CHANCE:
                pending.append((child, at, likely * float(tree.odds[node][place])))
                continue
            seat = tree.owner[info]
            number = known[seat].setdefault((info, place), 1 + len(known[seat]))
            pending.append((child, (number, at[1]) if seat == 0 else (at[0], number), likely))
    rows, columns = zip(*weights, strict=True)
    shape = tuple(1 + len(k) for k in known)
    return coo_array((list(weights.values()), (rows, columns)), shape=shape).tocsr(), known


def _flow(tree: Tree, seat: int, known: dict[tuple[int, int], int]) -> tuple[csr_array, np.ndarray]:
    """Returns the constraints of a seat's plans: at each information set the plans of its actions
    add up to that of the sequence before."""
    before: dict[int, int] = {}
    pending = [(0, 0)]
    while pending:
        node, at = pending.pop()
        info = tree.info[node]
        mine = info >= 0 and tree.owner[info] == seat
        if mine:
            before[info] = at
        pending += [
            (child, known[info, place] if mine else at)
            for place, child in enumerate(tree.children[node])
        ]
    entries = [(0, 0, 1.0)]
    for row, (info, at) in enumerate(before.items(), 1):
        entries.append((row, at, -1.0))
        entries += [(row, n, 1.0) for (i, _), n in known.items() if i == info]
    rows, columns, signs = zip(*entries, strict=True)
    shape = (1 + len(before), 1 + len(known))
    root = np.zeros(shape[0])
    root[0] = 1.0
    return coo_array((signs, (rows, columns)), shape=shape).tocsr(), root
