"""`call:` steps: registered functions, and the arguments that a step gives them."""

from __future__ import annotations

import re
from typing import Literal

from gamedsl.calls import registry
from gamedsl.calls.files import MAX_BYTES
from gamedsl.calls.registry import CallError
from gamedsl.diagnostics.fixes import respell
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.frontend.source.loader import display_name
from gamedsl.frontend.source.nodes import Mapping, Node, Scalar
from gamedsl.ir import expr as ir
from gamedsl.ir.program import Call, Step
from gamedsl.ir.statements import NOBODY, OWNER
from gamedsl.ir.types import (
    List,
    PerSeat,
    Type,
)
from gamedsl.sema.bindings import declare_variable
from gamedsl.sema.signatures import (
    BROKEN,
    Signature,
    report_argument,
    report_fault,
    report_unregistered,
    signature_of,
    takes,
)
from gamedsl.sema.step_context import StepContext, WrittenStep
from gamedsl.sema.visibility import has_owner, read_step_readers
from gamedsl.storage.reader import FileRefused, read_bytes

_LOOKED_INTO = 20
"""Python files beside a game in which a function is looked for, to name the file."""


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
        if not takes(dict(signature.arguments)[argument], typed.type)
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
        file = f"--allow-calls {_file_of(context, name)}"
        guess = did_you_mean(name, known)
        report_unregistered(
            context.problems, name, node.span,
            broken or "YAML names functions, and Python code alone registers them",
            respell(
                node.span, guess,
                BROKEN if broken
                else f"allow the Python file that registers it by `{file}`, or call one of these: "
                + ", ".join(known),
            ),
        )  # fmt: skip
    return found


def _file_of(context: StepContext, name: str) -> str:
    """Returns a Python file beside the game that defines a function, by its text alone, or what to
    write for one."""
    defines = re.compile(rf"^def {re.escape(name)}\(", re.MULTILINE)
    for path in sorted(context.near.parent.glob("*.py"))[:_LOOKED_INTO]:
        try:
            text = read_bytes(path, limit=MAX_BYTES).decode()
        except (FileRefused, OSError, UnicodeDecodeError):
            continue
        if name.isidentifier() and defines.search(text):
            return display_name(path)
    return "FILE.py"


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
        if not (takes(wanted, typed.type) or takes(wanted, _entry_type(typed.type))):
            report_argument(context.typer.context, name, typed, signature)
            return None
        found.append((name, typed))
    if report_fault(context.typer.context, found, signature, step.head.value.span):
        return None
    return tuple(found)


def _entry_type(type: Type) -> Type | None:
    """Returns the type of one role's entry of a map, or of an item of a list."""
    return type.of if isinstance(type, PerSeat | List) else None
