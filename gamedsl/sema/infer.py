"""The one typing walk: types found, the syntax tree turned into typed expressions.

Every problem is reported where it stands, and its expression becomes one of type `Never`, which
fits everywhere, so that one mistake is told once.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from gamedsl.diagnostics import Note
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.ir import expr as ir
from gamedsl.ir.builtins import (
    BUILTINS,
    COMPARISONS,
    FUNCTIONS,
    MAPS,
    ORDERED_BY_TYPE,
    element,
)
from gamedsl.ir.types import (
    BOOL,
    NEVER,
    NONE,
    NUMBER,
    SEAT,
    WHOLE,
    Enum,
    List,
    Never,
    Number,
    Option,
    PerSeat,
    Tuple,
    Type,
    fits,
    join,
)
from gamedsl.sema.misfits import Misfits
from gamedsl.sema.narrow import facts, key
from gamedsl.sema.resolve import MAX_NESTING
from gamedsl.sema.scope import LetName, report_taken
from gamedsl.syntax import ast


class Typer(Misfits):
    """Types the expressions of one file against its names."""

    def expression(
        self, node: ast.Node, *, me: bool = False, expected: Type | None = None
    ) -> ir.Expr:
        """Type one expression that stands alone; `me` says whether it is read by one role."""
        self.locals, self.some, self.me_allowed, self.uses_me = {}, frozenset(), me, False
        return self.infer(node, expected)

    def check(self, node: ast.Node, wanted: Type, what: str, *, me: bool = False) -> ir.Expr:
        """Type an expression that must fit a type; `what` names it in the message."""
        typed = self.expression(node, me=me, expected=wanted)
        assert self.problems.errors or not isinstance(typed.type, Never)
        if fits(typed.type, wanted):
            return typed
        self.misfit(node, typed, wanted, what)
        return self.never(node)

    def infer(self, node: ast.Node, expected: Type | None = None) -> ir.Expr:
        if self.level >= MAX_NESTING:
            self.problems.add(
                "GD0203",
                "this expression is too large, with the lets that it reads",
                self.open[0].span if self.open else node.span,
                why=f"nested more than {MAX_NESTING} deep",
                help="compute it in fewer steps",
            )
            return self.never(node)
        self.level += 1
        try:
            typed = self.form(node, expected)
        finally:
            self.level -= 1
        if isinstance(typed.type, Option) and key(node) in self.some:
            return replace(typed, type=typed.type.of)
        return typed

    def given(self, test: ast.Node, holds: bool, node: ast.Node, wanted: Type | None) -> ir.Expr:
        """Type what is only read if a test holds, or if it does not."""
        saved = self.some
        self.some = saved | facts(test, holds)
        typed = self.infer(node, wanted)
        self.some = saved
        return typed

    def form(self, node: ast.Node, expected: Type | None) -> ir.Expr:
        match node:
            case ast.Literal(value=value):
                return ir.Const(_literal_type(value), node.span, value)
            case ast.Name():
                return self.name(node, expected)
            case ast.Operator():
                return self.operator(node)
            case ast.Conditional():
                return self.conditional(node, expected)
            case ast.Attribute():
                return self.attribute(node)
            case ast.Index():
                return self.index(node)
            case ast.Call():
                return self.call(node)
            case ast.Display():
                return self.display(node, expected)
            case ast.Comprehension():
                return self.comprehension(node)
        raise AssertionError(f"no typing rule for {type(node).__name__}")

    # operators

    def operator(self, node: ast.Operator) -> ir.Expr:
        if node.op in ("and", "or"):
            first, second = node.operands
            what = f"an operand of `{node.op}`"
            left = self.truth(first, self.infer(first), what)
            right = self.truth(second, self.given(first, node.op == "and", second, None), what)
            return ir.Logic(BOOL, node.span, node.op, left, right)
        operands = self.operands(node)
        if node.op == "neg" and isinstance(node.operands[0], ast.Literal):
            number = operands[0]
            if isinstance(number, ir.Const) and isinstance(number.type, Number):
                return replace(number, span=node.span, value=-number.value)
        return self.apply(node, node.op, operands)

    def operands(self, node: ast.Operator) -> tuple[ir.Expr, ...]:
        """Both sides; a bare name is typed last: the other side says which enum it is of."""
        if len(node.operands) == 1:
            return (self.infer(node.operands[0]),)
        left, right = node.operands
        if node.op in ("in", "not in"):
            collection = self.collection(right) if isinstance(right, ast.Name) else None
            collection = collection or self.infer(right)
            return self.infer(left, element(collection.type)), collection
        if isinstance(left, ast.Name) and not (isinstance(right, ast.Name) and self.known(left)):
            second = self.infer(right)
            return self.infer(left, second.type), second
        first = self.infer(left)
        return first, self.infer(right, first.type)

    def known(self, node: ast.Name) -> bool:
        return (
            node.id in self.locals
            or node.id in self.names.declared
            or node.id in self.names.seats
            or node.id in ("me", "other", "others", "roles")
        )

    def apply(self, node: ast.Node, function: str, arguments: tuple[ir.Expr, ...]) -> ir.Expr:
        """An operator or built-in on typed arguments."""
        types = tuple(a.type for a in arguments)
        if any(isinstance(t, Never) for t in types):
            return self.never(node)
        if function in COMPARISONS and types[0] == types[1] and isinstance(types[0], Enum):
            arguments = tuple(self.ordered(argument) for argument in arguments)
            types = (WHOLE, WHOLE)
        result = BUILTINS[function].rule(types)
        if result is None:
            self.mismatch(node, function, arguments)
            return self.never(node)
        if function in ("/", "//", "%") and _is_zero(arguments[1]):
            self.problems.add("GD0401", "division by zero", node.span, why="by 0")
            return self.never(node)
        if function == "**" and fits(types[0], WHOLE) and _natural(arguments[1]):
            result = WHOLE
        if function in ("other", "others"):
            return self.other(node, function, arguments[0])
        if function in ORDERED_BY_TYPE:
            return self.ordered(arguments[0], node)
        return ir.Apply(result, node.span, function, arguments)

    def ordered(self, value: ir.Expr, node: ast.Node | None = None) -> ir.Expr:
        """The place of a role or of an enum's value in its order."""
        span = node.span if node is not None else value.span
        order = value.type.members if isinstance(value.type, Enum) else self.names.seats
        listed = ir.Const(List(value.type, len(order)), span, order)
        return ir.Apply(WHOLE, span, "index", (value, listed))

    def conditional(self, node: ast.Conditional, expected: Type | None) -> ir.Expr:
        test = self.truth(node.test, self.infer(node.test), "the condition")
        then = self.given(node.test, True, node.then, expected)
        other = self.given(node.test, False, node.other, expected or then.type)
        type = join(then.type, other.type)
        if type is None:
            self.problems.add(
                "GD0305",
                "the two halves of this conditional have different types",
                node.other.span,
                why=f"this is {other.type}",
                notes=(Note(node.then.span, f"this is {then.type}"),),
            )
            return self.never(node)
        return ir.If(type, node.span, test, then, other)

    # calls and comprehensions

    def call(self, node: ast.Call) -> ir.Expr:
        name = node.name.id
        let = self.names.declared.get(name)
        if name in FUNCTIONS:
            return self.apply_call(node, name)
        if isinstance(let, LetName):
            types = let.types or (None,) * len(node.arguments)
            arguments = tuple(
                self.infer(argument, types[i] if i < len(types) else None)
                for i, argument in enumerate(node.arguments)
            )
            return self.let_call(node, let, arguments)
        if name in self.names.broken:
            return self.never(node)
        lets = [n for n, d in self.names.declared.items() if isinstance(d, LetName)]
        guess = did_you_mean(name, [*FUNCTIONS, *lets])
        place = self.names.place(name)
        self.problems.add(
            "GD0311",
            f"`{name}` is not a function" if place else f"unknown function `{name}`",
            node.name.span,
            why="not a built-in and not a `let`",
            notes=(Note(place, "declared here"),) if place else (),
            help=f"did you mean `{guess}`?"
            if guess
            else "to multiply, write `*`"
            if place
            else "built-in: " + ", ".join(FUNCTIONS),
        )
        return self.never(node)

    def apply_call(self, node: ast.Call, name: str) -> ir.Expr:
        arguments = self.arguments(node)
        if not arguments:
            self.problems.add(
                "GD0305",
                f"`{BUILTINS[name].usage}` does not take nothing",
                node.span,
                why="an argument is missing",
                help=BUILTINS[name].about,
            )
            return self.never(node)
        return self.apply(node, name, arguments)

    def arguments(self, node: ast.Call) -> tuple[ir.Expr, ...]:
        name, given = node.name.id, node.arguments
        first = given[0] if given else None
        typed: list[ir.Expr] = []
        if name in MAPS and isinstance(first, ast.Name) and (len(given) == 1 or name == "count"):
            typed.append(self.collection(first))
        elif first is not None:
            typed.append(self.infer(first))
        for argument in given[1:]:
            typed.append(self.infer(argument, element(typed[0].type) if name == "count" else None))
        return tuple(typed)

    def comprehension(self, node: ast.Comprehension) -> ir.Expr:
        source = self.map(node.source)
        inner = element(source.type)
        if inner is None:
            self.problems.add(
                "GD0312",
                "`for` goes through a collection",
                node.source.span,
                why=f"this is {source.type}",
                help=f"to count from 1, write `1..{node.source.span.text}`"
                if isinstance(source.type, Number)
                else "",
            )
            inner = NEVER
        types = self.target_types(node, source, inner)
        saved = self.locals, self.some
        self.locals = dict(self.locals)
        own = {target.id for target in node.targets}
        self.some = frozenset(k for k in self.some if own.isdisjoint(re.findall(r"\w+", k)))
        for target, type in zip(node.targets, types, strict=True):
            self.new_local(target, type)
        condition, test = None, node.condition
        if test is not None:
            condition = self.truth(test, self.infer(test), "the condition")
        item = self.infer(node.item) if test is None else self.given(test, True, node.item, None)
        self.locals, self.some = saved
        unpacked = isinstance(inner, Tuple) and len(inner.of) == len(node.targets)
        return ir.Collect(
            List(item.type) if not isinstance(item.type, Never) else NEVER,
            node.span,
            item,
            tuple(t.id for t in node.targets),
            source,
            condition,
            keyed=len(node.targets) == 2 and not unpacked,
        )

    def new_local(self, target: ast.Name, type: Type) -> None:
        """A comprehension's own name: a new one, so that no expression reads in two ways."""
        first = self.names.anywhere(target.id)
        if not report_taken(target.id, target.span, first, self.problems):
            self.locals[target.id] = type

    def target_types(
        self, node: ast.Comprehension, source: ir.Expr, inner: Type
    ) -> tuple[Type, ...]:
        count = len(node.targets)
        if count == 1:
            return (inner,)
        if isinstance(inner, Tuple) and len(inner.of) == count:
            return inner.of
        if count == 2:
            return (SEAT if isinstance(source.type, PerSeat) else WHOLE, inner)
        if not isinstance(inner, Never):
            self.problems.add(
                "GD0312",
                f"the elements do not have {count} parts",
                node.targets[0].span,
                why=f"each is {inner}",
                help="`for i, x in list` numbers the elements; `for x in list` takes each",
            )
        return (NEVER,) * count

    def display(self, node: ast.Display, expected: Type | None) -> ir.Expr:
        wanted = element(expected) if expected is not None else None
        items = tuple(self.infer(item, wanted) for item in node.items)
        if any(isinstance(item.type, Never) for item in items):
            return self.never(node)
        if node.kind == "tuple":
            return ir.Build(Tuple(tuple(i.type for i in items)), node.span, items)
        inner: Type = NEVER if items else wanted or WHOLE
        for item in items:
            joined = join(inner, item.type)
            if joined is None:
                self.problems.add(
                    "GD0305",
                    "the items of this list have different types",
                    item.span,
                    why=f"this is {item.type}",
                    notes=(Note(items[0].span, f"this is {items[0].type}"),),
                )
                return self.never(node)
            inner = joined
        return ir.Build(List(inner, len(items)), node.span, items)


def _literal_type(value: Any) -> Type:
    if isinstance(value, bool):
        return BOOL
    if value is None:
        return NONE
    return WHOLE if isinstance(value, int) else NUMBER


def _is_zero(divisor: ir.Expr) -> bool:
    """Whether a divisor is written as 0; a param that is 0 may stand where it is never read."""
    return isinstance(divisor, ir.Const) and divisor.origin is None and divisor.value == 0


def _natural(expr: ir.Expr) -> bool:
    """Whether an expression is known to be a whole number, and not negative."""
    match expr:
        case ir.Const(type=Number(whole=True), value=value):
            return bool(value >= 0)
        case ir.Apply(function="+" | "*" | "**", arguments=parts):
            return all(map(_natural, parts))
        case ir.Apply(function="len" | "size" | "count" | "index"):
            return True
    return False
