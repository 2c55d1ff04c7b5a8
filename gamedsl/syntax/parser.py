"""Text of an expression to its syntax tree.

The grammar is `expr.lark`; its parse table is cached in the user's cache folder under a hash that
lark takes over the grammar, so that a cold process does not build it again. Nothing about a game
file is ever cached.
"""

from __future__ import annotations

import os
import sys
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken

from gamedsl.diagnostics import Problems
from gamedsl.source.nodes import Scalar
from gamedsl.source.spans import Source, Span
from gamedsl.syntax import ast

MAX_DEPTH = 80
"""Brackets, nots and minus signs that may stand inside each other in one expression."""

MAX_LENGTH = 4096
"""Characters in one expression."""

_TOKENS = {
    "NAME": "a name", "NUMBER": "a number", "COMPARE": "a comparison", "TIMES": "`*` or `/`",
    "PLUS_MINUS": "`+` or `-`", "POWER": "`**`", "RPAR": "`)`", "LPAR": "`(`", "RSQB": "`]`",
    "LSQB": "`[`", "COMMA": "`,`", "DOT": "`.`", "IF": "`if`", "ELSE": "`else`", "FOR": "`for`",
    "IN": "`in`", "NOT": "`not`", "AND": "`and`", "OR": "`or`", "__ANON_0": "`..`", "$END": "the end",
}  # fmt: skip

_ALIEN = {
    "=": "`=` is an assignment; to compare, write `==`",
    "&": "write `and`",
    "|": "write `or`",
    "!": "write `not`",
    "^": "a power is written `**`",
    "?": "a choice is written `a if test else b`",
    ";": "one expression stands alone; statements belong in `do`",
    "'": "names stand without quotes",
    '"': "names stand without quotes",
    "×": "write `*`",
    "−": "write the minus sign `-` of the keyboard",
    "≤": "write `<=`",
    "≥": "write `>=`",
    "≠": "write `!=`",
}


def cache_folder() -> Path:
    """Where gamedsl keeps what it can always make again."""
    if folder := os.environ.get("GAMEDSL_CACHE"):
        return Path(folder)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gamedsl"


@lru_cache(maxsize=1)
def _grammar() -> Lark:
    text = Path(__file__).with_name("expr.lark").read_text(encoding="utf-8")
    cache: str | bool = False
    try:
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
        python = "".join(map(str, sys.version_info[:2]))
        cache = str(folder / f"expr-{python}.lark")
    except OSError:
        pass
    return Lark(
        text, parser="lalr", propagate_positions=True, maybe_placeholders=False, cache=cache
    )


def parse_expression(
    scalar: Scalar, problems: Problems, start: int = 0, end: int | None = None
) -> ast.Node | None:
    """Parse characters `start` to `end` of a scalar; None (and a diagnostic) if they are wrong."""
    if not isinstance(scalar.value, str):
        return _plain(scalar, problems)
    text = scalar.text[start:end]
    build = _Builder(scalar, start)
    if not text.strip():
        problems.add("GD0201", "an expression is missing here", build.span(0, len(text)))
        return None
    if len(text) > MAX_LENGTH or _depth(text) > MAX_DEPTH:
        problems.add(
            "GD0203",
            "this expression is too large",
            build.span(0, min(len(text), 40)),
            why=f"at most {MAX_LENGTH} characters, nested at most {MAX_DEPTH} deep",
            help="give parts of it names under `let`",
        )
        return None
    try:
        return build.node(_grammar().parse(text))
    except UnexpectedInput as error:
        _report(error, text, build, problems)
        return None


def expression_at(text: str, source: Source, span: Span, problems: Problems) -> ast.Node | None:
    """Parse a text that stands elsewhere than in a scalar, all of it placed at `span`."""
    return parse_expression(Scalar(text, text, span, ()), problems)


def _plain(scalar: Scalar, problems: Problems) -> ast.Node | None:
    """A YAML number, truth value or null where an expression may stand."""
    if scalar.value is None and scalar.text.strip() not in ("none",):
        problems.add(
            "GD0201",
            "an expression is missing here",
            scalar.span,
            help="to say that there is none, write `none`",
        )
        return None
    assert not isinstance(scalar.value, str)
    return ast.Literal(scalar.span, scalar.value)


def _depth(text: str) -> int:
    """A bound on how deep the parser's recursion can go: brackets plus runs of prefix operators."""
    depth = deepest = 0
    for character in text:
        if character in "([":
            depth += 1
            deepest = max(deepest, depth)
        elif character in ")]":
            depth -= 1
    prefixes = max(text.count("-"), text.count("not "), text.count("else"), text.count("**"))
    return max(deepest, prefixes)


