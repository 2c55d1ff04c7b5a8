"""Narrowing: what tests prove of the types of expressions.

`0 if x == none else x + 1` is right although `x` may be none, and `act + 1 if act in 1..3 else 0`
although `act` may be a name too. Expressions have no effects, so one that is written twice has one
value; it is known by its text (names, roles, indices, calls).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple, assert_never

from gamedsl.frontend.syntax import ast
from gamedsl.ir import expr as ir
from gamedsl.ir.builtins import element
from gamedsl.ir.types import (
    Bag,
    Enum,
    Grid,
    List,
    Never,
    NoneType,
    Option,
    PerSeat,
    PerValue,
    Set,
    Type,
    Union,
    domain,
    join,
    plain,
    text_or_record,
)


class Fact(NamedTuple):
    """A fact that a test proves of the expression with the key `of`: it is not none (`bound`); it
    is a text, or none; it is no text, or none; it is `not` the enum value of a name; or it is `in`
    a type."""

    of: str
    says: Literal["bound", "text", "no text", "not", "in"]
    name: str = ""
    type: Type | None = None

    @property
    def words(self) -> frozenset[str]:
        """The names on which the fact depends."""
        return frozenset(re.findall(r"\w+", f"{self.of} {self.name}"))


Facts = frozenset[Fact]


def key(node: ast.Node) -> str:
    """Returns the text of a name, of an entry of one, of a call, or of an operation on these; empty
    for any other expression."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(of=of, name=name):
            return f"{key(of)}.{name.id}" if key(of) else ""
        case ast.Index(of=of, keys=keys):
            return _joined(f"{key(of)}[", keys, "]") if key(of) else ""
        case ast.Call(name=name, arguments=arguments):
            return _joined(f"{name.id}(", arguments, ")")
        case ast.Operator(op=op, operands=operands):
            return _joined(f"({op} ", operands, ")")
        case ast.Literal() | ast.Conditional() | ast.Comprehension() | ast.Display() | ast.Map():
            return ""
        case _:
            assert_never(node)


def _joined(start: str, parts: Iterable[ast.Node], end: str) -> str:
    """Returns the texts of parts in brackets, numbers too; empty where one has none."""
    inner = [key(part) or _number(part) for part in parts]
    return f"{start}{', '.join(inner)}{end}" if all(inner) else ""


def _number(node: ast.Node) -> str:
    return str(node.value) if isinstance(node, ast.Literal) else ""


def narrowed(type: Type, name: str, known: Facts) -> Type:
    """Returns the type of an expression, by its key, where these facts hold. What equality and `in`
    prove is left out (`proved_type`)."""
    if isinstance(type, Option) and Fact(name, "bound") in known:
        type = type.of
    kinds = text_or_record(plain(type))
    is_text = Fact(name, "text") in known
    if kinds is None or not name or not (is_text or Fact(name, "no text") in known):
        return type
    kind = kinds.text if is_text else kinds.record
    return Option(kind) if isinstance(type, Option) else kind


def proved_type(type: Type, name: str, known: Facts) -> Type:
    """Returns the type of an expression, by its key, with what equality and `in` prove of it."""
    for fact in known:
        if fact.of == name and fact.says == "in" and fact.type is not None:
            type = _common(type, fact.type) or type
    return type


def without(known: Facts, names: Iterable[str]) -> Facts:
    """Returns the facts that read none of these names, which mean something else from here on."""
    gone = set(names)
    return frozenset(fact for fact in known if gone.isdisjoint(fact.words))


def unchanged(known: Facts, written: Iterable[str] | None = None) -> Facts:
    """Returns the facts behind steps that write these variables; None: any. What tests proved of
    values holds no longer then. What is none where it is read is told when it happens."""
    lasting = frozenset(fact for fact in known if fact.says not in ("not", "in"))
    if written is None:
        return lasting
    gone = {name.rpartition(".")[2] for name in written}
    return lasting | frozenset(
        fact for fact in known if gone.isdisjoint(fact.words) and not (gone and "(" in fact.of)
    )


def facts(test: ast.Node, holds: bool, typed: ir.Expr | None) -> Facts:
    """Returns what is known of expressions if a test holds, or if it does not. `typed` is the test
    with its types, or an expression around it; None: what types prove is left out."""
    match test:
        case ast.Operator(op="not", operands=(inner,)):
            return facts(inner, not holds, typed)
        case ast.Operator(op="and" | "or" as op, operands=(left, right)):
            if (op == "and") == holds:
                return facts(left, holds, typed) | facts(right, holds, typed)
        case ast.Operator(op="==" | "!=" as op, operands=(left, right)):
            if (op == "!=") != holds:
                return _equal(test, typed)
            found = set[Fact]()
            for side, other in ((left, right), (right, left)):
                if isinstance(other, ast.Literal) and other.value is None:
                    found.add(Fact(key(side), "bound"))
                elif isinstance(other, ast.Name) and key(side):
                    found.add(Fact(key(side), "not", other.id))
            return frozenset(fact for fact in found if fact.of)
        case ast.Operator(op="in" | "not in" as op):
            return _member(test, typed, (op == "in") == holds)
        case ast.Operator(op="is" | "is not" as op, operands=(side, ast.Name(id=word))):
            name, fits = key(side), (op == "is") == holds
            kind = Fact(name, "text" if (word == "text") == fits else "no text")
            return frozenset({kind, *([Fact(name, "bound")] if fits else [])} if name else ())
        case _:  # any other test says nothing, which is safe
            pass
    return frozenset()


