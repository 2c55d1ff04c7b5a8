"""The turn program as an outline: what its steps do, in words, with the lines they stand on.

Expressions are lines as they are written in the file; params that stand alone by their values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from gamedsl.diagnostics.spans import Span
from gamedsl.ir.expr import Apply, Const, Expr, LetCall, LetMap, Me, expressions_in
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import (
    Action,
    Binding,
    Block,
    Call,
    Choose,
    Do,
    Draw,
    Loop,
    Pay,
    Show,
    Stage,
    Step,
)
from gamedsl.ir.statements import Readers
from gamedsl.ir.types import Record, plain, text_or_record
from gamedsl.ir.values import name_of
from gamedsl.tables.model import TextRun, series
from gamedsl.tables.text import Line, padded

Kind = Literal["choose", "chance", "show", "do", "pay", "loop", "stage"]
OPTIONS = 5
SIGNS = {
    "choose": "●", "chance": "○", "show": "◐", "do": "∙", "pay": "×", "loop": "↻", "stage": "▸",
}  # fmt: skip
"""The mark of each kind of step in a terminal."""


@dataclass(frozen=True)
class Item:
    """A step. `text` is its headline, `more` are lines under it; `condition` what must hold for it;
    `again` is what ends a loop; `seats` are who may act; `where` is the line, with the file where
    that is not the game's own. `step` is the step itself."""

    kind: Kind
    text: str
    where: str
    step: Step
    more: tuple[str, ...] = ()
    condition: str = ""
    again: str = ""
    seats: tuple[int, ...] = ()
    inside: tuple[Item, ...] = ()

    def walk(self) -> Iterator[tuple[int, Item]]:
        """The item and all inside it, with how deep they are."""
        yield 0, self
        for inner in self.inside:
            yield from ((depth + 1, item) for depth, item in inner.walk())


def outline(ir: GameIR) -> tuple[Item, ...]:
    """The steps of a game, in order."""
    return tuple(_Outline(ir).items(ir.turns))


def flow_lines(ir: GameIR) -> Iterator[Line]:
    """The turn program in a terminal: an indented outline with the lines of the file."""
    items = outline(ir)
    wide = max((len(item.where) for top in items for _, item in top.walk()), default=2) + 1
    blank = " " * (wide + 2)
    yield [TextRun(ir.name, "strong"), TextRun(" · turn program, with line numbers", "soft")]
    for item in items:
        yield from _item_lines(item, wide, "")
    yield from ([TextRun(blank), TextRun(text)] for text in end_lines(ir))
    yield from ([TextRun(f"{blank}  {text}", "soft")] for text in definitions(ir))


def _item_lines(item: Item, wide: int, bars: str) -> Iterator[Line]:
    head = [TextRun(padded(item.where, wide, "right") + "  ", "soft")]
    blank = [TextRun(" " * (wide + 2))]
    if item.condition:
        yield [*head, TextRun(bars, "soft"), TextRun(f"if {item.condition}")]
        head, bars = blank, bars + "╌ "
    style = series(item.seats[0]) if len(item.seats) == 1 else ""
    if item.text:
        line = [
            *head,
            TextRun(bars, "soft"),
            TextRun(f"{SIGNS[item.kind]} ", style),
            TextRun(item.text, style),
        ]
        if isinstance(item.step, Binding) and item.step.readers.kind != "all":
            line.append(TextRun(f" · {readers_text(item.step.readers)}", "soft"))
        yield line
    inner = bars if item.kind == "stage" and not item.text else bars + "│ "
    for more in item.more:
        room, quiet = ("  ", "") if item.kind == "do" else ("    ", "soft")
        yield [*blank, TextRun(bars + room, "soft"), TextRun(more, quiet)]
    for inside in item.inside:
        yield from _item_lines(inside, wide, inner)
    if item.again:
        yield [*blank, TextRun(bars, "soft"), TextRun(f"└ {item.again}")]


def end_lines(ir: GameIR) -> tuple[str, ...]:
    """When the game is over, and what it then pays."""
    lines = []
    if ir.end is not None:
        lines.append(f"over as soon as {source_text(ir.end)}")
    by_text: dict[str, list[str]] = {}
    for seat, amount in ir.payoffs:
        by_text.setdefault(source_text(amount), []).append(seat)
    if len(by_text) == 1:
        lines.append(f"each gets {next(iter(by_text))}")
    else:
        lines += [f"{', '.join(seats)} gets {text}" for text, seats in by_text.items()]
    judged = dict.fromkeys((ir.role_of[seat], source_text(one)) for seat, one in ir.referee_payoffs)
    lines += [f"{role}, a referee, is scored {text}" for role, text in judged]
    return tuple(lines)


