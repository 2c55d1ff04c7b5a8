"""Narrowing: expressions that cannot be none after a test that says so.

`0 if x == none else x + 1` is right although `x` may be none. Expressions have no effects, so one
that is written twice has one value; it is known by its text (names, roles and indices only).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import assert_never

from gamedsl.frontend.syntax import ast

Facts = frozenset[str]
"""Keys of expressions that are not none."""


def key(node: ast.Node) -> str:
    """Returns the text of a name, or of an entry of one; empty for any other expression."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(of=of, name=name):
            return f"{key(of)}.{name.id}" if key(of) else ""
        case ast.Index(of=of, keys=keys):
            inner = [key(k) or (str(k.value) if isinstance(k, ast.Literal) else "") for k in keys]
            return f"{key(of)}[{', '.join(inner)}]" if key(of) and all(inner) else ""
        case (
            ast.Literal() | ast.Operator() | ast.Conditional() | ast.Call() | ast.Comprehension()
            | ast.Display()
        ):  # fmt: skip
            return ""
        case _:
            assert_never(node)


def without(known: Facts, names: Iterable[str]) -> Facts:
    """Returns the facts that read none of these names, which mean something else from here on."""
    gone = set(names)
    return frozenset(fact for fact in known if gone.isdisjoint(re.findall(r"\w+", fact)))


def facts(test: ast.Node, holds: bool) -> Facts:
    """Returns the expressions that are not none if a test holds, or if it does not."""
    match test:
        case ast.Operator(op="not", operands=(inner,)):
            return facts(inner, not holds)
        case ast.Operator(op="and" | "or" as op, operands=(left, right)):
            if (op == "and") == holds:
                return facts(left, holds) | facts(right, holds)
        case ast.Operator(op="==" | "!=" as op, operands=(left, right)):
            for side, other in ((left, right), (right, left)):
                if isinstance(other, ast.Literal) and other.value is None:
                    return frozenset({key(side)} if (op == "!=") == holds else ()) - {""}
        case _:  # any other test says nothing, which is safe
            pass
    return frozenset()
