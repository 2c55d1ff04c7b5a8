"""`actions:` sections: a list for all roles, a list per role, or actions declared one by one.

A declared action has arguments, a guard and effects. It is read where a step first offers it, since
its effects are steps and may bind names; whoever offers it again offers the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any

from gamedsl.diagnostics import Problems
from gamedsl.diagnostics.spans import Span
from gamedsl.frontend.source.nodes import Entry, Mapping, Node, Scalar, Sequence
from gamedsl.ir import expr as ir
from gamedsl.ir.abstract_values import AbstractValue
from gamedsl.ir.builtins import element
from gamedsl.ir.builtins import values as elements
from gamedsl.ir.program import Action, Choice, Step
from gamedsl.ir.types import BOOL, NEVER, SEAT, Enum, List, Never
from gamedsl.ir.values import instance_name
from gamedsl.sema.name_resolution import all_values
from gamedsl.sema.options import OptionSet, enough, enum_of, few, listed_values, read_options
from gamedsl.sema.roles import entries_by_seat, unknown_role
from gamedsl.sema.scope import ArgumentName, Namespace, report_taken
from gamedsl.sema.typer import Typer
from gamedsl.sema.types import WORDS, Types, is_collection_type
from gamedsl.sema.values import NOTHING, syntax

Body = Callable[[Mapping], tuple[Step, ...]]
"""Reads the steps of an action's body."""


def is_declared_form(section: Node | None) -> bool:
    """Whether actions are declared one by one, each with a map (or nothing) of its own."""
    return isinstance(section, Mapping) and not any(
        isinstance(entry.value, Sequence) for entry in section
    )


