"""`let` sections: names for expressions, declared before anything is typed."""

from __future__ import annotations

import re
from collections.abc import Callable

from gamedsl.diagnostics import Problems
from gamedsl.frontend.source.nodes import Entry, Mapping, Node
from gamedsl.frontend.syntax import ast
from gamedsl.ir.builtins import functions
from gamedsl.ir.game import Let
from gamedsl.sema.scope import LetName, Namespace, report_taken
from gamedsl.sema.typer import Typer
from gamedsl.sema.values import NOTHING, syntax

_HEAD = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)\s*(?:\(([^()]*)\))?\s*\Z")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def declare_lets(
    section: Node | None,
    names: Namespace,
    problems: Problems,
    fresh: Callable[[str], str] | None = None,
) -> None:
    """Declares each `name: expression` or `name(a, b): expression`.

    `fresh` gives lets names of their own in the IR, where a file is read more than once.
    """
    if not isinstance(section, Mapping):
        return
    for entry in section:
        head = _HEAD.match(entry.key.text)
        assert head is not None
        name = head[1]
        span = entry.key.locate(head.start(1), head.end(1))
        if report_taken(name, span, names.anywhere(name), problems):
            continue
        if head[2] is not None and name in functions():
            problems.add(
                "GD0316",
                f"`{name}` already has a meaning",
                span,
                why="a built-in",
                help="choose another name",
            )
            continue
        parameters = _parameters(entry, head, names, problems)
        body = syntax(entry.value, problems)
        if parameters is None:
            names.broken.add(name)
            continue
        unique = fresh(name) if fresh is not None else name
        names.declared[name] = LetName(unique, parameters, body, span, scope=names)


def _parameters(
    entry: Entry, head: re.Match[str], names: Namespace, problems: Problems
) -> tuple[ast.Name, ...] | None:
    """Reads the names between the brackets, which are local; none without brackets."""
    if head[2] is None:
        return ()
    found: list[ast.Name] = []
    start = head.start(2)
    for piece in head[2].split(","):
        text = piece.strip()
        at = start + len(piece) - len(piece.lstrip())
        start += len(piece) + 1
        span = entry.key.locate(at, at + len(text))
        if not _PARAMETER.match(text):
            problems.add(
                "GD0318",
                f"`{text}` cannot be a name" if text else "a parameter is missing here",
                span,
                why="letters, digits and _, not a digit first",
                help="write `name(a, b): …`, or `name: …` without parameters",
            )
            return None
        first = next((p.span for p in found if p.id == text), names.lasting(text))
        if report_taken(text, span, first, problems):
            return None
        found.append(ast.Name(span, text))
    return tuple(found)


def typed_lets(typer: Typer) -> tuple[Let, ...]:
    """Returns all lets with their types, in the order they were declared."""
    lets: dict[str, Let] = {}
    for declared in list(typer.names.declared.values()):
        if isinstance(declared, LetName) and declared.name not in lets:
            if declared.slot and declared.type is None:
                continue
            forgiven = declared.type is None and declared in typer.context.forgiven
            with typer.context.switched_off(forgiven):
                typer.let_type(declared, declared.span)
            for one in (declared, *declared.instances):
                body = typer.context.lets.get(one.name, NOTHING)
                parameters = tuple(p.id for p in one.parameters)
                lets[one.name] = Let(one.name, parameters, body, one.per_seat, one.span)
    return tuple(lets.values())