def _typed_operands(test: ast.Operator, typed: ir.Expr | None) -> tuple[ir.Expr, ...]:
    """Returns the typed operands of a test inside an expression; empty where it has another form
    there."""
    for part in () if typed is None else ir.walk(typed):
        if isinstance(part, ir.Apply) and (part.function, part.span) == (test.op, test.span):
            return part.arguments
    return ()


def _equal(test: ast.Operator, typed: ir.Expr | None) -> Facts:
    """Returns what the equality of two values proves: each is of a type of the other."""
    sides = _typed_operands(test, typed)
    if len(sides) != 2:
        return frozenset()
    found = set[Fact]()
    for node, mine, other in zip(test.operands, sides, reversed(sides), strict=True):
        type = _common(mine.type, other.type)
        if key(node) and type is not None and type != mine.type:
            found.add(Fact(key(node), "in", type=type))
    return frozenset(found)


def _member(test: ast.Operator, typed: ir.Expr | None, holds: bool) -> Facts:
    """Returns what membership in a collection proves of a value; or, where all values of a type
    are in it, what it proves that the value is not there."""
    name, sides = key(test.operands[0]), _typed_operands(test, typed)
    if not name or len(sides) != 2:
        return frozenset()
    value, collection = sides
    inside = _elements(collection)
    if holds and inside is not None:
        type = _common(value.type, inside)
    elif not holds and (listed := _listed(collection)) is not None:
        type = _rest(value.type, listed)
    else:
        return frozenset()
    return frozenset() if type in (None, value.type) else frozenset({Fact(name, "in", type=type)})


def _elements(collection: ir.Expr) -> Type | None:
    """Returns the type of what is in a collection; of a list that is written out, of its items."""
    if isinstance(collection, ir.Build):
        types = [item.type for item in collection.items]
        inside = _union([plain(type) for type in types if not isinstance(type, NoneType)])
        may_be_none = any(isinstance(type, Option | NoneType) for type in types)
        return Option(inside) if inside is not None and may_be_none else inside
    type = collection.type
    if isinstance(type, List | Set | Bag | Grid | PerSeat | PerValue):
        return element(type)
    return None


def _listed(collection: ir.Expr) -> list[ir.Const] | None:
    """Returns the items of a list that is written out or is a constant of the language; None for
    any other collection, and for what params list, which may be other values in another game."""
    match collection:
        case ir.Build(items=items):
            consts = [item for item in items if isinstance(item, ir.Const)]
            known = len(consts) == len(items) and all(item.origin is None for item in consts)
            return consts if known else None
        case ir.Const(type=List(of=of), value=tuple() as values, origin=None):
            return [ir.Const(of, collection.span, value) for value in values]
        case _:  # a collection that play makes
            return None


def _rest(type: Type, listed: list[ir.Const]) -> Type | None:
    """Returns the type without those of its parts all values of which are listed; None where
    nothing would be left."""
    inner = plain(type)
    if not isinstance(inner, Union):
        return type
    values = {(_kind(item.type), item.value) for item in listed}
    kept = []
    for part in inner.of:
        own = domain(part, ()) if isinstance(part, Enum) else None
        if own is None or any((_kind(part), value) not in values for value in own):
            kept.append(part)
    rest = _union(kept)
    return Option(rest) if rest is not None and isinstance(type, Option) else rest


def _kind(type: Type) -> Type | None:
    """Returns the enum that a value is of; None for other values."""
    return type if isinstance(type, Enum) else None


def _common(type: Type, other: Type) -> Type | None:
    """Returns the type of a value of `type` that equals one of `other`; None where that cannot be
    told."""
    inner, values = plain(type), plain(other)
    if isinstance(values, NoneType | Never):
        return None
    mine = inner.of if isinstance(inner, Union) else (inner,)
    theirs = values.of if isinstance(values, Union) else (values,)
    kept = [part for part in mine if any(join(part, one) is not None for one in theirs)]
    common = _union(kept) or inner
    return Option(common) if isinstance(type, Option) and isinstance(other, Option) else common


def _union(parts: list[Type]) -> Type | None:
    """Returns the type of values that are of one of several types; None without one."""
    types = tuple(dict.fromkeys(parts))
    return None if not types else types[0] if len(types) == 1 else Union(types)
