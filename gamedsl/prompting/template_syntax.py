"""Templates as data: which names a text mentions, where, and what in it is not allowed.

Jinja's parser is asked once and its objects go no further than this module. Jinja's nodes know
lines only; here a token filter (a public extension point) replaces each token's line number by its
offset, so that every finding has an exact place in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING, Any

from gamedsl.diagnostics.spans import Span
from gamedsl.frontend.source.nodes import Scalar
from gamedsl.frontend.source.scalars import MAX_DIGITS
from gamedsl.ir.game import Template
from gamedsl.prompting.templates import FILTERS, LOOP, NODES, TESTS

if TYPE_CHECKING:
    from jinja2 import Environment, nodes

MAX_CHARACTERS = 10_000

MAX_NESTING = 64
"""Nodes of a template inside each other, as in `(((1 + a) + b) + c)`."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A free name in an expression; `attribute` is what is read of it (`labels.stag`), if anything.

    `start` is the offset of the name, `at` that of the attribute, `end` where the whole ends.
    """

    name: str
    start: int
    end: int
    attribute: str | None = None
    at: int = 0


@dataclass(frozen=True, slots=True)
class Refused:
    """A construct outside the template language: what it is, where, and what to do instead."""

    what: str
    start: int
    length: int
    help: str = ""


@dataclass(frozen=True, slots=True)
class Broken:
    """Text that is no template: Jinja's reason and the offset at which it gave up."""

    reason: str
    start: int


@dataclass
class Parsed:
    """One template as passes read it."""

    mentions: list[Mention] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    texts: list[tuple[int, str]] = field(default_factory=list)
    """Literal text and string constants, with their offsets."""
    body: list[Any] = field(default_factory=list)
    """Jinja's nodes, whose line numbers are offsets; none of a template that is refused."""


@lru_cache(maxsize=512)
def parse(text: str) -> Parsed | Broken:
    """Read a template; never raises, whatever the text. The result is shared: do not change it."""
    from jinja2 import TemplateSyntaxError

    if len(text) > MAX_CHARACTERS:
        limit = f"it has {len(text)} characters, the most is {MAX_CHARACTERS}"
        return Parsed(refused=[Refused(limit, 0, 1)])
    text = text.replace("\r", "\n")  # as Jinja reads it, but each character keeps its place
    offsets = _offsets(text)
    if isinstance(offsets, Broken):
        return offsets
    if isinstance(offsets, Refused):
        return Parsed(refused=[offsets])
    try:
        tree = _reader(offsets).parse(text)
    except TemplateSyntaxError as error:
        place = min(error.lineno, max(len(text) - 1, 0))
        return Broken(_reason(error.message or "not a template"), place)
    except RecursionError:
        return Parsed(refused=[_nested(0)])
    deepest = _too_deep(tree)
    if deepest is not None:
        return Parsed(refused=[_nested(deepest)])
    walk = _TemplateChecker(text)
    walk.visit(tree, frozenset(), 0)
    walk.found.body = [] if walk.found.refused else tree.body
    return walk.found


def _nested(start: int) -> Refused:
    help = "compute it in fewer steps, or as a param"
    return Refused(f"what is nested more than {MAX_NESTING} deep", start, 1, help)


def _too_deep(tree: nodes.Node) -> int | None:
    """Returns the offset of a node inside more than `MAX_NESTING` others, or None."""
    level = [tree]
    for _ in range(MAX_NESTING):
        level = [child for node in level for child in node.iter_child_nodes()]
        if not level:
            return None
    return level[0].lineno


