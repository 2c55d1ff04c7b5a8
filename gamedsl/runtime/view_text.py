"""Views as text for people: boards as grids, hands as lists, hidden things as their number.

Names are the canonical ones, so that a text can be read beside a transcript. It is no prompt: it
knows no labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gamedsl.backends.events import known
from gamedsl.backends.kernel import State as Play
from gamedsl.ir.types import Bag, Grid, List, Option, PerSeat, PerValue, Record, Set, Type
from gamedsl.ir.values import Bag as BagValue
from gamedsl.ir.values import name_of
from gamedsl.runtime.views import HIDDEN, Hidden, View, Viewer

_INDENT = "  "


def text_of(view: View, viewer: Viewer) -> str:
    """A view, several lines, without a newline at the end."""
    asked = f"chooses {view.step}: {', '.join(view.legal)}" if view.step else "is not asked"
    lines = [f"{view.seat} {asked}"]
    for name, value in view.state.items():
        if value is not HIDDEN:
            lines += _entry(name, value, viewer.types[name])
    grouped: dict[str, list[str]] = {}
    for (name, key), value in view.bound.items():
        shown = one_line(value, viewer.slots[name, key].type)
        grouped.setdefault(name, []).append(" ".join((*key, shown)))
    lines += [f"{name}: {', '.join(values)}" for name, values in grouped.items()]
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
            lines += _entry(name, value, viewer.types[name])
        elif isinstance(value, dict):
            parts = (f"{name_of(k)} {_called(name, v, viewer)}" for k, v in value.items())
            lines.append(f"{name}: {', '.join(parts)}")
        else:
            lines.append(f"{name}: {_called(name, value, viewer)}")
    return "\n".join(lines)


def _called(name: str, value: Any, viewer: Viewer) -> str:
    if isinstance(value, dict | frozenset):
        return _plain(value)
    return viewer.names.get((name, value)) or _plain(value)


def _entry(name: str, value: Any, type: Type) -> Iterator[str]:
    """A variable: a line, or its name and lines under it."""
    match type:
        case Grid() if not isinstance(value, Hidden):
            yield f"{name}:"
            yield from _grid(value, type)
        case PerSeat(of=inner) | PerValue(of=inner) if isinstance(value, dict):
            shown = {name_of(k): v for k, v in value.items() if v is not HIDDEN}
            if _is_short(inner):
                parts = (f"{k} {one_line(v, inner)}" for k, v in shown.items())
                yield f"{name}: {', '.join(parts)}"
                return
            yield f"{name}:"
            for key, part in shown.items():
                yield from (f"{_INDENT}{line}" for line in _entry(key, part, inner))
        case _:
            yield f"{name}: {one_line(value, type)}"


def _is_short(type: Type) -> bool:
    inner = type.of if isinstance(type, Option) else type
    return not isinstance(inner, List | Set | Bag | Grid | PerSeat | PerValue)


def _grid(cells: tuple[Any, ...], type: Grid) -> Iterator[str]:
    """Rows and columns with their numbers; `.` where there is none."""
    names = ["." if cell is None else one_line(cell, type.of) for cell in cells]
    width = max(map(len, (*names, str(type.columns - 1))))
    side = len(str(type.rows - 1))
    head = " ".join(f"{column:>{width}}" for column in range(type.columns))
    yield f"{_INDENT}{' ' * side} {head}"
    for row in range(type.rows):
        line = " ".join(
            f"{name:>{width}}" for name in names[row * type.columns : (row + 1) * type.columns]
        )
        yield f"{_INDENT}{row:>{side}} {line}"


def one_line(value: Any, type: Type) -> str:
    """A value in canonical names; `3 hidden` for a list that is not seen."""
    if isinstance(value, Hidden):
        return "hidden" if value.length is None else f"{value.length} hidden"
    match type:
        case Option(of=inner) if value is not None:
            return one_line(value, inner)
        case Record() if isinstance(value, tuple) and HIDDEN in value:
            named = zip(type.fields, value, strict=True)
            return ",".join(
                f"{field}={one_line(part, inner)}"
                for (field, inner), part in named
                if part is not HIDDEN
            )
        case List(of=inner):
            return _listed([one_line(part, inner) for part in value])
        case PerSeat(of=inner) | PerValue(of=inner) if isinstance(value, dict):
            return _listed([f"{name_of(k)} {one_line(v, inner)}" for k, v in value.items()])
        case Set() | Bag():
            return _plain(value)
    return _plain(value)


def _plain(value: Any) -> str:
    if isinstance(value, BagValue):
        names = sorted((name_of(item), count) for item, count in value.items())
        return _listed([name if count == 1 else f"{name} x{count}" for name, count in names])
    if isinstance(value, frozenset):
        return name_of(value)
    if isinstance(value, dict):
        return _listed([f"{name_of(key)} {_plain(part)}" for key, part in value.items()])
    return name_of(value) or "nothing"


def _listed(names: list[str]) -> str:
    mark = "; " if any("," in name for name in names) else ", "
    return mark.join(names) or "nothing"