def _report(error: UnexpectedInput, text: str, build: _Builder, problems: Problems) -> None:
    if isinstance(error, UnexpectedCharacters):
        at = error.pos_in_stream or 0
        character = text[at]
        problems.add(
            "GD0202",
            f"`{character}` has no meaning in an expression",
            build.span(at, at + 1),
            why="not expected here",
            help=_ALIEN.get(character, ""),
        )
        return
    if isinstance(error, UnexpectedEOF) or (
        isinstance(error, UnexpectedToken) and error.token.type == "$END"
    ):
        stripped = len(text.rstrip())
        opened = [i for i, c in enumerate(text) if c in "(["]
        unclosed = len(opened) > sum(c in ")]" for c in text)
        problems.add(
            "GD0201",
            "the expression ends too early",
            build.span(max(stripped - 1, 0), stripped),
            why=f"then {_expected(error)} is missing",
            help="close the bracket" if unclosed else _hint(text, ""),
        )
        return
    assert isinstance(error, UnexpectedToken)
    token = error.token
    at = token.start_pos or 0
    problems.add(
        "GD0201",
        f"`{token}` is not expected here",
        build.span(at, at + len(token)),
        why=f"{_expected(error)} was expected",
        help=_hint(text, str(token)),
    )


def _hint(text: str, token: str) -> str:
    if " if " in f" {text} " and " else " not in f" {text} ":
        return "a conditional needs both halves: `a if test else b`"
    if token in ("<", "<=", ">", ">=", "==", "!="):
        return "comparisons do not chain: write `a < b and b < c`"
    return ""


def _expected(error: UnexpectedInput) -> str:
    names = set(getattr(error, "accepts", None) or getattr(error, "expected", ()) or ())
    if "NAME" in names or "NUMBER" in names:
        return "a value"
    words = sorted({_TOKENS.get(n, f"`{n.lower()}`") for n in names if n != "$END"})
    if "`)`" in words:
        return "`)`"
    if "`]`" in words:
        return "`]`"
    if "`else`" in words:
        return "`else`"
    return "an operator" if {"`and`", "`if`"} & set(words) else " or ".join(words) or "the end"


class _Builder:
    """Turns a lark tree into nodes placed in the YAML source."""

    def __init__(self, scalar: Scalar, base: int) -> None:
        self.scalar = scalar
        self.base = base

    def span(self, start: int, end: int) -> Span:
        return self.scalar.locate(self.base + start, self.base + end)

    def node(self, tree: Any) -> ast.Node:
        meta = tree.meta
        span = self.span(meta.start_pos, meta.end_pos) if not meta.empty else self.scalar.span
        kind, children = tree.data, tree.children
        if kind in _LEAVES:
            return ast.Literal(span, _LEAVES[kind])
        match kind:
            case "number":
                text = str(children[0])
                return ast.Literal(span, Fraction(text) if "." in text else int(text))
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
            case "attribute":
                return ast.Attribute(span, self.node(children[0]), self.name(children[1]))
            case "index":
                of, *keys = map(self.node, children)
                return ast.Index(span, of, tuple(keys))
            case "call":
                return ast.Call(span, self.name(children[0]), self.arguments(children[1:]))
            case "tuple" | "list":
                return ast.Display(span, str(kind), tuple(map(self.node, children)))
        return ast.Operator(span, _OPERATORS[kind], tuple(map(self.node, children)))

    def name(self, token: Token) -> ast.Name:
        assert token.start_pos is not None
        assert token.end_pos is not None
        return ast.Name(self.span(token.start_pos, token.end_pos), str(token))

    def arguments(self, children: list[Any]) -> tuple[ast.Node, ...]:
        if not children:
            return ()
        tree: Tree[Token] = children[0]
        if tree.data == "arguments":
            return tuple(map(self.node, tree.children))
        if tree.data == "comprehension":
            return (self.comprehension(tree),)
        return (self.node(tree),)

    def comprehension(self, tree: Any) -> ast.Comprehension:
        item, generator = tree.children
        targets = tuple(self.name(c) for c in generator.children if isinstance(c, Token))
        source, *condition = [c for c in generator.children if isinstance(c, Tree)]
        span = self.span(tree.meta.start_pos, tree.meta.end_pos)
        return ast.Comprehension(
            span,
            self.node(item),
            targets,
            self.node(source),
            self.node(condition[0]) if condition else None,
        )


_LEAVES: dict[str, bool | None] = {"true": True, "false": False, "none": None}
_OPERATORS = {
    "either": "or", "both": "and", "negation": "not", "minus": "neg",
    "member": "in", "not_member": "not in", "range": "..",
}  # fmt: skip
