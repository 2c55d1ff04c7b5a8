"""Narrowing: expressions that cannot be none after a test that says so, are a text or none, or are
not some of a union's names.

`0 if x == none else x + 1` is right although `x` may be none. Expressions have no effects, so one
that is written twice has one value; it is known by its text (names, roles, indices, calls).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import assert_never

from gamedsl.frontend.syntax import ast
from gamedsl.ir.types import Option, Type, plain, text_or_record

Facts = frozenset[str]
"""Keys of expressions that are not none; with `IS_TEXT` or `NO_TEXT` behind them, of those that are
a text (or none), or are none; with ` != fold` of those that are not this name."""

IS_TEXT, NO_TEXT = " is text", " is not text"


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
    """Returns the type of an expression, by its key, where these facts hold."""
    if isinstance(type, Option) and name in known:
        type = type.of
    kinds = text_or_record(plain(type))
    if kinds is None or not name or not known & {name + IS_TEXT, name + NO_TEXT}:
        return type
    kind = kinds.text if name + IS_TEXT in known else kinds.record
    return Option(kind) if isinstance(type, Option) else kind


def without(known: Facts, names: Iterable[str]) -> Facts:
    """Returns the facts that read none of these names, which mean something else from here on."""
    gone = set(names)
    return frozenset(fact for fact in known if gone.isdisjoint(re.findall(r"\w+", fact)))


def unchanged(known: Facts, written: Iterable[str] | None = None) -> Facts:
    """Returns the facts behind steps that write these variables; None: any. What tests told of
    names holds no longer then. What is none where it is read is told when it happens."""
    if written is None:
        return frozenset(fact for fact in known if " != " not in fact)
    gone = {name.rpartition(".")[2] for name in written}
    return frozenset(
        fact for fact in known
        if " != " not in fact
        or (gone.isdisjoint(re.findall(r"\w+", fact)) and not (gone and "(" in fact))
    )  # fmt: skip


def facts(test: ast.Node, holds: bool) -> Facts:
    """Returns what is known of expressions if a test holds, or if it does not: those that are not
    none, and those that are not a name."""
    match test:
        case ast.Operator(op="not", operands=(inner,)):
            return facts(inner, not holds)
        case ast.Operator(op="and" | "or" as op, operands=(left, right)):
            if (op == "and") == holds:
                return facts(left, holds) | facts(right, holds)
        case ast.Operator(op="==" | "!=" as op, operands=(left, right)):
            if (op == "!=") != holds:
                return frozenset()
            found = set[str]()
            for side, other in ((left, right), (right, left)):
                if isinstance(other, ast.Literal) and other.value is None:
                    found.add(key(side))
                elif isinstance(other, ast.Name) and key(side):
                    found.add(f"{key(side)} != {other.id}")
            return frozenset(found) - {""}
        case ast.Operator(op="is" | "is not" as op, operands=(side, ast.Name(id=word))):
            name, fits = key(side), (op == "is") == holds
            kind = IS_TEXT if (word == "text") == fits else NO_TEXT
            return frozenset({name + kind, *([name] if fits else [])}) if name else frozenset()
        case _:  # any other test says nothing, which is safe
            pass
    return frozenset()
