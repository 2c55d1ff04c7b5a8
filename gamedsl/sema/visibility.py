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
    Namespace,
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
    match node:
        case None:
            return EVERYONE
        case Scalar(text="all" | "owner" | "others" | "nobody" as word):
            return Readers(word, span=node.span)
        case Scalar(text=text) if not typer.names.seats_of(text) and not text.isidentifier():
            return _read_expression(node, typer)
        case _:  # names of roles, or a list of them
            return _read_list(node, typer, variables)


def _read_expression(node: Scalar, typer: Typer) -> Readers:
    """Reads an expression that gives the roles that see a value, or a test over `me`."""
    tree, locals = syntax(node, typer.problems), _role_words(typer.names)
    if tree is None:
        return EVERYONE
    with typer.context.collecting() as found:
        seen_by = typer.expression(tree, me=True, locals=locals)
    if not found.errors and may_be_seats(seen_by.type):
        return Readers("test", test=_is_me(seen_by), span=node.span)
    test = typer.check(tree, BOOL, "`seen_by`", me=True, locals=locals)
    return Readers("test", test=test, span=node.span)


def _read_list(node: Node, typer: Typer, variables: bool) -> Readers:
    """Reads a list of readers, or a single one: roles, expressions that give a role, `owner`,
    `actor`, and names that hold roles where `variables` may be named."""
    names, locals = typer.names, _role_words(typer.names)
    seats: list[str] = []
    values: list[ir.Expr] = []
    for item in node.items if isinstance(node, Sequence) else (node,):
        text = item.text if isinstance(item, Scalar) else ""
        if named := names.seats_of(text):
            seats += [seat for seat in named if seat not in seats]
        elif text in locals or (variables and _may_hold_seats(names.declared.get(text))):
            tree = syntax(item, typer.problems)
            assert tree is not None
            value = typer.expression(tree, me=True, locals=locals)
            if may_be_seats(value.type):
                values.append(value)
            elif not isinstance(value.type, Never):  # whose own mistake is reported
                _report_unknown_reader(text, item.span, typer, variables)
        elif isinstance(item, Scalar) and not text.isidentifier():
            tree = syntax(item, typer.problems)
            if tree is None:
                return EVERYONE
            values.append(typer.check(tree, SEAT, "who sees it", me=True, locals=locals))
        else:
            _report_unknown_reader(text, item.span, typer, variables)
    return _union_of(tuple(seat for seat in names.everyone if seat in seats), values, node.span)


def _role_words(names: Namespace) -> dict[str, Type]:
    """Returns the words that stand for a seat of the step, unless the game uses them as names."""
    return {word: SEAT for word in (OWNER, ACTOR) if names.anywhere(word) is None}


def _report_unknown_reader(text: str, span: Span, typer: Typer, variables: bool) -> None:
    """Reports that a name is no role; the help says what may be written in its place."""
    names = typer.names
    help = "write `owner` for who acts in this step, or an expression over `me`"
    if not variables and holds_seats(names.declared.get(text)):
        help = f"write an expression over `me`: `seen_by: me == {text}`"
    elif not variables:
        help = "write `per: role` and `seen_by: owner`, or an expression over `me`"
    teams = [name for name, declared in names.declared.items() if _may_hold_seats(declared)]
    words = (*WORDS, *teams) if variables else WORDS
    unknown_role(text, span, names, typer.problems, *words, help=help)


def _union_of(seats: tuple[str, ...], values: list[ir.Expr], span: Span) -> Readers:
    """Returns these seats and those that the values give as readers: the seats alone where there
    are no values, else one test over `me`."""
    if not values:
        return Readers("seats", seats, span=span)
    if len(seats) == 1:
        values = [*values, ir.Const(SEAT, span, seats[0])]
    parts = [_is_me(value) for value in values]
    if len(seats) > 1:
        listed = ir.Const(List(SEAT, len(seats)), span, seats)
        parts.append(ir.Apply(BOOL, span, "in", (ir.Me(SEAT, span), listed)))
    test = reduce(lambda one, other: ir.Logic(BOOL, span, "or", one, other), parts)
    return Readers("test", test=test, span=span)


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


def _may_hold_seats(declared: Declared | None) -> bool:
    """Whether a name is a variable that holds roles, or a `let`, whose type is not known yet."""
    return holds_seats(declared) or (isinstance(declared, LetName) and not declared.slot)
