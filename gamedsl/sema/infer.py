"""The one typing walk: types found, the syntax tree turned into typed expressions.

Every problem is reported where it stands, and its expression becomes one of type `Never`, which
fits everywhere, so that one mistake is told once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gamedsl.diagnostics import Note
from gamedsl.frontend.syntax import ast
from gamedsl.ir import expr as ir
from gamedsl.ir.builtins import COMPARISONS, element
from gamedsl.ir.builtins_collections import fields_of
from gamedsl.ir.types import (
    BOOL,
    NEVER,
    NONE,
    NUMBER,
    WHOLE,
    List,
    Never,
    Number,
    Option,
    Record,
    Set,
    Tuple,
    Type,
    fits,
    join,
    plain,
)
from gamedsl.sema.calls import Calls
from gamedsl.sema.narrow import Facts, facts, key
from gamedsl.sema.resolve import MAX_NESTING


class Typer(Calls):
    """Types the expressions of one file against its names."""

    def begin(self, *, me: bool = False, given: Facts = frozenset()) -> None:
        """Begin a new place: what is typed next has no locals, knows the facts that are `given`,
        and reads `me` or not."""
        self.locals, self.some, self.me_allowed, self.uses_me = {}, given, me, False

    def expression(
        self,
        node: ast.Node,
        *,
        me: bool = False,
        expected: Type | None = None,
        facts: Facts = frozenset(),
    ) -> ir.Expr:
        """Type one expression that stands alone; `me` says whether it is read by one role, `facts`
        what is known not to be none (`gamedsl.sema.narrow.facts` of a condition around it)."""
        self.begin(me=me, given=facts)
        return self.infer(node, expected)

    def check(
        self,
        node: ast.Node,
        wanted: Type,
        what: str,
        *,
        me: bool = False,
        facts: Facts = frozenset(),
    ) -> ir.Expr:
        """Type an expression that must fit a type; `what` names it in the message."""
        typed = self.fitted(self.expression(node, me=me, expected=wanted, facts=facts), wanted)
        assert self.problems.errors or self.untyped or not isinstance(typed.type, Never)
        if fits(typed.type, wanted):
            return typed
        self.misfit(node, typed, wanted, what)
        return self.never(node)

    def fitted(self, typed: ir.Expr, wanted: Type) -> ir.Expr:
        """An expression as one of the type wanted, where its values are values of that type too: a
        list of known length for a tuple, a tuple for a record, a list for a set."""
        inner, type = plain(wanted), typed.type
        if isinstance(type, Never) or fits(type, wanted):
            return typed
        if isinstance(inner, Tuple | Record) and isinstance(type, List | Tuple):
            parts = type.of if isinstance(type, Tuple) else (type.of,) * (type.length or 0)
            places = inner.of if isinstance(inner, Tuple) else inner.types
            if len(parts) == len(places) and all(map(fits, parts, places)):
                return replace(typed, type=inner)
        if isinstance(inner, Set) and isinstance(type, List) and fits(Set(type.of), inner):
            return ir.Apply(Set(type.of), typed.span, "set", (typed,))
        return typed

    def meant(self, node: ast.Node, expected: Type | None) -> ir.Expr:
        """Type what is read as a value of a type, if there is one."""
        typed = self.infer(node, expected)
        return typed if expected is None else self.fitted(typed, expected)

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
                return self.call(node, expected)
            case ast.Display():
                return self.display(node, expected)
            case ast.Comprehension():
                return self.comprehension(node, expected)
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
        """Both sides; a bare name is typed last: the other side says which enum it is of. So is
        what is written in brackets: the other side says whether it is a record."""
        if len(node.operands) == 1:
            return (self.infer(node.operands[0]),)
        left, right = node.operands
        if node.op in ("in", "not in"):
            bare = isinstance(left, ast.Display) or (
                isinstance(left, ast.Name) and not self.known(left)
            )
            if isinstance(right, ast.Display) and not bare:
                value = self.infer(left)
                return value, self.infer(right, List(plain(value.type)))
            collection = self.collection(right) if isinstance(right, ast.Name) else None
            collection = collection or self.infer(right)
            return self.meant(left, element(collection.type)), collection
        typed = self.meant if node.op in ("==", "!=", *COMPARISONS) else self.infer
        told = isinstance(right, ast.Name | ast.Display)
        known = told and isinstance(left, ast.Name) and self.known(left)
        if isinstance(left, ast.Name | ast.Display) and not known:
            second = self.infer(right)
            return typed(left, second.type), second
        first = self.infer(left)
        return first, typed(right, first.type)

    def known(self, node: ast.Name) -> bool:
        return (
            node.id in self.locals
            or node.id in self.names.declared
            or node.id in self.names.everyone
            or node.id in ("me", "other", "others", "roles")
        )

    def conditional(self, node: ast.Conditional, expected: Type | None) -> ir.Expr:
        test = self.truth(node.test, self.infer(node.test), "the condition")
        then = self.given(node.test, True, node.then, expected)
        other = self.given(node.test, False, node.other, expected or then.type)
        if expected is not None:
            then, other = self.fitted(then, expected), self.fitted(other, expected)
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

    def display(self, node: ast.Display, expected: Type | None) -> ir.Expr:
        places = fields_of(plain(expected)) if expected is not None else ()
        if len(places) != len(node.items):
            inner = element(expected) if expected is not None else None
            places = () if inner is None else (inner,) * len(node.items)
        wanted = places or (None,) * len(node.items)
        items = tuple(map(self.meant, node.items, wanted))
        if any(isinstance(item.type, Never) for item in items):
            return self.never(node)
        if node.kind == "tuple":
            return ir.Build(Tuple(tuple(i.type for i in items)), node.span, items)
        return self.list(node, items, expected)

    def list(self, node: ast.Display, items: tuple[ir.Expr, ...], expected: Type | None) -> ir.Expr:
        empty = element(expected) if expected is not None else None
        inner: Type = NEVER if items else empty or WHOLE
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
