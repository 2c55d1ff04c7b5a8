"""The picture of the architecture page: which part of the compiler feeds which."""

from __future__ import annotations

from math import atan2, degrees

from gamedsl.view.canvas import Canvas
from gamedsl.view.text_metrics import Box

ACROSS, DOWN, WIDE, HIGH = 92, 58, 76, 28
PLACES = {
    "game.yaml": (1.5, 0), "frontend": (1.5, 1), "sema": (1.5, 2), "ir": (1.5, 3),
    "prompting": (0.5, 4), "engine": (1.5, 4), "bounds": (2.5, 4), "runtime": (1.5, 5),
    "analysis": (0, 6), "export": (1, 6), "solve": (2.1, 6), "policies": (3.1, 6),
    "validate": (0, 7), "players": (1.5, 7), "recipe": (4, 7),
    "evaluate": (1.5, 8), "train": (3, 8), "view": (2.25, 9),
}  # fmt: skip
"""The column and row of each box."""

ARROWS = [
    ("game.yaml", "frontend", ""), ("frontend", "sema", "span tree, expressions"),
    ("sema", "ir", "GameIR"), ("ir", "prompting", ""), ("ir", "engine", ""), ("ir", "bounds", ""),
    ("bounds", "sema", ""), ("prompting", "runtime", ""), ("engine", "runtime", ""),
    ("bounds", "engine", ""), ("runtime", "analysis", ""), ("runtime", "export", ""),
    ("runtime", "solve", ""), ("runtime", "players", ""), ("analysis", "validate", ""),
    ("solve", "players", ""), ("policies", "players", ""), ("policies", "train", ""),
    ("recipe", "train", ""), ("players", "evaluate", ""), ("players", "train", ""),
    ("evaluate", "view", ""), ("train", "view", ""),
]  # fmt: skip


def picture() -> str:
    """Returns the picture as SVG."""
    canvas = Canvas(width=4 * ACROSS + WIDE + 24, height=9 * DOWN + HIGH + 24)
    boxes = {name: _box(*place) for name, place in PLACES.items()}
    for start, end, label in ARROWS:
        (x1, y1), (x2, y2) = _ends(boxes[start], boxes[end])
        canvas.line(x1, y1, x2, y2, "edge")
        canvas.arrow(x2, y2, turn=degrees(atan2(y2 - y1, x2 - x1)))
        if label:
            canvas.write((x1 + x2) / 2 + 8, (y1 + y2) / 2 + 4, label, "soft")
    for name, box in boxes.items():
        outside = name in ("game.yaml", "validate")
        canvas.box(box, "open" if outside else "tint", HIGH / 2 if outside else 4)
        canvas.box(box, "frame clear", HIGH / 2 if outside else 4)
        canvas.write((box.left + box.right) / 2, box.top + 18, name, anchor="middle")
    told = "; ".join(f"{start} → {end}" for start, end, _ in ARROWS)
    return canvas.document("The parts of the compiler", told)


def _box(column: float, row: int) -> Box:
    left, top = 12 + column * ACROSS, 12 + row * DOWN
    return Box(left, top, left + WIDE, top + HIGH)


def _ends(start: Box, end: Box) -> tuple[tuple[float, float], tuple[float, float]]:
    """Returns where an arrow leaves one box and meets the other."""
    if start.top == end.top:
        y = (start.top + start.bottom) / 2
        return ((start.left, y), (end.right, y)) if start.left > end.left else (
            (start.right, y), (end.left, y)
        )  # fmt: skip
    down = start.top < end.top
    x1, x2 = (start.left + start.right) / 2, (end.left + end.right) / 2
    if not down:  # along the side of what is between
        return (x1 + WIDE / 4, start.top), (end.right, (end.top + end.bottom) / 2)
    return (x1, start.bottom), (x2, end.top)
