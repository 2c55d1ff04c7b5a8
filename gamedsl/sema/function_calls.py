"""`call:` steps: registered functions, their signatures in the types of the language, and the
arguments that a step gives them."""

from __future__ import annotations

from collections.abc import Mapping as Map
from dataclasses import dataclass
from typing import Literal, assert_never

from gamedsl.calls import registry
from gamedsl.calls.registry import CallError
from gamedsl.calls.types import ListOf, OrNone
from gamedsl.calls.types import Type as Described
from gamedsl.diagnostics import Note
from gamedsl.diagnostics.fixes import respell
from gamedsl.diagnostics.spans import Span
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.frontend.source.nodes import Mapping, Node, Scalar
from gamedsl.ir import expr as ir
from gamedsl.ir.program import Call, Step
from gamedsl.ir.statements import NOBODY, OWNER
from gamedsl.ir.types import (
    BOOL,
    NUMBER,
    TEXT,
    WHOLE,
    Enum,
    List,
    Option,
    PerSeat,
    Record,
    Type,
    fits,
    plain,
)
from gamedsl.sema.bindings import declare_variable
from gamedsl.sema.step_context import StepContext, WrittenStep
from gamedsl.sema.visibility import has_owner, read_step_readers


@dataclass(frozen=True)
class Signature:
    """A function's name, version, arguments (None: a value of any type) and result."""

    name: str
    version: int
    arguments: tuple[tuple[str, Type | None], ...]
    result: Type
    text: str
    function: registry.Function


def signature_of(name: str) -> Signature | None:
    """Returns the function of a name; None where there is none. Raises
    `gamedsl.calls.registry.CallError` where a package that brings functions cannot be imported."""
    found = registry.lookup(name)
    if found is None:
        return None
    arguments = tuple((name, argument_type(type)) for name, type in found.arguments.items())
    result = argument_type(found.result, found.name)
    assert result is not None, "a result has a type of its own"
    return Signature(found.name, found.version, arguments, result, found.usage, found)


def argument_type(type: Described, name: str = "") -> Type | None:
    """Returns a described type as one of the language; None for a value of any type."""
    match type:
        case OrNone(of=inner):
            of = argument_type(inner, name)
            return None if of is None else Option(of)
        case ListOf(of=inner):
            of = argument_type(inner, name)
            return None if of is None else List(of)
        case tuple():
            return Enum(name, type)
        case Map():
            fields = ((field, argument_type(inner, field)) for field, inner in type.items())
            return Record(name, tuple((field, of) for field, of in fields if of is not None))
        case "text" | "int" | "number" | "bool" | "any":
            return _PLAIN_TYPES[type]
        case _:
            assert_never(type)


_PLAIN_TYPES: dict[str, Type | None] = {
    "text": TEXT, "int": WHOLE, "number": NUMBER, "bool": BOOL, "any": None,
}  # fmt: skip


def read_call(context: StepContext, step: WrittenStep) -> tuple[Step, ...] | None:
    """Reads `call:`, which binds what a registered function returns."""
    name = step.get("gives")
    signature = _signature(context, step.head.value)
    if signature is None or not isinstance(name, Scalar):
        return None
    arguments = _arguments(context, step, signature)
    if arguments is None:
        return None
    mapped = tuple(
        argument for argument, typed in arguments
        if not _takes(dict(signature.arguments)[argument], typed.type)
    )  # fmt: skip
    over = {type(dict(arguments)[each].type) for each in mapped}
    if len(over) > 1:
        context.problems.add(
            "GD0483", "a call goes through values per role or through lists, not both",
            step.head.value.span, why="given some of each",
            help="make two calls of it, or pick one value: `answer[r]`",
        )  # fmt: skip
        return None
    seen = step.get("seen_by")
    readers = NOBODY if seen is None else read_step_readers(seen, context.typer, signature.result)
    acts, by_seat = context.acting is not None, over == {PerSeat}
    if readers.kind not in ("owner", "others"):
        owned, help = acts or by_seat, "name who sees it"
        has_owner(readers, name.text, step.span, owned, context.problems, help, acts=acts)
    result: Type = List(signature.result) if over == {List} else signature.result
    seats = context.names.seats if by_seat else ()
    if not declare_variable(context, name.text, result, name.span, actors=seats, joint=by_seat):
        return None
    kind: Literal["one", "seats", "items"] = "seats" if by_seat else "items" if over else "one"
    return (
        Call(
            context.program.step_id(name.text), name.text, signature.name, signature.version,
            arguments, result if not by_seat else PerSeat(result, True), readers, step.span,
            step.condition, kind, mapped,
            True if by_seat and not acts and OWNER in readers.locals else None,
        ),
    )  # fmt: skip


