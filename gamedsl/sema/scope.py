"""The names that an expression may use, and where each was declared.

One namespace holds params, variables, lets and roles; enum values are found by the type expected at
their place (`gamedsl.sema.typer`); built-ins are known by their parentheses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, assert_never

from gamedsl.diagnostics import Diagnostic, Note, Problems
from gamedsl.diagnostics.spans import Span
from gamedsl.frontend.source.nodes import Scalar
from gamedsl.frontend.syntax import ast
from gamedsl.frontend.syntax.parser import KEYWORDS
from gamedsl.ir.expr import Expr
from gamedsl.ir.graphs import Adjacency
from gamedsl.ir.types import SEAT, Enum, List, Set, Type, plain

MEANINGS = ("me", "other", "others", "roles")
"""Names with a meaning of their own everywhere."""

WORDS = (*MEANINGS, *KEYWORDS)
"""What no name may be: names with a meaning, and the words of the language."""

TYPE_WORDS = ("role", "truth", "number", "integer", "text")
"""Types that have a name without being declared."""

SPELLINGS = {
    "bool": "truth", "boolean": "truth", "true": "truth", "false": "truth",
    "true or false": "truth", "true/false": "truth", "true | false": "truth", "int": "integer",
    "float": "number", "str": "text", "string": "text",
}  # fmt: skip
"""What other languages call some types, and what it is here."""

ANY = "*"
"""Stands for every name in `Namespace.broken`."""

NOT_ROLES = ("all", "owner", "nobody")
"""What no role may be called, besides `WORDS`: they say who acts and who sees."""


@dataclass(frozen=True, slots=True)
class ParamName:
    type: Type
    value: Any
    span: Span


@dataclass(frozen=True, slots=True)
class VariableName:
    """The variable of a step: one value, or (`joint`) a map with a value for each of `actors`."""

    type: Type
    joint: bool
    actors: tuple[str, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class StateName:
    """A declared state variable. `holds` says that it has a value at any time, whatever the params
    are: one of its type from the start on."""

    type: Type
    span: Span
    holds: bool = False


@dataclass(frozen=True, slots=True)
class LoopName:
    """The item or the count of a loop. It is local to the loop: there, the name means it, whatever
    else has the name. Elsewhere it is read as a step's variable is, where no other loop and no
    enum value shares its name."""

    type: Type
    span: Span
    variable: str
    """Its name in the IR, which is another where two loops share a name and not a type."""


@dataclass(frozen=True, slots=True)
class ArgumentName:
    """A parameter of the declared action whose guard or body is being read. `value` is what it
    stands for where the action is called by a tool call: a part of that."""

    type: Type
    span: Span
    value: Expr | None = None


@dataclass(frozen=True, slots=True)
class TypeName:
    """A declared type, with its values in order and the canonical name of each."""

    type: Type
    choices: tuple[tuple[str, Any], ...]
    span: Span
    graph: Adjacency | None = None
    """The graph whose nodes are its values, if edges are declared."""


@dataclass(frozen=True, slots=True)
class DataName:
    """The rows of a data file, of one record type, and the places of those that are held out, if
    it holds any out."""

    type: Type
    rows: tuple[Any, ...]
    span: Span
    held_out: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class StreamName:
    """A per-role map of payoffs, as reward files read it."""

    type: Type
    span: Span


@dataclass(eq=False)
class LetName:
    """A `let` before it is typed: its text, and after: its type and whether it depends on me."""

    name: str
    parameters: tuple[ast.Name, ...]
    body: ast.Node | None
    span: Span
    type: Type | None = None
    types: tuple[Type, ...] = ()
    """Of the parameters, as the first call gives them."""
    per_seat: bool = False
    scope: Namespace | None = None
    """The names of the file that wrote it; None where there is only one file."""
    instances: list[LetName] = field(default_factory=list)
    """The same let for arguments of other types: other collections, say. Each has a name in the IR
    and a typed body of its own."""
    refused: list[tuple[Type, ...]] = field(default_factory=list)
    """The types of arguments for which its body is wrong."""
    slot: bool = False
    """Whether it is a protocol's param: then it may stand for `actions` or a type, as options."""


Declared = (
    ParamName | VariableName | StateName | LoopName | ArgumentName | TypeName | DataName
    | StreamName | LetName
)  # fmt: skip


def kind_of(declared: Declared) -> tuple[str, str]:
    """Returns what a declared name is, for messages, and the words that say where it is used."""
    match declared:
        case ParamName():
            return "a param", "is read in expressions"
        case VariableName():
            return "what a step binds", "is read in expressions"
        case StateName():
            return "a variable of `state`", "is read in expressions, and written by `do:`"
        case LoopName():
            return "the variable of a loop", "is read in expressions"
        case ArgumentName():
            return "an argument of an action", "is read in the action's `when` and `do`"
        case TypeName():
            return "a type", "stands where a type or a collection is wanted"
        case DataName():
            return (
                "a data file",
                "is drawn or chosen `from:`, and `for row in` it reads all its rows",
            )
        case StreamName():
            return "a stream of payoffs", "is read in expressions"
        case LetName():
            return "a `let`", "is read in expressions"
        case _:
            assert_never(declared)


