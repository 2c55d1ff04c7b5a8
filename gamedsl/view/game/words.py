"""Texts in lines."""

from __future__ import annotations

from gamedsl.view.game.figure import SIZE
from gamedsl.view.game.metrics import width_of


def filled(text: str, width: float, size: float = SIZE) -> list[str]:
    """A text in lines of at most `width`, where its words allow it."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and width_of(longer, size) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines
