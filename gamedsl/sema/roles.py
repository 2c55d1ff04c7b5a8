"""Roles and their seats, and the actions that are declared for them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.ir.game import Choice, Role
from gamedsl.ir.types import SEAT, WHOLE, Enum, List, Number, Type, fits
from gamedsl.sema.infer import Typer
from gamedsl.sema.scope import WORDS, Names
from gamedsl.sema.values import constant
from gamedsl.source.nodes import Mapping, Node, Scalar, Sequence
from gamedsl.source.spans import Span

MAX_SEATS = 64
"""Seats in one game."""

MAX_OPTIONS = 4096
"""Options of one decision."""

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def declare_roles(section: Node | None, names: Names, problems: Problems) -> tuple[Role, ...]:
    """The roles, in order, declared in `names`: `[hunter_1, hunter_2]` or `{player: 4}`."""
    roles: list[Role] = []
    if isinstance(section, Sequence):
        for item in section:
            if isinstance(item, Scalar):
                roles.append(Role(item.text, (item.text,), item.span))
    elif isinstance(section, Mapping):
        for entry in section:
            count = _count(entry.value, names, problems)
            seats = tuple(f"{entry.key.text}_{i}" for i in range(1, (count or 1) + 1))
            roles.append(Role(entry.key.text, seats, entry.key.span))
    taken: dict[str, Span] = {}
    for role in roles:
        for name in {role.name, *role.seats}:
            _claim(name, role.span, taken, names, problems)
    names.seats = tuple(seat for role in roles for seat in role.seats)
    names.roles = {role.name: role.seats for role in roles if role.seats != (role.name,)}
    names.role_spans = taken
    if len(names.seats) > MAX_SEATS:
        problems.add(
            "GD0403",
            f"{len(names.seats)} seats are too many",
            roles[0].span,
            why=f"at most {MAX_SEATS}",
        )
    return tuple(roles)


def _count(node: Node, names: Names, problems: Problems) -> int | None:
    found = constant(node, Typer(names, problems), problems, WHOLE)
    if found is None:
        return None
    value, type = found
    if not (isinstance(type, Number) and isinstance(value, int)) or not 1 <= value <= MAX_SEATS:
        problems.add(
            "GD0403",
            "the number of seats must be a whole number from 1",
            node.span,
            why=f"this is {value}; at most {MAX_SEATS}",
        )
        return None
    return value


def _claim(name: str, span: Span, taken: dict[str, Span], names: Names, problems: Problems) -> None:
    if not NAME.match(name):
        problems.add(
            "GD0318",
            f"`{name}` cannot be a name",
            span,
            why="letters, digits and _, not a digit first",
        )
    elif name in WORDS:
        problems.add("GD0316", f"`{name}` already has a meaning", span, help="choose another name")
    elif name in taken or name in names.declared:
        first = taken[name] if name in taken else names.declared[name].span
        problems.add(
            "GD0319",
            f"`{name}` is declared twice",
            span,
            notes=(Note(first, "first declared here"),),
            help="choose another name",
        )
    taken.setdefault(name, span)


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one decision and the type of what they bind."""

    choices: tuple[Choice, ...]
    type: Type


def read_options(node: Node, names: Names, problems: Problems) -> Options | None:
    """Options written as a list, a map of name to value, or an expression that gives a list."""
    if isinstance(node, Sequence):
        options = _listed(node, names, problems)
    elif isinstance(node, Mapping):
        options = _mapped(node, names, problems)
    else:
        options = _computed(node, names, problems)
    if options is None:
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
        if not isinstance(item, Scalar) or item.value is None:
            problems.add("GD0404", "an option is a name or a number", item.span)
            continue
        number = not isinstance(item.value, str | bool)
        if not number and not NAME.match(item.text):
            problems.add(
                "GD0318",
                f"`{item.text}` cannot be a name",
                item.span,
                why="letters, digits and _, not a digit first",
                help="what players read is said under `labels`",
            )
            continue
        name = option_name(item.value) if number else item.text
        if name in seen:
            problems.add(
                "GD0319",
                f"`{name}` is an option twice",
                item.span,
                notes=(Note(seen[name], "first here"),),
            )
            continue
        seen[name] = item.span
        choices.append(Choice(name, item.value if number else name))
    kinds = {type(c.value) is str for c in choices}
    if len(kinds) > 1:
        problems.add("GD0404", "options are all names or all numbers", node.span)
        return None
    if not choices:
        return Options((), WHOLE)
    if isinstance(choices[0].value, str):
        members = tuple(c.name for c in choices)
        if all(m in names.seats for m in members):
            return Options(tuple(choices), SEAT)
        for member in members:
            _check_member(member, seen[member], names, problems)
        return Options(tuple(choices), _enum(members, names))
    return Options(tuple(choices), Number(all(isinstance(c.value, int) for c in choices)))


def _check_member(member: str, span: Span, names: Names, problems: Problems) -> None:
    place = names.place(member)
    if member in WORDS:
        problems.add(
            "GD0316", f"`{member}` already has a meaning", span, help="choose another name"
        )
    elif place is not None:
        problems.add(
            "GD0319",
            f"`{member}` is declared twice",
            span,
            notes=(Note(place, "first declared here"),),
            help="choose another name",
        )


def _mapped(node: Mapping, names: Names, problems: Problems) -> Options | None:
    """`{low: 2, fair: 5}`: options by name, each binding a number."""
    choices, whole, sound = [], True, True
    for entry in node:
        if not NAME.match(entry.key.text):
            problems.add(
                "GD0318",
                f"`{entry.key.text}` cannot be a name",
                entry.key.span,
                why="letters, digits and _, not a digit first",
            )
            sound = False
        found = constant(entry.value, Typer(names, problems), problems)
        if found is None:
            sound = False
            continue
        value, type = found
        if not isinstance(type, Number):
            problems.add(
                "GD0306",
                "the value of an option must be a number",
                entry.value.span,
                why=f"this is {type}",
            )
            sound = False
        whole = whole and isinstance(value, int)
        choices.append(Choice(entry.key.text, value))
    return Options(tuple(choices), Number(whole)) if sound else None


def _computed(node: Scalar, names: Names, problems: Problems) -> Options | None:
    """`0..5` or the name of a param that is a list."""
    found = constant(node, Typer(names, problems), problems)
    if found is None:
        return None
    value, type = found
    if not isinstance(type, List) or not (fits(type.of, Number()) or type.of == SEAT):
        problems.add(
            "GD0404",
            "options must be a list",
            node.span,
            why=f"this is {type}",
            help="for example `0..5` or `[a, b]`",
        )
        return None
    return Options(tuple(Choice(option_name(v), v) for v in dict.fromkeys(value)), type.of)


def _enum(members: tuple[str, ...], names: Names) -> Enum:
    enum = Enum("", members)
    if enum not in names.enums:
        names.enums.append(enum)
    return enum


def option_name(value: Any) -> str:
    """The canonical name of an option that is a number or a seat."""
    if isinstance(value, Fraction):
        return (
            f"{value.numerator}/{value.denominator}"
            if value.denominator != 1
            else str(value.numerator)
        )
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
        seats = names.roles.get(entry.key.text) or (
            (entry.key.text,) if entry.key.text in names.seats else ()
        )
        if not seats:
            guess = did_you_mean(entry.key.text, [*names.roles, *names.seats])
            problems.add(
                "GD0320",
                f"unknown role `{entry.key.text}`",
                entry.key.span,
                why="not a role of this game",
                help=f"did you mean `{guess}`?" if guess else "",
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
