"""Bounds on the length of a template's text, over all values of the names that it reads.

The template language has no calls and no loop without a list (`gamedsl.prompting.templates`), so a
walk over its tree bounds it: of two branches the longer counts, a loop's body as often as its list
has items. What is the same in all plays is worked out, within the bounds of one rendering; of what
only a play tells there is a bound. Arithmetic on the latter has none, nor what takes more work:
`UnboundedError` says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from gamedsl.analysis.value_lengths import Measure
from gamedsl.bounds.programs import UnboundedError
from gamedsl.prompting.template_evaluation import Evaluation, TemplateFault, arithmetic, sign
from gamedsl.prompting.template_syntax import Broken, parse

_CASES = 3
"""The factor by which a text of any script becomes longer in capitals, at most (Unicode)."""


@dataclass(frozen=True)
class Exactly:
    """A value that is the same in all plays."""

    value: Any


@dataclass(frozen=True)
class Text:
    """A text, or a number, of at most so many units."""

    most: int


@dataclass(frozen=True)
class ListOf:
    """A list of at most so many items, each like `item`."""

    item: Bound
    most: int


@dataclass(frozen=True)
class Parts:
    """A map of names to values."""

    of: Mapping[str, Bound]


Bound = Exactly | Text | ListOf | Parts

_TRUTH = Text(len("False"))
_ABSENT = Text(0)


def template_length(text: str, scope: Mapping[str, Bound], measure: Measure) -> int:
    """Returns a bound on the text of a template that compiles, whose free names are in `scope`."""
    parsed = parse(text)
    assert not isinstance(parsed, Broken), "templates were checked before"
    try:
        return _Walk(measure).body(parsed.body, dict(scope))
    except TemplateFault as fault:
        raise UnboundedError(f"a template takes too much work: {fault.reason}") from fault


class _Walk:
    def __init__(self, measure: Measure) -> None:
        self._measure = measure
        self._operations = Evaluation({})

    def body(self, nodes: Iterable[Any], scope: dict[str, Bound]) -> int:
        """Returns a bound on what nodes print. What they set is in `scope` afterwards."""
        return sum(self._printed(node, scope) for node in nodes)

    def _printed(self, node: Any, scope: dict[str, Bound]) -> int:
        self._operations.spend(1)
        match type(node).__name__:
            case "Output":
                return sum(self._printed(part, scope) for part in node.nodes)
            case "TemplateData":
                return self._measure(node.data)
            case "Assign":
                self._bind(node.target, self._value(node.node, scope), scope)
                return 0
            case "If":
                return self._branches(node, scope)
            case "For":
                return self._loop(node, scope)
            case _:  # an expression
                return self._width(self._value(node, scope))

    def _branches(self, node: Any, scope: dict[str, Bound]) -> int:
        bodies = (node.body, *(other.body for other in node.elif_), node.else_)
        scopes = [dict(scope) for _ in bodies]
        longest = max(self.body(*each) for each in zip(bodies, scopes, strict=True))
        for name in dict.fromkeys(name for after in scopes for name in after):
            scope[name] = self._either(after[name] for after in scopes if name in after)
        return longest

    def _loop(self, node: Any, scope: dict[str, Bound]) -> int:
        items, otherwise = self._value(node.iter, scope), self.body(node.else_, dict(scope))
        each: list[Bound]
        if isinstance(items, Exactly):
            each = [Exactly(item) for item in items.value]
        elif isinstance(items, ListOf):
            each = [items.item]
        else:
            raise UnboundedError("nothing says how often a loop of a template runs")
        count = items.most if isinstance(items, ListOf) else len(each)
        number = Text(len(str(count)))
        loop = {"first": _TRUTH, "last": _TRUTH, "index": number, "index0": number,
                "revindex": number, "length": number}  # fmt: skip
        printed = []
        for item in each:
            inner = {**scope, "loop": Parts(loop)}
            self._bind(node.target, item, inner)
            printed.append(self.body(node.body, inner))
        again = count if isinstance(items, ListOf) else 1
        return max(sum(printed) * again, otherwise)

    def _bind(self, target: Any, value: Bound, scope: dict[str, Bound]) -> None:
        if type(target).__name__ == "Name":
            scope[target.name] = value
            return
        for place, part in enumerate(target.items):
            self._bind(part, self._part(value, Exactly(place)), scope)

    # values

    def _value(self, node: Any, scope: dict[str, Bound]) -> Bound:
        self._operations.spend(1)
        match type(node).__name__:
            case "Const":
                return Exactly(node.value)
            case "Name":
                return scope.get(node.name, _ABSENT)
            case "Getattr":
                return self._part(self._value(node.node, scope), Exactly(node.attr))
            case "Getitem":
                return self._part(self._value(node.node, scope), self._value(node.arg, scope))
            case "Filter":
                return self._filtered(node, scope)
            case "Concat":
                return Text(sum(self._width(self._value(part, scope)) for part in node.nodes))
            case "CondExpr":
                return self._either(
                    _ABSENT if part is None else self._value(part, scope)
                    for part in (node.expr1, node.expr2)
                )
            case "And" | "Or":
                return self._either(self._value(part, scope) for part in (node.left, node.right))
            case "Compare" | "Test" | "Not":
                return _TRUTH
            case "List" | "Tuple":
                return self._listed([self._value(part, scope) for part in node.items])
            case _:  # worked out if it reads no play, else refused
                return self._computed(node, scope)

    def _computed(self, node: Any, scope: dict[str, Bound]) -> Bound:
        operands = [self._value(child, scope) for child in node.iter_child_nodes()]
        values = [each.value for each in operands if isinstance(each, Exactly)]
        if len(values) < len(operands):
            raise UnboundedError("a template computes with what only a play tells")
        name = type(node).__name__
        try:
            found = sign(name, *values) if len(values) == 1 else arithmetic(name, *values)
        except (ArithmeticError, TypeError):
            return _ABSENT
        return Exactly(self._operations.number(found))

    def _part(self, of: Bound, key: Bound) -> Bound:
        match of, key:
            case Exactly(value=value), Exactly(value=place):
                try:
                    return Exactly(value[place]) if not isinstance(value, str) else _ABSENT
                except (LookupError, TypeError):
                    return _ABSENT
            case Exactly(value=dict() as value), _:
                return self._either(Exactly(part) for part in value.values())
            case Exactly(value=list() | tuple() as value), _:
                return self._either(Exactly(part) for part in value)
            case Parts(of=parts), Exactly(value=str() as name):
                return parts.get(name, _ABSENT)
            case Parts(of=parts), _:
                return self._either(parts.values())
            case ListOf(item=item), _:
                return item
            case _:  # a part of a text is no longer than the text
                return of

    def _filtered(self, node: Any, scope: dict[str, Bound]) -> Bound:
        of = self._value(node.node, scope)
        given = [self._value(part, scope) for part in node.args]
        named = {part.key: self._value(part.value, scope) for part in node.kwargs}
        if all(isinstance(each, Exactly) for each in (of, *given, *named.values())):
            return self._exactly(node.name, of, given, named)
        match node.name:
            case "string" | "trim" | "lower" | "capitalize" | "title" | "upper":
                return Text(_CASES * self._width(of))
            case "first" | "last" | "min" | "max":
                return self._part(of, Text(1))
            case "length" | "count":
                return Text(len(str(of.most)) if isinstance(of, ListOf | Text) else 1)
            case "join":
                between = self._width(given[0]) if given else 0
                between = max([between, *(self._width(each) for each in named.values())])
                if isinstance(of, ListOf):
                    return Text(of.most * (self._width(of.item) + between))
                if isinstance(of, Text):  # of a list that was shown: each item has a character
                    return Text(of.most * (1 + between))
                if isinstance(of, Exactly) and isinstance(of.value, list | tuple):
                    widths = [self._width(Exactly(item)) for item in of.value]
                    return Text(sum(widths) + len(widths) * between)
            case _:  # nothing is known of other filters
                pass
        raise UnboundedError(f"`{node.name}` is used of what only a play tells")

    def _exactly(self, name: str, of: Bound, given: list[Bound], named: dict[str, Bound]) -> Bound:
        """A filter of what is the same in all plays; where it fails, nothing is printed."""
        assert isinstance(of, Exactly)
        arguments = [each.value for each in given if isinstance(each, Exactly)]
        options = {key: each.value for key, each in named.items() if isinstance(each, Exactly)}
        from jinja2 import TemplateError

        try:
            return Exactly(self._operations.filtered(name, of.value, arguments, options))
        except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError):
            return _ABSENT

    def _listed(self, items: list[Bound]) -> Bound:
        if all(isinstance(item, Exactly) for item in items):
            return Exactly(tuple(item.value for item in items if isinstance(item, Exactly)))
        return ListOf(self._either(items), len(items))

    def _either(self, values: Iterable[Bound]) -> Bound:
        """Returns a bound that holds for each of several values."""
        given = list(values)
        if not given:
            return _ABSENT
        if all(value == given[0] for value in given):
            return given[0]
        lists = [self._as_list(value) for value in given]
        known = [each for each in lists if each is not None]
        if len(known) == len(lists):
            return ListOf(
                self._either(each.item for each in known), max(each.most for each in known)
            )
        return Text(max(map(self._width, given)))

    def _as_list(self, value: Bound) -> ListOf | None:
        if isinstance(value, Exactly) and isinstance(value.value, list | tuple):
            items = [Exactly(item) for item in value.value]
            return ListOf(self._either(items), len(items))
        return value if isinstance(value, ListOf) else None

    def _width(self, value: Bound) -> int:
        """Returns a bound on what is printed of a value."""
        match value:
            case Text(most=most):
                return most
            case ListOf(item=item, most=most):
                return most * (self._width(item) + len(", "))
            case Parts():
                return 0  # a map is no text: printing it fails
            case Exactly(value=known):
                try:
                    return self._measure(self._operations.text(known))
                except TypeError:
                    return 0
            case _:
                assert_never(value)
