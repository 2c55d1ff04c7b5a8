"""Views as text for people: boards as grids, hands as lists, hidden things as their number.

Names are the canonical ones, so that a text can be read beside a transcript. It is no prompt: it
knows no labels.
"""

from __future__ import annotations

from typing import Any

from gamedsl.engine.kernel import State as Play
from gamedsl.ir.values import name_of
from gamedsl.prompting.events import known
from gamedsl.prompting.value_text import HIDDEN, as_text, one_line, plain_text, titled
from gamedsl.runtime.views import View, Viewer


def text_of(view: View, viewer: Viewer) -> str:
    """A view, several lines, without a newline at the end."""
    asked = f"chooses {view.step}: {', '.join(view.legal)}" if view.step else "is not asked"
    lines = [f"{view.seat} {asked}"]
    for name, value in view.state.items():
        if value is not HIDDEN:
            lines.append(titled(name, as_text(value, viewer.types[name])))
    grouped: dict[str, list[str]] = {}
    for (name, key), value in view.bound.items():
        shown = one_line(value, viewer.slots[name, key].type)
        grouped.setdefault(name, []).append(" ".join((*key, shown)))
    lines += [f"{name}: {', '.join(values)}" for name, values in grouped.items()]
    if view.known is not None and view.step is not None:
        for entry in viewer.knows[view.step]:
            lines.append(titled(entry.name, as_text(view.known[entry.name], entry.value.type)))
        return "\n".join((*lines, "knows nothing else"))
    lines.append(f"seen: {known(view.seen) or 'nothing'}")
    return "\n".join(lines)


def everything(viewer: Viewer, play: Play) -> str:
    """The declared state and all that steps bound last, as the referee sees them. Not for players:
    nothing is left out."""
    lines: list[str] = []
    variables = play.variables
    for name in dict.fromkeys((*viewer.types, *(variable for variable, _ in viewer.slots))):
        if name not in variables:
            continue
        value = variables[name]
        if name in viewer.types:
            lines.append(titled(name, as_text(value, viewer.types[name])))
        elif isinstance(value, dict):
            parts = (f"{name_of(k)} {_called(name, v, viewer)}" for k, v in value.items())
            lines.append(f"{name}: {', '.join(parts)}")
        else:
            lines.append(f"{name}: {_called(name, value, viewer)}")
    return "\n".join(lines)


def _called(name: str, value: Any, viewer: Viewer) -> str:
    try:
        return viewer.names.get((name, value)) or plain_text(value)
    except TypeError:  # a map, or what holds one, has no name
        return plain_text(value)
