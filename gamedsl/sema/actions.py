"""The options of decisions, and the actions that are declared for roles.

Options are a list, a map of name to number, or an expression. Names of options are canonical:
policies, transcripts and tables know them by these, whatever players read.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gamedsl.diagnostics import Problems
from gamedsl.ir.program import Choice
from gamedsl.ir.types import SEAT, WHOLE, Enum, List, Number, Type
from gamedsl.sema.infer import Typer
from gamedsl.sema.roles import unknown_role
from gamedsl.sema.scope import Names, report_taken
from gamedsl.sema.values import constant
from gamedsl.source.nodes import Mapping, Node, Scalar, Sequence
from gamedsl.source.spans import Span

MAX_OPTIONS = 4096
"""Options of one decision."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one decision and the type of what they bind."""

    choices: tuple[Choice, ...]
    type: Type


def read_options(node: Node, names: Names, problems: Problems) -> Options | None:
    """Options written as a list, a map of name to value, or an expression that gives a list."""
    before = problems.count_errors()
    if isinstance(node, Sequence):
        options = _listed(node, names, problems)
    elif isinstance(node, Mapping):
        options = _mapped(node, names, problems)
    else:
        options = _computed(node, names, problems)
    if options is None or problems.count_errors() > before:
        return None
    if not options.choices:
        problems.add("GD0404", "a decision needs an option", node.span, why="there are none")
        return None
    if len(options.choices) > MAX_OPTIONS:
        problems.add(
            "GD0404",
            f"{len(options.choices)} options are too many",
            node.span,
            why=f"at most {MAX_OPTIONS}",
        )
        return None
    return options


def _listed(node: Sequence, names: Names, problems: Problems) -> Options | None:
    """`[stag, hare]`, `[1, 2, 3]`, or `[ann, bob]`: names of roles are roles."""
    seen: dict[str, Span] = {}
    choices = []
    for item in node:
        assert isinstance(item, Scalar)
        number = not isinstance(item.value, str)
        name = option_name(item.value) if number else item.text
        seen[name] = item.span
        value = _whole(item.value) if number else name
        choices.append(Choice(name, value, item.span))
    kinds = {type(c.value) is str for c in choices}
    if len(kinds) > 1:
        odd = next(c for c in choices if (type(c.value) is str) != (type(choices[0].value) is str))
        problems.add(
            "GD0404",
            "options are all names or all numbers",
            odd.span or node.span,
            why="not as the first",
            help="to give names numbers, write a map: `{low: 1, high: 2}`",
        )
        return None
    if not choices:
        return Options((), WHOLE)
    if not isinstance(choices[0].value, str):
        return Options(tuple(choices), Number(all(isinstance(c.value, int) for c in choices)))
    members = tuple(c.name for c in choices)
    if all(m in names.seats for m in members):
        return Options(tuple(choices), SEAT)
    for member in members:
        if not report_taken(member, seen[member], names.place(member), problems):
            names.members.setdefault(member, seen[member])
    return Options(tuple(choices), _enum(members, names))


def _mapped(node: Mapping, names: Names, problems: Problems) -> Options | None:
    """`{low: 2, fair: 5}`: options by name, each binding a number."""
    choices, whole, sound = [], True, True
    for entry in node:
        found = constant(entry.value, Typer(names, problems), problems)
        if found is None:
            sound = False
            continue
        _, value, type = found
        if not isinstance(type, Number):
            problems.add(
                "GD0306",
                "the value of an option must be a number",
                entry.value.span,
                why=f"this is {type}",
            )
            sound = False
        whole = whole and isinstance(value, int)
        choices.append(Choice(entry.key.text, value, entry.key.span))
    return Options(tuple(choices), Number(whole)) if sound else None


def _computed(node: Scalar, names: Names, problems: Problems) -> Options | None:
    """`0..5` or the name of a param that is a list."""
    found = constant(node, Typer(names, problems), problems)
    if found is None:
        return None
    _, value, type = found
    if not isinstance(type, List) or not (isinstance(type.of, Number) or type.of == SEAT):
        problems.add(
            "GD0404",
            "options must be a list",
            node.span,
            why=f"this is {type}",
            help="write a list, such as `0..5` or `[a, b]`",
        )
        return None
    return Options(tuple(Choice(option_name(v), v) for v in dict.fromkeys(value)), type.of)


def _enum(members: tuple[str, ...], names: Names) -> Enum:
    enum = Enum("", members)
    if enum not in names.enums:
        names.enums.append(enum)
    return enum


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, Fraction) and value.denominator == 1 else value


def option_name(value: Any) -> str:
    """The canonical name of an option that is a number or a seat: `2`, `3/2`, `hunter_1`."""
    return str(value)


def declare_actions(section: Node | None, names: Names, problems: Problems) -> dict[str, Options]:
    """The actions of every seat: one list for all, or a list per role (or per seat)."""
    if section is None:
        return {}
    if isinstance(section, Sequence):
        options = read_options(section, names, problems)
        return dict.fromkeys(names.seats, options) if options else {}
    assert isinstance(section, Mapping)
    actions: dict[str, Options] = {}
    for entry in section:
        name = entry.key.text
        seats = names.seats_of(name)
        if not seats:
            unknown_role(name, entry.key.span, names, problems)
            continue
        taken = [seat for seat in seats if seat in actions]
        if taken:
            problems.add(
                "GD0319",
                f"the actions of `{taken[0]}` are given twice",
                entry.key.span,
                why="the second time",
                help=f"give them under `{name}`, or for each seat of it, not both",
            )
            continue
        options = read_options(entry.value, names, problems)
        if options:
            actions.update(dict.fromkeys(seats, options))
    return _unite(actions, names)


def _unite(actions: dict[str, Options], names: Names) -> dict[str, Options]:
    """One enum over all roles' actions, so that a joint step binds values of one type."""
    enums = {o.type for o in actions.values() if isinstance(o.type, Enum)}
    if len(enums) < 2:
        return actions
    members = tuple(dict.fromkeys(m for o in actions.values() for m in (c.name for c in o.choices)))
    names.enums[:] = [e for e in names.enums if e not in enums]
    united = _enum(members, names)
    return {
        s: Options(o.choices, united) if isinstance(o.type, Enum) else o for s, o in actions.items()
    }
