"""`use:` steps: a protocol, in the scope of the file that uses it, or a game, as a stage."""

from __future__ import annotations

import re
from collections.abc import Mapping as Map
from dataclasses import replace
from typing import Any

from gamedsl.diagnostics import Diagnostic, Note
from gamedsl.diagnostics.spans import Span
from gamedsl.frontend.source.nodes import Entry, Mapping, Node, Scalar, Sequence
from gamedsl.ir.program import Block, Step, walk_steps
from gamedsl.ir.types import NEVER, Never
from gamedsl.ir.values import name_of
from gamedsl.sema.actions import DeclaredActions, is_declared_form
from gamedsl.sema.bindings import declare_everywhere
from gamedsl.sema.lets import declare_lets
from gamedsl.sema.library import Document, find_used, given_params, locate
from gamedsl.sema.params import Params
from gamedsl.sema.scope import ANY, Declared, LetName, ParamName, StateName, report_taken
from gamedsl.sema.stages import read_stage
from gamedsl.sema.state import States
from gamedsl.sema.step_context import StepContext, WrittenStep

MAX_NESTING = 8
"""Protocols and games that may use each other in one chain."""


def read_use(context: StepContext, step: WrittenStep) -> tuple[Step, ...]:
    """Reads `use:`, the steps of a protocol, or a game as a stage."""
    steps = use_file(context, step.item)
    if step.condition is None:
        return steps
    return (Block(context.program.step_id("use"), steps, step.span, step.condition),)


def use_file(context: StepContext, node: Node) -> tuple[Step, ...]:
    """Returns the steps of the file that a name, or a map with `use:`, refers to: those of a
    protocol, in a scope of its own, or the one of a game."""
    problems = context.problems
    before = len(problems.found)
    steps = _used_steps(context, node)
    for name in dict.fromkeys(step.span.source.name for step in walk_steps(steps)):
        if name != node.span.source.name:
            context.program.used_at.setdefault(name, []).append(node.span)
    problems.found[before:] = [
        _with_use(problem, node, context.program.sources) for problem in problems.found[before:]
    ]
    return steps


def _used_steps(context: StepContext, node: Node) -> tuple[Step, ...]:
    name = node.get("use") if isinstance(node, Mapping) else node
    known = context.names.declared.get(name.text) if isinstance(name, Scalar) else None
    if isinstance(known, ParamName) and isinstance(known.type, Never):
        return ()
    stage = _stage_name(context, name)
    if stage is not None:
        return read_stage(context, node, stage)
    document = find_used(
        "protocol", node, context.near, context.problems, context.program.stages.budget.loaded
    )
    if document is None:
        context.names.broken.add(ANY)
        return ()
    context.program.steps_read += 1
    if not _may_use(context, document, node.span):
        return ()
    if not context.program.stages.can_use(document, node.span, context.problems):
        return ()
    return _protocol_steps(context, node, document)


def _protocol_steps(context: StepContext, node: Node, document: Document) -> tuple[Step, ...]:
    """Reads a protocol's steps, which know the names of the file that uses it, but for its params
    and lets; its own lets are exported to that file."""
    root, outer = document.root, context.names
    shared: dict[str, Declared] = {
        n: d for n, d in outer.declared.items() if not isinstance(d, ParamName | LetName)
    }
    names = replace(outer, declared=shared, later={})
    title, given = f"the protocol `{document.name}`", given_params(node, "if")
    params = Params(names, context.problems, title, node.span, given, outer)
    params.declare(root.get("params"))
    inner = replace(
        context,
        near=document.files[0],
        chain=(*context.chain, document.name),
        outer=(outer, *context.outer),
    )
    with context.typer.context.within(names):
        _share_state(inner, document, node.span, given)
        declare_lets(
            root.get("let"), names, context.problems,
            lambda name: params.unique_name(f"{document.name}.{name}"),
        )  # fmt: skip
        section = root.get("actions")
        if is_declared_form(section):
            assert isinstance(section, Mapping)
            actions = DeclaredActions(section, names, context.problems)
            inner = replace(inner, declared_actions=actions)
        steps = inner.read_turns(root.get("turns"))
    section = root.get("params")
    own = {e.key.text for e in section} if isinstance(section, Mapping) else set()
    _export_lets(context, names.declared, document.name, own)
    return steps


