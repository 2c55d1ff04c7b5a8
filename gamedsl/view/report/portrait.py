"""The run drawn into the plane of its game: where learning flows, and the course this run took.

In a 2x2 game a policy of both seats is a point of the unit square, so the policy-gradient flow, the
edge of the basin and the run's course fit in one picture. In a game of two seats with three actions
each, a seat's policy is a point of a triangle, and the two courses are drawn into one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gamedsl.solve.equilibria import mixed_equilibria, pure_equilibria
from gamedsl.solve.table import PayoffTable, one_shot
from gamedsl.solve.tree import Tree
from gamedsl.view.canvas import Canvas
from gamedsl.view.charts import LETTERS

if TYPE_CHECKING:
    import numpy as np

Point = tuple[float, float]
Policy = Mapping[str, Mapping[str, float]]

SIZE, LEFT, TOP = 400, 78, 38
CELLS = 30
STRIDE = 0.005


def picture(tree: Tree, course: Sequence[tuple[int, Policy]], prediction: Any) -> str:
    """The picture that fits the game, or an empty text. `course` is (step, policy) from step 0."""
    table = one_shot(tree)
    if table is None or len(table.seats) != 2 or not course:
        return ""
    if table.two_by_two:
        return _square(tree, table, course, prediction)
    if [len(names) for names in table.actions] == [3, 3] and table.actions[0] == table.actions[1]:
        return _triangle(tree, table, course)
    return ""


def _square(
    tree: Tree, table: PayoffTable, course: Sequence[tuple[int, Policy]], prediction: Any
) -> str:
    canvas = Canvas(SIZE + LEFT + 60, SIZE + TOP + 66, LETTERS)
    first, second = (names[0] for names in table.actions)

    def at(point: Sequence[float]) -> Point:
        return LEFT + point[0] * SIZE, TOP + (1 - point[1]) * SIZE

    boundary = (prediction or {}).get("boundary")
    if boundary and prediction["profile"]:
        corner = [float(prediction["profile"].get(k) == n[0]) for k, n in _pairs(table)]
        canvas.path([at(p) for p in [corner, *boundary["curve"]]], "basin", closed=True)
    canvas.path([at(p) for p in ((0, 0), (1, 0), (1, 1), (0, 1))], "frame", closed=True)
    for line in _streamlines(tree, (prediction or {}).get("coupling")):
        canvas.path([at(p) for p in line], "stream")
        _arrow(canvas, [at(p) for p in line])
    if boundary:
        canvas.path([at(p) for p in boundary["curve"]], "edge")
    _rest_points(canvas, tree, table, at)
    points = [(step, (p[table.keys[0]][first], p[table.keys[1]][second])) for step, p in course]
    _draw_course(canvas, [(step, at(p)) for step, p in points], "c1")
    _frame_labels(canvas, table, at)
    start, final = points[0][1], points[-1][1]
    summary = (
        f"The horizontal axis is how often {table.seats[0]} plays {first}, the vertical one how "
        f"often {table.seats[1]} plays {second}. The run starts at {start[0]:.2f}, {start[1]:.2f} "
        f"and ends, after step {points[-1][0]}, at {final[0]:.2f}, {final[1]:.2f}."
    )
    return canvas.inline("Phase portrait of learning, with the run's course", summary)


def _pairs(table: PayoffTable) -> list[tuple[str, tuple[str, ...]]]:
    return list(zip(table.keys, table.actions, strict=True))


def _frame_labels(canvas: Canvas, table: PayoffTable, at: Any) -> None:
    (left, right), below = table.seats, TOP + SIZE
    for value in (0, 0.25, 0.5, 0.75, 1):
        canvas.write(at((value, 0))[0], below + 17, f"{value:g}", "tick", "middle")
        canvas.write(LEFT - 8, at((0, value))[1] + 4, f"{value:g}", "tick", "end")
    canvas.write(
        LEFT + SIZE / 2, below + 36, f"probability that {left} plays {table.actions[0][0]}",
        "axis", "middle",
    )  # fmt: skip
    canvas.write(
        18, TOP + SIZE / 2, f"probability that {right} plays {table.actions[1][0]}",
        "axis", "middle", turn=-90,
    )  # fmt: skip


def _rest_points(canvas: Canvas, tree: Tree, table: PayoffTable, at: Any) -> None:
    """Equilibria: squares for pure ones, a diamond for a mixed one, named outside the frame."""
    for one in pure_equilibria(tree).found or ():
        corner = [float(one.profile[k] == n[0]) for k, n in _pairs(table)]
        x, y = at(corner)
        canvas.path(
            [(x - 6, y - 6), (x + 6, y - 6), (x + 6, y + 6), (x - 6, y + 6)], "pure", closed=True
        )
        anchor = "end" if corner[0] else "start"
        above = corner[1] > 0.5
        canvas.write(x, y - 14 if above else y + 52, one.text, "point", anchor)
    for mixed in mixed_equilibria(tree) or ():
        where = [float(mixed[k][n[0]]) for k, n in _pairs(table)]
        x, y = at(where)
        canvas.path([(x - 7, y), (x, y - 7), (x + 7, y), (x, y + 7)], "mixed", closed=True)
        left = where[0] > 0.5
        said = f"mixed ({where[0]:.2g}, {where[1]:.2g})"
        canvas.write(x + (-12 if left else 12), y + 4, said, "aside", "end" if left else "start")


def _draw_course(
    canvas: Canvas, course: Sequence[tuple[int, Point]], colour: str, *, over: bool = False
) -> None:
    """The run's course: a line with a dot a step, an open circle at its start, a disc at its end.

    `over` is for a second course: dashed, so that a first one under it stays visible.
    """
    points = [p for _, p in course]
    if not over:
        canvas.path(points, "halo")
    canvas.path(points, f"course {colour}{' over' if over else ''}")
    for x, y in points[1:-1] if len(points) <= 80 and not over else ():
        canvas.circle(x, y, 1.9, f"step {colour}")
    canvas.circle(*points[0], 6, f"begin {colour}")
    canvas.circle(*points[-1], 6, f"finish {colour}")


def _streamlines(tree: Tree, coupling: str | None) -> list[list[Point]]:
    """Evenly spaced flow lines: each runs both ways from its seed until it comes into a cell that
    another line has taken (the scheme of matplotlib's streamplot)."""
    if coupling == "given":
        return []
    field = _field(tree, coupling or "independent")
    taken: set[tuple[int, int]] = set()
    lines = []
    order = sorted(range(CELLS * CELLS), key=lambda i: (i * 367) % (CELLS * CELLS))
    for number in order:
        cell = divmod(number, CELLS)
        if cell in taken:
            continue
        seed = ((cell[0] + 0.5) / CELLS, (cell[1] + 0.5) / CELLS)
        mine: set[tuple[int, int]] = {cell}
        back = _trace(field, seed, -1, taken, mine)
        line = [*back[::-1], seed, *_trace(field, seed, 1, taken, mine)]
        if len(line) * STRIDE > 0.16:
            taken |= mine
            lines.append(line[::3] + line[-1:])
    return lines


def _trace(
    field: Any, seed: Point, sign: int, taken: set[tuple[int, int]], mine: set[tuple[int, int]]
) -> list[Point]:
    x, y = seed
    line: list[Point] = []
    for _ in range(int(3 / STRIDE)):
        dx, dy = field(x, y)
        size = (dx * dx + dy * dy) ** 0.5
        if size < 1e-9:
            break
        x, y = x + sign * STRIDE * dx / size, y + sign * STRIDE * dy / size
        if not (0.004 < x < 0.996 and 0.004 < y < 0.996):
            break
        cell = (int(x * CELLS), int(y * CELLS))
        if cell in taken:
            break
        mine.add(cell)
        line.append((x, y))
    return line


def _field(tree: Tree, coupling: str) -> Any:
    """The velocity of the two probabilities at any point, from a grid, bilinearly."""
    import numpy as np

    from gamedsl.solve.basin_prediction import coupling_matrix
    from gamedsl.solve.gradient_flow import GradientFlow

    flow, size = (
        GradientFlow(
            tree, coupling_matrix(tree, "shared" if coupling == "shared" else "independent")
        ),
        61,
    )
    axis = np.linspace(0.004, 0.996, size)
    xs, ys = (grid.ravel() for grid in np.meshgrid(axis, axis, indexing="ij"))
    probs = np.stack([xs, 1 - xs, ys, 1 - ys], axis=1)
    speed = flow.velocity(np.log(probs))[0]
    dx = probs[:, 0] * probs[:, 1] * (speed[:, 0] - speed[:, 1])
    dy = probs[:, 2] * probs[:, 3] * (speed[:, 2] - speed[:, 3])
    grids: tuple[np.ndarray, np.ndarray] = dx.reshape(size, size), dy.reshape(size, size)
    rows = [grid.tolist() for grid in grids]

    def velocity(x: float, y: float) -> Point:
        a, b = ((min(max(v, 0.004), 0.9959) - 0.004) / 0.992 * (size - 1) for v in (x, y))
        i, j = int(a), int(b)
        u, v = a - i, b - j
        return tuple(
            (1 - u) * ((1 - v) * g[i][j] + v * g[i][j + 1])
            + u * ((1 - v) * g[i + 1][j] + v * g[i + 1][j + 1])
            for g in rows
        )

    return velocity


def _arrow(canvas: Canvas, line: Sequence[Point]) -> None:
    """A small head in the middle of a line."""
    middle = len(line) // 2
    (x0, y0), (x1, y1) = line[middle - 1], line[middle]
    size = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5 or 1
    dx, dy = (x1 - x0) / size * 4, (y1 - y0) / size * 4
    wing = [(x1 - dx - dy * 0.8, y1 - dy + dx * 0.8), (x1 + dx * 0.6, y1 + dy * 0.6),
            (x1 - dx + dy * 0.8, y1 - dy - dx * 0.8)]  # fmt: skip
    canvas.path(wing, "head")


def _triangle(tree: Tree, table: PayoffTable, course: Sequence[tuple[int, Policy]]) -> str:
    names = table.actions[0]
    side, high = 380.0, 380.0 * 3**0.5 / 2
    corners = [(60.0, 40 + high), (60 + side, 40 + high), (60 + side / 2, 40.0)]
    canvas = Canvas(side + 120, high + 96, LETTERS)

    def at(probs: Mapping[str, Any]) -> Point:
        x, y = (
            sum(float(probs.get(n, 0)) * c[i] for n, c in zip(names, corners, strict=True))
            for i in (0, 1)
        )
        return x, y

    for tenth in (0.25, 0.5, 0.75):
        for a, b, c in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            ends = [{names[a]: tenth, names[o]: 1 - tenth} for o in (b, c)]
            canvas.line(*at(ends[0]), *at(ends[1]), "grid")
    canvas.path(corners, "frame", closed=True)
    for name, (x, y), drop in zip(names, corners, (22, 22, -12), strict=True):
        canvas.write(x, y + drop, name, "point", "middle")
    for number, (seat, key) in enumerate(zip(table.seats, table.keys, strict=True)):
        points = [(step, at(policy[key])) for step, policy in course]
        _draw_course(canvas, points, f"c{number}", over=number > 0)
        x, y = 60 + number * side / 2, high + 86
        canvas.line(x, y - 4, x + 24, y - 4, f"course c{number}{' over' if number else ''}")
        canvas.write(x + 32, y, seat, f"name f{number}")
    for one in mixed_equilibria(tree) or ():
        for key in table.keys:
            x, y = at(one[key])
            canvas.path([(x - 7, y), (x, y - 7), (x + 7, y), (x, y + 7)], "mixed", closed=True)
    summary = (
        f"Corners are {', '.join(names)}; each line is one role's policy over {len(course)} steps."
    )
    return canvas.inline("The course of both policies, with the mixed equilibrium", summary)
