"""The turn program: the steps of a file and of the protocols and games that it uses, in a tree."""

from __future__ import annotations

import re
from collections.abc import Callable

from gamedsl.diagnostics import Problems
from gamedsl.diagnostics.spans import Span
from gamedsl.frontend.source.nodes import Mapping, Node, Scalar, Sequence
from gamedsl.ir import expr as ir
from gamedsl.ir.builtins import element
from gamedsl.ir.expr import walk
from gamedsl.ir.program import AtBound, Block, Choose, Loop, Step, walk_steps
from gamedsl.ir.types import BOOL, NEVER, SEAT, WHOLE, List, Number, Type
from gamedsl.sema.bounds import bound_of
from gamedsl.sema.narrow import Facts
from gamedsl.sema.options import PLAY
from gamedsl.sema.scope import (
    ParamName,
    StateName,
    report_taken,
)
from gamedsl.sema.types import part_of
from gamedsl.sema.uses import Uses
from gamedsl.sema.values import constant

MAX_STEPS = 1000
"""Steps of one game."""

MAX_PASSES = 100_000
"""Passes of one loop."""

_CYCLE = re.compile(r"cycle\((.+)\)\Z", re.DOTALL)
_ITEM = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\s+in\s+(.+)\Z", re.DOTALL)


class Turns(Uses):
    """Reads the steps of a document."""

    outermost: Span | None = None
    """The step of the game itself that is being read."""

    def read(self, root: Mapping) -> tuple[Step, ...]:
        """The steps of a document: its `turns`, or the protocol that stands for them."""
        protocol, turns = root.entry("protocol"), root.get("turns")
        if self.chain == ():
            self.sources = frozenset(entry.key.span.source.name for entry in root)
        if self.chain == () and protocol is not None:
            return self.use(protocol.value)
        return self.sequence(turns)

    def sequence(self, turns: Node | None) -> tuple[Step, ...]:
        found: list[Step] = []
        for item in turns.items if isinstance(turns, Sequence) else ():
            if isinstance(item, Mapping):
                found += self.step(item)
        return tuple(found)

    def step(self, item: Mapping) -> tuple[Step, ...]:
        """The steps that an item of `turns` stands for: one, or those of a protocol."""
        self.uses += 1
        if not self.chain:
            self.outermost = item.span
        if self.uses > MAX_STEPS:
            if not self.problems.errors:
                why = f"at most {MAX_STEPS} steps, and as many uses of protocols"
                place = self.outermost or item.span
                self.problems.add("GD0419", "this game has too many steps", place, why=why)
            return ()
        looping = any(item.get(key) is not None for key in ("repeat", "each")) or (
            item.get("turns") is not None
            and any(item.get(key) is not None for key in ("until", "while"))
        )
        if looping and item.get("turns") is None and item.get("if") is not None:
            return self.loop(item, None)
        condition, saved = None, self.facts
        test = item.get("if")
        if test is not None:
            condition, learned = self.condition(test, me=item.get("choose") is not None)
            known = self.known(test, condition)
            if known is False:
                self.declared_only(item)
                return ()
            if known is True:
                condition, learned = None, frozenset()
            self.facts = saved | learned
        try:
            if looping:
                return self.loop(item, condition)
            return self.simple(item, condition)
        finally:
            self.facts = saved

    def simple(self, item: Mapping, condition: ir.Expr | None) -> tuple[Step, ...]:
        """A step that is no loop: a head, a use, or a block."""
        if item.get("use") is not None:
            steps = self.use(item)
            return (Block(self.number("use"), steps, item.span, condition),) if condition else steps
        if item.get("turns") is not None:
            return self.block(item, condition)
        step = self.head(item, condition)
        return () if step is None else (step,)

    def declared_only(self, item: Mapping) -> None:
        """Declare what a step binds that the params switch off: a name that is always none. What
        else is wrong in it matters only where something reads what it could not bind."""
        entries = tuple(entry for entry in item if entry.key.text != "if")
        saved, counts, before = self.problems, self.counts.copy(), self.names.broken.copy()
        self.problems = self.typer.context.problems = Problems()
        self.step(Mapping(entries, item.span))
        for name in self.names.broken - before:
            self.names.withheld[name] = self.problems.found
        self.problems = self.typer.context.problems = saved
        self.counts = counts

    def known(self, test: Node, condition: ir.Expr | None) -> bool | None:
        """What a condition over params alone is worth; None for any other."""
        if condition is None or any(isinstance(part, PLAY) for part in walk(condition)):
            return None
        found = constant(test, self.typer, Problems(), BOOL)
        return bool(found[1]) if found is not None else None

    def block(self, item: Mapping, condition: ir.Expr | None) -> tuple[Step, ...]:
        role = item.get("role")
        if role is None:
            body = self.sequence(item.get("turns"))
            if condition is None:
                return body
            return (Block(self.number("block"), body, item.span, condition),)
        actors = self.actors(item)
        if actors is None:
            return ()
        seats, joint, actor = actors
        if joint:
            items: ir.Expr = ir.Const(List(SEAT, len(seats)), role.span, seats)
        else:
            only = actor or ir.Const(SEAT, role.span, seats[0])
            items = ir.Build(List(SEAT, 1), role.span, (only,))
        saved, self.acting = self.acting, seats
        body, _ = self.inside(lambda: self.sequence(item.get("turns")))
        self.acting = saved
        return (Loop(self.number("turn"), body, item.span, items=items, condition=condition),)

    def inside(self, read: Callable[[], tuple[Step, ...]]) -> tuple[tuple[Step, ...], list[str]]:
        """Steps of a loop's body, and the names that they bind."""
        self.bound.append([])
        body = read()
        return body, list(dict.fromkeys(self.bound.pop()))

    def body(self, action: Mapping) -> tuple[Step, ...]:
        found: list[Step] = []
        do = action.entry("do")
        if do is not None:
            item = Mapping((do,), do.value.span)
            step = self.do(item, do, None)
            found += [step] if step is not None else []
        return (*found, *self.sequence(action.get("turns")))

    # loops

    def loop(self, item: Mapping, condition: ir.Expr | None) -> tuple[Step, ...]:
        stays = item.entry("while")
        if stays is not None and item.get("turns") is not None and condition is not None:
            bare = Mapping(tuple(e for e in item if e.key.text != "if"), item.span)
            loop = self.loop(bare, None)
            return loop and (Block(self.number("block"), loop, item.span, condition),)
        repeat, each, count = item.get("repeat"), item.get("each"), item.get("count")
        times = items = None
        cycle, name, seats = False, None, self.acting
        of: Type = NEVER
        before = self.problems.count_errors()
        if repeat is not None:
            passes = self.types.number(repeat, 0, MAX_PASSES)
            times = ir.Const(WHOLE, repeat.span, passes)
        elif each is not None:
            items, cycle, name, of = self.order(each)
        known = self.facts
        if stays is not None:
            in_turn = each is not None and name is None
            condition, learned = self.read_while(stays.value, in_turn=in_turn)
            self.facts = known | learned
        if name is not None:
            self.loop_name(name, of)
        elif each is not None:
            seats = self.seats_in(items) if items is not None else self.names.seats
        if isinstance(count, Scalar):
            self.loop_name(count, WHOLE)
        saved, self.acting = self.acting, seats
        until: ir.Expr | None = None

        def read() -> tuple[Step, ...]:
            nonlocal until
            if item.get("turns") is not None:
                steps = self.sequence(item.get("turns"))
            else:
                inner = tuple(e for e in item if e.key.text not in _LOOP_KEYS)
                steps = self.step(Mapping(inner, item.span))
            test = item.get("until")
            if test is not None:
                until = self.checked(test, BOOL, "a condition")
            elif stays is not None and condition is not None:
                span = stays.key.span._replace(end=stays.value.span.end)
                until = ir.Apply(BOOL, span, "not", (condition,))
            return steps

        body, resets = self.inside(read)
        self.acting, self.facts = saved, known
        if self.problems.count_errors() > before:
            return ()
        bound, then = self.bound_of(item, body, cycle, until)
        if self.problems.count_errors() > before:
            return ()
        return (
            Loop(
                self.number("loop"), body, item.span, times, items, cycle,
                name.text if name is not None else None,
                count.text if isinstance(count, Scalar) else None,
                until, bound, then, tuple(resets), condition,
            ),
        )  # fmt: skip

    def read_while(self, test: Node, *, in_turn: bool) -> tuple[ir.Expr | None, Facts]:
        """The condition of `while`, as it is read outside the loop, and what is known where it
        holds. `while: e` is `if: e` of the whole loop and `until: not e`: nothing below knows it.
        """
        saved = self.acting
        self.acting = None if in_turn else saved
        found = self.condition(test)
        self.acting = saved
        return found

    def order(self, each: Node) -> tuple[ir.Expr | None, bool, Scalar | None, Type]:
        """What a loop goes through: its items (None where they are wrong), whether round and round,
        and their name and type."""
        name: Scalar | None = None
        cycle = False
        if isinstance(each, Scalar):
            if (named := _ITEM.match(each.text)) and not _CYCLE.match(each.text):
                name, each = part_of(each, *named.span(1)), part_of(each, *named.span(2))
            if around := _CYCLE.match(each.text):
                cycle, each = True, part_of(each, *around.span(1))
            typed = self.values_of(each)
        else:
            typed = self.expression(each)
        if typed is None:
            return None, cycle, name, NEVER
        of = element(typed.type)
        if of is None or (name is None and of != SEAT):
            self.no_order(each, typed, of)
            return None, cycle, name, NEVER
        return typed, cycle, name, of

    def no_order(self, each: Node, typed: ir.Expr, of: Type | None) -> None:
        """Report a loop over what is no collection, or, without a name, over what are no roles."""
        text = each.span.text if len(each.span.text) < 40 else "…"
        message, help = "a loop goes through a collection", "write a list, a range or a type"
        if of is not None:
            message = "what a loop without a name goes through are roles"
            help = f"give each item a name: `each: x in {text}`"
        elif isinstance(typed.type, Number) and not any(isinstance(p, PLAY) for p in walk(typed)):
            help = f"to repeat it, write `repeat: {text}`"
        self.problems.add("GD0430", message, each.span, why=f"this is {typed.type}", help=help)

    def seats_in(self, items: ir.Expr) -> tuple[str, ...]:
        """The seats that a loop over roles may come to."""
        if isinstance(items, ir.Const):
            return tuple(s for s in self.names.seats if s in items.value)
        return self.names.seats

    def loop_name(self, name: Scalar, type: Type) -> None:
        """Declare a loop's item or count; another loop may use the name for the same type."""
        known = self.names.declared.get(name.text)
        if isinstance(known, StateName) and name.text in self.counters and known.type == type:
            pass
        elif not report_taken(name.text, name.span, self.taken(name.text), self.problems):
            self.put(name.text, StateName(type, name.span, fixed=True))
            self.counters.add(name.text)
        for names in self.bound:
            names.append(name.text)

    def bound_of(
        self, item: Mapping, body: tuple[Step, ...], cycle: bool, until: ir.Expr | None
    ) -> tuple[int | None, AtBound]:
        """After how many passes a loop ends at the latest, and how."""
        limit, limit_of = item.get("at_most"), None
        then: AtBound = "error"
        span = limit.span if limit is not None else item.span
        if isinstance(limit, Mapping):
            match limit.get("then"):
                case Scalar(text="end" | "go_on" as way):
                    then = way
            limit = limit.get("n")
        if isinstance(limit, Scalar):
            known = self.names.declared.get(limit.text)
            if limit.value == "none" or (isinstance(known, ParamName) and known.value is None):
                limit_of = limit.text if isinstance(known, ParamName) else None
                limit = None
        if limit is not None:
            return self.types.number(limit, 1, MAX_PASSES), then
        if not cycle and (item.get("repeat") or item.get("each")) is not None:
            return None, then
        bound = bound_of(body, self.state)
        if bound is None and not self.problems.errors:
            head = item.entry("each") or item.entry("until") or item.entry("while")
            param = limit_of is not None and self.chain
            self.problems.add(
                "GD0431", "this loop has no bound", head.value.span if head else span,
                why="it may go round for ever",
                help=f"set `{limit_of}` of `{self.chain[-1]}`: `{limit_of}: 100`" if param
                else "say how many passes there can be: `at_most: 100`",
            )  # fmt: skip
        return bound, then


_LOOP_KEYS = ("repeat", "each", "count", "until", "while", "at_most")


def choices_in(steps: tuple[Step, ...]) -> list[Choose]:
    """The decisions among steps and inside them, in order."""
    return [step for step in walk_steps(steps) if isinstance(step, Choose)]
