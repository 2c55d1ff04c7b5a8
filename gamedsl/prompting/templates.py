"""The template language of prompt slots: a small, loop-bounded, call-free part of Jinja2.

A template is text from a file that its reader may not have written, so it can neither call, import
nor grow without bound: `gamedsl.prompting.template_syntax` admits only the node types, filters and
tests below, and `gamedsl.prompting.template_evaluation` counts what they do. That closed set also
makes the analysis of leaks exact: no name reaches a prompt but through an expression that a pass
can read. `SCOPE` is the one table of what a slot may name. Jinja2 is imported on first use; a game
without templates never loads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from gamedsl.ir.game import GameIR, Template
from gamedsl.ir.program import Binding, Choose, Loop, walk_steps
from gamedsl.ir.types import (
    Enum,
    List,
    Option,
    PerSeat,
    PerValue,
    Record,
    Seat,
    Tuple,
    Type,
    Union,
)
from gamedsl.ir.values import name_of
from gamedsl.tables.model import Table, text_columns

if TYPE_CHECKING:
    from jinja2 import Environment


FILTERS = (
    "abs", "capitalize", "count", "first", "int", "join", "last", "length", "lower", "max", "min",
    "round", "string", "title", "trim", "upper",
)  # fmt: skip
"""The admitted filters. Only `join` can make a long text out of a short one."""

TESTS = (
    "defined", "divisibleby", "even", "in", "none", "number", "odd", "string", "text", "undefined",
)  # fmt: skip

LOOP = ("index", "index0", "revindex", "first", "last", "length")

NODES = (
    "Template", "Output", "TemplateData", "Name", "Const", "For", "If", "Assign", "CondExpr",
    "Filter", "Keyword", "Test", "Compare", "Operand", "And", "Or", "Not", "Neg", "Pos", "Add",
    "Sub", "Mul", "Div", "FloorDiv", "Mod", "Concat", "Getattr", "Getitem", "List", "Tuple",
)  # fmt: skip

SLOTS = ("rules", "who", "ask", "seen", "view")


Kind = Literal["word", "param", "constant", "role", "variable", "count"]
"""The origin of a name: this table, the params, the types and lets of constants, the seats, the
steps before the question, or the loops around it."""


@dataclass(frozen=True, slots=True)
class Name:
    """A name that templates may use, in which slots, what it stands for, and an example. A row of
    another kind than "word" stands for all names of that kind."""

    name: str
    slots: tuple[str, ...]
    about: str
    example: str
    kind: Kind = "word"


_TO_A_SEAT = ("who", "ask", "seen", "view")

SCOPE: tuple[Name, ...] = (
    Name(
        "labels", SLOTS, "the label of each option, by the option's name",
        "{{ labels.stag }} or {{ labels.hare }}",
    ),
    Name("roles", SLOTS, "all roles as this game shows them, in order", "{{ roles | join(', ') }}"),
    Name("me", _TO_A_SEAT, "the role that reads the prompt", "You are {{ me }}."),
    Name("others", _TO_A_SEAT, "the other roles, in order", "{{ others | join(' and ') }}"),
    Name("other", _TO_A_SEAT, "the other role, in a game of two", "You face {{ other }}."),
    Name(
        "options", ("ask",), "the labels to choose from, in the order drawn",
        "{{ options | join(', ') }}",
    ),
    Name(
        "seen", ("ask",), "what has been seen, in order; each has `actor`, `choice` and `step`",
        "{% for event in seen %}{{ event.actor }}: {{ event.choice }}. {% endfor %}",
    ),
    Name("actor", ("seen",), "who chose, or whom it is for; empty for nobody", "By {{ actor }}."),
    Name(
        "choice", ("seen",), "the label of what was chosen, or what was drawn, shown or said; "
        "of a record also a field, `choice.price`; of one by role the reader's own, `choice.me`; "
        "`choice is none` where no valid reply came",
        "It was {{ choice }}.",
    ),
    Name(
        "view", ("view",), "what the view shows now, as text, by its titles",
        "{{ view.pot }}",
    ),
    Name(
        "a param", SLOTS, "its value, names by their labels; of a map also an entry",
        "{{ price.plus }}", "param",
    ),
    Name(
        "a type, or a `let` of constants", SLOTS, "the values of the type in order, or the list "
        "or map, names by their labels", "{{ Town | join(', ') }}", "constant",
    ),
    Name("a role", SLOTS, "this role as the game shows it", "{{ left }}", "role"),
    Name(
        "a variable", ("ask",), "what was bound before and is seen by who is asked; of several who "
        "chose at once one, `call.left`; of a record also a field", "You called {{ call }}.",
        "variable",
    ),
    Name(
        "a count", ("ask",), "the number of the pass of a loop around the step, its `count`",
        "Round {{ round }}.", "count",
    ),
)  # fmt: skip
"""All that templates may name. Whoever has a view is told neither variables nor what has been
`seen`."""


def word_table() -> Table:
    """Returns the names that templates may use as a table, for the reference and for `explain`."""
    rows = [
        (
            f"`{row.name}`" if row.kind == "word" else row.name,
            ", ".join(f"`{slot}`" for slot in row.slots), row.about, f"`{row.example}`",
        )
        for row in SCOPE
    ]  # fmt: skip
    return Table(text_columns("name", "slots", "stands for", "example"), rows)


def construct_table() -> Table:
    """Returns the filters, tests and parts of `loop` that templates may use as a table."""
    rows = [
        ("a filter", "`{{ options | join(', ') }}`", FILTERS),
        ("a test", "`{% if offer is defined %}`", TESTS),
        ("a part of `loop`", "`{{ loop.index }}`", LOOP),
    ]
    found = [(head, ", ".join(f"`{one}`" for one in names), use) for head, use, names in rows]
    return Table(text_columns("construct", "one of", "example"), found)


class Fields(str):
    """The text of a record that was shown, with the texts of its fields for templates."""

    parts: Mapping[str, str | None]

    def __new__(cls, text: str, parts: Mapping[str, str | None]) -> Fields:
        self = super().__new__(cls, text)
        self.parts = parts
        return self


class Skipped(str):
    """The text of a choice or reply that was not made, since what its author replied was not valid:
    templates write it, and take it for none."""


class Named(str):
    """The label of a value. In maps it finds the entry of that value."""

    name: str

    def __new__(cls, label: str, name: str) -> Named:
        self = super().__new__(cls, label)
        self.name = name
        return self


class Entries(dict[Any, Any]):
    """A map of constants, whose keys are gone through by their labels. An entry is found by the
    name of its key, as a template writes it, or by its label, where a template goes through it."""

    def __init__(self, values: Mapping[Any, Any], label: Callable[[str], str]) -> None:
        super().__init__(values)
        self._keys = [Named(label(key), key) if isinstance(key, str) else key for key in values]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._keys)

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(key.name if isinstance(key, Named) else key)

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key.name if isinstance(key, Named) else key)


def constants(ir: GameIR, label: Callable[[str], str]) -> dict[str, Any]:
    """Returns the params, types and lets of constants of a game as its templates show them; `label`
    gives the label of an option, or the name of a role, in prompts, and any other name as it is."""
    return {
        param.name: _with_labels(param.value, param.type, label)
        for param in (*ir.constants, *ir.params)
    }


def _with_labels(value: Any, type: Type, label: Callable[[str], str]) -> Any:
    """Returns a constant with the labels of the names in it."""
    match type, value:
        case Enum() | Seat() | Union(), str():
            return Named(label(value), value)
        case Record(), tuple():
            return Named(label(name_of(value)), name_of(value))
        case Option(of=of), _:
            return _with_labels(value, of, label)
        case List(of=of), tuple():
            return tuple(_with_labels(item, of, label) for item in value)
        case Tuple(of=parts), tuple():
            return tuple(_with_labels(v, t, label) for v, t in zip(value, parts, strict=True))
        case ((PerValue(of=of) | PerSeat(of=of)), dict()):
            return Entries({key: _with_labels(v, of, label) for key, v in value.items()}, label)
        case _:  # numbers, truth values, texts and none
            return value


class Items(str):
    """The text of a list, set or tuple that was shown, with the texts of its items for templates,
    which may name one, join them, or go through them."""

    parts: tuple[str, ...]

    def __new__(cls, text: str, parts: tuple[str, ...]) -> Items:
        self = super().__new__(cls, text)
        self.parts = parts
        return self


def names_in(slot: str, ir: GameIR) -> dict[str, Kind]:
    """Returns the names that a slot may use in this game, each with its kind: a variable wherever
    some step binds it."""
    of_kind: dict[Kind, Iterable[str]] = {
        "param": (param.name for param in ir.params),
        "constant": (constant.name for constant in ir.constants),
        "role": ir.everyone,
        "count": (s.count for s in walk_steps(ir.turns) if isinstance(s, Loop) and s.count),
        "variable": (s.variable for s in walk_steps(ir.turns) if isinstance(s, Binding)),
    }
    found: dict[str, Kind] = {}
    for row in SCOPE:
        if slot in row.slots and (row.name != "other" or len(ir.seats) == 2):
            for name in (row.name,) if row.kind == "word" else of_kind[row.kind]:
                found.setdefault(name, row.kind)
    return found


def slots_of(name: str, kind: Kind = "word") -> tuple[str, ...]:
    """Returns the slots in which a name of a kind has a meaning; none where there is no such
    word."""
    rows = (row for row in SCOPE if row.kind == kind and (kind != "word" or row.name == name))
    return next((row.slots for row in rows), ())


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
    own. Texts for one reader alone are left out."""
    found = {t.key: t for t in ir.templates if t.slot == slot and t.reader is None}
    return next((found[key] for key in (*keys, "") if key in found), None)