def definitions(ir: GameIR) -> tuple[str, ...]:
    """The definitions of the names that the end and the payoffs read, in the order of the file."""
    used: set[str] = set()
    pending: list[object] = [ir.end, ir.payoffs, ir.scores, ir.referee_payoffs]
    while pending:
        for part in expressions_in(pending.pop()):
            if isinstance(part, LetCall | LetMap) and part.name not in used:
                used.add(part.name)
                pending.append(ir.lets_by_name[part.name].body)
    lets = [let for let in ir.lets if let.name in used]
    names = [f"{x.name}({', '.join(x.parameters)})" if x.parameters else x.name for x in lets]
    return tuple(
        f"{name} is {source_text(let.body)}" for name, let in zip(names, lets, strict=True)
    )


def source_text(expr: Expr) -> str:
    """An expression as it is written, or the value of a param."""
    if isinstance(expr, Const) and isinstance(expr.value, int | Fraction):
        return name_of(expr.value)
    return _one_line(expr.span)


def readers_text(readers: Readers) -> str:
    """The readers of a value, in words."""
    if readers.fields:
        return "seen in part"
    if readers.kind == "seats":
        return f"seen by {', '.join(readers.seats)}"
    if readers.kind == "test":
        return f"seen by who meets {source_text(readers.test)}" if readers.test else ""
    return f"seen by {readers.kind}"


def place_of(ir: GameIR, span: Span) -> str:
    """The line of a place, with its file where that is not the game's own."""
    line = str(span.line)
    if span.source is ir.span.source:
        return line
    return f"{span.source.name.rpartition('/')[2].partition('.')[0]}:{line}"


def _one_line(span: Span) -> str:
    text = " ".join(_with_parentheses(span).text.split())
    return "a table" if text.startswith("|") else text


def _with_parentheses(span: Span) -> Span:
    """Returns a span with the parentheses that its first and last operands stand in: spans of
    operands, and so of the whole, begin inside these."""
    text, start, end = span.source.text, span.start, span.end
    depth = least = 0
    for sign in span.text:
        depth += (sign == "(") - (sign == ")")
        least = min(least, depth)
    for _ in range(-least):
        before = text[:start].rstrip()
        if not before.endswith("("):
            return span
        start = len(before) - 1
    for _ in range(depth - least):
        after = text[end:].lstrip()
        if not after.startswith(")"):
            return span
        end = len(text) - len(after) + 1
    return Span(span.source, start, end)


