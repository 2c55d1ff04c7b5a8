"""The template language of prompt slots: a small, loop-bounded, call-free part of Jinja2.

A template is text from a file that its reader may not have written, so it can neither call, import
nor grow without bound: `gamedsl.prompting.template_syntax` admits only the node types, filters and
tests below, and `gamedsl.prompting.template_evaluation` counts what they do. That closed set also
makes the analysis of leaks exact: no name reaches a prompt but through an expression that a pass
can read. `SCOPE` is the one table of what a slot may name. Jinja2 is imported on first use; a game
without templates never loads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gamedsl.ir.game import GameIR, Template
from gamedsl.ir.program import Binding, Choose, walk_steps

if TYPE_CHECKING:
    from jinja2 import Environment


FILTERS = (
    "abs", "capitalize", "count", "first", "int", "join", "last", "length", "lower", "max", "min",
    "round", "string", "title", "trim", "upper",
)  # fmt: skip
"""The admitted filters. Only `join` can make a long text out of a short one."""

TESTS = ("defined", "divisibleby", "even", "in", "none", "number", "odd", "string", "undefined")

LOOP = ("index", "index0", "revindex", "first", "last", "length")

NODES = (
    "Template", "Output", "TemplateData", "Name", "Const", "For", "If", "Assign", "CondExpr",
    "Filter", "Keyword", "Test", "Compare", "Operand", "And", "Or", "Not", "Neg", "Pos", "Add",
    "Sub", "Mul", "Div", "FloorDiv", "Mod", "Concat", "Getattr", "Getitem", "List", "Tuple",
)  # fmt: skip

SLOTS = ("rules", "who", "ask", "seen", "view")


@dataclass(frozen=True, slots=True)
class Name:
    """A name that templates may use, in which slots, and what it stands for."""

    name: str
    slots: tuple[str, ...]
    about: str


SCOPE: tuple[Name, ...] = (
    Name("labels", SLOTS, "the label of each option, by its name: `labels.stag`"),
    Name("roles", SLOTS, "all roles as this game shows them, in order"),
    Name("me", ("who", "ask", "seen", "view"), "the role that reads the prompt"),
    Name("others", ("who", "ask", "seen", "view"), "the other roles, in order"),
    Name("other", ("who", "ask", "seen", "view"), "the other of two roles"),
    Name("options", ("ask",), "the labels to choose from, in the order drawn"),
    Name("seen", ("ask",), "what has been seen, in order; each has `actor`, `choice` and `step`"),
    Name("actor", ("seen",), "who chose"),
    Name("choice", ("seen",), "the label of what was chosen, or what was drawn, shown or said"),
    Name("view", ("view",), "what the view shows now, as text, by its titles: `view.board`"),
)
"""Besides these: params and role names in every slot, and in `ask` the variables chosen before;
whoever has a view is told neither these nor what has been `seen`."""


class Fields(str):
    """The text of a record that was shown, with the texts of its fields for templates."""

    parts: Mapping[str, str]

    def __new__(cls, text: str, parts: Mapping[str, str]) -> Fields:
        self = super().__new__(cls, text)
        self.parts = parts
        return self


def names_in(slot: str, ir: GameIR) -> frozenset[str]:
    """Returns the names of `SCOPE` that a slot may use in this game."""
    two = len(ir.seats) == 2
    return frozenset(
        row.name for row in SCOPE if slot in row.slots and (row.name != "other" or two)
    )


def variables_before(ir: GameIR, step: Choose) -> tuple[str, ...]:
    """Returns the variables that steps before this one bind."""
    found: list[str] = []
    for other in walk_steps(ir.turns):
        if other is step:
            break
        if isinstance(other, Binding):
            found.append(other.variable)
    return tuple(dict.fromkeys(found))


def template_for(ir: GameIR, slot: str, *keys: str) -> Template | None:
    """Returns the file's text for a slot: under the first of the keys that has one, else the slot's
    own."""
    found = {template.key: template for template in ir.templates if template.slot == slot}
    return next((found[key] for key in (*keys, "") if key in found), None)


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Returns Jinja's filters, tests and undefined values, in a sandbox: no globals, the filters
    and tests above, and no Python attribute within reach. A part of a value is an item of a map or
    a list; an undefined name is an error."""
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Sandbox(ImmutableSandboxedEnvironment):
        """No Python attribute is reachable: a part of a value is an item of a map or a list."""

        def getattr(self, obj: Any, attribute: str) -> Any:
            return self.getitem(obj, attribute)

        def getitem(self, obj: Any, argument: Any) -> Any:
            try:
                if isinstance(obj, Fields):
                    return obj.parts[argument]
                if isinstance(obj, dict | tuple | list):
                    return obj[argument]
            except (LookupError, TypeError):
                pass
            return self.undefined(obj=obj, name=argument)

    sandbox = Sandbox(undefined=StrictUndefined)
    sandbox.globals.clear()
    sandbox.filters = {name: sandbox.filters[name] for name in FILTERS}
    sandbox.filters |= {"string": as_prompt_text}
    sandbox.tests = {name: test for name, test in sandbox.tests.items() if name in TESTS}
    return sandbox


def as_prompt_text(value: Any) -> Any:
    """Returns how a value reads in a prompt: exact numbers, lists with commas. Raises TypeError for
    a map."""
    if isinstance(value, dict):
        raise TypeError("a map is no text: name a part of it")
    if isinstance(value, Fraction):
        return _number_text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ", ".join(str(as_prompt_text(item)) for item in value)
    return value


def _number_text(value: Fraction) -> str:
    """`3`, `0.25` or `1/3`: the decimal where it ends, else the fraction."""
    rest = value.denominator
    places = 0
    for prime in (2, 5):
        times = 0
        while rest % prime == 0:
            rest //= prime
            times += 1
        places = max(places, times)
    if rest != 1:
        return str(value)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return sign + (digits if places == 0 else f"{digits[:-places]}.{digits[-places:]}")
