"""Text of expressions and statements to their syntax trees.

The grammar is `expr.lark`; its parse table is kept in the user's cache under the hash of the
grammar, so that a cold process does not build it again. Nothing about a game
file is ever cached. Every tree is at most `MAX_DEPTH` deep, so that whoever walks it may recurse.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gamedsl.diagnostics.model import Problems
from gamedsl.diagnostics.spans import Span
from gamedsl.frontend.source.nodes import Scalar
from gamedsl.frontend.syntax import ast
from gamedsl.storage.cache import CacheRefused, own_folder, read_entry, write_entry

if TYPE_CHECKING:
    from lark import Lark

MAX_DEPTH = 80
"""Levels of an expression: brackets, operators and conditionals inside each other."""

MAX_LENGTH = 4096
"""Characters in one expression."""

_MOST_KEPT = 200
"""Characters of an expression whose parse tree is kept."""

MAX_DIGITS = 100
"""Digits of a number, as in YAML."""

KEYWORDS = ("if", "else", "for", "in", "not", "and", "or", "true", "false", "none")
"""The words of the language, which no name may be."""


_recorded: ContextVar[list[Scalar] | None] = ContextVar("recorded", default=None)


@contextmanager
def recording_expressions() -> Iterator[list[Scalar]]:
    """Yields a list that receives the scalars in which expressions or statements are read without
    a problem, inside of the block."""
    found: list[Scalar] = []
    token = _recorded.set(found)
    try:
        yield found
    finally:
        _recorded.reset(token)


@lru_cache(maxsize=1)
def grammar() -> Lark:
    """The parser, from its cached table where there is one."""
    import hashlib

    import lark

    text = Path(__file__).with_name("expr.lark").read_bytes()
    known = [text, str(sys.version_info[:2]).encode(), lark.__version__.encode()]
    name = hashlib.sha256(b"\0".join(known)).hexdigest()[:16]
    try:
        path = own_folder() / f"expr-{name}.lark"
    except CacheRefused:
        return _built(text.decode())
    content = read_entry(path)
    if content is not None:
        return lark.Lark.load(BytesIO(content))
    built = _built(text.decode())
    saved = BytesIO()
    built.save(saved)
    write_entry(path, saved.getvalue())
    return built


def _built(text: str) -> Lark:
    from lark import Lark

    return Lark(
        text,
        parser="lalr",
        start=["expression", "statement"],
        propagate_positions=True,
        maybe_placeholders=False,
    )


def parse_expression(
    scalar: Scalar, problems: Problems, start: int = 0, end: int | None = None
) -> ast.Node | None:
    """Parse characters `start` to `end` of a scalar; None (and a diagnostic) if they are wrong."""
    if not isinstance(scalar.value, str):
        return ast.Literal(scalar.span, _simplest(scalar.value))
    text = scalar.text[start:end]
    if simple := _simple(text, scalar, start):
        return simple
    build = _Builder(scalar, start)
    if not text.strip():
        place = build.span(0, len(text))
        problems.add("GD0201", "an expression is missing here", place, help="write a number")
        return None
    tree = _parsed(text, "expression", build, build.node, problems)
    if tree is not None:
        _record(scalar)
    return tree


def _record(scalar: Scalar) -> None:
    found = _recorded.get()
    if found is not None:
        found.append(scalar)


def parse_statements(scalar: Scalar, problems: Problems) -> tuple[ast.Statement, ...] | None:
    """The statements of a `do:`, which `;` or the ends of lines part; None if one is wrong."""
    found: list[ast.Statement] = []
    sound = True
    for start, end in _pieces(scalar.text):
        build = _Builder(scalar, start)
        text = scalar.text[start:end]
        statement = _parsed(text, "statement", build, build.statement, problems)
        if statement is None:
            sound = False
        else:
            found.append(statement)
    if sound and not found:
        problems.add("GD0201", "a statement is missing here", scalar.span, help=_STATEMENTS)
        return None
    if not sound:
        return None
    _record(scalar)
    return tuple(found)


_Tree = TypeVar("_Tree")


@lru_cache(maxsize=1024)
def _tree(text: str, start: str) -> Any:
    """Returns the parse tree of a text, which nobody changes; it has no place in a file. Protocols
    and extended games are read again and again, and a keystroke changes one text."""
    return grammar().parse(text, start=start)


def _parsed(
    text: str, start: str, build: _Builder, make: Callable[[Any], _Tree], problems: Problems
) -> _Tree | None:
    """Returns the result of `make` for the parse tree of a text; None, with a diagnostic, if it
    is wrong."""
    if len(text) > MAX_LENGTH:
        _too_large(build.span(0, 40), problems)
        return None
    from lark.exceptions import UnexpectedInput

    try:
        tree = (_tree if len(text) <= _MOST_KEPT else _tree.__wrapped__)(text, start)
    except UnexpectedInput as error:
        from gamedsl.frontend.syntax.errors import report

        report(error, text, build.span, problems)
        return None
    if len(text) > MAX_DEPTH and _depth(tree) > MAX_DEPTH:
        _too_large(build.span(0, 40), problems)
        return None
    try:
        return make(tree)
    except _RefusedError as error:
        problems.add(error.code, error.message, error.span, why=error.why, help=error.help)
        return None


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Yields the start and end of each statement of a text: between `;` and newlines outside of
    brackets, without outer spaces; empty ones are skipped."""
    depth, start = 0, 0
    for at, character in enumerate(f"{text};"):
        depth += (character in "([") - (character in ")]" and depth > 0)
        if at == len(text) or (depth == 0 and character in ";\n"):
            piece = text[start:at]
            if piece.strip():
                yield start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
            start = at + 1


