"""`let` sections: names for expressions, declared before anything is typed."""

from __future__ import annotations

import re

from gamedsl.diagnostics import Note, Problems
from gamedsl.ir.game import Let
from gamedsl.sema.infer import Typer
from gamedsl.sema.scope import WORDS, LetName, Names
from gamedsl.sema.values import NOTHING, syntax
from gamedsl.source.nodes import Entry, Mapping, Node
from gamedsl.syntax import ast

_HEAD = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:\(([^()]*)\))?\s*\Z")


def declare_lets(section: Node | None, names: Names, problems: Problems) -> None:
    """Declare each `name: expression` or `name(a, b): expression`."""
    if not isinstance(section, Mapping):
        return
    for entry in section:
        head = _HEAD.match(entry.key.text)
        if head is None:
            problems.add(
                "GD0318",
                f"`{entry.key.text}` cannot be a name",
                entry.key.span,
                why="a let is a name",
                help="write `name: …`, or `name(a, b): …` with parameters",
            )
            continue
        name, place = head[1], names.place(head[1])
        if name in WORDS:
            problems.add(
                "GD0316",
                f"`{name}` already has a meaning",
                entry.key.span,
                help="choose another name",
            )
            continue
        if place is None and any(name in enum.members for enum in names.enums):
            place = entry.key.span
        if place is not None:
            problems.add(
                "GD0319",
                f"`{name}` is declared twice",
                entry.key.span,
                help="choose another name",
                notes=(Note(place, "first declared here"),) if place != entry.key.span else (),
            )
            continue
        names.declared[name] = LetName(
            name, _parameters(entry, head), syntax(entry.value, problems), entry.key.span
        )


def _parameters(entry: Entry, head: re.Match[str]) -> tuple[ast.Name, ...]:
    if head[2] is None:
        return ()
    start = head.start(2)
    found = []
    for part in re.finditer(r"[^,\s]+", head[2]):
        span = entry.key.locate(start + part.start(), start + part.end())
        found.append(ast.Name(span, part[0]))
    return tuple(found)


def typed_lets(typer: Typer) -> tuple[Let, ...]:
    """All lets with their types, in the order they were declared."""
    lets = []
    for declared in list(typer.names.declared.values()):
        if isinstance(declared, LetName):
            typer.let_type(declared, declared.span)
            body = typer.lets.get(declared.name, NOTHING)
            parameters = tuple(p.id for p in declared.parameters)
            lets.append(Let(declared.name, parameters, body, declared.per_seat, declared.span))
    return tuple(lets)
