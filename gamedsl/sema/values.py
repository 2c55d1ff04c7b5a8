"""YAML nodes as expressions and as constants: shared by params, options and payoffs."""

from __future__ import annotations

import re
from collections.abc import Mapping as Map
from fractions import Fraction
from typing import Any

from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.spans import Source, Span
from gamedsl.frontend.source.nodes import Entry, Mapping, Node, Scalar, Sequence
from gamedsl.frontend.syntax import ast
from gamedsl.frontend.syntax.parser import parse_expression
from gamedsl.ir import expr as ir
from gamedsl.ir.builtins import BUILTINS, MAX_ITEMS
from gamedsl.ir.evaluate import EvaluationError, Scope, evaluate
from gamedsl.ir.types import NEVER, List, Type
from gamedsl.sema.typer import Typer
from gamedsl.sema.typing_context import has_errors

NOTHING = ir.Const(NEVER, Span(Source("", ""), 0, 0), None)
"""Stands for an expression that could not be read."""


def syntax(node: Node, problems: Problems) -> ast.Node | None:
    """Parses a scalar's expression; a sequence is a list of them, and a map one of constants."""
    if isinstance(node, Scalar):
        return parse_expression(node, problems)
    if isinstance(node, Sequence):
        items = [syntax(item, problems) for item in node]
        sound = tuple(item for item in items if item is not None)
        return ast.Display(node.span, "list", sound) if len(sound) == len(items) else None
    keys: list[ast.Node] = []
    for entry in node:
        key, span = entry.key.value, entry.key.span
        is_number = isinstance(key, int | Fraction) and not isinstance(key, bool)
        number = ast.Literal(span, int(entry.key.text)) if is_number else None
        keys.append(number or ast.Name(span, entry.key.text))
    values = [syntax(entry.value, problems) for entry in node]
    known = tuple(value for value in values if value is not None)
    return ast.Map(node.span, tuple(keys), known) if len(known) == len(keys) else None


def constant(
    node: Node, typer: Typer, expected: Type | None = None
) -> tuple[ir.Expr, Any, Type] | None:
    """Evaluates an expression over params alone: its typed form, its value and its type.

    None (and a diagnostic) if it has an error, or depends on play.
    """
    problems = typer.problems
    tree = syntax(node, problems)
    if tree is None:
        return None
    typed = typer.expression(tree, expected=expected)
    if has_errors(typed):
        return None
    for part in ir.walk(typed):
        if isinstance(part, ir.PLAY):
            let = isinstance(part, ir.LetCall | ir.LetMap)
            problems.add(
                "GD0313",
                "this must be known before the game starts",
                part.span,
                why="a let is worked out during play" if let else "its value comes from play",
                help="make it a param" if let else "use params and numbers only",
            )
            return None
    try:
        value = evaluate(typed, Scope(seats=typer.names.seats))
    except EvaluationError as error:
        problems.add("GD0401", error.message, error.span, why=why_undefined(error))
        return None
    if _count_items(value) > MAX_ITEMS:
        problems.add("GD0401", f"a list of more than {MAX_ITEMS:,} items", node.span)
        return None
    return typed, value, _exact_type(value, typed.type)


_WHOLE = re.compile(r"-?[0-9]+\Z")


def read_items(node: Sequence, typer: Typer) -> list[tuple[Any, Scalar]] | None:
    """Reads a list of names, numbers and ranges such as `2..10`: each value with its place.

    Where there is a name, or a number in quotes, all values are names. None (and a diagnostic)
    where a range has an error, or a value stands twice.
    """
    found: list[tuple[Any, Scalar]] = []
    for item in node.items:
        assert isinstance(item, Scalar)
        value = item.value
        if isinstance(value, str) and ".." in value:
            inside = constant(item, typer)
            if inside is None:
                return None
            found += [(number, item) for number in inside[1]]
        elif isinstance(value, str):
            found.append((str(int(value)) if _WHOLE.match(value) else value, item))
        else:
            if isinstance(value, Fraction) and value.denominator == 1:
                value = value.numerator
            found.append((value, item))
    if not any(isinstance(value, str) for value, _ in found):
        return found
    fraction = next((item for value, item in found if isinstance(value, Fraction)), None)
    if fraction is not None:
        typer.problems.add(
            "GD0404", "a list with names in it is a list of names", fraction.span,
            why="this is no whole number, and no name",
            help="to give names numbers, write a map: `{low: 1/2, high: 2}`",
        )  # fmt: skip
        return None
    named = [(value if isinstance(value, str) else str(value), item) for value, item in found]
    places: dict[str, Scalar] = {}
    for name, item in named:
        if name in places:
            report_twice(name, item.span, places[name].span, typer.problems)
            return None
        places[name] = item
    return named