def _signature(context: StepContext, node: Node) -> Signature | None:
    """Returns a registered function by its name; None (and a diagnostic) where there is none."""
    name = node.text if isinstance(node, Scalar) else ""
    broken = ""
    try:
        found = signature_of(name)
    except CallError as error:
        found, broken = None, str(error)
    if found is None:
        known = () if broken else registry.names()
        guess = did_you_mean(name, known)
        context.problems.add(
            "GD0482", f"no function `{name}` is registered", node.span,
            why=broken or "YAML names functions, and Python code alone registers them",
            help=respell(
                node.span, guess,
                "there are " + ", ".join(known) if known
                else "mend the package that brings functions, or uninstall it",
            ),
        )  # fmt: skip
    return found


def _arguments(
    context: StepContext, step: WrittenStep, signature: Signature
) -> tuple[tuple[str, ir.Expr], ...] | None:
    """Reads the arguments of a call, in the function's order; None (and a diagnostic) if wrong."""
    section = step.get("with")
    written = {e.key.text: e for e in section} if isinstance(section, Mapping) else {}
    for name, entry in written.items():
        known = [argument for argument, _ in signature.arguments]
        if name not in known:
            guess = did_you_mean(name, known)
            context.problems.add(
                "GD0482", f"`{signature.name}` takes no `{name}`", entry.key.span,
                why=f"it is {signature.text}",
                help=respell(entry.key.span, guess, "it takes " + ", ".join(known)),
            )  # fmt: skip
            return None
    missing = [name for name, _ in signature.arguments if name not in written]
    if missing:
        given = ", ".join(
            f"{name}: {written[name].value.span.text if name in written else '…'}"
            for name, _ in signature.arguments
        )
        context.problems.add(
            "GD0482", f"`{signature.name}` needs `{missing[0]}`", step.head.value.span,
            why=f"it is {signature.text}", help=f"write `with: {{{given}}}`",
        )  # fmt: skip
        return None
    found: list[tuple[str, ir.Expr]] = []
    for name, wanted in signature.arguments:
        typed = context.expression(written[name].value, wanted)
        if typed is None:
            return None
        if not (_takes(wanted, typed.type) or _takes(wanted, _entry_type(typed.type))):
            _report_argument(context, name, wanted, typed, signature)
            return None
        found.append((name, typed))
    fixed = {name: typed.value for name, typed in found if isinstance(typed, ir.Const)}
    fault = signature.function.fault_of(fixed)
    if fault is not None:
        place = next((written[name].value.span for name in fixed), step.head.value.span)
        context.problems.add(
            "GD0483", f"`{signature.name}` cannot be called like this", place, why=fault,
            help=f"it is {signature.text}",
        )  # fmt: skip
        return None
    return tuple(found)


def _report_argument(
    context: StepContext, name: str, wanted: Type | None, typed: ir.Expr, signature: Signature
) -> None:
    place: Span | None = None
    if isinstance(typed, ir.Read):
        place = context.names.place(typed.name)
    context.problems.add(
        "GD0483", f"`{name}` of `{signature.name}` must be {wanted}", typed.span,
        why=f"this is {typed.type}",
        notes=(Note(place, "declared here"),) if place else (),
        help=f"it is {signature.text}",
    )  # fmt: skip


def _takes(wanted: Type | None, type: Type | None) -> bool:
    """Whether a function's argument takes values of a type; None takes any."""
    return type is not None and (wanted is None or fits(plain(type), plain(wanted)))


def _entry_type(type: Type) -> Type | None:
    """Returns the type of one role's entry of a map, or of an item of a list."""
    return type.of if isinstance(type, PerSeat | List) else None