def _offsets(text: str) -> tuple[int, ...] | Broken | Refused:
    """The offset of every token that reaches the parser; or where there is no token, or a number
    that is too large."""
    from jinja2 import TemplateSyntaxError

    found = []
    at = 0
    try:
        for _, kind, value in _plain().lex(text):
            start = max(text.find(value, at), at)
            at = start + len(value)
            if kind in ("integer", "float") and not _is_small(value):
                help = f"a number has at most {MAX_DIGITS} digits"
                return Refused("a number that is too large", start, len(value), help)
            if kind not in _DROPPED:
                found.append(start)
    except TemplateSyntaxError as error:
        reason = (error.message or "not a template").partition(" at ")[0]
        return Broken(reason, min(at, max(len(text) - 1, 0)))
    return tuple(found)


def _is_small(number: str) -> bool:
    """Whether a number as it is written has few digits, and is finite as a float."""
    if len(number) > MAX_DIGITS:
        return False
    return (
        not any(letter in ".eE" for letter in number)
        or number[:2] in ("0x", "0X")
        or isfinite(float(number))
    )


_DROPPED = frozenset(
    (
        "whitespace", "comment_begin", "comment", "comment_end", "linecomment_begin", "linecomment",
        "linecomment_end", "raw_begin", "raw_end",
    )
)  # fmt: skip


@lru_cache(maxsize=1)
def _plain() -> Environment:
    from jinja2 import Environment

    return Environment(trim_blocks=True, lstrip_blocks=True)


def _reader(offsets: tuple[int, ...]) -> Environment:
    """An environment whose parser sees offsets for line numbers."""
    from jinja2 import Environment
    from jinja2.ext import Extension
    from jinja2.lexer import Token, TokenStream

    class Offsets(Extension):
        def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
            places = iter(offsets)
            for token in stream:
                yield Token(next(places, token.lineno), token.type, token.value)

    return Environment(trim_blocks=True, lstrip_blocks=True, extensions=[Offsets])


def _reason(message: str) -> str:
    """Jinja's message, shortened where it tells a story."""
    unclosed = re.search(r"needs to be closed is '(\w+)'", message)
    return f"`{unclosed[1]}` is not closed by `end{unclosed[1]}`" if unclosed else message


def locate(template: Template, start: int, end: int) -> Span:
    """The place in the file of characters `start` to `end` of a template's text."""
    scalar = Scalar(template.text, template.text, template.span, template.offsets)
    return scalar.locate(start, end)


