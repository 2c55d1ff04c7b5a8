"""Templates evaluated within bounds: from a text and values to a prompt's part.

Jinja2 reads a template, and a walk over its tree evaluates it, with Jinja's meaning of each node.
No Python code is generated, and nothing is worked out before it is wanted. Each node, each pass of
a loop and each item that a filter or a comparison reads is a step; so are `CHARACTERS_A_STEP`
characters that are read or made. The size of a text is known before the text is made. Bounds are
counts, never times, so every machine stops at the same place.

Only what `gamedsl.prompting.template_syntax` admits is evaluated: `compiled` gives the remembered
fault of any other text.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from math import isfinite
from typing import Any, NoReturn

from gamedsl.ir.builtins_base import MAX_BITS, MAX_DIGITS
from gamedsl.prompting.template_syntax import Broken, parse
from gamedsl.prompting.templates import LOOP, Items, as_prompt_text, environment

MAX_STEPS = 200_000
"""Steps of one rendering of one template."""

MAX_TEXT = 10_000_000
"""Characters of what one template writes, and of any text that it makes on the way: ten times the
longest reply (`gamedsl.prompting.json_values.LONGEST`)."""

CHARACTERS_A_STEP = 64

ALL_STEPS = 5_000_000
"""Steps of all renderings together while a game is checked."""

ALL_TEXT = 100_000_000
"""Characters of all that templates write while a game is checked."""

_TOO_MUCH = "shorten the loop, or write fewer and smaller texts in it"


class TemplateFault(Exception):
    """A template that has no text here. `start` and `end` are its offsets in the template; `bound`
    says that it fails for the work that it takes or the size of what it makes, and `refused` that
    it was never evaluated."""

    def __init__(
        self, reason: str, start: int = 0, end: int = 0, *, help: str = "", bound: bool = False,
        refused: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(reason)
        self.reason, self.start, self.end, self.help = reason, start, end, help
        self.bound, self.refused = bound, refused


class RenderingBudget:
    """The steps and characters that all renderings of a game may take while it is checked.
    A template that failed at a bound is not rendered again."""

    def __init__(self, steps: int = ALL_STEPS, text: int = ALL_TEXT) -> None:
        self.steps, self.text = steps, text
        self.limits = steps, text
        self.faults: dict[str, TemplateFault] = {}
        """Faults at a bound, by the template's text."""

    def spend(self, steps: int, text: int) -> None:
        self.steps -= steps
        self.text -= text

    @property
    def spent(self) -> bool:
        return self.steps < 0 or self.text < 0


class CompiledTemplate:
    """A template ready to render, or the fault for which it never is."""

    def __init__(self, text: str) -> None:
        parsed = parse(text)
        self._text = text
        self._fault: TemplateFault | None = None
        self._body: list[Any] = []
        if isinstance(parsed, Broken):
            self._fault = TemplateFault(parsed.reason, parsed.start, refused=True)
        elif parsed.refused:
            first = parsed.refused[0]
            self._fault = TemplateFault(
                f"{first.what} is not allowed in a template", first.start,
                first.start + first.length, help=first.help, refused=True,
            )  # fmt: skip
        else:
            self._body = parsed.body

    def render(self, names: Mapping[str, Any], budget: RenderingBudget | None = None) -> str:
        """Returns the text for the values of its names. Raises `TemplateFault`."""
        if self._fault is not None:
            raise self._fault
        if budget is not None:
            self._refuse_spent(budget)
        from jinja2 import TemplateError

        run = Evaluation(names)
        try:
            return run.rendered(self._body)
        except TemplateFault as fault:
            placed = self._placed(fault, run.at)
            if budget is not None:
                budget.faults[self._text] = placed
            raise placed from None
        except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            reason = str(error) or type(error).__name__
            raise self._placed(TemplateFault(reason), run.at) from error
        finally:
            if budget is not None:
                budget.spend(MAX_STEPS - run.steps, run.written)

    def _refuse_spent(self, budget: RenderingBudget) -> None:
        """Raises the fault that this template had before, or the one of a budget that is spent."""
        if self._text in budget.faults:
            raise budget.faults[self._text]
        if budget.spent:
            steps, text = budget.limits
            raise TemplateFault(
                f"the templates of this game take more than {steps:,} steps together, or write "
                f"more than {text:,} characters, before all prompts are checked",
                help="write smaller templates, or check fewer histories: `--histories 100`",
                bound=True,
            )

    def _placed(self, fault: TemplateFault, start: int) -> TemplateFault:
        """Returns a fault with the place of an expression: up to the end of its braces."""
        ends = [at for mark in ("}}", "%}") if (at := self._text.find(mark, start)) >= 0]
        end = start + len(self._text[start : min(ends, default=len(self._text))].rstrip())
        return TemplateFault(
            fault.reason, start, max(end, start + 1), help=fault.help, bound=fault.bound
        )


