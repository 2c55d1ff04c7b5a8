"""The turn program in a terminal: an indented outline with the lines of the file."""

from __future__ import annotations

from collections.abc import Iterator

from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Binding
from gamedsl.view.game.figure import Run
from gamedsl.view.game.paint import Line, padded, role
from gamedsl.view.game.program import Item, definitions, last_words, outline, seen_by

SIGNS = {
    "choose": "●", "chance": "○", "show": "◐", "do": "∙", "pay": "×", "loop": "↻", "stage": "▸",
}  # fmt: skip


def flow_text(ir: GameIR) -> Iterator[Line]:
    """The lines of a program."""
    items = outline(ir)
    wide = max((len(item.where) for top in items for _, item in top.walk()), default=2) + 1
    blank = " " * (wide + 2)
    yield [Run(ir.name, "strong"), Run(" · turn program, with line numbers", "soft")]
    for item in items:
        yield from _lines(item, wide, "")
    yield from ([Run(blank), Run(text)] for text in last_words(ir))
    yield from ([Run(f"{blank}  {text}", "soft")] for text in definitions(ir))


def _lines(item: Item, wide: int, bars: str) -> Iterator[Line]:
    head = [Run(padded(item.where, wide, right=True) + "  ", "soft")]
    blank = [Run(" " * (wide + 2))]
    if item.condition:
        yield [*head, Run(bars, "soft"), Run(f"if {item.condition}")]
        head, bars = blank, bars + "╌ "
    style = role(item.seats[0]) if len(item.seats) == 1 else ""
    if item.text:
        line = [*head, Run(bars, "soft"), Run(f"{SIGNS[item.kind]} ", style), Run(item.text, style)]
        if isinstance(item.step, Binding) and item.step.readers.kind != "all":
            line.append(Run(f" · {seen_by(item.step.readers)}", "soft"))
        yield line
    inner = bars if item.kind == "stage" and not item.text else bars + "│ "
    for more in item.more:
        room, quiet = ("  ", "") if item.kind == "do" else ("    ", "soft")
        yield [*blank, Run(bars + room, "soft"), Run(more, quiet)]
    for inside in item.inside:
        yield from _lines(inside, wide, inner)
    if item.again:
        yield [*blank, Run(bars, "soft"), Run(f"└ {item.again}")]
