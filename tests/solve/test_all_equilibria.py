"""Every equilibrium of a table: classical games, degenerate ones, and random ones against trial."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from random import Random

import pytest
from small_games import BIASED_ROCK, HAWK_DOVE, PENNIES, PRISONERS, ROCK, STAG_HUNT, matrix_tree

import gamedsl
from gamedsl.solve import all_equilibria, polytope, study, tabulate
from gamedsl.solve.polytope import TooManyVertices, vertices
from gamedsl.solve.rational_algebra import solve_linear

F = Fraction


def cells(rows):
    return [[(F(a), F(b)) for a, b in row] for row in rows]


def played(rows):
    found = all_equilibria(cells(rows))
    return [(found.first[a], found.second[b]) for a, b in found.extreme]


SEXES = [[(2, 1), (0, 0)], [(0, 0), (1, 2)]]


@pytest.mark.parametrize(
    ("rows", "count"),
    [
        (SEXES, 3), (STAG_HUNT[0], 3), (HAWK_DOVE[0], 3), (PRISONERS[0], 1), (PENNIES[0], 1),
        (ROCK[0], 1), (BIASED_ROCK[0], 1),
        ([[(int(i == j),) * 2 for j in range(4)] for i in range(4)], 15),
    ],
)  # fmt: skip
def test_how_many_there_are(rows, count):
    found = all_equilibria(cells(rows))
    assert len(found.extreme) == len(found.components) == count
    assert found.finite


def test_battle_of_the_sexes_one_by_one():
    assert played(SEXES) == [
        ((1, 0), (1, 0)), ((0, 1), (0, 1)), ((F(2, 3), F(1, 3)), (F(1, 3), F(2, 3)))
    ]  # fmt: skip


def test_supports_of_unequal_size():
    """The degenerate game of von Stengel (2007), section 3.5."""
    rows = [[(3, 3), (3, 3)], [(2, 2), (5, 6)], [(0, 3), (6, 1)]]
    assert played(rows) == [
        ((1, 0, 0), (1, 0)),
        ((1, 0, 0), (F(2, 3), F(1, 3))),
        ((0, F(1, 3), F(2, 3)), (F(1, 3), F(2, 3))),
    ]
    found = all_equilibria(cells(rows))
    assert not found.finite
    assert [[(len(s.first), len(s.second)) for s in part] for part in found.components] == [
        [(1, 2)], [(1, 1)]
    ]  # fmt: skip


def test_a_component_of_two_segments():
    """Where row plays up, column does not care; where column plays right, row does not."""
    found = all_equilibria(cells([[(1, 1), (0, 1)], [(0, 0), (0, 0)]]))
    (component,) = found.components
    assert len(found.extreme) == 3
    assert sorted((len(s.first), len(s.second)) for s in component) == [(1, 2), (2, 1)]


def test_a_game_of_indifference_is_one_square():
    found = all_equilibria(cells([[(1, 1), (1, 1)], [(1, 1), (1, 1)]]))
    assert [[(s.first, s.second) for s in part] for part in found.components] == [
        [((0, 1), (0, 1))]
    ]


def by_trial(rows):
    """Equilibria of a game that is not degenerate, by trying all pairs of supports of one size."""
    m, n = len(rows), len(rows[0])
    found = set()
    for size in range(1, min(m, n) + 1):
        for left, right in product(combinations(range(m), size), combinations(range(n), size)):
            x = mixture([[rows[i][j][1] for i in left] for j in right])
            y = mixture([[rows[i][j][0] for j in right] for i in left])
            if x is None or y is None or min(*x, *y) <= 0:
                continue
            xs = [x[left.index(i)] if i in left else F(0) for i in range(m)]
            ys = [y[right.index(j)] if j in right else F(0) for j in range(n)]
            gains = [sum(rows[i][j][0] * ys[j] for j in range(n)) for i in range(m)]
            others = [sum(rows[i][j][1] * xs[i] for i in range(m)) for j in range(n)]
            if all(gains[i] == max(gains) for i in left) and all(
                others[j] == max(others) for j in right
            ):
                found.add((tuple(xs), tuple(ys)))
    return found


def mixture(gains):
    """What makes all rows earn the same."""
    size = len(gains)
    rows = [({c: gains[r][c] - gains[0][c] for c in range(size)}, F(0)) for r in range(1, size)]
    return solve_linear([*rows, (dict.fromkeys(range(size), F(1)), F(1))], size)


def test_random_games_agree_with_trial_of_supports():
    random = Random(3)
    for _ in range(60):
        m, n = random.randint(1, 4), random.randint(1, 4)
        rows = cells([[(random.randint(0, 999), random.randint(0, 999)) for _ in range(n)]
                      for _ in range(m)])  # fmt: skip
        found = all_equilibria(rows)
        pairs = {(found.first[a], found.second[b]) for a, b in found.extreme}
        assert found.finite
        assert pairs == by_trial(rows)


def test_every_mixture_of_a_component_is_an_equilibrium():
    random = Random(5)
    seen = 0
    for _ in range(60):
        rows = cells([[(random.randint(0, 2), random.randint(0, 2)) for _ in range(3)]
                      for _ in range(3)])  # fmt: skip
        found = all_equilibria(rows)
        assert found.extreme
        for part in (s for component in found.components for s in component):
            seen += len(part.first) * len(part.second) > 1
            x, y = (
                [
                    sum(column, F(0)) / len(chosen)
                    for column in zip(*(of[c] for c in chosen), strict=True)
                ]
                for chosen, of in ((part.first, found.first), (part.second, found.second))
            )
            gains = [sum(rows[i][j][0] * y[j] for j in range(3)) for i in range(3)]
            others = [sum(rows[i][j][1] * x[i] for i in range(3)) for j in range(3)]
            assert sum(p * g for p, g in zip(x, gains, strict=True)) == max(gains)
            assert sum(p * g for p, g in zip(y, others, strict=True)) == max(others)
    assert seen > 10


def test_vertices_of_square_and_truncated_square():
    square = [[F(1), F(0)], [F(0), F(1)]]
    assert {v.point for v in vertices(square)} == {(0, 0), (0, 1), (1, 0), (1, 1)}
    cut = [*square, [F(2, 3), F(2, 3)]]
    assert {v.point for v in vertices(cut)} == {(0, 0), (0, 1), (1, 0), (1, F(1, 2)), (F(1, 2), 1)}


def test_vertices_of_degenerate_polytopes_agree_with_trial():
    """Each choice of as many tight inequalities as coordinates, held against all others."""
    random = Random(11)
    for _ in range(20):
        size, rows = 4, random.randint(3, 5)
        matrix = [[F(random.randint(0, 1)) for _ in range(size)] for _ in range(rows)]
        matrix.append([F(1, 2)] * size)
        unit = [[F(int(i == j)) for j in range(size)] for i in range(size)]
        lines = [(row, F(0)) for row in unit] + [(row, F(1)) for row in matrix]
        known = set()
        for chosen in combinations(lines, size):
            point = solve_linear([(dict(enumerate(row)), total) for row, total in chosen], size)
            if (
                point is not None
                and min(point) >= 0
                and all(sum(a * b for a, b in zip(row, point, strict=True)) <= 1 for row in matrix)
            ):
                known.add(tuple(point))
        found = vertices(matrix)
        assert len(found) == len(known)
        assert {v.point for v in found} == known


def test_too_many_vertices_are_given_up(monkeypatch):
    monkeypatch.setattr(polytope, "MANY_RAYS", 3)
    with pytest.raises(TooManyVertices):
        all_equilibria(cells([[(int(i == j),) * 2 for j in range(4)] for i in range(4)]))


def test_what_is_found_has_no_regret_and_names():
    found = study(tabulate(gamedsl.load("stag_hunt").env()))
    assert found.complete
    assert [one.names for one in found.found] == [
        ("pure", "strict", "payoff-dominant"), ("pure", "strict", "risk-dominant"), ("mixed",)
    ]  # fmt: skip
    assert all(one.solution.exact and one.solution.nash_conv == 0 for one in found.found)
    assert found.pick == 0


def test_three_seats_get_pure_equilibria_with_note():
    found = study(tabulate(gamedsl.load("stag_hunt_n").env()))
    assert [one.names[:2] for one in found.found] == [("pure", "strict")] * 2
    assert not found.complete
    assert "mixed ones were not looked for" in found.note
    assert study(tabulate(gamedsl.load("public_goods").env())).complete


def test_large_zero_sum_table_has_its_value(monkeypatch):
    monkeypatch.setattr(polytope, "MANY_RAYS", 2)
    found = study(matrix_tree(*ROCK))
    (only,) = found.found
    assert (found.complete, only.names, only.solution.nash_conv) == (False, ("mixed",), 0)
    assert "linear programming" in found.note


def test_gambit_finds_the_same():
    """Its enumeration of extreme equilibria in rationals, on games of which many are degenerate."""
    gambit, numpy = pytest.importorskip("pygambit"), pytest.importorskip("numpy")
    random, infinite = Random(2), 0
    for _ in range(30):
        m, n, most = random.randint(2, 4), random.randint(2, 4), random.choice([2, 5, 999])
        rows = [[(random.randint(0, most), random.randint(0, most)) for _ in range(n)]
                for _ in range(m)]  # fmt: skip
        arrays = (numpy.array([[cell[seat] for cell in row] for row in rows]) for seat in (0, 1))
        game = gambit.Game.from_arrays(*arrays)
        theirs = {
            tuple(tuple(F(str(one[s])) for s in player.strategies) for player in game.players)
            for one in gambit.nash.enummixed_solve(game, rational=True).equilibria
        }
        found = all_equilibria(cells(rows))
        infinite += not found.finite
        assert {(found.first[a], found.second[b]) for a, b in found.extreme} == theirs
    assert infinite > 5
