"""Options of choices: those known before the game starts, and those that depend on play.

Names of options are canonical: policies, transcripts and tables know them by these, whatever
players read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence as Sequence_
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.fixes import substitute
from gamedsl.diagnostics.spans import Span
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.frontend.source.nodes import Mapping, Node, Scalar, Sequence
from gamedsl.frontend.syntax import ast
from gamedsl.ir import expr as ir
from gamedsl.ir.abstract_values import ANYTHING, AbstractValue
from gamedsl.ir.builtins import element, functions
from gamedsl.ir.builtins import values as elements
from gamedsl.ir.evaluate import EvaluationError, Scope, evaluate
from gamedsl.ir.program import Action, Choice
from gamedsl.ir.types import (
    NUMBER,
    SEAT,
    WHOLE,
    Enum,
    Number,
    PerSeat,
    PerValue,
    Tuple,
    Type,
    domain,
    has_text,
    infinite_part,
    join,
    range_type,
)
from gamedsl.ir.values import name_of
from gamedsl.sema.narrow import Facts
from gamedsl.sema.scope import MEANINGS, Declared, Namespace, TypeName, report_taken
from gamedsl.sema.type_errors import report_per_role
from gamedsl.sema.typer import Typer
from gamedsl.sema.types import Types, dashed_range, is_collection_type
from gamedsl.sema.typing_context import has_errors
from gamedsl.sema.values import constant, read_items, syntax, why_undefined

_WORDS = (*MEANINGS, "actions", *functions())
"""Names that mean something in every expression."""

_FALLING = re.compile(r"(-?\d+)\s*\.\.\s*(-?\d+)")
"""A range of two numbers."""

MAX_OPTIONS = 4096
"""Options of one decision."""


@dataclass(frozen=True, slots=True)
class OptionSet:
    """The options that there can be and the type of what they bind; the legal ones are the elements
    of `legal`, or the instances of `moves`, where there is either."""

    choices: tuple[Choice, ...]
    type: Type
    legal: ir.Expr | None = None
    moves: tuple[Action, ...] = ()


def read_options(
    node: Node, typer: Typer, *, me: bool = False, facts: Facts = frozenset()
) -> OptionSet | None:
    """Reads options written as a list, a map of name to value, a type, or an expression, of which
    conditions around it tell `facts`."""
    problems = typer.problems
    before = problems.count_errors()
    if isinstance(node, Sequence):
        options = _listed_options(node, typer)
    elif isinstance(node, Mapping):
        options = _mapped_options(node, typer)
    else:
        options = _computed_options(node, typer, me, facts)
    if options is None or problems.count_errors() > before:
        return None
    return options if enough(options.choices, node.span, problems) else None


def enough(choices: tuple[Choice, ...], span: Span, problems: Problems) -> bool:
    """Whether a decision has an option, and not too many."""
    if not choices:
        falling = _FALLING.fullmatch(span.text)
        low, high = falling.groups() if falling else ("", "")
        help = substitute(span, f"{high}..{low}", f"the lower end stands first: `{high}..{low}`")
        problems.add(
            "GD0404", "a decision needs an option", span, why="there are none",
            help=help if falling else "write what can be chosen, such as `[a, b]` or `0..5`",
        )  # fmt: skip
        return False
    return few(len(choices), span, problems)


def few(count: int, span: Span, problems: Problems) -> bool:
    """Whether so many options are not too many for one decision."""
    if count > MAX_OPTIONS:
        message = f"{count} options are too many"
        problems.add("GD0404", message, span, why=f"at most {MAX_OPTIONS}")
        return False
    return True


def _listed_options(node: Sequence, typer: Typer) -> OptionSet | None:
    """Reads `[stag, hare]`, `[1, 2, 3]`, `[pass, 1..3]`, whose options are names, or `[ann, bob]`:
    names of roles are roles."""
    names, problems = typer.names, typer.problems
    items = read_items(node, typer)
    if items is None:
        return None
    seen = {name_of(value): item.span for value, item in items}
    choices = [Choice(name_of(value), value, item.span) for value, item in items]
    if not choices:
        return OptionSet((), WHOLE)
    if not isinstance(choices[0].value, str):
        return OptionSet(tuple(choices), ranged(NUMBER, choices))
    members = tuple(c.name for c in choices)
    if all(m in names.seats for m in members):
        return OptionSet(tuple(choices), SEAT)
    known = next((e for e in names.enums if e.name and {*members} <= {*e.members}), None)
    if known is not None:
        return OptionSet(tuple(choices), known)
    for member in filter(str.isidentifier, members):
        if not report_taken(member, seen[member], names.lasting(member), problems):
            names.members.setdefault(member, seen[member])
    return OptionSet(tuple(choices), enum_of(members, names))


def _mapped_options(node: Mapping, typer: Typer) -> OptionSet | None:
    """Reads `{low: 2, fair: 5}`: options by name, each binding a value."""
    choices: list[Choice] = []
    common: Type | None = None
    for entry in node:
        found = constant(entry.value, typer)
        if found is None:
            return None
        _, value, type = found
        joined = type if common is None else join(common, type)
        if joined is None:
            typer.problems.add(
                "GD0306",
                "the values of options must have one type",
                entry.value.span,
                why=f"this is {type}",
                notes=(Note(node.entries[0].value.span, f"this is {common}"),),
            )
            return None
        common = joined
        report_taken(entry.key.text, entry.key.span, None, typer.problems)
        choices.append(Choice(entry.key.text, value, entry.key.span))
    return OptionSet(tuple(choices), ranged(common or WHOLE, choices))


def ranged(type: Type, choices: Sequence_[Choice]) -> Type:
    """Returns the type of options: whole numbers have a range."""
    values = [choice.value for choice in choices]
    if not isinstance(type, Number) or not all(isinstance(value, int) for value in values):
        return type
    return range_type(min(values), max(values))


def _computed_options(node: Scalar, typer: Typer, me: bool, facts: Facts) -> OptionSet | None:
    """Reads `0..5`, the name of a type, `set of T`, or an expression that gives the options in
    play."""
    problems = typer.problems
    known: Declared | None = typer.names.declared.get(node.text)
    if is_collection_type(node.text):
        known = Types(typer).read(node)
        if known is None:
            return None
    if isinstance(known, TypeName):
        return _values_of_type(known, node, typer)
    tree = syntax(node, problems)
    if tree is None:
        return None
    if isinstance(tree, ast.Display) and tree.kind == "tuple":
        whole = f"[{', '.join(item.span.text for item in tree.items)}]"
        problems.add(
            "GD0404", "options must be a list", node.span, why="round brackets make one value",
            help=substitute(node.span, whole, f"write `{whole}`"),
        )  # fmt: skip
        return None
    _declare_listed_names(tree, typer.names)
    with typer.context.offering():
        typed = typer.expression(tree, me=me, facts=facts)
    if has_errors(typed):
        return None
    if isinstance(typed, ir.Const) and isinstance(typed.type, PerValue):
        named = tuple(Choice(name_of(k), v) for k, v in typed.value.items())
        return OptionSet(named, typed.type.of)
    of = element(typed.type)
    if of is None:
        problems.add(
            "GD0404",
            "options must be a list",
            node.span,
            why=f"this is {typed.type}",
            help=dashed_range(node.span) or "write a list, such as `0..5` or `[a, b]`",
        )
        return None
    if ir.reads_play(typed):
        return _options_in_play(typed, of, node, typer)
    try:
        value = evaluate(typed, Scope(seats=typer.names.seats))
    except EvaluationError as error:
        problems.add("GD0401", error.message, error.span, why=why_undefined(error))
        return None
    if isinstance(of, Enum) and not of.name:
        of = enum_of(of.members, typer.names)
    return _constants(elements(value), of, node, problems)


def _values_of_type(known: TypeName, node: Scalar, typer: Typer) -> OptionSet | None:
    """Returns the values of a type as options."""
    if known.choices:
        return OptionSet(tuple(Choice(name, value) for name, value in known.choices), known.type)
    missing = ir.Const(known.type, node.span, None)
    listed = listed_values(missing, known.type, ANYTHING, typer.names, typer.problems)
    if listed is None:
        return None
    return OptionSet(tuple(Choice(name_of(v), v) for v in listed[1]), known.type)


def _options_in_play(typed: ir.Expr, of: Type, node: Scalar, typer: Typer) -> OptionSet | None:
    """Returns every option that a collection of the play can give, with the collection itself,
    which says which of them are legal."""
    seats, problems = typer.names.seats, typer.problems
    if domain(of, seats) is None:
        if isinstance(typed.type, PerSeat):
            report_per_role(typer.context, typed)
            return None
        possible = _possible_items(typed, seats)
        if possible is not None:
            return _constants(possible, of, node, problems, legal=typed)
    listed = listed_values(typed, of, typer.context.value(typed).item, typer.names, problems)
    if listed is None:
        return None
    bound, values = listed
    return OptionSet(tuple(Choice(name_of(v), v) for v in values), bound, typed)


def _possible_items(typed: ir.Expr, seats: tuple[str, ...]) -> tuple[Any, ...] | None:
    """Returns every value that the elements of a collection can have, where the play decides only
    which of some constants they are; None elsewhere."""
    match typed:
        case ir.If(then=then, other=other):
            parts = [_possible_items(part, seats) for part in (then, other)]
            known = [part for part in parts if part is not None]
            return tuple(chain.from_iterable(known)) if len(known) == len(parts) else None
        case ir.Collect(item=item) if not ir.loops_of(item):
            typed = replace(typed, condition=None)
        case _:  # a constant, or worked out in play
            pass
    if ir.reads_play(typed):
        return None
    try:
        return elements(evaluate(typed, Scope(seats=seats)))
    except EvaluationError:
        return None


def _constants(
    values: tuple[Any, ...], of: Type, node: Node, problems: Problems, legal: ir.Expr | None = None
) -> OptionSet | None:
    """Returns constants as options; reports a text in them that can be none: an answer is one line,
    and names one option."""
    choices = tuple(Choice(name_of(value), value) for value in dict.fromkeys(values))
    named: set[str] = set()
    for choice in choices if has_text(of) else ():
        name, shown = choice.name, json.dumps(choice.name, ensure_ascii=False)
        if not name or name != " ".join(name.split()) or name in named:
            problems.add(
                "GD0404", f"{shown[:80]} cannot be an option", node.span,
                why="another option has this text" if name in named
                else "an option is one line, without blanks around it or side by side",
                help="choose by another field, or number the rows: `from: slots(…)`",
            )  # fmt: skip
            return None
        named.add(name)
    return OptionSet(choices, of, legal)


def _declare_listed_names(tree: ast.Node, names: Namespace) -> None:
    """Declares the names of the lists in an expression, such as `[raise, fold] if open else
    [fold]`, where they mean nothing yet: as in a plain list, they are options. A name that is
    nearly another one is taken for a misspelt one."""
    found: dict[str, Span] = {}
    for part in ast.walk(tree):
        items = part.items if isinstance(part, ast.Display) and part.kind == "list" else ()
        words = {item.id: item.span for item in items if isinstance(item, ast.Name)}
        known = [*names.all(), *names.broken, *names.members, *found]
        if len(words) == len(items) and all(_is_new(w, known) for w in words if w not in found):
            found |= {word: span for word, span in words.items() if word not in found}
    if found and names.seats:
        enum_of(tuple(found), names)
        for word, span in found.items():
            names.members.setdefault(word, span)


def _is_new(word: str, known: list[str]) -> bool:
    """Whether a name means nothing yet, and is not nearly one that does."""
    return word not in (*_WORDS, *known) and did_you_mean(word, known) is None


def listed_values(
    typed: ir.Expr, of: Type, item: AbstractValue, names: Namespace, problems: Problems
) -> tuple[Type, tuple[Any, ...]] | None:
    """Returns every value that the elements of a collection can have, and their type: `of`, or,
    where it is infinite, what is known of each `item` bounds it."""
    listed = domain(of, names.seats)
    if listed is None:
        bounded = _bounded_type(of, item)
        listed = None if bounded is None else domain(bounded, names.seats)
        if bounded is not None and listed is not None:
            return bounded, listed
        free = [part.name for part in ir.walk(typed)
                if isinstance(part, ir.Read) and part.type in (WHOLE, NUMBER)]  # fmt: skip
        place = names.place(free[0]) if free else None
        part = infinite_part(of, names.seats)
        problems.add(
            "GD0427",
            "it is not known which values there can be here",
            typed.span,
            why=f"its field `{part[0]}` is {part[1]}, without bounds"
            if part[0]
            else f"each is {of}, without bounds",
            notes=(Note(place, f"`{free[0]}` has no range"),) if place else (),
            help="give it a type with a range, such as `{of: 0..10, start: 0}`"
            if place
            else f"give the field a range, such as `{part[0].rpartition('.')[2]}: 0..10`"
            if part[0] and isinstance(part[1], Number)
            else f"give the field finite values: no text, list or bag is one of `{part[0]}`"
            if part[0]
            else "write a range, such as `1..6`"
            if isinstance(of, Number)
            else "choose from single values: a range, names, roles, or records of these",
        )
        return None
    return of, listed


def _bounded_type(type: Type, value: AbstractValue) -> Type | None:
    """Returns a type of whole numbers, or of tuples with such, with the ranges that are known of a
    value; None where it is infinite for another reason."""
    match type:
        case Number(whole=True, low=None):
            number = value.number.integers()
            return range_type(int(number.low), int(number.high)) if number.bounded else None
        case Tuple(of=types):
            parts = [_bounded_type(part, value.part(i)) for i, part in enumerate(types)]
            known = [part for part in parts if part is not None]
            return Tuple(tuple(known)) if len(known) == len(parts) else None
        case _:  # no type with whole numbers, or a record, whose type has a name
            return type


def enum_of(members: tuple[str, ...], names: Namespace) -> Enum:
    """Returns the enum with these members: a declared one, else one without a name."""
    known = next((e for e in names.enums if e.members == members), None)
    if known is not None:
        return known
    enum = Enum("", members)
    names.enums.append(enum)
    return enum