def report_twice(name: str, span: Span, first: Span, problems: Problems) -> None:
    """Reports a name that stands twice among the values of one type."""
    problems.add(
        "GD0319", f"`{name}` stands twice among these values", span, why="the second time",
        notes=(Note(first, "the first time"),) if first != span else (),
        help="delete one of them",
    )  # fmt: skip


def why_undefined(error: EvaluationError) -> str:
    """Returns the note under an expression that has no value."""
    expr = error.expr
    if isinstance(expr, ir.Apply) and BUILTINS[expr.function].undefined == "by zero":
        divisor = expr.arguments[1].span.text
        if not divisor.isdigit() and len(divisor) < 60 and "\n" not in divisor:
            return f"`{divisor}` is 0"
    return "no value"


def _count_items(value: Any) -> int:
    """Counts the values of a list of lists, no further than needed."""
    count, queue = 0, [value]
    while queue and count <= MAX_ITEMS:
        item = queue.pop()
        count += 1
        if isinstance(item, tuple):
            queue += item[: MAX_ITEMS + 1]
    return count


def _exact_type(value: Any, type: Type) -> Type:
    """Returns a list's type with the lengths that its value has, those of lists in it included."""
    if not isinstance(type, List):
        return type
    inner = {_exact_type(item, type.of) for item in value} if isinstance(type.of, List) else set()
    return List(inner.pop() if len(inner) == 1 else type.of, len(value))


def node_of(value: Any, source: Source) -> Node:
    """Returns a Python value (from the command line, or from `gamedsl.load(params=)`) as a node.

    TypeError for a value that no param can have; ValueError for a number that is not finite.
    """
    span = Span(source, 0, len(source.text))
    if isinstance(value, Scalar | Sequence | Mapping):
        return value
    if isinstance(value, float):
        value = Fraction(str(value))
    if isinstance(value, list | tuple):
        return Sequence(tuple(node_of(v, source) for v in value), span)
    if isinstance(value, Map):
        return Mapping(
            tuple(Entry(_key_node(k, source), node_of(v, source)) for k, v in value.items()), span
        )
    if isinstance(value, str) and value[:1] in ("{", "["):
        written = _flow_node(value, source)
        if written is not None:
            return written
    if isinstance(value, str):
        offsets = None if source.text == value else ()
        return Scalar(value, value, span, offsets)
    if value is None or isinstance(value, bool | int | Fraction):
        return Scalar(value, "none" if value is None else str(value), span, ())
    raise TypeError(f"a param cannot be a {type(value).__name__}")


def _key_node(key: Any, source: Source) -> Scalar:
    node = node_of(key, source)
    if not isinstance(node, Scalar):
        raise TypeError("the key of a map is a name or a number")
    return node


def _flow_node(text: str, source: Source) -> Node | None:
    """Reads a list or map written as in a file; None for an expression such as `[x for x in
    xs]`."""
    from gamedsl.frontend.source.compose import compose

    ignored = Problems()
    inner = source if source.text == text else Source(source.name, text)
    node = compose(inner, ignored)
    return None if ignored.errors or isinstance(node, Scalar) else node


def entries_of(values: Map[str, Any] | None, where: str) -> dict[str, Entry]:
    """Returns overrides by name as entries of a source called `where`, such as `--param pie`."""
    entries = {}
    for name, value in (values or {}).items():
        source = Source(f"{where} {name}", value if isinstance(value, str) else repr(value))
        key = Scalar(name, name, Span(source, 0, len(source.text)), ())
        entries[name] = Entry(key, node_of(value, source))
    return entries
