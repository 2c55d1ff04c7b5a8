"""YAML nodes as expressions and as constants: shared by params, options and payoffs."""

from __future__ import annotations

from collections.abc import Mapping as Map
from fractions import Fraction
from typing import Any

from gamedsl.diagnostics import Problems
from gamedsl.ir import expr as ir
from gamedsl.ir.evaluate import EvaluationError, Scope, evaluate
from gamedsl.ir.types import NEVER, List, Never, Type
from gamedsl.sema.infer import Typer
from gamedsl.source.nodes import Mapping, Node, Scalar, Sequence
from gamedsl.source.spans import Source, Span
from gamedsl.syntax import ast
from gamedsl.syntax.parser import parse_expression


def syntax(node: Node, problems: Problems) -> ast.Node | None:
    """A scalar's expression; a sequence is a list of them."""
    if isinstance(node, Scalar):
        return parse_expression(node, problems)
    if isinstance(node, Sequence):
        items = [syntax(item, problems) for item in node]
        return (
            None if None in items else ast.Display(node.span, "list", tuple(i for i in items if i))
        )
    problems.add(
        "GD0204", "an expression cannot be a map", node.span, help="write one line of text"
    )
    return None


def constant(
    node: Node, typer: Typer, problems: Problems, expected: Type | None = None
) -> tuple[Any, Type] | None:
    """The value of an expression over params alone, worked out now; None if it has an error."""
    tree = syntax(node, problems)
    if tree is None:
        return None
    typed = typer.expression(tree, expected=expected)
    if isinstance(typed.type, Never):
        return None
    return fold(typed, typer, problems)


def fold(typed: ir.Expr, typer: Typer, problems: Problems) -> tuple[Any, Type] | None:
    """The value of a typed expression that reads nothing from play."""
    for part in ir.walk(typed):
        if isinstance(part, ir.Read | ir.Stream | ir.LetCall | ir.LetMap):
            problems.add(
                "GD0313",
                "this must be known before the game starts",
                part.span,
                why="its value comes from play",
                help="use params and numbers only",
            )
            return None
    try:
        value = evaluate(typed, Scope(seats=typer.names.seats))
    except EvaluationError as error:
        problems.add(
            "GD0401", error.message, error.span, why="worked out when the file is compiled"
        )
        return None
    return value, _exact_type(value, typed.type)


def _exact_type(value: Any, type: Type) -> Type:
    """A list's length is known once its value is."""
    return List(type.of, len(value)) if isinstance(type, List) else type


def node_of(value: Any, source: Source) -> Node:
    """A Python value (from the command line, or from `gamedsl.load(params=)`) as a node."""
    span = Span(source, 0, len(source.text))
    if isinstance(value, Scalar | Sequence | Mapping):
        return value
    if isinstance(value, float):
        value = Fraction(str(value))
    if isinstance(value, list | tuple):
        return Sequence(tuple(node_of(v, source) for v in value), span)
    if isinstance(value, str):
        offsets = tuple(range(len(value))) if source.text == value else ()
        return Scalar(value, value, span, offsets)
    if value is None or isinstance(value, bool | int | Fraction):
        return Scalar(value, "none" if value is None else str(value), span, ())
    raise TypeError(f"a param cannot be a {type(value).__name__}")


def nodes_of(values: Map[str, Any] | None, where: str) -> dict[str, Node]:
    """Overrides by name as nodes placed in a source called `where`, such as `--param pie`."""
    return {
        name: node_of(
            value, Source(f"{where} {name}", value if isinstance(value, str) else repr(value))
        )
        for name, value in (values or {}).items()
    }


NOTHING = ir.Const(NEVER, Span(Source("", ""), 0, 0), None)