def event_template(ir: GameIR, step: Binding, seat: str) -> Template | None:
    """Returns the file's text by which a seat is told what a step binds: of the texts under the
    step, else its variable, the one for this seat, its role, or all."""
    found = {(t.key, t.reader): t for t in ir.templates if t.slot == "seen"}
    readers = (seat, ir.role_of[seat], None)
    keys = ((key, reader) for key in (step.id, step.variable, "") for reader in readers)
    return next((found[key] for key in keys if key in found), None)


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Returns Jinja's filters, tests and undefined values, in a sandbox: no globals, the filters
    and tests above, and no Python attribute within reach. A part of a value is an item of a map or
    a list; an undefined name is an error."""
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment
    from jinja2.utils import missing

    class NoPart(StrictUndefined):
        """A part that is not there, in the words of templates."""

        @property
        def _undefined_message(self) -> str:
            if self._undefined_hint or isinstance(self._undefined_obj, type(missing)):
                return str(super()._undefined_message)
            return f"there is no `{self._undefined_name}` in it"

    class Sandbox(ImmutableSandboxedEnvironment):
        """No Python attribute is reachable: a part of a value is an item of a map or a list."""

        def getattr(self, obj: Any, attribute: str) -> Any:
            return self.getitem(obj, attribute)

        def getitem(self, obj: Any, argument: Any) -> Any:
            try:
                if isinstance(obj, Fields | Items):
                    return obj.parts[argument]
                if isinstance(obj, dict | tuple | list):
                    return obj[argument]
            except (LookupError, TypeError):
                pass
            return self.undefined(obj=obj, name=argument)

    sandbox = Sandbox(undefined=NoPart)
    sandbox.globals.clear()
    sandbox.filters = {name: sandbox.filters[name] for name in FILTERS}
    sandbox.filters |= {"string": as_prompt_text}
    sandbox.tests = {name: test for name, test in sandbox.tests.items() if name in TESTS}
    sandbox.tests |= {"none": lambda value: value is None or isinstance(value, Skipped)}
    sandbox.tests |= {"text": lambda value: not isinstance(value, Fields | Skipped)}
    return sandbox


def as_prompt_text(value: Any) -> Any:
    """Returns how a value reads in a prompt: exact numbers, lists with commas, `none`. Raises
    TypeError for a map."""
    if value is None:
        return "none"
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