@dataclass
class DeclaredActions:
    """The actions that a file declares one by one. `names` are those of the file."""

    section: Mapping
    names: Namespace
    problems: Problems
    read: dict[str, tuple[Action, tuple[str, ...]]] = field(default_factory=dict)
    """Those that a step has offered, with the names that their bodies bind."""
    offered: set[str] = field(default_factory=set)
    """The names of those that a step offers."""
    arguments: set[str] = field(default_factory=set)
    """The names of the arguments of these."""
    items: dict[tuple[str, str], AbstractValue] = field(default_factory=dict)
    """What is known of the value of each argument, by the names of its action and its own."""

    def entry(self, name: str) -> Entry | None:
        return self.section.entry(name)

    def never_offered(self) -> list[Entry]:
        """Returns those that no step offers, as the file has them."""
        return [entry for entry in self.section if entry.key.text not in self.offered]

    def options(
        self, wanted: tuple[str, ...], typer: Typer, types: Types, body: Body, span: Span
    ) -> tuple[OptionSet, tuple[str, ...]] | None:
        """Returns the named actions as options of one decision, and the names that their bodies
        bind."""
        actions: list[Action] = []
        choices: list[Choice] = []
        bound: list[str] = []
        plain = []
        self.offered.update(wanted)
        for name in wanted:
            found = self.action(name, typer, types, body)
            if found is None:
                return None
            action, binds = found
            actions.append(action)
            bound += binds
            instances = self.instances(action, typer.names)
            if instances is None:
                return None
            choices += instances
            if not action.parameters:
                plain.append(name)
        if not enough(tuple(choices), span, self.problems):
            return None
        type = enum_of(tuple(plain), typer.names) if plain else Enum("", ())
        return OptionSet(tuple(choices), type, None, tuple(actions)), tuple(bound)

    def instances(self, action: Action, names: Namespace) -> tuple[Choice, ...] | None:
        """Returns every instance of an action that there can ever be, in order."""
        span = action.span
        if not action.parameters:
            return (Choice(action.name, action.name, span),)
        spaces = []
        for name, source in action.parameters:
            of = element(source.type)
            assert of is not None
            listed: tuple[Any, ...] | None
            if isinstance(source, ir.Const) and elements(source.value):
                listed = tuple(dict.fromkeys(elements(source.value)))
            else:
                item = self.items[action.name, name]
                bounded = listed_values(source, of, item, names, self.problems)
                listed = None if bounded is None else bounded[1]
            if listed is None:
                return None
            spaces.append(listed)
        if not few(prod(map(len, spaces)), span, self.problems):
            return None
        return tuple(
            Choice(instance_name(action.name, each), (action.name, *each), span)
            for each in product(*spaces)
        )

    def action(
        self, name: str, typer: Typer, types: Types, body: Body
    ) -> tuple[Action, tuple[str, ...]] | None:
        if name in self.read:
            return self.read[name]
        entry = self.section.entry(name)
        assert entry is not None
        node = entry.value if isinstance(entry.value, Mapping) else Mapping((), entry.value.span)
        before = self.problems.count_errors()
        names = typer.names
        first = None if node.get("args") else names.lasting(name)
        if report_taken(name, entry.key.span, first, self.problems):
            return None
        names.members.setdefault(name, entry.key.span)
        known = set(names.declared)
        section = node.get("args")
        own = section.entries if isinstance(section, Mapping) else ()
        items: dict[str, AbstractValue] = {}
        with typer.context.scope(frozenset(entry.key.text for entry in own), items):
            parameters = self.parameters(section, typer, types, items)
            when = self.guard(node, typer)
            steps = body(node)
        self.items |= {(name, parameter): item for parameter, item in items.items()}
        self.arguments.update(parameter for parameter, _ in parameters)
        for parameter, _ in parameters:
            names.declared.pop(parameter, None)
        wrong = any(isinstance(source.type, Never) for _, source in parameters)
        if wrong or self.problems.count_errors() > before:
            return None
        bound = tuple(n for n in names.declared if n not in known)
        action = Action(name, tuple(parameters), when, steps, entry.key.span)
        self.read[name] = action, bound
        return self.read[name]

    def parameters(
        self, section: Node | None, typer: Typer, types: Types, items: dict[str, AbstractValue]
    ) -> list[tuple[str, ir.Expr]]:
        """Reads each argument and the values it may have, given the earlier ones. `items` is filled
        with what is known of each."""
        found: list[tuple[str, ir.Expr]] = []
        for entry in section.entries if isinstance(section, Mapping) else ():
            name, span = entry.key.text, entry.key.span
            if report_taken(name, span, typer.names.place(name), self.problems):
                continue
            source = self.source(entry.value, typer, types)
            of = element(source.type) if source is not None else None
            if source is None or isinstance(source.type, Never):
                typer.names.declared[name] = ArgumentName(NEVER, span)
                found.append((name, NOTHING))
                continue
            if of is None:
                self.problems.add(
                    "GD0404",
                    f"the values of `{name}` must be a list",
                    entry.value.span,
                    why=f"this is {source.type}",
                    help="write a type, a range, or a collection such as `empty(board)`",
                )
                of = NEVER
            typer.names.declared[name] = ArgumentName(of, span)
            items[name] = typer.context.value(source).item
            found.append((name, source))
        return found

    def source(self, node: Node, typer: Typer, types: Types) -> ir.Expr | None:
        """Reads the values of an argument: a type by name, a union of types, or an expression."""
        text = node.text if isinstance(node, Scalar) else ""
        written = isinstance(node, Mapping | Sequence) or "|" in text or text.endswith(" or none")
        written = written or is_collection_type(text)
        if written or text in WORDS or text in typer.names.broken:
            type = types.read(node)
            return None if type is None else all_values(type, node.span, self.problems)
        tree = syntax(node, self.problems)
        return typer.expression(tree, me=True) if tree is not None else None

    def guard(self, node: Mapping, typer: Typer) -> ir.Expr | None:
        """Reads `when`, and that the actor is among `roles`, where either is given."""
        parts: list[ir.Expr] = []
        roles = node.get("roles")
        if roles is not None:
            seats: list[str] = []
            for item in roles.items if isinstance(roles, Sequence) else (roles,):
                text = item.text if isinstance(item, Scalar) else ""
                found = typer.names.seats_of(text)
                if not found:
                    unknown_role(text, item.span, typer.names, self.problems)
                seats += found
            listed = ir.Const(List(SEAT, len(seats)), roles.span, tuple(seats))
            me = ir.Me(SEAT, roles.span)
            parts.append(ir.Apply(BOOL, roles.span, "in", (me, listed)))
        when = node.get("when")
        if when is not None:
            tree = syntax(when, self.problems)
            if tree is not None:
                parts.append(typer.check(tree, BOOL, "a guard", me=True))
        if len(parts) == 2:
            return ir.Logic(BOOL, parts[1].span, "and", *parts)
        return parts[0] if parts else None


def declare_actions(
    section: Node | None, names: Namespace, problems: Problems
) -> dict[str, OptionSet]:
    """Declares the actions of every seat: one list for all, or a list per role (or per seat)."""
    if section is None or is_declared_form(section):
        return {}
    typer = Typer(names, problems)
    if not isinstance(section, Mapping):
        options = read_options(section, typer)
        return dict.fromkeys(names.seats, options) if options else {}
    actions: dict[str, OptionSet] = {}
    for entry, seats in entries_by_seat(section, "the actions", actions, names, problems):
        if not seats or any(seat in actions for seat in seats):
            continue
        options = read_options(entry.value, typer)
        if options:
            actions.update(dict.fromkeys(seats, options))
    return _unite(actions, names)


def _unite(actions: dict[str, OptionSet], names: Namespace) -> dict[str, OptionSet]:
    """Gives all roles' actions one enum, so that a joint step binds values of one type."""
    enums = {o.type for o in actions.values() if isinstance(o.type, Enum)}
    if len(enums) < 2:
        return actions
    members = tuple(dict.fromkeys(m for o in actions.values() for m in (c.name for c in o.choices)))
    names.enums[:] = [e for e in names.enums if e not in enums or e.name]
    united = enum_of(members, names)
    return {
        s: OptionSet(o.choices, united) if isinstance(o.type, Enum) else o
        for s, o in actions.items()
    }