class _Outline:
    def __init__(self, ir: GameIR) -> None:
        self._ir = ir

    def items(self, steps: tuple[Step, ...]) -> Iterator[Item]:
        for step in steps:
            yield from self._item(step)

    def _item(self, step: Step) -> Iterator[Item]:
        condition = "" if step.condition is None else source_text(step.condition)
        where = place_of(self._ir, step.span)
        match step:
            case Block(body=body):
                inner = tuple(self.items(body))
                if condition and inner:
                    yield Item("stage", "", where, step, condition=condition, inside=inner)
                else:
                    yield from inner
            case Loop():
                yield from self._loop(step, where, condition)
            case Stage(body=body):
                yield Item(
                    "stage", f"play {step.id}, worth {source_text(step.weight)}", where, step,
                    condition=condition, inside=tuple(self.items(body)),
                )  # fmt: skip
            case Choose():
                yield self._choose(step, where, condition)
            case Draw():
                yield Item("chance", _draw_text(step), where, step, condition=condition)
            case Show():
                text = f"show {source_text(step.value)}" + f" as {step.variable}" * bool(
                    step.variable
                )
                yield Item("show", text, where, step, condition=condition)
            case Call():
                given = ", ".join(f"{name}: {source_text(it)}" for name, it in step.arguments)
                text = f"call {step.function}({given}), which gives {step.variable}"
                yield Item("do", text, where, step, condition=condition)
            case Do(statements=statements):
                lines = [_one_line(one.span) for one in statements] or [""]
                yield Item("do", lines[0], where, step, tuple(lines[1:]), condition)
            case Pay():
                texts = list(dict.fromkeys(source_text(amount) for _, amount in step.amounts))
                yield Item("pay", f"pay {step.stream}: {'; '.join(texts)}", where, step,
                           condition=condition)  # fmt: skip

    def _loop(self, loop: Loop, where: str, condition: str) -> Iterator[Item]:
        inner = tuple(self.items(loop.body))
        if loop.times is not None:
            times = source_text(loop.times)
            text = "repeat once" if times == "1" else f"repeat {times} times"
        elif loop.items is not None:
            whom = _items_text(loop.items)
            text = f"go round {whom}" if loop.cycle else f"for each of {whom}"
            if loop.item is not None:
                text = f"for each {loop.item} of {whom}"
        else:
            text = "repeat"
        again = f"until {source_text(loop.until)}" if loop.until is not None else ""
        match loop.until:
            case Apply(function="not", arguments=(test,)) if _is_same(test, loop.condition):
                condition, again = "", f"while {source_text(test)}"
        if loop.bound is not None:
            again = f"{again}, at most {loop.bound} times".lstrip(", ")
        text += f", counting {loop.count}" * bool(loop.count)
        yield Item("loop", text, where, loop, condition=condition, again=again, inside=inner)

    def _choose(self, step: Choose, where: str, condition: str) -> Item:
        ir, seats = self._ir, tuple(map(self._ir.everyone.index, step.actors))
        if step.joint:
            verb = "choose at once" if step.said is None else "say at once"
            who = "all" if set(step.actors) == set(ir.seats) else ", ".join(step.actors)
            if step.among is not None:
                who, rest = source_text(step.among), step.written_condition
                condition = "" if rest is None else source_text(rest)
        elif len(seats) == 1:
            who, verb = step.actors[0], "chooses" if step.said is None else "says"
        else:
            who, verb = _actor_text(step), "chooses" if step.said is None else "says"
        text = f"{who} {verb} {step.variable}: {_options_text(step)}"
        if step.knows is not None:
            known = ", ".join(entry.name for entry in step.knows)
            text += f"; knows {known or 'nothing'}"
        more = tuple(filter(None, map(_effect_text, step.moves)))
        return Item("choose", text, where, step, more, condition, seats=seats)


def _is_same(test: Expr, condition: Expr | None) -> bool:
    """Whether a loop ends by the condition on which it begins: it was written as `while`."""
    return condition is not None and test.span == condition.span


def _actor_text(step: Choose) -> str:
    """The actor of a step that one of several seats may take."""
    actor = step.actor
    if actor is None or isinstance(actor, Me) or actor.span == step.span:
        return "who is in turn"
    return source_text(actor)


def _items_text(items: Expr) -> str:
    """The items of a loop; a few roles by their names."""
    if isinstance(items, Const) and isinstance(items.value, tuple) and 0 < len(items.value) < 5:
        return ", ".join(map(name_of, items.value))
    return source_text(items)


def _options_text(step: Choose) -> str:
    if step.said is not None:
        kinds, type = text_or_record(step.type), plain(step.type)
        record = type if kinds is None else kinds.record
        fields = [name for name, _ in record.fields] if isinstance(record, Record) else []
        named = f"JSON with {', '.join(fields)}"
        what = {
            "text": "a text", "code": "code", "json": named, "either": f"a text or {named}",
            "tool": f"a call of {', '.join(fields)}",
        }  # fmt: skip
        return f"{what[step.said.form]}, at most {step.said.max_tokens} tokens"
    if step.moves:
        return ", ".join(move.name for move in step.moves)
    if step.legal is not None:
        return f"from {source_text(step.legal)}"
    names = [option.name for option in step.options[0]]
    if len(names) > OPTIONS:
        return f"{names[0]}, {names[1]}, … {names[-1]}"
    return ", ".join(names)


def _effect_text(action: Action) -> str:
    """The effect of an action, and the condition under which it may be chosen."""
    body = "; ".join(_one_line(step.span) for step in action.body)
    when = "" if action.when is None else f" if {source_text(action.when)}"
    return f"{action.name}{when}{' → ' if body else ''}{body}" if body or when else ""


def _draw_text(step: Draw) -> str:
    source = step.source
    if source.bag is not None:
        text = source.bag.variable
    elif source.values is not None:
        text = source_text(source.values)
    else:
        text = ", ".join(f"{name_of(v)} {p}" for v, p in source.weights[:4])
        text += ", …" * (len(source.weights) > 4)
    if source.take is not None:
        text = f"{source_text(source.take)} of {text}"
    head = "deal" if step.deal else "draw"
    each = ""
    if step.per and not step.deal:
        each = " for each role" if step.by_seat else " for each index"
    return f"{head} {step.variable} from {text}{each}"
