"""Bindings of steps: a name of their own, or a part of the declared state, and its readers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gamedsl.diagnostics import Note
from gamedsl.diagnostics.spans import Span
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.frontend.source.nodes import Node, Scalar
from gamedsl.ir import expr as ir
from gamedsl.ir.statements import EVERYONE, Key, Place, Readers
from gamedsl.ir.types import NEVER, SEAT, Enum, PerSeat, Type, fits, join
from gamedsl.sema.scope import LoopName, StateName, VariableName, report_taken
from gamedsl.sema.statements import read_place
from gamedsl.sema.step_context import StepContext
from gamedsl.sema.values import syntax


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a step: a variable of its own, or, with a `place`, (a part of) declared
    state."""

    variable: str
    place: Place | None
    span: Span


def read_target(context: StepContext, node: Node) -> Target | None:
    """Reads what a step binds; None (and a diagnostic) where nothing can be bound to it."""
    if not isinstance(node, Scalar):
        return None
    name = node.text
    known = context.names.declared.get(name)
    if name.isidentifier() and not isinstance(known, StateName):
        return Target(name, None, node.span)
    tree = syntax(node, context.problems)
    if tree is None:
        return None
    me = context.acting is not None
    place = read_place(tree, context.typer, me=me, facts=context.facts)
    return Target(place.variable, place, node.span) if place is not None else None


def check_storable(context: StepContext, type: Type, place: Place, span: Span) -> bool:
    """Whether a place of the state takes values of a type; reported where it does not."""
    if fits(type, place.type):
        return True
    declared = context.names.place(place.variable)
    per_role = isinstance(type, PerSeat) and fits(type.of, place.type)
    context.problems.add(
        "GD0306", f"`{span.text}` must be {place.type}", span, why=f"bound to {type} here",
        notes=(Note(declared, "declared here"),) if declared else (),
        help="declare it with `per: role`" if per_role else "",
    )  # fmt: skip
    if declared is not None:
        context.names.declared[place.variable] = StateName(NEVER, declared)
    return False


def own_part(place: Place, type: Type) -> Place:
    """Returns the actor's own entry, where the state is per role and one value is stored."""
    if not isinstance(place.type, PerSeat) or fits(type, place.type):
        return place
    key = Key("entry", ir.Me(SEAT, place.span))
    return replace(place, keys=(*place.keys, key), type=place.type.of)


def readers_of_state(context: StepContext, variable: str) -> Readers:
    """Returns who sees a declared state variable."""
    return next((s.readers for s in context.program.state if s.name == variable), EVERYONE)


def declare_variable(
    context: StepContext,
    variable: str,
    type: Type,
    span: Span,
    *,
    actors: tuple[str, ...] = (),
    joint: bool = False,
) -> bool:
    """Declares what a step binds: one value, or (`joint`) one for each of `actors`.

    A second step may bind it again with the same type; False (and a diagnostic) where it cannot.
    """
    names = context.names
    earlier = names.declared.get(variable)
    if isinstance(earlier, VariableName):
        joined = join(earlier.type, type)
        if joined is None or earlier.joint != joint:
            kind = "by several roles at once" if joint else f"{type}, by one role"
            context.problems.add(
                "GD0319",
                f"`{variable}` is bound twice, in different ways",
                span,
                why=kind if earlier.joint != joint else f"here {type}",
                notes=(Note(earlier.span, f"first bound here, to {earlier.type}"),),
                help=_spelling_fix(type, earlier.type) or "choose another name",
            )
            return False
        type = joined
        actors = tuple(s for s in names.everyone if s in (*earlier.actors, *actors))
    else:
        here, first = span, declared_at(context, variable)
        if context.chain and first is not None:
            here, first = first, span
        if report_taken(variable, here, first, context.problems):
            return False
    declare_everywhere(context, variable, VariableName(type, joint, actors, span))
    context.program.bind(variable)
    return True


def declared_at(context: StepContext, name: str) -> Span | None:
    """Returns where a name was declared, here or in a file that uses this one."""
    scopes = (context.names, *context.outer)
    return next((place for scope in scopes if (place := scope.anywhere(name))), None)


def declare_everywhere(
    context: StepContext, name: str, declared: VariableName | StateName | LoopName
) -> None:
    """Declares a name, which the files that use this one may say as well."""
    for scope in (context.names, *context.outer):
        scope.declared[name] = declared


def _spelling_fix(here: Type, first: Type) -> str | None:
    """Returns the fix for two enums that differ by one misspelt option."""
    if not (isinstance(here, Enum) and isinstance(first, Enum)):
        return None
    only = [name for name in first.members if name not in here.members]
    for name in here.members:
        if name not in first.members and (other := did_you_mean(name, only)) is not None:
            return f"`{other}` there is `{name}` here: write one of them in both, or choose " \
                "another name for what is bound"  # fmt: skip
    return None
