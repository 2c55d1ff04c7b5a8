"""Checks of a game as a whole, once its sections have been read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice

from gamedsl.bounds.payoff_bounds import payoff_bounds
from gamedsl.diagnostics import Note, Problems
from gamedsl.diagnostics.fixes import Fix, respell
from gamedsl.diagnostics.suggest import did_you_mean
from gamedsl.frontend.source.edits import add_entry, delete_entry, delete_unnamed
from gamedsl.frontend.source.nodes import Entry, Mapping, Node, Sequence
from gamedsl.ir.game import GameIR
from gamedsl.ir.program import Choose
from gamedsl.ir.types import NONE
from gamedsl.sema.replies import ON_INVALID_KEYS
from gamedsl.sema.scope import Namespace
from gamedsl.sema.step_context import StepContext

MOST_UNREAD = 100
"""Params that are reported as unread."""

_WORD = re.compile(r"(?<!\w)(?<!(?<!\.)\.)[A-Za-z_]\w*")
"""A name, and none behind a point: `rank` of `card.rank` is a field, but `n` of `1..n` a name."""


def check_game(ir: GameIR, root: Mapping, context: StepContext, *, inner: bool) -> None:
    """Reports problems of the game as a whole; `inner` says whether it is a stage of another."""
    problems = context.problems
    check_offered_actions(root, context)
    check_read_params(root, problems)
    check_persistent_state(ir, problems, inner=inner)
    if not inner:
        check_tool_calls(ir, root, problems)
    if not problems.errors and not inner:
        check_forfeit_price(ir, root.get("on_invalid"), problems)


def check_assigned_state(context: StepContext) -> None:
    """Reports state that starts as none and to which nothing is assigned (GD0450)."""
    for state in context.program.state:
        if state.type == NONE and not context.problems.errors:
            context.problems.add(
                "GD0450",
                f"`{state.name}` is always none",
                state.span,
                why="nothing is assigned to it that says its type",
                help=f"assign it in a `do:` (`{state.name} = …`), or delete it",
            )


def check_acting_roles(decisions: list[Choose], names: Namespace, problems: Problems) -> None:
    """Reports roles that no decision is of (GD0418)."""
    acting = {seat for step in decisions for seat in step.actors}
    for role, span in names.role_spans.items():
        if role in names.everyone and role not in acting:
            problems.add(
                "GD0418",
                f"`{role}` never acts" if decisions else "nobody ever acts",
                span,
                why="no step is its own",
                notes=tuple(Note(s.span, f"{', '.join(s.actors[:4])}") for s in decisions[:3]),
                help="add it to the `role:` of a step, or delete it",
                cause="" if decisions else "nobody acts",
            )


def leave_out_actions(context: StepContext) -> None:
    """Notes the names in actions that no step offers: that these read or write them is reported as
    GD0451 alone."""
    if context.declared_actions is not None:
        for entry in context.declared_actions.never_offered():
            context.names.leave_out(entry.value.span)


def check_offered_actions(root: Mapping, context: StepContext) -> None:
    """Warns of actions that no step offers (GD0451), where nothing else is wrong."""
    problems = context.problems
    section = root.entry("actions")
    if section is None or problems.errors:
        return
    unread = [section.key] if not context.program.offers_actions else []
    declared = context.declared_actions
    if declared is not None:
        unread = [entry.key for entry in declared.never_offered()]
    for key in unread:
        problems.add(
            "GD0451",
            f"no step offers `{key.text}`"
            if declared is not None
            else "no step offers these actions",
            key.span,
            why="not in any `from:`",
            help=Fix("write `from: actions`, or delete this", delete_unnamed(key.span)),
            severity="warning",
        )


def check_read_params(root: Mapping, problems: Problems) -> None:
    """Warns of a param whose name stands nowhere else in the file (GD0452), such as a misspelt one
    of the game that the file extends; of the first `MOST_UNREAD` of them."""
    section = root.get("params")
    if not isinstance(section, Mapping) or problems.errors:
        return
    about = root.get("about")
    read = set(_words(root, section, *([about] if about is not None else [])))
    known = [entry.key.text for entry in section]
    words = [set(_words(entry.value)) for entry in section]
    readers = Counter(chain.from_iterable(words))
    unread = (
        entry.key
        for entry, own in zip(section, words, strict=True)
        if entry.key.text not in read and readers[entry.key.text] == (entry.key.text in own)
    )
    for key in islice(unread, MOST_UNREAD):
        name = key.text
        guess = did_you_mean(name, [other for other in known if other != name])
        place = section.entry(guess) if guess else None
        problems.add(
            "GD0452",
            f"nothing reads the param `{name}`",
            key.span,
            why="its name stands nowhere else",
            notes=(Note(place.key.span, "declared here"),) if place else (),
            help=respell(key.span, guess, Fix("delete it", delete_entry(key.span))),
            severity="warning",
        )


def _words(node: Node, *without: Node) -> Iterator[str]:
    """Yields the names in all texts of a tree, but for some parts of it. A key reads nothing."""
    if any(node is part for part in without):
        return
    if isinstance(node, Mapping | Sequence):
        for part in node:
            yield from _words(part.value if isinstance(part, Entry) else part, *without)
    else:
        yield from _WORD.findall(node.text)


def check_persistent_state(ir: GameIR, problems: Problems, *, inner: bool) -> None:
    """Reports state that lasts for a run (GD0487) and that no role says, or that is the state of a
    stage (`inner`), which begins again each time."""
    written = {step.place.variable for step in ir.steps if step.said and step.place is not None}
    speakers = [step for step in ir.steps if step.said is not None]
    for state in ir.lasting:
        if inner:
            problems.add(
                "GD0487", f"`{state.name}` cannot last: its game is a stage of another", state.span,
                why="a stage begins anew each time it is played",
                help="declare it in the game around, or leave `lasts` out",
            )  # fmt: skip
        elif state.name not in written:
            actor = ir.role_of[speakers[0].actors[0]] if speakers else ir.roles[0].name
            problems.add(
                "GD0487", f"`{state.name}` lasts, and nobody writes it", state.span,
                why="no `say` step binds it",
                notes=tuple(Note(step.span, "this is said") for step in speakers[:1]),
                help=f"add a step: `{{role: {actor}, say: {state.name}, max_tokens: 100}}`",
            )  # fmt: skip


def check_tool_calls(ir: GameIR, root: Mapping, problems: Problems) -> None:
    """Reports actions with open arguments (GD0495) in a game whose replies are no tool calls, or in
    which actions have masked names."""
    step = next((step for step in ir.steps if step.said and step.said.form == "tool"), None)
    if step is None or problems.errors:
        return
    respond, labels = root.entry("respond"), root.entry("labels")
    if ir.respond.kind != "tool":
        problems.add(
            "GD0495", "open arguments are given in a tool call", step.span,
            why=f"`respond` is `{ir.respond.kind}`, and an argument of `{step.variable}` has no "
            "list of its values",
            notes=(Note(respond.key.span, "declared here"),) if respond is not None else (),
            help="write `respond: tool`",
        )  # fmt: skip
    elif ir.labels.kind in ("masked", "partly") and labels is not None:
        problems.add(
            "GD0495", "a tool is called by its name, which no label masks", step.span,
            why="an argument has no list of its values, so that nothing stands for the call",
            notes=(Note(labels.key.span, "declared here"),), help="leave `labels` out",
        )  # fmt: skip


def check_forfeit_price(ir: GameIR, node: Node | None, problems: Problems) -> None:
    """Reports the first role of an open game whose invalid replies cost something, where neither
    the file nor the form of its payoffs says what they pay: nothing could be learned from them."""
    if not ir.open:
        return
    for seat in ir.seats:
        rule = ir.costs[seat]
        if rule.then == "void" or rule.pay is not None:
            continue
        if payoff_bounds(ir, seat) is not None:
            continue
        role = ir.role_of[seat]
        own = node if isinstance(node, Mapping) else None
        by_role = own is not None and not any(entry.key.text in ON_INVALID_KEYS for entry in own)
        entry = None if own is None else own.entry(role) or own.entry("all") if by_role else None
        what = f"`{role}` is paid where it forfeits"
        if rule.then != "forfeit":
            what = f"an invalid reply of `{role}` earns"
        problems.add(
            "GD0485", f"it is not said what {what}",
            entry.key.span if entry is not None else ir.span if node is None else node.span,
            why="no `pay`, and its payoffs have no least amount",
            help="add `on_invalid: {then: forfeit, pay: -1}`" if node is None
            else f"add `{role}: {{then: {rule.then}, pay: -1}}`" if by_role and entry is None
            else _priced(own if entry is None else entry.value),
        )  # fmt: skip
        return


def _priced(rule: Node | None) -> Fix:
    """Returns the fix that adds a price to a rule for invalid replies."""
    entries = rule.entries if isinstance(rule, Mapping) else ()
    edits = add_entry(entries[0].key.span, "pay: -1") if entries else ()
    return Fix("add `pay: -1`", edits)
