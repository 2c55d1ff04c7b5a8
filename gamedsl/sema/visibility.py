"""Visibility: `seen_by`, who sees a value of the state or what a step binds."""

from __future__ import annotations

from functools import reduce

from gamedsl.diagnostics import Problems
from gamedsl.diagnostics.fixes import respell
from gamedsl.diagnostics.spans import Span
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.frontend.source.nodes import Mapping, Node, Scalar, Sequence
from gamedsl.ir import expr as ir
from gamedsl.ir.statements import ACTOR, EVERYONE, NOBODY, OWNER, Readers
from gamedsl.ir.types import BOOL, SEAT, List, Never, Record, Type, is_by_role, plain
from gamedsl.sema.roles import unknown_role
from gamedsl.sema.scope import (
    Declared,
    LetName,
    holds_seats,
    may_be_seats,
)
from gamedsl.sema.typer import Typer
from gamedsl.sema.values import syntax


def owner_advice(per: Node | None) -> str:
    """Returns how a value gets an owner, which is the role that its first index is for."""
    parts = per.items if isinstance(per, Sequence) else () if per is None else (per,)
    others = [part.span.text for part in parts if part.span.text != "role"]
    if not others:
        return "add `per: role`, or name who sees it"
    return f"write `per: [role, {', '.join(others)}]`, or name who sees it"


WORDS = ("all", "owner", "others", "nobody", "actor")
"""What `seen_by` may be besides roles and expressions."""


def read_step_readers(
    node: Node | None, typer: Typer, type: Type | None = None, *, entries: bool = False
) -> Readers:
    """Reads who sees a value that a step binds, or, in a map, each field of one; fields that are
    not named are seen by nobody. With `entries`, each entry of a record by role has an owner, the
    role that it is for."""
    type = plain(type) if type is not None else None
    if not isinstance(node, Mapping):
        readers = read_readers(node, typer, variables=True)
        by_role = entries and type is not None and is_by_role(type)
        return _by_entry(readers, typer) if by_role and OWNER in readers.locals else readers
    if not isinstance(type, Record):
        typer.problems.add(
            "GD0439", "this value has no fields", node.span,
            why=f"it is {type}" if type is not None else "no record",
            help="write who sees all of it, such as `seen_by: all`",
        )  # fmt: skip
        return NOBODY
    fields = []
    for entry in node:
        index = type.index(entry.key.text)
        if index is None:
            guess = did_you_mean(entry.key.text, [name for name, _ in type.fields])
            typer.problems.add(
                "GD0324", f"{type} has no field `{entry.key.text}`", entry.key.span,
                why="its fields are " + ", ".join(name for name, _ in type.fields),
                help=respell(entry.key.span, guess),
            )  # fmt: skip
            continue
        fields.append((index, read_step_readers(entry.value, typer)))
    return Readers("nobody", fields=tuple(fields), span=node.span)


def _by_entry(readers: Readers, typer: Typer) -> Readers:
    """Returns the readers of a record by role: of each entry, whose owner is the role that it is
    for."""
    everyone = typer.names.everyone
    found = []
    for place, seat in enumerate(typer.names.seats):
        own: Readers
        if readers.test is not None:
            owner = ir.Const(SEAT, readers.test.span, seat)
            test = ir.bind_local(readers.test, OWNER, owner)
            own = Readers("test", test=test, span=readers.span)
        elif readers.kind == "owner":
            own = Readers("seats", (seat,), span=readers.span)
        else:
            others = tuple(other for other in everyone if other != seat)
            own = Readers("seats", others, span=readers.span)
        found.append((place, own))
    return Readers("nobody", fields=tuple(found), span=readers.span)


