"""The typing walk: the syntax tree of an expression turned into a typed expression."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, assert_never

from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.fixes import Help, respell, substitute
from gamedsl.diagnostics.spans import Span
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.frontend.syntax import ast
from gamedsl.ir import expr as ir
from gamedsl.ir.builtins import BUILTINS, element, functions, is_comparison
from gamedsl.ir.builtins_collections import fields_of
from gamedsl.ir.evaluate import EvaluationError, Scope, evaluate
from gamedsl.ir.types import (
    BOOL,
    NEVER,
    NONE,
    NUMBER,
    SEAT,
    TEXT,
    WHOLE,
    Bool,
    Enum,
    Grid,
    List,
    Never,
    Number,
    Option,
    PerSeat,
    PerValue,
    Record,
    Set,
    Text,
    Tuple,
    Type,
    Union,
    domain,
    fits,
    join,
    plain,
    range_type,
    text_or_record,
    valued,
)
from gamedsl.ir.values import name_of
from gamedsl.sema import access
from gamedsl.sema.application import apply, cells_with_values, clip, fields_with_keys
from gamedsl.sema.consultations import consult, registered_names
from gamedsl.sema.graphs import nodes_of_type, wanted_types
from gamedsl.sema.name_resolution import NameResolver, enums_in, past_bindings
from gamedsl.sema.named_values import value_of
from gamedsl.sema.narrow import Fact, Facts, facts, key, narrowed, proved_type, without
from gamedsl.sema.scope import ANY, LetName, Namespace, TypeName, VariableName, report_taken
from gamedsl.sema.type_errors import (
    TEXT_HELP,
    one_type_help,
    report_kind_test,
    report_misfit,
    require_truth,
)
from gamedsl.sema.typing_context import TypingContext, has_errors, never

MAX_NESTING = 120
"""Levels of typed expressions inside each other, those of the lets that they read included."""


@dataclass(frozen=True, slots=True)
class TypedFor:
    """A typed `for targets in source if condition`."""

    targets: tuple[str, ...]
    source: ir.Expr
    condition: ir.Expr | None
    keyed: bool


_OTHER_NAMES = {
    "average": "mean", "avg": "mean", "length": "len", "maximum": "max", "highest": "max",
    "minimum": "min", "lowest": "min", "winner": "argmax", "winners": "best", "unique": "set",
}  # fmt: skip
"""What other languages call some functions, and what they are here."""

_CHANCE = "chance draws in a step, from a range or a list: `- {draw: x, from: 1..6, seen_by: all}`"

_OTHERWISE = {
    "argmin": "give `argmax` the negated values: `argmax(-x for …)`",
    "second": "the highest of the others is `max(bid[r] for r in others)`",
    "second_highest": "the highest of the others is `max(bid[r] for r in others)`",
    **dict.fromkeys(("random", "rand", "randint", "uniform", "sample", "shuffle"), _CHANCE),
}
"""How else one says what some functions of other languages do."""


class Typer:
    """Types expressions against the names of a file, or of several, one at a time."""

    def __init__(self, names: Namespace, problems: Problems) -> None:
        self.context = TypingContext(names, problems)
        self.resolver = NameResolver(self.context, self.infer)

    @property
    def names(self) -> Namespace:
        """The names of the file whose expressions are typed now."""
        return self.context.names

    @property
    def problems(self) -> Problems:
        return self.context.problems

    def expression(
        self,
        node: ast.Node,
        *,
        me: bool = False,
        expected: Type | None = None,
        facts: Facts = frozenset(),
        locals: dict[str, Type] | None = None,
    ) -> ir.Expr:
        """Types one expression that stands alone.

        `me` says whether one role reads it, `facts` what is known not to be none
        (`gamedsl.sema.narrow.facts` of a condition around it), `locals` the types of names that
        only this expression has.
        """
        self.context.begin(me=me, facts=facts)
        self.context.locals |= locals or {}
        return self.infer(node, expected)

    def check(
        self,
        node: ast.Node,
        wanted: Type,
        what: str,
        *,
        me: bool = False,
        facts: Facts = frozenset(),
        locals: dict[str, Type] | None = None,
    ) -> ir.Expr:
        """Types an expression that must fit a type; `what` names its place in the message."""
        found = self.expression(node, me=me, expected=wanted, facts=facts, locals=locals)
        typed = self.fitted(found, wanted)
        context = self.context
        assert context.may_be_untyped or not isinstance(typed.type, Never)
        if fits(typed.type, wanted):
            return typed
        report_misfit(context, node, typed, wanted, what)
        return never(node)

    def fitted(self, typed: ir.Expr, wanted: Type) -> ir.Expr:
        """Returns an expression as one of the type wanted, where it can be read as one: its shape
        may be another (`shaped`), and a name of a `values` type stands for its value."""
        shaped = self.shaped(typed, wanted)
        if isinstance(shaped.type, Never) or fits(shaped.type, wanted):
            return shaped
        live = self.context.live(typed)
        if live is not typed:
            return self.fitted(live, wanted)
        value = value_of(typed)
        if value is typed:
            return shaped
        value = self.shaped(value, wanted)
        return value if fits(value.type, wanted) else typed

    def shaped(self, typed: ir.Expr, wanted: Type) -> ir.Expr:
        """Returns an expression as one of the type wanted, where its values are of that type too: a
        list of known length as a tuple, a tuple as a record, a list as a set."""
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

    def infer_fitted(self, node: ast.Node, expected: Type | None) -> ir.Expr:
        """Types an expression, as one of the type expected where its values are of that type."""
        typed = self.infer(node, expected)
        return typed if expected is None else self.fitted(typed, expected)

    def infer_shaped(self, node: ast.Node, expected: Type | None) -> ir.Expr:
        """Types an expression that is compared with one of the type expected: as `infer_fitted`,
        but a name stays a name."""
        typed = self.infer(node, expected)
        return typed if expected is None else self.shaped(typed, expected)

    def infer(self, node: ast.Node, expected: Type | None = None) -> ir.Expr:
        """Types an expression at the present place of the walk."""
        context = self.context
        if context.level >= MAX_NESTING:
            context.problems.add(
                "GD0203",
                "this expression is too large, with the lets that it reads",
                context.open_lets[0].span if context.open_lets else node.span,
                why=f"nested more than {MAX_NESTING} deep",
                help="compute it in fewer steps",
            )
            return never(node)
        context.level += 1
        try:
            typed = self.form(node, expected)
        finally:
            context.level -= 1
        name = key(node)
        type = narrowed(typed.type, name, context.facts)
        if isinstance(type, Union) and name:
            type = self.part_of_union(name, type)
        proved = proved_type(type, name, context.facts) if name else type
        context.proved.pop(node.span, None)
        if proved != type:
            context.proved[node.span] = type, proved
        return typed if type is typed.type else replace(typed, type=type)

    def part_of_union(self, text: str, union: Union) -> Type:
        """Returns what an expression is where tests before it exclude all names of a type of a
        union."""
        context, left = self.context, []
        for part in union.of:
            members = part.members if isinstance(part, Enum) else ()
            names = [name for name in members if not context.declares(name)]
            gone = (Fact(text, "not", name) in context.facts for name in names)
            if not names or len(names) < len(members) or not all(gone):
                left.append(part)
        if not left or len(left) == len(union.of):
            return union
        return left[0] if len(left) == 1 else Union(tuple(left))

    def form(self, node: ast.Node, expected: Type | None) -> ir.Expr:
        match node:
            case ast.Literal(value=value):
                return literal(node, value, expected)
            case ast.Name():
                return self.resolver.resolve(node, expected)
            case ast.Operator():
                return self.operator(node)
            case ast.Conditional():
                return self.conditional(node, expected)
            case ast.Attribute():
                return self.attribute(node)
            case ast.Index():
                return access.index(self.context, node, self.container(node.of), self.infer)
            case ast.Call():
                return self.call(node, expected)
            case ast.Display():
                return self.display(node, expected)
            case ast.Comprehension():
                return self.comprehension(node, expected)
            case ast.Map():
                return self.map(node)
            case _:
                assert_never(node)

    def let_type(self, let: LetName, use: Span) -> Type:
        """Returns the type of a let, whose body is typed now if nothing has read it."""
        return self.resolver.let_type(let, use)

    # parts of values

    def attribute(self, node: ast.Attribute) -> ir.Expr:
        """`Type.value`, `record.field` or the entry of a role: `x.me`, `x.other`, `x.rolename`,
        never of a local of that name."""
        context = self.context
        if isinstance(node.of, ast.Name) and node.of.id not in context.locals:
            declared = context.names.declared.get(node.of.id)
            if isinstance(declared, TypeName):
                return access.type_member(context, node, node.of.id, declared)
        if node.name.id in ("me", "other"):
            seat = self.resolver.seat_word(node.name)
            assert seat is not None
            return access.entry(context, node, self.container(node.of), seat)
        return access.attribute(context, node, self.container(node.of))

    def container(self, node: ast.Node) -> ir.Expr:
        """Types what `.` and `[ ]` read; a let that depends on `me` is its per-role map."""
        return self.collection(node) if isinstance(node, ast.Name) else self.infer(node)

    def collection(self, node: ast.Name) -> ir.Expr:
        """Types a name where a collection is wanted: a let that depends on `me` is a map."""
        declared = self.names.declared.get(node.id)
        let = declared if node.id not in self.context.locals else None
        if isinstance(let, LetName) and not let.parameters:
            type = self.let_type(let, node.span)
            if let.per_seat:
                return ir.LetMap(PerSeat(type), node.span, let.name)
        return self.infer(node)

    # operators

    def operator(self, node: ast.Operator) -> ir.Expr:
        if node.op in ("and", "or"):
            first, second = node.operands
            what = f"an operand of `{node.op}`"
            left = require_truth(self.context, first, self.infer(first), what)
            is_dead = self.context.settled(left) is (node.op == "or")
            with self.context.switched_off(is_dead) as wrong:
                right = self.under(first, left, node.op == "and", second, None)
                right = require_truth(self.context, second, right, what)
            if wrong.errors:
                self.context.names.leave_out(second.span)
                return left
            if isinstance(left.type, Never) or isinstance(right.type, Never):
                return never(node)
            return ir.Logic(BOOL, node.span, node.op, left, right)
        if node.op in ("is", "is not"):
            return self.kind_test(node)
        operands = self.operands(node)
        if node.op == "neg" and isinstance(node.operands[0], ast.Literal):
            number = operands[0]
            if isinstance(number, ir.Const) and isinstance(number.type, Number):
                return replace(number, span=node.span, value=-number.value)
        return apply(self.context, node, node.op, operands)

    def kind_test(self, node: ast.Operator) -> ir.Expr:
        """Types `x is text`, or `x is T` for the record that `x` may be instead of a text."""
        side, word = node.operands
        assert isinstance(word, ast.Name)
        of = self.infer(side)
        kinds = text_or_record(plain(of.type))
        if isinstance(of.type, Never):
            return of
        declared = self.names.declared.get(word.id)
        record = declared.type if isinstance(declared, TypeName) else None
        wanted = TEXT if word.id == "text" else record
        if isinstance(of.type, Option) and wanted is not None and fits(of.type.of, wanted):
            none = ir.Const(NONE, node.span, None)
            return ir.Apply(BOOL, node.span, "!=" if node.op == "is" else "==", (of, none))
        if kinds is None or (word.id != "text" and record != kinds.record):
            report_kind_test(self.context, node, of, kinds)
            return never(node)
        test: ir.Expr = ir.Apply(BOOL, node.span, "is text", (of,))
        if word.id == "text":
            return test if node.op == "is" else ir.Apply(BOOL, node.span, "not", (test,))
        bound = ir.Apply(BOOL, node.span, "!=", (of, ir.Const(NONE, node.span, None)))
        test = ir.Logic(BOOL, node.span, "and", bound, ir.Apply(BOOL, node.span, "not", (test,)))
        return test if node.op == "is" else ir.Apply(BOOL, node.span, "not", (test,))

    def under(
        self, test: ast.Node, typed: ir.Expr, holds: bool, node: ast.Node, wanted: Type | None
    ) -> ir.Expr:
        """Types what is only read if a test holds, or if it does not."""
        wrong = isinstance(typed.type, Never)
        with self.context.assuming(facts(test, holds, typed)), self.context.doubtful(node, wrong):
            return self.infer(node, wanted)

    def operands(self, node: ast.Operator) -> tuple[ir.Expr, ...]:
        """Types both sides; a bare name is typed last: the other side says which enum it is of. So
        is what is written in brackets: the other side says whether it is a record."""
        if len(node.operands) == 1:
            return (self.infer(node.operands[0]),)
        left, right = node.operands
        declares = self.context.declares
        if node.op in ("in", "not in"):
            bare = isinstance(left, ast.Display | ast.Literal) or (
                isinstance(left, ast.Name) and not declares(left.id)
            )
            if isinstance(right, ast.Display) and not bare:
                value = self.infer(left)
                return value, self.infer(right, List(plain(value.type)))
            collection = self.container(right)
            value = self.infer_shaped(left, element(collection.type))
            if BUILTINS["in"].rule((value.type, collection.type)) is None:
                collection = self.retyped(collection, List(plain(value.type)))
            return value, collection
        matched = node.op in ("==", "!=") or is_comparison(node.op)
        infer = self.infer_shaped if matched else self.infer
        open_right = isinstance(right, ast.Name | ast.Display | ast.Literal)
        known = open_right and isinstance(left, ast.Name) and declares(left.id)
        number = matched and isinstance(left, ast.Literal) and not isinstance(right, ast.Literal)
        if number or (isinstance(left, ast.Name | ast.Display) and not known):
            second = self.infer(right)
            first = infer(left, _understood_by(left, node.op, second.type))
        else:
            first = self.infer(left)
            second = infer(right, _understood_by(right, node.op, first.type))
            if known and isinstance(first.type, List) and isinstance(second.type, Set):
                first = infer(left, second.type)
        if node.op in ("==", "!="):
            first, second = self.with_empty_lists((first, second))
        return first, second

    def conditional(self, node: ast.Conditional, expected: Type | None) -> ir.Expr:
        test = require_truth(self.context, node.test, self.infer(node.test), "the condition")
        holds = self.context.settled(test)
        with self.context.switched_off(holds is False) as wrong:
            then = self.under(node.test, test, True, node.then, expected)
        if wrong.errors:
            self.context.names.leave_out(node.then.span)
            other = self.under(node.test, test, False, node.other, expected)
            return other if expected is None else self.fitted(other, expected)
        with self.context.switched_off(holds is True) as wrong:
            other = self.under(node.test, test, False, node.other, expected or then.type)
        if wrong.errors:
            self.context.names.leave_out(node.other.span)
            return then if expected is None else self.fitted(then, expected)
        if expected is not None:
            then, other = self.fitted(then, expected), self.fitted(other, expected)
        elif isinstance(other.type, Set) and isinstance(then.type, List):
            then = self.under(node.test, test, True, node.then, other.type)
            then = self.fitted(then, other.type)
        then, other = self.with_empty_lists((then, other))
        type = join(then.type, other.type)
        if type is None:
            worth, others = value_of(then), value_of(other)
            type = join(worth.type, others.type)
            then, other = (worth, others) if type is not None else (then, other)
        if type is None and holds is not None:
            self.context.names.leave_out((node.other if holds else node.then).span)
            return then if holds else other
        if type is None and self.context.offers:
            type = self.options_of_both(then.type, other.type)
        if type is None:
            self.problems.add(
                "GD0305",
                "the two halves of this conditional have different types",
                node.other.span,
                why=f"this is {other.type}",
                notes=(Note(node.then.span, f"this is {then.type}"),),
                help=one_type_help(self.context, (node.then, then), (node.other, other)),
            )
            return never(node)
        return ir.If(type, node.span, test, then, other)

    def with_empty_lists(self, typed: Sequence[ir.Expr]) -> tuple[ir.Expr, ...]:
        """Returns expressions that are to have one type. Where they have none, those with an empty
        list in them are of the type of the first without one, or that is not itself empty."""
        if _have_one_type(typed):
            return tuple(typed)
        models = [part for part in typed if not _has_empty(part)]
        models += [part for part in typed if not _is_empty(part)]
        if not models:
            return tuple(typed)
        return tuple(self.retyped(part, models[0].type) for part in typed)

    def with_empty_arguments(
        self, node: ast.Call, name: str, arguments: tuple[ir.Expr, ...]
    ) -> tuple[ir.Expr, ...]:
        """Returns the arguments of a built-in, lists as sets where it takes these. Where it takes
        neither, those that are the empty list are of a type that it takes: that of another
        argument, a list of such values, or a list of truth values."""
        rule = BUILTINS[name].rule
        given = self.as_sets(node, name, arguments)
        if rule(tuple(argument.type for argument in given)) is not None:
            return given
        others = [part.type for part in arguments if not _is_empty(part)]
        for type in (*others, *map(List, others), List(BOOL)) if len(others) < len(given) else ():
            typed = tuple(self.retyped(a, type) if _is_empty(a) else a for a in arguments)
            tried = self.as_sets(node, name, typed)
            if rule(tuple(argument.type for argument in tried)) is not None:
                return tried
        return given

    def retyped(self, typed: ir.Expr, wanted: Type) -> ir.Expr:
        """Returns an expression whose empty lists are of the type that is wanted at their places;
        one without an empty list as it is."""
        if not _has_empty(typed):
            return typed
        inner = element(wanted)
        match typed:
            case ir.Build(type=List(), items=()):
                typed = replace(typed, type=List(inner or WHOLE, 0))
            case ir.Build(type=List(), items=items):
                items = tuple(
                    item if inner is None else self.retyped(item, inner) for item in items
                )
                of = _joined(items)
                typed = (
                    typed if of is None else replace(typed, type=List(of, len(items)), items=items)
                )
            case ir.Build(items=items):
                places = fields_of(plain(wanted))
                if len(places) == len(items):
                    items = tuple(map(self.retyped, items, places))
                typed = replace(typed, type=Tuple(tuple(item.type for item in items)), items=items)
            case ir.If(then=then, other=other):
                then, other = self.retyped(then, wanted), self.retyped(other, wanted)
                type = join(then.type, other.type)
                typed = typed if type is None else replace(typed, type=type, then=then, other=other)
            case _:  # has no empty list that is written out
                pass
        return self.fitted(typed, wanted)

    def options_of_both(self, left: Type, right: Type) -> Type | None:
        """Returns the type of a list that is one of two, of options of different types; None where
        an option of one has the name of an option of the other, or they cannot be listed."""
        parts: list[Type] = []
        for inner in (element(left), element(right)):
            for part in inner.of if isinstance(inner, Union) else (inner,):
                if part is not None and part not in parts:
                    parts.append(part)
        lists = [domain(part, self.names.everyone) for part in parts]
        values = [value for listed in lists for value in listed or ()]
        known = element(left) is not None and element(right) is not None and None not in lists
        # at run time `true` is 1, so that names alone do not tell values apart
        apart = len(set(values)) == len(set(map(name_of, values))) == len(values)
        return List(Union(tuple(parts))) if known and apart else None

    def display(self, node: ast.Display, expected: Type | None) -> ir.Expr:
        """Types a list or tuple written out, each item by the type expected at its place."""
        places = fields_of(plain(expected)) if expected is not None else ()
        if len(places) != len(node.items):
            inner = element(expected) if expected is not None else None
            places = () if inner is None else (inner,) * len(node.items)
        wanted = places or (None,) * len(node.items)
        items = tuple(map(self.infer_fitted, node.items, wanted))
        if node.kind == "list":
            items = self.with_empty_lists(items)
        if any(isinstance(item.type, Never) for item in items):
            return never(node)
        if node.kind == "tuple":
            return ir.Build(Tuple(tuple(i.type for i in items)), node.span, items)
        return self.list(node, items, expected)

    def list(self, node: ast.Display, items: tuple[ir.Expr, ...], expected: Type | None) -> ir.Expr:
        empty = element(expected) if expected is not None else None
        inner: Type = NEVER if items else empty or WHOLE
        if not _have_one_type(items):
            worth = tuple(map(value_of, items))
            items = worth if _have_one_type(worth) else items
        for part, item in zip(node.items, items, strict=True):
            joined = join(inner, item.type)
            if joined is None and self.context.offers:
                both = self.options_of_both(List(inner), List(item.type))
                joined = None if both is None else element(both)
            if joined is None:
                self.problems.add(
                    "GD0305",
                    "the items of this list have different types",
                    item.span,
                    why=f"this is {item.type}",
                    notes=(Note(items[0].span, f"this is {items[0].type}"),),
                    help=one_type_help(self.context, (node.items[0], items[0]), (part, item)),
                )
                return never(node)
            inner = joined
        return ir.Build(List(inner, len(items)), node.span, items)

    def map(self, node: ast.Map) -> ir.Expr:
        """Types a map of constants, by the type or the roles whose names its keys are."""
        names, problems = self.names, self.problems
        keys: list[Any] = [k.id if isinstance(k, ast.Name) else _number(k) for k in node.keys]
        written = Enum("", tuple(map(str, keys)))
        known = names.enum_with(written)
        key_type: Type = known if known and {*known.members} == {*keys} else written
        if {*keys} == {*names.seats}:
            key_type = SEAT
        elif all(isinstance(key, int) for key in keys):
            key_type = range_type(min(keys), max(keys))
        of: Type = NEVER
        entries: dict[Any, Any] = {}
        values = self.with_empty_lists([*map(self.infer, node.values)])
        for name, value, typed in zip(keys, node.values, values, strict=True):
            if has_errors(typed):
                return never(node)
            joined = join(of, typed.type)
            if joined is None:
                problems.add(
                    "GD0305", "the values of this map have different types", value.span,
                    why=f"this is {typed.type}, and those before are {of}",
                    help=one_type_help(
                        self.context, (node.values[0], values[0]), (value, typed)
                    ),
                )  # fmt: skip
                return never(node)
            of = joined
            if any(isinstance(part, (*ir.PLAY, ir.Local)) for part in ir.walk(typed)):
                problems.add(
                    "GD0313", "this must be known before the game starts", value.span,
                    why="a map in `let` is one of constants",
                    help="use params and numbers only",
                )  # fmt: skip
                return never(node)
            try:
                entries[name] = evaluate(typed, Scope(seats=names.seats))
            except EvaluationError as error:
                problems.add("GD0401", error.message, error.span, why="no value")
                return never(node)
        type = PerSeat(of) if key_type == SEAT else PerValue(key_type, of)
        return ir.Const(type, node.span, entries)

    # calls

    def call(self, node: ast.Call, expected: Type | None) -> ir.Expr:
        """Types a call: of a built-in by its name, or of a let with parameters."""
        name = node.name.id
        if name in ("past", "prev"):
            return past_bindings(self.context, node)
        if name == "clip" and len(node.arguments) == 1:
            wanted = None if expected is None else plain(expected)
            return clip(self.context, node, self.infer(node.arguments[0], wanted), wanted)
        if name in functions():
            return self.builtin_call(node, name, expected)
        let = self.names.declared.get(name)
        if isinstance(let, LetName):
            types = let.types or (None,) * len(node.arguments)
            arguments = tuple(
                self.infer(argument, types[i] if i < len(types) else None)
                for i, argument in enumerate(node.arguments)
            )
            return self.resolver.let_call(node, let, arguments)
        consulted = consult(self.context, node, self.infer)
        if consulted is not None:
            return consulted
        self.report_unknown_function(node)
        return never(node)

    def report_unknown_function(self, node: ast.Call) -> None:
        """Reports the call of a name that is no function, unless its declaration was reported."""
        name, names = node.name.id, self.names
        lets = [n for n, d in names.declared.items() if isinstance(d, LetName)]
        registered = registered_names(self.context)
        guess = did_you_mean(name, [*functions(), *lets, *registered]) or _OTHER_NAMES.get(name)
        if name in names.broken or (ANY in names.broken and not guess):
            return
        place = names.place(name)
        reads_text = guess in BUILTINS and self.has_text_argument(node)
        if name == "range" and not place:
            self.problems.add(
                "GD0311", "unknown function `range`", node.name.span,
                why="a range is no function", help=_range_fix(node), cause="name range",
            )  # fmt: skip
            return
        self.problems.add(
            "GD0311",
            f"`{name}` is not a function" if place else f"unknown function `{name}`",
            node.name.span,
            why="not a built-in and not a `let`",
            notes=(Note(place, "declared here"),) if place else (),
            help=_OTHERWISE[name]
            if name in _OTHERWISE and not place
            else TEXT_HELP
            if reads_text
            else respell(
                node.name.span,
                guess,
                "to multiply, write `*`"
                if place
                else "allow the Python file that registers it by `--allow-calls FILE.py`, or call "
                "one of these: " + ", ".join(registered)
                if registered
                else "built-in: " + ", ".join(functions()),
            ),
            cause=f"name {name}",
        )

    def has_text_argument(self, node: ast.Call) -> bool:
        """Whether a call is given a text, which no built-in takes."""
        given = [part for part in node.arguments if not isinstance(part, ast.Comprehension)]
        with self.context.collecting():
            return any(isinstance(plain(self.infer(part, None).type), Text) for part in given)

    def report_counted_comparison(self, node: ast.Call) -> bool:
        """Reports `count(vote == yes)`, where `vote` is a value per role; returns whether it is."""
        test = node.arguments[0] if len(node.arguments) == 1 else None
        if not isinstance(test, ast.Operator) or test.op != "==" or len(test.operands) != 2:
            return False
        of, value = test.operands
        named = self.names.declared.get(of.id) if isinstance(of, ast.Name) else None
        if not isinstance(named, VariableName) or not named.joint:
            return False
        meant = f"count({of.span.text}, {value.span.text})"
        self.problems.add(
            "GD0305",
            f"`{BUILTINS['count'].usage}` does not take a comparison of a value per role",
            test.span,
            why="all values at once equal none",
            help=substitute(node.span, meant, f"to count those that are equal, write `{meant}`"),
        )
        return True

    def builtin_call(self, node: ast.Call, name: str, expected: Type | None) -> ir.Expr:
        if name == "count" and self.report_counted_comparison(node):
            return never(node)
        arguments = self.arguments(node, expected)
        if not arguments:
            self.problems.add(
                "GD0305",
                f"`{BUILTINS[name].usage}` does not take nothing",
                node.span,
                why="an argument is missing",
                help=BUILTINS[name].about,
            )
            return never(node)
        if name == "count" and isinstance(node.arguments[0], ast.Comprehension):
            inner = element(arguments[0].type)
            if not isinstance(inner, Bool | Never) and node.arguments[0].is_conditional:
                name = "len"
        arguments = with_elements(name, arguments)
        return apply(self.context, node, name, self.with_empty_arguments(node, name, arguments))

    def as_sets(
        self, node: ast.Call, name: str, arguments: tuple[ir.Expr, ...]
    ) -> tuple[ir.Expr, ...]:
        """Returns the arguments of a built-in, lists as sets where it takes sets and no lists; the
        name of a type is then the set of its values."""
        rule = BUILTINS[name].rule
        types = tuple(argument.type for argument in arguments)
        wanted = tuple(Set(type.of) if isinstance(type, List) else type for type in types)
        if wanted == types or rule(types) is not None or rule(wanted) is None:
            return arguments
        return tuple(
            self.fitted(self.infer(part, want) if isinstance(part, ast.Name) else typed, want)
            for part, typed, want in zip(node.arguments, arguments, wanted, strict=True)
        )

    def arguments(self, node: ast.Call, expected: Type | None) -> tuple[ir.Expr, ...]:
        """Types the arguments of a built-in; `count(xs, x)` expects an element of its list."""
        name, given = node.name.id, node.arguments
        row = BUILTINS[name]
        first = given[0] if given else None
        typed: list[ir.Expr] = []
        wanted = expected if row.types_argument else None
        takes_graph = row.appended in ("graph", "graph instead")
        nodes = nodes_of_type(self.context, first) if takes_graph and first is not None else None
        if nodes is not None:
            typed.append(nodes)
        elif row.takes_map and isinstance(first, ast.Name) and (len(given) == 1 or name == "count"):
            typed.append(self.collection(first))
        elif first is not None:
            typed.append(self.infer(first, wanted))
        if takes_graph and typed:
            types = wanted_types(typed[0].type, name, len(given))
            typed += map(self.infer, given[1:], types)
            return tuple(typed)
        for argument in given[1:]:
            inner = element(typed[0].type) if name == "count" else None
            typed.append(self.infer_shaped(argument, inner))
        return tuple(typed)

    # comprehensions

    def comprehension(self, node: ast.Comprehension, expected: Type | None) -> ir.Expr:
        wanted = element(expected) if expected is not None else None
        with self.each(node.targets, node.source, node.condition) as generator:
            item = self.infer(node.item, expected if node.chained else wanted)
        collected = ir.Collect(
            List(item.type) if not isinstance(item.type, Never) else NEVER,
            node.span,
            item,
            generator.targets,
            generator.source,
            generator.condition,
            generator.keyed,
        )
        if not node.chained or isinstance(item.type, Never):
            return collected
        return ir.Apply(item.type, node.span, ir.CHAIN, (collected,))

    @contextmanager
    def each(
        self, names: tuple[ast.Name, ...], over: ast.Node, test: ast.Node | None
    ) -> Iterator[TypedFor]:
        """Types the `for` of a comprehension or statement; inside, its targets have their types."""
        context = self.context
        source = self.container(over)
        source = source if element(source.type) is not None else value_of(source)
        inner = element(source.type)
        if inner is None:
            context.problems.add(
                "GD0312",
                "`for` goes through a collection",
                over.span,
                why=f"this is {source.type}",
                help=f"to count from 1, write `1..{over.span.text}`"
                if isinstance(source.type, Number)
                else "",
            )
            source, inner = never(over), NEVER
        if len(names) == 2 and isinstance(source.type, Grid):
            source, inner = cells_with_values(source, source.type)
        elif len(names) == 2 and isinstance(source.type, Record) and source.type.key is not None:
            source, inner = fields_with_keys(context, source, source.type, source.type.key)
        types = self.target_types(names, source, inner)
        with context.targets():
            context.facts = without(context.facts, (target.id for target in names))
            for target, type in zip(names, types, strict=True):
                self.declare_target(target, type)
            condition = None
            if test is not None:
                condition = require_truth(context, test, self.infer(test), "the condition")
                context.facts |= facts(test, True, condition)
            keyed = len(names) == 2 and not _is_unpacked(source.type, inner, 2)
            yield TypedFor(tuple(t.id for t in names), source, condition, keyed)

    def declare_target(self, target: ast.Name, type: Type) -> None:
        """Declares a target. It is local: inside, it hides an enum value, the variable of a loop or
        another local of that name, but it may have no name that the file declares for good."""
        first = self.names.lasting(target.id)
        if not report_taken(target.id, target.span, first, self.problems):
            self.context.locals[target.id] = type

    def target_types(
        self, names: tuple[ast.Name, ...], source: ir.Expr, inner: Type
    ) -> tuple[Type, ...]:
        """Returns the types of the targets: an element, its parts, or its index and itself."""
        count = len(names)
        if count == 1 or isinstance(source.type, Never):
            return (inner,) * count
        if isinstance(inner, Tuple) and _is_unpacked(source.type, inner, count):
            return inner.of
        if count == 2:
            map = source.type
            key: Type = map.key if isinstance(map, PerValue) else WHOLE
            if isinstance(key, Enum) and not key.name and key.values is None:
                key = self.names.enum_with(key) or key
            return (SEAT if isinstance(map, PerSeat) else key, inner)
        if not isinstance(inner, Never):
            self.problems.add(
                "GD0312",
                f"the elements do not have {count} parts",
                names[0].span,
                why=f"each is {inner}",
                help="`for i, x in list` numbers the elements; `for x in list` takes each",
            )
        return (NEVER,) * count


def with_elements(name: str, arguments: tuple[ir.Expr, ...]) -> tuple[ir.Expr, ...]:
    """Returns the arguments of a built-in; where it wants to know of what the values of a
    comprehension are, the elements that it goes through stand beside them."""
    (values, *more), rule = arguments, BUILTINS[name].rule
    if more or not isinstance(values, ir.Collect) or rule((values.type,)) is not None:
        return arguments
    key = values.targets[0]
    inner = element(values.source.type)
    if values.keyed:
        of = values.source.type
        inner = SEAT if isinstance(of, PerSeat) else of.key if isinstance(of, PerValue) else WHOLE
    elif len(values.targets) > 1:
        return arguments
    if inner is None or rule((values.type, List(inner))) is None:
        return arguments
    item = ir.Local(inner, values.span, key)
    return values, replace(values, type=List(inner), item=item)


def _range_fix(node: ast.Call) -> Help:
    """Returns the fix of `range(a, b)` of other languages."""
    ends = [argument.span.text for argument in node.arguments]
    if len(ends) != 2:
        return "a range is written `0..10`; both ends are in it"
    whole = "..".join(end if re.fullmatch(r"[\w.]+", end) else f"({end})" for end in ends)
    return substitute(node.span, whole, f"a range is written `{whole}`; both ends are in it")


def _number(key: ast.Node) -> Any:
    assert isinstance(key, ast.Literal)
    return key.value


def _is_unpacked(source: Type, inner: Type, count: int) -> bool:
    """Whether several targets are the parts of each element; of a map, two are key and value."""
    mapped = isinstance(source, PerSeat | PerValue) and count == 2
    return isinstance(inner, Tuple) and len(inner.of) == count and not mapped


def literal(node: ast.Literal, value: Any, expected: Type | None) -> ir.Const:
    """Returns a literal: a number is the value of that name, where an enum with it is expected."""
    if isinstance(value, int) and not isinstance(value, bool):
        for enum in enums_in(expected):
            if str(value) in enum.members:
                return ir.Const(enum, node.span, str(value))
    return ir.Const(_literal_type(value), node.span, value)


def _understood_by(node: ast.Node, operator: str, type: Type) -> Type | None:
    """Returns the type of the other operand, by which one is understood; None for a number that is
    no name there: beside arithmetic, and beside the order of a `values` type."""
    if not isinstance(node, ast.Literal) or operator in ("==", "!="):
        return type
    return type if is_comparison(operator) and valued(type) is None else None


def _is_empty(typed: ir.Expr) -> bool:
    """Whether an expression is the empty list, or a conditional of which both halves are."""
    match typed:
        case ir.Build(type=List(), items=items):
            return not items
        case ir.If(then=then, other=other):
            return _is_empty(then) and _is_empty(other)
        case _:
            return False


def _has_empty(typed: ir.Expr) -> bool:
    """Whether an expression is the empty list, or a list, a tuple or a conditional with one in
    it."""
    match typed:
        case ir.Build(items=items):
            return _is_empty(typed) or any(map(_has_empty, items))
        case ir.If(then=then, other=other):
            return _has_empty(then) or _has_empty(other)
        case _:
            return False


def _joined(items: Sequence[ir.Expr]) -> Type | None:
    """Returns the smallest type that all items have; None where there is none."""
    joined: Type | None = NEVER
    for item in items:
        joined = joined and join(joined, item.type)
    return joined


def _have_one_type(items: Sequence[ir.Expr]) -> bool:
    return _joined(items) is not None


def _literal_type(value: Any) -> Type:
    if isinstance(value, bool):
        return BOOL
    if value is None:
        return NONE
    return WHOLE if isinstance(value, int) else NUMBER