def _share_state(
    context: StepContext, document: Document, use: Span, given: Map[str, Entry]
) -> None:
    """Declares a protocol's state, once for all its uses in a game."""
    section = document.root.get("state")
    if not isinstance(section, Mapping):
        return
    params = {
        name: known.value
        for name, known in context.names.declared.items()
        if isinstance(known, ParamName) and name in _words(section)
    }
    program = context.program
    if document.name in program.protocol_state:
        _check_same_start(context, document.name, params, use, given)
        return
    program.protocol_state[document.name] = use, params
    declared_state = States(context.types).declare(section)
    program.state += declared_state
    for entry in section:  # of one that was declared before nothing can be said
        for scope in context.outer:
            if entry.key.text in scope.declared:
                scope.declared[entry.key.text] = StateName(NEVER, entry.key.span)
    for state in declared_state:
        declared = context.names.declared[state.name]
        assert isinstance(declared, StateName)
        first = next((p for o in context.outer if (p := o.anywhere(state.name))), None)
        here, earlier = first or state.span, first and state.span
        if not report_taken(state.name, here, earlier, context.problems):
            declare_everywhere(context, state.name, declared)


def _check_same_start(
    context: StepContext, protocol: str, params: dict[str, Any], use: Span, given: Map[str, Entry]
) -> None:
    """Reports a later use of a protocol whose params want another start of the state: it has the
    state of the first use."""
    first, before = context.program.protocol_state[protocol]
    for name, value in params.items():
        if value == before.get(name, value):
            continue
        context.problems.add(
            "GD0461", f"`{protocol}` has its state already, with another `{name}`",
            given[name].value.span if name in given else use,
            why=f"this is {name_of(value)}, and the state began with {name_of(before[name])}",
            notes=(Note(first, "its state begins with this use"),),
            help=f"give all uses one `{name}`, and change the state in a `do` before this one",
        )  # fmt: skip


def _export_lets(context: StepContext, found: Map[str, Declared], what: str, own: set[str]) -> None:
    """Declares the lets of a protocol as names of the file that uses it. Each use types them again,
    with its params; those of the last use have the plain names."""
    for name, declared in found.items():
        if not isinstance(declared, LetName) or declared.name in context.names.declared:
            continue
        context.names.declared[declared.name] = declared
        if name in own:
            continue
        earlier = context.names.declared.get(name)
        first = context.names.anywhere(name)
        if isinstance(earlier, LetName) and earlier.name.startswith(f"{what}."):
            first = None
        if not report_taken(
            name, first or declared.span, first and declared.span, context.problems
        ):
            context.names.declared[name] = declared


def _may_use(context: StepContext, document: Document, span: Span) -> bool:
    """Whether a protocol may be used here: not inside itself, and not too deep; reported if not."""
    if document.name not in context.chain and len(context.chain) < MAX_NESTING:
        return True
    ring = (*context.chain, document.name)
    context.problems.add(
        "GD0405",
        f"the protocol `{document.name}` uses itself"
        if document.name in context.chain
        else f"protocols use each other more than {MAX_NESTING} deep",
        span,
        why=" → ".join(ring),
        help="delete this step, or write the steps themselves",
    )
    return False


def _stage_name(context: StepContext, name: Node | None) -> Scalar | None:
    """Returns the name of the game that a `use` means; None where it means a protocol."""
    if not isinstance(name, Scalar):
        return None
    known = context.names.declared.get(name.text)
    if isinstance(known, ParamName) and isinstance(known.value, str):
        return Scalar(known.value, known.value, known.span, ())
    if locate("protocol", name.text, context.near) is None:
        itself = name.text in context.program.stages.chain
        if itself or locate("game", name.text, context.near):
            return name
    return None


def _with_use(problem: Diagnostic, node: Node, own: frozenset[str]) -> Diagnostic:
    """Returns a problem of a file that is used, with the place that uses it, or that sets the param
    in question; `own` are the game's files."""
    use = node.span
    named = {problem.span.source.name, *(note.span.source.name for note in problem.notes)}
    if problem.span.source.name in own or use.source.name in named:
        return problem
    note = Note(use, "used here")
    for name, entry in given_params(node, "if", "weight", "seen_by").items():
        if re.search(rf"\b{re.escape(name)}\b", problem.span.text):
            note = Note(entry.value.span, f"`{name}` is this")
    return replace(problem, notes=(*problem.notes, note))


def with_uses(problem: Diagnostic, uses: Map[str, tuple[Span, ...]]) -> Diagnostic:
    """Returns a problem that was found once the game was read, with the places that use its file,
    and the files of these places in turn. `uses` is `GameIR.uses`."""
    noted, notes = {problem.span}, list[Note]()
    waiting = [problem.span.source.name]
    while waiting:
        for use in uses.get(waiting.pop(), ()):
            if use not in noted and len(notes) < MAX_NESTING:
                noted.add(use)
                notes.append(Note(use, "used here"))
                waiting.append(use.source.name)
    return replace(problem, notes=(*problem.notes, *notes))


def _words(node: Node) -> set[str]:
    """Returns the words in the values of a section."""
    if isinstance(node, Scalar):
        return set(re.findall(r"[A-Za-z_]\w*", node.text))
    parts = node.items if isinstance(node, Sequence) else [e.value for e in node.entries]
    return {word for part in parts for word in _words(part)}