@dataclass
class Namespace:
    """Everything that can be named in a file."""

    seats: tuple[str, ...] = ()
    roles: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Roles whose seats have names of their own, those of referees too."""
    role_spans: dict[str, Span] = field(default_factory=dict)
    """Of roles and of seats."""
    enums: list[Enum] = field(default_factory=list)
    members: dict[str, Span] = field(default_factory=dict)
    """Where each member of an enum was first written."""
    declared: dict[str, Declared] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    """Names whose declarations were reported: reading them is no second problem. `ANY` among them
    stands for names that are not known, those of a file that could not be read."""
    withheld: dict[str, list[Diagnostic]] = field(default_factory=dict)
    """What is wrong with those that only a step binds which the params switch off: reported where
    something reads them."""
    referees: tuple[str, ...] = ()
    """The seats of those who act and have no payoff; they are not among `seats`."""
    hidden: set[str] = field(default_factory=set)
    """Names of lets that only one use of a protocol can say, shared by all scopes of a game."""
    loops: dict[str, list[LoopName]] = field(default_factory=dict)
    """The variables of loops by their names, one for each type, shared by all scopes of a game."""
    later: dict[str, Span] = field(default_factory=dict)
    """Params that stand further down, which a param above them may not read."""
    inside: dict[str, Span] = field(default_factory=dict)
    """What the steps of a loop bind, and its options, while its `while` is read, which is tested
    before them."""
    coming: dict[str, Span] = field(default_factory=dict)
    """What steps bind, while the steps are read: a step reads what those before it bind."""
    coming_options: dict[str, str] = field(default_factory=dict)
    """The options that these steps list, each with the name that it is bound to."""
    switched_off: set[str] = field(default_factory=set)
    """The words of what the game is without: what params switch off, and actions that no step
    offers."""

    def leave_out(self, span: Span) -> None:
        """Notes the words of a part that the game is without: it would read and write them."""
        self.switched_off.update(re.findall(r"[a-z]\w*", span.text))

    def all(self) -> Iterable[str]:
        """Yields every name, for suggestions."""
        yield from self.declared
        yield from self.everyone
        yield from self.roles
        yield from MEANINGS
        yield from ("true", "false", "none")
        for enum in self.enums:
            yield from enum.members

    def enum_of(self, member: str) -> Enum | None:
        """Returns the only enum with that member; None if there are none or several."""
        found = {enum for enum in self.enums if member in enum.members}
        return found.pop() if len(found) == 1 else None

    def enum_with(self, names: Enum) -> Enum | None:
        """Returns the declared enum whose values some names are: the only one with exactly these,
        else the only one that has them all."""
        wanted = {*names.members}
        same = [enum for enum in self.enums if enum.name and {*enum.members} == wanted]
        found = same or [enum for enum in self.enums if enum.name and wanted <= {*enum.members}]
        return found[0] if len(found) == 1 else None

    def place(self, name: str) -> Span | None:
        """Returns the declaration of a param, variable, let or role."""
        if name in self.declared:
            return self.declared[name].span
        return self.role_spans.get(name)

    def lasting(self, name: str) -> Span | None:
        """Returns the declaration of a param, variable, let or role; None for a name that is local
        to loops, which values and other locals may share."""
        return None if isinstance(self.declared.get(name), LoopName) else self.place(name)

    def anywhere(self, name: str) -> Span | None:
        """Returns the declaration of a name, options included."""
        return self.place(name) or self.members.get(name)

    def seats_of(self, role: str) -> tuple[str, ...]:
        """Returns the seats of a role, or the seat of that name; empty where there is none."""
        return self.roles.get(role) or ((role,) if role in self.everyone else ())

    @property
    def everyone(self) -> tuple[str, ...]:
        """The seats, then those of referees."""
        return (*self.seats, *self.referees)


def is_reserved_stream(name: Scalar, problems: Problems, *others: str) -> bool:
    """Whether a stream cannot have this name; reported if so. `others` are such names too."""
    if name.text not in ("payoff", *others):
        return False
    problems.add(
        "GD0316",
        f"`{name.text}` already has a meaning",
        name.span,
        why="the payoffs, as reward files read them" if name.text == "payoff" else "the utility",
        help="choose another name" if others else "to add to the payoffs, write `pay: payoffs`",
    )
    return True


def report_taken(name: str, span: Span, first: Span | None, problems: Problems) -> bool:
    """Whether a name cannot be declared: it has a meaning, or was declared (at `first`) before."""
    if name in WORDS:
        problems.add(
            "GD0316",
            f"`{name}` already has a meaning",
            span,
            why="a word of the language",
            help="choose another name",
        )
        return True
    if first is None:
        return False
    if first.source == span.source and first.start > span.start:
        first, span = span, first
    problems.add(
        "GD0319",
        f"`{name}` is declared twice",
        span,
        why="and here" if first.source == span.source else "declared here",
        notes=(Note(first, "declared here" if first.source == span.source else "and here"),),
        help="choose another name",
    )
    return True


def may_be_seats(type: Type) -> bool:
    """Whether a value of a type is a role, or a list or set of roles."""
    kind = plain(type)
    return kind == SEAT or (isinstance(kind, List | Set) and kind.of == SEAT)


def holds_seats(declared: Declared | None) -> bool:
    """Whether a name is a variable that holds a role, or a list or set of roles."""
    if isinstance(declared, VariableName):
        return may_be_seats(declared.type) and not declared.joint
    if not isinstance(declared, StateName | LoopName | ArgumentName):
        return False
    return may_be_seats(declared.type)