_STATEMENTS = "write `x = e`, `x += e`, `add e to x` or `drop e from x`"
_ROUND = "write a smaller number, or work it out with `**`"


def _simplest(value: int | Fraction | bool | None) -> int | Fraction | bool | None:
    """`2.0` is the whole number 2."""
    if isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    return value


def _simple(text: str, scalar: Scalar, start: int) -> ast.Node | None:
    """A whole number alone, which most cells of a table are, without the parser."""
    if not text.isascii() or not text.isdigit() or len(text) > MAX_DIGITS:
        return None
    return ast.Literal(scalar.locate(start, start + len(text)), int(text))


def _depth(tree: Any) -> int:
    """The levels of a lark tree, found without recursion."""
    deepest, queue = 0, [(tree, 1)]
    while queue:
        node, level = queue.pop()
        deepest = max(deepest, level)
        queue += [(child, level + 1) for child in getattr(node, "children", ())]
    return deepest


def _too_large(span: Span, problems: Problems) -> None:
    problems.add(
        "GD0203",
        "this expression is too large",
        span,
        why=f"at most {MAX_LENGTH} characters, nested at most {MAX_DEPTH} deep",
        help="give parts of it names under `let`",
    )


@dataclass
class _RefusedError(Exception):
    """Text that follows the grammar and is wrong all the same, with its message."""

    code: str
    message: str
    span: Span
    why: str
    help: str = ""


