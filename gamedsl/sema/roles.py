"""Roles and their seats: `roles: [hunter_1, hunter_2]` or `roles: {player: 4}`.

A role with one seat and the seat have one name.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.fixes import respell
from gamedsl.diagnostics.spans import Span
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.frontend.source.nodes import Entry, Mapping, Node, Scalar, Sequence
from gamedsl.ir.game import Role
from gamedsl.ir.types import WHOLE
from gamedsl.sema.scope import NOT_ROLES, Namespace, holds_seats, kind_of, report_taken
from gamedsl.sema.typer import Typer
from gamedsl.sema.values import constant

MAX_SEATS = 64
"""Seats in one game."""


def declare_roles(section: Node | None, names: Namespace, problems: Problems) -> tuple[Role, ...]:
    """Returns the roles, in order, and declares them in `names`."""
    roles = _read_roles(section, names, problems)
    names.seats = tuple(seat for role in roles for seat in role.seats)
    names.roles = {role.name: role.seats for role in roles if role.seats != (role.name,)}
    return roles


def declare_referees(
    section: Node | None, names: Namespace, problems: Problems
) -> tuple[Role, ...]:
    """Returns the referees, who act and are not paid by the game, declared in `names` after the
    roles."""
    roles = _read_roles(section, names, problems)
    names.referees = tuple(seat for role in roles for seat in role.seats)
    names.roles |= {role.name: role.seats for role in roles if role.seats != (role.name,)}
    return roles


def read_swaps(
    section: Node | None, referees: tuple[Role, ...], names: Namespace, problems: Problems
) -> tuple[tuple[str, tuple[str, str]], ...]:
    """Returns the referees' seats that read two roles in each other's places, every second of those
    whose `swap` names two."""
    found = []
    for role in referees:
        panel = section.get(role.name) if isinstance(section, Mapping) else None
        swap = panel.get("swap") if isinstance(panel, Mapping) else None
        if swap is None:
            continue
        items = swap.items if isinstance(swap, Sequence) else (swap,)
        seats = [_seat(item, names, problems) for item in items]
        if None in seats:
            continue
        if len(set(seats)) != 2:
            problems.add(
                "GD0488", "two roles change places, each with the other", swap.span,
                why=f"names {len(set(seats))}",
                help="name two: " + ", ".join(f"`{seat}`" for seat in names.seats[:2]),
            )  # fmt: skip
        elif len(role.seats) % 2:
            assert isinstance(panel, Mapping)
            count = panel.get("seats")
            problems.add(
                "GD0488", f"half of the seats of `{role.name}` read in the other order",
                swap.span if count is None else count.span,
                why=f"{len(role.seats)} cannot be halved",
                help=f"write `seats: {len(role.seats) + 1}`",
            )  # fmt: skip
        else:
            one, other = (seat for seat in seats if seat is not None)
            found += [(seat, (one, other)) for seat in role.seats[1::2]]
    return tuple(found)


def _seat(item: Node, names: Namespace, problems: Problems) -> str | None:
    """Returns the seat that a name is of; reported where it is of none, or of several."""
    name = item.text if isinstance(item, Scalar) else ""
    if name in names.seats:
        return name
    unknown_role(name, item.span, names, problems)
    return None


def _read_roles(section: Node | None, names: Namespace, problems: Problems) -> tuple[Role, ...]:
    roles: list[Role] = []
    if isinstance(section, Sequence):
        for item in section:
            if isinstance(item, Scalar):
                roles.append(Role(item.text, (item.text,), item.span))
    elif isinstance(section, Mapping):
        for entry in section:
            many = entry.value.get("seats") if isinstance(entry.value, Mapping) else entry.value
            count = None if many is None else _seat_count(many, names, problems)
            numbered = tuple(f"{entry.key.text}_{i}" for i in range(1, (count or 1) + 1))
            seats = numbered if len(numbered) > 1 else (entry.key.text,)
            roles.append(Role(entry.key.text, seats, entry.key.span))
    for role in roles:
        for name in dict.fromkeys((role.name, *role.seats)):
            _declare_role_name(name, role, names, problems)
    count_all = sum(len(role.seats) for role in roles)
    if count_all > MAX_SEATS:
        _too_many(count_all, roles[0].span, problems)
    return tuple(roles)


def _seat_count(node: Node, names: Namespace, problems: Problems) -> int | None:
    found = constant(node, Typer(names, problems), WHOLE)
    if found is None:
        return None
    _, value, type = found
    if type != WHOLE or value < 1:
        problems.add(
            "GD0403",
            "the number of seats must be a whole number from 1",
            node.span,
            why=f"this is {value}" if type == WHOLE else f"this is {type}",
        )
        return None
    if value > MAX_SEATS:
        _too_many(value, node.span, problems)
        return None
    return int(value)


def _too_many(count: int, span: Span, problems: Problems) -> None:
    shown = str(count) if count < 10**9 else "so many"
    problems.add("GD0403", f"{shown} seats are too many", span, why=f"at most {MAX_SEATS}")


def _declare_role_name(name: str, role: Role, names: Namespace, problems: Problems) -> None:
    """Declares a role or one of its seats, which share the role's place."""
    first = names.anywhere(name)
    if name in NOT_ROLES:
        problems.add(
            "GD0316",
            f"`{name}` already has a meaning",
            role.span,
            why="it says who acts, or who sees",
            help="choose another name",
        )
    elif not report_taken(name, role.span, first, problems):
        names.role_spans[name] = role.span