class _TemplateChecker:
    """One walk over a template's tree: scopes of local names, mentions, refusals, literal texts."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.found = Parsed()

    def visit(self, node: nodes.Node, bound: frozenset[str], loops: int) -> frozenset[str]:
        """Looks at a node where the names in `bound` are local; returns those bound after it."""
        kind = type(node).__name__
        if kind not in NODES:
            self.refuse(_REFUSED.get(kind, f"`{kind.lower()}`"), node.lineno)
            return bound
        handler = getattr(self, f"_{kind.lower()}", None)
        if handler is not None:
            after: frozenset[str] = handler(node, bound, loops)
            return after
        for child in node.iter_child_nodes():
            bound = self.visit(child, bound, loops)
        return bound

    def refuse(self, what: str, start: int, length: int = 0, help: str = "") -> None:
        self.found.refused.append(Refused(what, start, length or self._word(start), help))

    def _word(self, start: int) -> int:
        """The length of the word that begins at an offset, at least 1."""
        end = start
        while end < len(self.text) and (self.text[end].isalnum() or self.text[end] == "_"):
            end += 1
        return max(end - start, 1)

    def _templatedata(self, node: Any, bound: frozenset[str], loops: int) -> frozenset[str]:
        self.found.texts.append((max(self.text.find(node.data, node.lineno), 0), node.data))
        return bound

    def _const(self, node: Any, bound: frozenset[str], loops: int) -> frozenset[str]:
        if isinstance(node.value, str):
            self.found.texts.append((node.lineno + 1, node.value))
        return bound

    def _name(self, node: Any, bound: frozenset[str], loops: int) -> frozenset[str]:
        if node.name not in bound:
            start = node.lineno
            self.found.mentions.append(Mention(node.name, start, start + len(node.name)))
        return bound

    def _getattr(self, node: Any, bound: frozenset[str], loops: int) -> frozenset[str]:
        at = self.text.find(node.attr, node.lineno)
        return self._part(node, node.attr, at, at + len(node.attr), bound, loops)

    def _getitem(self, node: Any, bound: frozenset[str], loops: int) -> frozenset[str]:
        key = node.arg
        if type(key).__name__ == "Const" and isinstance(key.value, str):
            at = key.lineno + 1
            end = self.text.find("]", at + len(key.value)) + 1
            return self._part(node, key.value, at, end, bound, loops)
        self.visit(node.node, bound, loops)
        self.visit(key, bound, loops)
        return bound

    def _part(
        self, node: Any, part: str, at: int, end: int, bound: frozenset[str], loops: int
    ) -> frozenset[str]:
        of = node.node
        if type(of).__name__ != "Name":
            return self.visit(of, bound, loops)
        if of.name not in bound:
            self.found.mentions.append(Mention(of.name, of.lineno, end, part, at))
        elif of.name == "loop" and part not in LOOP:
            self.refuse(f"`loop.{part}`", at, help=f"`loop` has {', '.join(LOOP)}")
        return bound

    def _filter(self, node: Any, bound: frozenset[str], loops: int) -> frozenset[str]:
        if node.name not in FILTERS:
            self.refuse(f"the filter `{node.name}`", node.lineno, help=_choices(node.name, FILTERS))
        for child in node.iter_child_nodes():
            self.visit(child, bound, loops)
        return bound

    def _test(self, node: Any, bound: frozenset[str], loops: int) -> frozenset[str]:
        if node.name not in TESTS:
            start = max(self.text.find(node.name, node.lineno), node.lineno)
            self.refuse(f"the test `{node.name}`", start, help=_choices(node.name, TESTS))
        for child in node.iter_child_nodes():
            self.visit(child, bound, loops)
        return bound

    def _assign(self, node: Any, bound: frozenset[str], loops: int) -> frozenset[str]:
        grown = [n for n in node.node.find_all(_nodes().Name) if n.name in bound]
        if type(node.node).__name__ == "Name":
            grown += [node.node] if node.node.name in bound else []
        if grown:
            self.refuse(
                f"`set` from `{grown[0].name}`, which was set before", grown[0].lineno,
                help="write the whole expression in one `set`",
            )  # fmt: skip
        self.visit(node.node, bound, loops)
        return bound | _targets(node.target)

    def _for(self, node: Any, bound: frozenset[str], loops: int) -> frozenset[str]:
        if loops:
            self.refuse("a loop in a loop", node.lineno)
        self.visit(node.iter, bound, loops)
        inner = bound | _targets(node.target) | {"loop"}
        if node.test is not None:
            self.visit(node.test, inner, loops)
        for part in node.body:
            inner = self.visit(part, inner, loops + 1)
        for part in node.else_:
            bound = self.visit(part, bound, loops)
        return bound


_REFUSED = {
    "Pow": "`**`",
    "Call": "a call",
    "CallBlock": "`call`",
    "FilterBlock": "a `filter` block",
    "AssignBlock": "a `set` block",
    "NSRef": "a namespace",
    "FromImport": "`import`",
    "ScopedEvalContextModifier": "`autoescape`",
}
"""Names of refused nodes, where the name of the class does not say it."""


def _targets(node: Any) -> frozenset[str]:
    names = [node] if type(node).__name__ == "Name" else list(node.find_all(_nodes().Name))
    return frozenset(name.name for name in names)


def _choices(word: str, known: tuple[str, ...]) -> str:
    from gamedsl.diagnostics.suggest import did_you_mean

    guess = did_you_mean(word, known)
    return f"did you mean `{guess}`?" if guess else f"one of {', '.join(known)}"


def _nodes() -> Any:
    from jinja2 import nodes

    return nodes