class _Builder:
    """Turns a lark tree into nodes placed in the YAML source."""

    def __init__(self, scalar: Scalar, base: int) -> None:
        self.scalar = scalar
        self.base = base

    def span(self, start: int, end: int) -> Span:
        return self.scalar.locate(self.base + start, self.base + end)

    def node(self, tree: Any) -> ast.Node:
        meta = tree.meta
        span = self.scalar.span if meta.empty else self.span(meta.start_pos, meta.end_pos)
        kind, children = tree.data, tree.children
        if kind in _LEAVES:
            return ast.Literal(span, _LEAVES[kind])
        match kind:
            case "number":
                return self.number(str(children[0]), span)
            case "name":
                return self.name(children[0])
            case "group":
                return self.node(children[0])
            case "conditional":
                then, test, other = map(self.node, children)
                return ast.Conditional(span, test, then, other)
            case "arithmetic" | "comparison":
                left, op, right = children
                return ast.Operator(span, str(op), (self.node(left), self.node(right)))
            case "either" | "both":
                spans = [self.span(one.meta.start_pos, one.meta.end_pos) for one in children]
                return _balanced(_OPERATORS[kind], [self.node(child) for child in children], spans)
            case "is_kind" | "is_no_kind":
                return self.kind_test(children[0], children[1], kind == "is_kind", span)
            case "attribute":
                return ast.Attribute(span, self.node(children[0]), self.name(children[1]))
            case "index":
                of, *keys = map(self.node, children)
                return ast.Index(span, of, tuple(keys))
            case "call":
                return ast.Call(span, self.name(children[0]), self.arguments(children[1:]))
            case "comprehension":
                return self.comprehension(tree)
            case "tuple" | "list":
                return ast.Display(span, str(kind), tuple(map(self.node, children)))
            case _:  # rules of the grammar that are one operator each
                return ast.Operator(span, _OPERATORS[kind], tuple(map(self.node, children)))

    def number(self, text: str, span: Span) -> ast.Node:
        if len(text) > MAX_DIGITS:
            digits = f"a number has at most {MAX_DIGITS} digits"
            raise _RefusedError("GD0203", digits, span, f"{len(text)} digits", _ROUND)
        return ast.Literal(span, _simplest(Fraction(text)))

    def name(self, token: Any) -> ast.Name:
        """A name; where a value must stand, the lexer takes a keyword for one."""
        span, word = self.span(token.start_pos, token.end_pos), str(token)
        if word in KEYWORDS:
            message = f"`{word}` is not expected here"
            raise _RefusedError("GD0201", message, span, "a value was expected")
        return ast.Name(span, word)

    def kind_test(self, of: Any, word: Any, holds: bool, span: Span) -> ast.Node:
        """Returns `x is T` or `x is not T`; `x is none` is `x == none`."""
        if str(word) == "none":
            none = ast.Literal(self.span(word.start_pos, word.end_pos), None)
            return ast.Operator(span, "==" if holds else "!=", (self.node(of), none))
        return ast.Operator(span, "is" if holds else "is not", (self.node(of), self.name(word)))

    def arguments(self, children: list[Any]) -> tuple[ast.Node, ...]:
        if not children:
            return ()
        tree = children[0]
        if tree.data == "arguments":
            return tuple(map(self.node, tree.children))
        return (self.node(tree),)

    def comprehension(self, tree: Any) -> ast.Comprehension:
        item, *others, last = tree.children
        span = self.span(tree.meta.start_pos, tree.meta.end_pos)
        found = ast.Comprehension(span, self.node(item), *self.generator(last))
        for generator in reversed(others):
            found = ast.Comprehension(span, found, *self.generator(generator), chained=True)
        return found

    def generator(self, tree: Any) -> tuple[tuple[ast.Name, ...], ast.Node, ast.Node | None]:
        """The targets, the source and the condition of a `for`."""
        targets = tuple(self.name(c) for c in tree.children if not hasattr(c, "children"))
        source, *condition = [self.node(c) for c in tree.children if hasattr(c, "children")]
        return targets, source, condition[0] if condition else None

    def statement(self, tree: Any) -> ast.Statement:
        span = self.span(tree.meta.start_pos, tree.meta.end_pos)
        loops = [c for c in tree.children if getattr(c, "data", "") == "generator"]
        parts = tree.children[: len(tree.children) - len(loops)]
        body: ast.Statement = self.simple(tree.data, parts, span)
        for generator in reversed(loops):
            body = ast.Each(span, body, *self.generator(generator))
        return body

    def simple(self, kind: str, children: list[Any], span: Span) -> ast.Statement:
        """A statement without its `for`."""
        parts = [self.node(child) for child in children if hasattr(child, "children")]
        match kind:
            case "assign":
                return ast.Assign(span, parts[0], str(children[1]), parts[1])
            case "add":
                return ast.Add(span, parts[1], parts[0])
            case "drop":
                return ast.Drop(span, parts[1], parts[0])
            case "drop_item" if isinstance(parts[0], ast.Index):
                return ast.DropItem(span, parts[0])
            case "drop_item":
                text = f"`drop {parts[0].span.text}` does not say from where"
                help = "write `drop x from s`, or `drop s[i]` for one item of a list"
                raise _RefusedError("GD0204", text, span, "`from` is missing", help)
            case _:  # an expression: refused below
                pass
        why = "an expression alone changes nothing"
        if isinstance(parts[0], ast.Operator) and parts[0].op == "==":
            left, right = (part.span.text for part in parts[0].operands)
            help = f"to store it, write `{left} = {right}`"
            raise _RefusedError("GD0204", "this is no statement", span, why, help)
        raise _RefusedError("GD0204", "this is no statement", span, why, _STATEMENTS)


def _balanced(op: str, operands: list[ast.Node], spans: list[Span]) -> ast.Node:
    """`a and b and c and d` as `(a and b) and (c and d)`: the same order, and not deep. `spans` are
    those of the operands with their own brackets, which the spans of their nodes lack."""
    if len(operands) == 1:
        return operands[0]
    middle = (len(operands) + 1) // 2
    left = _balanced(op, operands[:middle], spans[:middle])
    right = _balanced(op, operands[middle:], spans[middle:])
    span = Span(spans[0].source, spans[0].start, max(spans[0].end, spans[-1].end))
    return ast.Operator(span, op, (left, right))


_LEAVES: dict[str, bool | None] = {"true": True, "false": False, "none": None}
_OPERATORS = {
    "either": "or", "both": "and", "negation": "not", "minus": "neg",
    "member": "in", "not_member": "not in", "range": "..",
}  # fmt: skip
