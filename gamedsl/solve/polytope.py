"""All vertices of a polytope {x >= 0, M x <= 1}, exactly.

The double description method (Motzkin, Raiffa, Thompson and Thrall 1953; Fukuda and Prodon 1996):
the polytope is the section of a cone whose extreme rays are known for the orthant; inequalities are
added one by one, and each new ray lies between two adjacent ones on either side. In integers, so
that degenerate polytopes are no special case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

MANY_RAYS = 2_500
MANY_LOOKS = 3_000_000
"""Pairs of rays with a third, over one cut; about a second."""


class TooManyVertices(Exception):
    """The polytope has more vertices than are looked at."""


@dataclass(frozen=True)
class Vertex:
    """A point, and the inequalities that hold there with equality as bits: coordinate j is 0 is bit
    j, row i of M is 1 is bit (coordinates + i)."""

    point: tuple[Fraction, ...]
    tight: int


def vertices(matrix: Sequence[Sequence[Fraction]]) -> list[Vertex]:
    """Every vertex. The entries of M are at least 0, and no column is all 0, so that the polytope
    is bounded. Raises `TooManyVertices`."""
    size = len(matrix[0])
    rays: list[tuple[tuple[int, ...], int]] = []
    everything = (1 << size) - 1
    for j in range(size):
        unit = tuple(int(k == j) for k in range(size + 1))
        rays.append((unit, everything ^ 1 << j))
    rays.append(((0,) * size + (1,), everything))
    for i, row in enumerate(matrix):
        scale = lcm(*(v.denominator for v in row))
        rays = _cut(rays, [int(-v * scale) for v in row] + [scale], size + i, size)
    return [Vertex(tuple(Fraction(x, ray[-1]) for x in ray[:-1]), tight) for ray, tight in rays]


def _cut(
    rays: list[tuple[tuple[int, ...], int]], row: list[int], bit: int, size: int
) -> list[tuple[tuple[int, ...], int]]:
    """The extreme rays of the part of a cone where row · ray >= 0."""
    heights = [sum(a * b for a, b in zip(row, ray, strict=True)) for ray, _ in rays]
    kept = [
        (ray, tight | (1 << bit if not height else 0))
        for (ray, tight), height in zip(rays, heights, strict=True)
        if height >= 0
    ]
    above = [i for i, height in enumerate(heights) if height > 0]
    below = [i for i, height in enumerate(heights) if height < 0]
    masks = [tight for _, tight in rays]
    looks = 0
    for i in above:
        for j in below:
            common = masks[i] & masks[j]
            if common.bit_count() < size - 1:
                continue
            looks += len(masks)
            if looks > MANY_LOOKS:
                raise TooManyVertices
            if any(common & m == common for k, m in enumerate(masks) if k != i and k != j):
                continue
            joined = [
                heights[i] * b - heights[j] * a for a, b in zip(rays[i][0], rays[j][0], strict=True)
            ]
            shrink = gcd(*joined)
            kept.append((tuple(x // shrink for x in joined), common | 1 << bit))
            if len(kept) > MANY_RAYS:
                raise TooManyVertices
    return kept