@lru_cache(maxsize=512)
def compiled(text: str) -> CompiledTemplate:
    """Returns a template ready to render, whose faults are remembered with it."""
    return CompiledTemplate(text)


class LoopPass:
    """The name `loop` in one pass of a loop."""

    __slots__ = ("_index", "_length")

    def __init__(self, index: int, length: int) -> None:
        self._index, self._length = index, length

    def part(self, name: str) -> Any:
        """Returns one of `gamedsl.prompting.templates.LOOP`."""
        match name:
            case "index":
                return self._index + 1
            case "index0":
                return self._index
            case "revindex":
                return self._length - self._index
            case "first":
                return self._index == 0
            case "last":
                return self._index + 1 == self._length
            case "length":
                return self._length
            case _:
                raise LookupError(name)


class Evaluation:
    """One rendering: its steps left, the characters written, and the values of names."""

    def __init__(self, names: Mapping[str, Any], steps: int = MAX_STEPS) -> None:
        self._environment = environment()
        self.steps = steps
        self.written = 0
        self.at = 0
        """The offset of the node that is evaluated."""
        self._names = names
        self._set: dict[str, Any] = {}
        """What `set` has bound outside loops."""
        self._inner: dict[str, Any] | None = None
        """What one pass of a loop binds."""
        self._out: list[str] = []

    # bounds

    def spend(self, steps: int) -> None:
        self.steps -= steps
        if self.steps < 0:
            self.refuse(f"it takes more than {MAX_STEPS:,} steps")

    def refuse(self, reason: str) -> NoReturn:
        raise TemplateFault(reason, help=_TOO_MUCH, bound=True)

    def check_length(self, characters: int) -> None:
        """Refuses a text of so many characters, before it is made."""
        if characters > MAX_TEXT:
            self.refuse(f"it makes a text of more than {MAX_TEXT:,} characters")
        self.spend(characters // CHARACTERS_A_STEP)

    def weigh(self, value: Any) -> None:
        """Spends the steps of reading a value through: one for each part and item."""
        waiting = [value]
        while waiting:
            part = waiting.pop()
            self.spend(1)
            if isinstance(part, str):
                self.spend(len(part) // CHARACTERS_A_STEP)
            elif isinstance(part, dict):
                self.spend(len(part))
                waiting += [*part, *part.values()]
            elif isinstance(part, list | tuple):
                self.spend(len(part))
                waiting += part

    def number(self, value: Any) -> Any:
        """Returns a number, if it is finite and not too large."""
        if isinstance(value, float):
            if not isfinite(value):
                self.refuse("a number that is not finite")
        elif isinstance(value, int | Fraction) and (
            max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS
        ):
            self.refuse(f"a number of more than {MAX_DIGITS:,} digits")
        return value

    # statements

    def rendered(self, body: Iterable[Any]) -> str:
        self._run(body)
        return "".join(self._out)

    def _run(self, body: Iterable[Any]) -> None:
        for node in body:
            self.at = node.lineno
            self.spend(1)
            match type(node).__name__:
                case "Output":
                    for part in node.nodes:
                        self._write(part)
                case "If":
                    self._run(self._branch(node))
                case "For":
                    self._loop(node)
                case "Assign":
                    value = self.value(node.node)
                    self._bind(
                        node.target, value, self._set if self._inner is None else self._inner
                    )
                case kind:
                    raise TypeError(f"`{kind}` is no statement of templates")

    def _write(self, node: Any) -> None:
        if type(node).__name__ == "TemplateData":
            text = node.data
        else:
            value = self.value(node)
            text = self.text(value)
        self.written += len(text)
        if self.written > MAX_TEXT:
            self.refuse(f"it writes more than {MAX_TEXT:,} characters")
        self.spend(1 + len(text) // CHARACTERS_A_STEP)
        self._out.append(text)

    def _branch(self, node: Any) -> Iterable[Any]:
        for branch in (node, *node.elif_):
            if self.value(branch.test):
                body: Iterable[Any] = branch.body
                return body
        other: Iterable[Any] = node.else_
        return other

    def _loop(self, node: Any) -> None:
        items = list(self._items(node))
        for index, item in enumerate(items):
            self.spend(1)
            self._inner = {}
            self._bind(node.target, item, self._inner)
            self._inner["loop"] = LoopPass(index, len(items))
            self._run(node.body)
        self._inner = None
        if not items:
            self._inner = {}
            self._run(node.else_)
            self._inner = None

    def _items(self, node: Any) -> Iterable[Any]:
        """Yields the items that a loop goes through, those that its condition admits."""
        found = _opened(self.value(node.iter))
        check_taken("a loop", found, ("list", "map", "text"))
        for item in found:
            self.at = node.lineno
            self.spend(1)
            if node.test is not None:
                self._inner = {}
                self._bind(node.target, item, self._inner)
                admitted = bool(self.value(node.test))
                self._inner = None
                if not admitted:
                    continue
            yield item

    def _bind(self, target: Any, value: Any, scope: dict[str, Any]) -> None:
        if type(target).__name__ == "Name":
            scope[target.name] = value
            return
        self.weigh(value)
        check_taken("a loop over pairs", value, ("list",))
        if len(value) != len(target.items):
            raise ValueError(f"{len(target.items)} names stand for {len(value)} values")
        for inner, part in zip(target.items, value, strict=True):
            self._bind(inner, part, scope)

    # expressions

    def value(self, node: Any) -> Any:
        """Returns the value of an expression."""
        self.at = node.lineno
        self.spend(1)
        return _VALUES[type(node).__name__](self, node)

    def _name(self, node: Any) -> Any:
        name = node.name
        for scope in (self._inner, self._set, self._names):
            if scope is not None and name in scope:
                return scope[name]
        return self._environment.undefined(name=name)

    def _constant(self, node: Any) -> Any:
        return node.value

    def _attribute(self, node: Any) -> Any:
        return self._part(node, self.value(node.node), node.attr)

    def _item(self, node: Any) -> Any:
        of = self.value(node.node)
        return self._part(node, of, self.value(node.arg))

    def _part(self, node: Any, of: Any, name: Any) -> Any:
        self.at = node.node.lineno
        if isinstance(of, LoopPass) and name in LOOP:
            return of.part(name)
        return self._environment.getitem(of, name)

    def _conditional(self, node: Any) -> Any:
        if self.value(node.test):
            return self.value(node.expr1)
        if node.expr2 is None:
            from jinja2 import Undefined

            return Undefined("the condition is false, and there is no `else`")  # no text, no items
        return self.value(node.expr2)

    def _and(self, node: Any) -> Any:
        return self.value(node.left) and self.value(node.right)

    def _or(self, node: Any) -> Any:
        return self.value(node.left) or self.value(node.right)

    def _not(self, node: Any) -> bool:
        return not self.value(node.node)

    def _sign(self, node: Any) -> Any:
        value = self.value(node.node)
        self.at = node.lineno
        return self.number(sign(type(node).__name__, value))

    def _arithmetic(self, node: Any) -> Any:
        left, right = self.value(node.left), self.value(node.right)
        self.at = node.lineno
        return self.number(arithmetic(type(node).__name__, left, right))

    def _concatenation(self, node: Any) -> str:
        parts = []
        for inner in node.nodes:
            value = self.value(inner)
            self.weigh(value)
            parts.append(str(value))
        self.at = node.lineno
        self.check_length(sum(map(len, parts)))
        return "".join(parts)

    def _comparison(self, node: Any) -> Any:
        left = self.value(node.expr)
        result: Any = True
        for operand in node.ops:
            right = self.value(operand.expr)
            self.at = node.lineno
            self.weigh(left)
            self.weigh(right)
            result = compared(operand.op, left, right)
            if not result:
                break
            left = right
        return result

    def _test(self, node: Any) -> bool:
        of, given, named = self._arguments(node)
        self.at = node.lineno
        return self.tested(node.name, of, given, named)

    def _filter(self, node: Any) -> Any:
        of, given, named = self._arguments(node)
        self.at = node.lineno
        return self.filtered(node.name, of, given, named)

    def _arguments(self, node: Any) -> tuple[Any, list[Any], dict[str, Any]]:
        of = self.value(node.node)
        given = [self.value(part) for part in node.args]
        named = {part.key: self.value(part.value) for part in node.kwargs}
        if node.dyn_args is not None:
            more = self.value(node.dyn_args)
            self.weigh(more)
            given += more
        if node.dyn_kwargs is not None:
            options = self.value(node.dyn_kwargs)
            self.weigh(options)
            named |= options
        return of, given, named

    def _listed(self, node: Any) -> list[Any]:
        return [self.value(part) for part in node.items]

    def _tuple(self, node: Any) -> tuple[Any, ...]:
        return tuple([self.value(part) for part in node.items])

    # operations on values, which bounds of templates share

    def text(self, value: Any) -> str:
        """Returns how a value reads in a prompt."""
        self.weigh(value)
        if isinstance(value, LoopPass):
            raise TypeError("`loop` is no text: name a part of it")
        return str(as_prompt_text(self.number(value)))

    def filtered(self, name: str, of: Any, given: list[Any], named: dict[str, Any]) -> Any:
        """Returns what a filter makes of a value."""
        of = _opened(of) if name in _OF_ITEMS else of
        self.weigh(given)
        self.weigh(named)
        if name not in ("first", "last", "length", "count"):  # these read no item, or one
            self.weigh(of)
        match name:
            case "join":
                return self._joined(of, *given, **named)
            case "round":
                self._check_places(*given, **named)
            case "trim":
                stripped = "".join(str(part) for part in (*given, *named.values()))
                self.spend(len(str(of)) * len(stripped) // CHARACTERS_A_STEP)
            case "min" | "max":
                options = (*given, *named.values())
                depth = sum(option.count(".") for option in options if isinstance(option, str))
                self.spend(len(of) * depth if depth else 0)
            case _:  # takes no more work than it reads
                pass
        try:
            result = self._environment.call_filter(name, of, given, named)
        except TypeError as error:
            check_taken(f"`{name}`", of, _TAKEN.get(name, ()))
            mixed = name in ("max", "min") and not (given or named)
            raise TypeError(
                f"`{name}` is for a list of numbers, or one of texts"
                if mixed
                else f"`{name}` cannot work with what it is given here"
            ) from error
        if isinstance(result, str):
            self.check_length(len(result))
        return self.number(result)

    def _joined(self, items: Any, between: Any = "") -> str:
        check_taken("`join`", items, ("list",))
        if not isinstance(between, str):
            raise TypeError("`join` puts a text between items")
        parts = [str(as_prompt_text(item)) for item in items]
        self.check_length(sum(map(len, parts)) + len(between) * max(len(parts) - 1, 0))
        return between.join(parts)

    def _check_places(self, precision: Any = 0, method: Any = "common") -> None:
        if not isinstance(precision, int) or abs(precision) > MAX_DIGITS:
            self.refuse(f"a number is rounded to at most {MAX_DIGITS:,} places")

    def tested(self, name: str, of: Any, given: list[Any], named: dict[str, Any]) -> bool:
        """Returns whether a value passes a test."""
        if name in ("even", "odd", "divisibleby"):
            for value in (of, *given, *named.values()):
                if not isinstance(value, int | float | Fraction):
                    raise TypeError(f"`{name}` is for numbers")
        elif name == "in":
            self.weigh([of, *given, *named.values()])
        return bool(self._environment.call_test(name, of, given, named))


def arithmetic(name: str, left: Any, right: Any) -> Any:
    """Returns the value of an operator, by the name of its node. Raises TypeError for what is no
    number, ZeroDivisionError."""
    symbol, operate = _OPERATORS[name]
    if not (_is_number(left) and _is_number(right)):
        for value in (left, right):
            str(value)  # a name that is not defined says so
        raise TypeError(f"`{symbol}` is for numbers (texts are joined by `~`)")
    if symbol in ("/", "//", "%") and right == 0:
        raise ZeroDivisionError("division by zero")
    return operate(left, right)


_OF_ITEMS = ("join", "first", "last", "length", "count")
"""The filters that take the items of a list which was shown; to others it is its text."""


def _opened(value: Any) -> Any:
    """Returns the items of a list that was shown, and any other value as it is."""
    return value.parts if isinstance(value, Items) else value


def kind_of(value: Any) -> str:
    """Returns what a value of a template is: one of the keys of `_KINDS`, or "value"."""
    for kind, types in _KINDS.items():
        if isinstance(value, types):
            return kind
    return "value"


def check_taken(what: str, value: Any, kinds: tuple[str, ...]) -> None:
    """Raises TypeError where an operation is not for values like this one, which failed; `kinds`
    are those that it takes, none for all. A name that is not defined says so."""
    if kinds and kind_of(value) not in kinds:
        str(value)
        taken = " and ".join(f"{kind}s" for kind in kinds)
        raise TypeError(f"{what} is for {taken}, and this is a {kind_of(value)}")


def compared(name: str, left: Any, right: Any) -> Any:
    """Returns the value of a comparison, by its name in the tree. Raises TypeError where the two
    cannot be compared."""
    try:
        return _COMPARISONS[name](left, right)
    except TypeError as error:
        if name in ("in", "notin"):
            check_taken("what stands behind `in`", right, ("list", "map", "text"))
            check_taken("`in` before a text", left, ("text",))
        raise TypeError(
            f"`{_ORDERS.get(name, 'in')}` compares two numbers or two texts, and these are a "
            f"{kind_of(left)} and a {kind_of(right)}"
        ) from error


def sign(name: str, value: Any) -> Any:
    """Returns the value of a sign, by the name of its node. Raises TypeError for no number."""
    try:
        return -value if name == "Neg" else +value
    except TypeError:
        check_taken("a sign", value, ("number",))
        raise


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Fraction) and not isinstance(value, bool)


_KINDS: dict[str, tuple[type, ...]] = {
    "truth value": (bool,), "number": (int, float, Fraction), "text": (str,),
    "list": (list, tuple), "map": (dict,),
}  # fmt: skip
"""The kinds of values that templates work with, each with its Python types, the first counts."""

_TAKEN: dict[str, tuple[str, ...]] = {
    "abs": ("number",), "round": ("number",),
    **dict.fromkeys(
        ("count", "first", "last", "length", "max", "min"), ("list", "text", "map")
    ),
}  # fmt: skip
"""The kinds of values that a filter takes; every other filter takes all."""

_ORDERS = {"lt": "<", "lteq": "<=", "gt": ">", "gteq": ">="}

_OPERATORS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "Add": ("+", operator.add),
    "Sub": ("-", operator.sub),
    "Mul": ("*", operator.mul),
    "Div": ("/", lambda left, right: Fraction(left) / Fraction(right)),
    "FloorDiv": ("//", operator.floordiv),
    "Mod": ("%", operator.mod),
}

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "lteq": operator.le,
    "gt": operator.gt, "gteq": operator.ge, "in": lambda left, right: left in right,
    "notin": lambda left, right: left not in right,
}  # fmt: skip

_VALUES: dict[str, Callable[[Evaluation, Any], Any]] = {
    "Name": Evaluation._name,
    "Const": Evaluation._constant,
    "TemplateData": lambda _, node: node.data,
    "Getattr": Evaluation._attribute,
    "Getitem": Evaluation._item,
    "CondExpr": Evaluation._conditional,
    "And": Evaluation._and,
    "Or": Evaluation._or,
    "Not": Evaluation._not,
    "Neg": Evaluation._sign,
    "Pos": Evaluation._sign,
    **dict.fromkeys(_OPERATORS, Evaluation._arithmetic),
    "Concat": Evaluation._concatenation,
    "Compare": Evaluation._comparison,
    "Test": Evaluation._test,
    "Filter": Evaluation._filter,
    "List": Evaluation._listed,
    "Tuple": Evaluation._tuple,
}
"""The method for each node of `gamedsl.prompting.templates.NODES` that is an expression."""