def entries_by_seat(
    section: Mapping, title: str, given: Container[str], names: Namespace, problems: Problems
) -> Iterator[tuple[Entry, tuple[str, ...]]]:
    """Yields each entry of a map of roles, with the seats that it is for.

    Reports names that are no role, and seats that are in `given` by then, which the caller fills;
    `title` is what the map gives each seat, such as "the view".
    """
    places: dict[str, Span] = {}
    for entry in section:
        name = entry.key.text
        seats = names.seats_of(name)
        if not seats:
            unknown_role(name, entry.key.span, names, problems)
        taken = [seat for seat in seats if seat in given]
        if taken:
            plural = title.endswith("s")
            first = places.get(taken[0])
            problems.add(
                "GD0319",
                f"{title} of `{taken[0]}` {'are' if plural else 'is'} given twice",
                entry.key.span,
                why="the second time",
                notes=(Note(first, "the first time"),) if first else (),
                help=f"give {'them' if plural else 'it'} under `{name}`, or for each seat of it, "
                "not both",
            )
        for seat in seats:
            places.setdefault(seat, entry.key.span)
        yield entry, seats


_MEANT = {
    "owner": ("self", "private", "role", "player"),
    "all": ("each", "every", "everyone", "everybody", "both", "anyone", "public", "role", "roles",
            "player", "players"),
    "nobody": ("none", "null"),
}  # fmt: skip
"""The words for who acts and who sees, and what they are called elsewhere. One name may stand for
two: then the first word that may stand at its place is meant."""


def _asked_in_play(name: str, names: Namespace) -> str:
    """Returns how a role is named that each play decides: by an expression for all roles."""
    if not holds_seats(names.declared.get(name)):
        return ""
    return f"write one expression for all roles, which asks: `… if me == {name} else …`"


def _sounds_like(name: str, roles: list[str]) -> str | None:
    """Returns the role of a name that is spelt further off than by a slip, such as `alfa` for
    `alpha`: roles are few, so that more of them may be meant."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, roles, n=1)), None)


def unknown_role(
    name: str, span: Span, names: Namespace, problems: Problems, *others: str, help: str = ""
) -> None:
    """Reports a name that is no role; `others` are words that may stand there too."""
    if name in names.roles:
        seats = names.roles[name]
        problems.add(
            "GD0302",
            f"`{name}` is a role with {len(seats)} seat{'s' if len(seats) > 1 else ''}",
            span,
            why="one seat is named here",
            notes=(Note(names.role_spans[name], "declared here"),),
            help="name its seats: " + ", ".join(seats[:6]),
        )
        return
    declared = names.declared.get(name)
    if declared is not None:
        what, use = kind_of(declared)
        problems.add(
            "GD0320", f"`{name}` is {what}, and no role", span, why=f"it {use}",
            notes=(Note(declared.span, "declared here"),),
            help=help or _asked_in_play(name, names)
            or "the roles: " + ", ".join(names.everyone[:8]),
            cause=f"name {name}",
        )  # fmt: skip
        return
    guess = did_you_mean(name, [*names.roles, *names.everyone, *others])
    if guess is None:
        meant = (word for word, said in _MEANT.items() if word in others and name in said)
        guess = next(meant, None) or _sounds_like(name, [*names.roles, *names.everyone])
    place = names.role_spans.get(guess) if guess else None
    said = "declared here" if place else "the roles are declared here"
    place = place or next(iter(names.role_spans.values()), None)
    inside = {seat for seats in names.roles.values() for seat in seats}
    shown = [role for role in names.role_spans if role not in inside or role in names.roles]
    problems.add(
        "GD0320",
        f"unknown role `{name}`" if name else "a role is missing here",
        span,
        why="not a role of this game",
        notes=(Note(place, said),) if place else (),
        help=respell(span, guess, help or "the roles: " + ", ".join(shown[:8])),
        cause=f"name {name}" if name else "",
    )