def read_readers(node: Node | None, typer: Typer, *, variables: bool = False) -> Readers:
    """Reads who sees all of a value: a word, a role, a list of roles, an expression over `me`, one
    that gives roles, or, where `variables` may be named, a name that holds roles."""
    names, problems = typer.names, typer.problems
    locals: dict[str, Type] = {w: SEAT for w in (OWNER, ACTOR) if names.anywhere(w) is None}
    if node is None:
        return EVERYONE
    match node:
        case Scalar(text="all" | "owner" | "others" | "nobody" as word):
            return Readers(word, span=node.span)
        case _:  # names of roles, a list of them, or fields: read below
            pass
    if isinstance(node, Scalar) and not names.seats_of(node.text) and not node.text.isidentifier():
        tree = syntax(node, problems)
        if tree is None:
            return EVERYONE
        with typer.context.collecting() as found:
            seen_by = typer.expression(tree, me=True, locals=locals)
        if not found.errors and may_be_seats(seen_by.type):
            return Readers("test", test=_is_me(seen_by), span=node.span)
        test = typer.check(tree, BOOL, "`seen_by`", me=True, locals=locals)
        return Readers("test", test=test, span=node.span)
    seats: list[str] = []
    held: list[ir.Expr] = []
    for item in node.items if isinstance(node, Sequence) else (node,):
        text = item.text if isinstance(item, Scalar) else ""
        named = names.seats_of(text)
        if isinstance(item, Scalar) and not named:
            known = names.declared.get(text)
            if text in locals or (variables and (holds_seats(known) or _is_let(known))):
                tree = syntax(item, problems)
                assert tree is not None
                value = typer.expression(tree, me=True, locals=locals)
                if isinstance(value.type, Never):  # its own mistake is reported
                    continue
                if may_be_seats(value.type):
                    held.append(value)
                    continue
            elif not text.isidentifier():
                tree = syntax(item, problems)
                if tree is None:
                    return EVERYONE
                held.append(typer.check(tree, SEAT, "who sees it", me=True, locals=locals))
                continue
        if not named:
            held_by = names.declared.get(text) if not variables else None
            help = "write `owner` for who acts in this step, or an expression over `me`"
            if holds_seats(held_by):
                help = f"write an expression over `me`: `seen_by: me == {text}`"
            elif not variables:
                help = "write `per: role` and `seen_by: owner`, or an expression over `me`"
            teams = [n for n, d in names.declared.items() if holds_seats(d) or _is_let(d)]
            words = (*WORDS, *teams) if variables else WORDS
            unknown_role(text, item.span, names, problems, *words, help=help)
        seats += [seat for seat in named if seat not in seats]
    ordered = tuple(seat for seat in names.everyone if seat in seats)
    if not held:
        return Readers("seats", ordered, span=node.span)
    me = ir.Me(SEAT, node.span)
    held += [ir.Const(SEAT, node.span, seat) for seat in ordered if len(ordered) == 1]
    parts = [_is_me(value) for value in held]
    if len(ordered) > 1:
        listed = ir.Const(List(SEAT, len(ordered)), node.span, ordered)
        parts.append(ir.Apply(BOOL, node.span, "in", (me, listed)))
    test = reduce(lambda one, other: ir.Logic(BOOL, node.span, "or", one, other), parts)
    return Readers("test", test=test, span=node.span)


def has_owner(
    readers: Readers, name: str, span: Span, owned: bool, problems: Problems, help: str,
    *, acts: bool = False,
) -> bool:  # fmt: skip
    """Whether a value has the owner that its readers count on, if they do, and somebody acts
    (`acts`) where they count on that; reported if not."""
    if OWNER in readers.locals and not owned:
        problems.add(
            "GD0426", f"`{name}` has no owner", readers.span or span,
            why="it is one value for all", help=help,
        )  # fmt: skip
        return False
    if ACTOR in readers.locals and not acts:
        problems.add(
            "GD0426", f"nobody acts where `{name}` is seen", readers.span or span,
            why="`actor` is who acts in the step", help="name who sees it",
        )  # fmt: skip
        return False
    fields = (inner for _, inner in readers.fields)
    return all(has_owner(inner, name, span, owned, problems, help, acts=acts) for inner in fields)


def _is_me(value: ir.Expr) -> ir.Expr:
    """Returns the test that a role is `me`, or that `me` is among several."""
    me, op = ir.Me(SEAT, value.span), "==" if plain(value.type) == SEAT else "in"
    return ir.Apply(BOOL, value.span, op, (me, value))


def _is_let(declared: Declared | None) -> bool:
    return isinstance(declared, LetName) and not declared.slot
